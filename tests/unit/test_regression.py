"""Means and geodesics in one call; fast ways of fitting against slow ones."""

from itertools import product

import matplotlib as mpl
import matplotlib.pyplot as plt
import numpy as np
import pytest

import geodp
from geodp.errors import DataError
from geodp.manifolds.symmetric import SymmetricSpace, jacobi_factors
from geodp.manifolds.symmetric_matrices import rotated, spectral, symmetric_eigenvalues, transposed
from geodp.models import fitting, start
from geodp.models.geodesic import GeodesicModel


def covariances(size, number):
    """Sample covariances of few draws, far from one another."""
    draws = np.random.default_rng(1).standard_normal((number, size, 2 * size))
    return draws @ transposed(draws) / (2 * size)


@pytest.mark.parametrize("size", [2, 3, 5])
@pytest.mark.parametrize("covariates", [0, 1])
def test_fits_of_scattered_matrices_are_those_of_the_slow_way(size, covariates, monkeypatch):
    points, model = covariances(size, 40), GeodesicModel(geodp.SPD(size), covariates)
    x = np.linspace(-1.0, 1.0, 40) if covariates else None
    fast = model.fit(x, points, tolerance=1e-12)
    assert fast.converged
    # Logarithms one by one, steps without Hessians of distances, then exact Hessians.
    monkeypatch.setattr(geodp.SPD, "logs_along", SymmetricSpace.logs_along)
    slow = model.fit(x, points, tolerance=1e-12)
    assert slow.converged
    assert slow.iterations > fast.iterations
    for block, value in fast.parameters.items():
        error = model.manifold.norm(fast.footpoint, value - slow.parameters[block])
        assert error <= 1e-10
    assert abs(fast.energy - slow.energy) <= 1e-12 * slow.energy


@pytest.mark.parametrize("space", [geodp.Sphere(2), geodp.SPD(2), geodp.KendallPlanarShapes(5)])
@pytest.mark.parametrize("covariates", [0, 1])
def test_fit_from_some_records_is_that_on_all(space, covariates, make_records, monkeypatch):
    data = make_records(space, seed=8, number=300, speed=0.3, noise=0.3)
    model, x = GeodesicModel(space, covariates), data.covariates if covariates else None
    expected = model.fit(x, data.points, tolerance=1e-12)
    for module in (fitting, start):
        monkeypatch.setattr(module, "STARTING_RECORDS", 50)
    found = model.fit(x, data.points, tolerance=1e-12)
    assert found.converged
    assert found.iterations <= expected.iterations + 1
    places = np.zeros((1, 0)) if x is None else [0.0, 1.0]
    # Representatives of shapes may be turned.
    lines = [each.predict(places) for each in (found, expected)]
    assert np.max(space.dist(*lines)) <= 1e-10


def test_mean_of_points_of_which_one_chunk_has_one_far_away():
    space, rng = geodp.Hyperbolic(2), np.random.default_rng(5)
    origin = np.broadcast_to(np.eye(3)[0], (100, 1000, 3))
    points = space.exp(origin, space.random_tangent_in_ball(rng, origin, 1.0))
    points[-1, -1] = space.exp(origin[0, 0], np.array([0.0, 3.0, 0.0]))
    found = GeodesicModel(space, 0).fit(None, points)
    assert np.all(found.converged)


def test_rounding_does_not_depend_on_how_many_points_there_are():
    """Or a private number of records would change the others."""
    rng = np.random.default_rng(6)
    for space in (geodp.Sphere(2), geodp.KendallPlanarShapes(3), geodp.KendallPlanarShapes(9)):
        real, imaginary = rng.standard_normal((2, 70_000, *space.point_shape))
        given = real + 1j * imaginary if space.dtype is complex else real
        one = space.project(given[:1])[0]
        for number in (1, 999, 1000, 65_537):
            for kept, whole in (
                (space.project(given[:number]), space.project(given)),
                (space.dist(one, given[:number]), space.dist(one, given)),
            ):
                np.testing.assert_array_equal(kept, whole[:number])


def test_jacobi_factors_keep_their_digits_far_before_the_start():
    times = np.array([-40.0, -10.0, -1e-9, 0.0, 20.0])
    factors = jacobi_factors(geodp.Hyperbolic(2), np.array([0.0, 2.0]), times)
    for argument, expected in (("point", np.cosh(2 * times)), ("vector", np.sinh(2 * times) / 2)):
        np.testing.assert_allclose(factors[argument][1], expected, rtol=1e-14)


def test_eigenvalues_of_small_matrices_are_those_of_lapack():
    rng = np.random.default_rng(2)
    matrices = rng.standard_normal((300, 2, 2)) * 10.0 ** rng.uniform(-9, 9, (300, 1, 1))
    given = np.stack([np.zeros((2, 2)), np.eye(2), np.diag([1.0, -1.0]), np.diag([1e-150, 1e149])])
    matrices = np.concatenate([matrices + transposed(matrices), given])
    expected = np.linalg.eigvalsh(matrices)
    error = np.abs(symmetric_eigenvalues(matrices) - expected)
    assert np.all(error <= 4e-16 * np.max(np.abs(expected), axis=-1, keepdims=True))
    assert np.all(np.isnan(symmetric_eigenvalues(np.diag([np.inf, 1.0]))))


@pytest.mark.parametrize("size", [1, 2, 3])
def test_rotations_have_the_eigenvalues_and_eigenvectors_of_small_matrices(size):
    rng = np.random.default_rng(4)
    turns = np.linalg.qr(rng.normal(size=(500, size, size)))[0]
    # Of any sign, near each other, nearly singular or equal; and each in a unit of its own.
    for values in ([1.0, -2.0, 3.0], [1.0, 1.0 + 1e-9, 1e-12], [1.0, 1e-12, 1e-12], [1.0] * 3):
        unit = 10.0 ** rng.uniform(-60.0, 60.0, 500)
        matrices = spectral(np.array(values[:size]), turns)
        entries = np.moveaxis(unit[:, None] * matrices[:, *np.triu_indices(size)], -1, 0)
        found, vectors = rotated(entries)
        found = found.T / unit[:, None]
        expected = np.tile(np.sort(values[:size]), (500, 1))
        np.testing.assert_allclose(np.sort(found), expected, rtol=0.0, atol=1e-14)
        again = spectral(found, np.moveaxis(vectors, -1, 0))
        np.testing.assert_allclose(again, matrices, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("gap", [1.0, 1e-3, 1e-9, 0.0])
@pytest.mark.parametrize("least", [0.5, 0.02, 1e-6])
def test_logarithms_of_matrices_of_nearly_equal_eigenvalues(least, gap):
    space, rng = geodp.SPD(3), np.random.default_rng(3)
    turn = np.linalg.qr(rng.standard_normal((200, 3, 3)))[0]
    origin = np.eye(3)
    for values in ([1.0, least * (1.0 + gap), least], [1.0, 1.0 / (1.0 + gap), least]):
        points = (turn * np.array(values)) @ transposed(turn)
        logs = space.logs_along(origin, np.zeros((3, 3)), np.zeros(200), points)
        expected = (turn * np.log(values)) @ transposed(turn)
        # A perturbation of rounding of the matrix changes logarithms by its ratio to the least.
        allowed = 1e-15 / least + (1e-11 if least > 0.01 else 0.0)
        found = (logs.components / space.roots[:, None]).T
        np.testing.assert_allclose(found, space.entries(expected), rtol=0, atol=allowed)


@pytest.mark.parametrize("size", [1, 2, 3, 4])
def test_residuals_of_matrices_with_eigenvectors_found_once_are_those_of_any_space(size):
    space, rng = geodp.SPD(size), np.random.default_rng(11)
    start = space.random_point(rng, (), 0.8)[None]
    vectors = rng.uniform(-1.0, 1.0, (60, 1, 1)) * space.random_tangent(rng, start)
    vectors[0] = 0.0
    ends = space.exp(start, vectors)
    steps = rng.choice([1e-9, 0.1, 3.0], (60, 1, 1)) * space.random_tangent(rng, ends)
    points = space.exp(ends, steps)
    found = space.carried_residuals(start, vectors, points)
    expected = SymmetricSpace.carried_residuals(space, start, vectors, points)
    np.testing.assert_allclose(found[0], expected[0], atol=1e-6)
    lengths = np.sqrt(expected[2])
    # Nearby points lose no digits.
    np.testing.assert_allclose(np.sqrt(found[2]), lengths, rtol=1e-5)
    away = np.sum(found[1] - expected[1], axis=-3)
    assert np.all(np.linalg.norm(away, axis=(-2, -1)) < 1e-5 * lengths)


# Calls with the data of other libraries


def test_matrices_may_be_asymmetric_by_rounding():
    points, space = covariances(3, 20), geodp.SPD(3)
    points[:, 0, 1] *= 1.0 + 1e-8
    points *= np.where(np.eye(3) == 1.0, 1.0, 1e-3)
    found, expected = (
        geodp.mean(each, space) for each in (points.tolist(), 0.5 * (points + transposed(points)))
    )
    assert space.dist(found.footpoint, expected.footpoint) < 1e-10
    assert found.r_squared == pytest.approx(0.0, abs=1e-12)


def test_a_fit_that_does_not_converge_warns(monkeypatch):
    found = geodp.GeodesicModel(geodp.SPD(3), 0).fit(None, covariances(3, 20), 1e-300, 2)
    assert (bool(found.converged), bool(found.is_reached)) == (False, True)
    monkeypatch.setattr(geodp.GeodesicModel.fit, "__defaults__", (1e-10, 1))
    with pytest.warns(RuntimeWarning, match="did not converge: its gradient is"):
        geodp.mean(covariances(3, 20), geodp.SPD(3))


def test_landmarks_may_be_real_and_of_any_place_size_and_rotation(make_records):
    space = geodp.KendallPlanarShapes(5)
    data = make_records(space, seed=5, noise=0.05)
    expected = geodp.fit(data.covariates, data.points, space)
    moved = 3.0 * np.exp(0.4j) * data.points + 7.0
    for given in (np.stack([moved.real, moved.imag], axis=-1), moved.view(float)):
        found = geodp.fit(data.covariates, given, space)
        apart = space.dist(*(each.predict([0.0, 1.0]) for each in (found, expected)))
        assert np.max(apart) <= 1e-9


# Least distances to a geodesic may pass through records, where there is no gradient.
@pytest.mark.parametrize(
    ("covariates", "loss"), [*product((0, 1), (None, geodp.Huber(0.1))), (0, geodp.Distance())]
)
def test_whole_weights_count_records_so_often(covariates, loss, make_records):
    space = geodp.Sphere(2)
    data = make_records(space, seed=6, number=40, speed=0.5, noise=0.2)
    weights = np.random.default_rng(7).integers(0, 4, 40)
    call = geodp.fit if covariates else lambda _, *given, **more: geodp.mean(*given, **more)
    records = data.covariates, data.points
    often = (np.repeat(each, weights, axis=0) for each in records)
    expected, found = call(*often, space, loss), call(*records, space, loss, weights=0.5 * weights)
    places = [0.0, 1.0] if covariates else np.zeros((1, 0))
    apart = space.dist(*(each.predict(places) for each in (found, expected)))
    assert np.max(apart) <= 1e-8
    assert found.r_squared == pytest.approx(expected.r_squared, rel=1e-6, abs=1e-12)
    assert len(found.distances) == 40


def test_lines_of_numbers_are_those_of_least_squares():
    rng = np.random.default_rng(4)
    x, y = rng.standard_normal((50, 2)), rng.standard_normal(50)
    found = geodp.fit(x, y, geodp.Euclidean(1))
    design = np.column_stack([np.ones(50), x])
    coefficients, [total], *_ = np.linalg.lstsq(design, y, rcond=None)
    residuals = y - design @ coefficients
    assert found.r_squared == pytest.approx(1.0 - total / np.sum((y - np.mean(y)) ** 2), abs=1e-12)
    assert 100.0 * found.energy == pytest.approx(total, rel=1e-10)
    assert found.largest_residual == pytest.approx(np.max(np.abs(residuals)), rel=1e-10)
    np.testing.assert_allclose(found.footpoint, coefficients[:1], atol=1e-10)
    np.testing.assert_allclose(found.shooting_vectors[:, 0], coefficients[1:], atol=1e-10)
    np.testing.assert_allclose(found.residuals[:, 0], residuals, atol=1e-10)
    np.testing.assert_allclose(found.distances, np.abs(residuals), atol=1e-10)


DAYS = np.array(["2026-11-29"], dtype="datetime64[D]")
ONE, SHAPES = np.eye(2)[None], geodp.KendallPlanarShapes(5)
# A geodesic of SPD(3) from the identity, of length about one.
LINE = np.exp(np.linspace(0.0, 1.0, 9)[:, None] * [0.8, -0.5, 0.2])[:, None] * np.eye(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: geodp.mean(np.zeros((3, 2, 2)), geodp.SPD(2)), "record 1: the matrix is not pos"),
        (lambda: geodp.mean(ONE, "SPD"), "manifold is 'str'"),
        (lambda: geodp.fit([1.0], ONE.repeat(2, 0), geodp.SPD(2)), "x has 1 records"),
        (lambda: geodp.fit(1.0, ONE, geodp.SPD(2)), "x has 0 axes"),
        (lambda: geodp.fit(["a"], ONE, geodp.SPD(2)), "x is of type <U1: give numbers"),
        (lambda: geodp.fit(DAYS, ONE, geodp.SPD(2)), "x is of type datetime64"),
        (lambda: geodp.mean(1j * ONE, geodp.SPD(2)), "points are complex, and those"),
        (lambda: geodp.mean(np.full((3, 5, 2), 0.1), SHAPES), "record 1: all its landmarks coinc"),
        (
            lambda: geodp.mean(np.full((3, 2), 0.1), geodp.Hyperbolic(2)),
            "give 3, the time first, then the place on the hyperboloid .a point b of the Poincare",
        ),
        (lambda: geodp.mean(np.eye(3), geodp.Sphere(2), weights=[1, 1]), "for each of 3 points"),
        (lambda: geodp.mean(np.eye(3), geodp.Sphere(2), weights=[1, -1, 0]), "give finite numbers"),
        # Not the upper triangles of two matrices.
        (lambda: geodp.mean(np.ones((3, 2, 3)), geodp.SPD(3)), r"points have shape \(3, 2, 3\)"),
        (lambda: geodp.mean(np.diag([np.inf, 1])[None], geodp.SPD(2)), "record 1: an entry is not"),
        (
            lambda: geodp.fit(5000.0 + np.arange(9.0), LINE, geodp.SPD(3)),
            "at x = 0 is too far from the data: subtract a value near the middle of x",
        ),
    ],
)
def test_data_that_do_not_fit_are_refused_in_a_sentence(call, message):
    with pytest.raises(DataError, match=message):
        call()


def test_plot_shows_records_about_the_fitted_line():
    mpl.use("agg")
    rng = np.random.default_rng(6)
    x = rng.standard_normal((30, 2))
    y = x @ np.array([2.0, -3.0]) + 0.1 * rng.standard_normal(30)
    found = geodp.fit(x, y, geodp.Euclidean(1))
    first, second = found.plot()
    for place, slope in ((first, 2.0), (second, 3.0)):
        records, line = place.get_lines()
        assert np.polyfit(*records.get_data(), 1)[0] == pytest.approx(slope, abs=0.1)
        assert np.ptp(line.get_ydata()) == pytest.approx(slope * np.ptp(line.get_xdata()), rel=0.1)
    assert geodp.mean(y, geodp.Euclidean(1)).plot()[0].get_xlabel() == "distance to the mean"
    plt.close("all")
