"""Records given in memory (arrays, lists, data frames) as numbers, each record by itself."""

import numpy as np
from scipy.sparse import issparse

from geodp.data.cells import cells_of
from geodp.data.columns import has_landmarks
from geodp.errors import DataError
from geodp.manifolds.registry import layout_advice
from geodp.models.terms import word_code
from geodp_release.run.subjects import as_array, record_array, refuse_types


def are_named(X, assumptions):
    """Whether columns of a table are taken by name, or are of words, and not as numbers."""
    has_words = any(map(assumptions.terms.words, range(assumptions.number_of_columns)))
    return has_words or bool(assumptions.names and hasattr(X, "iloc"))


def columns_of(X, assumptions):
    """Columns (n, c) of a table, of words their places in the list; rows of a list as given.

    Each cell is read by itself.
    """
    terms, names, number = assumptions.terms, assumptions.names, assumptions.number_of_columns
    if issparse(X):
        raise DataError("X is sparse, and sparse data are not supported: give a dense array")
    named = are_named(X, assumptions)
    if named and hasattr(X, "iloc"):
        missing = [name for name in names if name not in X]
        if missing or not (names or X.shape[1] == number):
            what = f"no column {', '.join(missing)}" if missing else f"{X.shape[1]} columns"
            raise DataError(f"X has {what}, and {number} are wanted: give these")
        found = [X[name] for name in names] or [X.iloc[:, at] for at in range(number)]
    else:
        values = unwrapped(X)
        if isinstance(values, np.ndarray):
            values = values[:, None] if named and values.ndim != 2 else values
            if values.ndim != 2:
                raise DataError(
                    f"X has {values.ndim} axes, and a table with a column a covariate is wanted. "
                    "Reshape your data by X.reshape(-1, 1)"
                )
            if values.shape[1] != number:
                raise DataError(
                    f"X has {values.shape[1]} columns, and covariate_range is of {number}: give "
                    "as many"
                )
        if not named:
            return values[:, 0] if isinstance(values, np.ndarray) and number == 1 else values
        found = [[_cell(row, at) for row in values] for at in range(number)]
    each = [
        np.array([word_code(value, words) for value in cells_of(column)], dtype=float)
        if (words := terms.words(at))
        else record_array(column, (1,), float)[:, 0]
        for at, column in enumerate(found)
    ]
    return np.stack(each, axis=-1)


def _cell(row, at):
    """A cell of a row; ``None`` of a row that has none there.  A word is a row of its own."""
    try:
        return (row,)[at] if isinstance(row, str) else row[at]
    except Exception:  # whatever a record raises would tell of it
        return None


def points_of(manifold, y):
    """Points (n, *point_shape) of records in that shape or in a layout; NaN for what is neither.

    Each record of a list is read by itself: none raises, or decides what becomes of others.
    """
    values, wanted = unwrapped(y), manifold.point_shape
    shapes = [wanted, *((number,) for number in manifold.layouts())]
    if isinstance(values, np.ndarray) and (values.ndim > 1 or values.dtype.kind != "O"):
        shape = values.shape[1:] or (1,)
        if shape not in shapes:
            raise DataError(
                f"y has records of shape {values.shape[1:]}, and {wanted} or a row of numbers is "
                f"wanted: {layout_advice(manifold)}"
            )
        shapes = [shape]
    found = np.full((len(values), *wanted), np.nan, dtype=manifold.dtype)
    for shape in shapes:
        if shape == wanted:
            points = record_array(values, shape, manifold.dtype)
        else:
            with np.errstate(all="ignore"):
                points = manifold.from_layout(record_array(values, shape, float))
                # Landmarks have a place and a size, which shapes do not.
                points = manifold.project(points) if has_landmarks(manifold) else points
        found = np.where(np.isnan(found), points, found)
    return found


def unwrapped(values):
    """An array, where values are one or have one, or else a list of records."""
    refuse_types(values)
    values = as_array(values)
    if not isinstance(values, np.ndarray | list | tuple) and hasattr(values, "__array__"):
        values = np.asarray(values)
    if isinstance(values, np.ndarray):
        return values
    try:
        return list(values)
    except TypeError:
        raise DataError("X and y must be sequences of records: give arrays") from None
