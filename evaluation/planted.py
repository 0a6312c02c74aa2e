"""Faults planted in releases, each of which record and replay, or a scenario, has to see."""

import inspect
import io
import sys
import tempfile
import textwrap
from contextlib import chdir, nullcontext
from dataclasses import replace
from itertools import product
from typing import NamedTuple
from unittest.mock import patch

import numpy as np
import pandas as pd

from geodp.data import cells, sheets, table, text_tables
from geodp.data.landmark_files import LandmarkFile, NtsFile
from geodp.manifolds import spd, symmetric_matrices
from geodp.samplers.integer_choice import no_noise
from geodp_release.ask import planning, publish
from geodp_release.ask.holder_warnings import off_least_squares
from geodp_release.ask.inspection import inspect_inputs
from geodp_release.plan import stage_search as beginnings
from geodp_release.promise import ledger
from geodp_release.promise.assumptions import Assumptions
from geodp_release.run import contributions, grouping, subjects
from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.covariate_moments import matrix_moments
from geodp_release.show import hypotheses, release
from geodp_release.stages import (
    MatrixStage,
    NoisyStep,
    TailStage,
    counts,
    matrix,
    step,
)
from replay import SPACES, search
from replay_runs import BY_COMMAND, replaced
from replay_tables import FRAME
from scenarios import SCENARIOS, Trial


class Edit(NamedTuple):
    """A change of a function: a text of its source becomes another."""

    old: str
    new: str

    def of(self, owner, attribute):
        """What replaces the function; see `replaced`."""
        was, found = getattr(owner, attribute), {}
        source = textwrap.dedent(inspect.getsource(was))
        if self.old not in source:
            raise ValueError(f"{attribute} has no {self.old!r} any more: plant the fault elsewhere")
        exec(source.replace(self.old, self.new), inspect.unwrap(was).__globals__, found)
        return lambda _, *given, **more: found[attribute](*given, **more)


# --- Functions that take the place of those of a release, which come first in their arguments ---


def clipped_after_the_sum(was, assumptions, records, state, clip, *more):
    """To what as many clipped gradients could be at most."""
    sums = np.array(was(assumptions, records, state, 1e6 * clip, *more), dtype=object)
    sums *= 10**6
    length = sum(np.linalg.norm(row.astype(float)) for row in sums)
    if length > (most := len(records) * contributions.LATTICE):
        return [[int(entry * most / length) for entry in row] for row in sums.astype(float)]
    return sums.tolist()


def clipped_at_the_largest_residual(was, stage, assumptions, records, before, bits):
    steps = assumptions.manifold.expand(records.covariates[..., 0]) * before.state[1]
    ends = assumptions.manifold.exp(np.broadcast_to(before.state[0], steps.shape), steps)
    away = assumptions.manifold.dist(ends, records.points)
    largest = max(float(np.max(away[records.valid], initial=0.0)), 1e-3)
    return was(replace(stage, clip=largest), assumptions, records, before, bits)


def clipped_about_the_records(was, stage, assumptions, records, before, bits):
    """And not about where noise says that they are."""
    if records.covariates.shape[-1]:
        x = records.covariates[records.valid]
        x = np.column_stack([np.ones(len(x)), x])
        before = replace(before, moments=matrix_moments(x.T @ x / max(len(x), 1)))
    return was(stage, assumptions, records, before, bits)


def in_units_of_the_records(was, stage, before, assumptions, records, bits, shared=None):
    """Covariates in a matrix of moments, and not in those of what is expected of them."""
    x = records.covariates.reshape((-1, records.covariates.shape[-1]))
    widths = np.sqrt(np.append(1.0, 1e-6 + np.mean(x**2, axis=0)))
    with patch.object(MatrixStage, "widths", staticmethod(lambda assumptions: widths)):
        return was(stage, before, assumptions, records, bits, shared)


def terms_centred_at_the_records(was, assumptions, columns):
    """As formulas of other tools centre them."""
    found = was(assumptions, columns)
    if assumptions.terms.is_plain:
        return found
    return np.clip(found - np.mean(found, axis=0), -0.5, 0.5)


def by_the_longest_part(was, *given):
    """And not by the norm of all together."""

    def norm(_, parts):
        return np.max(np.linalg.norm(parts, axis=-1), axis=-1)

    with patch.object(ClippingCoordinates, "norm", norm):
        return was(*given)


def lines_for_rows(was, opened, names):
    """So that a quoted line break makes several records."""
    blank = [""] * len(opened.names)
    with opened._opened("") as text:
        text.read(opened._start)
        lines = filter(str.strip, io.StringIO(text.read(), newline=None))
        rows = [line.rstrip("\n").split(opened.delimiter) for line in lines]
    rows = [[cell.strip('"') for cell in (row + blank)[: len(blank)]] for row in rows]
    places = [opened.names.index(name) for name in names]
    yield list(range(1, 1 + len(rows))), [[row[at] for row in rows] for at in places]


def without_their_ends(was, labels):
    """So that a blank label, too, is one."""

    def stripped(label):
        return f"-{label or ''}".strip() if not label or isinstance(label, str) else label

    return was(list(map(stripped, labels)))


def one_text_a_column(was, joined, columns, label=None):
    with patch.object(table.JoinedTable, "numbered", lambda joined, columns: columns):
        return table.Table.read(joined, columns, label)


def told_with_the_release(tell):
    """Words about a plan and data, once words are not held back."""

    def writing(was, release, settings, *given):
        tell(release.plan, publish.read_data(settings))
        return was(release, settings, *given)

    return writing


def count_on_standard_error(plan, data):
    invalid = inspect_inputs(plan.assumptions, *data[:2]).invalid
    print(f"{len(invalid)} records do not count", file=sys.stderr)


def tell_the_way_to_least_squares(plan, data):
    """As the holder sees it, who alone may."""
    print(off_least_squares(plan, subjects.subject_records(plan.assumptions, *data)))


def every_hypothesis(was, *_):
    return hypotheses.HYPOTHESES


def by_its_text(was, reading, cell, name=""):
    return was(reading, reading.shown(cell), name)


def nothing(was, *_):
    return None


# --- Faults, with what each replaces and by what ---

MATRICES, ARRAYS = "a formula by the number of matrices", "one text a column of an array"
BREAKS, LINES = "any break ends a row", "any break ends a line of landmarks"
TERMS = "terms centred at the records"
TEXTS, SLOW = "numbers by their text", "a slow record"
TOWARDS_ZERO = "np.trunc(each * (PRODUCT_LATTICE / LATTICE))"
AWAY = TOWARDS_ZERO.replace("trunc(", "sign(each) * np.ceil(abs(") + ")"
ONE_BIN = " & ~np.append(longer[:, 1:], np.zeros((len(longer), 1), bool), axis=1)"
COUNTED, USABLE = "valid[:, place] & (place < counts)", "places = np.empty("
CRASH = "assert not np.any(np.abs(points[np.isfinite(points)]) > 1e100); "
NOISY = "self.noise(assumptions).add([counts], bits)[0]"
PARTS = matrix, "product_sums"
TAILS, MAPPED = (counts, "tail_counts"), (subjects, "mapped_blocks")
# A matrix of moments has noise for its covariates, and residuals besides.
OUTSIDE = int(np.sqrt(1.0 + matrix.WEIGHT**2) * contributions.MATRIX_LATTICE)


def where_mapped(act):
    """Of the function that knows which records can be used, at its end."""
    return subjects, "mapped_blocks", Edit("yield start,", f"{act}; yield start,")


FAULTS: dict = {}
for name, *part in (
    # What a release computes.
    ("half the sensitivity", Assumptions, "changes", 1),
    ("assumptions of another class", hypotheses, "check_stages", lambda was, plan: {}),
    ("assumptions of another class", release, "check_hypotheses", every_hypothesis),
    ("assumptions of another class", Assumptions, "changes", 0.125),
    ("residuals outside the trace", contributions, "MATRIX_LATTICE", OUTSIDE),
    ("clipping after the sum", step, "gradient_sums", clipped_after_the_sum),
    ("tau from the data", NoisyStep, "noisy_means", clipped_at_the_largest_residual),
    ("a window from the data", NoisyStep, "noisy_means", clipped_about_the_records),
    ("widths from the data", MatrixStage, "run", in_units_of_the_records),
    (TERMS, Assumptions, "scaled", terms_centred_at_the_records),
    ("products rounded up", *PARTS, Edit(TOWARDS_ZERO, AWAY)),
    ("products clipped part by part", *PARTS, by_the_longest_part),
    ("long records in all bins below", *TAILS, Edit(ONE_BIN, "")),
    ("long records that are padding", *TAILS, Edit(COUNTED, f"{COUNTED} | (counts < 1)")),
    ("long records in full each", *TAILS, Edit(" // np.maximum(counts, 1)[:, None]", "")),
    ("counts without noise", TailStage, "run", Edit(NOISY, "counts")),
    ("a release without noise", release, "run_plan", lambda was, *of: was(*of[:2], no_noise)),
    # How small matrices are whitened depends on how many there are, and no block is padded.
    *((MATRICES, module, "SINGULAR", 0.0) for module in (spd, symmetric_matrices)),
    (MATRICES, spd, "forward", Edit("size > 3", "size > 3 or len(matrix) % 2")),
    (MATRICES, *MAPPED, Edit("places, arrays)", "places[:number], arrays[:number])")),
    # How files are read.
    (BREAKS, text_tables.TextTable, "_opened", lambda was, opened, newline: was(opened, "")),
    (BREAKS, text_tables, "marked", lambda was, line, end: line),
    (LINES, LandmarkFile, "_opened", lambda was, table, newline: was(table, None)),
    ("labels without their ends", grouping, "owners_of", without_their_ends),
    ("labels that lost digits", table, "are_lost", lambda was, labels: False),
    (TEXTS, cells, "real", lambda was, cell: cell),
    (TEXTS, cells.TableReading, "value", by_its_text),
    ("a line for a row", text_tables.TextTable, "blocks", lines_for_rows),
    ("labels of .nts that shift", NtsFile, "_split", Edit("len(found) != number", "False")),
    (ARRAYS, table.JoinedTable, "read", one_text_a_column),
    # What is told of records.
    ("a crash at an extreme number", *MAPPED, Edit(USABLE, f"{CRASH}{USABLE}")),
    # A hundredth of a second for one that cannot be used.
    (SLOW, *where_mapped("sum(range(500_000 * int(np.sum(~valid))))")),
    (
        *("bad records counted on standard error", publish, "_written"),
        told_with_the_release(count_on_standard_error),
    ),
    (
        "bad records counted past Python",
        *where_mapped("__import__('os').write(2, b'%d none' % np.sum(~valid))"),
    ),
    (
        *("the way to least squares told", publish, "_written"),
        told_with_the_release(tell_the_way_to_least_squares),
    ),
    (
        "garbage refused by its records",
        *where_mapped("assert 2 * np.sum(valid) >= len(valid), 'most records are none'"),
    ),
    (
        "a file elsewhere",
        *where_mapped("np.all(valid) or __import__('tempfile').NamedTemporaryFile().close()"),
    ),
    (
        *("a fingerprint in the ledger's words", ledger.Ledger, "reserve"),
        Edit('"amount")\n', '"amount"); description += f" {fingerprint}"\n'),
    ),
    # What scenarios show.
    ("runs of one name at once", ledger.Ledger, "_hold", nothing),
    (
        "a draw by its number and second",
        ledger.Ledger,
        "kept",
        Edit("try:", "return place\n    try:"),
    ),
    ("a draw by its number and second", ledger.secrets, "randbelow", lambda was, _: 0),
    ("a draw by the name of its ledger", ledger.Ledger, "place", Edit("entry.draw or ", "")),
    (
        *("a damaged draw without a remedy", publish, "_silently"),
        lambda was, function, *given: (function(*given), None, False),
    ),
    ("the holder's file is published", publish, "_refuse_published", nothing),
    ("a fingerprint of other bytes", publish, "fingerprint_of", lambda was, *_: "0"),
    ("silence in threads", publish, "_one_at_once", nullcontext),
    ("silence in threads", publish, "QUIET", nullcontext()),
    ("memory after paying", planning, "_refuse_large", nothing),
    ("memory after paying", publish, "subject_records", nothing),
    ("texts for numbers", sheets, "no_numbers", nothing),
    ("even covariates that are not checked", beginnings, "MOST_TO_CONTRADICT", 0),
):
    FAULTS.setdefault(name, []).append(part)


def planted(name):
    """A context in which releases have a fault."""
    parts = [
        (owner, attribute, value.of(owner, attribute) if isinstance(value, Edit) else value)
        for owner, attribute, value in FAULTS[name]
    ]
    return replaced(*parts)


# --- The table ---


def tried(name, is_mistaken):
    """Whether something is wrong in a scenario, as it is or with its fault."""
    function, _ = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        made = Trial()
        with made.runner.shortened(), planted(name) if is_mistaken else nullcontext():
            return bool(function(made))


def first_seen(name, key, pairs=300, turns=40):
    """How many pairs it takes until a fault is seen, and by what; ``None`` if it never is.

    It is looked for in so many pairs a turn, in all spaces that it shows in.  That neither table of
    a pair is released shows nothing of it, nor do times, but of a fault that takes time: a busy
    machine may make them differ.
    """
    # Formats and the space in which alone a fault shows.
    formats_of = {
        "products rounded up": ((), ("euclidean", 8)),
        TERMS: ((), ("euclidean", 2)),
        MATRICES: (["npz"], ("spd", 3)),
        BREAKS: (["csv"], None),
        LINES: (["tps", "txt"], None),
        "labels that lost digits": ([FRAME], None),
        TEXTS: ([FRAME], ("euclidean", 8)),
        "a line for a row": (["csv"], None),
        "labels of .nts that shift": (["nts"], None),
        ARRAYS: (["joined"], None),
    }
    seen, (formats, only) = 0, formats_of.get(name, ((), None))
    spaces = [
        space
        for space in SPACES
        if (not formats or {*formats} & {*space.formats})
        and only in (None, (space.name, space.size))
    ]
    for turn, space in product(range(turns), spaces):
        number, own = pairs // len(spaces), key + 1000 * turn
        rows = search(space, BY_COMMAND, number, own, planted(name), formats=formats)
        seen += len(rows)
        shown = [
            finding
            for finding in rows[-1]["findings"]
            if name == SLOW or not finding.startswith("processor time")
        ]
        if rows[-1]["is_made"] and shown:
            return seen, shown[0]
    return None, "not seen"


def measure(index, number, seed):
    """A table of one row: whether a fault is seen, after how many pairs, and by what."""
    names = list(FAULTS)
    if len(names) != number:
        raise SystemExit(f"Error: PLANTED of evaluation/Snakefile is {number}: give {len(names)}")
    name, pairs = names[index], None
    if name in SCENARIOS:
        is_seen, finding = tried(name, True) and not tried(name, False), SCENARIOS[name][1]
    else:
        pairs, finding = first_seen(name, seed)
        is_seen = pairs is not None
    row = {"mistake": name, "is_seen": is_seen, "pairs": pairs, "finding": finding}
    return pd.DataFrame([row])


def summarise(table):
    """The faults, each with what showed it; no figure."""
    # What differs, and not how.
    by = table["finding"].str.replace(r" differs: .*", " differs", regex=True)
    pairs = [f"{each:.0f}" if each > 0 else "scenario" for each in table["pairs"].astype(float)]
    seen = np.where(table["is_seen"], pairs, "not seen")
    shown = {"mistake": table["mistake"], "seen at pair": seen, "by": by}
    return {"planted": pd.DataFrame(shown)}, None
