"""Verdicts on the claims of papers, computed from the tables of a run.

A claim is a sentence of a paper, with one row of a file or several: its *parts*, which must all
hold, and other *readings* of it, in settings of our own, which do not count.  A row is a measure,
the rows of a table it looks at, and two comparisons of its number, which has an interval.  It is
undecided where the interval reaches from numbers for which it holds to numbers for which it does
not; "not refuted" where the number only bounds what the row is about; and "by construction" where
nothing but a mistake of the program could fail it.  The last two do not count among what holds.
"""

import numpy as np
import pandas as pd

from geodp.errors import DataError
from reproduction.claims.conditions import column_of, comparisons, met, with_derived_columns
from reproduction.claims.measures import MEASURES
from reproduction.claims.resampling import NotEvaluated
from reproduction.claims.rows import sentence_of

HOLDS, IN_PART, FAILS, UNDECIDED = "holds", "holds in part", "does not hold", "undecided"
NOT_REFUTED, BY_CONSTRUCTION = "not refuted", "by construction"
VERDICTS = (HOLDS, IN_PART, FAILS, UNDECIDED, NOT_REFUTED, BY_CONSTRUCTION)

# Columns of the table of verdicts: those that a claim has too are repeated.
RESULT_COLUMNS = (
    *("paper", "claim", "part", "reading", "section", "figure", "study", "mechanism"),
    *("statement", "quantity", "value", "low", "high", "interval_over", "shown_value"),
    *("shown_verdict", "criterion", "verdict", "sentence_verdict", "why"),
    # Of the tables it is computed from.
    *("data", "manifold", "support", "seed", "lock"),
)


def judge(paper, claims, tables, stream, replicates=1000):
    """Verdicts on the claims of a paper of some name: a frame of the columns `RESULT_COLUMNS`.

    Its rows are those of claims about studies that are there, of sentences of which a row that
    counts is about one.  ``low`` and ``high`` are a 95 % percentile interval, stretched to hold the
    value; ``shown_value`` and ``shown_verdict`` are of the first of several data sets; ``verdict``
    is empty if the row was not evaluated, and ``sentence_verdict`` that of all rows that count.

    Tables are frames by (study, table).  ``stream`` gives for a claim's identifier the
    `numpy.random.Generator` of its bootstrap.
    """
    studies = {study for study, _ in tables}
    there = [claim for claim in claims if claim.study in studies]
    counting = {sentence_of(claim.claim) for claim in there if not claim.reading}
    found = pd.DataFrame(
        [
            {"paper": paper, **_judged(claim, tables, stream(claim.claim), replicates)}
            for claim in there
            if sentence_of(claim.claim) in counting
        ],
        columns=RESULT_COLUMNS,
    )
    verdicts = found["verdict"].where(found["reading"] == "")
    sentences = found["claim"].map(sentence_of)
    found["sentence_verdict"] = verdicts.groupby(sentences).transform(_together)
    return found


def _together(verdicts):
    """Verdict on a sentence, from those on its parts; empty if no part could be evaluated."""
    verdicts = verdicts.dropna()
    # A part that could not be evaluated may hold or not.
    found = {verdict or UNDECIDED for verdict in verdicts}
    if not any(verdicts):
        return ""
    # What holds by construction says nothing of the other parts.
    found = found - {BY_CONSTRUCTION} or found
    if IN_PART in found or {HOLDS, FAILS} <= found:
        return IN_PART
    # Nothing holds of a sentence of which a part is refuted and none confirmed.
    return next(each for each in (UNDECIDED, FAILS, NOT_REFUTED, *found) if each in found)


def _judged(claim, tables, rng, replicates):
    """Row of verdicts for one row of claims, without its paper."""
    result = dict.fromkeys(("value", "low", "high", "shown_value"), np.nan)
    result |= dict.fromkeys(("interval_over", "shown_verdict", "verdict"), "")
    result |= claim.model_dump(include={*RESULT_COLUMNS})
    result["criterion"] = f"holds: {claim.holds}; in part: {claim.in_part}"
    measure = MEASURES[claim.measure]
    try:
        selected = [_selected(claim, tables, claim.study, claim.mechanism, "where")]
        if claim.other:
            selected.append(_selected(claim, tables, *claim.other, "against_where"))
        measured = measure(claim, selected[0], rng, replicates, *selected[1:])
        if not np.all(np.isfinite(measured.replicates)):
            raise NotEvaluated("the number or its interval is not finite")
        result |= _verdict(claim, selected[0], measured)
        several = "data_set" in selected[0] and selected[0]["data_set"].nunique() > 1
        if claim.figure and several:
            # The first data set is like the one of the paper's figures, whose curves are what they
            # are: no interval, and no random numbers.
            shown = [part[part["data_set"] == 0].reset_index(drop=True) for part in selected]
            alone = measure(claim, shown[0], np.random.default_rng(0), 0, *shown[1:])
            result["shown_value"] = float(alone.replicates[0])
            [result["shown_verdict"]] = _levels(claim, alone.replicates[:1])
    except NotEvaluated as problem:
        result["why"] = f"not evaluated: {problem}"
    except DataError as problem:
        raise DataError(f"{claim.place}: {problem}") from problem
    return result | {name: _origin(claim, tables, name) for name in RESULT_COLUMNS[-5:]}


def _of_mechanism(table, mechanism):
    """Rows of one mechanism; all rows of a table without a column ``mechanism``."""
    return table[table["mechanism"] == mechanism] if "mechanism" in table else table


def _selected(claim, tables, study, mechanism, where):
    """Rows of a study's table that the claim's column ``where`` selects, with derived columns."""
    table = tables.get((study, claim.table))
    if table is None:
        raise NotEvaluated(f"there is no table {claim.table} of a study {study}")
    table = _of_mechanism(table, mechanism)
    if table.empty:
        raise NotEvaluated(f"{study}'s {claim.table} have no row of the mechanism {mechanism}")
    table, conditions = with_derived_columns(table), getattr(claim, where)
    table = table[met(table, conditions)]
    if table.empty:
        raise NotEvaluated(f"no row of {study}'s {claim.table} is selected by '{conditions}'")
    for column, order, values in comparisons(claim.needs):
        for one in (f"{column} {order} {value!r}" for value in values):
            if not met(table, one).any():
                raise NotEvaluated(f"the claim needs {one}, which {study}'s {claim.table} lack")
    for name in filter(None, (*claim.column, *claim.within, claim.along)):
        column_of(table, name)
    return table.reset_index(drop=True)


def _origin(claim, tables, name):
    """Values of a column in a study's tables, as text; empty if there is no such column."""
    for table in (claim.table, "errors"):
        found = tables.get((claim.study, table))
        if found is not None and name in found and len(found):
            found = _of_mechanism(found, claim.mechanism)
            return ", ".join(dict.fromkeys(map(str, found[name].dropna().unique())))
    return ""


def _levels(claim, numbers):
    """Verdicts on numbers that are known without error."""
    table = pd.DataFrame({"value": numbers})
    found = [met(table, criterion) for criterion in (claim.holds, claim.in_part)]
    return np.select(found, [HOLDS, IN_PART], FAILS).tolist()


def _verdict(claim, table, measured):
    """Number, interval, verdict and reason."""
    value = float(measured.replicates[0])
    low, high = np.percentile(measured.replicates[1:], (2.5, 97.5))
    # All replicates of a share close to one can lie below it, since they carry the noise of the
    # data twice.  The interval is stretched to hold its estimate.
    low, high = min(float(low), value), max(float(high), value)
    # Verdicts on all numbers of the interval: on its ends, and around each number compared with.
    numbers = [low, value, high]
    for *_, [one] in comparisons(f"{claim.holds} and {claim.in_part}"):
        numbers += [np.nextafter(one, -np.inf), one, np.nextafter(one, np.inf)]
    lowest, verdict, *levels = _levels(claim, [n for n in numbers if low <= n <= high])
    levels = {lowest, verdict, *levels}
    if measured.lower_bound:
        # What is looked for may be larger, so that the lower end of the interval decides.
        verdict, high = NOT_REFUTED if lowest == HOLDS else FAILS, np.inf
    elif levels >= {FAILS, HOLDS}:
        verdict = UNDECIDED
    elif verdict == HOLDS and IN_PART in levels:
        verdict = IN_PART
    if claim.construction and verdict == HOLDS:
        verdict = BY_CONSTRUCTION
    why = "; ".join(filter(None, (measured.says, claim.construction)))
    used = table if measured.rows is None else measured.rows
    if {"sampler", "footpoint_proposals"} <= set(used.columns):
        steps = used.loc[used["sampler"] == "random_walk", "footpoint_proposals"].unique()
        if len(steps):
            why += f"; walks of {' and '.join(f'{number:g}' for number in steps)} steps"
    if "flagged" in used and used["flagged"].any():
        cells = used.groupby(["group", "cell", "sampler"])["flagged"].any()
        why += f"; {cells.sum()} of {len(cells)} cells are flagged by their diagnostics"
    found = {"value": value, "low": low, "high": high, "interval_over": measured.over}
    return found | {"verdict": verdict, "why": why}
