"""Symmetric positive definite matrices with the log-Euclidean metric."""

import numpy as np

from geodp.manifolds.charted import Charted
from geodp.manifolds.drawn import Drawn
from geodp.manifolds.positive_definite import METRICS, PositiveDefinite
from geodp.manifolds.symmetric_matrices import (
    half_gaps_2x2,
    log_3x3,
    log_eigen,
    spectral,
    symmetrised,
)


class LogEuclideanSPD(Charted, PositiveDefinite):
    """m x m symmetric positive definite matrices, with ``|log p - log q|`` as distance.

    The norm is Frobenius', so that an entry of the logarithm off the diagonal weighs sqrt(2)
    (Arsigny et al. 2007).  The matrix logarithm takes these matrices one to one, smoothly and onto
    the symmetric ones, so the space is flat.  Tangent vectors are symmetric matrices as the
    logarithm sees them: ``Exp(p, v)`` is ``exp(log p + v)``.
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

    def unchart(self, matrices):
        """Exponentials of symmetric matrices."""
        values, vectors = np.linalg.eigh(matrices)
        return symmetrised(spectral(np.exp(values), vectors))

    def fast_chart(self, points):
        """Logarithms, in closed form of 2 x 2 matrices, and of 3 x 3 where these are regular."""
        if self.size == 2:
            upper, off, lower = np.moveaxis(self.entries(points), -1, 0)
            half = 0.5 * np.log(upper * lower - off**2)
            of_log, gap = half_gaps_2x2(upper, off, lower, half)
            apart = gap > 0.0
            stretch = np.where(apart, of_log / np.where(apart, gap, 1.0), 2.0 / (upper + lower))
            aside = 0.5 * stretch * (upper - lower)
            return self.symmetric(np.stack([half + aside, stretch * off, half - aside], axis=-1))
        if self.size != 3:
            return self.chart(points)
        entries, far = log_3x3(*np.moveaxis(self.entries(points), -1, 0))
        found = self.symmetric(np.moveaxis(entries, 0, -1))
        if np.any(far):
            found[far] = self.chart(points[far])
        return found

    def drawn(self, centre, points, radii):
        """See `Manifold.drawn`; by entries of logarithms, whose limits are exact."""
        values, before = self.entries(self.chart(points)), self.entries(self.chart(centre))
        away = radii[:, None] / self.roots
        names = [f"log, {name}" for name in self.coordinate_names]
        what = "Entries of the matrix logarithm of the prediction"
        return Drawn(values, values - away, values + away, before, what, names)
