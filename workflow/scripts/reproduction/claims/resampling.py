"""Statistics of the cells of a table, with bootstrap replicates."""

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
