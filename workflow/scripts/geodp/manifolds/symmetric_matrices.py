"""Eigenvalues and logarithms of symmetric matrices, in closed form where they are small."""

from itertools import combinations, combinations_with_replacement
from typing import Any

import numpy as np


def transposed(matrix):
    return np.swapaxes(matrix, -1, -2)


def symmetrised(matrix):
    return 0.5 * (matrix + transposed(matrix))


# Least ratio of the smallest eigenvalue of a matrix to the largest.  Rounding of entries moves the
# smallest by some 1e-16 of the largest: four of its digits are left, and its sign is no chance.
SINGULAR = 1e-12

# How far a matrix is from symmetric, of its largest entry, if it was once in single precision.
ASYMMETRY = 1e-6


def forward(factor, matrix):
    """``L^-1 matrix`` for a lower triangular L."""
    size = factor.shape[-1]
    # By size alone: two formulas round differently, and how many matrices there are may be private.
    if size > 3:
        return np.linalg.solve(factor, matrix)
    # Small matrices, row by row: several times faster than LAPACK.
    rows: list = []
    for index in range(size):
        row = matrix[..., index, :]
        for before, known in enumerate(rows):
            row = row - factor[..., index, before, None] * known
        rows.append(row / factor[..., index, index, None])
    return np.stack(rows, axis=-2)


def each_times(matrices, columns):
    """Products (..., i, n) of matrices with columns, none of which is rounded by its place."""
    return np.einsum("...ij,...jn->...in", matrices, columns)


def _finite(matrix):
    """Matrices, with the identity in place of those that are not finite; and NaN for these, else 0.

    LAPACK refuses all for one that is not finite.
    """
    finite = np.all(np.isfinite(matrix), axis=(-2, -1), keepdims=True)
    return np.where(finite, matrix, np.eye(matrix.shape[-1])), np.where(finite[..., 0], 0.0, np.nan)


def symmetric_eigenvalues(matrix):
    """Eigenvalues (..., m) of symmetric matrices, ascending; NaN of those that are not finite."""
    safe, wrong = _finite(matrix)
    if safe.shape[-1] != 2:
        return np.linalg.eigvalsh(safe) + wrong
    upper, off, lower = safe[..., 0, 0], safe[..., 1, 0], safe[..., 1, 1]
    mean, spread = 0.5 * (upper + lower), np.hypot(0.5 * (upper - lower), off)
    # The one of larger size first, since the difference would lose digits of the other.
    first = mean + np.copysign(spread, mean)
    size = np.where(first == 0.0, 1.0, first)
    second = (upper / size) * lower - (off / size) * off
    return np.stack([np.minimum(first, second), np.maximum(first, second)], axis=-1) + wrong


def are_even(matrices):
    """Which matrices (..., m, m) are symmetric, but for what single precision loses."""
    away = np.max(np.abs(matrices - transposed(matrices)), axis=(-2, -1))
    return away <= ASYMMETRY * np.max(np.abs(matrices), axis=(-2, -1))


def are_regular(values):
    """Which matrices are positive definite, far above rounding, by ascending eigenvalues."""
    return (values[..., 0] > 0.0) & (values[..., 0] >= SINGULAR * values[..., -1])


def finite_eigh(matrix):
    safe, wrong = _finite(matrix)
    values, vectors = np.linalg.eigh(safe)
    return values + wrong, vectors


def log_eigen(matrix):
    values, vectors = finite_eigh(matrix)
    return np.log(values), vectors


def spectral(values, vectors):
    return (vectors * values[..., None, :]) @ transposed(vectors)


def half_gaps_2x2(upper, off, lower, half):
    """Half the eigenvalue gap of the logarithm of each 2 x 2 matrix, and that of the matrix.

    From its entries and ``half`` the logarithm of its determinant, which callers know to more
    digits than a difference of products of entries has.
    """
    gap = np.sqrt((0.5 * (upper - lower)) ** 2 + off**2)
    return np.log(0.5 * (upper + lower) + gap) - half, gap


def log_2x2(upper, off, lower, half, middle):
    """Entries, row by row, of logarithms of multiples of 2 x 2 matrices, from the matrices' own.

    ``half`` is half the logarithm of their determinants, and ``middle`` that of the multiples.
    """
    of_log, gap = half_gaps_2x2(upper, off, lower, half)
    apart = gap > 0.0
    stretch = np.where(apart, of_log / np.where(apart, gap, 1.0), 2.0 / (upper + lower))
    aside = 0.5 * stretch * (upper - lower)
    return middle + aside, stretch * off, middle - aside


def log_3x3(*entries):
    """Entries of logarithms of 3 x 3 matrices, from those of the matrices, row by row.

    And which have lost digits.  Near each other eigenvalues are known to half of the digits only,
    which changes the polynomial of `_of_3x3` by its square alone.
    """

    def slope(gap, value):
        ratio = np.maximum(gap / value, 1e-100)
        return np.log1p(ratio) / ratio / value

    found, values = _of_3x3(entries, np.log, slope)
    # Of smaller ratios the closed form would lose more than four of sixteen digits.
    return found, values[2] < 0.01 * values[0]


def exponential(matrices):
    """Exponentials of symmetric matrices (..., m, m)."""
    size = matrices.shape[-1]
    if size != 3:
        values, vectors = np.linalg.eigh(matrices)
        return spectral(np.exp(values), vectors)

    def slope(gap, value):
        gap = np.maximum(gap, 1e-100)
        return np.exp(value) * (np.expm1(gap) / gap)

    row, column = np.triu_indices(size)
    entries, _ = _of_3x3(np.moveaxis(matrices[..., row, column], -1, 0), np.exp, slope)
    found = np.empty_like(matrices)
    found[..., row, column] = found[..., column, row] = np.moveaxis(entries, 0, -1)
    return found


def _of_3x3(entries, function, slope):
    """Entries of a function of 3 x 3 matrices, and eigenvalues of the matrices in falling order.

    With ``M = mean I + N`` and eigenvalues ``mean + n_j`` it is the polynomial in N that agrees
    with the function at the three.  ``slope`` is the divided difference of the function between an
    eigenvalue and one that is larger by a gap, which for equal ones is the derivative.
    """
    parts, squares, mean, (first, second, third) = _deviations_3x3(*entries)
    values = mean + first, mean + second, mean + third
    slopes = slope(first - second, values[1]), slope(second - third, values[2])
    bend = (slopes[0] - slopes[1]) / np.maximum(first - third, np.finfo(float).tiny)
    linear = slopes[0] - bend * (first + second)
    pairs = zip(parts, squares, strict=True)
    found = np.array([linear * part + bend * square for part, square in pairs])
    found[[0, 3, 5]] += function(values[0]) - slopes[0] * first + bend * first * second
    return found, values


def eigenvalues_3x3(a, b, c, d, e, f):
    """Eigenvalues in falling order of 3 x 3 matrices, from their entries row by row.

    Each is known to rounding of the largest; and those near each other to half of the digits only,
    which changes even functions of their difference by its square alone.
    """
    *_, mean, deviations = _deviations_3x3(a, b, c, d, e, f)
    return [mean + each for each in deviations]


def _deviations_3x3(a, b, c, d, e, f):
    """Entries of ``N = M - mean I`` and of its square, the mean, and eigenvalues of N, falling."""
    mean = (a + d + f) * (1.0 / 3.0)
    a, d, f = a - mean, d - mean, f - mean
    bb, cc, ee = b * b, c * c, e * e
    squares = (
        *(a * a + bb + cc, b * (a + d) + c * e, c * (a + f) + b * e),
        *(bb + d * d + ee, b * c + e * (d + f), cc + ee + f * f),
    )
    size = np.sqrt((squares[0] + squares[3] + squares[5]) * (1.0 / 6.0))
    safe = np.maximum(size, np.finfo(float).tiny)
    determinant = a * (d * f - ee) - b * (b * f - c * e) + c * (b * e - c * d)
    angle = np.arccos(np.clip(0.5 * determinant / safe / safe / safe, -1.0, 1.0)) * (1.0 / 3.0)
    along, across = size * np.cos(angle), np.sqrt(3.0) * size * np.sin(angle)
    return (a, b, c, d, e, f), squares, mean, (2.0 * along, across - along, -across - along)


def rotated(entries, sweeps=5):
    """Eigenvalues (m, n) of small symmetric matrices, and eigenvectors (m, m, n), a column each.

    From the entries (m (m + 1) / 2, n) of upper triangles, row by row, by Jacobi's rotations: as
    many of all matrices, so that neither time nor rounding of one depends on others.  After four
    ``sweeps`` of a matrix of three rows what is left is below rounding.
    """
    size = {1: 1, 3: 2, 6: 3}[len(entries)]
    rows: Any = dict(zip(combinations_with_replacement(range(size), 2), entries, strict=True))
    vectors: Any = [[np.full_like(entries[0], i == j) for j in range(size)] for i in range(size)]
    for i, j in [*combinations(range(size), 2)] * (sweeps if size > 2 else 1):
        off, gap = rows[i, j], rows[j, j] - rows[i, i]
        twice = 2.0 * off
        # Far below rounding, and above what underflows where it is squared.
        away = np.maximum(np.abs(gap) + np.sqrt(gap * gap + twice * twice), 1e-150)
        tangent = twice / np.copysign(away, gap)
        cosine = 1.0 / np.sqrt(1.0 + tangent * tangent)
        sine, moved = tangent * cosine, tangent * off
        rows[i, i], rows[j, j], rows[i, j] = rows[i, i] - moved, rows[j, j] + moved, 0.0 * off
        turned: Any = [(each, i, j) for each in vectors]
        for k in {*range(size)} - {i, j}:
            turned.append((rows, (min(i, k), max(i, k)), (min(j, k), max(j, k))))
        for where, one, other in turned:
            first, second = where[one], where[other]
            where[one] = cosine * first - sine * second
            where[other] = sine * first + cosine * second
    return np.array([rows[i, i] for i in range(size)]), np.array(vectors)
