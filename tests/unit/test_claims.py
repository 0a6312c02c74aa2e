"""Verdicts on planted tables, numbers of measures, and what the engine of claims refuses."""

import html
import io
import re
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest

from geodp.errors import DataError
from geodp.randomness import random_stream
from reproduction.claims.columns import with_derived_columns
from reproduction.claims.conditions import Conditions
from reproduction.claims.measures import MEASURES, Measured, NotEvaluated, cell_statistics
from reproduction.claims.page import read_verdicts, render
from reproduction.claims.rows import Claim, read_paper
from reproduction.claims.verdicts import (
    BY_CONSTRUCTION,
    FAILS,
    HOLDS,
    IN_PART,
    NOT_REFUTED,
    UNDECIDED,
    VERDICTS,
    _together,
    _verdict,
    judge,
)
from reproduction.places import CHECKOUT

FILES = sorted((CHECKOUT / "resources" / "published").glob("*_claims.csv"))
ROWS = {path.stem: pd.read_csv(path, dtype=str, keep_default_na=False) for path in FILES}
CLAIMS, BESIDE = ROWS["kulkarni_soto_claims"], ROWS["releases_beside_claims"]
# Each row as a sentence of its own, to be judged alone.
ALONE = CLAIMS.assign(part="", reading="", statement="It is so.")
ALONE["claim"] = ALONE["claim"].str.replace(".", "-")
TEMPLATE = CHECKOUT / "workflow" / "report" / "claims.html.j2"
MADE_BY = {"rule": "a rule", "seed": 1, "lock": "abc", "versions": {}}

# --- Tables as a run writes them ---

TOTALS = [round(0.2 * step, 1) for step in range(1, 11)]
FOOTPOINT = [0.02, 0.24, 0.46, 0.68, 0.90, 1.12, 1.34, 1.56, 1.78, 2.00]
# The second budget of a split carries the rounding of a subtraction.
CELLS = [(t / 2, t / 2, f"p{t / 2:.1f}_v{t / 2:.1f}") for t in TOTALS]
CELLS += [(p, 2.02 - p, f"p{p:.2f}_v{2.02 - p:.2f}") for p in FOOTPOINT]
OUTLINES = [("stand_in", 88, np.nan)]
OUTLINES += [(f"stand_in_n{n}", n, np.nan) for n in (409, 647)]
SPHERE = [(20, 0.001), (50, 0.001), (100, 0.001), (50, 0.01), (50, 0.1)]
GROUPS = {
    "sphere": [(f"n{n}_noise{noise}", n, noise) for n, noise in SPHERE],
    "spd": [(f"n{n}_noise0.0001", n, 0.0001) for n in (20, 50, 100)],
    "corpus_callosum": OUTLINES,
    "corpus_callosum_reduced": OUTLINES,
}
NON_PRIVATE, DATA_SETS = 1e-3, 21
ORIGIN = {"seed": 1, "lock": "abc"}


def stream(claim):
    return random_stream(7, "claims", claim)


def errors_table(study, data_sets=DATA_SETS):
    """Errors as `evaluate` writes them, all alike but for the noise between data sets."""
    table = pd.DataFrame(
        [
            (*group, *cell, sampler, data_set)
            for group, cell in product(GROUPS[study], CELLS)
            for sampler, count in (("default", data_sets), ("random_walk", 1))
            for data_set in range(count)
        ],
        columns=[
            *("group", "n", "noise_variance"),
            *("budget_footpoint", "budget_shooting_vector", "cell", "sampler", "data_set"),
        ],
    )
    # Data sets differ, by the same factor in all cells of a group, and in the size of the rest.
    factor = np.exp(0.08 * np.cos(table["data_set"]))
    return table.assign(
        data="simulated stand-in" if study.startswith("corpus") else "simulated",
        mechanism="kng_as_published",
        footpoints=10,
        footpoint_proposals=1234.0,
        flagged=table["sampler"] == "random_walk",
        mean_squared_error=1e-2 * factor,
        log_error_standard_error=0.001,
        non_private_mean_squared_error=NON_PRIVATE * factor,
        median_squared_error=5e-3 * factor,
        mean_footpoint_distance=0.1 * factor,
        mean_shooting_vector_distance=0.2 * factor,
        mean_prediction_distance=0.03 * factor,
        tau=0.1,
        least_curvature=-0.4 if study == "spd" else 1.0,
        greatest_curvature=-0.1 if study == "spd" else 4.0,
        **ORIGIN,
    )


def by_budget(verdict=HOLDS, study="sphere"):
    """Tables with errors that fall as equal budgets grow: all, in part, or none."""
    table = errors_table(study)
    level = 10.0 * table["budget_footpoint"]
    if verdict == IN_PART:
        # The upper five of ten levels are turned round, which is 10 of 45 pairs.
        level = level.where(level < 5.5, 15.5 - level)
    sign = 1.0 if verdict == FAILS else -1.0
    table["mean_squared_error"] *= np.exp(0.1 * sign * level)
    return {(study, "errors"): table}


def neighbours_table(study, pairs=20):
    spread = 1.2 + 0.01 * np.tile(np.arange(pairs), 3)
    columns = {"n": np.repeat([20, 50, 100], pairs), "noise_variance": GROUPS[study][0][2]}
    kinds = ("", "_smallest_ball", "_printed")
    columns |= {f"ratio_{b}{k}": spread for b in ("footpoint", "shooting_vector") for k in kinds}
    return pd.DataFrame(columns).assign(**ORIGIN)


def losses_table(study):
    sources = ("both data sets", "each data set", "public bound")
    steps = product(("footpoint", "shooting vector"), sources)
    table = pd.DataFrame(steps, columns=["step", "tau_from"])
    return table.assign(n=20, mechanism="kng_as_published", loss_over_stated=0.5, **ORIGIN)


def convergence_table(study, difference=lambda steps: min(1.0, (steps / 20.0) ** -1.5)):
    """Walks whose difference from the draws depends on the number of steps."""
    steps = np.unique(np.geomspace(1, 10000, 30).astype(int))
    rows = [("random_walk", step, difference(np.float64(step))) for step in steps]
    table = pd.DataFrame([*rows, ("default", 3, np.nan)], columns=["kind", "step", "difference"])
    table = table.assign(distribution="as configured", states=8000, n=50, budget_footpoint=0.5)
    return table.assign(mechanism="kng_as_published", **ORIGIN)


MAKE = {
    "errors": errors_table,
    "neighbours": neighbours_table,
    "losses": losses_table,
    "convergence": convergence_table,
}


def one(name):
    found = ALONE[ALONE["claim"] == name.replace(".", "-")]
    assert len(found) == 1
    return found


def tables_of(name):
    """The tables that a claim looks at."""
    claim = one(name).iloc[0]
    tables = {(claim["study"], claim["table"]): MAKE[claim["table"]](claim["study"])}
    if claim["against"]:
        tables[claim["against"], "errors"] = errors_table(claim["against"])
    return tables


def paper(rows, name="a paper", source="claims.csv"):
    return read_paper(name, io.StringIO(rows.to_csv(index=False)), source)


def judged(rows, tables, stream=stream):
    return judge([paper(rows)], tables, stream, replicates=200)


def verdict_on(name, tables):
    return judged(one(name) if isinstance(name, str) else name, tables).iloc[0]


# --- Verdicts ---


def test_every_claim_gets_a_verdict_from_the_tables_of_a_run():
    tables = {(study, name): make(study) for study in GROUPS for name, make in MAKE.items()}
    tables |= {(study, "errors"): errors_table(study, data_sets=4) for study in GROUPS}
    for study in GROUPS:
        # Curves that are neither flat nor alike, and no data set of its own.
        cells = np.exp(-tables[study, "errors"]["cell"].rank(method="dense") / 20.0)
        tables[study, "errors"]["mean_squared_error"] *= cells
    found = judged(ALONE, tables)
    assert found["claim"].tolist() == ALONE["claim"].tolist()
    assert found.loc[~found["verdict"].isin(VERDICTS), "why"].empty
    assert (found["sentence_verdict"] == found["verdict"]).all()
    assert (found["interval_over"] != "").all()
    assert set(zip(found["seed"], found["lock"], strict=True)) == {("1", "abc")}
    # What can refute a claim and not confirm it: what is not seen may be there.
    bound = ALONE["measure"].isin(["largest_found", "walk_to_draws", "walk_rate"]).to_numpy()
    assert (np.isposinf(found["high"]) == bound).all()
    assert HOLDS not in set(found.loc[bound, "verdict"])
    constructed = found["verdict"] == BY_CONSTRUCTION
    assert set(found["claim"][constructed]) <= set(ALONE["claim"][ALONE["construction"] != ""])


def with_releases(study, nearer):
    """Errors of draws, and of releases that are nearer in so large a share of their cells."""
    table = errors_table(study)
    table["budget"] = (table["budget_footpoint"] + table["budget_shooting_vector"]).round(9)
    place = table["budget"].map({0.2: 0, 0.6: 1, 1.0: 2, 1.4: 3, 2.0: 4})
    equal = table["budget_footpoint"] == table["budget_shooting_vector"]
    drawn = (table["sampler"] == "default") & (table["data_set"] < 6) & equal & place.notna()
    factor = np.where(place < 5 * nearer, 0.7, 2.0)
    released = table.assign(
        mechanism="release",
        sampler="release",
        cell=table["budget"].map("all{:.1f}".format),
        budget_footpoint=np.nan,
        budget_shooting_vector=np.nan,
        mean_squared_error=table["mean_squared_error"] * factor,
    )[drawn]
    return pd.concat([table, released], ignore_index=True).assign(refused=False)


@pytest.mark.parametrize(("nearer", "verdict"), [(1.0, HOLDS), (0.6, IN_PART), (0.0, FAILS)])
@pytest.mark.parametrize("name", BESIDE["claim"])
def test_releases_are_judged_beside_draws_at_the_same_budget(name, nearer, verdict):
    rows = BESIDE[BESIDE["claim"] == name]
    study = rows["study"].item()
    found = verdict_on(rows, {(study, "errors"): with_releases(study, nearer)})
    assert (found["verdict"], found["value"]) == (verdict, nearer), found["why"]
    assert found["interval_over"] == "6 data sets"


def test_releases_that_are_refused_as_noise_do_not_count():
    table = with_releases("sphere", 0.6)
    released = table["sampler"] == "release"
    for refused, verdict in ((released, ""), (released & (table["budget"] > 1.2), HOLDS)):
        found = verdict_on(BESIDE[:1], {("sphere", "errors"): table.assign(refused=refused)})
        assert found["verdict"] == verdict, found["why"]
        assert found["why"].startswith("not evaluated: no row") == (verdict == "")


@pytest.mark.parametrize("name", ["sphere_budget", "sphere_n", "walk_length.sphere_error"])
def test_claims_about_draws_do_not_see_releases_nor_other_mechanisms(name):
    alone = errors_table("sphere")
    other = by_budget(FAILS)["sphere", "errors"].assign(mechanism="another")
    found = [
        verdict_on(name, {("sphere", "errors"): table})
        for table in (alone, with_releases("sphere", 0.6), pd.concat([alone, other]))
    ]
    numbers = [each[["value", "low", "high", "verdict", "why"]].to_list() for each in found]
    assert numbers[0] == numbers[1] == numbers[2]


@pytest.mark.parametrize("verdict", [HOLDS, IN_PART, FAILS])
def test_one_observed_data_set_is_judged_over_its_draws(verdict):
    name, key = "corpus_callosum_budget.error", ("corpus_callosum", "errors")
    table = by_budget(verdict, key[0])[key].query("data_set == 0 and group == 'stand_in'")
    found = verdict_on(name, {key: table.assign(group="observed", data="observed")})
    assert found["verdict"] == verdict, found["why"]
    assert found["interval_over"] == "draws of one data set"
    assert found["data"] == "observed"
    # There is no other data set beside which it could stand.
    assert found["shown_verdict"] == ""


@pytest.mark.parametrize(("below", "verdict"), [(0, BY_CONSTRUCTION), (2, IN_PART), (9, FAILS)])
def test_errors_of_one_data_set_are_below_another_or_not(below, verdict):
    table = errors_table("sphere", data_sets=1)
    shown = table.index[(table["sampler"] == "default") & (table["noise_variance"] == 0.001)]
    # Equality up to rounding is not below.
    least = table["non_private_mean_squared_error"]
    table["mean_squared_error"] = (1.0 - 1e-12) * least
    table.loc[shown[:below], "mean_squared_error"] = 0.9 * least
    found = verdict_on("sphere_approach.never_attains", {("sphere", "errors"): table})
    assert found["verdict"] == verdict, found["why"]
    assert found["interval_over"] == "one data set"


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        (0.97, 0.96, 0.99, HOLDS),
        (0.97, 0.90, 0.99, IN_PART),
        (0.80, 0.70, 0.90, IN_PART),
        (0.90, 0.70, 0.97, UNDECIDED),
        (0.60, 0.50, 0.70, FAILS),
        # Stretched to hold the number.
        (1.00, 0.96, 0.98, HOLDS),
    ],
)
def test_verdicts_follow_from_numbers_and_intervals(value, low, high, verdict):
    """The table of the page on claims; the ends are percentiles 2.5 and 97.5."""
    criteria = map(Conditions.of_number, ("value >= 0.95", "value >= 0.75"))
    claim = SimpleNamespace(**dict(zip(("holds", "in_part"), criteria, strict=True)))
    claim.construction = ""
    replicates = np.concatenate([[value], np.linspace(low, high, 39), [-1.0, 2.0]])
    found = _verdict(claim, pd.DataFrame(), Measured(replicates, "20 pairs", "so much"))
    assert found["verdict"] == verdict
    assert (found["low"], found["high"]) == pytest.approx((min(low, value), max(high, value)))
    claim.construction = "it must be so"
    built = _verdict(claim, pd.DataFrame(), Measured(replicates, "20 pairs", "so much"))
    assert built["verdict"] == (BY_CONSTRUCTION if verdict == HOLDS else verdict)


@pytest.mark.parametrize(
    ("low", "verdict"), [(0.5, NOT_REFUTED), (0.99, NOT_REFUTED), (1.005, FAILS), (1.2, FAILS)]
)
def test_a_lower_bound_can_refute_and_not_confirm(low, verdict):
    criteria = map(Conditions.of_number, ("value <= 1", "value <= 1.01"))
    claim = SimpleNamespace(**dict(zip(("holds", "in_part"), criteria, strict=True)))
    claim.construction = ""
    # The number itself may be off by what its interval says.
    measured = Measured(np.array([low + 0.3, low, low]), "pairs", "so much", lower_bound=True)
    found = _verdict(claim, pd.DataFrame(), measured)
    assert (found["verdict"], found["high"]) == (verdict, np.inf)


def test_the_shown_data_set_has_a_verdict_of_its_own():
    table, other = (by_budget(v)["sphere", "errors"] for v in (HOLDS, FAILS))
    first = table["data_set"] == 0
    key = ("sphere", "errors")
    found = verdict_on("sphere_budget", {key: pd.concat([other[first], table[~first]])})
    assert (found["verdict"], found["shown_verdict"]) == (HOLDS, FAILS)
    assert (found["value"], found["shown_value"]) == (1.0, 0.0)


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ([HOLDS, HOLDS], HOLDS),
        ([HOLDS, IN_PART], IN_PART),
        ([HOLDS, FAILS], IN_PART),
        ([FAILS, FAILS], FAILS),
        ([FAILS, FAILS, ""], UNDECIDED),
        ([HOLDS, ""], UNDECIDED),
        ([IN_PART, UNDECIDED], IN_PART),
        ([HOLDS, FAILS, UNDECIDED], IN_PART),
        ([FAILS, UNDECIDED], UNDECIDED),
        (["", ""], ""),
    ],
)
def test_a_sentence_holds_if_its_parts_do_and_readings_do_not_count(verdicts, together):
    count, all_verdicts = len(verdicts), [*verdicts, FAILS]
    numbers = range(count + 1)
    rows = pd.concat([one("sphere_budget")] * (count + 1)).assign(
        claim=[f"whole.{number}" for number in numbers],
        study=[f"sphere_{number}" for number in numbers],
        statement=["It is so.", *[""] * count],
        part=[*(f"part {number}" for number in range(count)), ""],
        reading=[*[""] * count, "another"],
    )
    tables = {v: by_budget(v)["sphere", "errors"] for v in (HOLDS, IN_PART, FAILS, UNDECIDED)}
    # Every other data set refutes it.
    odd = tables[UNDECIDED]["data_set"] % 2 == 1
    tables[UNDECIDED].loc[odd, "mean_squared_error"] **= -1.0
    tables[""] = tables[HOLDS].query("n == 7")
    named = {(f"sphere_{k}", "errors"): tables[verdict] for k, verdict in enumerate(all_verdicts)}
    found = judged(rows, named)
    assert found["verdict"].tolist() == all_verdicts
    assert found["sentence_verdict"].unique().tolist() == [together]
    assert found["statement"].unique().tolist() == ["It is so."]


@pytest.mark.parametrize(
    ("verdicts", "together"),
    [
        ([HOLDS, NOT_REFUTED], NOT_REFUTED),
        ([FAILS, NOT_REFUTED], FAILS),
        ([UNDECIDED, NOT_REFUTED], UNDECIDED),
        ([HOLDS, BY_CONSTRUCTION], HOLDS),
        ([FAILS, BY_CONSTRUCTION], FAILS),
        ([BY_CONSTRUCTION, BY_CONSTRUCTION], BY_CONSTRUCTION),
    ],
)
def test_parts_that_only_a_search_or_a_mistake_could_refute(verdicts, together):
    assert _together(pd.Series(verdicts)) == together


def test_claims_about_studies_that_are_not_there_are_left_out():
    rows = pd.concat([one("spd_like_sphere"), one("sphere_budget")])
    assert judged(rows, by_budget())["study"].tolist() == ["sphere"]
    assert judged(rows, {}).empty


# --- Numbers ---


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
    return MEASURES[name].compute(
        claim, tables[0], np.random.default_rng(0), replicates, *tables[1:]
    )


@pytest.mark.parametrize(
    ("measure", "values", "expected"),
    [
        ("share_ordered", [[3, 2, 1], [2, 3, 2.5]], 4 / 6),
        ("share_worst_at_ends", [[2, 1, 3], [1, 2, 3]], 3 / 4),
        ("share_unimodal", [[3, 1, 2]], 1.0),
        ("share_unimodal", [[4, 1, 3, 2]], 3 / 4),
        # Without a valley, whose bottom is no end.
        ("share_unimodal", [[3, 2, 1], [1, 2, 3], [3, 1, 2]], 2 / 8),
        ("approach", [[4, 1], [4, 3]], 0.75),
        ("power", [[8, 2, 0.5]], -2.0),
        ("mean_value", [[1, 2], [3, 6]], 3.0),
        ("share_never_below", [[1, 0], [1, 1]], 0.75),
        ("smallest", [[3, 1, 2]], 0.5),
        ("largest", [[3, 1, 2]], 3.5),
    ],
)
def test_numbers_of_curves(measure, values, expected):
    found = measured(measure, claim_of(), curves(*values))
    assert found.replicates[0] == pytest.approx(expected)


def test_a_direction_is_that_of_the_order():
    table = curves([1, 2, 4], [1, 3, 2])
    assert measured("share_ordered", claim_of(direction="rises"), table).replicates[0] == 5 / 6
    assert measured("share_ordered", claim_of(direction="falls"), table).replicates[0] == 1 / 6


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


def test_derived_columns_are_logarithms_of_their_sources():
    table = pd.DataFrame(
        {
            "mean_squared_error": [5.0, 2.0 - 1e-12],
            "non_private_mean_squared_error": [1.0, 2.0],
            "median_squared_error": [3.0, 4.0],
            "mean_prediction_distance": [0.5, 0.5],
            "tau": [3.0, 3.0],
            "n": [10, 20],
        }
    )
    row = with_derived_columns(table).iloc[0]
    assert row["log_error"] == row["log_gap"] == pytest.approx(np.log(5.0))
    assert (row["log_non_private_error"], row["log_residual"]) == (0.0, 0.0)
    assert row["log_tail"] == pytest.approx(np.log(4.0 / 2.0))
    assert row["log_mean_prediction_distance"] == pytest.approx(np.log(0.5))
    assert row["tau_over_n"] == pytest.approx(0.3)
    other = with_derived_columns(table).iloc[1]
    assert (other["not_below"], other["log_residual"]) == (1.0, pytest.approx(0.5 * np.log(2.0)))


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


@pytest.mark.parametrize(("states", "verdict"), [(8000, FAILS), (10, NOT_REFUTED)])
def test_few_walks_show_nothing(states, verdict):
    table = convergence_table("sphere", lambda steps: 0.4).assign(states=states)
    found = verdict_on("walk_length.sphere", {("sphere", "convergence"): table})
    assert found["verdict"] == verdict


@pytest.mark.parametrize(("spread", "verdict"), [(0.02, FAILS), (0.6, FAILS), (6.0, UNDECIDED)])
def test_noise_does_not_make_a_walk_error_negligible(spread, verdict):
    """A bias of a half is none the less one for being hard to see."""
    table = errors_table("sphere").assign(log_error_standard_error=spread)
    table.loc[table["sampler"] == "random_walk", "mean_squared_error"] *= np.exp(-0.5)
    rows, tables = one("walk_length.sphere_error"), {("sphere", "errors"): table}
    found = judged(rows, tables, lambda claim: np.random.default_rng(0))
    assert found["verdict"].item() == verdict


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


def test_a_stream_gives_the_same_interval_whatever_else_is_evaluated():
    table = errors_table("sphere")
    table["mean_squared_error"] *= np.exp(np.random.default_rng(5).standard_normal(len(table)))
    tables = {("sphere", "errors"): table}
    names = ["sphere_tails-shape", "sphere_split-valley", "sphere_budget"]
    alone = judged(one("sphere_budget"), tables)
    among = judged(ALONE[ALONE["claim"].isin(names)], tables)
    again = among[among["claim"] == "sphere_budget"].reset_index(drop=True)
    pd.testing.assert_frame_equal(alone, again)
    other = judged(one("sphere_budget"), tables, lambda claim: random_stream(8, "claims", claim))
    assert other["low"][0] != alone["low"][0] or other["high"][0] != alone["high"][0]


# --- Reasons ---


@pytest.mark.parametrize(
    ("name", "over", "says"),
    [
        ("sphere_budget", "21 data sets", "comparisons have the order stated"),
        ("figure_3.walk", "draws of one data set", "walks of 1234 steps"),
        ("sphere_ratios.footpoint", "20 pairs", "the smallest of 60 values is"),
        ("walk_length.sphere", "8000 walks and 8000 draws", "after 10000 steps the distribution"),
        ("walk_length.sphere", "8000 walks and 8000 draws", "(n = 50, footpoint budget 0.5)"),
        ("privacy.footpoint", "the neighbours of a search", "at n = 20 is"),
    ],
)
def test_units_and_steps_are_named(name, over, says):
    found = verdict_on(name, tables_of(name))
    assert found["interval_over"] == over
    assert says in found["why"]
    assert ("walks of" in found["why"]) == (name == "figure_3.walk")


def test_origin_comes_from_the_errors_where_the_table_does_not_say():
    tables = tables_of("spd_ratios.footpoint") | {("spd", "errors"): errors_table("spd")}
    assert verdict_on("spd_ratios.footpoint", tables)["data"] == "simulated"


COMPARED = "than the one it is compared with"


@pytest.mark.parametrize(
    ("measure", "mine", "number", "expected"),
    [
        ("reduction", [161.0], -15.1, f"the mean is 1510 % higher {COMPARED}"),
        ("reduction", [9.0], 0.1, f"the mean is 10 % lower {COMPARED}"),
        (
            "reduction_fall",
            [8.0, 9.0],
            0.1,
            "the mean is 20 % lower at the smallest n and 10 % lower at the largest",
        ),
        (
            "reduction",
            [11.0, 8.0],
            0.05,
            f"the mean is 5 % lower {COMPARED}, averaged over n (from 10 % higher to 20 % lower)",
        ),
        ("share_below", [9.0], 1.0, "the mean is 0.9 times the mean it is compared with"),
        (
            "share_below",
            [11.0, 7.0],
            0.5,
            "the mean is the smaller one at 1 of 2 values of n, and 0.9 times the mean it is "
            "compared with on average",
        ),
        ("smallest", [11.88], 11.38, "the smallest of 2 values is 11.4"),
    ],
)
def test_reasons_of_comparisons(measure, mine, number, expected):
    tables = [
        curves(means).assign(n=lambda table: table["x"]) for means in (mine, [10] * len(mine))
    ]
    tables = tables[: 1 + ("against" in MEASURES[measure].needed)]
    found = measured(measure, claim_of(along="n"), *tables)
    assert found.says == expected
    assert found.replicates[0] == pytest.approx(number)


def test_flagged_cells_are_counted():
    tables = by_budget()
    assert "flagged" not in verdict_on("sphere_budget", tables)["why"]
    table = tables["sphere", "errors"]
    table.loc[table["cell"] == "p0.1_v0.1", "flagged"] = True
    assert "3 of 30 cells are flagged" in verdict_on("sphere_budget", tables)["why"]


def keep(query):
    return lambda table: table.query(query)


def assigned(**columns):
    return lambda table: table.assign(**columns)


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("sphere_budget", assigned(mechanism="a"), "sphere's errors have no row of the mechanism"),
        ("figure_3", keep("cell != 'p0.3_v0.3'"), "no row of corpus_callosum's errors"),
        ("sphere_budget", keep("budget_footpoint == 0.1"), "as budget has one level"),
        ("sphere_n", keep("n != 100"), "the claim needs n == 100, which sphere's errors lack"),
        ("sphere_approach.approaches", keep("cell == 'p0.3_v0.3'"), "as budget has one level"),
        ("sphere_split.ends", keep("budget_footpoint in [0.02, 2.0]"), "between its ends"),
        ("spd_tails.shape", keep("data_set == 0"), "gives log_tail no interval"),
        (
            "corpus_callosum_budget.error",
            lambda table: table.query("data_set == 0").assign(footpoints=1),
            "one footpoint",
        ),
        ("spd_like_sphere", keep("cell in ['p0.1_v0.1', 'p0.2_v0.2']"), "share 2 points"),
        ("walk_length.sphere_error", keep("sampler == 'default'"), "both samplers"),
        ("spd_like_sphere", assigned(mean_squared_error=1.0), "not finite"),
        ("figure_3", assigned(mean_prediction_distance=0.0), "infinite"),
        ("spd_ratios.footpoint", assigned(ratio_footpoint=np.nan), "missing"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_cannot_be_judged_gets_no_verdict(name, change, why):
    tables = {key: change(table) for key, table in tables_of(name).items()}
    found = verdict_on(name, tables)
    assert (found["verdict"], np.isnan(found["value"])) == ("", True)
    assert found["why"].startswith("not evaluated: ")
    assert why in found["why"]


def test_a_table_that_is_not_there_is_named():
    [key] = by_budget()
    found = verdict_on("sphere_budget", {(key[0], "neighbours"): neighbours_table("sphere")})
    assert found["why"] == "not evaluated: there is no table errors of a study sphere"


def test_a_number_missing_in_one_data_set_is_noticed():
    table = with_derived_columns(errors_table("spd"))
    table = table[(table["sampler"] == "default")].iloc[1:]
    with pytest.raises(NotEvaluated, match="missing"):
        cell_statistics(table, "log_error", np.random.default_rng(1), 10)


# --- Conditions, and files that are refused ---


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("value >= 0.95", True),
        ("value >= 0.96", False),
        ("value <= 0.95", True),
        ("value > 0.95", False),
        ("value < 0.95", False),
        ("value > 0.9 and value <= 1", True),
        ("value > 1 or value < 1.5", True),
        ("value > -0.9", True),
    ],
)
def test_criteria_mean_what_they_say(text, expected):
    found = Conditions.of_number(text)
    assert bool(found.met(lambda _: 0.95)) is expected


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("", [0, 1, 2, 3]),
        ("sampler == 'default'", [0, 1]),
        ("n >= 50 and noise_variance < 0.01", [1]),
        ("n == 20 or n == 100 and sampler == 'walk'", [0, 2]),
        ("n in [20, 100.0]", [0, 2]),
        ("sampler in ['walk', 'other']", [2, 3]),
        ("shift < -0.5", [3]),
        # A missing number is equal to none and in no order.
        ("noise_variance != 0.001", [2, 3]),
        ("noise_variance <= 1", [0, 1, 2]),
        ("nowhere == 'a'", []),
    ],
)
def test_selections_mean_what_they_say(text, rows):
    table = pd.DataFrame(
        {
            "sampler": ["default", "default", "walk", "walk"],
            "n": [20, 50, 100, 200],
            "noise_variance": [0.001, 0.001, 0.1, np.nan],
            "shift": [0.0, 0.0, 0.5, -1.0],
            "nowhere": np.nan,
        }
    )
    chosen = Conditions.parse(text).rows(table)
    assert chosen.dtype == bool
    assert np.flatnonzero(chosen).tolist() == rows


def refused(rows, tables=None):
    with pytest.raises(DataError) as problem:
        judged(rows, tables or {})
    message = str(problem.value)
    assert "\n" not in message
    assert message.startswith("claims.csv")
    return message


NO_CRITERIA = ["", "value", "value == 0.95", "low >= 0.95", "value >= 'a'", "value * 2 >= 1"]
NO_CRITERIA += ["__import__('os').getcwd() >= 1", "not value >= 1", "0 < value < 1"]


@pytest.mark.parametrize("text", NO_CRITERIA)
@pytest.mark.parametrize("column", ["holds", "in_part"])
def test_a_criterion_that_is_none_is_refused(text, column):
    message = refused(one("sphere_budget").assign(**{column: text}))
    assert f"(claim 'sphere_budget'), column {column}: " in message
    assert "write comparisons of value with numbers" in message


NO_SELECTIONS = [
    "@pd.io.common.os.system('COMMAND') == 0",
    "__import__('os').system('COMMAND') == 0",
    "n == __import__('os').system('COMMAND')",
    "n in [__import__('os').system('COMMAND')]",
    "sampler.str == 'a'",
    "n in [m for m in (20, 50)]",
    "n in []",
    "n in 20",
    "n == [20]",
    "sampler < 'e'",
    "n == 20; n == 50",
    "n == 20 and",
    "n",
    "n == 1" + "0" * 400,
    "n == 20\0",
]


@pytest.mark.parametrize("column", ["where", "against_where"])
@pytest.mark.parametrize("text", NO_SELECTIONS)
def test_what_is_no_selection_is_refused_and_not_run(text, column, tmp_path):
    trace = tmp_path / "trace"
    row = one("spd_like_sphere").to_dict("records")[0]
    row |= {column: text.replace("COMMAND", f"touch {trace}"), "place": "here"}
    with pytest.raises(ValueError, match="is not a selection of rows: compare columns with texts"):
        Claim.model_validate(row)
    assert not trace.exists()


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"statement": ""}, "the first row of a sentence has its statement"),
        ({"reading": "another"}, "the first row of a sentence counts"),
        ({"measure": "largest_gap"}, "column measure: 'largest_gap' is not known: use one of sh"),
        ({"table": "timings"}, "column table: 'timings' is not known: use one of errors"),
        ({"direction": "up"}, "column direction: 'up' is not known: use one of falls, rises"),
        ({"claim": ""}, "column claim: it is empty"),
        ({"along": " "}, "column along: it is empty and share_ordered needs it"),
        ({"column": "log_error n"}, "names 2 columns and share_ordered takes 1"),
        ({"measure": "smallest", "column": ""}, "names 0 columns and smallest takes 1"),
        ({"measure": "largest_median", "column": ""}, "largest_median takes one or more"),
        ({"against": "spd"}, "column against: share_ordered looks at one study"),
        ({"measure": "rank_correlation"}, "against: it is empty and rank_correlation needs it"),
        ({"mechanism": ""}, "column mechanism: it is empty"),
        ({"where": "sampler == ("}, "column where: 'sampler == (' is not a selection"),
        ({"where": "nothing == 1"}, "column where: there is no column nothing"),
        ({"needs": "nothing == 1"}, "column needs: there is no column nothing"),
        ({"where": "__class__ == 1"}, "column where: there is no column __class__"),
        ({"where": "n == '20'"}, "column where: n and '20' are compared"),
        ({"where": "sampler in ['default', 1]"}, "sampler and 1 are compared"),
        ({"column": "log_errors"}, "column column: there is no column log_errors"),
        ({"along": "n budget"}, "column along: there is no column"),
        ({"where": "imbalance == 0"}, "several rows for one cell and data set"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(change, says):
    assert says in refused(one("sphere_budget").assign(**change), by_budget())


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"claim": ["a.x", "a.x"]}, "column claim: another row has this name"),
        ({"statement": 2 * ["It."], "part": ["p", "q"]}, "and no other: leave it empty"),
        ({"reading": ["", "r"], "part": ["", "p"]}, "column reading: the row is a part of"),
        ({}, "column part: its sentence has several"),
    ],
)
def test_rows_that_do_not_say_what_they_are_of_their_sentence_are_refused(change, says):
    rows = pd.concat([one("sphere_budget")] * 2)
    rows = rows.assign(**{"claim": ["a.x", "a.y"], "statement": ["It is.", ""]} | change)
    assert says in refused(rows)


def test_rows_of_a_sentence_stand_together():
    rows = pd.concat([one("sphere_budget")] * 3)
    message = refused(rows.assign(claim=["a.x", "b", "a.y"], statement=["It is.", "It is.", ""]))
    assert "other rows stand between those of a" in message


def test_a_table_without_a_column_is_refused():
    [table] = tables_of(name := "walk_length.sphere_error").values()
    for column in ("mean_squared_error", "log_error_standard_error"):
        tables = {("sphere", "errors"): table.drop(columns=column)}
        assert "there is no column" in refused(one(name), tables)


def test_a_file_without_a_column_or_without_a_claim_is_refused():
    for column in CLAIMS.columns.drop(["needs", "construction"]):
        message = refused(CLAIMS.drop(columns=column))
        assert f"row 1: there is no column {column}" in message
    assert "claims.csv: it holds no claim: add one" in refused(CLAIMS.iloc[:0])


@pytest.mark.parametrize("text", ["", 'a,b\n"1,2\n', "a,b\n1,2,3\n1,2\n"])
def test_a_file_that_is_no_table_is_refused(text):
    with pytest.raises(DataError, match=r"^claims\.csv[:,][^\n]*$"):
        read_paper("a paper", io.StringIO(text), "claims.csv")


def test_claims_cover_the_measures_and_are_sentences():
    claims = pd.concat([paper(rows).claims and rows for rows in ROWS.values()])
    assert set(claims["measure"]) == set(MEASURES)
    for text in filter(None, [*claims["statement"], *claims["quantity"]]):
        assert text.endswith(".")
        assert ". " not in text


# --- Several papers, and the page ---


def test_papers_are_judged_side_by_side():
    """Each as if it were alone, and identifiers may recur from paper to paper."""
    tables = by_budget()
    some = CLAIMS[CLAIMS["claim"].isin(["sphere_budget", "sphere_split.ends"])]
    other = one("sphere_budget").assign(direction="rises", statement="It rises.")
    papers = [paper(some, "First"), paper(other, "Second")]
    found = judge(papers, tables, stream, 200)
    assert found["paper"].tolist() == ["First", "First", "Second"]
    assert found["claim"].tolist() == ["sphere_budget", "sphere_split.ends", "sphere_budget"]
    assert found["verdict"].tolist()[::2] == [HOLDS, FAILS]
    for each in papers:
        part = found[found["paper"] == each.name].reset_index(drop=True)
        pd.testing.assert_frame_equal(judge([each], tables, stream, 200), part)


def test_the_page_of_verdicts_that_are_read_is_that_of_those_that_were_written(tmp_path):
    tables, parts = by_budget(), pd.concat([one("sphere_budget")] * 2)
    papers = [
        paper(pd.concat([one("sphere_budget"), one("sphere_ratios.tight")]), "First"),
        paper(one("sphere_budget").assign(statement="1 < 2."), "The 2nd"),
        paper(parts.assign(claim=["a.x", "a.y"], statement=["It is.", ""], part=["p", "q"]), "3rd"),
    ]
    found = judge(papers, tables, stream, 200).assign(seed=1.0, lock="abc")
    found.to_csv(tmp_path / "claims.csv", index=False)

    def page(rows, note=""):
        return render(TEMPLATE, rows, tables, table="claims.csv", note=note, made_by=MADE_BY)

    text = page(read_verdicts(tmp_path / "claims.csv"))
    assert text == page(found)
    texts = [" ".join(html.unescape(part).split()) for part in re.findall(r">([^<>]+)<", text)]
    for column in ("statement", "quantity", "why", "criterion"):
        assert set(found[column]) <= set(texts), column
    of_sentence = found.groupby(["paper", found["claim"].str.partition(".")[0]])
    several = found[of_sentence["claim"].transform("size") > 1]
    # With each sentence, with each row of one that has several, and where they are counted.
    verdicts = [of_sentence["sentence_verdict"].first(), several["verdict"], found["shown_verdict"]]
    verdicts[2] = verdicts[2].replace("", "none")
    counts = pd.concat(verdicts).replace("", "not evaluated").value_counts()
    for verdict in (*VERDICTS, "not evaluated"):
        assert texts.count(verdict) == counts.get(verdict, 0) + 3, verdict
    for name in ("First", "The-2nd"):
        assert text.count(f'<tbody id="{name}-sphere_budget">') == 1
        assert f'id="{name}-row-sphere_budget"' in text
        assert f"<h2>{name.replace('-', ' ')}</h2>" in text
    assert "The stated budgets do not hold" in text
    assert "The stated budgets do not hold" not in page(found.assign(mechanism="release"))
    note = '<p class="warning"><strong>Too small.</strong></p>'
    assert page(found, "Too small.").replace(note, "") == text
