"""Fits of geodesics by geomstats, with its solvers and from several starts.

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
DEFAULT = "default"

# Energies that differ by less than this, relatively, are the same.
SAME_ENERGY = 1e-6

# Solvers by backend: name, method of the regression, and options of the optimiser where it is not
# its own.
CONJUGATE_GRADIENTS = ("conjugate gradients, differences", "extrinsic", None)
SOLVERS = {
    "numpy": (
        CONJUGATE_GRADIENTS,
        ("L-BFGS, differences", "extrinsic", {"method": "L-BFGS-B", "tol": 1e-12}),
    ),
    "autograd": (
        ("BFGS", "extrinsic", {"method": "BFGS", "autodiff_jac": True, "tol": 1e-6}),
        ("L-BFGS", "extrinsic", {"method": "L-BFGS-B", "autodiff_jac": True, "tol": 1e-12}),
        ("Riemannian descent", "riemannian", {"tol": 1e-10, "max_iter": 1000}),
    ),
}

# What a user gets who asks for nothing, and who starts from the mean.
PLAIN = {
    "numpy": ((CONJUGATE_GRADIENTS, DEFAULT),),
    "autograd": (
        (CONJUGATE_GRADIENTS, DEFAULT),
        (("Riemannian descent", "riemannian", None), DEFAULT),
        (("Riemannian descent", "riemannian", None), "frechet"),
    ),
}


def linear_start(space, covariates, points):
    """The best start there is: linear regression in the tangent space at the mean."""
    from geomstats.learning.frechet_mean import FrechetMean

    mean = FrechetMean(space).fit(points).estimate_
    centred = covariates - np.mean(covariates)
    slope = np.tensordot(centred, space.metric.log(points, mean), 1) / np.sum(centred**2)
    return np.asarray(mean), np.asarray(slope)


def regress(space, covariates, points, solver, start):
    """Intercept at the mean covariate and slope, as geomstats stores them."""
    from geomstats.learning.geodesic_regression import GeodesicRegression
    from geomstats.numerics.optimization import ScipyMinimize

    _, method, options = solver
    if start == "linear":
        start = linear_start(space, covariates, points)
    chosen = {} if start == DEFAULT else {"initialization": start}
    regression = GeodesicRegression(space, method=method, **chosen)
    if method == "riemannian":
        regression.set(**(options or {}))
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

    def attempt(solver, start):
        """Seconds, excess energy and verdict of one fit of geomstats."""
        tried = attempted(
            lambda: regress(own_space, covariates, theirs, solver, start),
            settings["seconds"]["fit"],
        )
        if tried.problem:
            return tried.seconds, np.nan, tried.problem
        return tried.seconds, *judge(model, found, *tried.found, covariates, points)

    for solver, start in [*((each, "linear") for each in SOLVERS[backend]), *PLAIN[backend]]:
        method = f"geomstats ({backend}): {solver[0]}, start {start}"
        # Its default start is random.
        np.random.seed(settings["seed"] % 2**32)  # noqa: NPY002
        spent, excess, verdict = attempt(solver, start)
        if verdict == "same energy" and spent < 1.0:
            # A short one once more, now that all is loaded.
            spent = min(spent, attempt(solver, start)[0])
        what = "fit" if start == "linear" else "fit from a plain start"
        place = (space.name, number, method)
        rows += [
            row(what, *place, spent, "s", note=verdict, is_bound=verdict == "stopped"),
            row(f"excess energy of a {what}", *place, excess, "1", note=verdict),
        ]
    return rows
