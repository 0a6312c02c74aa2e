"""Frechet means beside those of geomstats, pyRiemann and Pymanopt, timed in pairs."""

import os
from functools import partial

import numpy as np

from geodp.manifolds.registry import make_manifold
from geodp.means.samples import polar_in_ball
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from geodp.models.regression import mean
from geodp.randomness import random_stream
from reproduction.measurements.benchmark.geomstats_walk import geomstats_space
from reproduction.measurements.benchmark.harness import attempted, row, tabulated

OUR_MEAN, GEOMSTATS, PYRIEMANN = "mean of the library", "geomstats: FrechetMean", "pyRiemann"

# geomstats by its own settings stops far from the mean.
TO_THE_END, PYMANOPT = f"{GEOMSTATS} to the end", "Pymanopt: conjugate gradients"

# Rows of ratios of times, ours over another's.
RATIO = "time of a mean over that of another"

MANIFOLDS = {"S^2": ("sphere", 2), **{f"SPD({size})": ("spd", size) for size in (3, 8, 20)}}

# On the sphere points are within so many radians of a pole.
RADIUS = np.pi / 8

# Gradient to reach, over the root mean squared distance: what `GeodesicModel.fit` aims at.
TOLERANCE = 1e-10

PAIRS = 9


def measure(settings, rats, **_):
    """Table of times of means, of their ratios, and of the gradients at them."""
    # Before geomstats reads it, which is when it is first used.
    os.environ["GEOMSTATS_BACKEND"] = "numpy"
    rows = []
    for space, numbers in settings["means"].items():
        for number in numbers:
            rng = random_stream(settings["seed"], "benchmark", "means", space, f"n{number}")
            rows += _of_data_set(
                space, make_points(rng, space, number), settings["seconds"]["mean"]
            )
    return tabulated(rows)


def make_points(rng, space, number):
    """Points about a pole; or covariance matrices of twice as many normal numbers as rows."""
    manifold = make_manifold(*MANIFOLDS[space])
    if space == "S^2":
        return polar_in_ball(rng, manifold, RADIUS, (number,))
    draws = rng.standard_normal((number, manifold.size, 2 * manifold.size))
    return draws @ np.swapaxes(draws, -1, -2) / (2 * manifold.size)


def _of_data_set(space, points, limit):
    """Rows of one data set."""
    model = GeodesicModel(make_manifold(*MANIFOLDS[space]), 0)
    ours = partial(lambda given: mean(given, model.manifold).footpoint, points)
    scale = np.sqrt(2.0 * model.fit(None, points).energy)
    place = (space, len(points))
    rows = []

    def add(what, method, value, unit, **others):
        rows.append(row(what, *place, method, value, unit, dimension=model.manifold.dim, **others))

    own = []
    for method, theirs in others(model.manifold, points, TOLERANCE * scale).items():
        first = attempted(theirs, limit)
        if first.problem:
            add("Frechet mean", method, first.seconds, "s", is_bound=True, note=first.problem)
            continue
        pairs = paired(ours, theirs, PAIRS if first.seconds < 1.0 else 3, limit)
        own += list(pairs[:, 0])
        ratios = pairs[:, 0] / pairs[:, 1]
        spread = f"{ratios.min():.3g} to {ratios.max():.3g} in {len(ratios)} pairs"
        add("Frechet mean", method, np.median(pairs[:, 1]), "s")
        add(RATIO, method, np.median(ratios), "1", note=spread)
        add(
            "gradient at a Frechet mean", method, _gradient(model, points, first.found) / scale, "1"
        )
    add("Frechet mean", OUR_MEAN, np.median(own), "s")
    add("gradient at a Frechet mean", OUR_MEAN, _gradient(model, points, ours()) / scale, "1")
    return rows


def _gradient(model, points, found):
    gradient = model.energy_gradient({FOOTPOINT: found}, None, points).gradient[FOOTPOINT]
    return float(model.manifold.norm(found, gradient))


def paired(first, second, pairs, limit):
    """Seconds (pairs, 2) of two functions, called in turn; who comes first alternates."""
    seconds = np.empty((pairs, 2))
    for pair in range(pairs):
        for index in (0, 1) if pair % 2 else (1, 0):
            tried = attempted((first, second)[index], limit)
            seconds[pair, index] = tried.seconds if tried.found is not None else np.nan
    return seconds


def others(manifold, points, tolerance):
    """Means of others by name, each a function, to a gradient of a length where they take one."""
    found = {
        GEOMSTATS: _geomstats(manifold, points),
        # Steps by their squared length.
        TO_THE_END: _geomstats(manifold, points, epsilon=tolerance**2, max_iter=200),
        PYMANOPT: _pymanopt(manifold, points, tolerance),
    }
    if len(manifold.point_shape) == 2:
        from pyriemann.geometry.mean import mean_riemann

        found[PYRIEMANN] = partial(mean_riemann, points, tol=tolerance, maxiter=200)
    return found


def _geomstats(manifold, points, **settings):
    from geomstats.learning.frechet_mean import FrechetMean

    estimator = FrechetMean(geomstats_space(manifold)).set(**settings)
    return lambda: np.asarray(estimator.fit(points).estimate_)


def _pymanopt(manifold, points, tolerance):
    """Conjugate gradients from the arithmetic mean, with distances of the library."""
    import pymanopt
    from pymanopt.optimizers import ConjugateGradient

    kinds = pymanopt.manifolds
    space = (
        kinds.SymmetricPositiveDefinite(manifold.size)
        if len(manifold.point_shape) == 2
        else kinds.Sphere(*manifold.point_shape)
    )
    model = GeodesicModel(manifold, 0)

    @pymanopt.function.numpy(space)
    def cost(point):
        return float(model.energy_gradient({FOOTPOINT: point}, None, points, ()).energy)

    @pymanopt.function.numpy(space)
    def gradient(point):
        return model.energy_gradient({FOOTPOINT: point}, None, points).gradient[FOOTPOINT]

    problem = pymanopt.Problem(space, cost, riemannian_gradient=gradient)
    optimiser = ConjugateGradient(min_gradient_norm=tolerance, verbosity=0)
    start = manifold.project(np.mean(points, axis=0))
    return lambda: optimiser.run(problem, initial_point=start).point
