"""Measures: functions from the rows of a claim to one number, with bootstrap replicates."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from geodp.errors import DataError
from reproduction.claims.conditions import column_of
from reproduction.pages import short

# Columns whose standard error over the draws of one data set is log_error_standard_error.  For a
# log error that is exact.  For the logarithm of a mean distance it is approximate: right where
# private and non-private predictions are as far apart as data are from the fit (which is where
# verdicts change), too large where they are farther apart, and too small where they are closer.
DESCRIBED = ("log_error", "log_gap", "log_error_change", "log_mean_prediction_distance")

# Signs of changes that are in the stated order.
DIRECTIONS = {"": -1.0, "falls": -1.0, "rises": 1.0}


class NotEvaluated(Exception):
    """A claim cannot be evaluated on the tables; the message is the reason."""


class Measured(NamedTuple):
    """The number of a measure, with bootstrap replicates."""

    replicates: np.ndarray  # (1 + replicates,): the number, then its replicates.
    over: str  # Units that were resampled, such as "20 data sets".
    says: str  # The number in words.
    rows: pd.DataFrame | None = None  # Those that were used, if not all.
    lower_bound: bool = False  # Of what the claim is about, without an upper one.


class Measure(NamedTuple):
    """A function from a claim and its rows to a number, and the columns of the claim it needs.

    ``compute`` takes a claim, its rows, a generator and a number of replicates to a `Measured`;
    with ``against`` among ``needed`` also the rows of the other study.
    """

    compute: Callable
    needed: tuple[str, ...]  # Columns of a claim that must not be empty.
    columns: int | None  # How many ``column`` names; None for one or more.


# Measures by name.
MEASURES = {}


def measure(*needed, columns=1):
    """Decorator that adds a function to `MEASURES`."""

    def register(function):
        MEASURES[function.__name__] = Measure(function, needed, columns)
        return function

    return register


class CellStatistics(NamedTuple):
    """A statistic of a column for each cell, with bootstrap replicates."""

    cells: pd.DataFrame  # A row a cell, with what is constant in it.
    values: np.ndarray  # (1 + replicates, cells): that of the table, then replicates.
    over: str  # Units that were resampled.

    def nodes(self, keys):
        """Means over the cells that share values of ``keys``: a row a node, indexed by these."""
        table = pd.DataFrame(self.values.T, pd.MultiIndex.from_frame(self.cells[keys]))
        return table.groupby(level=keys, dropna=False).mean()


def cell_statistics(table, column, rng, replicates, statistic=np.mean):
    """Bootstrap a statistic of a column, cell by cell: a mean or a median.

    Data sets are resampled within a group, jointly in all its cells, which share them; or draws, in
    a table with a row for each of them and no data sets.  With a single data set in a table of data
    sets the draws vary instead: replicates follow a t distribution with the standard
    errors of the table, and the number of footpoints less one as degrees of freedom.  A table with
    several rows for one cell and data set is refused.
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
        numbers = part.pivot(index=unit, columns="cell", values=column).to_numpy(dtype=float)
        if not np.all(np.isfinite(numbers)):
            raise NotEvaluated(f"{column} is missing or infinite for some cell and data set")
        count = len(numbers)
        sizes.add(count)
        if count == 1:
            again = _with_spread(frames[-1], column, numbers[0], rng, replicates)
        elif statistic is np.mean:
            chosen = rng.integers(count, size=(replicates, count))
            chosen += count * np.arange(replicates)[:, None]
            times = np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape)
            # Divided last, so that a mean of ones is exactly one.
            again = (times @ numbers) / count
        else:
            again = statistic(numbers[rng.integers(count, size=(replicates, count))], axis=1)
        values.append(np.vstack([statistic(numbers, axis=0), again]))
    over = f"{_span(sizes)} {_units(table)}"
    if sizes == {1}:
        over = "one data set" if column == "not_below" else "draws of one data set"
    return CellStatistics(pd.concat(frames, ignore_index=True), np.hstack(values), over)


def _with_spread(cells, column, numbers, rng, replicates):
    """Replicates of the numbers of one data set, over its draws."""
    shape = (replicates, len(numbers))
    if not replicates or column == "not_below":
        # Whether an error is below another is known without error.
        return np.broadcast_to(numbers, shape)
    if column not in DESCRIBED:
        raise NotEvaluated(f"one data set gives {column} no interval")
    spread, footpoints = (
        column_of(cells, name).to_numpy(dtype=float)
        for name in ("log_error_standard_error", "footpoints")
    )
    if not np.all(np.isfinite(spread)) or np.any(footpoints < 2):
        raise NotEvaluated("one data set with one footpoint a cell gives no interval")
    return numbers + spread * rng.standard_t(footpoints - 1.0, size=shape)


def _span(sizes):
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low} to {high}"


def _units(table):
    """What a table has several of: data sets, settings of a mechanism, or draws of one data set."""
    if "data_set" in table:
        return "data sets"
    return "settings" if "setting" in table else "draws of one data set"


def _plain(name):
    return name.replace("_", " ")


# --- Curves: means of a column over the levels of another ---


def _curves(claim, table, rng, replicates):
    """Means of ``column`` over the levels of ``along``, a curve for each combination of ``within``.

    Curves are arrays (1 + replicates, levels), levels in order; with the units resampled.
    """
    by_cell = cell_statistics(table, claim.column[0], rng, replicates)
    nodes = by_cell.nodes([*claim.within, claim.along])
    curves = [nodes.to_numpy().T]
    if claim.within:
        parts = nodes.groupby(level=claim.within, dropna=False)
        curves = [part.to_numpy().T for _, part in parts]
    if max(curve.shape[1] for curve in curves) < 2:
        raise NotEvaluated(f"nothing to compare, as {_plain(claim.along)} has one level")
    return curves, by_cell.over


def _changes_between(curve):
    """Pairs of levels of a curve, the lower first, and changes of its mean between them."""
    lower, upper = np.triu_indices(curve.shape[1], 1)
    return lower, upper, curve[:, upper] - curve[:, lower]


@measure("along")
def share_ordered(claim, table, rng, replicates):
    """Share of the pairs of levels of ``along`` whose means are in the stated order.

    Pairs are formed within each combination of ``within``.  ``direction`` says whether the mean of
    ``column`` over data sets falls or rises with ``along``.
    """
    curves, over = _curves(claim, table, rng, replicates)
    changes = np.hstack([_changes_between(curve)[-1] for curve in curves])
    ordered = DIRECTIONS[claim.direction] * changes > 0.0
    says = f"{ordered[0].sum()} of {ordered.shape[1]} comparisons have the order stated"
    return Measured(np.mean(ordered, axis=1), over, says)


@measure("along")
def share_worst_at_ends(claim, table, rng, replicates):
    """Share of the ends of curves that lie above all values between the ends."""
    curves, over = _curves(claim, table, rng, replicates)
    curves = [curve for curve in curves if curve.shape[1] > 2]
    if not curves:
        raise NotEvaluated(f"no curve has a budget between its ends along {_plain(claim.along)}")
    above = np.hstack([c[:, [0, -1]] > np.max(c[:, 1:-1], axis=1, keepdims=True) for c in curves])
    says = f"{above[0].sum()} of {above.shape[1]} ends lie above all between them"
    return Measured(np.mean(above, axis=1), over, says)


@measure("along")
def share_unimodal(claim, table, rng, replicates):
    """Share of the pairs of levels on one side of a curve's minimum that have a valley's order.

    The nearer to the minimum the lower, and pairs on both sides do not count.  A curve whose
    minimum is one of its ends has no valley: none of its pairs has the order.
    """
    curves, over = _curves(claim, table, rng, replicates)
    ordered, counted = 0, 0
    for curve in curves:
        lower, upper, change = _changes_between(curve)
        bottom = np.argmin(curve, axis=1)[:, None]
        falling, rising = upper <= bottom, lower >= bottom
        inside = (bottom > 0) & (bottom < curve.shape[1] - 1)
        valley = inside & ((falling & (change < 0)) | (rising & (change > 0)))
        ordered = ordered + np.sum(valley, axis=1)
        counted = counted + np.sum(falling | rising, axis=1)
    of = f"{ordered[0]} of {counted[0]} comparisons"
    return Measured(ordered / counted, over, f"{of} on one side of a minimum have a valley's order")


@measure("along")
def approach(claim, table, rng, replicates):
    """Ratio of the mean of ``column`` at the largest level of ``along`` to that at the smallest.

    With several curves (combinations of ``within``) the largest ratio.
    """
    curves, over = _curves(claim, table, rng, replicates)
    ratios = [curve[:, -1] / curve[:, 0] for curve in curves if curve.shape[1] > 1]
    found = np.max(ratios, axis=0)
    worst = f" (the worst of {len(ratios)} curves)" if len(ratios) > 1 else ""
    level = _plain(claim.along)
    says = f"the gap at the largest {level} is {short(found[0])} of that at the smallest{worst}"
    return Measured(found, over, says)


def _slope(x, y):
    """Slope of the logarithm of y against that of x, by least squares."""
    x = np.log(x) - np.mean(np.log(x))
    return np.log(y) @ x / np.sum(x**2)


@measure("along")
def power(claim, table, rng, replicates):
    """Slope of the logarithm of means against that of ``along``, by least squares."""
    by_cell = cell_statistics(table, claim.column[0], rng, replicates)
    nodes = by_cell.nodes([claim.along])
    if len(nodes) < 2:
        raise NotEvaluated(f"{_plain(claim.along)} has one level")
    found = _slope(nodes.index.to_numpy(dtype=float), nodes.to_numpy().T)
    return Measured(found, by_cell.over, f"the power is {short(found[0])}")


# --- Means and medians over cells ---


@measure()
def share_never_below(claim, table, rng, replicates):
    """Share of cells and data sets whose private error is not below the non-private one."""
    by_cell = cell_statistics(table, claim.column[0], rng, replicates)
    reached = int(table[claim.column[0]].sum())
    says = f"{reached} of {len(table)} errors are not below the non-private"
    return Measured(np.mean(by_cell.values, axis=1), by_cell.over, says)


@measure()
def mean_value(claim, table, rng, replicates):
    """Mean over cells of the mean of ``column`` over data sets."""
    by_cell = cell_statistics(table, claim.column[0], rng, replicates)
    found = np.mean(by_cell.values, axis=1)
    low, high = (short(extreme(by_cell.values[0])) for extreme in (min, max))
    by = f", from {low} to {high} by cell" if low != high else ""
    return Measured(found, by_cell.over, f"the mean is {short(found[0])}{by}")


@measure(columns=2)
def median_ratio(claim, table, rng, replicates):
    """Median over data sets of the ratio of two columns, given by their logarithms.

    Of several cells the largest median.
    """
    above, below = claim.column
    table = table.assign(**{above: table[above] - table[below]})
    by_cell = cell_statistics(table, above, rng, replicates, np.median)
    found = np.exp(np.max(by_cell.values, axis=1))
    return Measured(found, by_cell.over, f"the median ratio is {short(found[0])}")


@measure("against_where")
def share_meeting(claim, table, rng, replicates):
    """Share of what a table has a row of that ``against_where`` selects; these are resampled."""
    met = claim.against_where.met(table)
    found = float(np.mean(met))
    again = rng.binomial(len(met), found, size=replicates) / len(met)
    over = f"{len(met)} {_units(table)}"
    says = f"{np.sum(met)} of {over} meet {_plain(claim.against_where.text)}"
    return Measured(np.append(found, again), over, says)


# --- Extreme values and pairs of neighbours ---


def _extreme(claim, table, replicates, extreme, word):
    """An extreme value of ``column``, without an interval: one exception refutes a "never"."""
    values = table[claim.column[0]].to_numpy(dtype=float)
    if not np.all(np.isfinite(values)):
        raise NotEvaluated(f"{claim.column[0]} is missing or infinite for some pair")
    found = float(extreme(values))
    of = f"{word} of {len(values)} values" if len(values) > 1 else "value"
    sizes = set(table.groupby(claim.along).size())
    over = "one value" if sizes == {1} else f"{_span(sizes)} pairs"
    return Measured(np.full(1 + replicates, found), over, f"the {of} is {short(found)}")


@measure("along")
def smallest(claim, table, rng, replicates):
    """Smallest value of ``column``."""
    return _extreme(claim, table, replicates, np.min, "smallest")


@measure("along")
def largest(claim, table, rng, replicates):
    """Largest value of ``column``."""
    return _extreme(claim, table, replicates, np.max, "largest")


@measure()
def largest_found(claim, table, rng, replicates):
    """Largest value of ``column``, where a search may have missed larger ones."""
    found = float(table[claim.column[0]].max())
    says = f"the largest found at n = {_span(set(table['n']))} is {short(found)}, a lower bound"
    every = np.full(1 + replicates, found)
    return Measured(every, "the neighbours of a search", says, lower_bound=True)


def _resampled_pairs(claim, table, rng, replicates):
    """Values of each column for each level of ``along``, pairs resampled within a level.

    A list of arrays of shape (1 + replicates, pairs); columns of a level are resampled alike.
    """
    if not np.all(np.isfinite(table[claim.column].to_numpy(dtype=float))):
        raise NotEvaluated(f"{' '.join(claim.column)} is missing or infinite for some pair")
    values, sizes = [], set()
    for _, part in table.groupby(claim.along, sort=True):
        count = len(part)
        sizes.add(count)
        chosen = np.vstack([np.arange(count), rng.integers(count, size=(replicates, count))])
        values += [part[name].to_numpy(dtype=float)[chosen] for name in claim.column]
    return values, f"{_span(sizes)} pairs"


@measure("along", columns=None)
def largest_median(claim, table, rng, replicates):
    """Largest of the medians of the columns, one for each level of ``along``."""
    values, over = _resampled_pairs(claim, table, rng, replicates)
    medians = np.array([np.median(part, axis=1) for part in values])
    found, least = np.max(medians, axis=0), short(np.min(medians[:, 0]))
    of = f"the largest of {len(medians)} medians is {short(found[0])}"
    return Measured(found, over, f"{of} and the smallest {least}")


@measure("along", columns=None)
def share_outlying(claim, table, rng, replicates):
    """Share of values outside the whiskers of box plots, a box a column and level of ``along``.

    Whiskers reach one and a half interquartile ranges beyond the quartiles, as is usual.
    """
    values, over = _resampled_pairs(claim, table, rng, replicates)
    outside = []
    for part in values:
        low, high = np.quantile(part, [0.25, 0.75], axis=1, keepdims=True)
        reach = 1.5 * (high - low)
        outside.append((part < low - reach) | (part > high + reach))
    outside = np.hstack(outside)
    says = f"{outside[0].sum()} of {outside.shape[1]} ratios lie beyond the whiskers of their box"
    return Measured(np.mean(outside, axis=1), over, says)


# --- Walks beside draws ---


def _walks(claim, table):
    """Steps and differences of walks, the numbers of walks and of draws, and these in words."""
    walks = table[table["kind"] == "random_walk"].sort_values("step")
    drawn = table[table["kind"] == "default"]
    if walks.empty or len(drawn) != 1:
        raise NotEvaluated("there are no walks, or no independent draws to compare them with")
    steps, gaps = walks[["step", claim.column[0]]].to_numpy(dtype=float).T
    if not np.all(np.isfinite(gaps)):
        raise NotEvaluated(f"{claim.column[0]} is missing for some step")
    first, numbers = walks.iloc[0], np.array([walks["states"].iloc[0], drawn["states"].iloc[0]])
    setting = f"(n = {first['n']}, footpoint budget {first['budget_footpoint']:g})"
    return steps, gaps, numbers, f"{numbers[0]:.0f} walks and {numbers[1]:.0f} draws", setting


@measure()
def walk_to_draws(claim, table, rng, replicates):
    """``column``, the largest difference of the distribution functions of walks and of draws, at
    the last step.

    It is at most the total variation distance of a chain's end from what it should be drawn from,
    and so can refute that this is small and not confirm it.  The lower end of its interval follows
    from the inequality of Dvoretzky, Kiefer and Wolfowitz.
    """
    steps, gaps, numbers, over, setting = _walks(claim, table)
    found, words = gaps[-1], f"after {steps[-1]:g} steps the distribution functions differ by up to"
    # Each sample is farther from its distribution with probability 0.025 at most.
    off = np.sum(np.sqrt(np.log(2.0 / 0.025) / (2.0 * numbers)))
    # Percentiles of these are the ends.
    again = np.repeat(np.clip([found - off, found + off], 0.0, 1.0), -(-replicates // 2))
    says = f"{words} {short(found)} {setting}"
    return Measured(np.append(found, again), over, says, lower_bound=True)


@measure()
def walk_rate(claim, table, rng, replicates):
    """Slope of the logarithm of that difference against that of the number of steps.

    By least squares, over the steps at which it falls from 0.2 to 0.03: a rate is about many steps,
    and the last before thousands of walks do not tell the difference from none.  What the
    difference cannot see may fall more slowly.
    """
    least, most = 0.03, 0.2
    steps, gaps, numbers, over, setting = _walks(claim, table)
    first = np.max(np.flatnonzero(gaps >= most), initial=-1) + 1
    last = np.min(np.flatnonzero(gaps[first:] <= least), initial=len(gaps) - first) + first
    if last - first < 3:
        raise NotEvaluated("fewer than three recorded steps lie where the difference falls")
    steps, gaps = steps[first:last], gaps[first:last]
    # No standard deviation of a difference of two shares is larger.
    noise = rng.standard_normal((replicates, len(gaps))) * 0.5 * np.sqrt(np.sum(1.0 / numbers))
    found = _slope(steps, np.vstack([gaps, np.maximum(gaps + noise, 0.1 * least)]))
    says = (
        f"from {steps[0]:g} to {steps[-1]:g} steps the difference falls like the power "
        f"{short(found[0])} of their number {setting}"
    )
    return Measured(found, over, says, lower_bound=True)


# --- Two tables beside each other ---


def _changes(table, other, key, rng, replicates, otherwise):
    """Log errors less those of other rows with the same group, key and data set, cell by cell."""
    for name in ("log_error", "log_error_standard_error"):
        column_of(table, name)
    both = table.merge(other, on=["group", key, "data_set"], suffixes=("", "_other"))
    if both.empty:
        raise NotEvaluated(otherwise)
    spreads = both["log_error_standard_error"], both["log_error_standard_error_other"]
    both = both.assign(
        log_error_change=both["log_error"] - both["log_error_other"],
        log_error_standard_error=np.hypot(*spreads),
    )
    return both, cell_statistics(both, "log_error_change", rng, replicates)


@measure()
def sampler_difference(claim, table, rng, replicates):
    """Mean over cells of the log error of the random walk less that of the default sampler."""
    walked, drawn = (table[table["sampler"] == name] for name in ("random_walk", "default"))
    otherwise = "no cell has draws of both samplers"
    both, by_cell = _changes(walked, drawn, "cell", rng, replicates, otherwise)
    found = np.mean(by_cell.values, axis=1)
    changes = zip(by_cell.cells["cell"], by_cell.values[0], strict=True)
    cells = ", ".join(f"{name} {short(change)}" for name, change in changes)
    says = f"the log error changes by {short(found[0])} on average over cells ({cells})"
    used = table.merge(both[["group", "cell", "data_set"]])
    return Measured(found, by_cell.over, says, used)


@measure("against")
def share_nearer(claim, table, rng, replicates, other):
    """Share of groups and budgets in all at which errors are below those of the other rows."""
    otherwise = "no group has both at the same budget in all"
    _, by_cell = _changes(table, other, "budget", rng, replicates, otherwise)
    changes = by_cell.values[0]
    least, middle, most = (short(np.exp(each)) for each in np.quantile(changes, (0.0, 0.5, 1.0)))
    says = (
        f"errors are smaller in {np.sum(changes < 0.0)} of {len(changes)} cells; mean squared "
        f"errors are {least} to {most} times those they are compared with, {middle} times in the "
        "median cell"
    )
    return Measured(np.mean(by_cell.values < 0.0, axis=1), by_cell.over, says)


def _shared(keys, *tables):
    """Means of two tables, frames (nodes, 1 + replicates), at the nodes that they share."""
    mine, theirs = (each.nodes(keys) for each in tables)
    return mine.align(theirs, join="inner", axis=0)


@measure("within", "against")
def rank_correlation(claim, table, rng, replicates, other):
    """Spearman correlation of two studies' curves over the points (``within``) they share."""
    both = [cell_statistics(part, claim.column[0], rng, replicates) for part in (table, other)]
    mine, theirs = _shared(claim.within, *both)
    if len(mine) < 3:
        raise NotEvaluated(f"the studies share {len(mine)} points, and three are needed")
    with np.errstate(invalid="ignore"):
        found = mine.rank().corrwith(theirs.rank()).to_numpy()
    says = f"the rank correlation over {len(mine)} points is {short(found[0])}"
    return Measured(found, " and ".join(dict.fromkeys(each.over for each in both)), says)


def _beside(claim, table, other, rng, replicates):
    """Means over the levels of ``along`` that two tables share, and the units resampled."""
    # Mechanisms of one study have the same data sets, which are resampled alike.
    alike = claim.other[0] == claim.study
    seeds = rng.integers(2**63, size=2)
    both = [
        cell_statistics(each, claim.column[0], np.random.default_rng(seed), replicates)
        for each, seed in zip((table, other), seeds[[0, 0 if alike else 1]], strict=True)
    ]
    mine, theirs = _shared([claim.along], *both)
    if mine.empty:
        raise NotEvaluated(f"the two have no {_plain(claim.along)} in common")
    return mine.to_numpy().T, theirs.to_numpy().T, both[0].over


@measure("along", "against")
def share_below(claim, table, rng, replicates, other):
    """Share of the levels of ``along`` at which the mean is below that of the other rows."""
    mine, theirs, over = _beside(claim, table, other, rng, replicates)
    below = mine < theirs
    times = f"{short(np.mean(mine[0] / theirs[0]))} times the mean it is compared with"
    says = f"the mean is {times}"
    if below.shape[1] > 1:
        says = (
            f"the mean is the smaller one at {below[0].sum()} of {below.shape[1]} values of "
            f"{_plain(claim.along)}, and {times} on average"
        )
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
        says += f", averaged over {_plain(claim.along)} ({ends})"
    return Measured(found, over, says)


@measure("along", "against")
def reduction_fall(claim, table, rng, replicates, other):
    """The number of `reduction` at the smallest level of ``along`` less that at the largest."""
    mine, theirs, over = _beside(claim, table, other, rng, replicates)
    each = 1.0 - mine / theirs
    first, last = (_lower(value) for value in each[0, [0, -1]])
    says = f"the mean is {first} at the smallest {_plain(claim.along)} and {last} at the largest"
    return Measured(each[:, 0] - each[:, -1], over, says)


def _lower(reduction):
    return f"{short(100.0 * abs(reduction))} % {'higher' if reduction < 0.0 else 'lower'}"
