"""Whole releases of neighbouring tables, recorded and replayed, from the file to the folder.

What leaves a release may depend on the data through noise alone.  So with the same outputs of the
noise primitives releases of neighbours are the same: each file, word and status, and their time.
"""

import os
import tempfile
from contextlib import ExitStack
from functools import partial
from itertools import product
from pathlib import Path

import numpy as np
import pandas as pd
from hypothesis import HealthCheck, Phase, given, seed, settings

from geodp_release.assumptions import ADD_OR_REMOVE, REPLACE
from geodp_release.replay import Tape, call_findings, output_findings
from reproduction.measurements.audit import mistakes, scenarios
from reproduction.measurements.audit.neighbours import UNCHANGED, Space, pairs
from reproduction.measurements.audit.runs import BY_COMMAND, BY_ESTIMATOR, BY_FUNCTION, Runner
from reproduction.measurements.audit.writers import FRAME, fitting, may_be_refused

SPACES = (
    Space("euclidean", 8, 8, 1, REPLACE, "epsilon", 2),
    Space("sphere", 2, 3, 1, ADD_OR_REMOVE, "epsilon", 1),
    Space("spd", 2, 3, 2, REPLACE, "rho", 2),
    Space("euclidean", 1, 1, 0, ADD_OR_REMOVE, "rho", 0),
    Space("kendall", 4, 8, 1, REPLACE, "rho", 3),
    Space("hyperbolic", 2, 3, 1, REPLACE, "epsilon", 0),
    Space("spd", 3, 9, 1, ADD_OR_REMOVE, "epsilon", 0),
)

# Of each block every space by the command, and half as many pairs by each way of Python.
WAYS = ((BY_COMMAND, 2), (BY_FUNCTION, 1), (BY_ESTIMATOR, 1))

# Pairs in which a mistake that was planted is looked for: so many a turn, in all spaces, and turns.
PLANTED, TURNS = 300, 10


def compared(runner, pair, by, is_whole=False, repeats=20):
    """Findings about one pair, the largest share of a budget, and the ratio of processor times.

    Last whether a release was made of either.
    """
    run = partial(runner.run, pair, by=by, is_whole=is_whole)
    first, second = Tape(), Tape()
    left, seconds = run(0, tape=first)
    second.recorded = first.calls
    other, others = run(1, tape=second)
    are_made = [each["status"] in ("0", "None") for each in (left, other)]
    made = any(are_made)
    if by == BY_COMMAND and not all(are_made):
        for table, how, is_made in zip(pair.tables, pair.formats, are_made, strict=True):
            if not is_made and may_be_refused(table, how):
                return [], 0.0, 1.0, False
    stages = runner.plan.stages if made else ()
    findings, share = call_findings(first, second, stages)
    if share and pair.kind in UNCHANGED:
        findings.append(f"records of nobody, order or form cost {share:g} of a budget")
    findings += output_findings(left, other)
    if not made:
        findings.append(f"neither was released: {left['status']}")
    ratios = []
    for _ in range(repeats):
        if within_band(seconds, others):
            break
        # A busy machine slows one of them down; the least of several does not depend on it.
        spent = [run(index, tape=Tape(recorded=first.calls))[1] for index in (0, 1)]
        seconds, others = min(seconds, spent[0]), min(others, spent[1])
        ratios.append(spent[0] / spent[1])
    # Nor do ratios of runs in turn, where the machine has become slower since the first.
    if not (within_band(seconds, others) or within_band(np.median(ratios), 1.0)):
        findings.append(f"processor time differs: {seconds:.4f} and {others:.4f} s")
    return findings, share, others / seconds, bool(stages)


def within_band(one, other, band=1.5):
    return 1.0 / band <= one / other <= band


def search(space, by, number, key, mistake=None, stop=False, whole=None, formats=None):
    """Compare pairs of neighbours that Hypothesis makes, a row each.

    ``by`` is a way of `WAYS`, ``key`` of the random stream, and ``mistake`` makes a context in
    which releases have one.  ``stop`` ends at the first finding.  The pair of index ``whole`` is
    written with its page and picture, which take a second.
    """
    rows: list = []
    formats = formats or ([*fitting(space), "csv", "csv"] if by == BY_COMMAND else ["csv"])
    place = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None

    with tempfile.TemporaryDirectory(dir=place) as folder, ExitStack() as stack:
        runner = Runner(space, Path(folder).resolve())
        if mistake is not None:
            stack.enter_context(mistake())
        stack.enter_context(mistakes.few_at_once())

        @seed(key)
        @settings(
            max_examples=number,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @given(pair=pairs(space, formats))
        def compare(pair):
            if stop and any(row["findings"] for row in rows):
                return
            is_whole = by == BY_COMMAND and len(rows) == whole
            findings, share, ratio, is_made = compared(runner, pair, by, is_whole)
            rows.append(
                {
                    "kind": pair.kind,
                    "format": _format_of(pair) if by == BY_COMMAND else "arrays",
                    "findings": findings,
                    "share": share,
                    "ratio": ratio,
                    "is_whole": is_whole,
                    "is_made": is_made,
                    "pair": pair if findings else None,
                }
            )

        compare()
    return rows


def _format_of(pair):
    name = pair.formats[0]["suffix"]
    return f"data frame ({pair.formats[0].get('type', 'float')})" if name == FRAME else name


def ways():
    """Spaces and ways to release in them, each with its share of the pairs."""
    return [
        (space, by, share)
        for space in SPACES
        for by, share in WAYS
        # An estimator has covariates, and is given labels here.
        if by != BY_ESTIMATOR or (space.covariates and not space.is_one_each)
    ]


def divided(number):
    """Numbers of pairs of each of `ways` that add up to a number."""
    shares = np.cumsum([0, *(share for *_, share in ways())])
    return np.diff(np.rint(number * shares / shares[-1]).astype(int))


def measure(settings, block):
    """A table of what was found in one block of pairs."""
    rows, numbers = [], divided(settings["replay"]["pairs"])
    for index, ((space, by, _), number) in enumerate(zip(ways(), numbers, strict=True)):
        key = int(np.random.SeedSequence([settings["seed"], block, index]).generate_state(1)[0])
        whole = number // 2 if space is SPACES[block % len(SPACES)] else None
        found = pd.DataFrame(search(space, by, int(number), key, whole=whole) if number else [])
        for (kind, suffix), part in found.groupby(["kind", "format"]) if number else ():
            wrong = [row for row in part.itertuples() if row.findings]
            rows.append(
                {
                    "space": space.manifold.name,
                    "covariates": space.covariates,
                    "by": by,
                    "format": suffix,
                    "neighbour": kind,
                    "pairs": len(part),
                    "whole": part["is_whole"].sum(),
                    "refused": len(part) - part["is_made"].sum(),
                    "findings": len(wrong),
                    "first_finding": f"{wrong[0].findings} {wrong[0].pair}" if wrong else "",
                    "largest_share": part["share"].max(),
                    "median_ratio": part["ratio"].median(),
                    "largest_ratio": part["ratio"].max(),
                }
            )
    return [pd.DataFrame(rows)]


def first_seen(name, key):
    """How many pairs it takes until a planted mistake is seen, and by what; ``None`` if never."""
    seen = 0
    formats, mistake = mistakes.SHOWN_IN.get(name), mistakes.PLANTS[name]
    spaces = [
        space
        for space in SPACES
        if (formats is None or {*formats} & {*fitting(space)})
        and mistakes.SHOWN_ON.get(name, (space.name, space.size)) == (space.name, space.size)
    ]
    for turn, space in product(range(TURNS), spaces):
        number, own = PLANTED // len(spaces), key + 1000 * turn
        rows = search(space, BY_COMMAND, number, own, mistake, stop=True, formats=formats)
        seen += len(rows)
        for row in rows:
            if row["findings"]:
                return seen, row["findings"][0]
    return None, ""


def planted(settings):
    """A table of the mistakes that are planted, a row each; see `first_seen` and `scenarios`."""
    rows = []
    for name in scenarios.SCENARIOS:
        fault, finding = (scenarios.tried(name, is_mistaken) for is_mistaken in (False, True))
        rows.append({"mistake": name, "is_seen": bool(finding) and not fault, "finding": finding})
    for name in mistakes.PLANTS:
        pairs, finding = first_seen(name, settings["seed"])
        rows.append(
            {
                "mistake": name,
                "is_seen": pairs is not None,
                "pairs": pairs,
                "most_pairs": TURNS * PLANTED,
                "finding": finding,
            }
        )
    return [pd.DataFrame(rows)]


def all_blocks(blocks, planted):
    """A row for each way to release and kind of neighbour, from the tables of all blocks.

    That of planted mistakes is not read: it has to be there for the page.
    """
    texts = {"first_finding": str}
    parts = [pd.read_csv(path, dtype=texts, keep_default_na=False) for path in blocks]
    keys = ["space", "covariates", "by", "format", "neighbour"]
    found = pd.concat(parts, ignore_index=True).groupby(keys, sort=False)
    table = found.agg(
        {
            **dict.fromkeys(("pairs", "whole", "refused", "findings"), "sum"),
            **dict.fromkeys(("first_finding", "largest_share"), "max"),
            # Of blocks, each the median of its pairs.
            "median_ratio": "median",
            "largest_ratio": "max",
        }
    )
    return [table.reset_index()]
