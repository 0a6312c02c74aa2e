"""Symmetric positive definite matrices with the affine-invariant metric."""

from dataclasses import dataclass
from itertools import combinations_with_replacement

import numpy as np

from geodp.manifolds.base import align_data_axes
from geodp.manifolds.symmetric import SymmetricSpace


def _transposed(matrix):
    return np.swapaxes(matrix, -1, -2)


def _symmetric(matrix):
    return 0.5 * (matrix + _transposed(matrix))


def _forward(factor, matrix):
    """``L^-1 matrix`` for a lower triangular L."""
    size = factor.shape[-1]
    if size > 3:
        return np.linalg.solve(factor, matrix)
    # Small matrices many at once, row by row: several times faster than LAPACK.
    rows: list = []
    for index in range(size):
        row = matrix[..., index, :]
        for before, known in enumerate(rows):
            row = row - factor[..., index, before, None] * known
        rows.append(row / factor[..., index, index, None])
    return np.stack(rows, axis=-2)


def _finite(matrix):
    """Matrices, with the identity in place of those that are not finite; and NaN for these, else 0.

    LAPACK refuses all for one that is not finite.
    """
    finite = np.all(np.isfinite(matrix), axis=(-2, -1), keepdims=True)
    return np.where(finite, matrix, np.eye(matrix.shape[-1])), np.where(finite[..., 0], 0.0, np.nan)


def _eigenvalues(matrix):
    safe, wrong = _finite(matrix)
    return np.linalg.eigvalsh(safe) + wrong


def _eigen(matrix):
    safe, wrong = _finite(matrix)
    values, vectors = np.linalg.eigh(safe)
    return values + wrong, vectors


def _spectral(values, vectors):
    return (vectors * values[..., None, :]) @ _transposed(vectors)


def _log_2x2(inverse, points, shrink):
    """`SPD._log_entries` for 2 x 2 matrices in closed form, several times faster.

    With ``M = mean I + N`` and N of trace zero and eigenvalues ``+-spread``, the logarithm is
    ``log(det M) / 2 I + atanh(spread / mean) / spread N``.
    """
    (a, b), (c, d) = np.moveaxis(inverse, (-2, -1), (0, 1))
    # Entries of ``inverse @ point @ inverse^T`` are linear in those of the point.
    rows = (a * a, 2.0 * a * b, b * b), (a * c, a * d + b * c, b * d), (c * c, 2.0 * c * d, d * d)
    change = np.stack([np.stack(row, axis=-1) for row in rows], axis=-2)
    flat = np.stack([points[..., 0, 0], points[..., 0, 1], points[..., 1, 1]], axis=-2)
    moved = change @ flat
    first, second = shrink[..., 0], shrink[..., 1]
    upper = moved[..., 0, :] * first**2
    off = moved[..., 1, :] * first * second
    lower = moved[..., 2, :] * second**2
    mean, half = 0.5 * (upper + lower), 0.5 * (upper - lower)
    ratio = np.sqrt(half**2 + off**2) / mean
    small = ratio < 1e-4
    safe = np.where(small, 0.5, ratio)
    stretch = np.where(small, 1.0 + ratio**2 / 3.0, np.arctanh(safe) / safe) / mean
    scale = 0.5 * np.log(upper * lower - off**2)
    return np.stack([scale + stretch * half, stretch * off, scale - stretch * half], axis=-2)


class SPD(SymmetricSpace):
    """m x m symmetric positive definite matrices, ``<u, w>_p = tr(p^-1 u p^-1 w)``.

    Any factor ``L L^T = p`` is an isometry that takes the identity to ``p``; the Cholesky
    factor is used throughout.
    """

    against_ambient_noise = "can leave the positive definite matrices"

    def __init__(self, size: int):
        self.name = f"SPD({size})"
        self.size = size
        self.dim = size * (size + 1) // 2
        self.point_shape = (size, size)
        self.curvature_bounds = (-0.5, 0.0) if size > 1 else (0.0, 0.0)
        # Half the sum of the positive roots, in the norm of the metric (Hajri et al. 2016).
        self.volume_growth = np.sqrt(size * (size**2 - 1) / 12.0)
        self._rows, self._columns = np.triu_indices(size)
        diagonal = self._rows == self._columns
        self.curvature_signs = tuple(0 if flat else -1 for flat in diagonal)
        self.multiplicities = (1,) * self.dim
        # An entry off the diagonal stands twice in its matrix.
        self._counts = np.where(diagonal, 1.0, 2.0)
        basis = np.zeros((self.dim, size, size))
        index = np.arange(self.dim)
        value = np.where(diagonal, 1.0, np.sqrt(0.5))
        basis[index, self._rows, self._columns] = value
        basis[index, self._columns, self._rows] = value
        self._basis = basis

    @property
    def curvature_norm(self):
        """The tensor is a quarter of two commutators, each of norm at most sqrt(2) times both."""
        return 0.5 if self.size > 1 else 0.0

    def _whiten(self, point, matrix):
        """``L^-1 matrix L^-T`` and ``L``, for the Cholesky factor ``L`` of ``point``."""
        factor = np.linalg.cholesky(point)
        half = _forward(factor, matrix)
        return _symmetric(_transposed(_forward(factor, _transposed(half)))), factor

    def exp(self, point, vector):
        white, factor = self._whiten(point, vector)
        values, vectors = np.linalg.eigh(white)
        return _symmetric(factor @ _spectral(np.exp(values), vectors) @ _transposed(factor))

    def _compared(self, point, other):
        """Whitened matrices of which `_logarithms` takes logarithms, which are far, and L."""
        # From the difference, so that nearby matrices lose no digits; and from themselves where
        # they are far.  Both are computed for all, so that time does not tell which are far.
        white, factor = self._whiten(point, other - point)
        far = _eigenvalues(white)[..., 0] < -0.5
        return np.where(far[..., None, None], self._whiten(point, other)[0], white), far, factor

    def _logarithms(self, values, far):
        near = np.log1p(np.maximum(values, -0.5))
        return np.where(far[..., None], np.log(np.where(far[..., None], values, 1.0)), near)

    def log(self, point, other):
        compared, far, factor = self._compared(point, other)
        values, vectors = _eigen(compared)
        return factor @ _spectral(self._logarithms(values, far), vectors) @ _transposed(factor)

    def dist(self, point, other):
        # As in `log`, without eigenvectors.
        compared, far, _ = self._compared(point, other)
        return np.linalg.norm(self._logarithms(_eigenvalues(compared), far), axis=-1)

    def transport(self, point, direction, vector):
        white, factor = self._whiten(point, direction)
        values, vectors = np.linalg.eigh(white)
        root = _spectral(np.exp(0.5 * values), vectors)
        carried = root @ self._whiten(point, vector)[0] @ root
        return _symmetric(factor @ carried @ _transposed(factor))

    def inner(self, point, first, second):
        left = np.linalg.solve(point, first)
        right = np.linalg.solve(point, second)
        return np.einsum("...ab,...ba->...", left, right)

    def frame(self, point):
        factor = np.linalg.cholesky(point)[..., None, :, :]
        return factor @ self._basis @ _transposed(factor)

    def project(self, array):
        return _symmetric(np.asarray(array, dtype=float))

    def project_tangent(self, point, array):
        return _symmetric(array)

    def random_point(self, rng, shape=(), radius=1.0):
        identity = np.broadcast_to(np.eye(self.size), (*shape, self.size, self.size))
        return self.exp(identity, self.random_tangent_in_ball(rng, identity, radius))

    def layouts(self):
        return super().layouts() | {self.dim: "the upper triangle row by row"}

    def from_layout(self, numbers):
        if numbers.shape[-1] != self.dim or self.size == 1:
            return super().from_layout(numbers)
        matrices = np.zeros((len(numbers), *self.point_shape))
        matrices[:, self._rows, self._columns] = numbers
        matrices[:, self._columns, self._rows] = numbers
        return matrices

    def invalid_reason(self, array):
        if not np.all(np.isfinite(array)):
            return "an entry is not a finite number"
        if not np.allclose(array, _transposed(array), rtol=1e-9, atol=0.0):
            return "the matrix is not symmetric"
        smallest = float(np.linalg.eigvalsh(array)[0])
        if smallest <= 0.0:
            return f"the matrix is not positive definite (smallest eigenvalue {smallest:.4g})"
        return None

    def are_points(self, arrays):
        # Eigenvalues of larger numbers overflow; those of one matrix spoil those of no other.
        numbers = np.all(np.abs(arrays) < 1e150, axis=(-2, -1))
        safe = np.where(self.expand(numbers), arrays, np.eye(self.size))
        even = np.isclose(safe, _transposed(safe), rtol=1e-9, atol=0.0)
        smallest = np.linalg.eigvalsh(_symmetric(safe))[..., 0]
        return numbers & np.all(even, axis=(-2, -1)) & (smallest > 0.0)

    def frequencies(self, point, vector):
        values = np.linalg.eigvalsh(self._whiten(point, vector)[0])
        return 0.5 * np.abs(values[..., self._rows] - values[..., self._columns])

    def _eigenframe(self, point, vector):
        """Matrix ``G`` with ``G G^T = p`` that diagonalises ``vector``, and the eigenvalues."""
        white, factor = self._whiten(point, vector)
        values, vectors = np.linalg.eigh(white)
        return values, factor @ vectors

    def split(self, point, vector, other):
        _, basis = self._eigenframe(point, vector)
        half = np.linalg.solve(basis, other)
        entries = np.linalg.solve(basis, _transposed(half))
        symmetric = entries[..., self._rows, self._columns][..., None, None]
        masks = np.asarray(self._basis != 0.0, dtype=float)
        basis = basis[..., None, :, :]
        return basis @ (symmetric * masks) @ _transposed(basis)

    def _log_entries(self, inverse, points, shrink):
        """Entries (*batch, K, n) of the logarithms of shrunk points in another basis."""
        inverse = inverse[..., None, :, :]
        moved = inverse @ points @ _transposed(inverse)
        moved = shrink[..., :, None] * moved * shrink[..., None, :]
        eigenvalues, vectors = np.linalg.eigh(_symmetric(moved))
        logarithms = _spectral(np.log(eigenvalues), vectors)
        return np.moveaxis(logarithms[..., self._rows, self._columns], -1, -2)

    def distances_along(self, start, velocity, times, points):
        return np.sqrt(self.logs_along(start, velocity, times, points).squared_distances)

    def logs_along(self, start, velocity, times, points):
        """See `SymmetricSpace.logs_along`; in the eigenframe of ``v`` the geodesic is diagonal.

        With ``G G^T = p`` and ``G`` diagonalising ``v``, ``G exp(t Lambda / 2)`` takes the identity
        to the place at time t, and its tangent frame is that of ``G`` in parallel transport.  So
        what is carried back is the logarithm of a matrix, whose entries are the components.
        """
        axes = times.ndim - 1, start.ndim - 2
        x, y = (align_data_axes(each, *axes) for each in (times, points))
        values, basis = self._eigenframe(start, velocity)
        shrink = np.exp(-0.5 * x[..., None] * values[..., None, :])
        log_of = _log_2x2 if self.size == 2 else self._log_entries
        entries = log_of(np.linalg.inv(basis), y, shrink)
        return SPDLogs(
            frequencies=0.5 * np.abs(values[..., self._rows] - values[..., self._columns]),
            squared_distances=np.einsum("...kn,...kn,k->...n", entries, entries, self._counts),
            entries=entries,
            basis=basis,
        )


@dataclass(frozen=True)
class SPDLogs:
    """`LogsAlong` on SPD(m): entries (*batch, K, n) in the eigenframe (*batch, m, m)."""

    frequencies: np.ndarray
    squared_distances: np.ndarray
    entries: np.ndarray
    basis: np.ndarray

    def combine(self, weights):
        """See `LogsAlong.combine`."""
        size = self.basis.shape[-1]
        total = np.zeros((*self.entries.shape[:-2], size, size))
        # The upper triangle row by row.
        places = combinations_with_replacement(range(size), 2)
        for index, (weight, (row, column)) in enumerate(zip(weights, places, strict=True)):
            value = np.sum(weight * self.entries[..., index, :], axis=-1)
            total[..., row, column] = total[..., column, row] = value
        return self.basis @ total @ _transposed(self.basis)
