"""Logarithms of positive definite matrices along a geodesic, and Hessians of distances."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from geodp.manifolds.symmetric import SMALLEST, LogsAlong
from geodp.manifolds.symmetric_matrices import log_eigen, transposed


@dataclass(frozen=True)
class SPDLogs(LogsAlong):
    """`LogsAlong` on SPD(m), in the eigenframe (*batch, m, m) of the velocity, its ``basis``.

    Coordinates are orthonormal, one in each of the K eigenspaces; those of the logarithms are
    ``components`` (*batch, K, n).  ``eigen`` are the eigenvalues (*batch, n, m) of the logarithms
    and their eigenvectors.  Of small matrices they are not known, but the entries ``moved`` of
    which logarithms were taken.
    """

    bends: ClassVar[bool] = True
    components: np.ndarray
    basis: np.ndarray
    moved: Any
    eigen: tuple | None

    def combine(self, weights):
        parts = zip(weights, np.moveaxis(self.components, -2, 0), strict=True)
        sums = [np.sum(weight * component, axis=-1) for weight, component in parts]
        return self.vector(np.stack(sums, axis=-1))

    @property
    def bends_readily(self):
        """Whether `bend` costs little beside the logarithms."""
        return self.eigen is not None

    def coordinates(self, vector):
        """Coordinates (*batch, K) of tangent vectors at the start."""
        half = np.linalg.solve(self.basis, vector)
        entries = self.manifold.entries(np.linalg.solve(self.basis, transposed(half)))
        return self.manifold.roots * entries

    def vector(self, coordinates):
        """Tangent vectors at the start, from coordinates."""
        matrix = self.manifold.symmetric(coordinates / self.manifold.roots)
        return self.basis @ matrix @ transposed(self.basis)

    def bend(self, moves):
        """Hessians of half the squared distances, applied to moves of the places.

        Moves and results are coordinates (*batch, K, n).  Along a geodesic of frequency w the
        factor is ``w / tanh(w)``.
        """
        vectors, factors = self._bends
        matrices = self.manifold.symmetric(np.moveaxis(moves, -2, -1) / self.manifold.roots)
        bent = vectors @ (factors * (transposed(vectors) @ matrices @ vectors))
        bent = self.manifold.entries(bent @ transposed(vectors))
        return np.moveaxis(bent * self.manifold.roots, -1, -2)

    @cached_property
    def _bends(self):
        """Eigenvectors (*batch, n, m, m), and factors of entries in them."""
        eigen = self.eigen
        if eigen is None:
            eigen = log_eigen(self.manifold.symmetric(np.moveaxis(self.moved, -2, -1)))
        logarithms, vectors = eigen
        frequencies = 0.5 * np.abs(logarithms[..., :, None] - logarithms[..., None, :])
        safe = np.maximum(frequencies, SMALLEST)
        return vectors, safe / np.tanh(safe)
