"""Read records of planar shapes from a MATLAB file."""

import math

import numpy as np

from geodp.data.checks import check_counts
from geodp.data.messages import RecordFile, few
from geodp.data.records import RecordOptions, assemble, check_enough, has_landmarks
from geodp.errors import DataError

# Kinds of arrays of real numbers; a logical array is read as one of integers.
REAL = "iuf"


def read_mat_records(path, manifold, covariate, landmarks="landmarks", **settings):
    """Read planar shapes from a MATLAB file (not of version 7.3).

    Parameters
    ----------
    path : str
    manifold : Manifold
        Of planar shapes.
    covariate : str or list of str
        Variable of the covariate, with one value a record, or of each.
    landmarks : str
        Variable of the landmarks: k x 2 x n or n x k x 2, complex n x k or k x n, or a cell array
        of n matrices k x 2 or complex vectors.
    **settings
        The other parameters of `RecordOptions`; variables are numeric or character arrays or cell
        arrays of text.

    Returns
    -------
    Records
        Numbered from 1.

    Raises
    ------
    DataError
        One sentence that names the file, the record and the variable.
    """
    source, described = path, RecordFile(path, "record", "variable")
    options = RecordOptions(covariate, **settings)
    if not has_landmarks(manifold):
        raise DataError(
            f"{source}: a .mat file is read for its landmarks and a point of {manifold.name} has "
            "none: save its coordinates as a .csv table"
        )
    variables = _mat_variables(path)
    for name in [landmarks, *options.fields]:
        if name not in variables:
            raise DataError(
                f"{source}: there is no variable {name} (there are: {few(variables)}): add it, or "
                "correct the name that was asked for"
            )
    fields = {name: _texts(variables[name], name, source) for name in options.fields}
    number = len(fields[covariate])
    for name, texts in fields.items():
        if len(texts) != number:
            raise DataError(
                f"{source}: variable {name} has {len(texts)} values and variable {covariate} has "
                f"{number}: give both for every record"
            )
    numbers = list(range(1, number + 1))
    check_enough(numbers, described)
    every = _mat_landmarks(variables[landmarks], landmarks, source, covariate, number)

    def read(kept):
        names = [numbers[index] for index in kept]
        chosen = [
            _mat_record(every[number - 1], described.cell(number, landmarks)) for number in names
        ]
        check_counts([len(record) for record in chosen], described, names)
        return np.array(chosen)

    return assemble(described, manifold, options, numbers, fields, read)


def _mat_variables(path):
    """Variables of a MATLAB file by name."""
    # Imported here since it is slow to import.
    from scipy.io import loadmat

    with open(path, "rb") as file:
        try:
            variables = loadmat(file)
        except NotImplementedError as problem:
            raise DataError(
                f"{path}: it is a .mat file of version 7.3 (HDF5): save it in MATLAB with the -v7 "
                "option"
            ) from problem
        # Reading a truncated file, or one of another format, can raise anything.
        except Exception as problem:
            raise DataError(
                f"{path}: it is not a readable .mat file ({str(problem).rstrip('.')}): save it in "
                "MATLAB or Octave with the -v7 option"
            ) from problem
    return {name: value for name, value in variables.items() if not name.startswith("__")}


def _shown_shape(array):
    return " x ".join(map(str, array.shape))


def _is_vector(array):
    return max(array.shape, default=0) == array.size


def _texts(variable, name, source):
    """One text a record, as in a table, from numbers, a char matrix or a cell array."""
    array = np.asarray(variable)
    # An empty text of a cell array is an empty array.
    cells = [np.ravel(item) for item in array.ravel()]
    usable = all(cell.size <= 1 and cell.dtype.kind in REAL + "U" for cell in cells)
    if not usable or not _is_vector(array):
        raise DataError(
            f"{source}: variable {name} ({_shown_shape(array)}) does not hold one value a record: "
            "give a numeric vector, a char matrix or a cell array of texts"
        )
    return [_text(cell[0]) if cell.size else "" for cell in cells]


def _text(value):
    if isinstance(value, str):
        return value.strip()
    number = float(value)
    if math.isnan(number):
        return ""
    # Reads back as the same number, and as 7 rather than 7.0.
    return str(int(number)) if number.is_integer() else repr(number)


def _mat_landmarks(variable, name, source, covariate, number):
    """Landmarks of each record: k x 2 real or k complex numbers; cells are not checked."""
    array = np.asarray(variable)
    kind, is_pairs = array.dtype.kind, array.ndim == 3 and array.dtype.kind in REAL
    if kind == "O" and _is_vector(array) and array.size == number:
        return list(array.ravel())
    # With three records or more no real array fits both orders.
    if is_pairs and array.shape[1:] == (2, number):
        return list(np.moveaxis(array, 2, 0))
    if is_pairs and array.shape[::2] == (number, 2):
        return list(array)
    if kind == "c" and array.shape == (number, number):
        raise DataError(
            f"{source}: variable {name} is complex {_shown_shape(array)} for {number} records, so "
            "its rows can be records or landmarks: give real numbers, n x k x 2"
        )
    if kind == "c" and array.ndim == 2 and number in array.shape:
        return list(array if array.shape[0] == number else array.T)
    described = {"c": "complex ", "O": "a cell array "}.get(kind, "")
    if kind not in REAL + "cO":
        described = "no array of numbers, "
    raise DataError(
        f"{source}: variable {name} is {described}{_shown_shape(array)} while variable {covariate} "
        f"has {number} values: give landmarks as k x 2 x {number} or {number} x k x 2, or complex "
        f"{number} x k or k x {number}"
    )


def _mat_record(item, place):
    """Complex landmarks of one record."""
    array = np.asarray(item)
    if array.dtype.kind in REAL and array.ndim == 2 and array.shape[1] == 2:
        # Set part by part: 1j times infinity would make the real part NaN, with a warning.
        landmarks = np.empty(len(array), dtype=complex)
        landmarks.real, landmarks.imag = array.T
        return landmarks
    if array.dtype.kind == "c" and _is_vector(array):
        return array.ravel()
    raise DataError(
        f"{place}: the cell is {_shown_shape(array)}: give k x 2 numbers or k complex numbers"
    )
