"""Read records from a file: a covariate, a subject, and a point or a landmark configuration.

Functions take an open file and the name messages should call it by; every message names the
file, the record (in a table its row; the header is row 1) and the column or variable.
"""

import csv
import itertools
import math
import re
from collections import Counter
from dataclasses import dataclass, field

import numpy as np

from geodp.data.landmarks import crossing_edges, orient, resample
from geodp.errors import DataError
from geodp.manifolds.kendall import NoReducedShapeError

# A landmark this many times farther from the middle of its record than is usual in the table is
# a misread digit or a code for a missing value, not anatomy.
WILD_LANDMARK = 10.0

# Both coordinates of a landmark are one of these where a digitiser wrote "missing".
MISSING_CODES = (9999.0, -9999.0, 99999.0, -99999.0)

TRANSFORMATIONS = {"none": lambda value: value, "log": math.log}

FEWEST_RECORDS = 3

# Three landmarks make a triangle whatever their order: no outline to speak of.
FEWEST_OUTLINE_LANDMARKS = 4

# Messages and notes name this many values or rows at most.
SHOWN = 5


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
        Empty where the file names no subjects.
    rows : list of int
        Where each record stands in the file: the row of a table, whose header is row 1, or the
        number of a record of a .mat file, from 1.
    row_word : {"row", "record"}
        What ``rows`` count.
    notes : list of str
        A sentence each: what was left out, mended or resampled, and what that means.
    landmarks_read : int or None
        Landmarks of a record in the file; None for points that are no shapes.
    """

    covariates: np.ndarray
    covariate_range: tuple[float, float]
    points: np.ndarray
    subjects: list
    rows: list
    row_word: str = "row"
    notes: list = field(default_factory=list)
    landmarks_read: int | None = None


@dataclass(frozen=True)
class _File:
    """How messages speak of a file and of places in it."""

    name: str
    record_word: str
    field_word: str

    def record(self, number):
        return f"{self.name}, {self.record_word} {number}"

    def cell(self, number, field_name):
        return f"{self.record(number)}, {self.field_word} {field_name}"

    @property
    def remedy(self):
        return f"correct or remove the {self.record_word}"


@dataclass(frozen=True)
class _Choices:
    """What a reader was asked for besides the landmarks or coordinates."""

    covariate: str
    transformation: str
    subject: str | None
    keep: dict
    covariate_range: tuple | None
    outline: bool

    @property
    def fields(self):
        """Columns or variables with one value a record."""
        return [self.covariate, *([self.subject] if self.subject else []), *self.keep]


def landmark_columns(number):
    """Column names ``x1, y1, ..., xk, yk``."""
    return [f"{axis}{index}" for index in range(1, number + 1) for axis in "xy"]


def read_records(
    text,
    source,
    manifold,
    covariate,
    columns,
    transformation="none",
    subject=None,
    *,
    keep=None,
    covariate_range=None,
    outline=False,
):
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
    columns : list of str or None
        Columns of the point: landmarks ``x1, y1, ...`` for planar shapes, else the ambient
        coordinates in row-major order. None, with ``outline``: all landmarks of the header.
    transformation : {"none", "log"}
        Applied to the covariate before it is scaled.
    subject : str, optional
        Column that names the subject of a record.
    keep : dict, optional
        Columns, and the value or list of values with which a record is kept. Numbers are
        compared as numbers.
    covariate_range : tuple of float, optional
        Values of the covariate, before its transformation, that become 0 and 1; none may lie
        outside. By default the least and the greatest that were read, which are the data's.
    outline : bool
        Landmarks run along a closed outline: any number of them is accepted, all records are
        traversed counter-clockwise and resampled to the manifold's number.

    Returns
    -------
    Records

    Raises
    ------
    DataError
        One sentence that names the table, the row and the column.
    """
    file = _File(source, "row", "column")
    choices = _Choices(covariate, transformation, subject, keep or {}, covariate_range, outline)
    _check_outline(manifold, file, outline)
    columns, rows = _numbered_rows(text, file, choices.fields, columns)
    lines = [line for line, _ in rows]

    def values(kept):
        cells = [[rows[index][1][name] for name in columns] for index in kept]
        named = columns
        if outline:
            counts = [_landmark_count(record) for record in cells]
            _check_counts(counts, file, [lines[index] for index in kept])
            named = columns[: 2 * counts[0]]
        numbers = np.array(
            [
                [
                    _number(text, file, lines[index], name)
                    # Cells beyond the landmarks that every record has are empty.
                    for text, name in zip(record, named, strict=False)
                ]
                for index, record in zip(kept, cells, strict=True)
            ]
        )
        return numbers[:, 0::2] + 1j * numbers[:, 1::2] if _has_landmarks(manifold) else numbers

    fields = {name: [row[name].strip() for _, row in rows] for name in choices.fields}
    return _records(file, manifold, choices, lines, fields, values)


def read_mat_records(
    file,
    source,
    manifold,
    covariate,
    landmarks="landmarks",
    transformation="none",
    subject=None,
    *,
    keep=None,
    covariate_range=None,
    outline=False,
):
    """Read planar shapes from a MATLAB file (not of version 7.3).

    Parameters
    ----------
    file : binary file
    source : str
        What messages call the file.
    manifold : Manifold
        Of planar shapes.
    covariate : str
        Variable of the covariate, with one value a record.
    landmarks : str
        Variable of the landmarks: k x 2 x n or n x k x 2, complex n x k or k x n, or a cell array
        of n matrices k x 2 or complex vectors.
    transformation, subject, keep, covariate_range, outline
        As for `read_records`, with variables for columns: numeric or character arrays or cell
        arrays of text.

    Returns
    -------
    Records
        Records are counted from 1.

    Raises
    ------
    DataError
        One sentence that names the file, the record and the variable.
    """
    described = _File(source, "record", "variable")
    choices = _Choices(covariate, transformation, subject, keep or {}, covariate_range, outline)
    _check_outline(manifold, described, outline)
    if not _has_landmarks(manifold):
        raise DataError(
            f"{source}: a .mat file is read for its landmarks and a point of {manifold.name} has "
            "none: save its coordinates as a .csv table"
        )
    variables = _mat_variables(file, source)
    for name in [landmarks, *choices.fields]:
        if name not in variables:
            raise DataError(
                f"{source}: there is no variable {name} (there are: {_few(variables)}): add it, or "
                "correct the name in the study's data"
            )
    fields = {name: _texts(variables[name], name, source) for name in choices.fields}
    number = len(fields[covariate])
    for name, texts in fields.items():
        if len(texts) != number:
            raise DataError(
                f"{source}: variable {name} has {len(texts)} values and variable {covariate} has "
                f"{number}: give both for every record"
            )
    numbers = list(range(1, number + 1))
    _check_enough(numbers, described)
    every = _mat_landmarks(variables[landmarks], landmarks, source, covariate, number)

    def values(kept):
        chosen = [
            _mat_record(every[index], described.cell(numbers[index], landmarks)) for index in kept
        ]
        counts = [len(record) for record in chosen]
        _check_counts(counts, described, [numbers[index] for index in kept])
        return np.array(chosen)

    return _records(described, manifold, choices, numbers, fields, values)


# --- What both kinds of file share ---


def _has_landmarks(manifold):
    return np.issubdtype(manifold.dtype, np.complexfloating)


def _check_outline(manifold, file, outline):
    if outline and not _has_landmarks(manifold):
        raise DataError(
            f"{file.name}: a point of {manifold.name} has no landmarks and so no outline: set "
            "data.outline to false"
        )


def _records(file, manifold, choices, numbers, fields, values):
    """Records from cells of text and a function that reads coordinates.

    Parameters
    ----------
    file : _File
    manifold : Manifold
    choices : _Choices
    numbers : list of int
        What messages call the records.
    fields : dict of list of str
        Empty texts are missing values.
    values : callable
        Complex landmarks or real coordinates, shape (n, k), of the records with given indices:
        what a record that is not kept holds need not be readable.
    """
    notes = []
    kept = _matching(file, choices.keep, fields, len(numbers))
    if len(kept) < len(numbers):
        wanted = " and ".join(
            f"{name} {_wanted(allowed)}" for name, allowed in choices.keep.items()
        )
        notes.append(f"{len(kept)} of {len(numbers)} records were kept, those with {wanted}")
    numbers = [numbers[index] for index in kept]
    fields = {name: [texts[index] for index in kept] for name, texts in fields.items()}
    _check_enough(numbers, file, " after data.keep" if choices.keep else "")
    covariates, limits = _scaled(file, choices, numbers, fields[choices.covariate])
    array = values(kept)
    landmarks_read = None
    if _has_landmarks(manifold):
        landmarks_read = array.shape[-1]
        landmarks, mended = _landmarks(array, file, numbers, manifold, choices.outline)
        notes += mended
        try:
            points = manifold.from_landmarks(landmarks)
        except NoReducedShapeError as problem:
            raise DataError(
                f"{file.record(numbers[problem.record])}: {problem.reason}"
            ) from problem
    else:
        points = array.reshape((-1, *manifold.point_shape))
        check_points(manifold, points, file.name, numbers)
        # Takes away what rounding in the table left.
        points = manifold.project(points)
    subjects = fields[choices.subject] if choices.subject else []
    # A file without subjects has none to lack.
    for number, name in zip(numbers, subjects, strict=bool(subjects)):
        if not name:
            raise DataError(
                f"{file.cell(number, choices.subject)}: the value is missing: {file.remedy}"
            )
    if len(set(subjects)) < len(subjects):
        notes.append(
            f"{len(subjects)} records of {len(set(subjects))} subjects: a budget stated per record "
            "is not one per subject"
        )
    return Records(
        covariates=covariates,
        covariate_range=limits,
        points=points,
        subjects=subjects,
        rows=numbers,
        row_word=file.record_word,
        notes=notes,
        landmarks_read=landmarks_read,
    )


def _few(values):
    """The first values as a text."""
    values = [str(value) if value != "" else "(empty)" for value in values]
    return ", ".join([*values[:SHOWN], *(["..."] if len(values) > SHOWN else [])])


def _check_enough(numbers, file, when=""):
    if len(numbers) < FEWEST_RECORDS:
        raise DataError(
            f"{file.name}: a fit needs at least {FEWEST_RECORDS} records and there are "
            f"{len(numbers)}{when}: add records"
        )


def _label(value):
    """What values are compared by: a number where there is one, so that 1, 1.0 and "01" agree."""
    text = str(value).strip()
    try:
        number = float(value)
    except (TypeError, ValueError):
        return text
    return number if math.isfinite(number) else text


def _wanted(allowed):
    values = allowed if isinstance(allowed, (list, tuple)) else [allowed]
    return " or ".join(str(value) for value in values)


def _matching(file, keep, fields, number):
    """Indices of the records that have the values to be kept."""
    kept = list(range(number))
    for name, allowed in keep.items():
        values = allowed if isinstance(allowed, (list, tuple)) else [allowed]
        labels = {_label(value) for value in values}
        left = [index for index in kept if _label(fields[name][index]) in labels]
        if kept and not left:
            values = [fields[name][index] for index in kept]
            there = dict.fromkeys(values)
            # Values that no two records share, such as names of subjects, are not for messages.
            shown = "" if len(there) == len(values) else f" (there are: {_few(there)})"
            among = "records" if len(kept) == number else "records the filters before it left"
            raise DataError(
                f"{file.name}: data.keep leaves nothing, since none of the {len(kept)} {among} has "
                f"{_wanted(allowed)} in {file.field_word} {name}{shown}: correct data.keep"
            )
        kept = left
    return kept


def _number(text, file, record, field_name):
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        shown = f"'{text}' is not a number" if text.strip() else "the value is missing"
        raise DataError(f"{file.cell(record, field_name)}: {shown}: {file.remedy}")
    return value


def _scaled(file, choices, numbers, texts):
    """Covariates scaled to [0, 1], and the transformed values that became 0 and 1."""
    name, transformation = choices.covariate, TRANSFORMATIONS[choices.transformation]
    raw = [_number(text, file, number, name) for text, number in zip(texts, numbers, strict=True)]
    if min(raw) == max(raw):
        raise DataError(
            f"{file.name}: {file.field_word} {name} is {texts[0]} in every {file.record_word}: a "
            "regression needs a covariate that varies"
        )
    if choices.covariate_range is not None:
        low, high = choices.covariate_range
        if not low < high:
            raise DataError(
                f"{file.name}: data.covariate_range is {low:g} to {high:g}: give a lower and then "
                "a higher limit"
            )
        if choices.transformation == "log" and low <= 0.0:
            raise DataError(
                f"{file.name}: data.covariate_range starts at {low:g}, which has no logarithm: "
                "give a positive limit or set transformation to none"
            )
        for value, text, number in zip(raw, texts, numbers, strict=True):
            if not low <= value <= high:
                raise DataError(
                    f"{file.cell(number, name)}: {text} lies outside {low:g} to {high:g}: "
                    f"{file.remedy}, or change data.covariate_range"
                )
    for value, text, number in zip(raw, texts, numbers, strict=True):
        if choices.transformation == "log" and value <= 0.0:
            raise DataError(
                f"{file.cell(number, name)}: {text} has no logarithm: give a positive value or set "
                "transformation to none"
            )
    if choices.covariate_range is None:
        low, high = min(raw), max(raw)
    low, high = transformation(low), transformation(high)
    values = np.array([transformation(value) for value in raw])
    return (values - low) / (high - low), (low, high)


# --- Landmarks ---


def _landmarks(landmarks, file, numbers, manifold, outline):
    """Landmarks of a manifold's shapes from those of a file, and notes on what was mended."""
    notes = []
    # Many programs close an outline by its first landmark.
    if outline and landmarks.shape[-1] > 1 and np.all(landmarks[:, 0] == landmarks[:, -1]):
        landmarks = landmarks[:, :-1]
        notes.append(
            "the last landmark of every outline repeats the first, which closes it, and was left "
            "out"
        )
    number = landmarks.shape[-1]
    if outline and number < FEWEST_OUTLINE_LANDMARKS:
        raise DataError(
            f"{file.name}: an outline needs at least {FEWEST_OUTLINE_LANDMARKS} landmarks and "
            f"these have {number}: give more landmarks, or set data.outline to false"
        )
    if not outline and number != manifold.landmarks:
        raise DataError(
            f"{file.name}: its records have {number} landmarks and those of the configured "
            f"manifold {manifold.landmarks}: set manifold.size to {number}, or data.outline to "
            "true if they run along a closed outline"
        )
    check_landmarks(landmarks, file.name, numbers, file.record_word)
    if not outline:
        return landmarks, notes
    for record, name in zip(landmarks, numbers, strict=True):
        crossing = crossing_edges(record)
        if crossing is not None:
            first, second = (f"{edge + 1}-{(edge + 1) % number + 1}" for edge in crossing)
            raise DataError(
                f"{file.record(name)}: the outline meets itself, its edge between landmarks "
                f"{first} and its edge between landmarks {second}: put the landmarks in their "
                f"order along the outline, or remove the {file.record_word}"
            )
    landmarks, reversed_ones = orient(landmarks)
    if np.any(reversed_ones):
        turned = list(itertools.compress(numbers, reversed_ones))
        several = len(turned) > 1
        notes.append(
            f"{len(turned)} outline{'s' if several else ''} ran clockwise and "
            f"{'were' if several else 'was'} reversed from the first landmark on "
            f"({file.record_word}{'s' if several else ''} {_few(turned)})"
        )
    if number != manifold.landmarks:
        landmarks = resample(landmarks, manifold.landmarks)
        notes.append(
            f"outlines of {number} landmarks were resampled to {manifold.landmarks} at equal arc "
            "length from the first landmark on"
        )
    return landmarks, notes


def _check_counts(counts, file, numbers):
    """Refuse records that have another number of landmarks than most."""
    usual = Counter(counts).most_common(1)[0][0]
    for count, number in zip(counts, numbers, strict=True):
        if count != usual:
            raise DataError(
                f"{file.record(number)}: it has {count} landmarks and {file.record_word} "
                f"{numbers[counts.index(usual)]} has {usual}: give all records the same number, or "
                f"remove the {file.record_word}"
            )


def check_landmarks(landmarks, source, lines, row_word="row"):
    """Refuse configurations that are no shape, or that one misread landmark has spoilt.

    Parameters
    ----------
    landmarks : ndarray of complex, shape (n, k)
    source : str
    lines : list of int
        Row of each record, for messages.
    row_word : str
        What messages call a row.
    """
    remedy = f"correct or remove the {row_word}"
    for line, record in zip(lines, landmarks, strict=True):
        if not np.all(np.isfinite(record)):
            raise DataError(
                f"{source}, {row_word} {line}: landmark {int(np.argmin(np.isfinite(record))) + 1} "
                f"is not a pair of finite numbers: {remedy}"
            )
    middle = np.median(landmarks.real, axis=-1) + 1j * np.median(landmarks.imag, axis=-1)
    away = np.abs(landmarks - middle[:, None])
    usual = np.median(away)
    for index, line in enumerate(lines):
        record = landmarks[index]
        if len(np.unique(record)) == 1:
            raise DataError(
                f"{source}, {row_word} {line}: all landmarks coincide, so there is no shape: "
                f"{remedy}"
            )
        if len(np.unique(record)) < len(record):
            first, second = _coincident(record)
            raise DataError(
                f"{source}, {row_word} {line}: landmarks {first} and {second} coincide: {remedy}"
            )
        coded = np.isin(record.real, MISSING_CODES) & (record.real == record.imag)
        if np.any(coded):
            place = record[coded][0]
            raise DataError(
                f"{source}, {row_word} {line}: landmark {int(np.argmax(coded)) + 1} at "
                f"({place.real:g}, {place.imag:g}) carries a code for a missing value: {remedy}"
            )
        worst = int(np.argmax(away[index]))
        if away[index, worst] > WILD_LANDMARK * usual:
            place = record[worst]
            raise DataError(
                f"{source}, {row_word} {line}: landmark {worst + 1} at ({place.real:g}, "
                f"{place.imag:g}) is over {WILD_LANDMARK:g} times farther out than is usual here: "
                f"{remedy}"
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


# --- Tables ---


def _numbered_rows(text, file, fields, columns):
    """Columns of the point, and rows as dictionaries with their line numbers.

    Checks the header and the lengths; without columns takes those of an outline.
    """
    source = file.name
    reader = csv.DictReader(text, strict=True)
    try:
        header = reader.fieldnames
        if not header:
            raise DataError(f"{source}: the table is empty: give a header and one record a row")
        if len(header) == 1 and ";" in header[0]:
            raise DataError(
                f"{source}, row 1: its columns are separated by semicolons: save it with commas"
            )
        if columns is None:
            columns = _outline_columns(header, source)
        for name in [*fields, *columns]:
            if name not in header:
                raise DataError(
                    f"{source}, row 1: there is no column {name} (there are: {_few(header)}): add "
                    "it, or correct the name in the study's data"
                )
            if header.count(name) > 1:
                raise DataError(
                    f"{source}, row 1: {header.count(name)} columns are called {name}: rename or "
                    "remove the others"
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
    return columns, rows


def _outline_columns(header, source):
    """The columns ``x1, y1, ..., xk, yk`` for the greatest number k in a header."""
    names = {name for name in header if re.fullmatch(r"[xy][1-9][0-9]*", name)}
    if not names:
        raise DataError(
            f"{source}, row 1: there are no columns x1, y1, x2, y2, ... (there are: "
            f"{_few(header)}): give those to the landmarks"
        )
    last = max(names, key=lambda name: (int(name[1:]), name[0] == "x"))
    columns = []
    # Not landmark_columns: a last name such as x20240131 would make millions.
    for index in itertools.count(1):
        for name in (f"x{index}", f"y{index}"):
            if name not in names:
                raise DataError(
                    f"{source}, row 1: there is no column {name} though there is a column {last}: "
                    "name the columns of the landmarks x1, y1, x2, y2, ... without a gap"
                )
            columns.append(name)
        if len(columns) == len(names):
            return columns


def _landmark_count(cells):
    """Landmarks of a row up to the last cell that holds anything."""
    filled = [index for index, text in enumerate(cells) if text.strip()]
    return filled[-1] // 2 + 1 if filled else 0


# --- MATLAB files ---


# Kinds of arrays of real numbers; a logical array is read as one of integers.
REAL = "iuf"


def _mat_variables(file, source):
    """Variables of a MATLAB file by name."""
    # Slow to import, and few jobs need it.
    from scipy.io import loadmat

    try:
        variables = loadmat(file)
    except NotImplementedError as problem:
        raise DataError(
            f"{source}: it is a .mat file of version 7.3 (HDF5): save it in MATLAB with the -v7 "
            "option"
        ) from problem
    # A file that is cut off or no .mat file at all can fail in every way.
    except Exception as problem:
        raise DataError(
            f"{source}: it is not a readable .mat file ({str(problem).rstrip('.')}): save it in "
            "MATLAB or Octave with the -v7 option"
        ) from problem
    return {name: value for name, value in variables.items() if not name.startswith("__")}


def _shown_shape(array):
    return " x ".join(str(length) for length in array.shape)


def _is_vector(array):
    return max(array.shape, default=0) == array.size


def _texts(variable, name, source):
    """One text a record, as in a table, from numbers, a char matrix or a cell array."""
    array = np.asarray(variable)
    items = list(array.ravel())
    if array.dtype.kind == "O":
        cells = [np.ravel(np.asarray(item)) for item in items]
        # An empty text is an empty array.
        items = [cell[0] if cell.size else "" for cell in cells]
        usable = all(cell.size <= 1 and cell.dtype.kind in REAL + "U" for cell in cells)
    else:
        usable = array.dtype.kind in REAL + "U"
    if not usable or not _is_vector(array):
        raise DataError(
            f"{source}: variable {name} ({_shown_shape(array)}) does not hold one value a record: "
            "give a numeric vector, a char matrix or a cell array of texts"
        )
    return [_text(item) for item in items]


def _text(value):
    if isinstance(value, str):
        return value.strip()
    number = float(value)
    if math.isnan(number):
        return ""
    # Reads back as the same number, and as 7 rather than 7.0.
    return str(int(number)) if number.is_integer() else repr(number)


def _mat_landmarks(variable, name, source, covariate, number):
    """The landmarks of each record: k x 2 numbers or k complex ones, the cells as they are."""
    array = np.asarray(variable)
    kind = array.dtype.kind
    if kind == "O" and _is_vector(array) and array.size == number:
        return list(array.ravel())
    # With three records or more, no array of real numbers can be both.
    if kind in REAL and array.ndim == 3 and array.shape[1:] == (2, number):
        return list(np.moveaxis(array, 2, 0))
    if kind in REAL and array.ndim == 3 and array.shape[::2] == (number, 2):
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
        # Parts set one by one: 1j times infinity would not be finite in the real part either, with
        # a warning.
        landmarks = np.empty(len(array), dtype=complex)
        landmarks.real, landmarks.imag = array.T
        return landmarks
    if array.dtype.kind == "c" and _is_vector(array):
        return array.ravel()
    raise DataError(
        f"{place}: the cell is {_shown_shape(array)}: give k x 2 numbers or k complex numbers"
    )
