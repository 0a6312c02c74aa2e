"""Geodesic regression of this project: points of R^m on one covariate from 0 to 1."""

from dataclasses import replace

import numpy as np

from geodp.manifolds.euclidean import Euclidean
from geodp.randomness import random_directions
from geodp_release.accounting import PrivacyBudget
from geodp_release.planning import plan_release
from geodp_release.simulation import UNKNOWN
from reproduction.measurements.tools import own
from reproduction.measurements.tools.problem import predictions
from reproduction.measurements.utility.releases import DataSets, Space, draw_releases


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
    """Lines as releases are drawn; how covariates are spread over their range is not public."""
    manifold = Euclidean(problem.responses.shape[1])
    unknown = np.full(manifold.dim, np.nan)
    public = {key: settings[key] for key in ("support", "residual_scale")}
    space = Space(manifold.name, manifold, unknown, unknown, np.zeros(manifold.dim), public)
    data = DataSets(space, problem.covariates[:, 0][None], problem.responses[None])
    assumptions = replace(space.assumptions(len(problem.responses)), covariate_spread=UNKNOWN)
    planned = plan_release(assumptions, PrivacyBudget(str(budget.epsilon)))
    drawn = draw_releases(rng, planned, data, 1, draws)
    # From the middle of the covariate's range to its start.
    slopes = drawn.shooting_vector[0]
    return np.stack([drawn.footpoint[0] - 0.5 * slopes, slopes], axis=1)
