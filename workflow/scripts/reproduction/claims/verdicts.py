"""Verdicts on the claims of papers, computed from the tables of a run.

A claim is a row of text: a measure, the rows of a table it looks at, and two comparisons of the
number it gives.  The number has an interval over data sets (or over pairs, or over draws), and the
comparisons decide whether the claim holds, holds in part or does not hold.
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

TABLES = ("errors", "diagnostics", "neighbours")

# Columns of a claim that its verdict repeats.
REPEATED = ("claim", "section", "figure", "study", "mechanism", "statement", "quantity")

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

VERDICTS = ("holds", "holds in part", "does not hold")


@dataclass(frozen=True)
class Paper:
    """A paper and its claims.

    Attributes
    ----------
    name : str
    source : str
        Name of the table of claims in messages.
    claims : DataFrame of str
        A row a claim, with the columns `CLAIM_COLUMNS`; identifiers are unique.
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


def judge(papers, tables, stream, replicates=REPLICATES):
    """Verdicts on the claims of papers.

    Parameters
    ----------
    papers : list of Paper
        Of different names.
    tables : dict of DataFrame
        By (study, table); a table is one of `TABLES`.
    stream : callable
        From a claim's identifier to the `numpy.random.Generator` of its bootstrap.
    replicates : int

    Returns
    -------
    DataFrame
        A row a claim: ``paper``, those of `REPEATED`, ``value``, ``low`` and ``high`` (95 %
        percentile interval, stretched to hold the value), ``interval_over``, ``criterion``,
        ``verdict`` (empty if not evaluated), ``why``, and those of `ORIGIN`.

    Raises
    ------
    DataError
        A claim names a column that its table has not, or papers share a name.
    """
    names = [paper.name for paper in papers]
    for name in names:
        if names.count(name) > 1:
            raise DataError(f"{names.count(name)} papers are called {name}: name each differently")
    found = [
        {"paper": paper.name, **_judged(claim, place, tables, stream(claim["claim"]), replicates)}
        for paper in papers
        for place, claim in _placed(paper.claims, paper.source)
    ]
    return pd.DataFrame(found)


def _judged(claim, place, tables, rng, replicates):
    """Row of one claim in the table of verdicts, without its paper."""
    result = {
        **{name: claim[name] for name in REPEATED},
        "value": np.nan,
        "low": np.nan,
        "high": np.nan,
        "interval_over": "",
        "criterion": f"holds: {claim['holds']}; in part: {claim['in_part']}",
        "verdict": "",
    }
    try:
        table = _selected(claim, tables, claim["study"], "where", place)
        others = (
            [_selected(claim, tables, claim["against"], "against_where", place)]
            if claim["against"]
            else []
        )
        with _at(place):
            measured = MEASURES[claim["measure"]].compute(claim, table, rng, replicates, *others)
        if not np.all(np.isfinite(measured.replicates)):
            raise NotEvaluated("the number or its interval is not finite")
        result |= _verdict(claim, table, measured, place)
    except NotEvaluated as problem:
        result["why"] = f"not evaluated: {problem}"
    return result | {name: _origin(claim, tables, name) for name in ORIGIN}


def _selected(claim, tables, study, where, place):
    """Rows of a study's table that the claim's column ``where`` selects, with derived columns."""
    if (study, claim["table"]) not in tables:
        raise NotEvaluated(f"there is no table {claim['table']} of a study {study}")
    table = of_mechanism(tables[study, claim["table"]], claim["mechanism"])
    if table.empty:
        raise NotEvaluated(
            f"{study}'s {claim['table']} have no row of the mechanism {claim['mechanism']}"
        )
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
        if found is not None and name in found.columns and len(found):
            return ", ".join(dict.fromkeys(str(value) for value in found[name].dropna()))
    return ""


_READ = {"value": "the value", "low": "the lower end", "high": "the upper end"}


def _in_words(criterion):
    text = criterion.strip().replace(">=", "≥").replace("<=", "≤")
    for name, words in _READ.items():
        text = " ".join(words if part == name else part for part in text.split())
    return text


def _verdict(claim, table, measured, place):
    value = float(measured.replicates[0])
    low, high = np.percentile(measured.replicates[1:], BOUNDS)
    # All replicates of a share close to one can lie below it, since they carry the noise of the
    # data twice.  The interval is stretched to hold its estimate.
    low, high = min(float(low), value), max(float(high), value)
    met = {}
    for column in ("holds", "in_part"):
        with _at(f"{place}, column {column}"):
            met[column] = parse_criterion(claim[column])(value, low, high)
    wanted, less = _in_words(claim["holds"]), _in_words(claim["in_part"])
    if met["holds"]:
        verdict, judged = "holds", f"{wanted} was wanted"
    elif met["in_part"]:
        verdict, judged = "holds in part", f"{wanted} was wanted, and only {less} is met"
    else:
        verdict, judged = "does not hold", f"{wanted} was wanted, and not even {less} is met"
    why = f"{measured.says}; {judged}"
    used = table if measured.rows is None else measured.rows
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
