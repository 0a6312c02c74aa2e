"""Symmetric positive definite matrices with the affine-invariant metric."""

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from geodp.manifolds.drawn import Drawn
from geodp.manifolds.log_euclidean import LogEuclideanSPD
from geodp.manifolds.manifold import align_data_axes
from geodp.manifolds.positive_definite import METRICS, PositiveDefinite
from geodp.manifolds.symmetric import SMALLEST, LogsAlong, jacobi_factors
from geodp.manifolds.symmetric_matrices import (
    SINGULAR,
    are_regular,
    each_times,
    eigenvalues_3x3,
    exponential,
    finite_eigh,
    forward,
    half_gaps_2x2,
    log_2x2,
    log_eigen,
    rotated,
    spectral,
    symmetric_eigenvalues,
    symmetrised,
    transposed,
)


class SPD(PositiveDefinite):
    """m x m symmetric positive definite matrices, ``<u, w>_p = tr(p^-1 u p^-1 w)``.

    Any factor ``L L^T = p`` is an isometry that takes the identity to ``p``; the Cholesky
    factor is used throughout.
    """

    variants = (LogEuclideanSPD,)

    @classmethod
    def of(cls, **settings):
        is_log = settings.get("metric") == METRICS[1]
        return (LogEuclideanSPD if is_log else cls)(settings["size"])

    def __init__(self, size: int):
        super().__init__(size)
        self.name = f"SPD({size})"
        self.has_adjoints_along = size <= 3
        self.curvature_bounds = (-0.5, 0.0) if size > 1 else (0.0, 0.0)
        # Half the sum of the positive roots, in the norm of the metric (Hajri et al. 2016).
        self.volume_growth = np.sqrt(size * (size**2 - 1) / 12.0)
        self.curvature_signs = tuple(0 if flat else -1 for flat in self._diagonal)
        self.multiplicities = (1,) * self.dim

    def shown_limits(self, points, radii):
        """See `Manifold.shown_limits`; exactly.

        In units of the diagonal an entry of correlation r is half of ``(1 + r) Q(u) - (1 - r)
        Q(w)``, u and w orthonormal, Q positive; the greatest one is where these are eigenvectors of
        Q.
        """
        roots = np.sqrt(np.diagonal(points, axis1=-2, axis2=-1))
        units = self.entries(roots[..., :, None] * roots[..., None, :])
        correlations = self.entries(points) / units
        angles = np.linspace(0.0, 0.5 * np.pi, 242)
        gains = np.exp(np.multiply.outer(radii, [np.cos(angles), -np.sin(angles)]))[:, None]

        def greatest(r):
            wide, narrow = (0.5 * (1.0 + sign * r)[..., None] for sign in (1.0, -1.0))
            return units * np.max(wide * gains[..., 0, :] - narrow * gains[..., 1, :], axis=-1)

        return np.stack([-greatest(-correlations), greatest(correlations)])

    def drawn(self, centre, points, radii):
        low, high = self.shown_limits(points, radii)
        what = "Entries, between their exact limits in the balls"
        return Drawn(self.shown(points), low, high, self.entries(centre), what)

    @property
    def curvature_norm(self):
        """The tensor is a quarter of two commutators, each of norm at most sqrt(2) times both."""
        return 0.5 if self.size > 1 else 0.0

    def _whiten(self, point, matrix):
        """``L^-1 matrix L^-T`` and ``L``, for the Cholesky factor ``L`` of ``point``."""
        factor = np.linalg.cholesky(point)
        half = forward(factor, matrix)
        return symmetrised(transposed(forward(factor, transposed(half)))), factor

    def exp(self, point, vector):
        self.refuse_other_shapes(point, vector)
        white, factor = self._whiten(point, vector)
        return symmetrised(factor @ exponential(white) @ transposed(factor))

    def _compared(self, point, other):
        """Whitened matrices of which `_logarithms` takes logarithms, which are far, and L."""
        self.refuse_other_shapes(point, other)
        # From the difference, so that nearby matrices lose no digits; and from themselves where
        # they are far.  Both are computed for all, so that time does not tell which are far.
        white, factor = self._whiten(point, other - point)
        return *self._nearer(white, self._whiten(point, other)[0]), factor

    def _nearer(self, difference, whole):
        """Whitened differences, but whole matrices where these are far; and which are."""
        # Eigenvalues of nearer ones are above minus a half.
        far = np.sum(difference**2, axis=(-2, -1)) > 0.25
        return np.where(far[..., None, None], whole, difference), far

    def _logarithms(self, values, far):
        near = np.log1p(np.maximum(values, -0.5))
        return np.where(far[..., None], np.log(np.where(far[..., None], values, 1.0)), near)

    def log(self, point, other):
        compared, far, factor = self._compared(point, other)
        values, vectors = finite_eigh(compared)
        return factor @ spectral(self._logarithms(values, far), vectors) @ transposed(factor)

    def dist(self, point, other):
        # As in `log`, without eigenvectors.
        compared, far, _ = self._compared(point, other)
        return np.linalg.norm(self._logarithms(symmetric_eigenvalues(compared), far), axis=-1)

    def transport(self, point, direction, vector):
        return self._carried(point, direction, vector, 0.5)

    def transport_back(self, point, vector, other):
        return self._carried(point, vector, other, -0.5)

    def _carried(self, point, direction, vector, power):
        """A vector times the so manieth power of the relative end, from both sides."""
        white, factor = self._whiten(point, direction)
        root = exponential(power * white)
        carried = root @ self._whiten(point, vector)[0] @ root
        return symmetrised(factor @ carried @ transposed(factor))

    def inner(self, point, first, second):
        if self.size == 2:
            a, b, d = point[..., 0, 0], point[..., 0, 1], point[..., 1, 1]
            determinant = a * d - b * b
            parts = []
            for each in (first, second):
                k, m, n = each[..., 0, 0], each[..., 0, 1], each[..., 1, 1]
                # Entries of the point's inverse times this, in closed form.
                entries = d * k - b * m, d * m - b * n, a * m - b * k, a * n - b * m
                parts.append([entry / determinant for entry in entries])
            (e, f, g, h), (i, j, k, m) = parts
            return e * i + f * k + g * j + h * m
        left, _ = self._whiten(point, first)
        right = left if second is first else self._whiten(point, second)[0]
        return np.sum(left * right, axis=(-2, -1))

    def frame(self, point):
        factor = np.linalg.cholesky(point)[..., None, :, :]
        return factor @ self._basis @ transposed(factor)

    def centre(self, points):
        """Midpoint of the arithmetic and the harmonic mean, between which the Frechet mean is."""
        arithmetic = np.mean(points, axis=-3)
        harmonic = np.linalg.inv(np.mean(np.linalg.inv(points), axis=-3))
        return self.exp(arithmetic, 0.5 * self.log(arithmetic, symmetrised(harmonic)))

    def are_told(self, point, others):
        return are_regular(symmetric_eigenvalues(self._whiten(point, others)[0]))

    def frequencies(self, point, vector):
        values = symmetric_eigenvalues(self._whiten(point, vector)[0])
        return 0.5 * np.abs(values[..., self._rows] - values[..., self._columns])

    def split(self, point, vector, other):
        white, factor = self._whiten(point, vector)
        _, vectors = np.linalg.eigh(white)
        inverse = transposed(vectors)
        turned = inverse @ self._whiten(point, other)[0] @ vectors
        return self._eigenspaces(turned, inverse @ transposed(factor))

    def _eigenspaces(self, turned, columns):
        """Components of ``G W G^T`` by entries of W, given the columns of G as rows."""
        first, second = columns[..., self._rows, :], columns[..., self._columns, :]
        products = first[..., :, None] * second[..., None, :]
        entries = self.expand(0.5 * self._counts * self.entries(turned))
        return entries * (products + transposed(products))

    def carried_residuals(self, start, vectors, points):
        """See `SymmetricSpace.carried_residuals`; with the eigenvectors of vectors found once.

        With ``G G^T = p`` and G diagonalising v the end is ``G exp(D) G^T``, and ``G exp(D / 2)``
        takes the identity there.  Its logarithms are carried back with G in place of it.
        """
        white, factor = self._whiten(start, vectors)
        values, turns = np.linalg.eigh(white)
        inverse = transposed(turns)
        columns = inverse @ transposed(factor)
        ends = symmetrised(spectral(np.exp(values), transposed(columns)))
        shrink = np.exp(-0.5 * values)
        shrink = shrink[..., :, None] * shrink[..., None, :]

        def seen(matrix):
            inside = inverse @ self._whiten(start, matrix)[0] @ turns
            return symmetrised(inside * shrink)

        compared, far = self._nearer(seen(points - ends), seen(points))
        logarithms, directions = finite_eigh(compared)
        logarithms = self._logarithms(logarithms, far)
        squares = np.sum(logarithms**2, axis=-1)
        components = self._eigenspaces(spectral(logarithms, directions), columns)
        gaps = values[..., self._rows] - values[..., self._columns]
        return 0.5 * np.abs(gaps), components, squares

    def _moved(self, inverse, points, shrink):
        """Shrunk points in another basis: matrices (*batch, n, m, m)."""
        inverse = shrink[..., :, None] * inverse[..., None, :, :]
        return inverse @ points @ transposed(inverse)

    def _change(self, inverse):
        """Matrix (*batch, K, K) from entries of P to those of ``inverse @ P @ inverse^T``."""
        row, column = self._rows, self._columns
        one = inverse[..., row[:, None], row] * inverse[..., column[:, None], column]
        other = inverse[..., row[:, None], column] * inverse[..., column[:, None], row]
        return np.where(row == column, one, one + other)

    def _mapped_entries(self, inverse, points):
        """Small matrices in another basis, as entries (*batch, K, n) of the upper triangle."""
        return each_times(self._change(inverse), np.moveaxis(self.entries(points), -1, -2))

    def _moved_entries(self, inverse, points, times, values):
        """Entries of the same matrices as `_moved`."""
        entries = self._mapped_entries(inverse, points)
        shrink = np.exp(-0.5 * values[..., :, None] * times[..., None, :])
        entries *= shrink[..., self._rows, :]
        entries *= shrink[..., self._columns, :]
        return entries

    def _moved_2x2(self, times, points, values, inverse):
        """2 x 2 matrices as `_moved` over ``exp(-t m)``, m the mean of the eigenvalues.

        Their entries (*batch, 3, n), and half the logarithms (*batch, n) of determinants: theirs,
        and those of the matrices of `_moved`.
        """
        entries = self._mapped_entries(inverse, points)
        shrink = np.exp(0.5 * (values[..., 1:] - values[..., :1]) * times)
        entries[..., 0, :] *= shrink
        entries[..., 2, :] /= shrink
        size = 0.5 * (points[..., 0, 0] + points[..., 1, 1])
        upper, off, lower = (points[..., i, j] / size for i, j in ((0, 0), (0, 1), (1, 1)))
        half = 0.5 * np.log(upper * lower - off**2) + np.log(size)
        half = half + np.log(np.abs(np.linalg.det(inverse)))[..., None]
        return entries, half, half - 0.5 * np.sum(values, axis=-1)[..., None] * times

    def squared_distances_along(self, start, velocity, times, points):
        """See `SymmetricSpace.squared_distances_along`; without eigenvectors."""
        if self.size == 3:
            return self.logs_along(start, velocity, times, points).squared_distances
        return self._squares(start, velocity, times, points)

    def _squares(self, start, velocity, times, points):
        """The same from eigenvalues, so that time does not tell of the points."""
        x, y, values, basis = self._aligned(start, velocity, times, points)
        inverse = np.linalg.inv(basis)
        if self.size == 2:
            entries, half, middle = self._moved_2x2(x, y, values, inverse)
            upper, off, lower = np.moveaxis(entries, -2, 0)
            gap = half_gaps_2x2(upper, off, lower, half)[0]
            return 2.0 * (middle**2 + gap**2)
        if self.size == 3:
            entries = self._moved_entries(inverse, y, x, values)
            found = eigenvalues_3x3(*np.moveaxis(entries, -2, 0))
            # Two small ones near each other are lost in rounding from 1e-8 of the largest on.
            return sum(np.log(np.maximum(each, SINGULAR * found[0])) ** 2 for each in found)
        moved = self._moved(inverse, y, np.exp(-0.5 * x[..., None] * values[..., None, :]))
        return np.sum(np.log(symmetric_eigenvalues(moved)) ** 2, axis=-1)

    def distances_along(self, start, velocity, times, points):
        return np.sqrt(self._squares(start, velocity, times, points))

    def adjoints_along(self, start, velocity, times, points):
        """See `SymmetricSpace`; of matrices of three rows at most."""
        white, factor = self._whiten(start, velocity)
        values, turns = np.linalg.eigh(white)
        moved = self._moved_entries(np.linalg.inv(factor @ turns), points, times, values)
        eigenvalues, vectors = rotated(moved)
        logarithms = np.log(eigenvalues)
        entries = np.sum(logarithms * vectors[self._rows] * vectors[self._columns], axis=1)
        # From entries in the eigenframe to coordinates in the frame.
        turned = self.roots[:, None] * self._change(turns)
        frequencies = 0.5 * np.abs(values[self._rows] - values[self._columns])
        factors = jacobi_factors(self, frequencies, times).values()
        moved = [np.array([*map(np.multiply, each, entries)]) for each in factors]
        return [each_times(turned, each).T for each in moved], np.sqrt(
            np.sum(logarithms**2, axis=0)
        )

    def _aligned(self, start, velocity, times, points):
        """Times and points with axes of chains, and the eigenvalues and frame of the velocity.

        The frame is a matrix ``G`` with ``G G^T = p`` that diagonalises it.
        """
        axes = times.ndim - 1, start.ndim - 2
        white, factor = self._whiten(start, velocity)
        values, vectors = np.linalg.eigh(white)
        return *(align_data_axes(each, *axes) for each in (times, points)), values, factor @ vectors

    def logs_along(self, start, velocity, times, points):
        """See `SymmetricSpace.logs_along`; in the eigenframe of ``v`` the geodesic is diagonal.

        With ``G G^T = p`` and ``G`` diagonalising ``v``, ``G exp(t Lambda / 2)`` takes the identity
        to the place at time t, and its tangent frame is that of ``G`` in parallel transport.  So
        what is carried back is the logarithm of a matrix, whose entries are the components.
        """
        x, y, values, basis = self._aligned(start, velocity, times, points)
        inverse = np.linalg.inv(basis)
        moved = eigen = None
        if self.size == 2:
            moved, *halves = self._moved_2x2(x, y, values, inverse)
            entries = np.stack(log_2x2(*np.moveaxis(moved, -2, 0), *halves), axis=-2)
        else:
            if self.size > 3:
                shrink = np.exp(-0.5 * x[..., None] * values[..., None, :])
                eigen = log_eigen(self._moved(inverse, y, shrink))
                entries = np.moveaxis(self.entries(spectral(*eigen)), -1, -2)
            else:
                moved = self._moved_entries(inverse, y, x, values)
                entries = np.moveaxis(self.log_entries(np.moveaxis(moved, -2, 0)), 0, -2)
        components = self.roots[:, None] * entries
        return SPDLogs(
            manifold=self,
            times=x,
            frequencies=0.5 * np.abs(values[..., self._rows] - values[..., self._columns]),
            squared_distances=np.einsum("...kn,...kn->...n", components, components),
            components=components,
            basis=basis,
            moved=moved,
            eigen=eigen,
        )


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
