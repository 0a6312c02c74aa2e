"""Measures that compare two samplers, mechanisms or studies."""

import numpy as np

from reproduction.claims.conditions import column_of
from reproduction.claims.measures import MEASURES, Measured, measure, plain
from reproduction.claims.resampling import NotEvaluated, cell_statistics, shared_nodes
from reproduction.pages import short

__all__ = ["MEASURES"]


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


def _beside(claim, table, other, rng, replicates):
    """Means over the levels of ``along`` that two tables share, and the units resampled."""
    # Mechanisms of one study have the same data sets, which are resampled alike.
    alike = claim.other[0] == claim.study
    seeds = rng.integers(2**63, size=2)
    both = [
        cell_statistics(each, claim.column[0], np.random.default_rng(seed), replicates)
        for each, seed in zip((table, other), seeds[[0, 0 if alike else 1]], strict=True)
    ]
    mine, theirs = shared_nodes([claim.along], *both)
    if mine.empty:
        raise NotEvaluated(f"the two have no {plain(claim.along)} in common")
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
            f"{plain(claim.along)}, and {times} on average"
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
        says += f", averaged over {plain(claim.along)} ({ends})"
    return Measured(found, over, says)


@measure("along", "against")
def reduction_fall(claim, table, rng, replicates, other):
    """The number of `reduction` at the smallest level of ``along`` less that at the largest."""
    mine, theirs, over = _beside(claim, table, other, rng, replicates)
    each = 1.0 - mine / theirs
    first, last = (_lower(value) for value in each[0, [0, -1]])
    says = f"the mean is {first} at the smallest {plain(claim.along)} and {last} at the largest"
    return Measured(each[:, 0] - each[:, -1], over, says)


def _lower(reduction):
    return f"{short(100.0 * abs(reduction))} % {'higher' if reduction < 0.0 else 'lower'}"
