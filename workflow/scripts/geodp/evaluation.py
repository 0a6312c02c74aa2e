"""How far draws are from the data and from the truth."""

import numpy as np

from geodp.models.regression import energy_gradient, residual_distances

# Nodes of the covariate's range (Gauss and Legendre's) for the error of a geodesic.
COVARIATES = 8


def mean_squared_errors(manifold, footpoints, shooting_vectors, covariates, points):
    """Mean squared error of each private geodesic on its own data set.

    Parameters
    ----------
    footpoints : ndarray, shape (data_sets, F, *point_shape)
    shooting_vectors : ndarray, shape (data_sets, F, V, *point_shape)

    Returns
    -------
    ndarray, shape (data_sets, F, V)
        ``1/n sum d^2``, the papers' E_ij.
    """
    places = np.broadcast_to(
        np.expand_dims(footpoints, -manifold.point_ndim - 1), shooting_vectors.shape
    )
    found = energy_gradient(manifold, places, shooting_vectors, covariates, points, blocks=())
    return 2.0 * found.energy


def mean_prediction_distances(
    manifold, footpoints, shooting_vectors, fitted_footpoint, fitted_shooting_vector, covariates
):
    """Mean distance of private from non-private predictions at the covariates of the records.

    Parameters
    ----------
    footpoints : ndarray, shape (data_sets, F, *point_shape)
    shooting_vectors : ndarray, shape (data_sets, F, V, *point_shape)
    fitted_footpoint, fitted_shooting_vector : ndarray, shape (data_sets, *point_shape)
    covariates : ndarray, shape (data_sets, n)

    Returns
    -------
    ndarray, shape (data_sets, F, V)
    """
    fitted = manifold.exp(
        np.expand_dims(fitted_footpoint, 1),
        manifold.expand(covariates) * np.expand_dims(fitted_shooting_vector, 1),
    )
    places = np.broadcast_to(
        np.expand_dims(footpoints, -manifold.point_ndim - 1), shooting_vectors.shape
    )
    # Non-private predictions are the records of a data set that fits without residuals.
    away = residual_distances(manifold, places, shooting_vectors, covariates, fitted)
    return np.mean(away, axis=-1)


def geodesic_errors(manifold, geodesics, truths):
    """Squared errors of geodesics on covariates from -1/2 to 1/2.

    Parameters
    ----------
    geodesics, truths : tuple of ndarray, shape (*batch, *point_shape)
        Footpoint, in the middle of the range, and shooting vector; batches broadcast.

    Returns
    -------
    dict of ndarray, shape (*batch)
        ``curve``, the mean over the range of the squared distance at a covariate; ``footpoint``,
        the squared distance of footpoints; ``shooting_vector``, that of shooting vectors, one
        carried to the other's footpoint.
    """
    (p, v), (q, w) = geodesics, truths
    nodes, weights = np.polynomial.legendre.leggauss(COVARIATES)
    curve = sum(
        0.5
        * weight
        * manifold.dist(manifold.exp(p, 0.5 * x * v), manifold.exp(q, 0.5 * x * w)) ** 2
        for x, weight in zip(nodes, weights, strict=True)
    )
    apart = manifold.transport_to(p, q, v) - w
    return {
        "curve": curve,
        "footpoint": manifold.dist(p, q) ** 2,
        "shooting_vector": manifold.inner(q, apart, apart),
    }


def from_the_middle(manifold, footpoint, shooting_vector):
    """Footpoint and shooting vector in the middle of a geodesic, from those at its start."""
    half = 0.5 * shooting_vector
    return manifold.exp(footpoint, half), manifold.transport(footpoint, half, shooting_vector)
