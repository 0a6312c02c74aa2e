"""Read records from a table: a covariate, a subject, and a point or a landmark configuration.

Functions take open text and the name messages should call it by; every message names the
table, the row (the header is row 1) and the column.
"""

import csv
import math
from dataclasses import dataclass

import numpy as np

from geodp.errors import DataError

# A landmark this many times farther from the middle of its record than is usual in the table is
# a misread digit or a code for a missing value, not anatomy.
WILD_LANDMARK = 10.0

# Both coordinates of a landmark are one of these where a digitiser wrote "missing".
MISSING_CODES = (9999.0, -9999.0, 99999.0, -99999.0)

TRANSFORMATIONS = {"none": lambda value: value, "log": math.log}


@dataclass(frozen=True)
class Records:
    """Records as read.

    Attributes
    ----------
    covariates : ndarray, shape (n,)
        Transformed, then scaled to [0, 1].
    covariate_range : tuple of float
        The transformed values that became 0 and 1.
    points : ndarray, shape (n, *point_shape)
    subjects : list of str
        Empty where the table names no subjects.
    rows : list of int
        Where each record stands in the table; the header is row 1.
    """

    covariates: np.ndarray
    covariate_range: tuple[float, float]
    points: np.ndarray
    subjects: list
    rows: list


def landmark_columns(number):
    """Column names ``x1, y1, ..., xk, yk``."""
    return [f"{axis}{index}" for index in range(1, number + 1) for axis in "xy"]


def read_records(text, source, manifold, covariate, columns, transformation="none", subject=None):
    """Read points of a manifold from a table with one record a row.

    Parameters
    ----------
    text : iterable of str
        Lines of comma-separated values with a header.
    source : str
        What messages call the table.
    manifold : Manifold
    covariate : str
        Column of the covariate.
    columns : list of str
        Columns of the point: landmarks ``x1, y1, ...`` for planar shapes, else the ambient
        coordinates in row-major order.
    transformation : {"none", "log"}
        Applied to the covariate before it is scaled.
    subject : str, optional
        Column that names the subject of a record.

    Returns
    -------
    Records

    Raises
    ------
    DataError
        One sentence that names the table, the row and the column.
    """
    rows = _numbered_rows(text, source, [covariate, *columns, *([subject] if subject else [])])
    if len(rows) < 3:
        raise DataError(f"{source}: a fit needs at least 3 records and there are {len(rows)}")
    values = np.array(
        [[_number(row[name], source, line, name) for name in columns] for line, row in rows]
    )
    lines = [line for line, _ in rows]
    if np.issubdtype(manifold.dtype, np.complexfloating):
        landmarks = values[:, 0::2] + 1j * values[:, 1::2]
        check_landmarks(landmarks, source, lines)
        points = manifold.project(landmarks)
    else:
        points = values.reshape((-1, *manifold.point_shape))
        check_points(manifold, points, source, lines)
        # Takes away what rounding in the table left.
        points = manifold.project(points)
    raw = [
        _covariate(row[covariate], source, line, covariate, transformation) for line, row in rows
    ]
    low, high = min(raw), max(raw)
    if low == high:
        raise DataError(
            f"{source}: column {covariate} is {rows[0][1][covariate]} in every row: a regression "
            "needs a covariate that varies"
        )
    return Records(
        covariates=(np.array(raw) - low) / (high - low),
        covariate_range=(low, high),
        points=points,
        subjects=[row[subject] for _, row in rows] if subject else [],
        rows=lines,
    )


def _numbered_rows(text, source, needed):
    """Rows as dictionaries, with their line numbers; checks the header and the lengths."""
    reader = csv.DictReader(text, strict=True)
    try:
        header = reader.fieldnames
        if not header:
            raise DataError(f"{source}: the table is empty: give a header and one record a row")
        for name in needed:
            if name not in header:
                raise DataError(
                    f"{source}, row 1: there is no column {name} (there are: "
                    f"{', '.join(header[:8])}{', ...' if len(header) > 8 else ''})"
                )
        rows = []
        for row in reader:
            if None in row or None in row.values():
                raise DataError(
                    f"{source}, row {reader.line_num}: it has another number of columns than the "
                    f"header's {len(header)}: complete or remove the row"
                )
            rows.append((reader.line_num, row))
    except UnicodeDecodeError as problem:
        # Text is decoded ahead of the row that is being read, so no row can be named.
        raise DataError(
            f"{source}: it is not UTF-8 text ({problem}): save it as UTF-8"
        ) from problem
    except csv.Error as problem:
        # The dictionary reader's own count is that of the row before.
        raise DataError(
            f"{source}, row {reader.reader.line_num}: it is not comma-separated text ({problem}): "
            "correct the row"
        ) from problem
    return rows


def _number(text, source, line, column):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        shown = f"'{text}' is not a number" if text.strip() else "the value is missing"
        raise DataError(
            f"{source}, row {line}, column {column}: {shown}: correct or remove the row"
        )
    return value


def _covariate(text, source, line, column, transformation):
    value = _number(text, source, line, column)
    if transformation == "log" and value <= 0.0:
        raise DataError(
            f"{source}, row {line}, column {column}: {text} has no logarithm: give a positive "
            "value or set transformation to none"
        )
    return TRANSFORMATIONS[transformation](value)


def check_landmarks(landmarks, source, lines):
    """Refuse configurations that are no shape, or that one misread landmark has spoilt.

    Parameters
    ----------
    landmarks : ndarray of complex, shape (n, k)
    source : str
    lines : list of int
        Row of each record, for messages.
    """
    middle = np.median(landmarks.real, axis=-1) + 1j * np.median(landmarks.imag, axis=-1)
    away = np.abs(landmarks - middle[:, None])
    usual = np.median(away)
    for index, line in enumerate(lines):
        record = landmarks[index]
        if len(np.unique(record)) == 1:
            raise DataError(
                f"{source}, row {line}: all landmarks coincide, so there is no shape: correct or "
                "remove the row"
            )
        if len(np.unique(record)) < len(record):
            first, second = _coincident(record)
            raise DataError(
                f"{source}, row {line}: landmarks {first} and {second} coincide: correct or "
                "remove the row"
            )
        coded = np.isin(record.real, MISSING_CODES) & (record.real == record.imag)
        if np.any(coded):
            place = record[coded][0]
            raise DataError(
                f"{source}, row {line}: landmark {int(np.argmax(coded)) + 1} at ({place.real:g}, "
                f"{place.imag:g}) carries a code for a missing value: correct or remove the row"
            )
        worst = int(np.argmax(away[index]))
        if away[index, worst] > WILD_LANDMARK * usual:
            place = record[worst]
            raise DataError(
                f"{source}, row {line}: landmark {worst + 1} at ({place.real:g}, {place.imag:g}) "
                f"is over {WILD_LANDMARK:g} times farther out than is usual here: correct or "
                "remove the row"
            )


def _coincident(record):
    for second in range(len(record)):
        for first in range(second):
            if record[first] == record[second]:
                return first + 1, second + 1
    raise AssertionError("no two landmarks coincide")


def check_points(manifold, points, source, lines):
    """Refuse rows that are not points of the manifold."""
    for line, point in zip(lines, points, strict=True):
        reason = manifold.invalid_reason(point)
        if reason is not None:
            raise DataError(
                f"{source}, row {line}: not a point of {manifold.name}, since {reason}: correct "
                "or remove the row"
            )
