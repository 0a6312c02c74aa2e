"""Verdicts on planted tables, their reasons, and the page of them."""

import html
import re
from types import SimpleNamespace

import numpy as np
import pandas as pd
import planted_claims as planted
import pytest
from planted_claims import by_budget, errors_table, judged, one, tables_of, verdict_on

from geodp.randomness import random_stream
from reproduction.claims.measures import Measured
from reproduction.claims.page import read_verdicts, render
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
)
from reproduction.places import CHECKOUT


def test_every_claim_gets_a_verdict_from_the_tables_of_a_run():
    tables, claims = {}, planted.ALONE
    for study in planted.GROUPS:
        tables |= {(study, name): make(study) for name, make in planted.MAKE.items()}
        # Curves that are neither flat nor alike, and no data set of its own.
        table = errors_table(study, data_sets=4)
        table["mean_squared_error"] *= np.exp(-table["cell"].rank(method="dense") / 20.0)
        # Rows of other mechanisms are not looked at.
        tables[study, "errors"] = pd.concat([table, table.assign(mechanism="another")])
    # Few replicates, since no number is looked at.
    found = judged(claims, tables, replicates=20)
    assert found["claim"].tolist() == claims["claim"].tolist()
    assert found.loc[~found["verdict"].isin(VERDICTS), "why"].empty
    assert (found["sentence_verdict"] == found["verdict"]).all()
    assert (found["interval_over"] != "").all()
    assert set(zip(found["seed"], found["lock"], strict=True)) == {("1", "abc")}
    # What can refute a claim and not confirm it: what is not seen may be there.
    bound = claims["measure"].isin(["largest_found", "walk_to_draws", "walk_rate"]).to_numpy()
    assert (np.isposinf(found["high"]) == bound).all()
    assert HOLDS not in set(found.loc[bound, "verdict"])
    constructed = found["verdict"] == BY_CONSTRUCTION
    assert set(found["claim"][constructed]) <= set(claims["claim"][claims["construction"] != ""])


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


HIGH, LOW = ("value >= 0.95", "value >= 0.75"), ("value <= 1", "value <= 1.01")


def row_of_verdicts(criteria, measured, construction=""):
    holds, in_part = criteria
    claim = SimpleNamespace(holds=holds, in_part=in_part, construction=construction)
    return _verdict(claim, pd.DataFrame(), measured)


@pytest.mark.parametrize(
    ("value", "low", "high", "verdict"),
    [
        *((0.97, 0.96, 0.99, HOLDS), (0.97, 0.90, 0.99, IN_PART), (0.80, 0.70, 0.90, IN_PART)),
        *((0.90, 0.70, 0.97, UNDECIDED), (0.60, 0.50, 0.70, FAILS)),
        # Stretched to hold the number.
        (1.00, 0.96, 0.98, HOLDS),
    ],
)
def test_verdicts_follow_from_numbers_and_intervals(value, low, high, verdict):
    """The table of the page on claims; the ends are percentiles 2.5 and 97.5."""
    replicates = np.concatenate([[value], np.linspace(low, high, 39), [-1.0, 2.0]])
    measured = Measured(replicates, "20 pairs", "so much")
    found = row_of_verdicts(HIGH, measured)
    assert found["verdict"] == verdict
    assert (found["low"], found["high"]) == pytest.approx((min(low, value), max(high, value)))
    built = row_of_verdicts(HIGH, measured, "it must be so")
    assert built["verdict"] == (BY_CONSTRUCTION if verdict == HOLDS else verdict)


@pytest.mark.parametrize(
    ("low", "verdict"), [(0.5, NOT_REFUTED), (0.99, NOT_REFUTED), (1.005, FAILS), (1.2, FAILS)]
)
def test_a_lower_bound_can_refute_and_not_confirm(low, verdict):
    # The number itself may be off by what its interval says.
    measured = Measured(np.array([low + 0.3, low, low]), "pairs", "so much", lower_bound=True)
    found = row_of_verdicts(LOW, measured)
    assert (found["verdict"], found["high"]) == (verdict, np.inf)


def test_the_shown_data_set_has_a_verdict_of_its_own():
    table, other = (by_budget(v)["sphere", "errors"] for v in (HOLDS, FAILS))
    first = table["data_set"] == 0
    key = ("sphere", "errors")
    found = verdict_on("sphere_budget", {key: pd.concat([other[first], table[~first]])})
    assert (found["verdict"], found["shown_verdict"]) == (HOLDS, FAILS)
    assert (found["value"], found["shown_value"]) == (1.0, 0.0)


TOGETHER = {
    # A reading, which is NaN, does not count.
    HOLDS: [[HOLDS, HOLDS], [HOLDS, BY_CONSTRUCTION], [HOLDS, np.nan]],
    IN_PART: [[HOLDS, IN_PART], [HOLDS, FAILS], [IN_PART, UNDECIDED], [HOLDS, FAILS, UNDECIDED]],
    FAILS: [[FAILS, FAILS], [FAILS, NOT_REFUTED], [FAILS, BY_CONSTRUCTION]],
    UNDECIDED: [[FAILS, FAILS, ""], [HOLDS, ""], [FAILS, UNDECIDED], [UNDECIDED, NOT_REFUTED]],
    # What only a search or a mistake could refute.
    NOT_REFUTED: [[HOLDS, NOT_REFUTED]],
    BY_CONSTRUCTION: [[BY_CONSTRUCTION, BY_CONSTRUCTION]],
    "": [["", ""]],
}


@pytest.mark.parametrize("together", TOGETHER)
def test_a_sentence_holds_if_its_parts_do(together):
    for verdicts in TOGETHER[together]:
        assert _together(pd.Series(verdicts)) == together, verdicts


def test_readings_of_a_sentence_do_not_count():
    verdicts = {"sphere": HOLDS, "sphere_2": HOLDS, "sphere_3": FAILS}
    rows = {"claim": ["whole.a", "whole.b", "whole.c"], "statement": ["It is so.", "", ""]}
    rows |= {"part": ["a", "b", ""], "reading": ["", "", "another"], "study": [*verdicts]}
    rows = pd.concat([one("sphere_budget")] * 3).assign(**rows)
    tables = {(s, "errors"): by_budget(v)["sphere", "errors"] for s, v in verdicts.items()}
    found = judged(rows, tables)
    assert found["verdict"].tolist() == [*verdicts.values()]
    assert found["sentence_verdict"].tolist() == [HOLDS] * 3
    assert found["statement"].tolist() == ["It is so."] * 3


def test_claims_about_studies_that_are_not_there_are_left_out():
    rows = pd.concat([one("spd_like_sphere"), one("sphere_budget")])
    assert judged(rows, by_budget())["study"].tolist() == ["sphere"]
    assert judged(rows, {}).empty


def test_flagged_cells_and_steps_of_walks_are_counted():
    tables = by_budget()
    assert "flagged" not in verdict_on("sphere_budget", tables)["why"]
    table = tables["sphere", "errors"]
    table.loc[table["cell"] == "p0.1_v0.1", "flagged"] = True
    assert "3 of 30 cells are flagged" in verdict_on("sphere_budget", tables)["why"]
    assert "walks of 1234 steps" in verdict_on("figure_3.walk", tables_of("figure_3.walk"))["why"]


def changed(query="", **columns):
    return lambda table: (table.query(query) if query else table).assign(**columns)


@pytest.mark.parametrize(
    ("name", "change", "why"),
    [
        ("sphere_budget", changed(mechanism="a"), "sphere's errors have no row of the mechanism"),
        ("figure_3", changed("cell != 'p0.3_v0.3'"), "no row of corpus_callosum's errors"),
        ("sphere_budget", changed("budget_footpoint == 0.1"), "as budget has one level"),
        ("sphere_n", changed("n != 100"), "the claim needs n == 100, which sphere's errors lack"),
        ("sphere_split.ends", changed("budget_footpoint in [0.02, 2.0]"), "between its ends"),
        ("spd_tails.shape", changed("data_set == 0"), "gives log_tail no interval"),
        ("corpus_callosum_budget.error", changed("data_set == 0", footpoints=1), "one footpoint"),
        ("spd_like_sphere", changed("cell in ['p0.1_v0.1', 'p0.2_v0.2']"), "share 2 points"),
        ("walk_length.sphere_error", changed("sampler == 'default'"), "both samplers"),
        ("spd_like_sphere", changed(mean_squared_error=1.0), "not finite"),
        ("figure_3", changed(mean_prediction_distance=0.0), "infinite"),
        ("spd_ratios.footpoint", changed(ratio_footpoint=np.nan), "missing"),
    ],
)
@pytest.mark.filterwarnings("ignore:divide by zero")
def test_what_cannot_be_judged_gets_no_verdict(name, change, why):
    tables = {key: change(table) for key, table in tables_of(name).items()}
    found = verdict_on(name, tables)
    assert (found["verdict"], np.isnan(found["value"])) == ("", True)
    assert found["why"].startswith("not evaluated: ")
    assert why in found["why"]


def test_replicates_depend_on_the_seed_and_the_claim_alone():
    tables = by_budget()
    table = tables["sphere", "errors"]
    table["mean_squared_error"] *= np.exp(np.random.default_rng(5).standard_normal(len(table)))
    some = planted.CLAIMS
    some = some[some["claim"].isin(["sphere_budget", "sphere_split.ends"])]
    found = judged(some, tables)
    alone = pd.concat([judged(some[:1], tables), judged(some[1:], tables)], ignore_index=True)
    pd.testing.assert_frame_equal(alone, found)
    others = judged(some, tables, lambda claim: random_stream(8, "claims", claim))
    ends = ["low", "high"]
    assert np.any(others[ends] != found[ends])


def test_the_page_shows_what_is_read_and_warns(tmp_path):
    tables = by_budget()
    rows = pd.concat([one("sphere_budget"), one("sphere_ratios.tight")])
    found = judged(rows.assign(statement=["1 < 2.", "It is so."]), tables, paper="The 2nd")
    found.assign(seed=1.0, lock="abc").to_csv(tmp_path / "claims.csv", index=False)
    read = read_verdicts(tmp_path / "claims.csv")

    def page(rows, note=""):
        template = CHECKOUT / "workflow" / "report" / "claims.html.j2"
        made_by = {"rule": "a rule", "seed": 1, "lock": "abc", "versions": {}}
        return render(template, rows, tables, table="claims.csv", note=note, made_by=made_by)

    text = page(read)
    texts = [" ".join(html.unescape(part).split()) for part in re.findall(r">([^<>]+)<", text)]
    for column in ("statement", "quantity", "why", "criterion"):
        assert set(found[column]) <= set(texts), column
    assert text.count('<tbody id="The-2nd-sphere_budget">') == 1
    assert "The stated budgets do not hold" in text
    assert "The stated budgets do not hold" not in page(read.assign(mechanism="release"))
    assert '<p class="warning"><strong>Too small.</strong></p>' in page(read, "Too small.")
