"""Flat spaces, of which Euclidean space R^d is one."""

import numpy as np

from geodp.manifolds.symmetric import SymmetricSpace


class Flat(SymmetricSpace):
    """A flat space whose tangent vectors are the same arrays everywhere."""

    curvature_bounds = (0.0, 0.0)
    curvature_signs = (0,)
    two_point_homogeneous = True

    @property
    def multiplicities(self):  # type: ignore[override]
        return (self.dim,)

    def transport(self, point, direction, vector):
        shape = np.broadcast_shapes(point.shape, direction.shape, vector.shape)
        return np.broadcast_to(vector, shape)

    def frequencies(self, point, vector):
        shape = np.broadcast_shapes(*map(self.batch_shape, (point, vector)))
        return np.zeros((*shape, 1))

    def split(self, point, vector, other):
        return np.expand_dims(other, -self.point_ndim - 1)


class Euclidean(Flat):
    """R^d with its usual inner product; points have shape (d,)."""

    ambient_inner = True
    in_units = True
    responses = "numbers, such as a blood pressure, one or several"

    def __init__(self, dimension: int):
        self.name = f"Euclidean R^{dimension}"
        self.size = self.dim = dimension
        self.point_shape = (dimension,)

    @property
    def centres(self):
        return dict.fromkeys(("origin", "anywhere"), np.zeros(self.dim))

    def exp(self, point, vector):
        self.refuse_other_shapes(point, vector)
        return point + vector

    def log(self, point, other):
        self.refuse_other_shapes(point, other)
        return other - point

    def inner(self, point, first, second):
        return np.sum(first * second, axis=-1)

    def distances_along(self, start, velocity, times, points):
        return straight_distances(start, velocity, times, points)

    def frame(self, point):
        return np.broadcast_to(np.eye(self.dim), (*self.batch_shape(point), self.dim, self.dim))

    def tangent(self, point, coordinates):
        return np.asarray(coordinates, dtype=float)

    def project(self, array):
        return np.asarray(array, dtype=float)

    def project_tangent(self, point, array):
        return np.asarray(array, dtype=float)

    def random_point(self, rng, shape=(), radius=1.0):
        return self.random_tangent_in_ball(rng, np.zeros((*shape, self.dim)), radius)

    def invalid_reason(self, array):
        return None if np.all(np.isfinite(array)) else "a coordinate is not a finite number"

    def are_points(self, arrays):
        return np.all(np.isfinite(arrays), axis=-1)


def straight_distances(start, velocity, times, points):
    """Distances (lines, n) of points (n, d) from places of straight lines, each by itself.

    One coordinate after another, since arrays of all together leave the cache.
    """
    squares = np.zeros((len(start), len(points)))
    for p, v, y in zip(start.T, velocity.T, points.T, strict=True):
        away = v[:, None] * times
        away += p[:, None]
        away -= y
        away *= away
        squares += away
    return np.sqrt(squares)
