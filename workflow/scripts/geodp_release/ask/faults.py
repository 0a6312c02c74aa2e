"""Faults of a table, named for its holder alone: by row, column and label, and what is wrong.

Nothing here is part of a release: all of it depends on the records.
"""

import itertools
import re
from collections import defaultdict

import numpy as np

from geodp.data.cells import LONGEST_NUMBER, finite_number, simple_label
from geodp.data.columns import has_landmarks
from geodp.data.coordinates import in_layout
from geodp.data.messages import SHOWN, few
from geodp.data.records import number_of
from geodp.data.table import JoinedTable
from geodp.data.text_tables import TextTable
from geodp.errors import DataError
from geodp_release.ask.reading import have_responses, point_of, table_of
from geodp_release.run.subjects import label_key, mapped_records

# Numbers that programs write for a missing value, and how many times the distance of the quartiles
# from these they are taken for one.
MISSING = [sign * float("9" * digits) for digits in range(1, 7) for sign in (1.0, -1.0)]
CODES_AWAY = 3.0

# Longest part of a cell that a message quotes.
QUOTED = 60


def faults(settings, covariates, points, subjects):
    """What is wrong with the records of `read_data`, a list of lines for the holder's eyes alone.

    Records that do not count with the reason, labels that are missing or differ in little, and
    rows of a text that a person would not read as the computer does.
    """
    data = settings.data
    if data.source != "table":
        return []
    table, columns = table_of(settings)
    labels = [] if data.is_one_each else [data.subject]
    # Coordinates first: what is wrong with one may be with a covariate that follows from it.
    records = list(table.records([*labels, *columns, *data.covariates]))
    if data.drops_missing:
        records = list(itertools.compress(records, have_responses(data, table.read(columns)[0])))
    # Another program may be writing the file.
    records = records[: len(points)]
    *_, valid, _ = mapped_records(settings.assumptions, covariates, points)
    names = [*table.numbered(columns), *data.covariates]

    def reason(index):
        row, texts = records[index]
        return _reason(settings, table, row, names, texts[len(labels) :], points[index])

    def whose(index):
        label = records[index][1][0].strip() if labels else ""
        return f" (label {_quoted(label)})" if label else ""

    bad = [index for index in range(len(records)) if not valid[index]]
    lines = _first(bad, lambda index: f"{reason(index)}{whose(index)}", "records do not count")
    source, end = table.source, len(labels) + len(names) - len(data.covariates)
    for place, (name, (low, high)) in enumerate(
        zip(data.covariates, settings.assumptions.ranges, strict=True)
    ):
        values = covariates[: len(records), place]
        lines += _first(
            np.flatnonzero((values < low) | (values > high)),
            lambda index, name=name, at=end + place, limits=f"{low:g} to {high:g}": (
                f"{source.cell(records[index][0], name)}: {_quoted(records[index][1][at].strip())} "
                f"is outside covariate_range, {limits}, and is clipped to it{whose(index)}"
            ),
            f"values of {name} are outside its range",
        )
    lines += _codes(source, records, names, len(labels))
    if labels:
        limit = settings.assumptions.records_per_subject
        repeated, line = _repeated(source, records, subjects, limit)
        lines += _first(repeated, line, "subjects have more records than count")
        without = [index for index in range(len(records)) if subjects[index] is None]
        lines += _first(
            without,
            lambda index: (
                f"{table.source.cell(records[index][0], data.subject)}: the label is missing, so "
                "that the record counts for nobody"
            ),
            "records have no label",
        )
        lines += _alike(table.source, data.subject, subjects)
    if isinstance(table, JoinedTable):
        lines += _first(
            list(table.unmatched().items()),
            lambda pair: (
                f"{data.join.path} has no row of '{_quoted(pair[0])}': "
                + (f"write '{_quoted(pair[1])}' there so" if pair[1] else "add it")
            ),
            "labels have no row there",
        )
    return [*lines, *_rows(table)] if isinstance(table, TextTable) else lines


def _codes(source, records, names, start):
    """Lines on numbers that programs write for a missing value, far from all others there."""
    found = []
    for place, name in enumerate(names, start):
        numbers = np.array([finite_number(texts[place]) for _, texts in records], dtype=float)
        there = numbers[np.isfinite(numbers)]
        if not len(there):
            continue
        quarters = np.percentile(there, [25.0, 75.0])
        away = np.maximum(quarters[0] - numbers, numbers - quarters[1])
        is_code = np.isin(numbers, MISSING) & (away > CODES_AWAY * np.ptp(quarters))
        found += [(index, name, numbers[index]) for index in np.flatnonzero(is_code)]
    return _first(
        found,
        lambda each: (
            f"{source.cell(records[each[0]][0], each[1])}: {each[2]:g} is far from other values, "
            "and what programs write for a missing one: if it is, leave the cell empty"
        ),
        "cells may have the code of a missing value",
    )


def _repeated(source, records, subjects, limit):
    """Labels with more records than count, and a function that makes a line of one."""
    groups = defaultdict(list)
    for (row, _), label in zip(records, subjects, strict=False):
        if (key := label_key(label)) is not None:
            groups[key].append(row)
    word = source.record_word
    return (
        [(key[-1], rows) for key, rows in groups.items() if len(rows) > limit],
        lambda each: (
            f"{source.name}: {_quoted(str(each[0]))} has {len(each[1])} records, {word}s "
            f"{few(each[1])}, and the first {limit} of them count (records_per_subject)"
        ),
    )


def _first(found, line, rest):
    """Lines for the first few of what was found, and how many more there are."""
    more = len(found) - SHOWN
    return [line(each) for each in found[:SHOWN]] + ([f"{more} more {rest}"] if more > 0 else [])


def _reason(settings, table, row, names, texts, point):
    """Why a record does not count, as a sentence."""
    data, manifold, source = settings.data, settings.assumptions.manifold, table.source
    try:
        numbers = [
            _number(text, table, row, name, data) for text, name in zip(texts, names, strict=True)
        ]
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


def _quoted(text):
    """A text in which characters that do not print are escaped, up to some length."""
    shown = repr(text)[1:-1]
    return shown if len(shown) <= QUOTED else f"{shown[:QUOTED]}..."


def _alike(source, name, subjects):
    """A line on labels that differ in signs that people leave out or change alone."""
    groups: defaultdict[str, dict] = defaultdict(dict)
    for label in subjects:
        if isinstance(label, str):
            groups[simple_label(label)][label] = None
    pairs = [list(group)[:2] for group in groups.values() if len(group) > 1]
    if not pairs:
        return []
    first, second = (_quoted(label) for label in pairs[0])
    more = f" ({len(pairs) - 1} more such labels)" if len(pairs) > 1 else ""
    return [
        f"{source.name}, column {name}: '{first}' and '{second}' differ in blanks, case, hyphens "
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
            if number > 1 and any(
                line.count(table.delimiter) == number - 1 for line in inner[1:-1]
            ):
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
