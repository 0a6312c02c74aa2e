"""Flat spaces: matrices that a public chart takes to a vector space, whose distances they have.

A tangent vector is stored as the chart sees it, so that it is the same everywhere; curves of
constant velocity are lines in the chart, and everything about them is exactly linear.
"""

from abc import abstractmethod

import numpy as np

from geodp.manifolds.manifold import align_data_axes
from geodp.manifolds.symmetric import LogsByEigenspace, SymmetricSpace


class Charted(SymmetricSpace):
    """Symmetric matrices with the metric that a diffeomorphism pulls back from a vector space.

    The vector space is one of symmetric matrices with Frobenius' norm, in which an entry off the
    diagonal counts twice.  A pull-back of a flat metric is flat, and as the chart is onto a whole
    vector space, every pair of points has one geodesic.  A subclass has the chart and its
    inverse, the ``_rows`` and ``_columns`` of entries that are coordinates, their ``roots`` (1, or
    sqrt(2) off the diagonal) and an orthonormal ``_basis`` (dim, m, m), in the same order.
    """

    curvature_bounds = (0.0, 0.0)
    curvature_signs = (0,)
    two_point_homogeneous = True
    _rows: np.ndarray
    _columns: np.ndarray
    roots: np.ndarray
    _basis: np.ndarray

    @property
    def multiplicities(self):  # type: ignore[override]
        """One flat eigenspace."""
        return (self.dim,)

    @abstractmethod
    def chart(self, points):
        """Symmetric matrices (..., m, m) of a vector space, each of its point alone."""

    @abstractmethod
    def unchart(self, matrices):
        """The points that the chart takes to matrices (..., m, m) of the vector space."""

    def fast_chart(self, points):
        """`chart`, perhaps with other formulas that suit many points."""
        return self.chart(points)

    def exp(self, point, vector):
        self.refuse_other_shapes(point, vector)
        return self.unchart(self.chart(point) + vector)

    def log(self, point, other):
        self.refuse_other_shapes(point, other)
        return self.chart(other) - self.chart(point)

    def transport(self, point, direction, vector):
        shape = np.broadcast_shapes(point.shape, direction.shape, vector.shape)
        return np.broadcast_to(vector, shape)

    def inner(self, point, first, second):
        return np.sum(first * second, axis=(-2, -1))

    def frame(self, point):
        return np.broadcast_to(self._basis, (*self.batch_shape(point), *self._basis.shape))

    def coordinates(self, point, vector, frame=None):
        """See `Manifold.coordinates`; the frame is the same everywhere."""
        return np.asarray(vector)[..., self._rows, self._columns] * self.roots

    def magnification(self, point):
        """See `Manifold.magnification`; a matrix's logarithm loses digits by its condition."""
        return np.linalg.cond(point)

    def centre(self, points):
        """The mean, exactly."""
        return self.unchart(np.mean(self.chart(points), axis=-3))

    def random_point(self, rng, shape=(), radius=1.0):
        origin = np.broadcast_to(np.eye(self.point_shape[0]), (*shape, *self.point_shape))
        return self.exp(origin, self.random_tangent_in_ball(rng, origin, radius))

    def frequencies(self, point, vector):
        return np.zeros((*np.broadcast_shapes(point.shape, vector.shape)[:-2], 1))

    def split(self, point, vector, other):
        return other[..., None, :, :]

    def carried_residuals(self, start, vectors, points):
        residuals = self.chart(points) - (self.chart(start) + vectors)
        squares = self.inner(None, residuals, residuals)
        return np.zeros((*squares.shape, 1)), residuals[..., None, :, :], squares

    def logs_along(self, start, velocity, times, points):
        axes = times.ndim - 1, start.ndim - 2
        x, y = (align_data_axes(each, *axes) for each in (times, self.fast_chart(points)))
        begin, speed = self.chart(start)[..., None, :, :], velocity[..., None, :, :]
        logs = y - (begin + self.expand(x) * speed)
        return LogsByEigenspace(
            manifold=self,
            times=x,
            frequencies=np.zeros((*logs.shape[:-3], 1)),
            squared_distances=self.inner(None, logs, logs),
            components=logs[..., None, :, :, :],
        )
