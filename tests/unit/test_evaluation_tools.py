"""Private linear regression beside other tools: noise, sensitivities, data sets and shares."""

from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy import stats

import linear_methods as methods
import recorded
import tools
from geodp.mechanisms.gaussian import gaussian_delta
from geodp.randomness import random_stream
from linear_methods import METHODS, Budget, Problem
from reproduction.places import CHECKOUT

DELTA = 1e-6


@pytest.fixture
def rng(request):
    return random_stream(3, request.node.name)


def a_problem(rng, n=400, k=3, records=400):
    """Records of a line through the origin, covariates of length one."""
    x = rng.standard_normal((n, k))
    x /= np.linalg.norm(x, axis=1, keepdims=True)
    y = np.clip(x @ np.linspace(0.2, 0.5, k) + 0.1 * rng.standard_normal(n), -1.0, 1.0)
    return Problem(x, y[:, None], records)


@pytest.mark.parametrize(
    ("name", "epsilon"),
    [
        *(("adassp", 1e7), ("ihm", 5e3), ("matrix_laplace", 5e3), ("matrix_gaussian", 5e3)),
        pytest.param("diffprivlib", 1e7, marks=pytest.mark.competitors),
    ],
)
def test_lines_at_a_large_budget_are_those_of_least_squares(rng, name, epsilon):
    # So many records that matrix methods clip nothing.
    problem = a_problem(rng, records=10**9)
    expected, *_ = np.linalg.lstsq(problem.covariates, problem.responses, rcond=None)
    np.testing.assert_allclose(methods.ridge_regression(problem, ridge=0.0), expected)
    slopes, x = methods.ridge_regression(problem), problem.covariates
    np.testing.assert_allclose(x.T @ (problem.responses - x @ slopes), slopes, atol=1e-12)
    found = METHODS[name][1](problem, Budget(epsilon, DELTA), rng)
    np.testing.assert_allclose(found, expected, atol=2e-2 if name.startswith("matrix") else 1e-2)


def equations(fit, k, draws):
    """Both sides of all equations that a method solves without records, with a budget of 0.7."""
    solved, rng = [], random_stream(3, "noise alone")
    empty = Problem(np.zeros((1, k)), np.zeros((1, 1)), records=1)
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
    assert right.std() / scale == pytest.approx(1.0, abs=tolerance)
    assert normal[:, 0, 1].std() / scale == pytest.approx(1.0, abs=tolerance)
    np.testing.assert_array_equal(normal, np.swapaxes(normal, 1, 2))
    # No record, so that the ridge is all that the paper wants.
    ridge = scale * np.sqrt(k * np.log(2.0 * k**2 / 0.05))
    found = np.trace(normal, axis1=1, axis2=2) / k
    assert found.mean() == pytest.approx(ridge, rel=0.05)


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
    seen, problem = [], a_problem(rng, n=20, records=300)
    monkeypatch.setattr(methods, "private_slopes", lambda *given: seen.append(given))
    for each in (problem, problem.without([0])):
        for is_pure in (True, False):
            methods.matrix(each, Budget(0.3, DELTA), rng, is_pure)
    assert [len(y) for _, x, y, *_ in seen] == [20, 20, 19, 19]
    assert [others for _, _, _, *others in seen] == [[300, 0.3, None], [300, 0.3, DELTA]] * 2


def used_by(epsilon, *given, **how):
    """All mechanisms that diffprivlib uses."""
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
        methods.functional_mechanism(*given, epsilon, random_stream(3, "recorded"), **how)
    return list(used.values())


@pytest.mark.competitors
@pytest.mark.parametrize("k", [1, 3])
def test_diffprivlib_spends_more_than_stated_with_an_intercept(rng, k):
    problem, ones = a_problem(rng, k=k), np.ones(k)
    for has_intercept, factor in ((False, 1.0), (True, 1.0 + 1.0 / (k + 1))):
        given = problem.covariates, problem.responses, (-ones, ones), 1.0
        spent = used_by(2.0, *given, has_intercept=has_intercept)
        assert sum(each.epsilon for each in spent) == pytest.approx(2.0 * factor)


@pytest.mark.competitors
def test_diffprivlib_adds_no_noise_to_squares_of_a_covariate_from_zero_on():
    given = np.array([[50.0]]), np.array([[0.5]]), (np.zeros(1), np.full(1, 100.0)), 1.0
    *_, of_squares = used_by(2.0, *given, has_intercept=False)
    assert of_squares.sensitivity == 0.0


def test_columns_become_numbers(monkeypatch):
    order = pd.Categorical(["low", "high", "low", "low"], ["low", "high"], ordered=True)
    frame = {"y": [1.0, 2.0, np.nan, 4.0], "x": [1, 2, 3, 4], "two": ["no", "yes", "no", "yes"]}
    frame = pd.DataFrame(frame | {"many": [*"abcd"], "order": order, "out": [1, 1, 1, 1]})
    source = mock.Mock(load_made=lambda as_frame: mock.Mock(frame=frame))
    monkeypatch.setattr(tools, "import_module", lambda name: source)
    monkeypatch.setattr(tools, "prepared", lambda covariates, y: (covariates, y))
    x, y = tools.load("scikit-learn", "made", "y", "out", True)
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


def test_shares_are_zero_for_zero_and_one_for_least_squares(rng, monkeypatch):
    problem = a_problem(rng, n=60, records=60)
    monkeypatch.setattr(tools, "load", lambda *_: problem)
    monkeypatch.setattr(tools.script, "need", lambda *_: None)
    zero, ridge = lambda p, *_: np.zeros((3, 1)), lambda p, *_: methods.ridge_regression(p)
    methods_by_name = {"adassp": ("zero", zero), "ihm": ("ridge", ridge)}
    monkeypatch.setattr(tools, "METHODS", methods_by_name | {"matrix_laplace": ("matrix", ridge)})
    # A plane of intercept 1/2 and slopes 1, along ranges of length 2.
    released = mock.Mock(state=np.array([[0.5], [2.0], [2.0], [2.0]]))
    monkeypatch.setattr(tools, "plan_release", lambda *_: mock.Mock(is_noise=True))
    monkeypatch.setattr(tools.script, "releases", lambda *_: [released] * 2)
    data_set = dict.fromkeys(["package", "item", "response", "dropped", "log"], "")
    data_set |= {"name": "made", "round": 1}
    given = {"folds": 10, "repeats": 2, "releases": {"covariates": 3, "budgets": [1.0]}, "seed": 1}
    table = tools.measure(data_set, ["adassp", "ihm"], [1.0], DELTA, **given)
    shares, [release] = table[:2], table[2:].to_dict("records")
    np.testing.assert_allclose(shares["share"], [0.0, 1.0], atol=1e-12)
    np.testing.assert_allclose(shares["lead_adassp"], [0.0, 1.0], atol=1e-12)
    assert shares["deviation_adassp"][0] == 0.0 < shares["deviation_adassp"][1]
    x, y = problem.covariates, problem.responses
    parts = np.array_split(random_stream(1, "benchmark", "made").permutation(60), 10)
    beside = tools.errors_of(problem, parts, lambda rest: [ridge(rest)]).mean()
    expected = np.mean((y - 0.5 - x.sum(axis=1, keepdims=True)) ** 2) / beside
    assert release["ratio"] ** 2 == pytest.approx(expected)


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
            *(20180306, settings),
        )
        found = again[["0", "1"]].iloc[0].tolist()
        assert found == pytest.approx([cell["0"], cell["1"]], rel=rtol)
