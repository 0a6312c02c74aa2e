"""Verdicts on the claims of a paper, computed from tidy tables.

A claim is a row of text: a measure, the rows of a table it looks at, and two comparisons of the
number it gives. The number has an interval over data sets (or over pairs, or over draws), and the
comparisons decide whether the claim holds, holds in part or does not hold.
"""

import ast
import operator
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.stats import rankdata

from geodp.errors import DataError

REPLICATES = 1000

# Percentiles of the replicates that bound an interval.
BOUNDS = (2.5, 97.5)

# The claims are about the published mechanism; other ones may be in the same tables.
MECHANISM = "kng_as_published"

# An error this much (relatively) below the non-private one is rounding, not a better fit.
ROUNDING = 1e-9

TABLES = ("errors", "diagnostics", "neighbours")

CLAIM_COLUMNS = (
    "claim",
    "section",
    "figure",
    "study",
    "statement",
    "quantity",
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

# The columns of a claim that its verdict repeats.
REPEATED = ("claim", "section", "figure", "study", "statement", "quantity")

# What a verdict says of the tables it rests on.
ORIGIN = ("data", "manifold", "support", "seed", "lock")

VERDICTS = ("holds", "holds in part", "does not hold")

# Columns whose spread over the draws of one data set log_error_standard_error describes. Of a log
# error it is the standard error. Of the logarithm of a mean distance it is about that where
# private and non-private predictions are as far apart as data are from the fit (which is where
# verdicts turn), too much where they are farther, and too little where they are closer.
DESCRIBED = ("log_error", "log_gap", "log_error_change", "log_mean_prediction_distance")


class NotEvaluated(Exception):
    """A claim has no number here; the message says why."""


@dataclass(frozen=True)
class Measured:
    """What a measure found.

    Attributes
    ----------
    replicates : ndarray, shape (1 + replicates,)
        The number, then the number of every bootstrap replicate.
    over : str
        What the interval is over.
    says : str
        The number in words.
    rows : DataFrame, optional
        The rows it looked at, if not all that were selected.
    """

    replicates: np.ndarray
    over: str
    says: str
    rows: pd.DataFrame | None = None


@dataclass(frozen=True)
class Panel:
    """A column of a table by cell, and bootstrap replicates of it.

    Attributes
    ----------
    cells : DataFrame
        A row a cell, with the columns of the table that are constant there.
    values : ndarray, shape (1 + replicates, cells)
        A statistic over data sets, first that of the table itself.
    over : str
    """

    cells: pd.DataFrame
    values: np.ndarray
    over: str

    def nodes(self, keys):
        """Means over the cells that share ``keys``: the keys, and values by node."""
        if not keys:
            return pd.DataFrame(index=[0]), np.mean(self.values, axis=1, keepdims=True)
        grouped = self.cells.groupby(list(keys), sort=True, dropna=False)
        numbers = grouped.ngroup().to_numpy()
        weights = np.zeros((len(self.cells), grouped.ngroups))
        weights[np.arange(len(numbers)), numbers] = 1.0
        weights /= weights.sum(axis=0)
        return grouped.size().reset_index()[list(keys)], self.values @ weights


def read_claims(text, source):
    """Read and check a table of claims.

    Parameters
    ----------
    text : iterable of str
        An open file of comma-separated values with a header.
    source : str
        What messages call the table.

    Returns
    -------
    DataFrame of str
    """
    try:
        rows = pd.read_csv(text, dtype=str, keep_default_na=False)
    except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as problem:
        reason = " ".join(str(problem).split())
        raise DataError(
            f"{source}: it is no table of comma-separated values ({reason}): correct it"
        ) from problem
    check_claims(rows, source)
    return rows


def check_claims(rows, source="claims"):
    """Refuse claims that cannot be evaluated on any table."""
    for name in CLAIM_COLUMNS:
        if name not in rows.columns:
            raise DataError(f"{source}, row 1: there is no column {name}: add it")
    for number, (_, row) in enumerate(rows.iterrows(), start=2):
        place = f"{source}, row {number} (claim '{row['claim']}')"
        if not row["claim"] or (rows["claim"] == row["claim"]).sum() > 1:
            raise DataError(
                f"{place}, column claim: it is empty or not the only one of its name: give each "
                "claim a name of its own"
            )
        if row["measure"] not in MEASURES:
            raise DataError(
                f"{place}, column measure: there is no measure '{row['measure']}': use one of "
                f"{', '.join(MEASURES)}"
            )
        if row["table"] not in TABLES:
            raise DataError(
                f"{place}, column table: there is no table '{row['table']}': use one of "
                f"{', '.join(TABLES)}"
            )
        if row["direction"] not in ("", *DIRECTIONS):
            raise DataError(
                f"{place}, column direction: '{row['direction']}' is neither of "
                f"{' and '.join(DIRECTIONS)}: use one of them or leave it empty"
            )
        for column in ("holds", "in_part"):
            parse_criterion(row[column], f"{place}, column {column}")


_COMPARISONS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_NAMES = ("value", "low", "high")


def parse_criterion(text, place):
    """Function of value, low and high from a comparison such as ``low >= 0.95``.

    Parameters
    ----------
    text : str
        Comparisons (``<``, ``<=``, ``>``, ``>=``), ``and``, ``or``, numbers, the names value, low
        and high, and arithmetic of these; nothing else is carried out.
    place : str
        Where it stands, for messages.
    """
    advice = "write comparisons of value, low and high with numbers, such as low >= 0.95"
    try:
        tree = ast.parse(text.strip(), mode="eval").body
        criterion = _truth(tree)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        raise DataError(f"{place}: '{text}' is not a criterion: {advice}") from None

    def decide(value, low, high):
        try:
            return criterion({"value": value, "low": low, "high": high})
        except (ZeroDivisionError, OverflowError):
            raise DataError(f"{place}: '{text}' divides by zero: {advice}") from None

    return decide


def _truth(node):
    """Function from names to a truth value."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(part) for part in node.values]
        every = all if isinstance(node.op, ast.And) else any
        return lambda names: every(part(names) for part in parts)
    if isinstance(node, ast.Compare) and all(type(kind) in _COMPARISONS for kind in node.ops):
        compare = [_COMPARISONS[type(kind)] for kind in node.ops]
        sides = [_amount(side) for side in (node.left, *node.comparators)]
        return lambda names: all(
            test(left(names), right(names))
            for test, left, right in zip(compare, sides[:-1], sides[1:], strict=True)
        )
    raise ValueError(node)


def _amount(node):
    """Function from names to a number."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return lambda names: float(node.value)
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return lambda names: float(names[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _amount(node.operand)
        return lambda names: -inner(names)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        carry_out, left, right = _ARITHMETIC[type(node.op)], _amount(node.left), _amount(node.right)
        return lambda names: carry_out(left(names), right(names))
    raise ValueError(node)


def with_derived_columns(table):
    """A table with the columns that claims use and the table does not hold itself.

    Budgets that should be equal differ by rounding, so ``total_budget`` and ``imbalance`` are
    rounded to nine decimals.  A column whose source is not there is left out.
    """
    table = table.copy()
    have = set(table.columns)
    if "mechanism" in have:
        table = table[table["mechanism"] == MECHANISM].copy()
    if "noise_variance" in have:
        table["noise_variance"] = pd.to_numeric(table["noise_variance"], errors="coerce")
    if {"footpoint_budget", "shooting_vector_budget"} <= have:
        first = table["footpoint_budget"].astype(float)
        second = table["shooting_vector_budget"].astype(float)
        table["total_budget"] = (first + second).round(9)
        table["imbalance"] = (first - second).abs().round(9)
        table["smaller_share"] = np.where(first < second, "footpoint", "shooting_vector")
    if "mean_squared_error" in have:
        table["log_error"] = np.log(table["mean_squared_error"])
    if "mean_prediction_distance" in have:
        table["log_mean_prediction_distance"] = np.log(table["mean_prediction_distance"])
    if "non_private_mean_squared_error" in have:
        least = table["non_private_mean_squared_error"]
        table["log_non_private_error"] = np.log(least)
        table["log_residual"] = 0.5 * np.log(least)
        if "mean_squared_error" in have:
            table["log_gap"] = table["log_error"] - table["log_non_private_error"]
            reached = table["mean_squared_error"] >= least * (1.0 - ROUNDING)
            table["not_below"] = reached.astype(float)
            if "median_squared_error" in have:
                # What privacy adds to the error: its mean over its median is far above one
                # where a few draws are far out, and does not depend on its scale.
                with np.errstate(divide="ignore", invalid="ignore"):
                    table["log_tail"] = np.log(table["mean_squared_error"] - least) - np.log(
                        table["median_squared_error"] - least
                    )
    return table


def _panel(table, column, rng, replicates, statistic="mean"):
    """A `Panel` of a column.

    Data sets are resampled within a group, alike in all its cells, since these share them.  Of a
    single data set the draws are what varies: its numbers get the spread that their standard
    errors describe, with as many degrees of freedom as there are independent footpoints.
    """
    frames, values, sizes = [], [], set()
    for _, part in table.groupby("group", sort=True):
        if part.duplicated(["cell", "data_set"]).any():
            raise DataError(
                "it selects several rows for one cell and data set: name one sampler there"
            )
        # Columns that vary within a cell are of no use as its attributes, and harmless.
        frames.append(part.drop_duplicates("cell").sort_values("cell"))
        wide = part.pivot(index="data_set", columns="cell", values=column).sort_index(axis=1)
        numbers = wide.to_numpy(dtype=float)
        if not np.all(np.isfinite(numbers)):
            raise NotEvaluated(f"{column} is missing or infinite for some cell and data set")
        count = len(numbers)
        sizes.add(count)
        if count == 1:
            again = _with_spread(frames[-1], column, numbers[0], rng, replicates)
        elif statistic == "mean":
            times = rng.multinomial(count, np.full(count, 1.0 / count), replicates)
            # Divided last, so that a mean of ones is one.
            again = (times @ numbers) / count
        else:
            again = np.median(numbers[rng.integers(count, size=(replicates, count))], axis=1)
        found = np.mean(numbers, axis=0) if statistic == "mean" else np.median(numbers, axis=0)
        values.append(np.vstack([found, again]))
    if sizes == {1}:
        over = "one data set" if column == "not_below" else "draws of one data set"
    else:
        over = f"{_span(sizes)} data sets"
    return Panel(pd.concat(frames, ignore_index=True), np.hstack(values), over)


def _with_spread(cells, column, numbers, rng, replicates):
    if column == "not_below":
        # Whether an error is below another is known; there is nothing to draw again.
        return np.broadcast_to(numbers, (replicates, len(numbers)))
    if column not in DESCRIBED:
        raise NotEvaluated(f"one data set gives {column} no interval")
    for name in ("log_error_standard_error", "footpoints"):
        _need(cells, name)
    spread = cells["log_error_standard_error"].to_numpy(dtype=float)
    freedom = cells["footpoints"].to_numpy(dtype=float) - 1.0
    if not np.all(np.isfinite(spread)) or np.any(freedom < 1):
        raise NotEvaluated("one data set with one footpoint a cell gives no interval")
    return numbers + spread * rng.standard_t(freedom, size=(replicates, len(numbers)))


def _span(sizes):
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low} to {high}"


def _need(table, name):
    if name not in table.columns:
        raise DataError(f"there is no column {name} in the table: name one that is there")


def _number(amount):
    return f"{amount:.3g}"


def _words(text):
    return text.split()


def _plain(name):
    return name.replace("_", " ")


def _curves(keys, nodes):
    """Positions of the nodes that share ``keys``, an array a combination."""
    if not keys:
        return [np.arange(len(nodes))]
    numbers = nodes.groupby(list(keys), sort=True, dropna=False).ngroup().to_numpy()
    return [np.flatnonzero(numbers == number) for number in range(numbers.max() + 1)]


DIRECTIONS = {"falls": -1.0, "rises": 1.0}


def share_ordered(claim, table, rng, replicates):
    """Share of the pairs of levels of ``along`` whose means are in the order stated.

    Pairs are within each combination of ``within``; ``direction`` says whether the mean over data
    sets of ``column`` falls or rises with ``along``.
    """
    keys = [*_words(claim["within"]), claim["along"]]
    panel = _panel(table, claim["column"], rng, replicates)
    nodes, values = panel.nodes(keys)
    sign = DIRECTIONS[claim["direction"] or "falls"]
    first, second = [], []
    # Nodes are sorted by their keys, so levels within a combination come in order.
    for members in _curves(keys[:-1], nodes):
        lower, upper = np.triu_indices(len(members), 1)
        first.append(members[lower])
        second.append(members[upper])
    first, second = np.concatenate(first), np.concatenate(second)
    if not len(first):
        raise NotEvaluated(f"nothing to compare, as {_plain(claim['along'])} has one level")
    ordered = sign * (values[:, second] - values[:, first]) > 0.0
    found = np.mean(ordered, axis=1)
    says = f"{ordered[0].sum()} of {len(first)} comparisons have the order stated"
    return Measured(found, panel.over, says)


def share_worst_at_ends(claim, table, rng, replicates):
    """Share of the ends of curves that lie above all that is between the ends.

    A curve is a combination of ``within``, over the levels of ``along``.
    """
    keys = [*_words(claim["within"]), claim["along"]]
    panel = _panel(table, claim["column"], rng, replicates)
    nodes, values = panel.nodes(keys)
    above = []
    for members in _curves(keys[:-1], nodes):
        if len(members) < 3:
            continue
        curve = values[:, members]
        between = np.max(curve[:, 1:-1], axis=1)
        above += [curve[:, 0] > between, curve[:, -1] > between]
    if not above:
        raise NotEvaluated(f"no curve has a budget between its ends along {_plain(claim['along'])}")
    above = np.array(above)
    says = f"{above[:, 0].sum()} of {len(above)} ends lie above all between them"
    return Measured(np.mean(above, axis=0), panel.over, says)


def approach(claim, table, rng, replicates):
    """Mean of ``column`` at the largest over that at the smallest level of ``along``.

    Of several curves (combinations of ``within``) the largest of these ratios.
    """
    keys = [*_words(claim["within"]), claim["along"]]
    panel = _panel(table, claim["column"], rng, replicates)
    nodes, values = panel.nodes(keys)
    ratios = [
        values[:, members[-1]] / values[:, members[0]]
        for members in _curves(keys[:-1], nodes)
        if len(members) > 1
    ]
    if not ratios:
        raise NotEvaluated(f"nothing to compare, as {_plain(claim['along'])} has one level")
    found = np.max(ratios, axis=0)
    says = (
        f"the gap at the largest {_plain(claim['along'])} is {_number(found[0])} of that at the "
        f"smallest (curves: {len(ratios)}; the worst counts)"
    )
    return Measured(found, panel.over, says)


def share_never_below(claim, table, rng, replicates):
    """Share of cells and data sets whose private error is not below the non-private one."""
    panel = _panel(table, claim["column"], rng, replicates)
    count = len(table)
    found = np.mean(panel.values, axis=1)
    says = f"{int(table[claim['column']].sum())} of {count} errors are not below the non-private"
    return Measured(found, panel.over, says)


def _resampled_pairs(claim, table, rng, replicates):
    """Values of each column for each level of ``along``, pairs resampled within a level.

    A list of arrays of shape (1 + replicates, pairs); columns of a level are resampled alike.
    """
    values, sizes = [], set()
    for _, part in table.groupby(claim["along"], sort=True):
        count = len(part)
        sizes.add(count)
        chosen = np.vstack([np.arange(count), rng.integers(count, size=(replicates, count))])
        values += [part[name].to_numpy(dtype=float)[chosen] for name in _words(claim["column"])]
    if not np.all([np.all(np.isfinite(part)) for part in values]):
        raise NotEvaluated(f"{claim['column']} is missing or infinite for some pair")
    return values, f"{_span(sizes)} pairs"


def smallest(claim, table, rng, replicates):
    """Smallest value of ``column``, pairs resampled within each level of ``along``."""
    values, over = _resampled_pairs(claim, table, rng, replicates)
    found = np.min([np.min(part, axis=1) for part in values], axis=0)
    count = sum(part.shape[1] for part in values)
    return Measured(found, over, f"the smallest of {count} values is {_number(found[0])}")


def largest_median(claim, table, rng, replicates):
    """Largest of the medians of the columns, one for each level of ``along``."""
    values, over = _resampled_pairs(claim, table, rng, replicates)
    medians = np.array([np.median(part, axis=1) for part in values])
    found = np.max(medians, axis=0)
    says = (
        f"the largest of {len(medians)} medians is {_number(found[0])} and the smallest "
        f"{_number(np.min(medians[:, 0]))}"
    )
    return Measured(found, over, says)


def share_outlying(claim, table, rng, replicates):
    """Share of values outside the whiskers of box plots, a box a column and level of ``along``.

    Whiskers reach one and a half interquartile ranges beyond the quartiles, as is usual.
    """
    values, over = _resampled_pairs(claim, table, rng, replicates)
    outside = []
    for part in values:
        low, high = np.quantile(part, [0.25, 0.75], axis=1)
        reach = 1.5 * (high - low)
        outside.append((part < (low - reach)[:, None]) | (part > (high + reach)[:, None]))
    outside = np.concatenate(outside, axis=1)
    says = f"{outside[0].sum()} of {outside.shape[1]} ratios lie beyond the whiskers of their box"
    return Measured(np.mean(outside, axis=1), over, says)


def rank_correlation(claim, table, rng, replicates, other):
    """Spearman correlation of two studies' curves over the points (``within``) they share."""
    keys = _words(claim["within"])
    panels = [_panel(part, claim["column"], rng, replicates) for part in (table, other)]
    (mine, values), (theirs, other_values) = (panel.nodes(keys) for panel in panels)
    shared = mine.reset_index().merge(theirs.reset_index(), on=keys, suffixes=("", "_other"))
    if len(shared) < 3:
        raise NotEvaluated(f"the studies share {len(shared)} points, and three are needed")
    first = rankdata(values[:, shared["index"]], axis=1)
    second = rankdata(other_values[:, shared["index_other"]], axis=1)
    first -= np.mean(first, axis=1, keepdims=True)
    second -= np.mean(second, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        found = np.sum(first * second, axis=1) / np.sqrt(
            np.sum(first**2, axis=1) * np.sum(second**2, axis=1)
        )
    says = f"the rank correlation over {len(shared)} points is {_number(found[0])}"
    return Measured(found, " and ".join(dict.fromkeys(p.over for p in panels)), says)


def share_passed(claim, table, rng, replicates):
    """Share of the cells whose chains pass their diagnostics, for every parameter."""
    _need(table, "passed")
    passed = table.groupby(["group", "cell"])["passed"].all().to_numpy(dtype=float)
    count = len(passed)
    again = rng.binomial(count, np.mean(passed), replicates) / count
    says = f"{int(passed.sum())} of {count} cells pass for both parameters"
    return Measured(np.append(np.mean(passed), again), f"{count} cells", says)


def sampler_difference(claim, table, rng, replicates):
    """Mean over cells of the log error of the random walk less that of the default sampler."""
    keys = ["group", "cell", "data_set"]
    parts = {name: table[table["sampler"] == name] for name in ("random_walk", "default")}
    both = parts["random_walk"].merge(parts["default"], on=keys, suffixes=("", "_default"))
    if both.empty:
        raise NotEvaluated("no cell has draws of both samplers")
    for name in ("log_error", "log_error_standard_error"):
        _need(both, name)
    both["log_error_change"] = both["log_error"] - both["log_error_default"]
    both["log_error_standard_error"] = np.hypot(
        both["log_error_standard_error"], both["log_error_standard_error_default"]
    )
    panel = _panel(both, "log_error_change", rng, replicates)
    found = np.mean(panel.values, axis=1)
    cells = ", ".join(
        f"{name} {_number(change)}"
        for name, change in zip(panel.cells["cell"], panel.values[0], strict=True)
    )
    says = f"the log error changes by {_number(found[0])} on average over cells ({cells})"
    used = table.merge(both[keys], on=keys)
    return Measured(found, panel.over, says, used)


def median_ratio(claim, table, rng, replicates):
    """Median over data sets of the ratio of two columns, given by their logarithms.

    ``column`` names two columns that are logarithms.  Of several cells the largest median.
    """
    above, below = _words(claim["column"])
    table = table.copy()
    table[above] = table[above] - table[below]
    panel = _panel(table, above, rng, replicates, "median")
    found = np.exp(np.max(panel.values, axis=1))
    return Measured(found, panel.over, f"the median ratio is {_number(found[0])}")


MEASURES = {
    function.__name__: function
    for function in (
        share_ordered,
        share_worst_at_ends,
        approach,
        share_never_below,
        smallest,
        largest_median,
        share_outlying,
        rank_correlation,
        share_passed,
        sampler_difference,
        median_ratio,
    )
}


def _selected(claim, tables, study, where, column_place):
    """Rows of a study's table that a query selects, with derived columns."""
    if (study, claim["table"]) not in tables:
        raise NotEvaluated(f"there is no table {claim['table']} of a study {study}")
    table = with_derived_columns(tables[study, claim["table"]])
    if where:
        try:
            table = table.query(where)
        except Exception as problem:
            # pandas raises errors of many kinds for a query that is wrong.
            reason = " ".join(str(problem).split())
            raise DataError(
                f"the query '{where}' in column {column_place} cannot be carried out ({reason}): "
                "correct it"
            ) from problem
    if table.empty:
        raise NotEvaluated(f"no row of {study}'s {claim['table']} is selected by '{where}'")
    for name in (*_words(claim["column"]), *_words(claim["within"]), *_words(claim["along"])):
        _need(table, name)
    return table.reset_index(drop=True)


def _measured(claim, tables, rng, replicates):
    table = _selected(claim, tables, claim["study"], claim["where"], "where")
    others = []
    if claim["against"]:
        others = [
            _selected(claim, tables, claim["against"], claim["against_where"], "against_where")
        ]
    return table, MEASURES[claim["measure"]](claim, table, rng, replicates, *others)


def _origin(claim, tables, name):
    """The one value of a column in a study's tables; empty if the column is not there."""
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


def evaluate_claims(rows, tables, stream, replicates=REPLICATES, source="claims"):
    """Verdicts on claims.

    Parameters
    ----------
    rows : DataFrame of str
        Claims, as `read_claims` gives them.
    tables : dict of DataFrame
        By (study, table); a table is one of ``errors``, ``diagnostics`` and ``neighbours``.
    stream : callable
        From a claim's identifier to the `numpy.random.Generator` of its bootstrap.
    replicates : int
    source : str
        What messages call the table of claims.

    Returns
    -------
    DataFrame
        A row a claim: ``claim``, ``section``, ``figure``, ``study``, ``statement``, ``quantity``,
        ``value``, ``low`` and ``high`` (95 % percentile interval, stretched to hold the value),
        ``interval_over``, ``criterion``, ``verdict`` (empty if not evaluated), ``why``, and those
        of `ORIGIN`.
    """
    check_claims(rows, source)
    found = []
    for number, (_, claim) in enumerate(rows.iterrows(), start=2):
        place = f"{source}, row {number} (claim '{claim['claim']}')"
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
            table, measured = _measured(claim, tables, stream(claim["claim"]), replicates)
            if not np.all(np.isfinite(measured.replicates)):
                raise NotEvaluated("the number or its interval is not finite")
            result |= _verdict(claim, table, measured, place)
        except NotEvaluated as problem:
            result["why"] = f"not evaluated: {problem}"
        except DataError as problem:
            message = str(problem)
            raise DataError(
                message if message.startswith(place) else f"{place}: {message}"
            ) from problem
        result |= {name: _origin(claim, tables, name) for name in ORIGIN}
        found.append(result)
    return pd.DataFrame(found)


def _verdict(claim, table, measured, place):
    value = float(measured.replicates[0])
    low, high = np.percentile(measured.replicates[1:], BOUNDS)
    # Replicates carry the noise of the data twice, so shares close to one can all lie below the
    # one observed; an interval without its own estimate would puzzle.
    low, high = min(float(low), value), max(float(high), value)
    holds, in_part = (
        parse_criterion(claim[name], f"{place}, column {name}")(value, low, high)
        for name in ("holds", "in_part")
    )
    wanted, less = _in_words(claim["holds"]), _in_words(claim["in_part"])
    if holds:
        verdict, judged = "holds", f"{wanted} was wanted"
    elif in_part:
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
