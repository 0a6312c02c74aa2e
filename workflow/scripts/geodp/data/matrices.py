"""Matrices of landmark maps, from files of comma-separated values."""

from pathlib import Path

import numpy as np

from geodp.data.cells import finite_number
from geodp.data.messages import text_of
from geodp.errors import DataError
from geodp.manifolds.landmark_maps import LandmarkMap


def parse_matrix(text, place):
    """A matrix (m, k) of complex numbers from comma-separated text, which messages call ``place``.

    A line is a row, without a header; entries are like ``0.5+0.25j``, or plain real numbers.  Blank
    lines are passed over.
    """
    rows: list = []
    for line, cells in enumerate(text.splitlines(), start=1):
        entries = [entry.strip(' "') for entry in cells.split(",")]
        if not any(entries):
            continue
        if rows and len(entries) != len(rows[0]):
            raise DataError(
                f"{place}, row {line}: it has {len(entries)} columns and the first row has "
                f"{len(rows[0])}: give a column for each landmark in every row"
            )
        rows.append([finite_number(entry, complex) for entry in entries])
        if None in rows[-1]:
            column = rows[-1].index(None)
            raise DataError(
                f"{place}, row {line}, column {column + 1}: '{entries[column]}' is not a finite "
                "number: write it like 0.5+0.25j or 0.5"
            )
    if not rows:
        raise DataError(
            f"{place}: the matrix is empty: give a line for each number to keep and a column for "
            "each landmark"
        )
    return np.array(rows)


def read_landmark_map(path, size):
    """The linear map of so many landmarks whose matrix is in a file; see `parse_matrix`."""
    matrix = parse_matrix(text_of(path), path)
    if matrix.shape[1] != size:
        raise DataError(
            f"{path}: its rows have {matrix.shape[1]} entries and manifold.size is {size}: give an "
            "entry for each landmark"
        )
    return LandmarkMap(matrix, f"linear map of {Path(path).name}", path)
