"""Verdicts on planted tables, for every claim of the first paper, and what the engine refuses."""

import io
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
from reproduction.claims.verdicts import FAILS, HOLDS, IN_PART, UNDECIDED, _verdict, judge
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
        seed=1,
        lock="abc",
    )


def neighbours_table(study, pairs=20):
    spread = 1.2 + 0.01 * np.tile(np.arange(pairs), 3)
    columns = {"n": np.repeat([20, 50, 100], pairs), "noise_variance": GROUPS[study][0][2]}
    columns |= {"ratio_footpoint": spread, "ratio_shooting_vector": spread}
    return pd.DataFrame(columns).assign(seed=1, lock="abc")


def losses_table(study):
    steps = product(("footpoint", "shooting vector", "both"), ("the data", "public bound"))
    table = pd.DataFrame(steps, columns=["step", "tau_from"])
    return table.assign(
        n=20, mechanism="kng_as_published", loss_over_stated=0.5, seed=1, lock="abc"
    )


def convergence_table(study, difference=lambda steps: 0.0):
    """Walks whose difference from the draws depends on the number of steps."""
    steps = np.unique(np.geomspace(1, 10000, 30).astype(int))
    rows = [("random_walk", step, difference(np.float64(step))) for step in steps]
    table = pd.DataFrame([*rows, ("default", 3, np.nan)], columns=["kind", "step", "difference"])
    table = table.assign(distribution="as configured", states=8000, n=50, budget_footpoint=0.5)
    return table.assign(mechanism="kng_as_published", seed=1, lock="abc")


MAKE = {
    "errors": errors_table,
    "neighbours": neighbours_table,
    "losses": losses_table,
    "convergence": convergence_table,
}

# --- Numbers that give a claim its verdict ---


def plant(table, rows, column, numbers):
    """Write ``numbers`` into a column of the table, or into what it is derived from."""
    table = table.copy()
    if "cell" not in table:
        table.loc[rows, column] = numbers
        return table
    least = table.loc[rows, "non_private_mean_squared_error"]
    factor, added = least / NON_PRIVATE, table.loc[rows, "mean_squared_error"] - least
    column, numbers = {
        "log_error": lambda x: ("mean_squared_error", np.exp(x) * factor),
        "log_gap": lambda x: ("mean_squared_error", np.exp(x) * least),
        "log_tail": lambda x: ("median_squared_error", least + added / np.exp(x)),
        "log_non_private_error": lambda x: (
            "non_private_mean_squared_error",
            np.exp(x) * factor,
        ),
        "log_mean_prediction_distance": lambda x: (
            "mean_prediction_distance",
            np.exp(x) * np.sqrt(factor),
        ),
        "mean_footpoint_distance": lambda x: (column, x * factor),
        "mean_shooting_vector_distance": lambda x: (column, x * factor),
        "tau_over_n": lambda x: ("tau", x * table.loc[rows, "n"]),
    }.get(column, lambda x: (column, x))(numbers)
    table.loc[rows, column] = numbers
    return table


def selected(claim, table):
    derived = with_derived_columns(table[table["mechanism"] == claim["mechanism"]])
    return derived[Conditions.parse(claim["where"]).rows(derived)]


def order(claim, verdict, combination, level):
    levels, combinations = level.max() + 1, combination.max() + 1
    if verdict == FAILS:
        level = levels - 1 - level
    elif verdict == IN_PART:
        # Some combinations, and in these some top levels, are turned round: 0.15 of all pairs.
        _, turned, top = min(
            (
                abs(turned * top * (top - 1) / (combinations * levels * (levels - 1)) - 0.15),
                turned,
                top,
            )
            for turned in range(1, combinations + 1)
            for top in range(2, levels + 1)
        )
        turn = (combination < turned) & (level >= levels - top)
        level = np.where(turn, 2 * levels - top - 1 - level, level)
    return (-1.0 if claim["direction"] == "falls" else 1.0) * (0.2 * level - 2.0) + 2.0


def ends(claim, verdict, combination, level):
    # Of two ends one is the largest value of any curve that only rises.
    worst = level == level.max()
    if verdict != FAILS:
        worst |= level == 0
    if verdict == IN_PART:
        # One of the six ends of three curves is not.
        worst &= (level > 0) | (combination > 0)
    return np.where(worst, 1.0, 0.0)


def valley(claim, verdict, combination, level):
    if verdict == FAILS:
        return 5.0 - np.abs(level - 5.0) - 6.0 * (level == 5)
    numbers, top = np.abs(level - 3.0) + 0.01 * level, level.max() - 3
    if verdict == IN_PART:
        # The last four in the opposite order.
        numbers = np.where(level >= top, np.abs(2 * top - level) + 0.001 * level, numbers)
    return numbers


def approach(claim, verdict, combination, level):
    left = {HOLDS: 0.1, IN_PART: 0.7, FAILS: 1.2}[verdict]
    return 2.0 * (1.0 - (1.0 - left) * level / level.max())


CURVES = {
    "share_ordered": order,
    "share_worst_at_ends": ends,
    "share_unimodal": valley,
    "approach": approach,
}


def plant_curves(claim, verdict, table):
    part, keys = selected(claim, table), claim["within"].split()
    combination = part.groupby(keys, dropna=False).ngroup().to_numpy() if keys else np.zeros(1)
    level = part[claim["along"]].rank(method="dense").to_numpy(int) - 1
    numbers = CURVES[claim["measure"]](claim, verdict, combination.astype(int), level)
    return plant(table, part.index, claim["column"], numbers)


def plant_never_below(claim, verdict, table):
    part = selected(claim, table)
    share = {HOLDS: 0.0, IN_PART: 0.02, FAILS: 0.2}[verdict]
    # Equality up to rounding is not below.
    numbers = np.full(len(part), np.log(1.0 - 1e-12))
    numbers[: int(share * len(part))] = -0.1
    return plant(table, part.index, "log_gap", numbers)


def plant_extreme(claim, verdict, table):
    levels = {
        "value >= -0.5000001": (-0.4, -0.52, -0.8),
        "value <= 4.0000001": (4.0, 4.2, 5.0),
        "value < 0": (-0.01, None, 0.0),
    }.get(claim["holds"], (1.0, 0.95, 0.5))
    table.loc[3, claim["column"]] = levels[(HOLDS, IN_PART, FAILS).index(verdict)]
    return table


def plant_found(claim, verdict, table):
    table["loss_over_stated"] = {HOLDS: 0.5, IN_PART: 1.005, FAILS: 2.0}[verdict]
    return table


def plant_walk(claim, verdict, table):
    gap = {HOLDS: 0.02, IN_PART: 0.2, FAILS: 0.6}[verdict]
    return convergence_table(claim["study"], lambda steps: gap)


def plant_rate(claim, verdict, table):
    power = {HOLDS: -1.5, IN_PART: -0.75, FAILS: -0.3}[verdict]
    return convergence_table(claim["study"], lambda steps: min(1.0, (steps / 20.0) ** power))


def plant_medians(claim, verdict, table):
    level = {HOLDS: 1.2, IN_PART: 1.8, FAILS: 5.0}[verdict]
    rows = table["n"] == 50
    numbers = level + 0.01 * np.arange(rows.sum())
    return plant(table, rows, claim["column"].split()[-1], numbers)


def plant_outliers(claim, verdict, table):
    # So many that replicates have nearly as large a share of them.
    table = neighbours_table(claim["study"], pairs=400)
    numbers, count = np.linspace(1.0, 2.0, 400), {HOLDS: 0, IN_PART: 28, FAILS: 52}[verdict]
    numbers[:count], numbers[400 - count :] = -100.0, 100.0
    for column in claim["column"].split():
        table[column] = np.tile(numbers, 3)
    return table


def plant_correlation(claim, verdict, table):
    part = selected(claim, table)
    # The other study's curve falls in the order of the cells' names; see `planted`.
    rank = part["cell"].rank(method="dense").to_numpy()
    turned = {HOLDS: -rank, IN_PART: -rank + 12.0 * ((rank % 4) < 2), FAILS: rank}[verdict]
    return plant(table, part.index, claim["column"], 0.1 * turned)


def plant_sampler(claim, verdict, table):
    walk, change = table["sampler"] == "random_walk", {HOLDS: 0.01, IN_PART: 0.2, FAILS: -0.5}
    table.loc[walk, "mean_squared_error"] *= np.exp(change[verdict])
    return table


def plant_ratio(claim, verdict, table):
    ratio = {HOLDS: 0.6, IN_PART: 1.5, FAILS: 4.0}[verdict]
    numbers = np.log(ratio * np.sqrt(NON_PRIVATE))
    return plant(table, selected(claim, table).index, claim["column"].split()[0], numbers)


PLANTS = dict.fromkeys(CURVES, plant_curves) | {
    "share_never_below": plant_never_below,
    "smallest": plant_extreme,
    "largest": plant_extreme,
    "largest_found": plant_found,
    "walk_to_draws": plant_walk,
    "walk_rate": plant_rate,
    "largest_median": plant_medians,
    "share_outlying": plant_outliers,
    "rank_correlation": plant_correlation,
    "sampler_difference": plant_sampler,
    "median_ratio": plant_ratio,
}


def one(name):
    found = ALONE[ALONE["claim"] == name.replace(".", "-")]
    assert len(found) == 1
    return found


def planted(name, verdict=HOLDS):
    """Tables that give the claim this verdict."""
    claim = one(name).iloc[0]
    table = PLANTS[claim["measure"]](claim, verdict, MAKE[claim["table"]](claim["study"]))
    tables = {(claim["study"], claim["table"]): table}
    if claim["against"]:
        other = errors_table(claim["against"])
        rank = other["cell"].rank(method="dense").to_numpy()
        tables[claim["against"], "errors"] = plant(other, other.index, "log_error", -0.1 * rank)
    return tables


def paper(rows, name="a paper", source="claims.csv"):
    return read_paper(name, io.StringIO(rows.to_csv(index=False)), source)


def judged(rows, tables, stream=stream):
    return judge([paper(rows)], tables, stream, replicates=200)


def verdict_on(name, tables):
    return judged(one(name) if isinstance(name, str) else name, tables).iloc[0]


# --- Verdicts ---

# Measures that can refute a claim and not confirm it.
LOWER_BOUNDS = ("largest_found", "walk_to_draws", "walk_rate")


@pytest.mark.parametrize("verdict", [HOLDS, IN_PART, FAILS])
@pytest.mark.parametrize("name", CLAIMS["claim"])
def test_every_claim_can_get_every_verdict(name, verdict):
    claim = one(name).iloc[0]
    if verdict == IN_PART and claim["in_part"] == claim["holds"]:
        return
    found = verdict_on(name, planted(name, verdict))
    expected = verdict
    if claim["measure"] in LOWER_BOUNDS and verdict != FAILS:
        # What is not seen may be there.
        expected = UNDECIDED if verdict == HOLDS else IN_PART
    if claim["measure"] == "share_worst_at_ends" and "group" in claim["within"]:
        # Of one curve's ends no more than half but not all are a whole number.
        expected = FAILS if verdict == IN_PART else verdict
    assert found["verdict"] == found["sentence_verdict"] == expected, found["why"]
    assert found["low"] <= found["value"] <= found["high"]
    assert found["interval_over"]
    assert (found["seed"], found["lock"]) == ("1", "abc")


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
    return pd.concat([table, released], ignore_index=True)


@pytest.mark.parametrize(("nearer", "verdict"), [(1.0, HOLDS), (0.6, IN_PART), (0.0, FAILS)])
@pytest.mark.parametrize("name", BESIDE["claim"])
def test_releases_are_judged_beside_draws_at_the_same_budget(name, nearer, verdict):
    rows = BESIDE[BESIDE["claim"] == name]
    study = rows["study"].item()
    found = verdict_on(rows, {(study, "errors"): with_releases(study, nearer)})
    assert (found["verdict"], found["value"]) == (verdict, nearer), found["why"]
    assert found["interval_over"] == "6 data sets"


@pytest.mark.parametrize("name", ["sphere_budget", "sphere_n", "walk_length.sphere_error"])
def test_claims_about_draws_do_not_see_releases_nor_other_mechanisms(name):
    alone = errors_table("sphere")
    other = planted("sphere_budget", FAILS)["sphere", "errors"].assign(mechanism="another")
    found = [
        verdict_on(name, {("sphere", "errors"): table})
        for table in (alone, with_releases("sphere", 0.6), pd.concat([alone, other]))
    ]
    numbers = [each[["value", "low", "high", "verdict", "why"]].to_list() for each in found]
    assert numbers[0] == numbers[1] == numbers[2]


@pytest.mark.parametrize("verdict", [HOLDS, IN_PART, FAILS])
def test_one_observed_data_set_is_judged_over_its_draws(verdict):
    name, key = "corpus_callosum_budget.error", ("corpus_callosum", "errors")
    table = planted(name, verdict)[key].query("data_set == 0 and group == 'stand_in'")
    found = verdict_on(name, {key: table.assign(group="observed", data="observed")})
    assert found["verdict"] == verdict, found["why"]
    assert found["interval_over"] == "draws of one data set"
    assert found["data"] == "observed"
    # There is no other data set beside which it could stand.
    assert found["shown_verdict"] == ""


@pytest.mark.parametrize(("below", "verdict"), [(0, HOLDS), (2, IN_PART), (9, FAILS)])
def test_errors_of_one_data_set_are_below_another_or_not(below, verdict):
    table = errors_table("sphere", data_sets=1)
    table = plant(table, table.index, "log_gap", 0.5)
    shown = table.index[(table["sampler"] == "default") & (table["noise_variance"] == 0.001)]
    table = plant(table, shown[:below], "log_gap", -0.5)
    found = verdict_on("sphere_approach.never_attains", {("sphere", "errors"): table})
    assert found["verdict"] == verdict, found["why"]
    assert found["interval_over"] == "one data set"


def undecided():
    """Errors on the sphere by which every other data set refutes that they fall."""
    table = planted("sphere_budget")["sphere", "errors"]
    table.loc[table["data_set"] % 2 == 1, "mean_squared_error"] **= -1.0
    return table


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
    replicates = np.concatenate([[value], np.linspace(low, high, 39), [-1.0, 2.0]])
    found = _verdict(claim, pd.DataFrame(), Measured(replicates, "20 pairs", "so much"))
    assert found["verdict"] == verdict
    assert (found["low"], found["high"]) == pytest.approx((min(low, value), max(high, value)))


def test_the_shown_data_set_has_a_verdict_of_its_own():
    table, other = (planted("sphere_budget", v)["sphere", "errors"] for v in (HOLDS, FAILS))
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
    tables = {UNDECIDED: undecided(), "": errors_table("sphere").query("n == 7")}
    for verdict in (HOLDS, IN_PART, FAILS):
        tables[verdict] = planted("sphere_budget", verdict)["sphere", "errors"]
    named = {(f"sphere_{k}", "errors"): tables[verdict] for k, verdict in enumerate(all_verdicts)}
    found = judged(rows, named)
    assert found["verdict"].tolist() == all_verdicts
    assert found["sentence_verdict"].unique().tolist() == [together]
    assert found["statement"].unique().tolist() == ["It is so."]


def test_claims_about_studies_that_are_not_there_are_left_out():
    assert set(judged(CLAIMS, planted("sphere_budget"))["study"]) == {"sphere"}
    assert judged(CLAIMS, {}).empty


# --- Numbers ---


def pairs_of_budgets(table):
    for _, curve in selected(one("sphere_budget").iloc[0], table).groupby("n"):
        means = curve.groupby("budget")["log_error"].mean().to_numpy()
        yield from (means[j] < means[i] for j in range(len(means)) for i in range(j))


def pairs_of_splits(table):
    for _, curve in selected(one("sphere_split.valley").iloc[0], table).groupby("n"):
        means = curve.groupby("budget_footpoint")["log_error"].mean().to_numpy()
        bottom = int(np.argmin(means))
        for j in range(len(means)):
            yield from (means[i] > means[j] for i in range(j) if j <= bottom)
            yield from (means[i] < means[j] for i in range(bottom, j))


@pytest.mark.parametrize(
    ("name", "pairs"),
    [("sphere_budget", pairs_of_budgets), ("sphere_split.valley", pairs_of_splits)],
)
def test_shares_of_pairs_are_those_of_loops(name, pairs):
    table = errors_table("sphere")
    table["mean_squared_error"] = np.exp(np.random.default_rng(1).standard_normal(len(table)))
    ordered = list(pairs(table))
    found = verdict_on(name, {("sphere", "errors"): table})
    assert found["value"] == pytest.approx(np.mean(ordered))
    assert f"{sum(ordered)} of {len(ordered)}" in found["why"]


@pytest.mark.parametrize(("states", "verdict"), [(8000, FAILS), (10, UNDECIDED)])
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
    rng = np.random.default_rng(4)
    inside, trials = 0, 400
    for _ in range(trials):
        frame = pd.DataFrame({"group": "g", "cell": "c", "data_set": range(count)})
        if count == 1:
            # Its mean over ten footpoints, and the standard error that they give.
            draws = rng.standard_normal(10)
            frame["log_error"], frame["footpoints"] = np.mean(draws), 10
            frame["log_error_standard_error"] = np.std(draws, ddof=1) / np.sqrt(10)
        else:
            frame["log_error"] = rng.standard_normal(count)
        values = cell_statistics(frame, "log_error", rng, 400).values[1:, 0]
        low, high = np.percentile(values, [2.5, 97.5])
        inside += low <= 0.0 <= high
    assert least <= inside / trials <= 0.98


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
    found = verdict_on(name, planted(name, FAILS))
    assert found["interval_over"] == over
    assert says in found["why"]
    assert ("walks of" in found["why"]) == (name == "figure_3.walk")


def test_origin_comes_from_the_errors_where_the_table_does_not_say():
    tables = planted("spd_ratios.footpoint") | {("spd", "errors"): errors_table("spd")}
    assert verdict_on("spd_ratios.footpoint", tables)["data"] == "simulated"


COMPARED = "than the one it is compared with"


@pytest.mark.parametrize(
    ("measure", "mine", "expected"),
    [
        ("reduction", [161.0], f"the mean is 1510 % higher {COMPARED}"),
        ("reduction", [9.0], f"the mean is 10 % lower {COMPARED}"),
        (
            "reduction",
            [11.0, 8.0],
            f"the mean is 5 % lower {COMPARED}, averaged over n (from 10 % higher to 20 % lower)",
        ),
        ("share_below", [9.0], "the mean is 0.9 times the mean it is compared with"),
        (
            "share_below",
            [11.0, 7.0],
            "the mean is the smaller one at 1 of 2 values of n, and 0.9 times the mean it is "
            "compared with on average",
        ),
        ("smallest", [11.38], "the value is 11.4"),
        ("smallest", [1.5, 0.5], "the smallest of 2 values is 0.5"),
    ],
)
def test_reasons_of_comparisons(measure, mine, expected):
    count = len(mine) if measure == "smallest" else 2 * len(mine)
    levels = np.repeat(np.arange(len(mine)), count // len(mine))
    both = pd.DataFrame({"n": levels, "group": levels, "cell": "a"})
    both["data_set"] = np.arange(count) % 2
    claim = SimpleNamespace(column=["error"], along="n", study="a", other=("a", "b"))
    tables = [both.assign(error=np.array(means)[levels]) for means in (mine, [10.0] * len(mine))]
    tables = tables[: 1 + ("against" in MEASURES[measure].needed)]
    compute = MEASURES[measure].compute
    found = compute(claim, tables[0], np.random.default_rng(0), 1, *tables[1:])
    assert found.says == expected


def test_flagged_cells_are_counted():
    tables = planted("sphere_budget")
    assert "flagged" not in verdict_on("sphere_budget", tables)["why"]
    table = tables["sphere", "errors"]
    table.loc[table["cell"] == "p0.1_v0.1", "flagged"] = True
    assert "3 of 30 cells are flagged" in verdict_on("sphere_budget", tables)["why"]


def without(column):
    return lambda table: table.drop(columns=column)


def keep(query):
    return lambda table: table.query(query)


def assigned(**columns):
    return lambda table: table.assign(**columns)


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("sphere_budget", assigned(mechanism="a"), "sphere's errors have no row of the mechanism"),
        ("figure_3", keep("cell != 'p0.3_v0.3'"), "no row of corpus_callosum's errors"),
        ("sphere_n", keep("n == 20"), "as n has one level"),
        ("sphere_approach.approaches", keep("cell == 'p0.3_v0.3'"), "as budget has one level"),
        ("sphere_split.ends", keep("budget_footpoint in [0.02, 2.0]"), "between its ends"),
        ("spd_tails.shape", keep("data_set == 0"), "gives log_tail no interval"),
        (
            "corpus_callosum_budget.error",
            lambda table: table.query("data_set == 0").assign(footpoints=1),
            "one footpoint",
        ),
        ("sphere_budget", lambda table: "x makes it", "x makes it"),
        ("spd_like_sphere", keep("cell in ['p0.1_v0.1', 'p0.2_v0.2']"), "share 2 points"),
        ("walk_length.sphere_error", keep("sampler == 'default'"), "both samplers"),
        ("spd_like_sphere", assigned(mean_squared_error=1.0), "not finite"),
        ("figure_3", assigned(mean_prediction_distance=0.0), "infinite"),
        ("spd_ratios.footpoint", assigned(ratio_footpoint=np.nan), "missing"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_cannot_be_judged_gets_no_verdict(name, change, why):
    tables = {key: change(table) for key, table in planted(name).items()}
    found = verdict_on(name, tables)
    assert (found["verdict"], np.isnan(found["value"])) == ("", True)
    assert found["why"].startswith("not evaluated: ")
    assert why in found["why"]


def test_a_table_that_is_not_there_is_named():
    [key] = planted("sphere_budget")
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
        ({"where": "__class__ == 1"}, "column where: there is no column __class__"),
        ({"where": "n == '20'"}, "column where: n and '20' are compared"),
        ({"where": "sampler in ['default', 1]"}, "sampler and 1 are compared"),
        ({"column": "log_errors"}, "column column: there is no column log_errors"),
        ({"along": "n budget"}, "column along: there is no column"),
        ({"where": "imbalance == 0"}, "several rows for one cell and data set"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(change, says):
    assert says in refused(one("sphere_budget").assign(**change), planted("sphere_budget"))


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


@pytest.mark.parametrize(
    ("name", "column"),
    [
        ("sphere_budget", "mean_squared_error"),
        ("spd_ratios.footpoint", "ratio_footpoint"),
        ("privacy.footpoint", "loss_over_stated"),
        ("walk_length.sphere_error", "log_error_standard_error"),
    ],
)
def test_a_table_without_a_column_is_refused(name, column):
    tables = {key: without(column)(table) for key, table in planted(name).items()}
    assert "there is no column" in refused(one(name), tables)


def test_a_file_without_a_column_or_without_a_claim_is_refused():
    for column in CLAIMS:
        message = refused(CLAIMS.drop(columns=column))
        assert f"row 1: there is no column {column}" in message
    assert "claims.csv: it holds no claim: add one" in refused(CLAIMS.iloc[:0])


@pytest.mark.parametrize("text", ["", 'a,b\n"1,2\n', "a,b\n1,2,3\n1,2\n"])
def test_a_file_that_is_no_table_is_refused(text):
    with pytest.raises(DataError, match=r"^claims\.csv[:,][^\n]*$"):
        read_paper("a paper", io.StringIO(text), "claims.csv")


def test_claims_cover_the_measures_and_are_sentences():
    claims = pd.concat([paper(rows).claims and rows for rows in ROWS.values()])
    assert len(claims) == 175
    assert set(CLAIMS["measure"]) == set(PLANTS)
    assert set(claims["measure"]) == set(MEASURES)
    for text in filter(None, [*claims["statement"], *claims["quantity"]]):
        assert text.endswith(".")
        assert ". " not in text


# --- Several papers, and the page ---


def test_papers_are_judged_side_by_side():
    """Each as if it were alone, and identifiers may recur from paper to paper."""
    tables = planted("sphere_budget")
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
    tables = planted("sphere_budget")
    papers = [
        paper(CLAIMS, "First"),
        paper(one("sphere_budget").assign(statement="1 < 2."), "The 2nd"),
    ]
    found = judge(papers, tables, stream, 200).assign(seed=1.0, lock="abc")
    found.to_csv(tmp_path / "claims.csv", index=False)

    def page(rows, note=""):
        return render(TEMPLATE, rows, tables, table="claims.csv", note=note, made_by=MADE_BY)

    text = page(read_verdicts(tmp_path / "claims.csv"))
    assert text == page(found)
    assert "not evaluated" in text
    for name in ("First", "The-2nd"):
        assert text.count(f'<tbody id="{name}-sphere_budget">') == 1
        assert f"<h2>{name.replace('-', ' ')}</h2>" in text
    assert one("sphere_budget")["quantity"].item() in text
    assert "1 &lt; 2." in text
    assert "The stated budgets do not hold" in text
    assert "The stated budgets do not hold" not in page(found.assign(mechanism="release"))
    note = '<p class="warning"><strong>Too small.</strong></p>'
    assert page(found, "Too small.").replace(note, "") == text
