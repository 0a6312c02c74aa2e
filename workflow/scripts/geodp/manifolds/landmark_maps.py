"""Public linear maps of landmarks, which reduce a configuration before its shape is taken.

Noise for privacy grows with the dimension of the shapes.  A complex-linear map takes each
configuration to fewer complex numbers, and costs no privacy if it is chosen without a look at the
data.  The shape of its values depends on the shape of the landmarks alone.
"""

from dataclasses import InitVar, dataclass

import numpy as np

from geodp.errors import DataError


@dataclass(frozen=True, eq=False)
class LandmarkMap:
    """A complex-linear map of centred configurations of k landmarks to m complex numbers.

    Parameters
    ----------
    place : str
        Where the map was asked for, for messages.

    Attributes
    ----------
    matrix : ndarray of complex, shape (m, k)
        Multiplies configurations after centring, so a constant added to a row changes nothing.
    description : str
        What it keeps, for the names of spaces: "Fourier harmonics up to 4".

    Raises
    ------
    DataError
        An entry is not finite, there are not 2 to k - 1 rows, or rows are linearly dependent on
        centred configurations.
    """

    matrix: np.ndarray
    description: str
    place: InitVar[str] = "landmark map"

    def __post_init__(self, place):
        matrix = np.array(self.matrix, dtype=complex)
        if matrix.ndim != 2:
            raise DataError(
                f"{place}: it has {matrix.ndim} axes and not the two of a matrix: give a row for "
                "each number to keep and a column for each landmark"
            )
        rows, landmarks = matrix.shape
        if not 2 <= rows <= landmarks - 1:
            raise DataError(
                f"{place}: {rows} rows for {landmarks} landmarks make no space of shapes: give 2 "
                "rows or more, and fewer than there are landmarks"
            )
        if not np.all(np.isfinite(matrix)):
            row, column = np.argwhere(~np.isfinite(matrix))[0] + 1
            raise DataError(
                f"{place}, row {row}, column {column}: the entry is not a finite number: correct it"
            )
        centred = matrix - np.mean(matrix, axis=1, keepdims=True)
        singular_values = np.linalg.svd(centred, compute_uv=False)
        # With fewer some combination of the map's values would be magnified rounding error.
        rank = int(np.sum(singular_values > 1e-8 * singular_values[0]))
        if rank < rows:
            raise DataError(
                f"{place}: on centred landmarks only {rank} of its {rows} rows are independent: "
                "leave out rows that are constant or combinations of others"
            )
        matrix.flags.writeable = False
        object.__setattr__(self, "matrix", matrix)

    @property
    def landmarks(self):
        """Number of landmarks of a configuration."""
        return self.matrix.shape[1]


def fourier_harmonics(landmarks, highest):
    """`LandmarkMap` of k landmarks to the low Fourier harmonics of a closed outline.

    Rows are the harmonics +1, -1, ..., +H, -H of landmarks in their order along the outline,
    orthonormal and without the mean, so a configuration loses nothing but its finer detail.  The
    ``highest``, H, is from 1 to (k - 1) / 2: beyond, a harmonic takes the same values at k
    landmarks as a lower one.
    """
    if not 1 <= highest <= (landmarks - 1) // 2:
        raise DataError(
            f"landmark map: {landmarks} landmarks have no Fourier harmonics up to {highest}: set "
            f"the highest to a number from 1 to {(landmarks - 1) // 2}"
        )
    harmonics = np.array([sign * h for h in range(1, highest + 1) for sign in (1, -1)])
    # Reducing the product first keeps the angles, and so the digits, small.
    turns = np.outer(harmonics, np.arange(landmarks)) % landmarks / landmarks
    matrix = np.exp(-2j * np.pi * turns) / np.sqrt(landmarks)
    return LandmarkMap(matrix, f"Fourier harmonics up to {highest}")
