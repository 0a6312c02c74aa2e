"""Faults of a table, named for its holder alone: by row, column and label, and what is wrong."""

import re

import numpy as np

from geodp.data.cells import LONGEST_NUMBER, simple_labels
from geodp.data.columns import has_landmarks
from geodp.data.coordinates import in_layout
from geodp.data.labels import Labels
from geodp.data.large import Rows, finite_ones, in_turn, indices_where
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
    table = data.table
    lines = [*_of_cells(settings, data), *_of_codes(data)]
    if not settings.data.is_one_each:
        lines += _of_labels(settings, data)
    if isinstance(table, JoinedTable):
        lines += _first(
            list(table.unmatched().items()),
            lambda pair: (
                f"{settings.data.join.path} has no row of '{_quoted(pair[0])}': "
                + (f"write '{_quoted(pair[1])}' there so" if pair[1] else "add it")
            ),
            "labels have no row there",
        )
        lines += _first(
            table.repeated(),
            lambda key: (
                f"{settings.data.join.path} has more rows of '{_quoted(key)}' than one: keep the "
                "right one, since the first counts"
            ),
            "labels have several rows there",
        )
    return [*lines, *_rows(table)] if isinstance(table, TextTable) else lines


def _first(found, line, rest):
    """Lines for the first few of what was found, and how many more there are."""
    more = len(found) - SHOWN
    return [line(each) for each in found[:SHOWN]] + ([f"{more} more {rest}"] if more > 0 else [])


def _of_cells(settings, data):
    """Lines on records that do not count, and on covariates that are clipped."""
    covariates, points, _ = data
    given, source, rows = settings.data, data.table.source, data.rows
    labels = [] if given.is_one_each else [given.subject]
    invalid = Rows((), np.int64)
    for start, *_, valid in mapped_blocks(settings.assumptions, covariates, points):
        invalid.add(start + np.flatnonzero(~valid))
    found: dict = {None: invalid.array()}
    assumptions = settings.assumptions
    for place in np.flatnonzero(~assumptions.goes_on):
        low, high = assumptions.ranges[place]
        found[place] = indices_where(
            lambda some, low=low, high=high: (some < low) | (some > high), covariates[:, place]
        )
    # Texts are read of what is shown alone: those of all records take long.
    shown = {int(index) for each in found.values() for index in each[:SHOWN]}
    texts = data.texts([*data.columns, *given.covariates, *labels], sorted(shown))

    def line(index, place):
        cells = texts[index]
        label = cells[-1].strip() if labels else ""
        whose = f" (label {_quoted(label)})" if label else ""
        if place is None:
            return f"{_reason(settings, data, index, cells)}{whose}"
        name, (low, high) = given.covariates[place], assumptions.ranges[place]
        text = _quoted(cells[len(data.names) - len(given.covariates) + place].strip())
        return (
            f"{source.cell(rows[index], name)}: {text} is outside covariate_range, {low:g} to "
            f"{high:g}, and is clipped to it{whose}"
        )

    lines = []
    for place, indices in found.items():
        what = "records do not count"
        if place is not None:
            what = f"values of {given.covariates[place]} are outside covariate_range"
        lines += _first(indices, lambda index, place=place: line(index, place), what)
    return lines


def _reason(settings, data, index, texts):
    """Why a record does not count, as a sentence."""
    given, manifold, source = settings.data, settings.assumptions.manifold, data.table.source
    names, row, point = data.names, data.rows[index], data[1][index]
    end = len(names) - len(given.covariates)
    try:
        both = zip(texts[: len(names)], names, strict=True)
        numbers = [_number(text, data.table, row, name, given) for text, name in both]
        coordinates = np.array(numbers[:end], dtype=float)
        point_of(given, manifold, source, row, names[:end], coordinates)
    except DataError as problem:
        return str(problem)
    if has_landmarks(manifold) and not np.all(np.isfinite(point)):
        fault = "all landmarks coincide, so there is no shape"
    else:
        layout = in_layout(coordinates[None], given.coordinates)[0]
        fault = manifold.layout_fault(layout) or manifold.invalid_reason(point)
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
    if value is not None:
        return value
    # What a message quotes is short and printable.
    shown = _quoted(text) if text.strip() else ""
    if shown.isalpha() and name in {*data.covariates} - {*data.categories, *data.dates}:
        raise DataError(
            f"{table.source.cell(row, name)}: '{shown}' is not a number: give the words of {name} "
            f"numbers by data.categories, such as {{{name}: {{{shown}: 0}}}}"
        )
    return number_of(shown, table.source, row, name, table.reading)


def _quoted(text, longest=60):
    """A text in which characters that do not print are escaped, up to some length."""
    shown = repr(text)[1:-1]
    return shown if len(shown) <= longest else f"{shown[:longest]}..."


def _of_codes(data, far=3.0):
    """Lines on numbers that programs write for missing values, far from quartiles of a column."""
    codes = [sign * float("9" * digits) for digits in range(1, 7) for sign in (1.0, -1.0)]
    found = []
    for place, name in enumerate(data.names):
        numbers = data.numbers[:, place]
        likely = indices_where(lambda some: np.isin(some, codes), numbers)
        # Those of words are no codes.
        if not len(likely) or data.table.reading.are_texts(name):
            continue
        quarters = np.percentile(finite_ones(numbers), [25.0, 75.0], overwrite_input=True)
        away = np.maximum(quarters[0] - numbers[likely], numbers[likely] - quarters[1])
        found += [(row, place) for row in likely[away > far * np.ptp(quarters)].tolist()]

    def line(cell):
        row, place = cell
        return (
            f"{data.table.source.cell(data.rows[row], data.names[place])}: "
            f"{data.numbers[cell]:g} is far from other values, and what programs write for a "
            "missing one: if it is, leave the cell empty"
        )

    return _first(found, line, "cells may have the code of a missing value")


def _of_labels(settings, data):
    """Lines on subjects with more records than count, and on labels that are missing or alike."""
    source, rows, subjects = data.table.source, data.rows, data[2]
    limit, name = settings.assumptions.records_per_subject, settings.data.subject
    owners, places, _ = data.groups
    repeated, unnamed = Rows((), owners.dtype), Rows((), np.int64)
    for some in in_turn(owners, places):
        repeated.add(owners[some][places[some] == limit])
        nobody = some.start + np.flatnonzero(owners[some] < 0)
        # Not all that name nobody are missing.
        unnamed.add(np.array([each for each in nobody if subjects[each] is None], dtype=int))

    def line(owner):
        found = indices_where(lambda some: some == owner, owners)
        shown = few([rows[index] for index in found[: SHOWN + 1]])
        return (
            f"{source.name}: {_quoted(str(subjects[found[0]]))} has {len(found)} records, "
            f"{source.record_word}s {shown}, and the first {limit} of them count "
            "(records_per_subject)"
        )

    def missing(index):
        return (
            f"{source.cell(rows[index], name)}: the label is missing, so that the record counts "
            "for nobody"
        )

    return [
        *_first(repeated.array(), line, "subjects have more records than count"),
        *_first(unnamed.array(), missing, "records have no label"),
        *_alike(source, name, subjects, places),
    ]


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
