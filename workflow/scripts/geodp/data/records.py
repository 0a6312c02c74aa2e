"""Records of a regression from a file, checked, with covariates scaled to [0, 1].

Every error names the file, the record (in a table its row; the header is row 1) and the column or
variable.
"""

import math
from collections import Counter
from dataclasses import dataclass

import numpy as np

from geodp.data.cells import finite_number
from geodp.data.checks import far_records, mended_landmarks
from geodp.data.columns import ambient, has_landmarks, number_of_coordinates, point_columns
from geodp.data.formats import open_table
from geodp.data.messages import few
from geodp.errors import DataError
from geodp.manifolds.kendall import NoReducedShapeError

TRANSFORMATIONS = {"none": lambda value: value, "log": math.log}

FEWEST_RECORDS = 3


@dataclass(frozen=True)
class Records:
    """Records of a file."""

    # (n,), transformed, then scaled to [0, 1]; (n, k) of a list, and zeros where none is named.
    covariates: np.ndarray
    covariate_range: tuple  # The transformed values that became 0 and 1; of a list one pair each.
    points: np.ndarray  # (n, *point_shape)
    subjects: list  # Texts; empty where the file names no subjects.
    # Row of each record in a table, whose header is row 1, or its number in a .mat file.
    rows: list
    row_word: str  # Word for an entry of ``rows``: "row" or "record".
    notes: list  # A sentence for each omission, repair or resampling.


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
    """`Records` of a regression from a file with one record a row, of a format of `open_table`.

    A `DataError` names the table, the row and the column.

    A covariate is a column with one number a record, or a list of these; its ``transformation``,
    "none" or "log", is applied before it is scaled.  ``covariate_range`` has the values, before
    that, that become 0 and 1, by default the least and the greatest of the data; none may lie
    outside.  Of several covariates both may be lists.

    ``columns`` are those of the point: landmarks ``x1, y1, ...`` for planar shapes, else numbers in
    one of the manifold's `layouts`, of which an array of more axes has several; ``None``, for
    planar shapes, is all landmarks of the header.  ``coordinates`` are as `data.coordinates` of
    settings, and ``subject`` is the column with the subject of a record.

    ``keep`` has by column the value or list of values of the records to keep; the others need not
    be readable.  Numbers are compared as numbers.  With ``outline`` landmarks run along a closed
    outline, and any number of them is accepted: see `mended_landmarks`.
    """
    is_shape = has_landmarks(manifold)
    keep = {
        name: values if isinstance(values, list | tuple) else [values]
        for name, values in (keep or {}).items()
    }
    if outline and not is_shape:
        raise DataError(
            f"{path}: a point of {manifold.name} has no landmarks and so no outline: set outline "
            "to false",
            argument="outline",
        )
    count = manifold.landmarks if is_shape else None
    # Of values with a word for each a filter may have either.
    worded = frozenset(name for name in keep if None in map(finite_number, keep[name]))
    length = number_of_coordinates(manifold, coordinates)
    given = {"words": worded, "length": length, "landmarks": count, "is_checked": True}
    table = open_table(path, reading, **given)
    source, reading, is_list = table.source, table.reading, isinstance(covariate, list)
    covariates = covariate if is_list else [covariate] if covariate else []
    others = [name for name in keep if name not in covariates]
    columns, names = point_columns(
        table, manifold, columns, covariates, subject, coordinates, others
    )
    fields = [*covariates, *([subject] if subject else []), *keep]
    rows, cells = [], []
    for row, texts in table.records([*columns, *fields]):
        rows.append(row)
        cells.append(texts)

    def texts_of(name):
        place = len(names) + fields.index(name)
        return [each[place].strip() for each in cells]

    kept, notes = _kept(source, keep, {name: texts_of(name) for name in keep}, len(rows))
    rows, cells = [rows[index] for index in kept], [cells[index] for index in kept]
    if len(rows) < FEWEST_RECORDS:
        raise DataError(
            f"{source.name}: a fit needs at least {FEWEST_RECORDS} records and there are "
            f"{len(rows)}{' after keep' if keep else ''}: add records"
        )
    number = len(covariates)
    words = transformation if isinstance(transformation, list) else [transformation] * number
    ranges = covariate_range if is_list else [covariate_range] * number
    scaled = [
        _scaled(source, reading, rows, name, texts_of(name), word, limits)
        for name, word, limits in zip(covariates, words, ranges or [None] * number, strict=True)
    ] or [(np.zeros(len(rows)), (0.0, 0.0))]
    values, limits = scaled[0]
    if is_list:
        values = np.stack([each for each, _ in scaled], axis=-1)
        limits = tuple(each for _, each in scaled)
    numbers = _coordinates(source, reading, rows, names, cells, outline)
    points, mended = _points(
        ambient(numbers, coordinates, source, rows, names), manifold, source, rows, outline
    )
    notes += mended + far_records(manifold, points, source, rows)
    subjects = texts_of(subject) if subject else []
    if "" in subjects:
        raise source.refusal(rows[subjects.index("")], "the value is missing", subject)
    if len(set(subjects)) < len(subjects):
        notes.append(
            f"{len(subjects)} records of {len(set(subjects))} subjects: a budget stated per record "
            "is not one per subject"
        )
    return Records(values, limits, points, subjects, rows, source.record_word, notes)


def _kept(source, keep, fields, number):
    """Indices of the records to keep, and notes on them.

    ``keep`` has lists of the values wanted of fields, and ``fields`` the texts that all records
    have.
    """

    def label(value):
        # A number if possible, so that 1, 1.0 and "01" are equal.
        found = finite_number(value)
        return str(value).strip() if found is None else found

    kept, wanted = list(range(number)), []
    for name, allowed in keep.items():
        words = " or ".join(map(str, allowed))
        wanted.append(f"{name} {words}")
        labels = {label(value) for value in allowed}
        left = [index for index in kept if label(fields[name][index]) in labels]
        if kept and not left:
            found = [fields[name][index] for index in kept]
            there = dict.fromkeys(found)
            # Values that no two records share, such as names of subjects, are not for messages.
            shown = "" if len(there) == len(found) else f" (there are: {few(there)})"
            among = "records" if len(kept) == number else "records the filters before it left"
            raise DataError(
                f"{source.name}: keep leaves nothing, since none of the {len(kept)} {among} has "
                f"{words} in {source.field_word} {name}{shown}: correct keep",
                argument="keep",
            )
        kept = left
    if len(kept) == number:
        return kept, []
    return kept, [f"{len(kept)} of {number} records were kept, those with {' and '.join(wanted)}"]


def number_of(text, source, record, field_name, reading):
    """Parse the finite number of a cell, by a `TableReading`."""
    value = reading.number(text, field_name)
    if value is None:
        raise source.refusal(record, reading.fault(text, field_name), field_name)
    return value


def _scaled(source, reading, rows, name, texts, word, limits):
    """A covariate scaled to [0, 1], and the transformed values that became 0 and 1."""
    transformation, is_log = TRANSFORMATIONS[word], word == "log"
    both = zip(texts, rows, strict=True)
    raw = np.array([number_of(text, source, row, name, reading) for text, row in both])
    low, high = limits or (float(min(raw)), float(max(raw)))
    if not np.ptp(raw):
        raise DataError(
            f"{source.name}: {source.field_word} {name} is {texts[0]} in every "
            f"{source.record_word}: a regression needs a covariate that varies"
        )
    fault = None
    if not low < high:
        fault = f"is {low:g} to {high:g}: give a lower and then a higher limit"
    elif limits and is_log and low <= 0.0:
        fault = (
            f"starts at {low:g}, which has no logarithm: give a positive limit or set "
            "transformation to none"
        )
    if fault:
        raise DataError(f"{source.name}: covariate_range {fault}", argument="covariate_range")
    outside = f"lies outside {low:g} to {high:g}: {source.remedy}, or change covariate_range"
    no_logarithm = "has no logarithm: give a positive value or set transformation to none"
    for is_wrong, fault, argument in (
        ((raw < low) | (raw > high), outside, "covariate_range"),
        (is_log & (raw <= 0.0), no_logarithm, "transformation"),
    ):
        if np.any(is_wrong):
            first = np.argmax(is_wrong)
            raise DataError(
                f"{source.cell(rows[first], name)}: {texts[first]} {fault}", argument=argument
            )
    low, high = transformation(low), transformation(high)
    values = np.array([transformation(value) for value in raw])
    if not limits:
        _refuse_wild_covariate(source, name, rows, values, texts)
    return (values - low) / (high - low), (low, high)


def _refuse_wild_covariate(source, name, rows, values, texts, times=1000.0):
    """Refuse a covariate so many times farther out than the others are apart.

    It is a misprint or a code, and leaves them no range after the transformation.
    """
    order = np.argsort(values)
    ascending = values[order]
    for end, others in ((0, ascending[1:]), (-1, ascending[:-1])):
        if 0.0 < times * np.ptp(others) < np.max(np.abs(others - ascending[end])):
            raise source.refusal(
                rows[order[end]],
                f"{texts[order[end]]} is over {times:g} times farther from the other values than "
                "they are apart",
                name,
            )


def _coordinates(source, reading, rows, names, cells, outline):
    """Numbers (n, k) of the columns of points, up to the last landmark where they are outlines."""
    width = len(names)
    if outline:
        filled = [[bool(text.strip()) for text in each[:width]] for each in cells]
        counts = [
            max((at // 2 + 1 for at, there in enumerate(each) if there), default=0)
            for each in filled
        ]
        usual = Counter(counts).most_common(1)[0][0]
        for count, row in zip(counts, rows, strict=True):
            if count != usual:
                raise DataError(
                    f"{source.record(row)}: it has {count} landmarks and {source.record_word} "
                    f"{rows[counts.index(usual)]} has {usual}: give all records the same number, "
                    f"or remove the {source.record_word}"
                )
        # Cells beyond the landmarks that every record has are empty.
        width = min(width, 2 * counts[0])
    return np.array(
        [
            [
                number_of(text, source, row, name, reading)
                for text, name in zip(each[:width], names[:width], strict=True)
            ]
            for row, each in zip(rows, cells, strict=True)
        ]
    )


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
        reasons = [manifold.invalid_reason(point) for point in points]
        source.refuse_first(
            [reason is not None for reason in reasons],
            rows,
            lambda index: f"not a point of {manifold.name}, since {reasons[index]}",
        )
        # Removes the rounding of decimal text.
        points = manifold.project(points)
    # Up to rounding.
    if np.max(manifold.dist(points[:1], points)) <= 1e-9:
        raise DataError(
            f"{source.name}: every {source.record_word} has the same point: a regression needs "
            "points that differ"
        )
    return points, mended
