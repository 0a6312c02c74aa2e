"""Sentences of 001: figures 1, 7, 9 and 10, privacy and theorem D.1."""

from functools import lru_cache, partial

import numpy as np

from . import spd, sphere
from .geodesic import (
    NOISE,
    SIMULATE,
    Release,
    curves,
    fit,
    gradients,
    largest_residual,
    norm,
    sensitivities,
)
from .registry import SENTENCES, average, exact, sentence

SIZES = (20, 50, 100)
TOTALS = (0.2, 0.6, 1.0, 2.0)
EQUAL = tuple((t / 2, t / 2) for t in TOTALS)
SPLIT = ((0.02, 2.0), (0.46, 1.56), (0.9, 1.12), (1.56, 0.46), (2.0, 0.02))


def error_numbers(manifold, view):
    """ln of average errors by size and budgets, or differences within data sets.

    Views: `n`, the errors; `gap_n`, less the fit's; `budget`, less that at the next lower total;
    `split`, less that at the most equal split.
    """
    numbers = {}
    for n in SIZES:
        rows, fits = curves(manifold, n, EQUAL + SPLIT)
        for i, pair in enumerate(EQUAL + SPLIT):
            name = f"n{n}_p{pair[0]:.2f}_v{pair[1]:.2f}"
            if view == "n":
                numbers[name] = average(rows[:, i])
            elif view == "gap_n":
                numbers[name] = average(rows[:, i] - fits)
            elif view == "budget" and 0 < i < len(EQUAL):
                numbers[name] = average(rows[:, i] - rows[:, i - 1])
            elif view == "split" and i >= len(EQUAL) and pair != SPLIT[2]:
                numbers[name] = average(rows[:, i] - rows[:, len(EQUAL) + 2])
        if view == "n":
            numbers[f"n{n}_fit"] = average(fits)
    return numbers


@lru_cache
def neighbour_ratios(manifold, pairs=60):
    """Ratios of 001, appendix G, by size: theorem 3.3, equation 20, and theorem D.1 as printed.

    n + 1 records without the first and without the last; gradients at the fit of the former.
    """
    ratios = {}
    for n in SIZES:
        rng, rows = np.random.default_rng([3, n]), []
        for _ in range(pairs):
            x, y = SIMULATE[manifold](n + 1, NOISE[manifold], rng)
            sides = ((x[1:], y[1:]), (x[:-1], y[:-1]))
            fits = [fit(manifold, *d) for d in sides]
            tau = max(largest_residual(manifold, *f, *d) for f, d in zip(fits, sides, strict=True))
            a, b = (gradients(manifold, *fits[0], *d) for d in sides)
            realised = np.array([norm(a[0] - b[0]), norm(a[1] - b[1])])
            printed = 2 * tau / n * np.sinh(tau / np.sqrt(2)) * np.sqrt(2)
            rows.append([*(sensitivities(manifold, tau, n) / realised), printed / realised[1]])
        ratios[n] = np.array(rows)
    return ratios


def median(values):
    """Median, and half the distance of the quantiles one standard error of ranks away."""
    step = 0.5 / np.sqrt(len(values))
    low, middle, high = np.quantile(values, [0.5 - step, 0.5, 0.5 + step])
    return middle, (high - low) / 2


def ratio_numbers(manifold):
    """001, figures 9 and 10; 000, figure 5."""
    numbers = {}
    for n, rows in neighbour_ratios(manifold).items():
        for name, r in zip(("p", "v"), rows.T, strict=False):
            numbers[f"n{n}_{name}_below_one"] = average(r < 1)
            numbers[f"n{n}_{name}_mean"] = average(r)
            numbers[f"n{n}_{name}_median"] = median(r)
            first, third = np.quantile(r, [0.25, 0.75])
            numbers[f"n{n}_{name}_outliers"] = average(r > 2.5 * third - 1.5 * first)
    return numbers


for prefix, space in (("sphere", sphere), ("spd", spd)):
    for of in ("n", "gap_n", "budget", "split"):
        SENTENCES[f"{prefix}_{of}"] = partial(error_numbers, space, of)
    SENTENCES[f"{prefix}_ratios"] = partial(ratio_numbers, space)


@sentence
def theorem_d1_as_printed():
    """How far realised changes exceed the bound of 001, theorem D.1, as printed.

    The two records at x = 1 with opposite residuals of length tau along the geodesic change the
    gradient by 2 tau/n, of which the bound allows the share sqrt(2) sinh(tau/sqrt(2)).
    """
    numbers = {}
    for n, rows in neighbour_ratios(spd).items():
        numbers[f"n{n}_share_above_bound"] = average(rows[:, 2] < 1)
        numbers[f"n{n}_median_excess"] = median(1 / rows[:, 2])
    for tau in (0.03, 0.1, 0.3):
        numbers[f"tau{tau}_excess"] = exact(1 / (np.sqrt(2) * np.sinh(tau / np.sqrt(2))))
    return numbers


def moved_across(x, y, distance, index):
    """The data with one record at a distance from the fit, across it."""
    p, v = fit(sphere, x, y)
    normal = np.cross(p, sphere.exp(p, v))
    z = y.copy()
    z[index] = np.cos(distance) * sphere.exp(p, x[index] * v)
    z[index] += np.sin(distance) * normal / norm(normal)
    return z


def footpoint_loss(first, second, budget, shared):
    """Largest difference of log densities of the footpoint, anywhere and within pi/4 of the fit.

    With `shared`, both have one shooting vector and one tau, the larger, as in the proofs.
    """
    p, weight = first.footpoint_nodes(first.delta[0] / budget)
    logs = []
    for data in (first, second):
        start = first if shared else data
        tau = max(first.tau, second.tau) if shared else data.tau
        v = sphere.transport(start.p, p, start.v)
        length = norm(gradients(sphere, p, v, data.x, data.y)[0])
        exponent = -length * budget * len(data.x) / (2 * tau)
        constant = np.log(np.exp(exponent + weight - weight.max()).sum())
        logs.append(exponent - constant)
    difference = np.where(np.isfinite(weight), np.abs(logs[0] - logs[1]), 0)
    return difference.max(), difference[sphere.distance(first.p, p) < np.pi / 4].max()


@sentence
def privacy():
    """Losses of the footpoint over its budget (001, 2.3 and 4.1), at n = 20 and budget 1.

    One record is moved across the geodesic by the largest residual, or by pi/8: as the mechanism is
    stated, and with one tau and shooting vector for both, near the fit and anywhere.
    """
    rng, rows = np.random.default_rng(6), []
    for _ in range(6):
        x, y = SIMULATE[sphere](20, NOISE[sphere], rng)
        first, row = Release(sphere, x, y), {}
        for name, distance in (("tau", first.tau), ("pi8", np.pi / 8)):
            seconds = [Release(sphere, x, moved_across(x, y, distance, i)) for i in (0, 10, 19)]
            one = np.max([footpoint_loss(first, s, 1.0, True) for s in seconds], axis=0)
            row[f"{name}_shared"], row[f"{name}_shared_near"] = one
            row[f"{name}_stated"] = max(footpoint_loss(first, s, 1.0, False)[0] for s in seconds)
        rows.append(row)
    return {name: average([row[name] for row in rows]) for name in rows[0]}
