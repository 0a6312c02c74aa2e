"""Read tables of records, one a row below a header, and matrices of comma-separated values."""

import csv
import itertools
import re

import numpy as np

from geodp.data.cells import delimiter_of, header_names, is_typed, open_table
from geodp.data.checks import check_counts
from geodp.data.messages import RecordFile, few, named_csv_errors
from geodp.data.records import RecordOptions, assemble, finite_number, has_landmarks, number_of
from geodp.errors import DataError
from geodp.manifolds.registry import layout_advice
from geodp.manifolds.sphere import Sphere


def landmark_columns(number):
    """Column names ``x1, y1, ..., xk, yk``."""
    return [f"{axis}{index}" for index in range(1, number + 1) for axis in "xy"]


def read_records(text, source, manifold, covariate, columns, coordinates="ambient", **settings):
    """Read records of a regression from a table with one record a row.

    Parameters
    ----------
    text : iterable of str
        Lines of comma-separated values with a header, or of values separated by tabs.  Empty
        lines and those that begin with ``#`` are passed over.
    source : str
        Name of the table in messages.
    manifold : Manifold
    covariate : str
        Column of the covariate.
    columns : list of str or None
        Columns of the point: landmarks ``x1, y1, ...`` for planar shapes, else numbers in one of
        the manifold's `layouts`.  ``None``, for planar shapes: all landmarks of the header.
    coordinates : {"ambient", "latitude_longitude"}
        What the columns hold; latitude and longitude are of the sphere S^2, in degrees.
    **settings
        The other parameters of `RecordOptions`.

    Returns
    -------
    Records

    Raises
    ------
    DataError
        One sentence that names the table, the row and the column.
    """
    options = RecordOptions(covariate, **settings)
    _check_outline(source, manifold, options)
    if columns is not None:
        check_columns(columns, source, manifold, options, coordinates)
    columns, rows = numbered_rows(text, source, options.fields, columns)
    return _records(RecordFile(source), manifold, options, columns, rows, coordinates)


def read_table(path, manifold, covariate, columns, coordinates="ambient", **settings):
    """Read records of a regression from a file with one record a row.

    Parameters
    ----------
    path : str
        A Parquet file or arrays of NumPy if it ends in .parquet or .npz, whose rows messages number
        from 1; else text, see `read_records`.
    manifold, covariate, columns, coordinates, **settings
        See `read_records`.  An array of more axes stands for all its numbers.

    Returns
    -------
    Records

    Raises
    ------
    DataError
        One sentence that names the table, the row and the column.
    """
    if not is_typed(path):
        with open(path, newline="", encoding="utf-8-sig") as text:
            return read_records(text, path, manifold, covariate, columns, coordinates, **settings)
    options = RecordOptions(covariate, **settings)
    _check_outline(path, manifold, options)
    table = open_table(path)
    columns = named_columns(table.names, table.place, options.fields, columns)
    numbers = [*columns, *([covariate] if covariate else [])]
    table.refuse_unfit(numbers, [name for name in options.fields if name != covariate])
    parts = table.numbered(columns)
    check_columns(parts, path, manifold, options, coordinates)
    names = [*parts, *options.fields]
    rows = [
        (row, dict(zip(names, texts, strict=True)))
        for row, texts in table.records([*columns, *options.fields])
    ]
    return _records(table.source, manifold, options, parts, rows, coordinates)


def _check_outline(source, manifold, options):
    if options.outline and not has_landmarks(manifold):
        raise DataError(
            f"{source}: a point of {manifold.name} has no landmarks and so no outline: set "
            "outline to false",
            argument="outline",
        )


def _records(source, manifold, options, columns, rows, coordinates):
    """Records from pairs of a row's number and its texts by column."""
    lines = [line for line, _ in rows]

    def read(kept):
        cells = [[rows[index][1][name] for name in columns] for index in kept]
        named = columns
        if options.outline:
            counts = [_landmark_count(record) for record in cells]
            check_counts(counts, source, [lines[index] for index in kept])
            named = columns[: 2 * counts[0]]
        numbers = np.array(
            [
                [
                    number_of(text, source, lines[index], name)
                    # Cells beyond the landmarks that every record has are empty.
                    for text, name in zip(record, named, strict=False)
                ]
                for index, record in zip(kept, cells, strict=True)
            ]
        )
        if coordinates == "latitude_longitude":
            numbers = on_the_sphere(numbers, source, [lines[index] for index in kept], columns)
        return numbers[:, 0::2] + 1j * numbers[:, 1::2] if has_landmarks(manifold) else numbers

    fields = {name: [row[name].strip() for _, row in rows] for name in options.fields}
    return assemble(source, manifold, options, lines, fields, read)


def check_columns(columns, source, manifold, options, coordinates):
    """Refuse columns that make no point of the manifold."""
    for name in dict.fromkeys(columns):
        other = {options.covariate: "the covariate", options.subject: "the subject"}.get(name)
        if columns.count(name) > 1 or other:
            also = f"is {other} too" if other else "is named more than once"
            raise DataError(
                f"{source}: column {name} of a point {also}: name each coordinate's own column",
                argument="columns",
            )
    number = len(columns)
    if coordinates == "latitude_longitude":
        if not (isinstance(manifold, Sphere) and manifold.dim == 2):
            raise DataError(
                f"{source}: latitude and longitude are of the sphere S^2, not of {manifold.name}: "
                "set coordinates to ambient",
                argument="coordinates",
            )
        if number != 2:
            raise DataError(
                f"{source}: {number} columns are no latitude and longitude: name two, the latitude "
                "first",
                argument="columns",
            )
    elif has_landmarks(manifold):
        if number % 2:
            raise DataError(
                f"{source}: {number} columns are no landmarks: name x and y of each in turn",
                argument="columns",
            )
    elif number not in manifold.layouts():
        raise DataError(
            f"{source}: {number} columns make no point of {manifold.name}: "
            f"{layout_advice(manifold)}",
            argument="columns",
        )


def numbered_rows(text, source, fields, columns):
    """Columns of the point, and pairs of a line number and a row as a dictionary.

    The header and the lengths of rows are checked.  Without columns those of landmarks are used.
    """
    with named_csv_errors(source):
        # An empty line keeps the numbers of those after a comment.
        lines = ["" if line.startswith("#") else line for line in text]
    first = next(filter(str.strip, lines), "")
    reader = csv.reader(lines, delimiter=delimiter_of(first), strict=True)
    with named_csv_errors(source, reader):
        rows = [(reader.line_num, cells) for cells in reader if "".join(cells).strip()]
    if not rows:
        raise DataError(f"{source}: the table is empty: give a header and one record a row")
    (top, names), *rows = rows
    place = f"{source}, row {top}"
    header = header_names(names, place)
    columns = named_columns(header, place, fields, columns)
    number = len(header)
    for line, cells in rows:
        if len(cells) < number or "".join(cells[number:]).strip():
            raise DataError(
                f"{source}, row {line}: it has another number of columns than the header's "
                f"{number}: complete or remove the row"
            )
    return columns, [(line, dict(zip(header, cells, strict=False))) for line, cells in rows]


def named_columns(header, place, fields, columns, is_shown=True):
    """The columns of a point; those and the fields are in the header, once.

    Parameters
    ----------
    header : list of str
    place : str
        What messages call it.
    fields : iterable of str
    columns : list of str or None
        ``None`` for those of landmarks.
    is_shown : bool
        Whether messages name columns of the header: in a file without one these are data.
    """
    there = f" (there are: {few(header)})" if is_shown else ""
    if columns is None:
        columns = _columns_of_landmarks(header, place, there)
    for name in [*fields, *columns]:
        if name not in header:
            raise DataError(
                f"{place}: there is no column {name}{there}: add it, or correct the name that was "
                "asked for"
            )
        if header.count(name) > 1:
            raise DataError(
                f"{place}: {header.count(name)} columns are called {name}: rename or remove the "
                "others"
            )
    return columns


def on_the_sphere(degrees, source, rows, columns):
    """Unit vectors (n, 3) from latitudes and longitudes (n, 2)."""
    for row, pair in zip(rows, degrees, strict=True):
        for value, name, low, high in zip(
            pair, columns, (-90.0, -180.0), (90.0, 360.0), strict=True
        ):
            if not low <= value <= high:
                raise source.refusal(
                    row, f"{value:g} is not between {low:g} and {high:g} degrees", name
                )
    latitude, longitude = np.radians(degrees).T
    flat = np.cos(latitude)
    return np.stack([flat * np.cos(longitude), flat * np.sin(longitude), np.sin(latitude)], axis=-1)


def _columns_of_landmarks(header, place, there):
    """The columns ``x1, y1, ..., xk, yk`` for the greatest number k in a header."""
    names = {name for name in header if re.fullmatch(r"[xy][1-9][0-9]*", name)}
    if not names:
        raise DataError(
            f"{place}: there are no columns x1, y1, x2, y2, ...{there}: give those to the landmarks"
        )
    last = max(names, key=lambda name: (int(name[1:]), name[0] == "x"))
    columns = []
    # Not landmark_columns: a last name such as x20240131 would make millions.
    for index in itertools.count(1):
        for name in (f"x{index}", f"y{index}"):
            if name not in names:
                raise DataError(
                    f"{place}: there is no column {name} though there is a column {last}: "
                    "name the columns of the landmarks x1, y1, x2, y2, ... without a gap"
                )
            columns.append(name)
        if len(columns) == len(names):
            return columns


def _landmark_count(cells):
    """Number of landmarks of a row, up to its last cell that is not empty."""
    filled = [index for index, text in enumerate(cells) if text.strip()]
    return filled[-1] // 2 + 1 if filled else 0


def parse_matrix(text, place):
    """A matrix of complex numbers from comma-separated text.

    Parameters
    ----------
    text : str or iterable of str
        A line a row, without a header; entries like ``0.5+0.25j``, or plain real numbers.  Blank
        lines are passed over.
    place : str
        What messages call the text.

    Returns
    -------
    ndarray of complex, shape (m, k)

    Raises
    ------
    DataError
        One sentence that names the text, the row and, where there is one, the column.
    """
    reader = csv.reader(text.splitlines() if isinstance(text, str) else text, strict=True)
    rows: list = []
    with named_csv_errors(place, reader):
        for entries in reader:
            if not any(entry.strip() for entry in entries):
                continue
            if rows and len(entries) != len(rows[0]):
                raise DataError(
                    f"{place}, row {reader.line_num}: it has {len(entries)} columns and the first "
                    f"row has {len(rows[0])}: give a column for each landmark in every row"
                )
            rows.append(
                [
                    _complex_number(entry, place, reader.line_num, column)
                    for column, entry in enumerate(entries, start=1)
                ]
            )
    if not rows:
        raise DataError(
            f"{place}: the matrix is empty: give a line for each number to keep and a column for "
            "each landmark"
        )
    return np.array(rows)


def _complex_number(entry, place, row, column):
    value = finite_number(entry, complex)
    if value is None:
        shown = f"'{entry}' is not a finite number" if entry.strip() else "the entry is missing"
        raise DataError(
            f"{place}, row {row}, column {column}: {shown}: write it like 0.5+0.25j or 0.5"
        )
    return value
