"""Statistics of the rows of a claim, with bootstrap replicates.

Arrays of replicates have the statistic itself first: shape (1 + replicates, ...).
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from geodp.errors import DataError
from reproduction.claims.conditions import column_of


class NotEvaluated(Exception):
    """A claim cannot be evaluated on the tables; the message is the reason."""


class CellStatistics(NamedTuple):
    """A statistic of a column for each cell, with bootstrap replicates."""

    cells: pd.DataFrame  # A row a cell, with what is constant in it.
    values: np.ndarray  # (1 + replicates, cells): that of the table, then replicates.
    over: str  # Units that were resampled, such as "20 data sets".

    @property
    def mean(self):
        """Means over all cells: (1 + replicates,)."""
        return np.mean(self.values, axis=1)

    def nodes(self, keys):
        """Means over the cells that share values of ``keys``: a row a node, indexed by these."""
        table = pd.DataFrame(self.values.T, pd.MultiIndex.from_frame(self.cells[keys]))
        return table.groupby(level=keys, dropna=False).mean()


def cell_statistics(table, column, rng, replicates, statistic=np.mean):
    """Bootstrap a statistic of a column, cell by cell: a mean or a median.

    Data sets are resampled within a group, jointly in all its cells, which share them; or draws, in
    a table without data sets.  With a single data set its draws vary: replicates follow a t
    distribution with the standard errors of the table, and the number of footpoints less one as
    degrees of freedom.
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
        sizes.add(count := len(numbers))
        if count == 1:
            again = _over_draws(frames[-1], column, numbers[0], rng, replicates)
        elif statistic is np.mean:
            chosen = rng.integers(count, size=(replicates, count))
            chosen += count * np.arange(replicates)[:, None]
            times = np.bincount(chosen.ravel(), minlength=chosen.size).reshape(chosen.shape)
            # Divided last, so that a mean of ones is exactly one.
            again = (times @ numbers) / count
        else:
            again = statistic(numbers[rng.integers(count, size=(replicates, count))], axis=1)
        values.append(np.vstack([statistic(numbers, axis=0), again]))
    over = f"{span(sizes)} {units(table)}"
    if sizes == {1}:
        over = "one data set" if column == "not_below" else "draws of one data set"
    return CellStatistics(pd.concat(frames, ignore_index=True), np.hstack(values), over)


def shared_nodes(keys, *statistics):
    """Means of two `CellStatistics`, frames (nodes, 1 + replicates), at the nodes they share."""
    mine, theirs = (each.nodes(keys) for each in statistics)
    return mine.align(theirs, join="inner", axis=0)


def _over_draws(cells, column, numbers, rng, replicates):
    """Replicates of the numbers of one data set, over its draws."""
    shape = (replicates, len(numbers))
    if not replicates or column == "not_below":
        # Whether an error is below another is known without error.
        return np.broadcast_to(numbers, shape)
    # Their standard error is log_error_standard_error.  For a log error that is exact.  For the
    # logarithm of a mean distance it is approximate: right where private and non-private
    # predictions are as far apart as data are from the fit (which is where verdicts change), too
    # large where they are farther apart, and too small where they are closer.
    described = ("log_error", "log_gap", "log_error_change", "log_mean_prediction_distance")
    if column not in described:
        raise NotEvaluated(f"one data set gives {column} no interval")
    spread, footpoints = (
        column_of(cells, name).to_numpy(dtype=float)
        for name in ("log_error_standard_error", "footpoints")
    )
    if not np.all(np.isfinite(spread)) or np.any(footpoints < 2):
        raise NotEvaluated("one data set with one footpoint a cell gives no interval")
    return numbers + spread * rng.standard_t(footpoints - 1.0, size=shape)


def span(sizes):
    """Least and greatest of some numbers, in words."""
    low, high = min(sizes), max(sizes)
    return str(low) if low == high else f"{low} to {high}"


def units(table):
    """What a table has several of: data sets, settings of a mechanism, or draws of one data set."""
    if "data_set" in table:
        return "data sets"
    return "settings" if "setting" in table else "draws of one data set"


def plain(name):
    """A name in words."""
    return name.replace("_", " ")


# --- Statistics that several measures have in common: of a claim and its rows ---


def curves(claim, table, rng, replicates):
    """Means of ``column`` over the levels of ``along``, a curve for each combination of ``within``.

    Curves are arrays (1 + replicates, levels), levels in order.
    """
    by_cell = cell_statistics(table, claim.column[0], rng, replicates)
    nodes = by_cell.nodes([*claim.within, claim.along])
    parts = nodes.groupby(level=claim.within, dropna=False) if claim.within else [("", nodes)]
    curves = [part.to_numpy().T for _, part in parts]
    if max(curve.shape[1] for curve in curves) < 2:
        raise NotEvaluated(f"nothing to compare, as {plain(claim.along)} has one level")
    return curves, by_cell.over


def _finite(claim, table):
    """Values of the columns of a claim, an array (rows, columns)."""
    values = table[claim.column].to_numpy(dtype=float)
    if not np.all(np.isfinite(values)):
        raise NotEvaluated(f"{' '.join(claim.column)} is missing or infinite for some pair")
    return values


def values(claim, table, rng, replicates):
    """Values of ``column``, repeated: one exception refutes a "never", whatever the others are."""
    values = _finite(claim, table)[:, 0]
    sizes = set(table.groupby(claim.along).size())
    over = "one value" if sizes == {1} else f"{span(sizes)} pairs"
    return np.broadcast_to(values, (1 + replicates, len(values))), over


def pairs(claim, table, rng, replicates):
    """Values of each column for each level of ``along``, pairs resampled within a level.

    A list of arrays (1 + replicates, pairs); columns of a level are resampled alike.
    """
    table = table.assign(**dict(zip(claim.column, _finite(claim, table).T, strict=True)))
    values, sizes = [], set()
    for _, part in table.groupby(claim.along, sort=True):
        count = len(part)
        sizes.add(count)
        chosen = np.vstack([np.arange(count), rng.integers(count, size=(replicates, count))])
        values += [part[name].to_numpy()[chosen] for name in claim.column]
    return values, f"{span(sizes)} pairs"


def log_changes(table, other, key, rng, replicates, otherwise):
    """Log errors less those of other rows with the same group, key and data set, cell by cell."""
    both = table.merge(other, on=["group", key, "data_set"], suffixes=("", "_other"))
    if both.empty:
        raise NotEvaluated(otherwise)
    spread, spread_other = (
        column_of(both, f"log_error_standard_error{end}") for end in ("", "_other")
    )
    both = both.assign(
        log_error_change=column_of(both, "log_error") - both["log_error_other"],
        log_error_standard_error=np.hypot(spread, spread_other),
    )
    return both, cell_statistics(both, "log_error_change", rng, replicates)


def beside(claim, table, rng, replicates, other):
    """Means (1 + replicates, levels) at the levels of ``along`` that two tables share."""
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
