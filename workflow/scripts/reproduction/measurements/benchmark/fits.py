"""Fits of geodesics by geomstats, with its solvers and from several starts.

The backend of geomstats is chosen before it is imported, by the variable GEOMSTATS_BACKEND.
"""

import logging
import os
import signal
import time
import warnings
from contextlib import contextmanager

import numpy as np
import pandas as pd

from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel
from reproduction.measurements.benchmark.geomstats_walk import (
    from_geomstats,
    geomstats_space,
    to_geomstats,
)
from reproduction.measurements.benchmark.spaces import (
    COLUMNS,
    SPACES,
    make_data,
    row,
    shortest_time,
)

OUR_FIT = "fit of the library"
DEFAULT = "default"

# A slope this much shorter than the fit's is none.
NO_SLOPE = 1e-3

# Energies that differ by less than this, relatively, are the same.
SAME_ENERGY = 1e-6

# Fits shorter than this are timed twice, seconds.
AGAIN = 1.0

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


class OutOfTime(Exception):
    """A measurement was stopped at its time limit."""


@contextmanager
def time_limit(seconds):
    """Raise `OutOfTime` when the work takes longer."""

    def stop(number, frame):
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)


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
    if length < NO_SLOPE:
        return excess, "the mean and a slope of zero"
    if excess > SAME_ENERGY:
        return excess, f"excess energy {excess:.2g} times the least"
    return excess, "same energy"


def measure(settings, spaces, backend, rats):
    """Table of fits on the named spaces, ours and those of geomstats with one of its backends."""
    # Before geomstats reads it, which is when it is first used.
    os.environ["GEOMSTATS_BACKEND"] = backend
    rows = []
    for name in spaces:
        for number in settings["fits"]["n"]:
            rows += measure_data_set(SPACES[name], number, backend, settings, rats)
    return (pd.DataFrame(rows, columns=COLUMNS),)


def measure_data_set(space, number, backend, settings, rats):
    """Rows: time and energy of fits of one data set, ours and those of geomstats."""
    model = GeodesicModel(make_manifold(*space.manifold))
    covariates, points = (array[0] for array in make_data(space, number, settings["seed"], rats))
    found = model.fit(covariates, points)
    limit = settings["seconds"]["fit"]
    spent = shortest_time(lambda: model.fit(covariates, points), settings["seconds"]["rate"])
    note = f"{found.iterations} iterations"
    rows = [row("fit", space.name, number, OUR_FIT, spent, "s", note=note)]
    own_space = geomstats_space(model.manifold)
    theirs = to_geomstats(points)

    def attempt(solver, start):
        """Seconds, excess energy and verdict of one fit of geomstats."""
        began = time.perf_counter()
        with quiet():
            try:
                with time_limit(limit):
                    intercept, slope = regress(own_space, covariates, theirs, solver, start)
                spent = time.perf_counter() - began
                excess, verdict = judge(model, found, intercept, slope, covariates, points)
            except OutOfTime:
                spent, excess, verdict = limit, np.nan, "stopped"
            except Exception as problem:  # whatever it fails with is its result
                spent = time.perf_counter() - began
                excess, verdict = np.nan, f"fails: {type(problem).__name__}: {problem}"
        return spent, excess, verdict

    attempts = [(solver, "linear") for solver in SOLVERS[backend]]
    # What a user gets who asks for nothing, and who starts from the mean.
    attempts.append((CONJUGATE_GRADIENTS, DEFAULT))
    if backend == "autograd":
        descent = ("Riemannian descent", "riemannian", None)
        attempts += [(descent, start) for start in (DEFAULT, "frechet")]
    for solver, start in attempts:
        method = f"geomstats ({backend}): {solver[0]}, start {start}"
        # Its default start is random.
        np.random.seed(settings["seed"] % 2**32)  # noqa: NPY002
        spent, excess, verdict = attempt(solver, start)
        if verdict == "same energy" and spent < AGAIN:
            # Once more, now that all is loaded.
            spent = min(spent, attempt(solver, start)[0])
        what = "fit" if start == "linear" else "fit from a plain start"
        place = (space.name, number, method)
        bound = {"is_bound": verdict == "stopped"}
        rows += [
            row(what, *place, spent, "s", note=verdict, **bound),
            row(f"excess energy of a {what}", *place, excess, "1", note=verdict),
        ]
    return rows


@contextmanager
def quiet():
    """Nothing of what geomstats and NumPy warn of."""
    before = logging.root.manager.disable
    logging.disable(logging.WARNING)
    try:
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")
            yield
    finally:
        logging.disable(before)
