"""Measures: functions from the rows of a claim to one number, with bootstrap replicates.

Arrays of replicates have the number first: shape (1 + replicates, ...).
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduction.claims.conditions import met
from reproduction.claims.resampling import (
    NotEvaluated,
    beside,
    cell_statistics,
    curves,
    log_changes,
    pairs,
    plain,
    shared_nodes,
    span,
    units,
    values,
)
from reproduction.pages import short


class Measured(NamedTuple):
    """The number of a measure, with bootstrap replicates."""

    replicates: np.ndarray  # (1 + replicates,)
    over: str  # Units that were resampled, such as "20 data sets".
    says: str  # The number in words.
    rows: pd.DataFrame | None = None  # Those that were used, if not all.
    lower_bound: bool = False  # Of what the claim is about, without an upper one.


# Measures by name.
MEASURES: dict[str, Callable[..., Measured]] = {}


def measure(*needed, of=None, columns=1):
    """Decorator that adds a function to `MEASURES`.

    A measure takes a claim, its rows, a generator and a number of replicates to a `Measured`; with
    ``against`` among ``needed`` also the rows of the other study.  ``needed`` are columns of a
    claim that must not be empty, and ``columns`` how many ``column`` names; None for one or more.
    With ``of``, a function of `resampling`, the measure takes the claim and resampled statistics
    to its replicates and to words.
    """

    def register(function):
        def measured(claim, *given):
            if of is None:
                return function(claim, *given)
            *statistics, over = of(claim, *given)
            found, says = function(claim, *statistics)
            return Measured(found, over, says)

        measured.needed, measured.columns = needed, columns
        MEASURES[function.__name__] = measured
        return function

    return register


def _share(met, words):
    """Share of what is met, booleans (1 + replicates, number)."""
    return np.mean(met, axis=1), f"{met[0].sum()} of {met.shape[1]} {words}"


# --- Curves: means of a column over the levels of another ---


def _changes_between(curve):
    """Pairs of levels of a curve, the lower first, and changes of its mean between them."""
    lower, upper = np.triu_indices(curve.shape[1], 1)
    return lower, upper, curve[:, upper] - curve[:, lower]


@measure("along", of=curves)
def share_ordered(claim, curves):
    """Share of the pairs of levels of ``along`` whose means are in the order of ``direction``."""
    changes = np.hstack([_changes_between(curve)[-1] for curve in curves])
    ordered = changes > 0.0 if claim.direction == "rises" else changes < 0.0
    return _share(ordered, "comparisons have the order stated")


@measure("along", of=curves)
def share_worst_at_ends(claim, curves):
    """Share of the ends of curves that lie above all values between the ends."""
    curves = [curve for curve in curves if curve.shape[1] > 2]
    if not curves:
        raise NotEvaluated(f"no curve has a budget between its ends along {plain(claim.along)}")
    above = np.hstack([c[:, [0, -1]] > np.max(c[:, 1:-1], axis=1, keepdims=True) for c in curves])
    return _share(above, "ends lie above all between them")


@measure("along", of=curves)
def share_unimodal(claim, curves):
    """Share of the pairs of levels on one side of a curve's minimum that have a valley's order.

    The nearer to the minimum the lower, and pairs on both sides do not count.  A curve whose
    minimum is one of its ends has no valley: none of its pairs has the order.
    """
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
    return ordered / counted, f"{of} on one side of a minimum have a valley's order"


@measure("along", of=curves)
def approach(claim, curves):
    """Ratio of the mean of ``column`` at the largest level of ``along`` to that at the smallest.

    With several curves (combinations of ``within``) the largest ratio.
    """
    ratios = [curve[:, -1] / curve[:, 0] for curve in curves if curve.shape[1] > 1]
    found = np.max(ratios, axis=0)
    worst = f" (the worst of {len(ratios)} curves)" if len(ratios) > 1 else ""
    level = plain(claim.along)
    return (
        found,
        f"the gap at the largest {level} is {short(found[0])} of that at the smallest{worst}",
    )


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
        raise NotEvaluated(f"{plain(claim.along)} has one level")
    found = _slope(nodes.index.to_numpy(dtype=float), nodes.to_numpy().T)
    return Measured(found, by_cell.over, f"the power is {short(found[0])}")


# --- Means and medians over cells ---


@measure()
def share_never_below(claim, table, rng, replicates):
    """Share of cells and data sets whose private error is not below the non-private one."""
    by_cell = cell_statistics(table, claim.column[0], rng, replicates)
    reached = int(table[claim.column[0]].sum())
    says = f"{reached} of {len(table)} errors are not below the non-private"
    return Measured(by_cell.mean, by_cell.over, says)


@measure()
def mean_value(claim, table, rng, replicates):
    """Mean over cells of the mean of ``column`` over data sets."""
    by_cell = cell_statistics(table, claim.column[0], rng, replicates)
    low, high = (short(extreme(by_cell.values[0])) for extreme in (min, max))
    by = f", from {low} to {high} by cell" if low != high else ""
    return Measured(by_cell.mean, by_cell.over, f"the mean is {short(by_cell.mean[0])}{by}")


@measure(columns=2)
def median_ratio(claim, table, rng, replicates):
    """Median over data sets of the ratio of two columns, given by their logarithms.

    If there are several cells, the largest of their medians.
    """
    above, below = claim.column
    table = table.assign(**{above: table[above] - table[below]})
    by_cell = cell_statistics(table, above, rng, replicates, np.median)
    found = np.exp(np.max(by_cell.values, axis=1))
    return Measured(found, by_cell.over, f"the median ratio is {short(found[0])}")


@measure("against_where")
def share_meeting(claim, table, rng, replicates):
    """Share of what a table has a row of that ``against_where`` selects; these are resampled."""
    chosen = met(table, claim.against_where)
    found = float(np.mean(chosen))
    again = rng.binomial(len(table), found, size=replicates) / len(table)
    over = f"{len(table)} {units(table)}"
    says = f"{np.sum(chosen)} of {over} meet {plain(claim.against_where)}"
    return Measured(np.append(found, again), over, says)


# --- Extreme values and pairs of neighbours ---


def _extreme(found, values, word):
    number = values.shape[1]
    of = f"{word} of {number} values" if number > 1 else "value"
    return found, f"the {of} is {short(found[0])}"


@measure("along", of=values)
def smallest(claim, values):
    """Smallest value of ``column``."""
    return _extreme(np.min(values, axis=1), values, "smallest")


@measure("along", of=values)
def largest(claim, values):
    """Largest value of ``column``."""
    return _extreme(np.max(values, axis=1), values, "largest")


@measure()
def largest_found(claim, table, rng, replicates):
    """Largest value of ``column``, where a search may have missed larger ones."""
    found = float(table[claim.column[0]].max())
    says = f"the largest found at n = {span(set(table['n']))} is {short(found)}, a lower bound"
    every = np.full(1 + replicates, found)
    return Measured(every, "the neighbours of a search", says, lower_bound=True)


@measure("along", of=pairs, columns=None)
def largest_median(claim, values):
    """Largest of the medians of the columns, one for each level of ``along``."""
    medians = np.array([np.median(part, axis=1) for part in values])
    found, least = np.max(medians, axis=0), short(np.min(medians[:, 0]))
    of = f"the largest of {len(medians)} medians is {short(found[0])}"
    return found, f"{of} and the smallest {least}"


@measure("along", of=pairs, columns=None)
def share_outlying(claim, values):
    """Share of values outside the whiskers of box plots, a box a column and level of ``along``.

    Whiskers reach one and a half interquartile ranges beyond the quartiles, as is usual.
    """
    outside = []
    for part in values:
        low, high = np.quantile(part, [0.25, 0.75], axis=1, keepdims=True)
        reach = 1.5 * (high - low)
        outside.append((part < low - reach) | (part > high + reach))
    return _share(np.hstack(outside), "ratios lie beyond the whiskers of their box")


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


# --- Two samplers, mechanisms or studies ---


@measure()
def sampler_difference(claim, table, rng, replicates):
    """Mean over cells of the log error of the random walk less that of the default sampler."""
    walked, drawn = (table[table["sampler"] == name] for name in ("random_walk", "default"))
    otherwise = "no cell has draws of both samplers"
    both, by_cell = log_changes(walked, drawn, "cell", rng, replicates, otherwise)
    changes = zip(by_cell.cells["cell"], by_cell.values[0], strict=True)
    cells = ", ".join(f"{name} {short(change)}" for name, change in changes)
    says = f"the log error changes by {short(by_cell.mean[0])} on average over cells ({cells})"
    used = table.merge(both[["group", "cell", "data_set"]])
    return Measured(by_cell.mean, by_cell.over, says, used)


@measure("against")
def share_nearer(claim, table, rng, replicates, other):
    """Share of groups and budgets in all at which errors are below those of the other rows."""
    otherwise = "no group has both at the same budget in all"
    _, by_cell = log_changes(table, other, "budget", rng, replicates, otherwise)
    changes = by_cell.values[0]
    least, middle, most = (short(np.exp(each)) for each in np.quantile(changes, (0.0, 0.5, 1.0)))
    says = (
        f"errors are smaller in {np.sum(changes < 0.0)} of {len(changes)} cells; mean squared "
        f"errors are {least} to {most} times those they are compared with, {middle} times in the "
        "median cell"
    )
    return Measured(np.mean(by_cell.values < 0.0, axis=1), by_cell.over, says)


@measure("within", "against")
def rank_correlation(claim, table, rng, replicates, other):
    """Spearman correlation of two studies' curves over the points (``within``) they share."""
    both = [cell_statistics(part, claim.column[0], rng, replicates) for part in (table, other)]
    mine, theirs = shared_nodes(claim.within, *both)
    if len(mine) < 3:
        raise NotEvaluated(f"the studies share {len(mine)} points, and three are needed")
    with np.errstate(invalid="ignore"):
        found = mine.rank().corrwith(theirs.rank()).to_numpy()
    says = f"the rank correlation over {len(mine)} points is {short(found[0])}"
    return Measured(found, " and ".join(dict.fromkeys(each.over for each in both)), says)


@measure("along", "against", of=beside)
def share_below(claim, mine, theirs):
    """Share of the levels of ``along`` at which the mean is below that of the other rows."""
    below = mine < theirs
    times = f"{short(np.mean(mine[0] / theirs[0]))} times the mean it is compared with"
    says = f"the mean is {times}"
    if below.shape[1] > 1:
        says = (
            f"the mean is the smaller one at {below[0].sum()} of {below.shape[1]} values of "
            f"{plain(claim.along)}, and {times} on average"
        )
    return np.mean(below, axis=1), says


@measure("along", "against", of=beside)
def reduction(claim, mine, theirs):
    """One less the ratio of means to those of the other rows, averaged over levels of ``along``."""
    each = 1.0 - mine / theirs
    found = np.mean(each, axis=1)
    says = f"the mean is {_lower(found[0])} than the one it is compared with"
    if each.shape[1] > 1:
        ends = f"from {_lower(min(each[0]))} to {_lower(max(each[0]))}"
        says += f", averaged over {plain(claim.along)} ({ends})"
    return found, says


@measure("along", "against", of=beside)
def reduction_fall(claim, mine, theirs):
    """The number of `reduction` at the smallest level of ``along`` less that at the largest."""
    each = 1.0 - mine / theirs
    first, last = (_lower(value) for value in each[0, [0, -1]])
    says = f"the mean is {first} at the smallest {plain(claim.along)} and {last} at the largest"
    return each[:, 0] - each[:, -1], says


def _lower(reduction):
    return f"{short(100.0 * abs(reduction))} % {'higher' if reduction < 0.0 else 'lower'}"
