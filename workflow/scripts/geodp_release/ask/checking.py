"""Findings of `geodp check`, for the holder of the data alone: faults, and whether to release.

They depend on every record, so that they must not be published, nor be the reason for changing
public inputs: mend the data, or choose public inputs anew without them.
"""

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from geodp.data.cells import real
from geodp.data.large import NoSpaceError, in_turn
from geodp.data.text_tables import TextTable
from geodp.errors import DataError
from geodp_release.ask.faults import faults as faults_of
from geodp_release.ask.holder_warnings import (
    off_least_squares,
    other_ledgers,
    people_in,
    spread_otherwise,
    suspicious_inputs,
)
from geodp_release.ask.inspection import Inspection, inspect_inputs
from geodp_release.ask.misreadings import misreadings, mistaken_shapes
from geodp_release.ask.release_records import have_responses, read_data
from geodp_release.run.subjects import subject_records


@dataclass(frozen=True)
class Check:
    """What a check found, not private.

    Records are at ``rows`` of their table; simulated ones have none, and records that cannot be
    read no inspection.  Sentences say how many records and subjects there are, where and why some
    cannot be read, which public inputs look read off the data and other warnings, and the reasons
    why the check says no, if it does.
    """

    inspection: Inspection | None
    rows: Sequence[int] | None
    counted: tuple[str, ...]
    faults: tuple[str, ...]
    warnings: tuple[str, ...]
    reasons: tuple[str, ...]

    @property
    def passed(self) -> bool:
        return not self.reasons

    def words(self, released: bool = False) -> list[str]:
        """What was found, a sentence a line, not private; and if the release was made since."""
        inspected = self.inspection
        return [
            *([] if inspected is None else inspected.words(released, self.rows).splitlines()),
            *self.counted,
            *self.faults,
            *(f"warning: {each}" for each in self.warnings),
            *(f"no: {each}" for each in self.reasons),
        ]


def check_data(settings, plan, data=None):
    """The `Check` of the data of a release, by default of `read_data`; not private."""
    found, rows, counted, faults, warnings, reasons = None, None, [], [], [], []
    try:
        covariates, points, subjects = data = data or read_data(settings)
        rows, faults, others, trouble = _of_table(settings, data)
        reasons += others
        warnings += trouble + other_ledgers(settings)
        *_, number = data.groups
        counted = [f"There are {len(points)} records of {number} subjects."]
        if plan.assumptions.changes == 2 and number != (public := plan.assumptions.subjects):
            reasons.append(
                f"the data have {number} subjects, and public.subjects says {public}: make "
                "them equal, the number from what is public, or release under addition or removal "
                "of a subject"
            )
        found = inspect_inputs(plan.assumptions, covariates, points)
        if found.looks_wrong:
            reasons.append("too much is amiss, as said above")
        is_empty = len(found.invalid) == found.number
        if is_empty:
            reasons.append("no record is valid, so that a release is noise alone")
        records = subject_records(plan.assumptions, covariates, points, subjects, data.groups)
    except Exception as problem:  # whatever the data raise is what their holder wants to know
        reasons.append(words_of(problem))
        is_empty = True
    # Of no record there is nothing to say besides.
    if not is_empty:
        try:
            warnings += suspicious_inputs(plan.assumptions, covariates, points)
            warnings += spread_otherwise(plan, records)
            counted.append(off_least_squares(plan, records))
        except Exception as problem:  # records at which a fit fails do not stop a release
            warnings.append(f"the records could not be looked at further: {words_of(problem)}")
    reasons = list(dict.fromkeys(reasons))
    return Check(found, rows, *map(tuple, (counted, faults, warnings, reasons)))


def _of_table(settings, data):
    """Rows of the records in a table, its faults, better readings of it, and why there are none."""
    if data.table is None:
        return None, [], [], []
    table, names = data.table, data.names[: len(data.names) - len(settings.data.covariates)]
    _, points, subjects = data
    rows = data.rows
    if data.kept is None:
        there = (data.numbers[some, : len(names)] for some in in_turn(data.numbers))
        number = sum(np.count_nonzero(~have_responses(settings.data, each)) for each in there)
        lacking = _lacking(settings.data, number, len(points))
    else:
        lacking = _lacking(settings.data, data.total - len(points), data.total)
    lines = faults_of(settings, data)
    parts = getattr(table, "parts", [table])
    texts = (each for each in parts if isinstance(each, TextTable))
    joined = [sentence for each in texts for sentence in each.joined_rows()]
    lacking += [sentence for each in parts for sentence in each.left_out()]

    def name_of(index):
        label = "" if settings.data.is_one_each else f" (label {real(subjects[index])!r})"
        return f"{table.source.record(rows[index])}{label}"

    lacking += people_in(settings, table)
    try:
        others = misreadings(settings, data.numbers, names)
        # A single one may be so, and the others as they should be.
        single = mistaken_shapes(settings.assumptions.manifold, points, name_of)
    except Exception as problem:  # records at which another reading fails
        untried = f"other readings could not be tried: {words_of(problem)}"
        return rows, lines, joined, [*lacking, untried]
    return rows, lines, joined + others, lacking + single


def _lacking(data, number, of):
    """A sentence on records without a response, in a list, if there are any."""
    if not number:
        return []
    rest = (
        "and are left out (missing_responses)"
        if data.drops_missing
        else "and count all the same: where it is known without these data that responses may be "
        "missing, data.missing_responses: drop leaves them out"
    )
    return [f"{number} of {of} records have no response, {rest}"]


def words_of(problem):
    """An exception as a sentence; of one not ours its place alone, as its words may quote data."""
    for each in (problem, problem.__context__):
        # A reader says of any error that its file cannot be read.
        if isinstance(each, NoSpaceError):
            return str(each)
    if isinstance(problem, DataError):
        return str(problem)
    last = traceback.extract_tb(problem.__traceback__ or sys.exc_info()[2])[-1]
    return f"{type(problem).__name__} in {Path(last.filename).name}, line {last.lineno}"
