"""Errors of drawn parameters: from the data, from the fit, and from the truth."""

import numpy as np

from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance, SquaredDistance


def _states(model, parameters):
    """Parameters of draws, with each footpoint repeated for the shooting vectors drawn at it."""
    footpoint, *vectors = parameters.values()
    if not vectors:
        return dict(parameters)
    places = np.broadcast_to(
        np.expand_dims(footpoint, -model.manifold.point_ndim - 1), vectors[0].shape
    )
    return model.parameters(places, *vectors)


def mean_squared_errors(model, parameters, covariates, points):
    """Mean squared error ``1/n sum d^2`` of each draw on its own data set, the papers' E_ij.

    Of parameters by block, as in `geodp.mechanisms.mechanism.Draws`: (data_sets, F, V), or
    (data_sets, F) without covariates.
    """
    return 2.0 * _mean_losses(model, SquaredDistance(), parameters, covariates, points)


def mean_absolute_errors(model, parameters, covariates, points):
    """Mean distance ``1/n sum d`` of each draw; shapes are those of `mean_squared_errors`."""
    return _mean_losses(model, Distance(), parameters, covariates, points)


def _mean_losses(model, loss, parameters, covariates, points):
    other = GeodesicModel(model.manifold, model.number_of_covariates, loss)
    states = _states(model, parameters)
    return other.energy_gradient(states, covariates, points, blocks=()).energy


def mean_prediction_distances(model, parameters, fitted, covariates):
    """Mean distance of private to non-private predictions, at the covariates of the records.

    Shapes are those of `mean_squared_errors`; ``fitted`` is a dict by block of arrays (data_sets,
    *point_shape).
    """
    shape = (*covariates.shape[:2], *model.manifold.point_shape)
    predictions = model.predict(fitted, model.aligned(covariates, np.empty(shape)))
    # Non-private predictions are the records of a data set that fits without residuals.
    away = model.residual_distances(_states(model, parameters), covariates, predictions)
    return np.mean(away, axis=-1)


def mean_shooting_vector_distances(model, parameters, fitted):
    """Mean length of the difference of private and fitted shooting vectors; shape (data_sets,).

    The model has one covariate.  Private shooting vectors are carried to the fitted footpoint.
    """
    manifold = model.manifold
    p, v = _states(model, parameters).values()
    q, w = (np.expand_dims(part, (1, 2)) for part in fitted.values())
    away = manifold.norm(q, manifold.transport_to(p, q, v) - w)
    return np.mean(away, axis=(1, 2))


def from_the_middle(manifold, footpoint, shooting_vector):
    """Footpoint and shooting vector in the middle of a geodesic, from those at its start."""
    half = 0.5 * shooting_vector
    return manifold.exp(footpoint, half), manifold.transport(footpoint, half, shooting_vector)
