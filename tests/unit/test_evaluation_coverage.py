"""Shares of bands and intervals that hold, beside aims; held-out cohorts."""

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from scipy.stats import linregress

import cohorts
import held_out
import interval_coverage as coverage
import simulated
from geodp import Assumptions, Euclidean
from geodp_release import bands
from geodp_release.bands import Estimate
from reproduction.places import CHECKOUT

AIMS = {
    "error": {"measure": "errors", "most": 2.0},
    "over least squares": {"measure": "errors over least squares", "most": 3.0},
    "bands": {"measure": "bands", "least": 0.87, "most": 0.95},
}
SPACE = {"manifold": ("euclidean", 3), "footpoint_radius": 1.0, "shooting_vector_length": 2.0}
SPACE |= {"residual_scale": 0.1, "n": 500, "budget": 3.0}
CRITERIA = {"bands": {"least": 0.8}, "trend": {"least": 0.8}, "no trend": {"most": 0.15}}
CRITERIA |= {"residual scale": {"least": 0.8}, "R^2": {"least": 0.8}, "doubts": {"most": 0.1}}


def of_cell(aims, releases, unlike="nothing", ratio="", **space):
    cell = {"space": "a space", "unlike": unlike, "true_over_assumed": ratio, "aims": aims}
    return coverage.measure(cell, SPACE | space, AIMS, releases, 1024, 1)


def test_releases_of_a_cell_are_measured(few_points, monkeypatch):
    monkeypatch.setattr(bands, "SIMULATED", 64)
    [row] = of_cell("bands", 1, covariate_spread=["unknown", "two groups"]).to_dict("records")
    assert (row["covariates"], row["not as assumed"]) == (2, "nothing")
    assert 0.4 < row["value"] <= 1.0


def test_cells_have_known_data_spaces_and_aims():
    cells = pd.read_csv(CHECKOUT / "evaluation" / "coverage_cells.csv", keep_default_na=False)
    rules = (CHECKOUT / "evaluation" / "Snakefile").read_text("utf-8")
    assert set(cells["unlike"]) == set(simulated.UNLIKE)
    assert all(f'    "{space}": ' in rules for space in cells["space"])
    assert all(f'"{aim}": {{"measure"' in rules for aim in "; ".join(cells["aims"]).split("; "))


def test_values_are_beside_their_aims(monkeypatch):
    held = np.array([[True, False, np.nan]] * 3 + [[True, np.nan, np.nan], [np.nan] * 3])
    found, assumed = iter(held), []
    monkeypatch.setattr(coverage, "plan_release", lambda known, **_: assumed.append(known))
    monkeypatch.setattr(coverage.script, "release", lambda *_: None)
    monkeypatch.setattr(coverage, "found_in", lambda *_: next(found))
    table = of_cell("bands", len(held), ratio="4.0")
    assert [each.residual_scale for each in assumed] == [0.025]
    [row] = coverage.summarise(table)[0]["coverage"].to_dict("records")
    assert row["not as assumed"] == "residual scale 4.0 times the assumed"
    # 4 / 7, of four releases with a band.
    assert (row["measure"], row["value"]) == ("bands, share", "0.571 \u00b1 0.247")
    assert (row["aim"], row["met"]) == ("at least 0.87, at most 0.95", "**no**")
    missing = {"value": np.nan, "standard_error": 0.0, "least": 0.8, "most": np.nan}
    assert coverage.judged(missing)["met"] == "**no**"
    assert coverage.judged(missing | {"value": 0.8})["met"] == "yes"
    found, rng = np.array([[4.0, 1.0]] * 2 + [[4.0, 4.0]]), np.random.default_rng(0)
    ratios = coverage.come_to("errors", found, rng, resampled=20000)
    # Standard errors over all 27 samples.
    assert ratios["median"] == pytest.approx((2.0, 0.438), rel=0.03)
    assert ratios["root mean square"] == pytest.approx((np.sqrt(2.0), 0.336), rel=0.03)
    less = coverage.come_to("more rejections", np.array([1.0, -1.0, 0.0, 1.0]), rng)
    assert less == {"difference": (0.25, pytest.approx(np.sqrt(0.6875 / 4)))}


def test_a_release_is_measured_against_the_truth():
    plane = Euclidean(2)
    assumptions = Assumptions(plane, np.zeros(2), 1.0, 2.0, (0.0, 2.0), 40)
    state = np.array([[0.5, 0.0], [1.0, -1.0]])
    true, x = assumptions.coefficients @ state, np.linspace(-0.5, 0.5, 40)
    release = SimpleNamespace(
        plan=SimpleNamespace(assumptions=assumptions),
        predict=lambda places: plane.ends(state[0] + np.array([0.3, 0.4]), state[1:], places),
        band=lambda places, level: np.append([0.51, np.nan], np.full(9, 0.49)),
        coefficients=lambda level: (None, true - [[0.1, 0.1], [-0.1, np.nan]], true + level, None),
        doubts=lambda: ["Doubt."],
        p_values=lambda: np.array([0.05]),
    )

    def of(measure, y):
        return coverage.found_in(measure, release, state, x[:, None], y, lambda: release)

    steep, level = (x[:, None] * slope + 0.01 * np.ones((40, 2)) for slope in (state[1], 0.0))
    level[::2] *= -1.0
    np.testing.assert_array_equal(of("bands", steep), [1.0, np.nan, *np.zeros(9)])
    np.testing.assert_array_equal(of("intervals", steep), [[1.0, 1.0], [0.0, np.nan]])
    assert of("doubts", steep)
    assert of("rejections", steep).tolist() == [True]
    assert [of("more rejections", y) for y in (steep + level, level)] == [0.0, 1.0]
    assert of("errors", steep) == pytest.approx([0.25, 0.25])
    assert of("errors over least squares", steep + state[0]) == pytest.approx([0.25, 0.0002])


def test_radii_are_left_out_beside_a_release_that_has_them(monkeypatch):
    def planned(assumptions, budget, work):
        plans.append(assumptions)
        return SimpleNamespace(assumptions=assumptions)

    def drawn(plan, x, points, rng):
        """Least squares, beside the truth: more so where radii are left out."""
        fit = coverage.GeodesicModel(plan.assumptions.manifold).fit(x, points)
        away = 3.0 if plan.assumptions.footpoint_radius > 1.0 else 2.0
        return SimpleNamespace(plan=plan, predict=lambda places: fit.predict(places) + away)

    plans = []
    monkeypatch.setattr(coverage, "plan_release", planned)
    monkeypatch.setattr(coverage.script, "release", drawn)
    values = of_cell("error; over least squares", 3, "radii left out").set_index("what")["value"]
    assert values["error, root mean square"] == pytest.approx(1.5, rel=0.02)
    assert values["over least squares, root mean square"] > 30.0
    of_cell("error", 1)
    assert [each.footpoint_radius for each in plans] == [1e6, 1.0, 1.0, 1.0]
    assert [each.residual_scale for each in plans] == [None, None, None, 0.1]


def test_held_out_cohorts_are_beside_their_criteria(monkeypatch):
    truth = cohorts.Truth(lambda x: x[:, :1], residual_scale=1.0, r_squared=0.9)
    ranges = (10.0, 20.0), (2.0, 4.0)
    public = ("euclidean", 1), ranges, "anywhere", 4, 8.0, (True, False)
    cohort = cohorts.Cohort(*public, lambda subjects, rng: (None, None, truth))
    monkeypatch.setitem(cohorts.COHORTS, "Made up", cohort)
    monkeypatch.setattr(held_out, "plan_release", lambda *given: SimpleNamespace(given=given))
    plans, levels = [], []

    def drawn(plan, *_):
        """The third one doubts, and has neither a band nor a trend; the first has both trends."""
        plans.append(plan)
        number = len(plans)

        def around(value):
            return lambda level: levels.append(level) or Estimate(value, value - 0.2, value, level)

        return SimpleNamespace(
            plan=SimpleNamespace(assumptions=plan.given[0]),
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

    monkeypatch.setattr(coverage.script, "release", drawn)
    table = held_out.measure("Made up", 3, 3, CRITERIA, 1)
    known, budget = plans[0].given
    assert (known.subjects, known.residual_scale, known.footpoint_radius) == (4, None, 1e6)
    assert (str(budget.amount), set(levels)) == ("8.0", {0.9})
    page = coverage.summarise(table, "held_out")[0]["held_out"].set_index("measure")
    assert page[["value", "met"]].apply(tuple, axis=1).to_dict() == {
        "bands": ("0.750 \u00b1 0.306", "**no**"),
        "bands drawn": ("0.444 \u00b1 0.287", ""),
        "trend on covariate 1": ("0.667 \u00b1 0.272", "**no**"),
        "no trend on covariate 2": ("0.333 \u00b1 0.272", "**no**"),
        "residual scale": ("1.000 \u00b1 0.000", "yes"),
        "R^2": ("0.000 \u00b1 0.000", "**no**"),
        "doubts": ("0.333 \u00b1 0.272", "**no**"),
    }


def test_data_of_coverage_are_unlike_what_is_assumed():
    manifold, rng = Euclidean(3), np.random.default_rng(1)
    assumptions = Assumptions(manifold, np.zeros(3), 0.5, 2.0, (-0.5, 0.5), 4000)

    def of(name):
        state, x, y = simulated.UNLIKE[name].draw(assumptions, 0.1, rng)
        return state, x, (y - state[0] - x * state[1]) / 0.1

    state, x, residuals = of("nothing")
    assert np.linalg.norm(state[0]) < 0.5
    assert np.std(x) == pytest.approx(np.sqrt(1 / 12), rel=0.05)
    assert np.std(residuals, axis=0) == pytest.approx(1.0, rel=0.05)
    assert np.mean(of("covariates 0.1 +- 0.03")[1]) == pytest.approx(-0.4, abs=0.003)
    sizes = np.std(of("residuals five times as large in one direction")[2], axis=0)
    assert sizes[0] / sizes[1:] == pytest.approx(5.0, rel=0.1)
    assert np.mean(sizes**2) == pytest.approx(1.0, rel=0.1)
    _, x, residuals = of("residuals twice as large at one end")
    ends = [np.std(residuals[some]) for some in (x[:, 0] > 0.4, x[:, 0] < -0.4)]
    assert ends[0] / ends[1] == pytest.approx(1.95 / 1.05, rel=0.1)
    assert np.linalg.norm(of("footpoint at 1.2 radii")[0][0]) == pytest.approx(0.6)
    assert np.std(of("residuals of four radii")[2]) == pytest.approx(20.0, rel=0.05)
    far = np.linalg.norm(of("a fifth of the records elsewhere")[2], axis=1) > 6.0
    assert np.mean(far) == pytest.approx(0.2, abs=0.003)
    assert np.all(of("no trend")[0][1] == 0.0)
    assert np.mean(np.abs(of("covariates in two clumps")[1]) > 0.1) > 0.99
    x = simulated.UNLIKE["correlated covariates"].covariates(rng, (4000, 2))
    assert np.corrcoef(x.T)[0, 1] == pytest.approx(0.64, abs=0.04)


def test_trends_have_the_power_that_is_wanted_without_privacy():
    line, plane, rng = Euclidean(1), Euclidean(2), np.random.default_rng(2)
    x, y = rng.normal(size=(2, 30))
    assert coverage.trend_p_value(line, x, y[:, None]) == pytest.approx(linregress(x, y).pvalue)
    assumptions = Assumptions(plane, np.zeros(2), 1.0, 2.0, (-0.5, 0.5), 40)
    for name, power in (("no trend", 0.05), ("a weak trend", 0.8)):
        drawn = [simulated.UNLIKE[name].draw(assumptions, 0.1, rng) for _ in range(800)]
        found = np.mean([coverage.trend_p_value(plane, x[:, 0], y) <= 0.05 for _, x, y in drawn])
        assert found == pytest.approx(power, abs=4.0 * np.sqrt(power * (1.0 - power) / 800))
