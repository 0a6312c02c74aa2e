"""Geodesic regression of this project, in R^m."""

import numpy as np

from geodp.manifolds.euclidean import Euclidean
from geodp.randomness import random_directions
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.draw import run_plan
from geodp_release.planning import plan_release
from geodp_release.subjects import ONE_EACH, subject_records
from reproduction.measurements.tools import own
from reproduction.measurements.tools.problem import predictions


def as_published(problem, budget, rng, draws, settings=None):
    """Lines (draws, 2, m) of the published mechanism, half of the budget for each parameter.

    In flat space both densities are exp(-|z| / s) about a point, and need no support: the gradient
    for the footpoint at the fitted vector is p - p_hat, and that for the vector at a footpoint is
    its distance from the best vector there, times the mean of the squared covariates.
    """
    x, y = problem.covariates[:, 0], problem.responses
    line, square = own.least_squares(problem), np.mean(x**2)
    largest = np.linalg.norm(y - predictions(line, problem.covariates), axis=1).max()
    scale = 2.0 * largest / (len(x) * 0.5 * budget.epsilon)
    shape = draws, y.shape[1]
    footpoints = line[0] + scale * _laplace(rng, shape)
    best = (x @ y / len(x) - np.mean(x) * footpoints) / square
    return np.stack([footpoints, best + scale / square * _laplace(rng, shape)], axis=1)


def _laplace(rng, shape):
    """Draws from the density exp(-|z|) on R^m, an array of a shape (draws, m)."""
    return rng.gamma(shape[1], size=(shape[0], 1)) * random_directions(rng, shape)


def release(problem, budget, rng, draws, settings):
    """Lines as releases are drawn."""
    public = settings["support"] | {"residual_scale": settings["residual_scale"]}
    return released(planned(problem, budget.epsilon, **public), problem, rng, draws)


def planned(problem, epsilon, work=1 << 24, **public):
    """The plan of a release; how covariates are spread over their ranges is not public."""
    centre, ranges = np.zeros(problem.responses.shape[1]), np.stack([problem.low, problem.high], 1)
    public |= {"covariate_range": ranges.tolist(), "subjects": problem.records}
    assumptions = Assumptions(Euclidean(len(centre)), centre, **public)
    return plan_release(assumptions, PrivacyBudget(str(epsilon)), work)


def released(plan, problem, rng, draws):
    """Lines (draws, 1 + k, m) of a planned release."""
    records = subject_records(plan.assumptions, problem.covariates, problem.responses, ONE_EACH)
    bits, shared = generator_bits(rng), {}
    lines = np.array([run_plan(plan, records, bits, shared).state for _ in range(draws)])
    # From the middle of the covariates' ranges, and along all of each.
    lines[:, 1:] /= (problem.high - problem.low)[:, None]
    lines[:, 0] -= 0.5 * (problem.low + problem.high) @ lines[:, 1:]
    return lines
