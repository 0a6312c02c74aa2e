"""Verdicts on the claims of papers, computed from the tables of a run.

A claim is a sentence of a paper.  It has one row of a table, or several: its *parts*, which must
all hold, and other *readings* of it, in settings of our own, which do not count.  A row is a
measure, the rows of a study's table it looks at, and two comparisons of the number it gives.  The
number has an interval over data sets (or over pairs, or over draws).  A row holds, holds in part or
does not hold, or it is undecided, where the interval reaches from numbers for which it holds to
numbers for which it does not.
"""

from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodp.errors import DataError
from reproduction.claims.criteria import parse_criterion
from reproduction.claims.measures import DIRECTIONS, MEASURES, NotEvaluated
from reproduction.claims.selection import (
    column_of,
    of_mechanism,
    parse_selection,
    with_derived_columns,
)

REPLICATES = 1000

# Percentiles of the replicates that bound an interval.
BOUNDS = (2.5, 97.5)

TABLES = ("errors", "neighbours", "losses", "convergence", "bounds", "draws")

# Columns of a row of claims that its verdict repeats.
REPEATED = (
    "claim",
    "part",
    "reading",
    "section",
    "figure",
    "study",
    "mechanism",
    "statement",
    "quantity",
)

CLAIM_COLUMNS = (
    *REPEATED,
    "measure",
    "table",
    "where",
    "along",
    "within",
    "column",
    "direction",
    "against",
    "against_where",
    "holds",
    "in_part",
)

# Columns of a verdict that describe the tables it is computed from.
ORIGIN = ("data", "manifold", "support", "seed", "lock")

HOLDS, IN_PART, FAILS, UNDECIDED = "holds", "holds in part", "does not hold", "undecided"
VERDICTS = (HOLDS, IN_PART, FAILS, UNDECIDED)


def sentence_of(claim):
    """Identifier of the sentence that a row belongs to: what stands before a point."""
    return claim.partition(".")[0]


@dataclass(frozen=True)
class Paper:
    """A paper and its claims.

    Attributes
    ----------
    name : str
    source : str
        Name of the table of claims in messages.
    claims : DataFrame of str
        Rows of claims, with the columns `CLAIM_COLUMNS`; identifiers are unique.  Rows of one
        sentence follow one another, and the first has the statement.
    """

    name: str
    source: str
    claims: pd.DataFrame

    def __post_init__(self):
        check_claims(self.claims, self.source)


def read_paper(name, text, source):
    """Read and check the table of a paper's claims.

    Parameters
    ----------
    name : str
    text : iterable of str
        An open file of comma-separated values with a header.
    source : str
        Name of the table in messages.

    Returns
    -------
    Paper

    Raises
    ------
    DataError
        One sentence that names the table and, where there is one, the row and the column.
    """
    try:
        claims = pd.read_csv(text, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as problem:
        reason = " ".join(str(problem).split())
        raise DataError(
            f"{source}: it is no table of comma-separated values ({reason}): correct it"
        ) from problem
    return Paper(name, source, claims)


def check_claims(claims, source):
    """Raise a `DataError` for claims that cannot be evaluated on any table."""
    for name in CLAIM_COLUMNS:
        if name not in claims.columns:
            raise DataError(f"{source}, row 1: there is no column {name}: add it")
    if claims.empty:
        raise DataError(f"{source}: it holds no claim: add one, or leave the paper out")
    for place, claim in _placed(claims, source):
        if not claim["claim"] or (claims["claim"] == claim["claim"]).sum() > 1:
            raise DataError(
                f"{place}, column claim: it is empty or not the only one of its name: give each "
                "claim a name of its own"
            )
        _check_place_in_sentence(claims, claim, place)
        if not claim["mechanism"]:
            raise DataError(
                f"{place}, column mechanism: it is empty: name the mechanism the claim is about"
            )
        for column, allowed in (("measure", MEASURES), ("table", TABLES)):
            if claim[column] not in allowed:
                raise DataError(
                    f"{place}, column {column}: there is no {column} '{claim[column]}': use one of "
                    f"{', '.join(allowed)}"
                )
        if claim["direction"] not in ("", *DIRECTIONS):
            raise DataError(
                f"{place}, column direction: '{claim['direction']}' is neither of "
                f"{' and '.join(DIRECTIONS)}: use one of them or leave it empty"
            )
        _check_needs(claim, place)
        parsers = dict.fromkeys(("where", "against_where"), parse_selection)
        parsers |= dict.fromkeys(("holds", "in_part"), parse_criterion)
        for column, parse in parsers.items():
            with _at(f"{place}, column {column}"):
                parse(claim[column])


def _check_place_in_sentence(claims, claim, place):
    """Refuse a row that does not say what it is of its sentence."""
    sentence = sentence_of(claim["claim"])
    same = [sentence_of(name) == sentence for name in claims["claim"]]
    rows = claims[same]
    first = rows["claim"].iloc[0] == claim["claim"]
    if first != bool(claim["statement"]):
        raise DataError(
            f"{place}, column statement: the first row of a sentence has its statement, and no "
            "other: " + ("fill it in" if first else "leave it empty")
        )
    if np.ptp(np.flatnonzero(same)) >= len(rows):
        raise DataError(f"{place}: other rows stand between those of {sentence}: put them together")
    if first and claim["reading"]:
        raise DataError(f"{place}, column reading: the first row of a sentence counts: empty it")
    if claim["reading"] and claim["part"]:
        raise DataError(f"{place}, column reading: the row is a part of its sentence: empty one")
    if not claim["reading"] and not claim["part"] and (rows["reading"] == "").sum() > 1:
        raise DataError(f"{place}, column part: its sentence has several: say which one it is")


def _check_needs(claim, place):
    """Refuse a claim that does not give its measure what it needs."""
    name, measure = claim["measure"], MEASURES[claim["measure"]]
    for column in measure.needed:
        if not claim[column].strip():
            raise DataError(
                f"{place}, column {column}: it is empty and {name} needs it: fill it in"
            )
    if claim["against"] and "against" not in measure.needed:
        raise DataError(
            f"{place}, column against: {name} looks at one study: leave the column empty"
        )
    if len(claim["along"].split()) > 1:
        raise DataError(f"{place}, column along: it names several columns: name one")
    count = len(claim["column"].split())
    if count != measure.columns and not (count and measure.columns is None):
        wanted = "one or more" if measure.columns is None else measure.columns
        raise DataError(
            f"{place}, column column: it names {count} columns and {name} takes {wanted}: name as "
            "many"
        )


def _placed(claims, source):
    """Pairs of a claim's place, for messages, and the claim."""
    for number, (_, claim) in enumerate(claims.iterrows(), start=2):
        yield f"{source}, row {number} (claim '{claim['claim']}')", claim


@contextmanager
def _at(place):
    """Context that puts a place before the message of a `DataError`."""
    try:
        yield
    except DataError as problem:
        raise DataError(f"{place}: {problem}") from problem


# Columns of the table of verdicts.
RESULT_COLUMNS = (
    "paper",
    *REPEATED,
    *("value", "low", "high", "interval_over", "shown_value", "shown_verdict"),
    *("criterion", "verdict", "sentence_verdict", "why"),
    *ORIGIN,
)


def judge(papers, tables, stream, replicates=REPLICATES):
    """Verdicts on the claims of papers.

    Parameters
    ----------
    papers : list of Paper
        Of different names.
    tables : dict of DataFrame or str
        By (study, table); a table is one of `TABLES`.  Text in place of one that is not there says
        what makes it.
    stream : callable
        From a claim's identifier to the `numpy.random.Generator` of its bootstrap.
    replicates : int

    Returns
    -------
    DataFrame
        The columns `RESULT_COLUMNS`, a row for each row of claims about a study that is there, of
        sentences of which a row that counts is about such a study.
        ``low`` and ``high`` are a 95 % percentile interval, stretched to hold the value;
        ``shown_value`` and ``shown_verdict`` are those of the first of several data sets;
        ``verdict`` is empty if the row was not evaluated, and ``sentence_verdict`` is that of all
        rows of the sentence that count.

    Raises
    ------
    DataError
        A claim names a column that its table has not, or papers share a name.
    """
    names = [paper.name for paper in papers]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{names.count(name)} papers are called {name}: name each differently")
    studies = {study for study, _ in tables}
    found = []
    for paper in papers:
        statements = {}
        counts = paper.claims["study"].isin(studies) & (paper.claims["reading"] == "")
        counting = set(paper.claims.loc[counts, "claim"].map(sentence_of))
        for place, claim in _placed(paper.claims, paper.source):
            sentence = sentence_of(claim["claim"])
            claim["statement"] = statements.setdefault(sentence, claim["statement"])
            if claim["study"] in studies and sentence in counting:
                judged = _judged(claim, place, tables, stream(claim["claim"]), replicates)
                found.append({"paper": paper.name, **judged})
    found = pd.DataFrame(found, columns=RESULT_COLUMNS)
    sentences = [found["paper"], found["claim"].map(sentence_of)]
    for _, rows in found[found["reading"] == ""].groupby(sentences, sort=False):
        of_all = found["paper"].eq(rows["paper"].iloc[0]) & sentences[1].isin(
            rows["claim"].map(sentence_of)
        )
        found.loc[of_all, "sentence_verdict"] = _together(rows["verdict"])
    return found


def _together(verdicts):
    """Verdict on a sentence, from those on its parts; empty if no part could be evaluated."""
    # A part that could not be evaluated may hold or not.
    found = {verdict or UNDECIDED for verdict in verdicts}
    if not any(verdicts):
        return ""
    if IN_PART in found or {HOLDS, FAILS} <= found:
        return IN_PART
    return UNDECIDED if UNDECIDED in found else found.pop()


def _judged(claim, place, tables, rng, replicates):
    """Row of verdicts for one row of claims, without its paper."""
    result = {
        **{name: claim[name] for name in REPEATED},
        "value": np.nan,
        "low": np.nan,
        "high": np.nan,
        "interval_over": "",
        "shown_value": np.nan,
        "shown_verdict": "",
        "criterion": f"holds: {claim['holds']}; in part: {claim['in_part']}",
        "verdict": "",
        "sentence_verdict": "",
    }
    try:
        table = _selected(claim, tables, claim["study"], claim["mechanism"], "where", place)
        # Another study, and its mechanism if that is another too.
        study, _, mechanism = claim["against"].partition(" ")
        mechanism = mechanism or claim["mechanism"]
        others = (
            [_selected(claim, tables, study, mechanism, "against_where", place)] if study else []
        )
        with _at(place):
            measured = MEASURES[claim["measure"]].compute(claim, table, rng, replicates, *others)
        if not np.all(np.isfinite(measured.replicates)):
            raise NotEvaluated("the number or its interval is not finite")
        criteria = _criteria(claim, place)
        result |= _verdict(criteria, table, measured)
        result |= _on_the_shown_data_set(claim, criteria, table, others, place)
    except NotEvaluated as problem:
        result["why"] = f"not evaluated: {problem}"
    return result | {name: _origin(claim, tables, name) for name in ORIGIN}


def _on_the_shown_data_set(claim, criteria, table, others, place):
    """Number and verdict for the first data set, which is like the one of the paper's figures.

    Nothing where there is no other one.
    """
    if "data_set" not in table or table["data_set"].nunique() < 2:
        return {}
    shown = [part[part["data_set"] == 0].reset_index(drop=True) for part in (table, *others)]
    compute = MEASURES[claim["measure"]].compute
    with _at(place):
        # The curves of a figure are what they are: no interval, and no random numbers.
        measured = compute(claim, shown[0], np.random.default_rng(0), 0, *shown[1:])
    value = float(measured.replicates[0])
    return {"shown_value": value, "shown_verdict": ORDER[_level(criteria, value)]}


def _selected(claim, tables, study, mechanism, where, place):
    """Rows of a study's table that the claim's column ``where`` selects, with derived columns."""
    table = tables.get((study, claim["table"]))
    if not isinstance(table, pd.DataFrame):
        raise NotEvaluated(table or f"there is no table {claim['table']} of a study {study}")
    table = of_mechanism(table, mechanism)
    if table.empty:
        raise NotEvaluated(f"{study}'s {claim['table']} have no row of the mechanism {mechanism}")
    table = with_derived_columns(table)
    with _at(f"{place}, column {where}"):
        table = table[parse_selection(claim[where])(table)]
    if table.empty:
        raise NotEvaluated(f"no row of {study}'s {claim['table']} is selected by '{claim[where]}'")
    for column in ("column", "within", "along"):
        with _at(f"{place}, column {column}"):
            for name in claim[column].split():
                column_of(table, name)
    return table.reset_index(drop=True)


def _origin(claim, tables, name):
    """Values of a column in a study's tables, as text; empty if there is no such column."""
    for table in (claim["table"], "errors"):
        found = tables.get((claim["study"], table))
        if isinstance(found, pd.DataFrame) and name in found.columns and len(found):
            found = of_mechanism(found, claim["mechanism"])
            return ", ".join(dict.fromkeys(map(str, found[name].dropna().unique())))
    return ""


# Verdicts by level.
ORDER = (FAILS, IN_PART, HOLDS)


def _criteria(claim, place):
    """The two criteria of a claim, each with the numbers it compares with."""
    criteria = {}
    for column in ("holds", "in_part"):
        with _at(f"{place}, column {column}"):
            criteria[column] = parse_criterion(claim[column])
    return criteria


def _level(criteria, value):
    """Place of the verdict on a number, known without error, in `ORDER`."""
    (holds, _), (in_part, _) = criteria["holds"], criteria["in_part"]
    return 2 if holds(value) else int(in_part(value))


def _levels(criteria, low, value, high):
    """Levels of all numbers of an interval: of its ends, and around each number compared with."""
    numbers = [low, value, high]
    for _, compared in criteria.values():
        for one in compared:
            numbers += [np.nextafter(one, -np.inf), one, np.nextafter(one, np.inf)]
    return {_level(criteria, number) for number in numbers if low <= number <= high}


def _verdict(criteria, table, measured):
    value = float(measured.replicates[0])
    low, high = np.percentile(measured.replicates[1:], BOUNDS)
    # All replicates of a share close to one can lie below it, since they carry the noise of the
    # data twice.  The interval is stretched to hold its estimate.
    low, high = min(float(low), value), max(float(high), value)
    if measured.lower_bound:
        high = np.inf
    levels = _levels(criteria, low, value, high)
    verdict = ORDER[_level(criteria, value)]
    if levels >= {0, 2}:
        verdict = UNDECIDED
    elif verdict == HOLDS and 1 in levels:
        verdict = IN_PART
    why = measured.says
    used = table if measured.rows is None else measured.rows
    if {"sampler", "footpoint_proposals"} <= set(used.columns):
        steps = used.loc[used["sampler"] == "random_walk", "footpoint_proposals"].unique()
        if len(steps):
            why += f"; walks of {' and '.join(f'{number:g}' for number in steps)} steps"
    if "flagged" in used.columns and used["flagged"].any():
        cells = used.groupby(["group", "cell", "sampler"])["flagged"].any()
        why += f"; {cells.sum()} of {len(cells)} cells are flagged by their diagnostics"
    return {
        "value": value,
        "low": low,
        "high": high,
        "interval_over": measured.over,
        "verdict": verdict,
        "why": why,
    }
