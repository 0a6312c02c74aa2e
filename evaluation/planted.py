"""Mistakes planted in releases, each of which record and replay, or a scenario, has to see.

A scenario makes releases from one ledger in an empty folder and says whether something is wrong:
nothing may be as it is, and something with its mistake.
"""

import inspect
import io
import os
import sys
import tempfile
import textwrap
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import chdir, nullcontext, suppress
from dataclasses import replace
from itertools import product
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd

import script
from geodp.data import cells, sheets, table, text_tables
from geodp.data.landmark_files import LandmarkFile, NtsFile
from geodp.errors import DataError
from geodp.manifolds import spd, symmetric_matrices
from geodp.manifolds.euclidean import Euclidean
from geodp.samplers.integer_choice import no_noise
from geodp_release import contributions, hypotheses, ledger, planning, publish, release, subjects
from geodp_release import settings as release_settings
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.coordinates import ClippingCoordinates
from geodp_release.holder import off_least_squares
from geodp_release.moments import matrix_moments
from geodp_release.stages import MatrixStage, NoisyStep, TailStage, matrix, products, step, tail
from replay import SPACES, search
from replay_runs import BY_COMMAND, REPLACE, Runner, replaced
from replay_tables import Space

# By name: what is replaced, and formats and the space in which alone it shows.
PLANTS: dict = {}
SHOWN: dict = {}


def plant(name, owner, attribute, formats=(), space=None):
    """A function that plants by name what replaces an attribute; see `replaced`."""

    def planting(value):
        PLANTS.setdefault(name, []).append((owner, attribute, value))
        SHOWN[name] = formats, space
        return value

    return planting


def edit(name, owner, attribute, old, new, **shown):
    """Plants a function in whose source a text is another."""
    source, found = textwrap.dedent(inspect.getsource(getattr(owner, attribute))), {}
    if old not in source:
        raise ValueError(f"{attribute} has no {old!r} any more: plant {name!r} elsewhere")
    exec(source.replace(old, new), getattr(owner, attribute).__globals__, found)
    edited = found[attribute]
    plant(name, owner, attribute, **shown)(lambda was, *given, **more: edited(*given, **more))


# --- What a release computes ---

plant("half the sensitivity", Assumptions, "changes")(1)
plant("assumptions of another class", hypotheses, "check_stages")(lambda was, plan: {})
plant("assumptions of another class", release, "check_hypotheses")(
    lambda was, *_: hypotheses.HYPOTHESES
)
plant("assumptions of another class", Assumptions, "changes")(0.125)
# A matrix of moments has noise for its covariates, and residuals besides.
plant("residuals outside the trace", contributions, "MATRIX_LATTICE")(
    int(np.sqrt(1.0 + matrix.WEIGHT**2) * contributions.MATRIX_LATTICE)
)


@plant("clipping after the sum", step, "gradient_sums")
def unclipped_sums(was, assumptions, records, state, clip, *more):
    """To what as many clipped gradients could be at most."""
    sums = np.array(was(assumptions, records, state, 1e6 * clip, *more), dtype=object)
    sums *= 10**6
    length = sum(np.linalg.norm(row.astype(float)) for row in sums)
    if length > (most := len(records) * contributions.LATTICE):
        return [[int(entry * most / length) for entry in row] for row in sums.astype(float)]
    return sums.tolist()


@plant("tau from the data", NoisyStep, "noisy_means")
def clipped_at_the_largest_residual(was, stage, assumptions, records, before, bits):
    steps = assumptions.manifold.expand(records.covariates[..., 0]) * before.state[1]
    ends = assumptions.manifold.exp(np.broadcast_to(before.state[0], steps.shape), steps)
    away = assumptions.manifold.dist(ends, records.points)
    largest = max(float(np.max(away[records.valid], initial=0.0)), 1e-3)
    return was(replace(stage, clip=largest), assumptions, records, before, bits)


@plant("a window from the data", NoisyStep, "noisy_means")
def clipped_about_the_records(was, stage, assumptions, records, before, bits):
    """And not about where noise says that they are."""
    if records.covariates.shape[-1]:
        x = records.covariates[records.valid]
        x = np.column_stack([np.ones(len(x)), x])
        before = replace(before, moments=matrix_moments(x.T @ x / max(len(x), 1)))
    return was(stage, assumptions, records, before, bits)


@plant("widths from the data", MatrixStage, "run")
def in_units_of_the_records(was, stage, before, assumptions, records, bits, shared=None):
    """Covariates in a matrix of moments, and not in those of what is expected of them."""
    x = records.covariates.reshape((-1, records.covariates.shape[-1]))
    widths = np.sqrt(np.append(1.0, 1e-6 + np.mean(x**2, axis=0)))
    with patch.object(MatrixStage, "widths", staticmethod(lambda assumptions: widths)):
        return was(stage, before, assumptions, records, bits, shared)


TOWARDS_ZERO = "np.abs(each) // (LATTICE // PRODUCT_LATTICE)"
edit(
    *("products rounded up", products, "product_sums", TOWARDS_ZERO, f"-(-{TOWARDS_ZERO})"),
    space=("euclidean", 8),
)


@plant("products clipped part by part", products, "product_sums")
def by_the_longest_part(was, *given):
    """And not by the norm of all together."""

    def norm(_, parts):
        return np.max(np.linalg.norm(parts, axis=-1), axis=-1)

    with patch.object(ClippingCoordinates, "norm", norm):
        return was(*given)


TAILS = tail, "tail_counts"
ONE_BIN = " & ~np.append(longer[:, 1:], np.zeros((len(longer), 1), bool), axis=1)"
edit("long records in all bins below", *TAILS, ONE_BIN, "")
COUNTED, PADDING = "valid[:, place] & (place < counts)", " | (counts < 1)"
edit("long records that are padding", *TAILS, COUNTED, COUNTED + PADDING)
edit("long records in full each", *TAILS, " // np.maximum(counts, 1)[:, None]", "")
NOISY = "self.noise(assumptions).add([counts], bits)[0]"
edit("counts without noise", TailStage, "run", NOISY, "counts")


@plant("a release without noise", release, "run_plan")
def as_its_holder_sees_it(was, plan, records, bits):
    return was(plan, records, no_noise)


# How small matrices are whitened depends on how many there are, and no block is padded.
NUMBER = {"formats": ["npz"], "space": ("spd", 3)}
for module in (spd, symmetric_matrices):
    plant("a formula by the number of matrices", module, "SINGULAR", **NUMBER)(0.0)
edit(
    *("a formula by the number of matrices", spd, "forward"),
    *("size > 3", "size > 3 or len(matrix) % 2"),
    **NUMBER,
)
edit(
    *("a formula by the number of matrices", subjects, "mapped_records"),
    *("places, arrays)", "places[:number], arrays[:number])"),
    **NUMBER,
)

# --- How files are read ---

ROWS, FRAMES, SLOW = "any break ends a row", "numbers by their text", "a slow record"
plant(ROWS, text_tables.TextTable, "_opened", ["csv"])(lambda was, opened, newline: was(opened, ""))
plant(ROWS, text_tables, "marked", ["csv"])(lambda was, line, end: line)
plant("any break ends a line of landmarks", LandmarkFile, "_opened", ["tps", "txt"])(
    lambda was, table, newline: was(table, None)
)
plant("labels without their ends", subjects, "label_key")(lambda was, label: (label or "").strip())
plant("labels that lost digits", table, "are_lost", [""])(lambda was, labels: False)
plant(FRAMES, cells, "real", [""], ("euclidean", 8))(lambda was, cell: cell)
plant(FRAMES, cells.TableReading, "value", [""], ("euclidean", 8))(
    lambda was, reading, cell, name="": was(reading, reading.shown(cell), name)
)


@plant("a line for a row", text_tables.TextTable, "lines", ["csv"])
def lines_for_rows(was, opened):
    """So that a quoted line break makes several records."""
    with opened._opened("") as text:
        text.read(opened._start)
        for number, line in enumerate(io.StringIO(text.read(), newline=None), start=1):
            if line.strip():
                found = line.rstrip("\n").split(opened.delimiter)[: len(opened.names)]
                yield number, number, [cell.strip('"') for cell in found]


edit(
    *("labels of .nts that shift", NtsFile, "_split", "len(found) != number", "False"),
    formats=["nts"],
)


@plant("one text a column of an array", table.JoinedTable, "read", ["joined"])
def one_text_a_column(was, joined, columns, label=None):
    with patch.object(table.JoinedTable, "numbered", lambda joined, columns: columns):
        return table.Table.read(joined, columns, label)


# --- What is told of records ---


USABLE = "x, valid = np.zeros(given.shape)"
edit(
    *("a crash at an extreme number", subjects, "mapped_records", USABLE),
    f"assert not np.any(np.abs(y[np.isfinite(y)]) > 1e100); {USABLE}",
)
# A hundredth of a second for one that cannot be used.
edit(
    *(SLOW, subjects, "mapped_records", "return x,"),
    "sum(range(500_000 * int(np.sum(~valid)))); return x,",
)


def tells(name):
    """Plants a function that is called before a release with which records can be used."""

    def planting(act):
        @plant(name, publish, "release_geodesic")
        def releasing(was, plan, covariates, points, labels):
            act(subjects.mapped_records(plan.assumptions, covariates, points)[2])
            return was(plan, covariates, points, labels)

    return planting


INVALID: list = []
tells("bad records counted on standard error")(lambda valid: INVALID.append(np.sum(~valid)))
tells("bad records counted past Python")(lambda valid: os.write(2, b"%d none" % np.sum(~valid)))


@plant("the way to least squares told", publish, "_written")
def told_with_the_release(was, release, settings, *given):
    """That of its holder, who alone may see it."""
    plan = release.plan
    data = subjects.subject_records(plan.assumptions, *publish.read_data(settings))
    print(off_least_squares(plan, data))
    return was(release, settings, *given)


@plant("bad records counted on standard error", publish, "_written")
def once_words_are_not_held_back(was, *given):
    print(f"{INVALID[-1]} records do not count", file=sys.stderr)
    return was(*given)


@tells("garbage refused by its records")
def refuse_garbage(valid):
    if 2 * np.sum(valid) < len(valid):
        raise ValueError("most records are none")


@tells("a file elsewhere")
def note_elsewhere(valid):
    if not np.all(valid):
        with tempfile.NamedTemporaryFile("w") as file:
            file.write("bad records")


@plant("a fingerprint in the ledger's words", ledger.Ledger, "reserve")
def described(was, kept, key, amount, description, *, fingerprint=None, **more):
    return was(kept, key, amount, f"{description} {fingerprint}", fingerprint=fingerprint, **more)


# --- Scenarios ---

SCENARIOS: dict = {}
TABLE = pd.DataFrame({"who": list("abcde"), "x0": np.linspace(0.1, 0.9, 5), "c0": 0.5})
SPACE = Space("euclidean", 1, 1, 1, REPLACE, "epsilon", 1)
PLAN_OF = publish.plan_of


def scenario(name, sentence):
    """Adds a function of a `Trial` by name, and in words what its mistake does."""

    def adding(function):
        SCENARIOS[name] = function, sentence
        return function

    return adding


def nothing(was, *_):
    return None


class Trial:
    """A table in the working directory, settings of releases from it, and a ledger."""

    def __init__(self):
        Path("kept").mkdir()
        TABLE.to_csv("mine.csv", index=False)
        self.runner = Runner(SPACE, Path("kept").absolute())
        self.ledger = ledger.Ledger.create("mine.ledger", "1000", "epsilon")

    def settings(self, **changes):
        given = self.runner.given["csv"] | changes
        return release_settings.ReleaseSettings.model_validate(given)

    def publish(self, given=None, *, plan=None, **more):
        """Make a release, or not, and say what is spent then: 3 for one."""
        with suppress(DataError):
            publish.publish(given or self.settings(), plan=plan or self.runner.plan, **more)
        return self.ledger.spent

    def killed(self):
        """A release that ends when its folder is written: its draw is kept."""
        with patch.object(publish, "write_folder", side_effect=OSError):
            self.publish()


plant("runs of one name at once", ledger.Ledger, "_hold")(nothing)


@scenario("runs of one name at once", "one is paid twice")
def two_runs_of_a_name(made):
    """One draws while another of the same name begins."""
    inner = []

    def drawing(was, *given):
        if not inner:
            inner.append(True)
            with patch.object(publish, "_one_at_once", nullcontext):
                made.publish()
        return was(*given)

    with replaced((publish, "_drawn", drawing)):
        return made.publish() > 3


@plant("a draw by its number and second", ledger.Ledger, "kept")
def by_its_number(was, kept, entry):
    place = kept.place(entry)
    return place if entry.status == ledger.STARTED and place.is_file() else None


plant("a draw by its number and second", ledger.secrets, "randbelow")(lambda was, _: 0)


@scenario("a draw by its number and second", "the folder has the draw of another release")
def an_older_copy_of_the_ledger(made):
    """A release is killed, an older copy takes the ledger's place, and another one is made."""
    copy = Path("mine.ledger").read_bytes()
    made.killed()
    Path("mine.ledger").write_bytes(copy)
    drawing = patch.object(publish, "_drawn", side_effect=KeyboardInterrupt)
    with drawing, suppress(KeyboardInterrupt):
        made.publish(made.settings(name="other", folder="theirs"))
    # It was ended before it could draw.
    return Path("theirs").exists()


plant("a draw by the name of its ledger", ledger.Ledger, "place")(
    lambda was, kept, entry: kept.path.with_name(f"{kept.path.name}-{entry.number}.json")
)


@scenario("a draw by the name of its ledger", "one is paid twice")
def a_hard_link(made):
    """A release is killed, and made again by another link of its ledger, in another folder."""
    made.killed()
    Path("elsewhere").mkdir()
    os.link("mine.ledger", "elsewhere/same.ledger")
    return made.publish(made.settings(ledger="elsewhere/same.ledger")) > 3


plant("a damaged draw without a remedy", publish, "_silently")(
    lambda was, function, *given: (function(*given), None, False)
)


@scenario("a damaged draw without a remedy", "it is published, or refused without a remedy")
def a_damaged_draw(made):
    """A draw that is kept is cut off, and the release is made again."""
    made.killed()
    [kept] = Path().glob("mine.ledger-*.json")
    kept.write_text(kept.read_text()[:-99])
    try:
        publish.publish(made.settings(), plan=made.runner.plan)
    except DataError as problem:
        return "put a copy back" not in str(problem)
    return True


plant("the holder's file is published", publish, "_refuse_published")(nothing)


@scenario("the holder's file is published", "it is in the folder")
def the_holder_in_the_folder(made):
    made.publish()
    made.publish(for_holder=Path("out", "seen.txt"))
    return Path("out", "seen.txt").exists()


plant("a fingerprint of other bytes", publish, "fingerprint_of")(lambda was, *_: "0")


@scenario("a fingerprint of other bytes", "a table is released with the fingerprint of another")
def a_table_that_changes(made):
    """Another program replaces the table while it is read."""

    def reading(was, given):
        found = was(given)
        TABLE.iloc[::-1].to_csv("mine.csv", index=False)
        return found

    with replaced((publish, "read_data", reading)):
        return made.publish() > 0


plant("silence in threads", publish, "_one_at_once")(nullcontext)
plant("silence in threads", publish, "QUIET")(nullcontext())


@scenario("silence in threads", "output is closed or logs are off")
def releases_in_threads(made, rounds=8):
    """Six releases at once, in turns, after which output and logs are as they were."""
    before = sys.stdout, sys.stderr
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    changed = False
    for turn in range(rounds):
        started = threading.Barrier(6)

        def run(number, turn=turn, started=started):
            started.wait()
            name = f"t{turn}_{number}"
            made.publish(made.settings(name=name, folder=name))

        with ThreadPoolExecutor(6) as pool:
            list(pool.map(run, range(6)))
        changed = before != (sys.stdout, sys.stderr) or publish.logging.root.manager.disable
        sys.stdout, sys.stderr = before
        publish.logging.disable(0)
        if changed:
            break
    sys.setswitchinterval(interval)
    return changed


plant("memory after paying", publish, "_refuse_large")(nothing)
plant("memory after paying", publish, "subject_records")(nothing)


@scenario("memory after paying", "it is paid, and nothing released")
def very_many_subjects(made):
    """A public number of subjects for which no machine has memory."""
    numbers = {"subjects": 10**9, "records_per_subject": 1000}
    given = made.settings(public=made.runner.given["csv"]["public"] | numbers)
    plan = replace(made.runner.plan, assumptions=given.assumptions)
    with patch.object(publish, "planned", lambda *_: plan), suppress(DataError):
        made.publish(given, plan=PLAN_OF(given))
    return made.ledger.spent > 0


plant("texts for numbers", sheets, "no_numbers")(nothing)


@scenario("texts for numbers", "noise is paid")
def a_column_of_texts(made):
    """A data frame whose covariate is a text."""
    given = made.settings(data=made.runner.given["csv"]["data"] | {"path": release_settings.FRAME})
    given.data.set_frame(TABLE.assign(x0=[f"{each} years" for each in TABLE["x0"]]))
    return made.publish(given) > 0


plant("even covariates that are not checked", planning, "MOST_TO_CONTRADICT")(0)


@scenario("even covariates that are not checked", "bands rest on them, and nothing is said")
def covariates_that_are_not_even(made, number=2000):
    """They are said to be spread evenly, and are Beta(2, 5)."""
    rng, each = np.random.default_rng(1), {"residual_scale": 0.1, "covariate_spread": "evenly"}
    x = rng.beta(2.0, 5.0, number)
    y = 0.5 * x[:, None] + rng.normal(scale=0.1, size=(number, 1))
    assumptions = Assumptions(Euclidean(1), np.zeros(1), 1.0, 2.0, (0.0, 1.0), number, **each)
    plan = planning.plan_release(assumptions, PrivacyBudget("4"), work=10**5)
    found = release.release_geodesic(plan, x, y, np.arange(number))
    said = any("spread evenly" in each for each in found.doubts())
    return not (said and np.all(np.isnan(found.band([0.2, 0.8]))))


def tried(name, is_mistaken):
    """Whether something is wrong in a scenario, as it is or with its mistake."""
    function, _ = SCENARIOS[name]
    with tempfile.TemporaryDirectory() as folder, chdir(folder):
        made = Trial()
        with made.runner.shortened(), planted(name) if is_mistaken else nullcontext():
            return bool(function(made))


# --- The table ---


def planted(name):
    """A context in which releases have a mistake of `PLANTS`."""
    return replaced(*PLANTS[name])


def first_seen(name, key, pairs=300, turns=40):
    """How many pairs it takes until a plant is seen, and by what; ``None`` if it never is.

    It is looked for in so many pairs a turn, in all spaces that it shows in.  That neither table of
    a pair is released shows nothing of it, nor do times, but of a mistake that takes time: a busy
    machine may make them differ.
    """
    seen, (formats, only) = 0, SHOWN[name]
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
    """A table of one row: whether a mistake is seen, after how many pairs, and by what."""
    names = list(PLANTS)
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
    """The mistakes, each with what showed it; no figure."""
    # What differs, and not how.
    by = table["finding"].str.replace(r" differs: .*", " differs", regex=True)
    pairs = [f"{each:.0f}" if each > 0 else "scenario" for each in table["pairs"].astype(float)]
    seen = np.where(table["is_seen"], pairs, "not seen")
    shown = {"mistake": table["mistake"], "seen at pair": seen, "by": by}
    return {"planted": pd.DataFrame(shown)}, None


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
