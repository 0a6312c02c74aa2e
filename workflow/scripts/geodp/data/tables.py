"""Read tables of records, one a row below a header, and matrices of comma-separated values."""

import re
from difflib import get_close_matches
from pathlib import Path

import numpy as np

from geodp.data.cells import CheckedText, open_table
from geodp.data.checks import check_counts, check_points, far_records, mended_landmarks
from geodp.data.messages import few, text_of
from geodp.data.records import (
    FEWEST_RECORDS,
    Records,
    TableReading,
    finite_number,
    has_landmarks,
    kept_records,
    number_of,
    scaled_covariate,
)
from geodp.errors import DataError
from geodp.manifolds.kendall import NoReducedShapeError
from geodp.manifolds.landmark_maps import LandmarkMap
from geodp.manifolds.registry import layout_advice
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere

# Latitudes and longitudes, in degrees.
LIMITS = (-90.0, 90.0), (-180.0, 360.0)


def landmark_columns(number):
    """Column names ``x1, y1, ..., xk, yk``."""
    return [f"{axis}{index}" for index in range(1, number + 1) for axis in "xy"]


def read_table(
    path,
    manifold,
    covariate,
    columns,
    coordinates="ambient",
    *,
    transformation="none",
    subject=None,
    keep=None,
    covariate_range=None,
    outline=False,
    reading=None,
):
    """`Records` of a regression from a file with one record a row.

    It is text with a header, its cells separated by commas or tabs; or a Parquet file, or arrays of
    NumPy or MATLAB, if it ends in .parquet, .npz or .mat, whose rows messages number from 1.  A
    `DataError` names the table, the row and the column.

    Parameters
    ----------
    path : str
    manifold : Manifold
    covariate : str, list of str or None
        Column of the covariate, with one number a record, or of each.
    columns : list of str or None
        Those of the point: landmarks ``x1, y1, ...`` for planar shapes, else numbers in one of the
        manifold's `layouts`; an array of more axes stands for all its numbers.  ``None``, for
        planar shapes: all landmarks of the header.
    coordinates : {"ambient", "latitude_longitude", "lower_triangle"}
        The second of the sphere S^2, in degrees; the last of a symmetric matrix, row by row.
    transformation : {"none", "log"}, or list of these
        Applied to the covariate before it is scaled; of several one for all, or a list.
    subject : str, optional
        Column that names the subject of a record.
    keep : dict, optional
        By column, the value or list of values of the records to keep; the others need not be
        readable.  Numbers are compared as numbers.
    covariate_range : tuple of float, or list of these; optional
        Values of the covariate, before its transformation, that become 0 and 1; none may lie
        outside.  By default the least and the greatest of the data.
    outline : bool
        Whether landmarks run along a closed outline: any number of them is then accepted, see
        `mended_landmarks`.
    reading : TableReading, optional
    """
    is_shape, keep, reading = has_landmarks(manifold), keep or {}, reading or TableReading()
    if outline and not is_shape:
        raise DataError(
            f"{path}: a point of {manifold.name} has no landmarks and so no outline: set outline "
            "to false",
            argument="outline",
        )
    table = open_table(path, CheckedText, reading, manifold.landmarks if is_shape else None)
    source, is_list = table.source, isinstance(covariate, list)
    covariates = covariate if is_list else [covariate] if covariate else []
    fields = [*covariates, *([subject] if subject else []), *keep]
    others = [name for name in keep if name not in covariates]
    columns, names = point_columns(
        table, manifold, columns, covariates, subject, coordinates, others
    )
    records = list(table.records([*columns, *fields]))
    texts = {
        name: [cells[place].strip() for _, cells in records]
        for place, name in enumerate(fields, len(names))
    }
    kept, notes = kept_records(source, keep, texts, len(records))
    texts = {name: [each[index] for index in kept] for name, each in texts.items()}
    rows = [records[index][0] for index in kept]
    if len(rows) < FEWEST_RECORDS:
        raise DataError(
            f"{source.name}: a fit needs at least {FEWEST_RECORDS} records and there are "
            f"{len(rows)}{' after keep' if keep else ''}: add records"
        )
    count = len(covariates)
    words = transformation if isinstance(transformation, list) else [transformation] * count
    ranges = covariate_range if is_list else [covariate_range] * count
    scaled = [
        scaled_covariate(source, reading, each, rows, texts[each[0]])
        for each in zip(covariates, words, ranges or [None] * count, strict=True)
    ] or [(np.zeros(len(rows)), (0.0, 0.0))]
    values, limits = scaled[0]
    if is_list:
        values = np.stack([each for each, _ in scaled], axis=-1)
        limits = tuple(each for _, each in scaled)
    cells = [records[index][1][: len(names)] for index in kept]
    if outline:
        counts = [_landmark_count(each) for each in cells]
        check_counts(counts, source, rows)
        # Cells beyond the landmarks that every record has are empty.
        cells = [each[: 2 * counts[0]] for each in cells]
    numbers = np.array(
        [
            [
                number_of(text, source, row, name, reading)
                for text, name in zip(each, names, strict=False)
            ]
            for row, each in zip(rows, cells, strict=True)
        ]
    )
    numbers = ambient(numbers, coordinates, source, rows, names)
    points, mended = _points(numbers, manifold, source, rows, outline)
    notes += mended + far_records(manifold, points, source, rows)
    subjects = texts.get(subject, [])
    if "" in subjects:
        raise source.refusal(rows[subjects.index("")], "the value is missing", subject)
    if len(set(subjects)) < len(subjects):
        notes.append(
            f"{len(subjects)} records of {len(set(subjects))} subjects: a budget stated per record "
            "is not one per subject"
        )
    return Records(values, limits, points, subjects, rows, source.record_word, notes)


def _points(numbers, manifold, source, rows, outline):
    """Points that coordinates (n, k) state, checked, and a sentence for each repair."""
    mended = []
    if has_landmarks(manifold):
        landmarks = numbers[:, 0::2] + 1j * numbers[:, 1::2]
        landmarks, mended = mended_landmarks(landmarks, source, rows, manifold.landmarks, outline)
        try:
            points = manifold.from_landmarks(landmarks)
        except NoReducedShapeError as problem:
            raise DataError(f"{source.record(rows[problem.record])}: {problem.reason}") from problem
    else:
        points = manifold.from_layout(numbers)
        check_points(manifold, points, source, rows)
        # Removes the rounding of decimal text.
        points = manifold.project(points)
    # Up to rounding.
    if np.max(manifold.dist(points[:1], points)) <= 1e-9:
        raise DataError(
            f"{source.name}: every {source.record_word} has the same point: a regression needs "
            "points that differ"
        )
    return points, mended


def point_columns(
    table, manifold, columns, covariates, subject, coordinates, others=(), place=None, is_shown=True
):
    """Columns of a point in a table, and the names of their numbers; nothing of a record is read.

    As for `read_table`, with several covariates, and ``others`` that are read as labels.  Messages
    call the settings of columns ``place``; in a file without a header its columns are data, and not
    shown.
    """
    labels = [*([subject] if subject else []), *others]
    fields = dict.fromkeys([*covariates, *labels])
    columns = named_columns(table, fields, columns, is_shown)
    table.refuse_unfit([*covariates, *columns], labels)
    for name in covariates:
        if table.numbered([name]) != [name]:
            raise DataError(
                f"{table.path}, {table.source.field_word} {name}: it holds more than one number a "
                "record: give each covariate an array of its own"
            )
    names = table.numbered(columns)
    check_columns(names, place or table.path, manifold, covariates, subject, coordinates)
    return columns, names


def check_columns(columns, source, manifold, covariates, subject, coordinates):
    """Refuse columns that make no point of the manifold."""
    known = dict.fromkeys(covariates, "the covariate") | {subject: "the subject"}
    for name in dict.fromkeys(columns):
        other = known.get(name)
        if columns.count(name) > 1 or other:
            also = f"is {other} too" if other else "is named more than once"
            raise DataError(
                f"{source}: column {name} of a point {also}: name each coordinate's own column",
                argument="columns",
            )
    number, fault = len(columns), None
    if coordinates == "latitude_longitude":
        if not (isinstance(manifold, Sphere) and manifold.dim == 2):
            raise DataError(
                f"{source}: latitude and longitude are of the sphere S^2, not of {manifold.name}: "
                "set coordinates to ambient",
                argument="coordinates",
            )
        if number != 2:
            fault = "are no latitude and longitude: name two, the latitude first"
    elif has_landmarks(manifold):
        if number % 2:
            fault = "are no landmarks: name x and y of each in turn"
    elif coordinates == "lower_triangle":
        if not isinstance(manifold, SPD):
            raise DataError(
                f"{source}: a lower triangle is one of a matrix, and no point of {manifold.name}: "
                "set coordinates to ambient",
                argument="coordinates",
            )
        if number != manifold.dim:
            fault = f"are no lower triangle of {manifold.name}: name {manifold.dim}"
    elif number not in manifold.layouts():
        fault = f"make no point of {manifold.name}: {layout_advice(manifold)}"
    if fault:
        raise DataError(f"{source}: {number} columns {fault}", argument="columns")


def named_columns(table, fields, columns, is_shown):
    """The columns of a point; those and the fields are in the header, once; see `point_columns`."""
    header, place = table.names, table.place
    there = f" (there are: {few(header)})" if is_shown else ""
    if columns is None:
        columns = _columns_of_landmarks(header, place, there, is_shown)
    for name in [*fields, *columns]:
        if name not in header:
            remedy = "add it, or correct the name that was asked for"
            if is_shown and all(finite_number(each) is None for each in header):
                near = get_close_matches(name, header, n=1)
                remedy = f"did you mean {near[0]}?" if near else remedy
            elif is_shown:
                remedy = "numbers are no names, so add the line of names if it is missing"
            word = table.source.field_word
            raise DataError(f"{place}: there is no {word} {name}{there}: {remedy}{table.hint}")
        if header.count(name) > 1:
            raise DataError(
                f"{place}: {header.count(name)} columns are called {name}: rename or remove the "
                "others"
            )
    return columns


def ambient(numbers, coordinates, source, rows, columns):
    """Coordinates (n, k) in a layout of the space from what columns hold; see `read_table`."""
    if coordinates == "latitude_longitude":
        limits = [(name, *ends) for name, ends in zip(columns, LIMITS, strict=True)]
        for row, pair in zip(rows, numbers, strict=True):
            for value, (name, low, high) in zip(pair, limits, strict=True):
                if not low <= value <= high:
                    fault = f"{value:g} is not between {low:g} and {high:g} degrees"
                    raise source.refusal(row, fault, name)
        return unit_vectors(numbers)
    if coordinates == "lower_triangle":
        return numbers[:, lower_triangle(numbers.shape[1])]
    return numbers


def lower_triangle(number):
    """Places in a lower triangle, row by row, of the entries of the upper one, row by row."""
    size = int(np.sqrt(2 * number))
    return [j * (j + 1) // 2 + i for i in range(size) for j in range(i, size)]


def unit_vectors(degrees):
    """Unit vectors (..., 3) from any latitudes and longitudes (..., 2)."""
    latitude, longitude = np.moveaxis(np.radians(degrees), -1, 0)
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def _columns_of_landmarks(header, place, there, is_shown):
    """The columns ``x1, y1, ..., xk, yk`` for the greatest number k in a header.

    Where a header is missing its names are a record's cells, of which only ``is_shown`` may tell.
    """
    names = {name for name in header if re.fullmatch(r"[xy][1-9][0-9]*", name)}
    columns = landmark_columns((len(names) + 1) // 2)
    gap = next((name for name in columns if name not in names), None)
    if not names or (gap and not is_shown):
        raise DataError(
            f"{place}: there are no columns x1, y1, x2, y2, ...{there}: give those to the "
            "landmarks, without a gap"
        )
    if gap:
        last = max(names, key=lambda name: (int(name[1:]), name[0] == "x"))
        raise DataError(
            f"{place}: there is no column {gap} though there is a column {last}: name the "
            "columns of the landmarks x1, y1, x2, y2, ... without a gap"
        )
    return columns


def _landmark_count(cells):
    """Number of landmarks of a row, up to its last cell that is not empty."""
    filled = [index for index, text in enumerate(cells) if text.strip()]
    return filled[-1] // 2 + 1 if filled else 0


def parse_matrix(text, place):
    """A matrix (m, k) of complex numbers from comma-separated text, which messages call ``place``.

    A line is a row, without a header; entries are like ``0.5+0.25j``, or plain real numbers.  Blank
    lines are passed over.
    """
    rows: list = []
    for line, entries in enumerate((each.split(",") for each in text.splitlines()), start=1):
        if not "".join(entries).strip():
            continue
        if rows and len(entries) != len(rows[0]):
            raise DataError(
                f"{place}, row {line}: it has {len(entries)} columns and the first row has "
                f"{len(rows[0])}: give a column for each landmark in every row"
            )
        rows.append([finite_number(entry.strip(' "'), complex) for entry in entries])
        if None in rows[-1]:
            column = rows[-1].index(None)
            raise DataError(
                f"{place}, row {line}, column {column + 1}: '{entries[column].strip()}' is not a "
                "finite number: write it like 0.5+0.25j or 0.5"
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
