"""Sentences of 000: the sphere of the first version."""

from functools import lru_cache

import numpy as np

from . import sphere
from .geodesic import Release, norm, simulate_sphere, systematic
from .registry import average, sentence


def moments(values, chance):
    mean = values @ chance
    deviation = np.sqrt((values - mean) ** 2 @ chance)
    return mean, deviation, ((values - mean) / deviation) ** 3 @ chance


def indicators(n, budget, rng, footpoints=64):
    """Moments of the three indicators of 000, section 4.1, for one data set.

    Distances by quadrature; angles and errors by quadrature over vectors at spread-out footpoints.
    `far` is the share of footpoints beyond pi/2, which the moments leave out.
    """
    release = Release(sphere, *simulate_sphere(n, 0.001, rng))
    p, v, chance = release.footpoints(budget)
    d = sphere.distance(release.p, p)
    far, chance = chance[d > np.pi / 2].sum(), np.where(d > np.pi / 2, 0, chance)
    chance = chance / chance.sum()
    i = systematic(chance, footpoints, rng)
    w, weight, _ = release.vectors(p[i], v[i], budget)
    turned = np.angle((w[..., 0] + 1j * w[..., 1]) * (v[i][:, :1] - 1j * v[i][:, 1:]), deg=True)
    angle = (turned * weight).sum(1).mean()
    spread = np.sqrt((turned**2 * weight).sum(1).mean() - angle**2)
    residual = sphere.residuals(p[i][:, None], w, release.x, release.y)[0]
    error = moments((norm(residual).mean(-1) * weight).sum(1), np.full(footpoints, 1 / footpoints))
    fit = norm(sphere.residuals(release.p, release.v, release.x, release.y)[0]).mean()
    return np.array([*moments(d, chance), angle, spread, *error, fit, far])


@lru_cache
def table(n, budget, data_sets=8):
    rng = np.random.default_rng([8, n])
    return np.array([indicators(n, budget, rng) for _ in range(data_sets)]).T


def by_budget(**columns):
    """At n = 20; the budget is each parameter's."""
    return {
        f"each{budget}_{name}": average(table(20, budget)[column])
        for budget in (1.0, 0.5)
        for name, column in columns.items()
    }


@sentence
def footpoint_distances():
    """000, figure 2."""
    return by_budget(mean=0, deviation=1, skewness=2, far=9)


@sentence
def angles():
    """000, figure 2, in degrees."""
    return by_budget(mean=3, deviation=4)


@sentence
def absolute_error():
    """000, figure 3."""
    return by_budget(mean=5, deviation=6, skewness=7, fit=8)


@sentence
def error_n():
    """000, figure 6: mean absolute errors over the fit's, and their deviation, by size."""
    result = {}
    for n in (20, 50, 100, 200):
        mean, deviation, _, fit = table(n, 1.0)[5:9]
        result[f"n{n}_above_fit"] = average(mean / fit - 1)
        result[f"n{n}_deviation"] = average(deviation)
    return result
