"""Orders and factors in which programs write the triangle of a symmetric matrix."""

from functools import lru_cache

import numpy as np

# Entries of a 3 x 3 matrix, the diagonal first.
DIAGONAL_FIRST = {
    "voigt": ((0, 0), (1, 1), (2, 2), (1, 2), (0, 2), (0, 1)),
    "vtk": ((0, 0), (1, 1), (2, 2), (0, 1), (1, 2), (0, 2)),
    "mrtrix": ((0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)),
}

# By what entries on the diagonal, and others, are multiplied where they are read: vectors that
# have the norm of their matrix.
FACTORS = {"nilearn": (np.sqrt(2.0), 1.0), "pyriemann": (1.0, np.sqrt(0.5))}

# What `coordinates` of a triangle may be called, beside those of the space.
TRIANGLES = ("lower_triangle", *FACTORS, *DIAGONAL_FIRST)


def size_of(number):
    """Size of a matrix with a triangle of so many entries."""
    return int(np.sqrt(2 * number))


@lru_cache(maxsize=64)
def upper_triangle(coordinates, number):
    """Places (number,) of the upper triangle's entries, row by row, among the numbers of a record.

    And factors (number,) of what is there.  The coordinates are one of `TRIANGLES`, or "ambient",
    which is that triangle itself.
    """
    upper = [(i, j) for i in range(size_of(number)) for j in range(i, size_of(number))]
    pairs = DIAGONAL_FIRST.get(coordinates, upper)
    if coordinates in ("lower_triangle", "nilearn"):
        pairs = sorted(upper, key=lambda pair: pair[::-1])
    diagonal, other = FACTORS.get(coordinates, (1.0, 1.0))
    factors = np.array([diagonal if i == j else other for i, j in upper])
    return np.array([pairs.index(pair) for pair in upper]), factors
