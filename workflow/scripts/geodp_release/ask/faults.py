"""Faults of a table, named for its holder alone: by row, column and label, and what is wrong.

Nothing here is part of a release: all of it depends on the records.
"""

import re
from functools import cache

import numpy as np

from geodp.data.cells import LONGEST_NUMBER, finite_number, simple_labels
from geodp.data.columns import has_landmarks
from geodp.data.coordinates import in_layout
from geodp.data.labels import Labels
from geodp.data.large import AT_ONCE, Rows, finite_ones, in_turn, indices_where
from geodp.data.messages import SHOWN, few
from geodp.data.records import number_of
from geodp.data.table import JoinedTable
from geodp.data.text_tables import TextTable
from geodp.errors import DataError
from geodp_release.ask.release_records import point_of
from geodp_release.run.grouping import grouped
from geodp_release.run.subjects import mapped_blocks


def faults(settings, data):
    """What is wrong with the `Data` of a release, a list of lines for the holder's eyes alone.

    Records that do not count with the reason, labels that are missing or differ in little, and
    rows of a text that a person would not read as the computer does.
    """
    if data.table is None:
        return []
    (covariates, points, subjects), table, rows = data, data.table, data.rows
    given, source, names = settings.data, data.table.source, data.names
    invalid = Rows((), np.int64)
    for start, *_, valid in mapped_blocks(settings.assumptions, covariates, points):
        invalid.add(start + np.flatnonzero(~valid))
    labels = [] if given.is_one_each else [given.subject]
    # Texts are read of what is shown alone: those of all records take long.
    texts: dict = {}

    def text(index, place):
        return texts[index][place].strip()

    def whose(index):
        label = text(index, -1) if labels else ""
        return f" (label {_quoted(label)})" if label else ""

    def reason(index):
        some = texts[index][: len(names)]
        return f"{_reason(settings, table, rows[index], names, some, points[index])}{whose(index)}"

    found: list = [(invalid.array(), reason, "records do not count")]
    end = len(names) - len(given.covariates)
    for place, (name, (low, high)) in enumerate(
        zip(given.covariates, settings.assumptions.ranges, strict=True)
    ):
        if settings.assumptions.goes_on[place]:
            continue

        def is_outside(values, low=low, high=high):
            return (values < low) | (values > high)

        found.append(
            (
                indices_where(is_outside, covariates[:, place]),
                lambda index, name=name, at=end + place, limits=f"{low:g} to {high:g}": (
                    f"{source.cell(rows[index], name)}: {_quoted(text(index, at))} is outside "
                    f"covariate_range, {limits}, and is clipped to it{whose(index)}"
                ),
                f"values of {name} are outside covariate_range",
            )
        )
    codes = _codes(data)
    found.append(
        (
            codes,
            lambda pair: (
                f"{source.cell(rows[pair[0]], names[pair[1]])}: {data.numbers[pair]:g} is far "
                "from other values, and what programs write for a missing one: if it is, leave "
                "the cell empty"
            ),
            "cells may have the code of a missing value",
        )
    )
    shown = [int(index) for indices, *_ in found[:-1] for index in indices[:SHOWN]]
    texts = data.texts([*data.columns, *given.covariates, *labels], sorted({*shown}))
    lines = [line for each in found for line in _first(*each)]
    if labels:
        limit = settings.assumptions.records_per_subject
        owners, places, _ = data.groups
        repeated, line = _repeated(source, rows, subjects, owners, places, limit)
        lines += _first(repeated, line, "subjects have more records than count")
        lines += _first(
            _unnamed(owners, subjects),
            lambda index: (
                f"{source.cell(rows[index], given.subject)}: the label is missing, so that the "
                "record counts for nobody"
            ),
            "records have no label",
        )
        lines += _alike(source, given.subject, subjects, places)
    if isinstance(table, JoinedTable):
        lines += _first(
            list(table.unmatched().items()),
            lambda pair: (
                f"{given.join.path} has no row of '{_quoted(pair[0])}': "
                + (f"write '{_quoted(pair[1])}' there so" if pair[1] else "add it")
            ),
            "labels have no row there",
        )
    return [*lines, *_rows(table)] if isinstance(table, TextTable) else lines


def _codes(data, far=3.0):
    """Places of numbers that programs write for missing values, far from quartiles of a column."""
    nines = [sign * float("9" * digits) for digits in range(1, 7) for sign in (1.0, -1.0)]
    codes = [np.argwhere(np.isin(data.numbers[some], nines)) for some in in_turn(data.numbers)]
    for start, each in enumerate(codes):
        each[:, 0] += start * AT_ONCE
    rows, columns = np.concatenate(codes).T
    found = []
    for place, name in enumerate(data.names):
        numbers, likely = data.numbers[:, place], rows[columns == place]
        if data.table.reading.are_texts(name):
            # Words of numbers have numbers of their own.
            read = cache(finite_number)
            texts = (each for _, [each] in data.table.records([name]))
            numbers = np.array([read(each) for each in texts], dtype=float)
            numbers = numbers if data.kept is None else numbers[data.kept]
            likely = np.flatnonzero(np.isin(numbers, nines))
        if len(likely):
            quarters = np.percentile(finite_ones(numbers), [25.0, 75.0], overwrite_input=True)
            away = np.maximum(quarters[0] - numbers[likely], numbers[likely] - quarters[1])
            found += [(each, place) for each in likely[away > far * np.ptp(quarters)].tolist()]
    return found


def _repeated(source, rows, subjects, owners, places, limit):
    """Subjects with more records than count, and a function that makes a line of one."""

    def line(owner):
        found = indices_where(lambda some: some == owner, owners)
        shown = few([rows[index] for index in found[: SHOWN + 1]])
        return (
            f"{source.name}: {_quoted(str(subjects[found[0]]))} has {len(found)} records, "
            f"{source.record_word}s {shown}, and the first {limit} of them count "
            "(records_per_subject)"
        )

    repeated = Rows((), owners.dtype)
    for some in in_turn(owners, places):
        repeated.add(owners[some][places[some] == limit])
    return repeated.array(), line


def _unnamed(owners, subjects):
    """Indices of records without a label, which not all are that name nobody."""
    there, found = indices_where(lambda some: some < 0, owners), Rows((), np.int64)
    for some in in_turn(there):
        found.add(np.array([each for each in there[some] if subjects[each] is None], dtype=int))
    return found.array()


def _first(found, line, rest):
    """Lines for the first few of what was found, and how many more there are."""
    more = len(found) - SHOWN
    return [line(each) for each in found[:SHOWN]] + ([f"{more} more {rest}"] if more > 0 else [])


def _reason(settings, table, row, names, texts, point):
    """Why a record does not count, as a sentence."""
    data, manifold, source = settings.data, settings.assumptions.manifold, table.source
    try:
        both = zip(texts, names, strict=True)
        numbers = [_number(text, table, row, name, data) for text, name in both]
        end = len(names) - len(data.covariates)
        point_of(data, manifold, source, row, names[:end], np.array(numbers[:end]))
    except DataError as problem:
        return str(problem)
    if has_landmarks(manifold) and not np.all(np.isfinite(point)):
        fault = "all landmarks coincide, so there is no shape"
    else:
        given = in_layout(np.array([numbers[:end]], dtype=float), data.coordinates)[0]
        fault = manifold.layout_fault(given) or manifold.invalid_reason(point)
        fault = fault and f"not a point of {manifold.name}, since {fault}"
    is_told = fault or np.all(manifold.are_told(settings.assumptions.centre, point[None]))
    away = "too far from public.centre" if is_told else "nearly singular as seen from public.centre"
    return str(source.refusal(row, fault or f"it is {away} to be computed with"))


def _number(text, table, row, name, data):
    """The number of a cell; NaN for an empty one of an outline, whose records may differ."""
    if data.outline and name not in data.covariates and not text.strip():
        return np.nan
    if len(text) > LONGEST_NUMBER:
        raise table.source.refusal(row, f"its {len(text)} characters are no number", name)
    value = table.reading.number(text, name)
    # What a message quotes is short and printable.
    shown = _quoted(text) if text.strip() else ""
    numbers = {*data.covariates} - {*data.categories, *data.dates}
    if value is None and shown.isalpha() and name in numbers:
        raise DataError(
            f"{table.source.cell(row, name)}: '{shown}' is not a number: give the words of {name} "
            f"numbers by data.categories, such as {{{name}: {{{shown}: 0}}}}"
        )
    return number_of(shown, table.source, row, name, table.reading) if value is None else value


def _quoted(text, longest=60):
    """A text in which characters that do not print are escaped, up to some length."""
    shown = repr(text)[1:-1]
    return shown if len(shown) <= longest else f"{shown[:longest]}..."


def _alike(source, name, subjects, places):
    """A line on labels that differ in signs that people leave out or change alone."""
    first, simple = indices_where(lambda some: some == 0, places), Labels()
    for some in in_turn(first, getattr(subjects, "cells", None)):
        texts = [subjects[index] for index in first[some]]
        # One that is nothing but such signs is the same as others of these.
        words = iter(simple_labels([f".{each}" for each in texts if isinstance(each, str)]))
        simple.add([next(words) if isinstance(each, str) else None for each in texts])
    groups, places, _ = grouped(simple, len(simple))
    several = groups[indices_where(lambda some: some == 1, places)]
    if not len(several):
        return []
    least = np.min(several)
    pair = indices_where(lambda some: some == least, groups)[:2]
    one, other = (_quoted(subjects[each]) for each in first[pair])
    more = f" ({len(several) - 1} more such labels)" if len(several) > 1 else ""
    return [
        f"{source.name}, column {name}: '{one}' and '{other}' differ in blanks, case, hyphens "
        f"or leading zeros alone and are two subjects{more}: write each subject's label in one way"
    ]


def _rows(table):
    """Lines on rows that span several lines of a text, or have not the cells of the header."""
    spans, swallowed, uneven = [], [], []
    number = len(table.names)
    for first, last, cells in table.odd_rows():
        start = first
        for place, cell in enumerate(cells):
            inner = re.split(r"\r\n|\n|\r", cell)
            column = table.names[place] if place < number else str(place + 1)
            end = start + len(inner) - 1
            if number > 1 and any(row.count(table.delimiter) == number - 1 for row in inner[1:-1]):
                swallowed.append(
                    f"{table.path}: the quote in line {start}, column {column}, is not closed "
                    f"before line {end}, and lines between look like records: close or remove it"
                )
            elif end > start:
                spans.append(
                    f"{table.path}, row {last} spans lines {first} to {last}: a line break in a "
                    f"cell of column {column}, read as one record"
                )
            start = end
        if len(cells) < number or "".join(cells[number:]).strip():
            uneven.append(
                f"{table.path}, row {last}: it has another number of columns than the header's "
                f"{number}: complete or remove the row"
            )
    return [
        *_first(swallowed, str, "quotes hold lines that look like records"),
        *_first(uneven, str, "rows have another number of columns than the header"),
        *_first(spans, str, "cells have line breaks"),
    ]
