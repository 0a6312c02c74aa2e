"""Tables and landmarks of R, in files .rds and .RData, read by rdata."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from geodp.data.columns import LANDMARK, landmark_columns
from geodp.data.messages import RecordFile, few, landmarks_error, opened
from geodp.data.statistics_files import ANY_BYTES, DATE, NUMBER, TEXT, LabelledTable, decoded
from geodp.errors import DataError


class _Column(NamedTuple):
    """Values of a column, what they are, and words of them."""

    values: Any
    kind: str
    words: dict
    # Of dates: seconds of a one, and the day from which they count.
    days: tuple = ()


class _Frame(dict):
    """Columns of a data frame of R, by name."""


def _names(array, axis):
    """Names along an axis of an array of R; none of an array without any."""
    if not hasattr(array, "coords") or array.dims[axis] not in array.coords:
        return []
    return array.coords[array.dims[axis]].values.tolist()


def _factor(codes, attributes):
    levels = [None, *map(str, attributes["levels"])]
    return np.array([levels[code] for code in np.ma.filled(codes, 0)], dtype=object)


def _labelled(values, attributes):
    """A vector of the package haven: missing codes of SPSS are not there, others have words."""
    column = _column(values)
    if column.kind != NUMBER:
        return column
    numbers, labels = column.values.copy(), attributes.get("labels")
    low, high = attributes.get("na_range", (np.nan, np.nan))
    is_missing = np.isin(numbers, attributes.get("na_values", []))
    numbers[is_missing | ((low <= numbers) & (numbers <= high))] = np.nan
    words = map(decoded, _names(labels, 0))
    return _Column(numbers, NUMBER, dict(zip(getattr(labels, "values", []), words, strict=False)))


def _long_integers(values, attributes):
    """Whole numbers of 64 bits, which the package bit64 keeps in the bits of others."""
    lost = np.iinfo(np.int64).min
    whole = np.asarray(values).view(np.int64).tolist()
    return _Column([None if each == lost else each for each in whole], NUMBER, {})


def _dates(seconds):
    def made(values, attributes):
        column = _column(values)
        # Of texts they are what they say.
        is_number = column.kind == NUMBER
        return column._replace(kind=DATE, days=(seconds, "1970-01-01")) if is_number else column

    return made


CLASSES: Any = {
    "data.frame": lambda columns, attributes: _Frame(columns),
    "factor": _factor,
    "haven_labelled": _labelled,
    "integer64": _long_integers,
    "Date": _dates(86400.0),
    "POSIXct": _dates(1.0),
}


def _column(values):
    """The column of a vector of R, of which rdata makes an array."""
    if isinstance(values, _Column):
        return values
    if isinstance(values, list | Mapping) or not hasattr(values, "dtype"):
        return _Column(values, "a list", {})
    # A vector with names is an array of xarray.
    values = getattr(values, "values", values)
    if values.ndim != 1:
        return _Column(values, f"an array of {values.ndim} axes", {})
    if values.dtype.kind in "biuf":
        return _Column(np.ma.filled(np.ma.asarray(values, dtype=float), np.nan), NUMBER, {})
    if values.dtype.kind in "OSU":
        texts = [decoded(each) if isinstance(each, str) else None for each in values.tolist()]
        return _Column(texts, TEXT, {})
    return _Column(values, str(values.dtype), {})


def _is_landmarks(value):
    return getattr(value, "ndim", 0) == 3 and value.shape[1] == 2


def _landmarks(array, others):
    """Columns of an array p x 2 x n of landmarks, and of what else there is n times."""
    numbers: Any = np.ma.asarray(getattr(array, "values", array), dtype=float)
    points: np.ndarray = np.ma.filled(numbers, np.nan)
    names, number = landmark_columns(len(points)), points.shape[2]
    columns = dict(zip(names, points.reshape(len(names), number), strict=True))
    columns["centroid_size"] = np.linalg.norm(points - points.mean(axis=0), axis=(0, 1))
    found = {name: _Column(each, NUMBER, {}) for name, each in columns.items()}
    if labels := _names(array, 2):
        found["ID"] = _column(np.array(labels))
    kept = {decoded(str(name)): _column(each) for name, each in others.items()}
    return found | {
        name: column
        for name, column in kept.items()
        if column.kind in (NUMBER, TEXT, DATE) and len(column.values) == number
    }


def _columns(value):
    """Columns of a data frame or of landmarks, by name, or ``None``."""
    if isinstance(value, _Frame):
        return {decoded(str(name)): _column(each) for name, each in value.items()}
    if _is_landmarks(value):
        return _landmarks(value, {})
    arrays = filter(_is_landmarks, value.values()) if isinstance(value, Mapping) else []
    found = [_landmarks(array, value) for array in arrays]
    return found[0] if len(found) == 1 else None


class RTable(LabelledTable):
    """A data frame of R, or planar landmarks: an array p x 2 x n, or a list with one.

    Of a file with several of them the sheet names one.
    """

    def __init__(self, path, reading):
        super().__init__(path, reading)
        with opened(path, "a file of R", "rdata", "formats"):
            import rdata

            found = rdata.conversion.convert(
                rdata.parser.parse_file(path),
                CLASSES,
                default_encoding=ANY_BYTES,
                force_default_encoding=True,
            )
            if Path(path).suffix.lower() == ".rds":
                # Its one object has no name.
                found = {Path(path).stem: found}
            tables = {str(name): _columns(each) for name, each in found.items()}
        self.sheets = [name for name, columns in tables.items() if columns is not None]
        wanted = reading.sheet
        if not self.sheets:
            raise DataError(
                f"{path}: it has no table: save a data frame, an array p x 2 x n of planar "
                "landmarks, or a list with one"
            )
        if wanted not in (None, *self.sheets):
            raise DataError(
                f"{path}: it has no table {wanted} (there are: {few(self.sheets)}): correct the "
                "key sheet"
            )
        columns, self._are_landmarks = {}, False
        if wanted is None and len(self.sheets) > 1:
            self.hint = f"; it has several tables, and the key sheet names one: {few(self.sheets)}"
        else:
            chosen = self.sheets[0] if wanted is None else wanted
            columns, self._are_landmarks = tables[chosen], not isinstance(found[chosen], _Frame)
        if self._are_landmarks:
            self.source = RecordFile(path, "specimen", "column")
        self.names, self._columns = list(columns), columns
        self.kinds = {name: column.kind for name, column in columns.items()}
        self.words = {name: column.words for name, column in columns.items()}
        self.days = {name: column.days for name, column in columns.items() if column.days}

    def refuse_unfit(self, numbers, labels):
        """Refuse landmarks, too, where points are no shapes; see `Table.refuse_unfit`."""
        is_shape = self.reading.landmarks is not None
        if self._are_landmarks and not is_shape and any(map(LANDMARK.fullmatch, numbers)):
            raise landmarks_error(self.path)
        super().refuse_unfit(numbers, labels)

    def _values(self, names):
        return {name: self._columns[name].values for name in names}
