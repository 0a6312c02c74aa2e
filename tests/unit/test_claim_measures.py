"""Numbers of the measures of claims, and their replicates."""

from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from planted_claims import CELLS, DATA_SETS, convergence_table, errors_table

from reproduction.claims.conditions import with_derived_columns
from reproduction.claims.measures import MEASURES
from reproduction.claims.resampling import cell_statistics


def curves(*values):
    """A curve a row of ``values``: means over two data sets, along a column and within another."""
    rows = [
        (number, f"{number} {level}", 2.0**level, data_set, value + change)
        for number, curve in enumerate(values)
        for level, value in enumerate(curve)
        for data_set, change in enumerate((0.0, 0.0) if set(curve) <= {0, 1} else (-0.5, 0.5))
    ]
    return pd.DataFrame(rows, columns=["group", "cell", "x", "data_set", "y"])


def claim_of(column="y", **others):
    row = {"column": column.split(), "along": "x", "within": ["group"], "direction": ""}
    return SimpleNamespace(**row | {"study": "a", "other": ("b", "c")} | others)


def measured(name, claim, *tables, replicates=1):
    return MEASURES[name](claim, tables[0], np.random.default_rng(0), replicates, *tables[1:])


@pytest.mark.parametrize(
    ("measure", "values", "expected"),
    [
        ("share_ordered", [[3, 2, 1], [2, 3, 2.5]], 4 / 6),
        ("share_ordered", [[1, 2, 4], [1, 3, 2]], 1 / 6),
        ("share_ordered, rises", [[1, 2, 4], [1, 3, 2]], 5 / 6),
        ("share_worst_at_ends", [[2, 1, 3], [1, 2, 3]], 3 / 4),
        *(("share_unimodal", [[3, 1, 2]], 1.0), ("share_unimodal", [[4, 1, 3, 2]], 3 / 4)),
        # Without a valley, whose bottom is no end.
        ("share_unimodal", [[3, 2, 1], [1, 2, 3], [3, 1, 2]], 2 / 8),
        *(("approach", [[4, 1], [4, 3]], 0.75), ("power", [[8, 2, 0.5]], -2.0)),
        *(("mean_value", [[1, 2], [3, 6]], 3.0), ("share_never_below", [[1, 0], [1, 1]], 0.75)),
        *(("smallest", [[3, 1, 2]], 0.5), ("largest", [[3, 1, 2]], 3.5)),
    ],
)
def test_numbers_of_curves(measure, values, expected):
    measure, _, direction = measure.partition(", ")
    found = measured(measure, claim_of(direction=direction), curves(*values))
    assert found.replicates[0] == pytest.approx(expected)


@pytest.mark.parametrize(
    ("measure", "expected"),
    [("largest_median", 3.0), ("share_outlying", 2 / 16), ("median_ratio", np.exp(-0.5))],
)
def test_numbers_of_two_columns(measure, expected):
    table = pd.DataFrame({"x": [1] * 4 + [2] * 4, "a": [1, 2, 3, 4, 3, 3, 3, 90]})
    table["b"] = [0, 0, 0, -80, 1, 2, 3, 4]
    if measure == "median_ratio":
        table = pd.DataFrame({"group": 1, "cell": [1, 1, 1, 2, 2, 2], "data_set": [0, 1, 2] * 2})
        table = table.assign(a=1.0, b=[0.0, 1.5, 9.0, 0.0, 3.0, 9.0])
    found = measured(measure, claim_of("a b"), table)
    assert found.replicates[0] == pytest.approx(expected)


def test_rows_that_meet_a_condition_are_counted_and_resampled():
    claim = claim_of(against_where="width <= 0.3")
    table = pd.DataFrame({"width": [0.1, 0.2, 0.3, 0.4]})
    found = measured("share_meeting", claim, table, replicates=500)
    assert (found.replicates[0], found.says[:6]) == (0.75, "3 of 4")
    assert abs(np.mean(found.replicates[1:]) - 0.75) < 0.1


def test_derived_columns_follow_from_their_sources():
    error, least = "mean_squared_error", "non_private_mean_squared_error"
    table = pd.DataFrame({error: [5.0, 2.0 - 1e-12, 1.9], least: [1.0, 2.0, 2.0]})
    found = with_derived_columns(table.assign(median_squared_error=3.0))
    assert found["log_gap"].tolist() == pytest.approx(np.log([5.0, 1.0, 0.95]))
    # An error below another by rounding alone is not below it.
    assert found["not_below"].tolist() == [1.0, 1.0, 0.0]
    assert found["log_tail"][0] == pytest.approx(np.log(4.0 / 2.0))
    assert "tau_over_n" not in found


def test_mechanisms_of_one_study_are_resampled_alike():
    """Their data sets are the same, whose noise then cancels from ratios."""
    table = curves([1, 1.2, 1.4])
    for other, least, most in (("a", 0.0, 1e-12), ("b", 0.1, 9.0)):
        claim, twice = claim_of(other=(other, "another")), table.assign(y=2.0 * table["y"])
        found = measured("reduction", claim, table, twice, replicates=50).replicates
        assert found[0] == pytest.approx(0.5)
        assert least <= np.ptp(found) <= most


@pytest.mark.parametrize(
    ("levels", "expected"), [([1, 2, 3, 9], 1.0), ([4, 3, 2, 1], -1.0), ([0, 2, 1, 3], 0.8)]
)
def test_rank_correlations(levels, expected):
    claim = claim_of(within=["x"])
    found = measured("rank_correlation", claim, curves([0, 1, 2, 3]), curves(levels))
    assert found.replicates[0] == pytest.approx(expected)


def test_the_rate_of_a_walk_is_the_power_by_which_its_difference_falls():
    found = measured("walk_rate", claim_of("difference"), convergence_table("sphere"))
    assert found.replicates[0] == pytest.approx(-1.5)


def test_budgets_are_equal_up_to_rounding_and_of_any_number_of_blocks():
    table = with_derived_columns(errors_table("sphere"))
    split = table["cell"].isin([name for *_, name in CELLS[10:]])
    assert (table["budget"] == 2.02).equals(split)
    assert (table["imbalance"] == 0.0).equals(~split)
    blocks = {"footpoint": [0.5, 0.1], "shooting_vector_1": [0.5, 0.2]}
    # The last is of another mechanism.
    blocks |= {"shooting_vector_2": [0.5, 0.3], "all": [np.nan, np.nan]}
    found = with_derived_columns(pd.DataFrame(blocks).add_prefix("budget_"))
    assert found["budget"].tolist() == [1.5, 0.6]
    assert found["imbalance"].tolist() == [0.0, 0.2]
    undivided = with_derived_columns(pd.DataFrame({"budget": [0.1 + 0.2, 1.0]}))
    assert undivided["budget"].tolist() == [0.3, 1.0]
    assert "imbalance" not in undivided


def test_data_sets_are_resampled_alike_in_all_cells_of_a_group():
    """What data sets add to all cells cancels from differences, and not between groups."""
    table = with_derived_columns(errors_table("sphere"))
    table = table[table["sampler"] == "default"]
    table["log_error"] += np.random.default_rng(2).standard_normal(DATA_SETS)[table["data_set"]]
    panel = cell_statistics(table, "log_error", np.random.default_rng(3), 200)
    inside = (panel.cells["group"] == "n20_noise0.001").to_numpy()
    first = panel.values[:, inside]
    assert np.max(np.std(first - first[:, :1], axis=0)) < 1e-12
    assert np.std(first[:, 0] - panel.values[:, ~inside][:, 0]) > 0.1


@pytest.mark.parametrize(("count", "least"), [(21, 0.88), (1, 0.93)])
def test_intervals_cover(count, least):
    """Percentile intervals of a mean of 21 cover a little less than 95 in 100."""
    rng, trials = np.random.default_rng(4), 400
    frame = pd.DataFrame(
        list(product(range(trials), range(count))), columns=["cell", "data_set"]
    ).assign(group="g", log_error=rng.standard_normal(trials * count))
    if count == 1:
        # The mean over ten footpoints of each cell, and the standard error that they give.
        draws = rng.standard_normal((trials, 10))
        frame = frame.assign(log_error=np.mean(draws, axis=1), footpoints=10)
        frame["log_error_standard_error"] = np.std(draws, axis=1, ddof=1) / np.sqrt(10)
    values = cell_statistics(frame, "log_error", rng, 400).values[1:]
    low, high = np.percentile(values, [2.5, 97.5], axis=0)
    assert least <= np.mean((low <= 0.0) & (high >= 0.0)) <= 0.98


@pytest.mark.parametrize(
    ("measure", "mine", "expected"),
    [
        *(("reduction", [161.0], -15.1), ("reduction", [11.0, 8.0], 0.05)),
        *(("share_below", [9.0], 1.0), ("share_below", [11.0, 7.0], 0.5)),
        *(("reduction_fall", [8.0, 9.0], 0.1), ("share_nearer", [8.0, 9.0, 10.0, 11.0], 0.5)),
    ],
)
def test_numbers_of_two_studies(measure, mine, expected):
    tables = [
        each.assign(budget=each["x"], log_error=each["y"], log_error_standard_error=0.1)
        for each in map(curves, (mine, [10.0] * len(mine)))
    ]
    assert measured(measure, claim_of(), *tables).replicates[0] == pytest.approx(expected)
