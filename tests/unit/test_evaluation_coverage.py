"""Shares of bands and intervals that hold, beside aims; held-out cohorts; errors of releases."""

from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
import yaml
from scipy.stats import linregress

import cohorts
import held_out
import interval_coverage as coverage
import utility
from geodp import Assumptions, Euclidean, ReleasePlan
from geodp_release import bands
from geodp_release.bands import Estimate
from geodp_release.stages import PointsStage
from reproduction.places import CHECKOUT

SETTINGS = yaml.safe_load((CHECKOUT / "evaluation" / "coverage.yaml").read_text("utf-8"))
CRITERIA = {"bands": {"least": 0.8}, "trend": {"least": 0.8}, "no trend": {"most": 0.15}}
CRITERIA |= {"residual scale": {"least": 0.8}, "R^2": {"least": 0.8}, "doubts": {"most": 0.1}}


def one_stage(assumptions, budget, work=None):
    """A plan of one quick stage, with errors that nobody simulated."""
    stage = PointsStage.of(budget.amount, budget.unit, 64, 0.5)
    return ReleasePlan(assumptions, budget, (stage,), 0.2, 0.1, 0.5)


def of_cell(space, aims, releases, **cell):
    """The table of a cell of the shipped spaces and aims."""
    aims = {name: SETTINGS["aims"][name] for name in aims}
    given = SETTINGS["spaces"][space], aims, releases, 1024, 1
    return coverage.measure({"space": space, **cell}, *given)


def shown(summary, name):
    """The table that a page shows; its figure is closed."""
    tables, figure = summary
    plt.close(figure)
    return tables[name]


def test_releases_of_a_cell_are_measured(few_points, monkeypatch):
    monkeypatch.setattr(bands, "SIMULATED", 64)
    table = of_cell("R^3, age and group", ["error", "bands"], 2)
    assert list(table["aim"]) == ["error", "error", "bands"]
    assert list(table["number_of_covariates"]) == [2] * 3
    assert (table["value"][:2] > 0.0).all()
    assert 0.4 < table["value"][2] <= 1.0
    tests = of_cell("S^2", ["size"], 2, unlike="no trend")
    page = shown(coverage.summarise(pd.concat([table, tests], ignore_index=True)), "coverage")
    assert list(page["not as assumed"]) == ["nothing"] * 3 + ["no trend"]


def test_measures_are_beside_their_aims(monkeypatch):
    held = np.array([[True, False, np.nan]] * 3 + [[True, np.nan, np.nan], [np.nan] * 3])
    found = iter(held)
    monkeypatch.setattr(coverage, "plan_release", one_stage)
    monkeypatch.setattr(coverage, "drawn", lambda *_: None)
    measures = coverage.MEASURES | {"bands": (lambda *_: next(found), coverage._share)}
    monkeypatch.setattr(coverage, "MEASURES", measures)
    table = of_cell("S^2", ["bands"], len(held), true_over_assumed=3.0)
    [row] = table.to_dict("records")
    # Of four releases with a band.
    assert row["value"] == pytest.approx(4 / 7)
    assert row["standard_error"] == pytest.approx(np.sqrt(4 / 7 * 3 / 7 / 4))
    assert row["drawn"] == pytest.approx(7 / 15)
    assert not row["is_met"]
    [row] = shown(coverage.summarise(table), "coverage").to_dict("records")
    assert row["not as assumed"] == "residual scale 3 times the assumed"
    assert (row["measure"], row["value"]) == ("bands, share", "0.571 \u00b1 0.247")
    assert (row["aim"], row["met"]) == ("at least 0.87, at most 0.95", "**no**")
    ratios = coverage._ratios(np.array([[4.0, 1.0]] * 3 + [[16.0, 4.0]]), np.random.default_rng(0))
    assert ratios == {"root mean square": (2.0, 0.0), "median": (2.0, 0.0)}


def test_radii_are_left_out_beside_a_release_that_has_them(monkeypatch):
    planned = []

    def plan_of(assumptions, budget, work):
        planned.append(assumptions)
        return SimpleNamespace(assumptions=assumptions)

    def drawn(plan, x, points, rng):
        """Least squares, beside the truth: more so where radii are left out."""
        fit = coverage.GeodesicModel(plan.assumptions.manifold).fit(x, points)
        away = 3.0 if plan.assumptions.footpoint_radius > 1.0 else 2.0
        return SimpleNamespace(plan=plan, predict=lambda places: fit.predict(places) + away)

    monkeypatch.setattr(coverage, "plan_release", plan_of)
    monkeypatch.setattr(coverage, "drawn", drawn)
    aims = ["error without radii", "error over least squares"]
    table = of_cell("R^3", aims, 3, radii_left_out=True)
    assert [each.footpoint_radius for each in planned] == [1e6, 1.0]
    assert [each.residual_scale for each in planned] == [None, None]
    root = table[table["kind"] == "root mean square"].set_index("aim")
    assert root["value"]["error without radii"] == pytest.approx(1.5, rel=0.02)
    assert root["value"]["error over least squares"] > 30.0
    assert list(root["is_met"]) == [True, False]
    page = shown(coverage.summarise(table), "coverage")
    assert set(page["not as assumed"]) == {"radii left out"}


def test_held_out_cohorts_are_beside_their_criteria(monkeypatch):
    truth = cohorts.Truth(lambda x: x[:, :1], residual_scale=1.0, r_squared=0.9)
    cohort = cohorts.Cohort(
        "points on a line",
        {"name": "euclidean", "size": 1},
        ((10.0, 20.0), (2.0, 4.0)),
        *("anywhere", 4, 8.0, (True, False), lambda rng: (None, None, truth)),
    )
    monkeypatch.setitem(cohorts.COHORTS, "Made up", cohort)
    monkeypatch.setattr(held_out, "plan_release", one_stage)
    plans, levels = [], []

    def drawn(plan, *_):
        """The third one doubts, and has neither a band nor a trend; the first has both trends."""
        plans.append(plan)
        number = len(plans)

        def around(value):
            return lambda level: levels.append(level) or Estimate(value, value - 0.2, value, level)

        return SimpleNamespace(
            plan=plan,
            # Off by 1.5 at the first place.
            predict=lambda places: places[:, :1] + 1.5 * (places[:, :1] == 10.0),
            band=lambda places, level: np.where(
                places[:, 0] == 20.0, np.nan, np.nan if number == 3 else number
            ),
            p_values=lambda: np.array([0.05 if number < 3 else 0.06, 0.05 * number]),
            residual_scale=around(1.1),
            r_squared=around(0.8),
            doubts=lambda: ["Doubt."] * (number == 3),
        )

    monkeypatch.setattr(coverage, "drawn", drawn)
    table = held_out.measure("Made up", 3, 3, CRITERIA, 1)
    given = plans[0].assumptions
    assert (given.subjects, given.residual_scale, given.footpoint_radius) == (4, None, 1e6)
    assert (str(plans[0].budget.amount), set(levels)) == ("8.0", {0.9})
    assert dict(zip(table["what"], table["value"], strict=True)) == {
        "bands": 0.75,
        "bands drawn": pytest.approx(4 / 9),
        "bands at 10, 2": 0.5,
        "bands at 15, 4": 1.0,
        "bands at 20, 4": pytest.approx(np.nan, nan_ok=True),
        "trend on covariate 1": pytest.approx(2 / 3),
        "no trend on covariate 2": pytest.approx(1 / 3),
        "residual scale": 1.0,
        "R^2": 0.0,
        "doubts": pytest.approx(1 / 3),
    }
    judged = table[table["is_met"].notna()]
    assert list(judged["is_met"]) == [False, False, False, True, False, False]
    page = shown(held_out.summarise(table), "held_out").set_index("measure")
    assert tuple(page.loc["bands"]) == ("Made up", "0.75", "at least 0.8", "**no**")
    assert tuple(page.loc["bands drawn"]) == ("Made up", "0.44", "", "")
    assert page["value"]["bands at 20, 4"] == "none drawn"


def test_data_of_coverage_are_unlike_what_is_assumed():
    manifold, rng = Euclidean(3), np.random.default_rng(1)
    assumptions = Assumptions(manifold, np.zeros(3), 1.0, 2.0, (-0.5, 0.5), 4000)

    def of(name):
        state, x, y = coverage.UNLIKE[name].draw(assumptions, 0.1, rng)
        return state, x, (y - state[0] - x * state[1]) / 0.1

    state, x, residuals = of("nothing")
    assert np.linalg.norm(state[0]) < 1.0
    assert np.std(x) == pytest.approx(np.sqrt(1 / 12), rel=0.05)
    assert np.std(residuals, axis=0) == pytest.approx(1.0, rel=0.05)
    assert np.mean(of("covariates 0.1 +- 0.03")[1]) == pytest.approx(-0.4, abs=0.003)
    sizes = np.std(of("residuals five times as large in one direction")[2], axis=0)
    assert sizes[0] / sizes[1:] == pytest.approx(5.0, rel=0.1)
    assert np.mean(sizes**2) == pytest.approx(1.0, rel=0.1)
    _, x, residuals = of("residuals twice as large at one end")
    ends = [np.std(residuals[some]) for some in (x[:, 0] > 0.4, x[:, 0] < -0.4)]
    assert ends[0] / ends[1] == pytest.approx(1.95 / 1.05, rel=0.1)
    assert np.linalg.norm(of("footpoint at 1.2 radii")[0][0]) == pytest.approx(1.2)
    assert np.std(of("residuals of four radii")[2]) == pytest.approx(40.0, rel=0.05)
    far = np.linalg.norm(of("a fifth of the records elsewhere")[2], axis=1) > 6.0
    assert np.mean(far) == pytest.approx(0.2, abs=0.002)
    assert np.all(of("no trend")[0][1] == 0.0)


def test_trends_have_the_power_that_is_wanted_without_privacy():
    line, plane = Euclidean(1), Euclidean(2)
    rng = np.random.default_rng(2)
    x, y = rng.normal(size=(2, 30))
    expected = linregress(x, y).pvalue
    assert coverage.trend_p_value(line, x, y[:, None]) == pytest.approx(expected)
    assumptions = Assumptions(plane, np.zeros(2), 1.0, 2.0, (-0.5, 0.5), 40)
    for name, power in (("no trend", 0.05), ("a weak trend", 0.8)):
        drawn = [coverage.UNLIKE[name].draw(assumptions, 0.1, rng) for _ in range(800)]
        found = np.mean([coverage.trend_p_value(plane, x[:, 0], y) <= 0.05 for _, x, y in drawn])
        assert found == pytest.approx(power, abs=4.0 * np.sqrt(power * (1.0 - power) / 800))


@pytest.mark.parametrize("space", [("sphere", 2), ("kendall", 8)])
def test_errors_of_releases_are_beside_others(space, monkeypatch):
    monkeypatch.setattr(utility, "plan_release", one_stage)
    asked, draw = [], utility.KNGAsPublished.draw
    monkeypatch.setattr(
        utility.KNGAsPublished,
        "draw",
        lambda self, rng, budgets, *rest: asked.append(budgets) or draw(self, rng, budgets, *rest),
    )
    data = {"length": 0.6} if space[0] == "sphere" else {"of": "rats"}
    given = (*space, 0.5, 1.0, 0.03, data, {"n": [20], "budgets": [8.0]})
    rats = str(CHECKOUT / "resources" / "vilmann_rats.csv")
    table = utility.measure("a space", given, 20, [0.5, 8.0], 40, 2, 1, rats)
    # Half of the budget for each parameter.
    assert [set(each.values()) for each in asked] == [{"0.25"}, {"4.0"}]
    cell = table[table["budget"].fillna(8.0) == 8.0].set_index("mechanism")
    assert set(cell.index) == {"release", *utility.BESIDE}
    assert cell["predicted"]["release"] == pytest.approx(0.2)
    assert cell["curve_error"]["without data"] > cell["curve_error"]["no privacy"]
    # The centre is half a radius from the truth.
    made = utility.Space("a space", given, 1, rats)
    p, _, centre = made.truth
    assert made.manifold.dist(p, centre) == pytest.approx(0.25)
    [row] = shown(utility.summarise(table, [8.0]), "utility").to_dict("records")
    assert row["predicted"] == pytest.approx(0.2)
    assert row["no privacy"] == cell["curve_error"]["no privacy"]
