"""Record and replay: whole releases of neighbouring tables, from the file to the folder.

What leaves a release may depend on the data through noise alone.  So with the same outputs of the
noise primitives releases of neighbours are the same: each file, word and status, and their time.
"""

import os
import tempfile
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, seed, settings

from geodp_release.promise.public_inputs import ADD_OR_REMOVE, HUBER, REPLACE
from geodp_release.run.replay import Tape, call_findings, output_findings
from replay_files import may_be_refused
from replay_runs import BY_COMMAND, BY_ESTIMATOR, BY_FUNCTION, Runner, few_at_once
from replay_tables import FRAME, UNCHANGED, Space, pairs

SPACES = (
    Space("euclidean", 8, 8, 1, REPLACE, "epsilon", 2),
    Space("sphere", 2, 3, 1, ADD_OR_REMOVE, "epsilon", 1, loss=HUBER, drops_missing=True),
    Space("spd", 2, 3, 2, REPLACE, "rho", 2, loss=HUBER),
    Space("euclidean", 1, 1, 0, ADD_OR_REMOVE, "rho", 0),
    Space("kendall", 4, 8, 1, REPLACE, "rho", 3),
    Space("hyperbolic", 2, 3, 1, REPLACE, "epsilon", 0, drops_missing=True),
    Space("spd", 3, 9, 1, ADD_OR_REMOVE, "epsilon", 0),
    Space("projective", 2, 3, 1, REPLACE, "rho", 2),
    Space("rotations", 0, 9, 1, ADD_OR_REMOVE, "epsilon", 1, made_from="{coordinates: matrix}"),
    Space("spd", 2, 3, 0, REPLACE, "epsilon", 0, made_from="{metric: log_euclidean}"),
    Space(
        *("product", 0, 2, 1, REPLACE, "rho", 2),
        made_from="factors: [{name: sphere, size: 1, coordinates: degrees},"
        " {name: euclidean, size: 1, weight: 0.5}]",
    ),
    Space("size_and_shape", 3, 6, 1, ADD_OR_REMOVE, "epsilon", 0),
    Space("sphere", 3, 4, 1, REPLACE, "epsilon", 2, terms="basis: {x0: {spline: 4}}"),
    Space(
        *("euclidean", 2, 2, 2, ADD_OR_REMOVE, "rho", 2),
        terms="""{basis: {x0: {periodic: 0.7}}, categories: {x1: ["0", "1", "0.5"]},
        products: ["x0:x1"]}""",
    ),
)

# Spaces and ways to release in them: by the command twice as many pairs as by either of Python.
# An estimator has covariates, and is given labels here.
WAYS = [
    (space, by, share)
    for space in SPACES
    for by, share in ((BY_COMMAND, 2), (BY_FUNCTION, 1), (BY_ESTIMATOR, 1))
    if by != BY_ESTIMATOR or (space.covariates and not space.is_one_each)
]


def compared(runner, pair, by, is_whole=False, first=None, repeats=20):
    """The first run of a pair, and a row: findings, largest share of a budget, ratio of times.

    ``first`` is that run, if it was made already: its tape, what left it, its processor time.
    """
    run = partial(runner.run, pair, by=by, is_whole=is_whole)
    tape = Tape()
    first = first or (tape, *run(0, tape=tape))
    tape, left, seconds = first
    second = Tape(recorded=tape.calls)
    other, others = run(1, tape=second)
    are_made = [each["status"] in ("0", "None") for each in (left, other)]
    if by == BY_COMMAND and any(
        not is_made and may_be_refused(table, how)
        for is_made, table, how in zip(are_made, pair.tables, pair.formats, strict=True)
    ):
        return first, {"findings": [], "share": 0.0, "ratio": 1.0, "is_made": False}
    findings, share = call_findings(tape, second, runner.plan.stages if any(are_made) else ())
    if share and pair.kind in UNCHANGED:
        findings.append(f"records of nobody, order or form cost {share:g} of a budget")
    findings += output_findings(left, other)
    if not any(are_made):
        findings.append(f"neither was released: {left['status']}")
    ratios = []
    while not within_band(seconds, others) and len(ratios) < repeats:
        # A busy machine slows one of them down; the least of several does not depend on it.
        spent = [run(index, tape=Tape(recorded=tape.calls))[1] for index in (0, 1)]
        seconds, others = min(seconds, spent[0]), min(others, spent[1])
        ratios.append(spent[0] / spent[1])
    # Nor do ratios of runs in turn, where the machine has become slower since the first.
    if not (within_band(seconds, others) or within_band(np.median(ratios), 1.0)):
        findings.append(f"processor time differs: {seconds:.4f} and {others:.4f} s")
    ratio = others / seconds
    row = {"findings": findings, "share": share, "ratio": ratio, "is_made": any(are_made)}
    return first, row


def within_band(one, other, band=1.5):
    return 1.0 / band <= one / other <= band


def search(space, by, number, key, mistake=None, whole=None, formats=None, neighbours=4):
    """Rows about pairs of neighbours that Hypothesis makes with a key.

    ``mistake`` is a context in which releases have one: the search ends where it is seen.  The pair
    of index ``whole`` is written with its page and picture, which take a second.  A table is
    released once for all its ``neighbours``.
    """
    rows: list = []
    formats = formats or ([*space.formats, "csv", "csv"] if by == BY_COMMAND else ["csv"])
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as folder, ExitStack() as stack:
        runner = Runner(space, Path(folder).resolve())
        for context in (mistake, few_at_once()):
            stack.enter_context(context) if context else None

        @seed(key)
        @settings(
            max_examples=-(-number // neighbours),
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(several=pairs(space, formats, neighbours))
        def compare(several):
            first = None
            for pair in several[: number - len(rows)]:
                if mistake and any(row["findings"] and row["is_made"] for row in rows):
                    return
                name, is_whole = pair.formats[0]["suffix"], by == BY_COMMAND and len(rows) == whole
                if name == FRAME:
                    name = f"data frame ({pair.formats[0].get('type', 'float')})"
                # With its page and picture it leaves more.
                own, row = compared(runner, pair, by, is_whole, None if is_whole else first)
                first = first if is_whole else own
                row |= {"neighbour": pair.kind, "format": name if by == BY_COMMAND else "arrays"}
                rows.append(row | {"is_whole": is_whole, "pair": pair if row["findings"] else None})

        compare()
    return rows


def divided(number):
    """Numbers of pairs of each of `WAYS` that add up to a number."""
    shares = np.cumsum([0, *(share for *_, share in WAYS)])
    return np.diff(np.rint(number * shares / shares[-1]).astype(int)).tolist()


def measure(block, pairs, seed):
    """A table of what was found in one block of pairs, a row for each way, format and kind."""
    rows: list = []
    for index, ((space, by, _), number) in enumerate(zip(WAYS, divided(pairs), strict=True)):
        key = int(np.random.SeedSequence([seed, block, index]).generate_state(1)[0])
        whole = number // 2 if space is SPACES[block % len(SPACES)] else None
        for row in search(space, by, number, key, whole=whole) if number else ():
            row |= {"block": block, "space": space.manifold.name, "by": by}
            row["first"] = f"{row['findings'][0]} {row['pair']}" if row["findings"] else None
            rows.append(row)
    cells = pd.DataFrame(rows).groupby(["block", "space", "by", "format", "neighbour"])
    return cells.agg(
        pairs=("share", "size"),
        whole=("is_whole", "sum"),
        refused=("is_made", lambda made: (~made).sum()),
        findings=("first", "count"),
        first_finding=("first", "first"),
        largest_share=("share", "max"),
        median_ratio=("ratio", "median"),
    ).reset_index()


def summarise(table):
    """Of each kind of neighbours pairs, findings, and how far apart they are; no figure."""
    rows, words = [], {"replaced": "rows of one subject are others, or gone"}
    words |= {"added": "rows of one subject are there or not", "nobody": "rows without a label"}
    words |= {"order": "order of subjects", "format": "how they are written alone"}
    for kind, part in [*table.groupby("neighbour"), ("", table)]:
        row = {"tables differ in": words.get(kind, "all together")}
        row |= {name: f"{part[name].sum():,}" for name in ("pairs", "refused", "findings")}
        # Just below one it would be rounded to a budget that is spent.
        row["largest share of a stage's budget"] = f"{part['largest_share'].max():.5f}"
        # Of each way and format the median of all blocks, each with the median of its pairs.
        ratios = part.groupby(["space", "by", "format"])["median_ratio"].median()
        rows.append(row | {"ratio of times": f"{ratios.min():.2f} to {ratios.max():.2f}"})
    return {"replay": pd.DataFrame(rows)}, None
