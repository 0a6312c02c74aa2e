"""Measures: functions from the rows of a claim to one number, with bootstrap replicates."""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pandas as pd

from reproduction.claims.resampling import NotEvaluated, cell_statistics, span, units
from reproduction.pages import short


class Measured(NamedTuple):
    """The number of a measure, with bootstrap replicates."""

    replicates: np.ndarray  # (1 + replicates,): the number, then its replicates.
    over: str  # Units that were resampled, such as "20 data sets".
    says: str  # The number in words.
    rows: pd.DataFrame | None = None  # Those that were used, if not all.
    lower_bound: bool = False  # Of what the claim is about, without an upper one.


# Measures by name.
MEASURES: dict[str, Callable[..., Measured]] = {}


def measure(*needed, columns=1):
    """Decorator that adds a function to `MEASURES`.

    It takes a claim, its rows, a generator and a number of replicates to a `Measured`; with
    ``against`` among ``needed`` also the rows of the other study.  ``needed`` are columns of a
    claim that must not be empty, and ``columns`` how many ``column`` names; None for one or more.
    """

    def register(function):
        function.needed, function.columns = needed, columns
        MEASURES[function.__name__] = function
        return function

    return register


def _share(met, over, words):
    """Share of what is met, booleans of shape (1 + replicates, number)."""
    return Measured(np.mean(met, axis=1), over, f"{met[0].sum()} of {met.shape[1]} {words}")


def plain(name):
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
        raise NotEvaluated(f"nothing to compare, as {plain(claim.along)} has one level")
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
    ordered = changes > 0.0 if claim.direction == "rises" else changes < 0.0
    return _share(ordered, over, "comparisons have the order stated")


@measure("along")
def share_worst_at_ends(claim, table, rng, replicates):
    """Share of the ends of curves that lie above all values between the ends."""
    curves, over = _curves(claim, table, rng, replicates)
    curves = [curve for curve in curves if curve.shape[1] > 2]
    if not curves:
        raise NotEvaluated(f"no curve has a budget between its ends along {plain(claim.along)}")
    above = np.hstack([c[:, [0, -1]] > np.max(c[:, 1:-1], axis=1, keepdims=True) for c in curves])
    return _share(above, over, "ends lie above all between them")


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
    level = plain(claim.along)
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
    over = f"{len(met)} {units(table)}"
    says = f"{np.sum(met)} of {over} meet {plain(claim.against_where.text)}"
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
    over = "one value" if sizes == {1} else f"{span(sizes)} pairs"
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
    says = f"the largest found at n = {span(set(table['n']))} is {short(found)}, a lower bound"
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
    return values, f"{span(sizes)} pairs"


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
    return _share(outside, over, "ratios lie beyond the whiskers of their box")


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
