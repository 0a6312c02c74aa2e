"""Times of releases with and without an extreme record, and of draws; for the evaluation."""

import time
from dataclasses import replace
from fractions import Fraction
from itertools import product

import numpy as np

from geodp.samplers import exact_noise
from geodp.samplers.integer_choice import system_bits
from geodp_release.plan.release_plan import ReleasePlan
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PURE, PrivacyBudget
from geodp_release.run.subjects import ONE_EACH
from geodp_release.show.release import release_geodesic
from geodp_release.stages import NoisyStep, PointsStage


def draws_by_name():
    """Functions that draw a value of noise of a scale."""
    return {
        "discrete Laplace": lambda scale: exact_noise.discrete_laplace(system_bits, scale),
        "discrete Gaussian": lambda scale: exact_noise.discrete_gaussian(system_bits, scale**2),
        "rounded l2 Laplace": lambda scale: exact_noise.rounded_laplace(system_bits, 3, scale)[0],
        "rounded matrix Laplace": lambda scale: exact_noise.rounded_matrix_laplace(
            system_bits, 3, scale
        )[0],
    }


def sampler_times(number, scales=(Fraction(1, 3), Fraction(3), Fraction(1 << 26)), draws=None):
    """Rank correlation of the time of a draw with the size of its value, by sampler and scale.

    Rows have ``sampler``, ``scale``, ``microseconds`` (the median), ``correlation`` and
    ``standard_error``, which the correlation has where there is none.
    """
    from scipy.stats import spearmanr

    rows = []
    for (name, draw), scale in product((draws or draws_by_name()).items(), scales):
        seconds, values = np.empty(number), np.empty(number)
        for index in range(number):
            start = time.perf_counter_ns()
            value = draw(scale)
            seconds[index] = time.perf_counter_ns() - start
            values[index] = abs(value)
        row = {"sampler": name, "scale": str(scale), "standard_error": number**-0.5}
        row["microseconds"] = float(np.median(seconds)) / 1e3
        rows.append(row | {"correlation": float(spearmanr(seconds, values).statistic)})
    return rows


def release_times(manifold, subjects, repeats, seed=0, few_dimensions=8):
    """Processor time of releases with one extreme record over that of the same without.

    Both take turns.  The row named "same" has the same records twice.  Up to ``few_dimensions``
    points to choose among are dense enough for a stage that does.  Rows have ``manifold``,
    ``subjects``, ``record``, ``milliseconds`` (the median without) and ``ratio`` (of medians).
    """
    rng = np.random.default_rng(seed)
    centre = manifold.random_point(rng)
    radius = min(manifold.injectivity_radius, 2.0)
    assumptions = Assumptions(
        manifold, centre, 0.4 * radius, 0.4 * radius, (0.0, 1.0), subjects, residual_scale=0.3
    )
    # The first step begins at the centre, and has its opposite as an antipode.
    half = Fraction(1, 2)
    steps = ReleasePlan(
        assumptions, PrivacyBudget("1"), (NoisyStep(half, clip=0.3),) * 2, 1.0, 1.0, 1.0
    )
    plans = [steps]
    if manifold.dim <= few_dimensions:
        choice = PointsStage.of(half, PURE, 256, 0.5)
        plans.append(replace(steps, stages=(choice, NoisyStep(half, clip=0.3))))
    many = np.broadcast_to(centre, (subjects, *manifold.point_shape))
    scale = 0.1 * radius / np.sqrt(manifold.dim)
    good = manifold.exp(many, scale * manifold.random_tangent(rng, many))
    covariates = rng.uniform(size=subjects)

    def seconds(points):
        start = time.process_time()
        for each in plans:
            release_geodesic(each, covariates, points, ONE_EACH)
        return time.process_time() - start

    rows = []
    for name, point in {"same": good[0], **extreme_points(manifold, centre)}.items():
        bad = good.copy()
        bad[0] = point
        pairs = [(seconds(good), seconds(bad)) for _ in range(repeats)]
        usual, other = np.median(pairs, axis=0).tolist()
        row = {"manifold": manifold.name, "subjects": subjects, "record": name}
        rows.append(row | {"milliseconds": 1e3 * usual, "ratio": other / usual})
    return rows


def extreme_points(manifold, centre, far=40.0):
    """Arrays by name: the cut locus of the centre or points far away, and what are no points."""
    direction = manifold.frame(centre)[0]
    found = {"centre": centre}
    if np.isfinite(manifold.injectivity_radius):
        found["cut locus"] = manifold.exp(centre, manifold.injectivity_radius * direction)
        # Exactly opposite on spheres; the same shape as the centre otherwise.
        found["minus the centre"] = -centre
    else:
        for away in (2.0, -2.0, far, -far):
            found[f"{away:g} away"] = manifold.exp(centre, away * direction)
    for factor in (np.nan, np.inf, 0.0, 1e-310, 1e149, 1e308):
        with np.errstate(all="ignore"):
            found[f"times {factor:g}"] = centre * factor
    return found
