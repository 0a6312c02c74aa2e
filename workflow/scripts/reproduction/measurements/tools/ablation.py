"""Releases of one method with the lines of another: which of the two gains, against AdaSSP.

These are for comparison alone: no budget is accounted for.
"""

import numpy as np

from geodp.linear import moment_matrix
from reproduction.measurements.tools import adassp
from reproduction.measurements.tools.benchmark import shares_of
from reproduction.measurements.tools.problem import NONE, Method


def _our_lines(problem, budget, rng):
    """Lines of matrix methods from a matrix as noisy as AdaSSP's releases, responses unclipped."""
    z, k = np.hstack([problem.design, problem.responses]), problem.design.shape[1]
    # Off the diagonal Gaussian noise has the deviation of its scale over sqrt(2).
    noise = moment_matrix.GaussianNoise(np.sqrt(2.0) * adassp.noise_scale(budget))
    noisy = z.T @ z + noise.draw(rng, len(z.T))
    return problem.line(moment_matrix.slopes_from(noisy, k, noise, 1.0))


def _its_lines(problem, budget, rng, delta):
    """AdaSSP's lines from the release of a matrix method."""
    x, k = problem.design, problem.design.shape[1]
    limit = moment_matrix.planned_clipping(problem.records, k, budget.epsilon)
    z = moment_matrix.contributions(x, problem.responses, limit)
    noise = moment_matrix.noise_of(1.0 + moment_matrix.WEIGHT**2, budget.epsilon, delta)
    noisy = z.T @ z + noise.draw(rng, len(z.T))
    added = adassp.ridge(rng, x.T @ x, noise.deviation(len(z.T)), budget.delta)
    right = noisy[:k, k:] * limit / moment_matrix.WEIGHT
    return problem.line(np.linalg.solve(noisy[:k, :k] + added * np.eye(k), right))


def _of_gaussian(problem, budget, rng):
    return _its_lines(problem, budget, rng, budget.delta)


def _of_laplace(problem, budget, rng):
    return _its_lines(problem, budget, rng, None)


# By name: what is released, whose lines are taken from it, and how.
EXCHANGED = {
    "ours_from_adassp": ("as noisy as AdaSSP's", "ours", _our_lines),
    "adassp_from_gaussian": ("matrix Gaussian", "AdaSSP's", _of_gaussian),
    "adassp_from_laplace": ("matrix Laplace", "AdaSSP's", _of_laplace),
}

# Methods of the benchmark beside which these are shown.
WHOLE = {"adassp": ("AdaSSP's", "AdaSSP's"), "matrix_laplace": ("matrix Laplace", "ours")}


def measure(settings, data_set):
    """Table of shares on a data set, a row a release, lines from it, and budget.

    Parameters
    ----------
    settings, data_set
        As for `reproduction.measurements.tools.benchmark.measure`.
    """
    methods = {
        name: Method(f"{release}, {lines} lines", fit, NONE, "")
        for name, (release, lines, fit) in EXCHANGED.items()
    }
    return (shares_of(settings, data_set, methods, settings["benchmark"]["ablation"]),)
