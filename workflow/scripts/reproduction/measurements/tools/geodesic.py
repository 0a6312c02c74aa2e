"""Geodesic regression of this project: points of R^m on one covariate from 0 to 1."""

from dataclasses import replace

import numpy as np

from geodp.manifolds.euclidean import Euclidean
from geodp_release.accounting import PrivacyBudget
from geodp_release.planning import plan_release
from geodp_release.simulation import UNKNOWN
from reproduction.measurements.utility import releases
from reproduction.measurements.utility.releases import DataSets, Space


def as_published(problem, budget, rng, draws, settings):
    """Lines (draws, 2, m) of the published mechanism, half of the budget for each parameter."""
    # A ball that holds all records: in flat space the mechanism has no other use for it.
    reach = problem.bound * np.sqrt(problem.responses.shape[1])
    data = _data(problem, settings | {"support": settings["support"] | {"footpoint_radius": reach}})
    return _lines(releases.draw_published(rng, data, budget.epsilon, draws, settings["chains"]))


def release(problem, budget, rng, draws, settings):
    """Lines as releases are drawn; how covariates are spread over their range is not public."""
    data = _data(problem, settings)
    assumptions = replace(
        data.space.assumptions(data.covariates.shape[1]), covariate_spread=UNKNOWN
    )
    planned = plan_release(assumptions, PrivacyBudget(str(budget.epsilon)))
    return _lines(releases.draw_releases(rng, planned, data, 1, draws))


def _data(problem, settings):
    """The records as one data set of R^m, with what is public about it."""
    manifold = Euclidean(problem.responses.shape[1])
    unknown = np.full(manifold.dim, np.nan)
    public = {key: settings[key] for key in ("support", "residual_scale")}
    space = Space(manifold.name, manifold, unknown, unknown, np.zeros(manifold.dim), public)
    covariates, points = problem.covariates[:, 0][None], problem.responses[None]
    return DataSets(space, covariates, points)


def _lines(drawn):
    """Lines from footpoints and shooting vectors of the middle of the covariate's range."""
    slopes = drawn.shooting_vector[0]
    return np.stack([drawn.footpoint[0] - 0.5 * slopes, slopes], axis=1)
