"""Measures: functions from the rows of a claim to one number, with bootstrap replicates."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import pandas as pd

from geodp.errors import DataError
from reproduction.claims.selection import column_of, parse_selection
from reproduction.pages import short

# Columns whose standard error over the draws of one data set is log_error_standard_error.  For a
# log error that is exact.  For the logarithm of a mean distance it is approximate: right where
# private and non-private predictions are as far apart as data are from the fit (which is where
# verdicts change), too large where they are farther apart, and too small where they are closer.
DESCRIBED = ("log_error", "log_gap", "log_error_change", "log_mean_prediction_distance")


# Differences of distribution functions between which their fall is measured.  A rate is about many
# steps: so the last before thousands of walks do not tell the difference from none.
RESOLVED = (0.03, 0.2)


class NotEvaluated(Exception):
    """A claim cannot be evaluated on the tables; the message is the reason."""


@dataclass(frozen=True)
class Measured:
    """The number of a measure, with bootstrap replicates.

    Attributes
    ----------
    replicates : ndarray, shape (1 + replicates,)
        The number, then its bootstrap replicates.
    over : str
        Units that were resampled, such as "20 data sets".
    says : str
        The number in words.
    rows : DataFrame, optional
        The rows that were used, if not all that were selected.
    lower_bound : bool
        Whether the number is a lower bound of what the claim is about, without an upper one.
    """

    replicates: np.ndarray
    over: str
    says: str
    rows: pd.DataFrame | None = None
    lower_bound: bool = False


@dataclass(frozen=True)
class Measure:
    """A function from a claim and its rows to a number, and the columns of the claim it needs.

    Attributes
    ----------
    compute : callable
        From a claim, its rows, a generator and a number of replicates to a `Measured`; with
        ``against`` among ``needed`` also from the rows of the other study.
    needed : tuple of str
        Columns of a claim that must not be empty.
    columns : int or None
        How many columns of the table ``column`` names; None for one or more.
    """

    compute: Callable
    needed: tuple[str, ...]
    columns: int | None


# Measures by name.
MEASURES = {}


def measure(*needed, columns=1):
    """Decorator that adds a function to `MEASURES`."""

    def register(function):
        MEASURES[function.__name__] = Measure(function, needed, columns)
        return function

    return register


@dataclass(frozen=True)
class CellStatistics:
    """A statistic of a column for each cell, with bootstrap replicates.

    Attributes
    ----------
    cells : DataFrame
        A row a cell, with the columns of the table that are constant in a cell.
    values : ndarray, shape (1 + replicates, cells)
        The statistic over data sets: first that of the table, then replicates.
    over : str
        Units that were resampled.
    """

    cells: pd.DataFrame
    values: np.ndarray
    over: str

    def nodes(self, keys):
        """Means over the cells that share values of ``keys``: these values, and means by node."""
        grouped = self.cells.groupby(list(keys), sort=True, dropna=False)
        numbers = grouped.ngroup().to_numpy()
        weights = np.zeros((len(self.cells), grouped.ngroups))
        weights[np.arange(len(numbers)), numbers] = 1.0
        weights /= weights.sum(axis=0)
        return grouped.size().reset_index()[list(keys)], self.values @ weights


def cell_statistics(table, column, rng, replicates, statistic="mean"):
    """Bootstrap a statistic of a column, cell by cell.

    Without replicates the statistic alone is computed.

    Data sets are resampled within a group, jointly in all its cells, which share them; or draws, in
    a table with a row for each of them and no data sets.  With a single data set in a table of data
    sets the draws vary instead: replicates follow a t distribution with the standard
    errors of the table, and the number of footpoints less one as degrees of freedom.

    Parameters
    ----------
    table : DataFrame
    column : str
    rng : numpy.random.Generator
    replicates : int
    statistic : {"mean", "median"}

    Returns
    -------
    CellStatistics

    Raises
    ------
    DataError
        Several rows for one cell and data set.
    NotEvaluated
        Numbers are missing, or a single data set gives no interval.
    """
    frames, values, sizes = [], [], set()
    unit = "data_set" if "data_set" in table else "draw"
    for _, part in table.groupby("group", sort=True):
        if part.duplicated(["cell", unit]).any():
            raise DataError(
                "it selects several rows for one cell and data set: name one sampler there"
            )
        # Columns that vary within a cell keep their first value, which nothing uses.
        frames.append(part.drop_duplicates("cell").sort_values("cell"))
        wide = part.pivot(index=unit, columns="cell", values=column).sort_index(axis=1)
        numbers = wide.to_numpy(dtype=float)
        if not np.all(np.isfinite(numbers)):
            raise NotEvaluated(f"{column} is missing or infinite for some cell and data set")
        count = len(numbers)
        sizes.add(count)
        if count == 1:
            again = _with_spread(frames[-1], column, numbers[0], rng, replicates)
        elif statistic == "mean":
            chosen = rng.integers(count, size=(replicates, count))
            chosen += count * np.arange(replicates)[:, None]
            times = np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape)
            # Divided last, so that a mean of ones is exactly one.
            again = (times @ numbers) / count
        else:
            again = np.median(numbers[rng.integers(count, size=(replicates, count))], axis=1)
        found = np.mean(numbers, axis=0) if statistic == "mean" else np.median(numbers, axis=0)
        values.append(np.vstack([found, again]))
    if sizes == {1}:
        over = "one data set" if column == "not_below" else "draws of one data set"
    else:
        over = f"{_span(sizes)} {_units(table)}"
    return CellStatistics(pd.concat(frames, ignore_index=True), np.hstack(values), over)


def _with_spread(cells, column, numbers, rng, replicates):
    if not replicates:
        return np.empty((0, len(numbers)))
    if column == "not_below":
        # Whether an error is below another is known without error.
        return np.broadcast_to(numbers, (replicates, len(numbers)))
    if column not in DESCRIBED:
        raise NotEvaluated(f"one data set gives {column} no interval")
    for name in ("log_error_standard_error", "footpoints"):
        column_of(cells, name)
    spread = cells["log_error_standard_error"].to_numpy(dtype=float)
    freedom = cells["footpoints"].to_numpy(dtype=float) - 1.0
    if not np.all(np.isfinite(spread)) or np.any(freedom < 1):
        raise NotEvaluated("one data set with one footpoint a cell gives no interval")
    return numbers + spread * rng.standard_t(freedom, size=(replicates, len(numbers)))


def _span(sizes):
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low} to {high}"


def _units(table):
    """What a table has several of: data sets, or draws of one."""
    return "data sets" if "data_set" in table else "draws of one data set"


def _plain(name):
    return name.replace("_", " ")


def _curves(claim, table, rng, replicates):
    """Means of ``column`` over the levels of ``along``, a curve for each combination of ``within``.

    Returns
    -------
    curves : list of ndarray, shape (1 + replicates, levels)
        Levels are in order.
    over : str
        Units that were resampled.
    """
    by_cell = cell_statistics(table, claim["column"], rng, replicates)
    within = claim["within"].split()
    # Nodes are sorted by their keys, so levels within a combination come in order.
    nodes, values = by_cell.nodes([*within, claim["along"]])
    if not within:
        return [values], by_cell.over
    numbers = nodes.groupby(within, sort=True, dropna=False).ngroup().to_numpy()
    curves = [values[:, numbers == number] for number in range(numbers.max() + 1)]
    return curves, by_cell.over


DIRECTIONS = {"falls": -1.0, "rises": 1.0}


@measure("along")
def share_ordered(claim, table, rng, replicates):
    """Share of the pairs of levels of ``along`` whose means are in the stated order.

    Pairs are formed within each combination of ``within``.  ``direction`` says whether the mean of
    ``column`` over data sets falls or rises with ``along``.
    """
    curves, over = _curves(claim, table, rng, replicates)
    sign = DIRECTIONS[claim["direction"] or "falls"]
    changes = []
    for curve in curves:
        lower, upper = np.triu_indices(curve.shape[1], 1)
        changes.append(curve[:, upper] - curve[:, lower])
    ordered = sign * np.hstack(changes) > 0.0
    if not ordered.size:
        raise NotEvaluated(f"nothing to compare, as {_plain(claim['along'])} has one level")
    says = f"{ordered[0].sum()} of {ordered.shape[1]} comparisons have the order stated"
    return Measured(np.mean(ordered, axis=1), over, says)


@measure("along")
def share_worst_at_ends(claim, table, rng, replicates):
    """Share of the ends of curves that lie above all values between the ends.

    A curve is a combination of ``within``, over the levels of ``along``.
    """
    curves, over = _curves(claim, table, rng, replicates)
    above = []
    for curve in curves:
        if curve.shape[1] < 3:
            continue
        between = np.max(curve[:, 1:-1], axis=1)
        above += [curve[:, 0] > between, curve[:, -1] > between]
    if not above:
        raise NotEvaluated(f"no curve has a budget between its ends along {_plain(claim['along'])}")
    above = np.array(above)
    says = f"{above[:, 0].sum()} of {len(above)} ends lie above all between them"
    return Measured(np.mean(above, axis=0), over, says)


@measure("along")
def share_unimodal(claim, table, rng, replicates):
    """Share of the pairs of levels on one side of a curve's minimum that have a valley's order.

    The nearer to the minimum the lower; it may lie anywhere, and pairs on both sides do not count.
    A curve is a combination of ``within``, over the levels of ``along``.
    """
    curves, over = _curves(claim, table, rng, replicates)
    ordered, counted = 0, 0
    for curve in curves:
        lower, upper = np.triu_indices(curve.shape[1], 1)
        bottom = np.argmin(curve, axis=1)[:, None]
        falling, rising = upper <= bottom, lower >= bottom
        change = curve[:, upper] - curve[:, lower]
        ordered = ordered + np.sum((falling & (change < 0)) | (rising & (change > 0)), axis=1)
        counted = counted + np.sum(falling | rising, axis=1)
    if not np.all(counted):
        raise NotEvaluated(f"nothing to compare, as {_plain(claim['along'])} has one level")
    says = (
        f"{ordered[0]} of {counted[0]} comparisons on one side of a minimum have a valley's order"
    )
    return Measured(ordered / counted, over, says)


@measure("along")
def approach(claim, table, rng, replicates):
    """Ratio of the mean of ``column`` at the largest level of ``along`` to that at the smallest.

    With several curves (combinations of ``within``) the largest ratio.
    """
    curves, over = _curves(claim, table, rng, replicates)
    ratios = [curve[:, -1] / curve[:, 0] for curve in curves if curve.shape[1] > 1]
    if not ratios:
        raise NotEvaluated(f"nothing to compare, as {_plain(claim['along'])} has one level")
    found = np.max(ratios, axis=0)
    says = (
        f"the gap at the largest {_plain(claim['along'])} is {short(found[0])} of that at the "
        "smallest"
    )
    if len(ratios) > 1:
        says += f" (the worst of {len(ratios)} curves)"
    return Measured(found, over, says)


@measure()
def share_never_below(claim, table, rng, replicates):
    """Share of cells and data sets whose private error is not below the non-private one."""
    by_cell = cell_statistics(table, claim["column"], rng, replicates)
    count = len(table)
    found = np.mean(by_cell.values, axis=1)
    says = f"{int(table[claim['column']].sum())} of {count} errors are not below the non-private"
    return Measured(found, by_cell.over, says)


def _resampled_pairs(claim, table, rng, replicates):
    """Values of each column for each level of ``along``, pairs resampled within a level.

    A list of arrays of shape (1 + replicates, pairs); columns of a level are resampled alike.
    """
    values, sizes = [], set()
    for _, part in table.groupby(claim["along"], sort=True):
        count = len(part)
        sizes.add(count)
        chosen = np.vstack([np.arange(count), rng.integers(count, size=(replicates, count))])
        values += [part[name].to_numpy(dtype=float)[chosen] for name in claim["column"].split()]
    if not np.all([np.all(np.isfinite(part)) for part in values]):
        raise NotEvaluated(f"{claim['column']} is missing or infinite for some pair")
    return values, f"{_span(sizes)} pairs"


@measure("along")
def smallest(claim, table, rng, replicates):
    """Smallest value of ``column``, without an interval: one exception refutes a "never"."""
    return _extreme(claim, table, replicates, np.min, "smallest")


@measure("along")
def largest(claim, table, rng, replicates):
    """Largest value of ``column``, without an interval: one exception refutes a "never"."""
    return _extreme(claim, table, replicates, np.max, "largest")


def _extreme(claim, table, replicates, extreme, word):
    values = table[claim["column"]].to_numpy(dtype=float)
    if not np.all(np.isfinite(values)):
        raise NotEvaluated(f"{claim['column']} is missing or infinite for some pair")
    found = float(extreme(values))
    of = f"{word} of {len(values)} values" if len(values) > 1 else "value"
    says = f"the {of} is {short(found)}"
    sizes = set(table.groupby(claim["along"]).size())
    over = "one value" if sizes == {1} else f"{_span(sizes)} pairs"
    return Measured(np.full(1 + replicates, found), over, says)


@measure()
def largest_found(claim, table, rng, replicates):
    """Largest value of ``column``, where a search may have missed larger ones."""
    found = float(table[claim["column"]].max())
    number = ", ".join(dict.fromkeys(str(n) for n in table["n"]))
    says = f"the largest that was found at n = {number} is {short(found)}, a lower bound"
    return Measured(
        np.full(1 + replicates, found), "the neighbours of a search", says, lower_bound=True
    )


@measure("along", columns=None)
def largest_median(claim, table, rng, replicates):
    """Largest of the medians of the columns, one for each level of ``along``."""
    values, over = _resampled_pairs(claim, table, rng, replicates)
    medians = np.array([np.median(part, axis=1) for part in values])
    found = np.max(medians, axis=0)
    says = (
        f"the largest of {len(medians)} medians is {short(found[0])} and the smallest "
        f"{short(np.min(medians[:, 0]))}"
    )
    return Measured(found, over, says)


@measure("along", columns=None)
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


@measure("within", "against")
def rank_correlation(claim, table, rng, replicates, other):
    """Spearman correlation of two studies' curves over the points (``within``) they share."""
    keys = claim["within"].split()
    by_cells = [cell_statistics(part, claim["column"], rng, replicates) for part in (table, other)]
    (mine, values), (theirs, other_values) = (by_cell.nodes(keys) for by_cell in by_cells)
    shared = mine.reset_index().merge(theirs.reset_index(), on=keys, suffixes=("", "_other"))
    if len(shared) < 3:
        raise NotEvaluated(f"the studies share {len(shared)} points, and three are needed")
    first = pd.DataFrame(values[:, shared["index"]]).rank(axis=1).to_numpy()
    second = pd.DataFrame(other_values[:, shared["index_other"]]).rank(axis=1).to_numpy()
    first = first - np.mean(first, axis=1, keepdims=True)
    second = second - np.mean(second, axis=1, keepdims=True)
    with np.errstate(invalid="ignore"):
        found = np.sum(first * second, axis=1) / np.sqrt(
            np.sum(first**2, axis=1) * np.sum(second**2, axis=1)
        )
    says = f"the rank correlation over {len(shared)} points is {short(found[0])}"
    return Measured(found, " and ".join(dict.fromkeys(p.over for p in by_cells)), says)


def _walks(claim, table):
    """Rows of walks by step, the number of walks, and that of draws they are compared with."""
    walks = table[table["kind"] == "random_walk"].sort_values("step")
    drawn = table[table["kind"] == "default"]
    if walks.empty or len(drawn) != 1:
        raise NotEvaluated("there are no walks, or no independent draws to compare them with")
    if not np.all(np.isfinite(walks[claim["column"]])):
        raise NotEvaluated(f"{claim['column']} is missing for some step")
    return walks, int(walks["states"].iloc[0]), int(drawn["states"].iloc[0])


def _setting(walks):
    return f"n = {walks['n'].iloc[0]}, footpoint budget {walks['budget_footpoint'].iloc[0]:g}"


@measure()
def walk_to_draws(claim, table, rng, replicates):
    """``column``, the largest difference of the distribution functions of walks and of draws, at
    the last step.

    It is at most the total variation distance of a chain's end from what it should be drawn from,
    and so can refute that this is small and not confirm it.  The lower end of its interval follows
    from the inequality of Dvoretzky, Kiefer and Wolfowitz.
    """
    walks, *numbers = _walks(claim, table)
    found, step = (float(walks[name].iloc[-1]) for name in (claim["column"], "step"))
    # Each sample is farther from its distribution with probability 0.025 at most.
    off = sum(np.sqrt(np.log(2.0 / 0.025) / (2.0 * number)) for number in numbers)
    ends = np.clip([found - off, found + off], 0.0, 1.0)
    return Measured(
        # Percentiles of these are the ends.
        np.append(found, np.repeat(ends, -(-replicates // 2))),
        f"{numbers[0]} walks and {numbers[1]} draws",
        f"after {step:g} steps the distribution functions differ by up to {short(found)} "
        f"({_setting(walks)})",
        lower_bound=True,
    )


@measure()
def walk_rate(claim, table, rng, replicates):
    """Slope of the logarithm of that difference against that of the number of steps.

    By least squares, over the steps at which it falls from one of `RESOLVED` to the other.  What
    the difference cannot see may fall more slowly.
    """
    walks, *numbers = _walks(claim, table)
    steps, gaps = walks[["step", claim["column"]]].to_numpy(dtype=float).T
    high = np.flatnonzero(gaps >= RESOLVED[1])
    first = high[-1] + 1 if len(high) else 0
    low = np.flatnonzero(gaps[first:] <= RESOLVED[0])
    last = first + low[0] if len(low) else len(steps)
    if last - first < 3:
        raise NotEvaluated("fewer than three recorded steps lie where the difference falls")
    steps, gaps = steps[first:last], gaps[first:last]
    # No standard deviation of a difference of two shares is larger.
    spread = 0.5 * np.sqrt(sum(1.0 / number for number in numbers))
    noise = spread * rng.standard_normal((replicates, len(gaps)))
    levels = np.log(np.vstack([gaps, np.maximum(gaps + noise, 0.1 * RESOLVED[0])]))
    along = np.log(steps) - np.mean(np.log(steps))
    found = levels @ along / np.sum(along**2)
    says = (
        f"from {steps[0]:g} to {steps[-1]:g} steps the difference falls like the power "
        f"{short(found[0])} of their number ({_setting(walks)})"
    )
    over = f"{numbers[0]} walks and {numbers[1]} draws"
    return Measured(found, over, says, lower_bound=True)


def _changes(both, suffix, rng, replicates):
    """Statistics of log errors less those in columns with a suffix, cell by cell."""
    for name in ("log_error", "log_error_standard_error"):
        column_of(both, name)
    spreads = both["log_error_standard_error"], both[f"log_error_standard_error{suffix}"]
    both = both.assign(
        log_error_change=both["log_error"] - both[f"log_error{suffix}"],
        log_error_standard_error=np.hypot(*spreads),
    )
    return cell_statistics(both, "log_error_change", rng, replicates)


@measure()
def sampler_difference(claim, table, rng, replicates):
    """Mean over cells of the log error of the random walk less that of the default sampler."""
    keys = ["group", "cell", "data_set"]
    parts = {name: table[table["sampler"] == name] for name in ("random_walk", "default")}
    both = parts["random_walk"].merge(parts["default"], on=keys, suffixes=("", "_default"))
    if both.empty:
        raise NotEvaluated("no cell has draws of both samplers")
    by_cell = _changes(both, "_default", rng, replicates)
    found = np.mean(by_cell.values, axis=1)
    cells = ", ".join(
        f"{name} {short(change)}"
        for name, change in zip(by_cell.cells["cell"], by_cell.values[0], strict=True)
    )
    says = f"the log error changes by {short(found[0])} on average over cells ({cells})"
    used = table.merge(both[keys], on=keys)
    return Measured(found, by_cell.over, says, used)


@measure("against")
def share_nearer(claim, table, rng, replicates, other):
    """Share of groups and budgets in all at which errors are below those of the other rows."""
    keys = ["group", "budget", "data_set"]
    both = table.merge(other, on=keys, suffixes=("", "_other"))
    if both.empty:
        raise NotEvaluated("no group has both at the same budget in all")
    by_cell = _changes(both, "_other", rng, replicates)
    changes = by_cell.values[0]
    least, middle, most = (short(np.exp(each)) for each in np.quantile(changes, (0.0, 0.5, 1.0)))
    says = (
        f"errors are smaller in {np.sum(changes < 0.0)} of {len(changes)} cells; mean squared "
        f"errors are {least} to {most} times those they are compared with, {middle} times in the "
        "median cell"
    )
    return Measured(np.mean(by_cell.values < 0.0, axis=1), by_cell.over, says)


@measure()
def mean_value(claim, table, rng, replicates):
    """Mean over cells of the mean of ``column`` over data sets."""
    by_cell = cell_statistics(table, claim["column"], rng, replicates)
    found = np.mean(by_cell.values, axis=1)
    low, high = (short(extreme(by_cell.values[0])) for extreme in (min, max))
    by = f", from {low} to {high} by cell" if low != high else ""
    return Measured(found, by_cell.over, f"the mean is {short(found[0])}{by}")


def _beside(claim, table, other, rng, replicates):
    """Means over the levels of ``along`` that two tables share, and the units resampled."""
    # Mechanisms of one study have the same data sets, which are resampled alike.
    alike = claim["against"].partition(" ")[0] == claim["study"]
    seeds = rng.integers(2**63, size=2)
    parts = [
        cell_statistics(each, claim["column"], np.random.default_rng(seed), replicates)
        for each, seed in zip((table, other), seeds[[0, 0 if alike else 1]], strict=True)
    ]
    (mine, values), (theirs, others) = (each.nodes([claim["along"]]) for each in parts)
    shared = mine.reset_index().merge(theirs.reset_index(), on=claim["along"], suffixes=("", "_2"))
    if shared.empty:
        raise NotEvaluated(f"the two have no {_plain(claim['along'])} in common")
    return values[:, shared["index"]], others[:, shared["index_2"]], parts[0].over


@measure("against_where")
def share_meeting(claim, table, rng, replicates):
    """Share of data sets, or of draws, that ``against_where`` selects; these are resampled."""
    met = parse_selection(claim["against_where"])(table)
    found = float(np.mean(met))
    again = rng.binomial(len(met), found, size=replicates) / len(met)
    over = f"{len(met)} {_units(table)}"
    says = f"{np.sum(met)} of {over} meet {_plain(claim['against_where'])}"
    return Measured(np.append(found, again), over, says)


@measure("along", "against")
def share_below(claim, table, rng, replicates, other):
    """Share of the levels of ``along`` at which the mean is below that of the other rows."""
    mine, theirs, over = _beside(claim, table, other, rng, replicates)
    below = mine < theirs
    times = f"{short(np.mean(mine[0] / theirs[0]))} times the mean it is compared with"
    if below.shape[1] > 1:
        says = (
            f"the mean is the smaller one at {below[0].sum()} of {below.shape[1]} values of "
            f"{_plain(claim['along'])}, and {times} on average"
        )
    else:
        says = f"the mean is {times}"
    return Measured(np.mean(below, axis=1), over, says)


@measure("along", "against")
def reduction(claim, table, rng, replicates, other):
    """One less the ratio of means to those of the other rows, averaged over levels of ``along``."""
    mine, theirs, over = _beside(claim, table, other, rng, replicates)
    each = 1.0 - mine / theirs
    found = np.mean(each, axis=1)
    says = f"the mean is {_lower(found[0])} than the one it is compared with"
    if each.shape[1] > 1:
        ends = f"from {_lower(min(each[0]))} to {_lower(max(each[0]))}"
        says += f", averaged over {_plain(claim['along'])} ({ends})"
    return Measured(found, over, says)


def _lower(reduction):
    return f"{short(100.0 * abs(reduction))} % {'higher' if reduction < 0.0 else 'lower'}"


@measure("along")
def power(claim, table, rng, replicates):
    """Slope of the logarithm of means against that of ``along``, by least squares."""
    by_cell = cell_statistics(table, claim["column"], rng, replicates)
    nodes, values = by_cell.nodes([claim["along"]])
    if len(nodes) < 2:
        raise NotEvaluated(f"{_plain(claim['along'])} has one level")
    x = np.log(nodes[claim["along"]].to_numpy(dtype=float))
    x = x - np.mean(x)
    found = np.log(values) @ x / np.sum(x**2)
    return Measured(found, by_cell.over, f"the power is {short(found[0])}")


@measure(columns=2)
def median_ratio(claim, table, rng, replicates):
    """Median over data sets of the ratio of two columns, given by their logarithms.

    ``column`` names two columns that are logarithms.  Of several cells the largest median.
    """
    above, below = claim["column"].split()
    table = table.copy()
    table[above] = table[above] - table[below]
    by_cell = cell_statistics(table, above, rng, replicates, "median")
    found = np.exp(np.max(by_cell.values, axis=1))
    return Measured(found, by_cell.over, f"the median ratio is {short(found[0])}")
