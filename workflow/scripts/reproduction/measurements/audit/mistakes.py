"""Mistakes made on purpose in releases, which an audit has to find; and sums computed once.

Those of `PLANTS` lie between the file and the folder of a release: record and replay must see them.
"""

import io
import os
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from unittest.mock import patch

import numpy as np

from geodp.data import cells, landmark_files
from geodp.data.cells import TextTable
from geodp.manifolds import spd
from geodp_release import contributions, hypotheses, publish, release, subjects
from geodp_release.assumptions import Assumptions
from geodp_release.contributions import LATTICE, MATRIX_LATTICE
from geodp_release.ledger import Ledger
from geodp_release.moments import matrix_moments
from geodp_release.stages import MatrixStage, NoisyStep, matrix, points, step


def without_factor_two():
    """Noise for one changed contribution, where a replacement changes two."""
    return patch.object(Assumptions, "changes", 1)


def unclipped_sums(assumptions, records, state, clip, coordinates):
    """Sums of gradients, clipped to what as many clipped ones could be at most."""
    far = 1e6 * clip
    sums = contributions.gradient_sums(assumptions, records, state, far, coordinates)
    sums = np.array(sums, dtype=object) * 10**6
    length = sum(np.linalg.norm(row.astype(float)) for row in sums)
    most = len(records) * LATTICE
    if length > most:
        sums = np.array(
            [[int(entry * most / length) for entry in row] for row in sums.astype(float)]
        )
    return sums.tolist()


def clipping_after_the_sum():
    """Sums are clipped, and no contribution is."""
    return patch.object(step, "gradient_sums", unclipped_sums)


def tau_from_the_data():
    """Clipped at the largest residual: a record decides how wide the noise is."""
    noisy_means = NoisyStep.noisy_means

    def by_data(stage, assumptions, records, before, bits):
        steps = assumptions.manifold.expand(records.covariates[..., 0]) * before.state[1]
        ends = assumptions.manifold.exp(np.broadcast_to(before.state[0], steps.shape), steps)
        away = assumptions.manifold.dist(ends, records.points)
        largest = max(float(np.max(away[records.valid], initial=0.0)), 1e-3)
        tuned = replace(stage, clip=largest)
        return noisy_means(tuned, assumptions, records, before, bits)

    return patch.object(NoisyStep, "noisy_means", by_data)


def window_from_the_data():
    """Contributions are clipped about where the records are, not where noise says they are."""
    noisy_means = NoisyStep.noisy_means

    def by_data(stage, assumptions, records, before, bits):
        x = records.covariates.reshape((-1, records.covariates.shape[-1]))
        x = np.column_stack([np.ones(len(x)), x])
        moments = matrix_moments(x.T @ x / len(x))
        return noisy_means(stage, assumptions, records, replace(before, moments=moments), bits)

    return patch.object(NoisyStep, "noisy_means", by_data)


def residuals_outside_the_trace():
    """A matrix of moments has noise for its covariates, and residuals besides."""
    length = np.sqrt(1.0 + matrix.WEIGHT**2)
    return patch.object(contributions, "MATRIX_LATTICE", int(length * MATRIX_LATTICE))


def widths_from_the_data():
    """Covariates in a matrix of moments are in units of what they are, not of what is expected."""
    run = MatrixStage.run

    def by_data(stage, before, assumptions, records, bits, shared=None):
        x = records.covariates.reshape((-1, records.covariates.shape[-1]))
        widths = np.sqrt(np.append(1.0, 1e-6 + np.mean(x**2, axis=0)))
        with patch.object(MatrixStage, "widths", staticmethod(lambda assumptions: widths)):
            return run(stage, before, assumptions, records, bits, shared)

    return patch.object(MatrixStage, "run", by_data)


def few_at_once():
    """Small chunks: padding, which changes no sum, would be most of the work."""
    return patch.multiple(contributions, CHUNK=8, LEAST_CHUNK=8)


@contextmanager
def same_sums():
    """Compute sums of the same records, state and limit once: only noise differs between draws."""
    known: dict = {}

    def remembered(function):
        def found(assumptions, records, states, clip, *coordinates):
            public = (states, *(each.standard for each in coordinates))
            key = function, id(records), *(each.tobytes() for each in public), clip
            if key not in known:
                # Records are kept as well, so that no others get their id.
                known[key] = records, function(assumptions, records, states, clip, *coordinates)
            return known[key][1]

        return found

    with (
        few_at_once(),
        patch.object(step, "gradient_sums", remembered(step.gradient_sums)),
        patch.object(points, "loss_sums", remembered(points.loss_sums)),
    ):
        yield


def lines_for_rows():
    """Each physical line is a record, so that a quoted line break makes several."""

    def physical(table):
        with table._opened("") as text:
            text.read(table._start)
            for number, line in enumerate(io.StringIO(text.read(), newline=None), start=1):
                if line.strip():
                    cells = line.rstrip("\n").split(table.delimiter)[: len(table.names)]
                    yield number, number, [cell.strip('"') for cell in cells]

    return patch.object(TextTable, "lines", physical)


def labels_without_ends():
    """Blanks at the ends of labels are cut off, and all who have none are one subject."""
    return patch.object(subjects, "label_key", lambda label: str(label or "").strip())


def knowing(act):
    """Before a release is made a function is called with which of its records are valid."""
    made = publish.release_geodesic

    def releasing(plan, covariates, points, labels):
        act(subjects.mapped_records(plan.assumptions, covariates, points)[2])
        return made(plan, covariates, points, labels)

    return patch.object(publish, "release_geodesic", releasing)


def slow_records():
    """A record that cannot be used takes a hundredth of a second more."""
    mapped = subjects.mapped_records

    def slowly(*given):
        found = mapped(*given)
        until = time.process_time() + 0.01 * np.sum(~found[2])
        while time.process_time() < until:
            pass
        return found

    return patch.object(subjects, "mapped_records", slowly)


@contextmanager
def counted_records():
    """The number of records that cannot be used is printed."""
    written, invalid = publish._written, []

    def writing(*given):
        print(f"{invalid[-1]} records do not count", file=sys.stderr)
        return written(*given)

    with (
        knowing(lambda valid: invalid.append(np.sum(~valid))),
        patch.object(publish, "_written", writing),
    ):
        yield


@contextmanager
def another_class():
    """Assumptions that say themselves by how much neighbours differ; nobody checks their class."""
    with (
        patch.object(hypotheses, "check_stages", lambda plan: {}),
        patch.object(release, "check_hypotheses", lambda *_: hypotheses.HYPOTHESES),
        patch.object(Assumptions, "changes", 0.125),
    ):
        yield


def fingerprint_in_words():
    """The ledger's description of a release says of which data it was."""
    reserve = Ledger.reserve

    def describing(ledger, key, amount, description, *, unit, fingerprint=None):
        words = f"{description} {fingerprint}"
        return reserve(ledger, key, amount, words, unit=unit, fingerprint=fingerprint)

    return patch.object(Ledger, "reserve", describing)


def crash_at_extremes():
    """A number that is too large ends the release."""
    array = subjects.record_array

    def failing(values, shape, dtype):
        found = array(values, shape, dtype)
        if np.any(np.abs(found[np.isfinite(found)]) > 1e100):
            raise np.linalg.LinAlgError("eigenvalues did not converge")
        return found

    return patch.object(subjects, "record_array", failing)


def refused_garbage():
    """Data of which half cannot be used are refused, and that is told."""

    def refuse(valid):
        if 2 * np.sum(valid) < len(valid):
            raise ValueError("most records are none")

    return knowing(refuse)


def written_past_python():
    """The number of records that cannot be used goes to the descriptor of standard error."""
    return knowing(lambda valid: os.write(2, b"%d records do not count" % np.sum(~valid)))


def written_elsewhere():
    """A file outside the folder is written where a record cannot be used."""

    def note(valid):
        if not np.all(valid):
            with tempfile.NamedTemporaryFile("w") as file:
                file.write("bad records")

    return knowing(note)


@contextmanager
def patched(*parts):
    """A context with several attributes replaced: objects, names and values."""
    with ExitStack() as stack:
        for each in parts:
            stack.enter_context(patch.object(*each))
        yield


def any_break_ends_a_row():
    """Any line break that is not in quotes ends a row."""
    opened = TextTable._opened
    return patched(
        (TextTable, "_opened", lambda table, newline: opened(table, "")),
        (cells, "marked", lambda line, end: line),
    )


def any_break_ends_a_line_of_landmarks():
    """Any line break ends a line in a file of landmarks."""
    opened = landmark_files.LandmarkFile._opened
    return patch.object(
        landmark_files.LandmarkFile, "_opened", lambda table, newline: opened(table, None)
    )


def labels_that_shift():
    """Words of labels are taken one after the other, whatever lines they are on."""

    def split(table, lines, number):
        found = []
        for end, line in enumerate(lines):
            if len(found) >= number:
                return found, lines[end:]
            found += line.split()
        return found, []

    return patch.object(landmark_files.NtsFile, "_split", split)


def numbers_by_their_text():
    """Values of a column are read by their texts unless all are of a type of real numbers."""
    return patched(
        (cells, "_real", lambda value: value),
        (
            cells._ValueTable,
            "_number_of",
            lambda table, value: table._number(table._shown(value), ""),
        ),
    )


def labels_that_lost_digits():
    """Labels are taken as they are where a missing one made floating-point numbers of all."""
    return patch.object(cells, "are_lost", lambda labels: False)


def a_formula_by_number():
    """How small matrices are whitened depends on how many there are, and no block is padded."""
    forward, mapped = spd._forward, subjects._mapped

    def by_number(factor, matrix):
        is_odd = len(matrix) % 2
        return np.linalg.solve(factor, matrix) if is_odd else forward(factor, matrix)

    def unpadded(assumptions, given, arrays):
        own = np.flatnonzero(np.any(arrays != assumptions.centre, axis=(-2, -1)))
        number = own[-1] + 1 if len(own) else len(arrays)
        parts = mapped(assumptions, given[:number], arrays[:number])
        rest = mapped(assumptions, given[number:], arrays[number:]) if number < len(arrays) else ()
        return [np.concatenate(pair) for pair in zip(parts, rest, strict=True)] if rest else parts

    return patched(
        (spd, "_forward", by_number),
        (spd, "SINGULAR", 0.0),
        (subjects, "_mapped", unpadded),
    )


def one_text_a_column():
    """Numbers of an array that is joined to a table are counted as one a column."""

    def numbered(table, columns):
        return columns

    def read(table, columns, label=None):
        with patch.object(cells.JoinedTable, "numbered", numbered):
            return cells.Table.read(table, columns, label)

    return patch.object(cells.JoinedTable, "read", read)


PLANTS = {
    "a line for a row": lines_for_rows,
    "labels without their ends": labels_without_ends,
    "a slow record": slow_records,
    "bad records counted on standard error": counted_records,
    "assumptions of another class": another_class,
    "a fingerprint in the ledger's words": fingerprint_in_words,
    "a crash at an extreme number": crash_at_extremes,
    "garbage refused by its records": refused_garbage,
    "half the sensitivity": without_factor_two,
    "tau from the data": tau_from_the_data,
    "a window from the data": window_from_the_data,
    "residuals outside the trace": residuals_outside_the_trace,
    "widths from the data": widths_from_the_data,
    "bad records counted past Python": written_past_python,
    "a file elsewhere": written_elsewhere,
    "any break ends a row": any_break_ends_a_row,
    "any break ends a line of landmarks": any_break_ends_a_line_of_landmarks,
    "labels of .nts that shift": labels_that_shift,
    "numbers by their text": numbers_by_their_text,
    "labels that lost digits": labels_that_lost_digits,
    "a formula by the number of matrices": a_formula_by_number,
    "one text a column of an array": one_text_a_column,
}

# Formats in which a mistake shows, where these are few.
SHOWN_IN = {
    "a line for a row": ["csv"],
    "any break ends a row": ["csv"],
    "any break ends a line of landmarks": ["tps", "txt"],
    "labels of .nts that shift": ["nts"],
    "numbers by their text": [""],
    "labels that lost digits": [""],
    "a formula by the number of matrices": ["npz"],
    "one text a column of an array": ["joined"],
}

# And the space in which one does.
SHOWN_ON = {
    "a formula by the number of matrices": ("spd", 3),
    "numbers by their text": ("euclidean", 8),
}
