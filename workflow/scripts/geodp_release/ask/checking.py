"""Findings of `geodp check`, for the holder of the data alone: faults, and whether to release.

They depend on every record, so that they must not be published, nor be the reason for changing
public inputs: mend the data, or choose public inputs anew without them.
"""

import sys
import traceback
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from geodp.data.large import NoSpaceError, in_turn
from geodp.data.text_tables import TextTable
from geodp.errors import DataError
from geodp_release.ask import holder_warnings as warn
from geodp_release.ask.faults import faults as faults_of
from geodp_release.ask.inspection import Inspection, inspect_inputs
from geodp_release.ask.misreadings import misreadings
from geodp_release.ask.release_records import have_responses, read_data
from geodp_release.run.subjects import subject_records


@dataclass
class Check:
    """What a check found, not private: sentences, and reasons why it says no, if it does.

    Records are at ``rows`` of their table; simulated ones have none, and records that cannot be
    read no inspection.
    """

    inspection: Inspection | None = None
    rows: Sequence[int] | None = None
    counted: list[str] = field(default_factory=list)
    faults: list[str] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)
    reasons: list[str] = field(default_factory=list)

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
            *(f"no: {each}" for each in dict.fromkeys(self.reasons)),
        ]


def check_data(settings, plan, data=None):
    """The `Check` of the data of a release, by default of `read_data`; not private."""
    found, assumptions = Check(), plan.assumptions
    try:
        covariates, points, subjects = data = data or read_data(settings)
        if data.table is not None:
            _look_at_table(settings, data, found)
        found.warnings += warn.other_ledgers(settings)
        *_, number = data.groups
        found.counted.append(f"There are {len(points)} records of {number} subjects.")
        # Subjects whose records were left out, as they have no response, count as empty.
        lacking = assumptions.subjects - number
        is_fewer = data.kept is not None and 0 < lacking <= data.total - len(data.kept)
        if assumptions.changes == 2 and number != assumptions.subjects and not is_fewer:
            found.reasons.append(
                f"the data have {number} subjects, and public.subjects says "
                f"{assumptions.subjects}: make them equal, the number from what is public, or "
                "release under addition or removal of a subject"
            )
        found.inspection = inspect_inputs(assumptions, covariates, points)
        if found.inspection.looks_wrong:
            found.reasons.append("too much is amiss, as said above")
        if len(found.inspection.invalid) == len(points):
            found.reasons.append("no record is valid, so that a release is noise alone")
            return found
        records = subject_records(assumptions, covariates, points, subjects, data.groups)
    except Exception as problem:  # whatever the data raise is what their holder wants to know
        found.reasons.append(words_of(problem))
        return found
    try:
        found.warnings += warn.suspicious_inputs(assumptions, covariates, points)
        found.counted.append(warn.off_least_squares(plan, records))
    except Exception as problem:  # records at which a fit fails do not stop a release
        found.warnings.append(f"the records could not be looked at further: {words_of(problem)}")
    return found


def _look_at_table(settings, data, found):
    """Add what is wrong with a table, and readings of it that fit better."""
    table, names = data.table, data.names[: len(data.names) - len(settings.data.covariates)]
    found.rows, found.faults = data.rows, faults_of(settings, data)
    parts = getattr(table, "parts", [table])
    for each in parts:
        found.reasons += each.joined_rows() if isinstance(each, TextTable) else []
    found.warnings += _lacking(settings.data, data, len(names))
    found.warnings += [sentence for each in parts for sentence in each.left_out()]
    found.warnings += warn.people_in(settings, table)
    try:
        found.reasons += misreadings(settings, data.numbers, names)
    except Exception as problem:  # records at which another reading fails
        found.warnings.append(f"other readings could not be tried: {words_of(problem)}")


def _lacking(section, data, width):
    """A sentence on records without a response, in a list, if there are any."""
    if data.kept is None:
        total, there = len(data.numbers), 0
        for some in in_turn(data.numbers):
            there += int(np.sum(have_responses(section, data.numbers[some, :width])))
        rest = (
            "and count all the same: where it is known without these data that responses may be "
            "missing, data.missing_responses: drop leaves them out"
        )
    else:
        total, there = data.total, len(data.kept)
        rest = "and are left out (missing_responses)"
    missing = total - there
    return [f"{missing} of {total} records have no response, {rest}"] if missing else []


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
