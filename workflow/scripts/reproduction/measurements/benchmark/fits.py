"""Fits of geodesics by geomstats, with its solvers, from the best start there is.

The backend of geomstats is chosen before it is imported, by the variable GEOMSTATS_BACKEND.
"""

import os

import numpy as np

from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel
from reproduction.measurements.benchmark.geomstats_walk import (
    from_geomstats,
    geomstats_space,
    to_geomstats,
)
from reproduction.measurements.benchmark.harness import attempted, row, tabulated, times_of
from reproduction.measurements.benchmark.spaces import SPACES, make_data

OUR_FIT = "fit of the library"

# Energies that differ by less than this, relatively, are the same.
SAME_ENERGY = 1e-6

# Solvers by backend: name, method of the regression, and options of the optimiser where it is not
# its own.
SOLVERS = {
    "numpy": (
        ("conjugate gradients, differences", "extrinsic", None),
        ("L-BFGS, differences", "extrinsic", {"method": "L-BFGS-B", "tol": 1e-12}),
    ),
    "autograd": (
        ("BFGS", "extrinsic", {"method": "BFGS", "autodiff_jac": True, "tol": 1e-6}),
        ("L-BFGS", "extrinsic", {"method": "L-BFGS-B", "autodiff_jac": True, "tol": 1e-12}),
        ("Riemannian descent", "riemannian", {"tol": 1e-10, "max_iter": 1000}),
    ),
}


def linear_start(space, covariates, points):
    """The best start there is: linear regression in the tangent space at the mean."""
    from geomstats.learning.frechet_mean import FrechetMean

    mean = FrechetMean(space).fit(points).estimate_
    centred = covariates - np.mean(covariates)
    slope = np.tensordot(centred, space.metric.log(points, mean), 1) / np.sum(centred**2)
    return np.asarray(mean), np.asarray(slope)


def regress(space, covariates, points, solver):
    """Intercept at the mean covariate and slope, as geomstats stores them."""
    from geomstats.learning.geodesic_regression import GeodesicRegression
    from geomstats.numerics.optimization import ScipyMinimize

    _, method, options = solver
    start = linear_start(space, covariates, points)
    regression = GeodesicRegression(space, method=method, initialization=start)
    if method == "riemannian":
        regression.set(**options)
    elif options is not None:
        regression.optimizer = ScipyMinimize(**options)
    regression.fit(covariates, points)
    return np.asarray(regression.intercept_), np.asarray(regression.coef_)


def judge(model, found, intercept, slope, covariates, points):
    """Excess of the energy over the fit's, relative to that, and what is to be said of it."""
    manifold = model.manifold
    p = from_geomstats(manifold, intercept)
    # On shapes the slope may have a part along the rotations, which moves no shape.
    v = manifold.project_tangent(p, from_geomstats(manifold, slope))
    centred = covariates - np.mean(covariates)
    energy = model.energy_gradient(model.parameters(p, v), centred, points, blocks=()).energy
    excess = float(energy / found.energy - 1.0)
    if not np.isfinite(excess) or manifold.invalid_reason(p) is not None:
        return np.nan, "no point of the space"
    length = manifold.norm(p, v) / manifold.norm(found.footpoint, found.shooting_vector)
    if length < 1e-3:
        return excess, "the mean and a slope of zero"
    if excess > SAME_ENERGY:
        return excess, f"excess energy {excess:.2g} times the least"
    return excess, "same energy"


def measure(settings, spaces, backend, rats):
    """Table of fits on the named spaces, ours and those of geomstats with one of its backends."""
    # Before geomstats reads it, which is when it is first used.
    os.environ["GEOMSTATS_BACKEND"] = backend
    return tabulated(
        line
        for name in spaces
        for number in settings["fits"]["n"]
        for line in measure_data_set(SPACES[name], number, backend, settings, rats)
    )


def measure_data_set(space, number, backend, settings, rats):
    """Rows: time and energy of fits of one data set, ours and those of geomstats."""
    model = GeodesicModel(make_manifold(*space.manifold))
    covariates, points = (array[0] for array in make_data(space, number, settings["seed"], rats))
    found = model.fit(covariates, points)
    spent = min(times_of(lambda: model.fit(covariates, points), settings["seconds"]["rate"]))
    note = f"{found.iterations} iterations"
    rows = [row("fit", space.name, number, OUR_FIT, spent, "s", note=note)]
    own_space, theirs = geomstats_space(model.manifold), to_geomstats(points)

    def attempt(solver):
        """Seconds, excess energy and verdict of one fit of geomstats."""
        tried = attempted(
            lambda: regress(own_space, covariates, theirs, solver), settings["seconds"]["fit"]
        )
        if tried.problem:
            return tried.seconds, np.nan, tried.problem
        return tried.seconds, *judge(model, found, *tried.found, covariates, points)

    for solver in SOLVERS[backend]:
        spent, excess, verdict = attempt(solver)
        if verdict == "same energy" and spent < 1.0:
            # A short one once more, now that all is loaded.
            spent = min(spent, attempt(solver)[0])
        place = (space.name, number, f"geomstats ({backend}): {solver[0]}")
        rows += [
            row("fit", *place, spent, "s", note=verdict, is_bound=verdict == "stopped"),
            row("excess energy of a fit", *place, excess, "1", note=verdict),
        ]
    return rows
