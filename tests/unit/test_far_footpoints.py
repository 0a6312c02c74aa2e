"""Shooting vectors at footpoints far from the fit, where their density has modes elsewhere.

Shares of mass are those of a quadrature on the disc; a right sampler is refused with probability
6e-5 a case.
"""

from functools import partial

import numpy as np
import pytest
from quadrature import published_mechanism
from scipy import stats

from geodp.errors import DataError
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.as_published import AsPublished, Support, configured_support
from geodp.randomness import random_stream
from geodp.regression import fit
from geodp.samplers.base import run
from geodp.samplers.matched import plan
from geodp.sensitivity import published_sensitivity
from geodp.simulate import simulate_geodesic_data

FALSE_ALARM = 6e-5
SPHERE = Sphere(2)

planner = partial(plan, proposals=96, total_variation=0.01, fewest=8, most=400)


def far_target(distance, direction, budget):
    """The shooting-vector density at a footpoint so far from the fit; its frame is there."""
    whole = published_mechanism(SPHERE, np.array([0.01])).take(slice(0, 1))
    found = whole.fit.footpoint
    frame = SPHERE.frame(found)
    step = distance * (np.cos(direction) * frame[:, 0] + np.sin(direction) * frame[:, 1])
    return whole.shooting_vector_target(SPHERE.exp(found, step)[:, None], budget)[0]


def sectors_of(target, shells=1200, sectors=1500):
    """Quadrature of the mass in 8 x 8 sectors of the disc, and a function that bins draws."""
    radius = float(target.support_radius[0, 0])
    radii = (np.arange(shells) + 0.5) / shells * radius
    angles = (np.arange(sectors) + 0.5) / sectors * 2 * np.pi
    r, a = np.meshgrid(radii, angles, indexing="ij")
    nodes = np.stack([r * np.cos(a), r * np.sin(a)], axis=-1)
    log_density = target.log_density(nodes.reshape(1, 1, -1, 2))[0, 0]
    weights = np.exp(log_density - np.max(log_density)) * r.ravel()

    def sector(length, angle):
        shell = np.minimum((8 * length / radius).astype(int), 7)
        return 8 * shell + np.minimum((8 * (angle % (2 * np.pi)) / (2 * np.pi)).astype(int), 7)

    mass = np.bincount(sector(r.ravel(), a.ravel()), weights, minlength=64)

    def count(states):
        angle = np.arctan2(states[:, 1], states[:, 0])
        return np.bincount(sector(np.linalg.norm(states, axis=-1), angle), minlength=64)

    return mass / np.sum(mass), count


MISSED = pytest.mark.xfail(reason="a sliver at the rim with 3 % of the mass is not found")


@pytest.mark.parametrize(
    ("distance", "budget"),
    [
        *[(distance, budget) for distance in (0.25, 0.5, 1.0, 1.9) for budget in (0.1, 0.5)],
        (3.0, 0.1),
        pytest.param(3.0, 0.5, marks=MISSED),
    ],
)
def test_shooting_vectors_far_from_the_fit_follow_their_density(distance, budget):
    for direction in (0.7, 3.9):
        target = far_target(distance, direction, budget)
        mass, count = sectors_of(target)
        rng = random_stream(1, "far footpoints", str(distance), str(budget), str(direction))
        chosen = planner(rng, target)
        state, _ = run(rng, chosen.sampler, target, 2000, chosen.steps)
        counted = count(state.position[0, 0])
        large = mass * 2000 >= 8
        observed = np.append(counted[large], np.sum(counted[~large]))
        expected = 2000 * np.append(mass[large], np.sum(mass[~large]))
        keep = expected > 1e-9
        if np.sum(keep) == 1:
            assert observed[keep] == 2000
            continue
        expected = expected[keep] * np.sum(observed[keep]) / np.sum(expected[keep])
        assert np.sum(observed[~keep]) <= 20
        assert stats.chisquare(observed[keep], expected).pvalue > FALSE_ALARM


def test_a_law_without_a_finite_integral_is_refused():
    """On SPD(2) a Laplace law needs a scale below the square root of two."""
    manifold = SPD(2)
    data = simulate_geodesic_data(
        np.random.default_rng(1), manifold, 1, 20, 0.01, 0.8, ambient_noise=False
    )
    found = fit(manifold, data.covariates, data.points)
    bound = published_sensitivity(manifold, found.largest_residual, 20, data_radius=1.0)
    support = configured_support(manifold, bound)
    mechanism = AsPublished(manifold, data.covariates, data.points, found, bound, support)
    enough = float(bound.footpoint[0] / np.sqrt(2.0))
    mechanism.footpoint_target(1.01 * enough)
    with pytest.raises(DataError, match="no finite integral: raise the budget"):
        mechanism.footpoint_target(0.99 * enough)
    ball = Support(support.shooting_vector_length, found.footpoint, 0.5)
    in_a_ball = AsPublished(manifold, data.covariates, data.points, found, bound, ball)
    in_a_ball.footpoint_target(0.99 * enough)
