"""Symmetric positive definite matrices with the log-Euclidean metric."""

import numpy as np

from geodp.manifolds.drawn import Drawn
from geodp.manifolds.euclidean import Flat, straight_distances
from geodp.manifolds.manifold import align_data_axes
from geodp.manifolds.positive_definite import METRICS, PositiveDefinite
from geodp.manifolds.symmetric import LogsByEigenspace
from geodp.manifolds.symmetric_matrices import log_2x2, log_eigen, spectral, symmetrised


class LogEuclideanSPD(Flat, PositiveDefinite):
    """m x m symmetric positive definite matrices, with ``|log p - log q|`` as distance.

    The norm is Frobenius', so that an entry of the logarithm off the diagonal weighs sqrt(2)
    (Arsigny et al. 2007).  The matrix logarithm takes these matrices one to one, smoothly and onto
    the symmetric ones, a vector space whose flat metric it pulls back: every pair of points has one
    geodesic.  Tangent vectors are symmetric matrices as the logarithm sees them: ``Exp(p, v)`` is
    ``exp(log p + v)``.
    """

    def __init__(self, size: int):
        super().__init__(size)
        self.name = f"SPD({size}), log-Euclidean"

    @property
    def made_from(self):
        return {"size": self.size, "metric": METRICS[1]}

    def chart(self, points):
        """Logarithms of matrices."""
        return symmetrised(spectral(*log_eigen(points)))

    def _unchart(self, matrices):
        """Exponentials of symmetric matrices."""
        values, vectors = np.linalg.eigh(matrices)
        return symmetrised(spectral(np.exp(values), vectors))

    def _fast_chart(self, points):
        """Logarithms, in closed form of 2 x 2 matrices, and of 3 x 3 where these are regular."""
        if self.size == 2:
            upper, off, lower = np.moveaxis(self.entries(points), -1, 0)
            half = 0.5 * np.log(upper * lower - off**2)
            return self.symmetric(np.stack(log_2x2(upper, off, lower, half, half), axis=-1))
        if self.size != 3:
            return self.chart(points)
        entries = self.log_entries(np.moveaxis(self.entries(points), -1, 0))
        return self.symmetric(np.moveaxis(entries, 0, -1))

    def exp(self, point, vector):
        self.refuse_other_shapes(point, vector)
        return self._unchart(self.chart(point) + vector)

    def log(self, point, other):
        self.refuse_other_shapes(point, other)
        return self.chart(other) - self.chart(point)

    def inner(self, point, first, second):
        return np.sum(first * second, axis=(-2, -1))

    def frame(self, point):
        return np.broadcast_to(self._basis, (*self.batch_shape(point), *self._basis.shape))

    def coordinates(self, point, vector, frame=None):
        """See `Manifold.coordinates`; the frame is the same everywhere."""
        return self.entries(np.asarray(vector)) * self.roots

    def magnification(self, point):
        """See `Manifold.magnification`; a matrix's logarithm loses digits by its condition."""
        return np.linalg.cond(point)

    def centre(self, points):
        """The mean, exactly."""
        return self._unchart(np.mean(self.chart(points), axis=-3))

    def carried_residuals(self, start, vectors, points):
        residuals = self.chart(points) - (self.chart(start) + vectors)
        squares = self.inner(None, residuals, residuals)
        return np.zeros((*squares.shape, 1)), residuals[..., None, :, :], squares

    def distances_along(self, start, velocity, times, points):
        start, points = self.chart(start), self.chart(points)
        start, velocity, points = (self.coordinates(None, x) for x in (start, velocity, points))
        return straight_distances(start, velocity, times, points)

    def logs_along(self, start, velocity, times, points):
        axes = times.ndim - 1, start.ndim - 2
        x, y = (align_data_axes(each, *axes) for each in (times, self._fast_chart(points)))
        begin, speed = self.chart(start)[..., None, :, :], velocity[..., None, :, :]
        logs = y - (begin + self.expand(x) * speed)
        return LogsByEigenspace(
            manifold=self,
            times=x,
            frequencies=np.zeros((*logs.shape[:-3], 1)),
            squared_distances=self.inner(None, logs, logs),
            components=logs[..., None, :, :, :],
        )

    def drawn(self, centre, points, radii):
        """See `Manifold.drawn`; by entries of logarithms, whose limits are exact."""
        values, before = self.entries(self.chart(points)), self.entries(self.chart(centre))
        away = radii[:, None] / self.roots
        names = [f"log, {name}" for name in self.coordinate_names]
        what = "Entries of the matrix logarithm of the prediction"
        return Drawn(values, values - away, values + away, before, what, names)
