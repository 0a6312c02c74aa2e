"""The ambient spaces of SPD matrices and spheres: coordinates, balls, and points that fell out."""

import numpy as np

from geodp.manifolds.spd import SPD
from geodp.randomness import random_directions

# How far from one the norm of a point of the sphere may be, by rounding.
ON_THE_SPHERE = 1e-12


def embed(manifold, points):
    """Coordinates in the ambient space: the upper triangle of a matrix, or a point's own."""
    if isinstance(manifold, SPD):
        return points[..., *np.triu_indices(manifold.size)]
    return np.reshape(points, (*manifold.batch_shape(points), -1))


def from_ambient(manifold, coordinates):
    """The inverse of `embed`, for points that may lie outside of the manifold."""
    points = np.empty((*coordinates.shape[:-1], *manifold.point_shape))
    if not isinstance(manifold, SPD):
        return coordinates.reshape(points.shape)
    rows, columns = np.triu_indices(manifold.size)
    points[..., rows, columns] = points[..., columns, rows] = coordinates
    return points


def ambient_radius(manifold, radius):
    """Radius of a ball in the ambient space that holds a geodesic ball about the pole.

    ``e^r - 1`` about the identity, and the chord ``2 sin(r / 2)`` on the sphere (Reimherr, Bharath
    and Soto, A.2.2 and A.3.2).
    """
    return np.expm1(radius) if isinstance(manifold, SPD) else 2.0 * np.sin(0.5 * radius)


def is_outside(manifold, points):
    """Which points (..., *point_shape) of the ambient space are none of the manifold."""
    if isinstance(manifold, SPD):
        return ~manifold.are_points(points)
    return np.abs(np.linalg.norm(points, axis=-1) - 1.0) > ON_THE_SPHERE


def euclidean_laplace(rng, shape, scale):
    """Vectors of density ``exp(-|x| / scale)``, whose dimension is the last of the axes."""
    length = rng.gamma(shape[-1], scale, shape[:-1])
    return length[..., None] * random_directions(rng, shape)
