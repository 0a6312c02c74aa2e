"""Base class of symmetric positive definite matrices with any metric."""

import numpy as np

from geodp.data.triangles import DIAGONAL_FIRST, FACTORS, TRIANGLES, upper_triangle
from geodp.errors import DataError
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.manifolds.symmetric_matrices import (
    ASYMMETRY,
    SINGULAR,
    are_even,
    are_regular,
    log_3x3,
    log_eigen,
    spectral,
    symmetric_eigenvalues,
    symmetrised,
)

METRICS = ("affine_invariant", "log_euclidean")


class PositiveDefinite(SymmetricSpace):
    """m x m symmetric positive definite matrices, as points of files."""

    against_ambient_noise = "can leave the positive definite matrices"
    scale_free = True
    greatest = 1e150  # Eigenvalues of larger entries overflow.
    in_units = True
    keys = ("size", "metric")
    responses = "symmetric positive definite matrices, such as covariances or tensors"

    def __init__(self, size: int):
        self.size = size
        self.dim = size * (size + 1) // 2
        self.point_shape = (size, size)
        self._rows, self._columns = np.triu_indices(size)
        self._diagonal = self._rows == self._columns
        # An entry off the diagonal stands twice in its matrix.
        self._counts = np.where(self._diagonal, 1.0, 2.0)
        self.roots = np.sqrt(self._counts)
        basis = np.zeros((self.dim, size, size))
        index = np.arange(self.dim)
        value = np.where(self._diagonal, 1.0, np.sqrt(0.5))
        basis[index, self._rows, self._columns] = value
        basis[index, self._columns, self._rows] = value
        self._basis = basis

    @classmethod
    def size_of(cls, number):
        """See `Manifold.size_of`; of a triangle or a whole matrix."""
        size = int((2 * number) ** 0.5)
        return size if size * (size + 1) == 2 * number else round(number**0.5)

    @classmethod
    def asked(cls, columns, number, ask):
        size = cls.size_of(number)
        if size * (size + 1) != 2 * number:
            if size * size != number:
                raise DataError(
                    f"{number} numbers are neither a symmetric matrix nor its triangle: name 3 or "
                    "4 columns for 2 x 2 matrices, 6 or 9 for 3 x 3, and so on"
                )
            return {"size": size}, "ambient"
        others = [*FACTORS, *(DIAGONAL_FIRST if size == 3 else ())]
        triangle = ask(
            "Triangle in the columns: upper or lower, row by row, or as written by "
            f"{', '.join(others[:-1])} or {others[-1]}",
            "upper",
            ("upper", "lower", *others),
        )
        kind = {"upper": "ambient", "lower": "lower_triangle"}.get(triangle, triangle)
        return {"size": size}, kind

    @property
    def coordinate_kinds(self):
        return tuple(name for name in TRIANGLES if self.size == 3 or name not in DIAGONAL_FIRST)

    @property
    def centres(self):
        return dict.fromkeys(("identity", "anywhere"), np.eye(self.size))

    @property
    def coordinate_names(self):
        """See `Manifold.coordinate_names`; of the upper triangle."""
        pairs = zip(self._rows, self._columns, strict=True)
        return [f"entry {row + 1},{column + 1}" for row, column in pairs]

    def named_by(self, columns, coordinates):
        if len(columns) == self.size**2:
            return np.reshape(columns, self.point_shape)[self._rows, self._columns].tolist()
        if coordinates in FACTORS:
            # Columns hold other numbers than entries.
            return []
        if coordinates in TRIANGLES and len(columns) == self.dim:
            return [columns[place] for place in upper_triangle(coordinates, self.dim)[0]]
        return columns

    def shown(self, points):
        return self.entries(points)

    def entries(self, matrices):
        """Upper triangles (..., K) of matrices, row by row."""
        return matrices[..., self._rows, self._columns]

    def symmetric(self, entries):
        """Symmetric matrices with the given upper triangles (..., K)."""
        matrices = np.empty((*entries.shape[:-1], *self.point_shape))
        matrices[..., self._rows, self._columns] = entries
        matrices[..., self._columns, self._rows] = entries
        return matrices

    def log_entries(self, entries):
        """Entries (K, ...) of logarithms of matrices of one row or three, from those of these."""
        if self.size == 1:
            return np.log(entries)
        found, far = log_3x3(*entries)
        if np.any(far):
            some = self.symmetric(np.moveaxis(entries, 0, -1)[far])
            found[:, far] = self.entries(spectral(*log_eigen(some))).T
        return found

    def project(self, array):
        return symmetrised(np.asarray(array, dtype=float))

    def project_tangent(self, point, array):
        return symmetrised(array)

    def random_point(self, rng, shape=(), radius=1.0):
        identity = np.broadcast_to(np.eye(self.size), (*shape, *self.point_shape))
        return self.exp(identity, self.random_tangent_in_ball(rng, identity, radius))

    def layouts(self):
        return super().layouts() | {self.dim: "the upper triangle row by row"}

    def from_layout(self, numbers):
        if numbers.shape[-1] != self.dim or self.size == 1:
            return super().from_layout(numbers)
        return self.symmetric(numbers)

    def is_rounded(self, given, point, part=0.1):
        # By entry, since variables may have units far apart.
        roots = np.sqrt(np.abs(np.diagonal(given)))
        return bool(np.all(np.abs(point - given) <= part * roots[:, None] * roots))

    def invalid_reason(self, array):
        if not np.all(np.abs(array) < self.greatest):
            return f"an entry is not a number of size below {self.greatest:g}"
        if not are_even(array):
            away = np.abs(array - array.T)
            i, j = sorted(np.unravel_index(np.argmax(away), away.shape))
            pair = f"{array[i, j]:.6g} in row {i + 1} and {array[j, i]:.6g} in column {i + 1}"
            return f"the matrix is not symmetric, with {pair}"
        values = symmetric_eigenvalues(symmetrised(array))
        if not are_regular(values):
            least = f"smallest eigenvalue {values[0]:.4g}"
            if values[0] < -ASYMMETRY * values[-1]:
                return f"the matrix is not positive definite ({least})"
            return (
                f"the matrix is not positive definite up to rounding ({least}, less than "
                f"{SINGULAR:g} of the largest, {values[-1]:.4g}; an average reference or fewer "
                "samples than channels leave such, which a basis of its range or shrinkage mends)"
            )
        return None

    def are_points(self, arrays):
        numbers = np.all(np.abs(arrays) < self.greatest, axis=(-2, -1))
        safe = np.where(self.expand(numbers), arrays, np.eye(self.size))
        return numbers & are_even(safe) & are_regular(symmetric_eigenvalues(symmetrised(safe)))

    def are_all_points(self, arrays):
        if not (np.all(np.abs(arrays) < self.greatest) and np.all(are_even(arrays))):
            return False
        # Faster: what is left is positive if eigenvalues are larger than this part of their sum.
        least = SINGULAR * np.trace(arrays, axis1=-2, axis2=-1)
        try:
            np.linalg.cholesky(symmetrised(arrays) - self.expand(least) * np.eye(self.size))
        except np.linalg.LinAlgError:
            return super().are_all_points(arrays)
        return True
