"""Simulated data and the stand-in for outlines are as they are told to be."""

import numpy as np
import pytest
from scipy import stats

from geodp import GeodesicModel, KendallPlanarShapes, simulate_geodesic_data
from geodp.data.landmarks import crossing_edges, signed_area
from geodp.data.stand_in import coefficient_factor, mean_coefficients, outline, simulate_outlines
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream

DATA_SETS, NUMBER, LENGTH = 3, 12, 0.5
FALSE_ALARM = 6e-5


def simulate(manifold, **changes):
    given = {"data_sets": DATA_SETS, "number": NUMBER, "shooting_vector_length": LENGTH}
    given |= {"ambient_noise": False, "noise_variance": 0.001} | changes
    return simulate_geodesic_data(random_stream(1, "simulate"), GeodesicModel(manifold), **given)


def geodesics(data):
    return data.parameters["footpoint"], data.parameters["shooting_vector"]


def predictions(manifold, data):
    footpoints, vectors = (np.expand_dims(each, 1) for each in geodesics(data))
    return manifold.exp(footpoints, manifold.expand(data.covariates[..., 0]) * vectors)


def test_points_lie_on_geodesics_of_their_length(manifold):
    data = simulate(manifold, noise_variance=0.0)
    footpoints, vectors = geodesics(data)
    for point in data.points.reshape((-1, *manifold.point_shape)):
        assert manifold.invalid_reason(point) is None
    np.testing.assert_allclose(manifold.norm(footpoints, vectors), LENGTH, rtol=1e-12)
    np.testing.assert_allclose(manifold.project_tangent(footpoints, vectors), vectors, atol=1e-12)
    covariates = data.covariates[..., 0]
    np.testing.assert_allclose(covariates, np.tile(np.arange(NUMBER) / (NUMBER - 1), (3, 1)))
    away = manifold.dist(predictions(manifold, data), data.points)
    assert away.shape == (DATA_SETS, NUMBER)
    # Distances of equal points come from a cosine of one or from a logarithm.
    np.testing.assert_allclose(away, 0.0, atol=1e-7)


def has_variance(manifold, variance, slack=0.0, **changes):
    """Whether the mean squared distance from predictions is that of flat space, to 4 errors."""
    data = simulate(manifold, data_sets=1, noise_variance=variance, **changes)
    squares = manifold.dist(predictions(manifold, data), data.points) ** 2
    error = np.sqrt(2.0 / manifold.dim / squares.size)
    return abs(np.mean(squares) / (manifold.dim * variance) - 1.0) < 4.0 * error + slack


@pytest.mark.parametrize("space", ["sphere", "euclidean", "kendall"])
def test_ambient_noise_has_its_variance(space):
    """Of the ambient directions only the tangent ones remain, up to terms of second order."""
    space = make_manifold(space, 2 + 2 * (space == "kendall"))
    assert has_variance(space, 1e-4, slack=1e-3, number=20000, ambient_noise=True)


def test_tangent_noise_has_its_variance(manifold):
    # A sum of squared normal coordinates, moved by Exp without a change of length.
    assert has_variance(manifold, 1e-3, number=4000)


def test_uniform_covariates_reach_both_ends():
    data = simulate(make_manifold("sphere", 2), equally_spaced=False, number=500, data_sets=4)
    ordered = np.sort(data.covariates[..., 0], axis=-1)
    assert np.all(ordered[:, 0] == 0.0)
    assert np.all(ordered[:, -1] == 1.0)
    # Kolmogorov's distance of 500 uniform numbers exceeds 0.1 once in 5000 times.
    assert np.max(np.abs(ordered - np.linspace(0, 1, 500))) < 0.1
    assert np.ptp(np.diff(ordered[0])) > 1e-3


@pytest.mark.parametrize(
    ("length", "given"), [(LENGTH, "first"), (None, "last"), (None, "first last"), (None, "")]
)
def test_geodesics_run_between_points_that_are_given_or_random(manifold, length, given):
    first, last = manifold.random_point(np.random.default_rng(2), (2,))
    points = {"first": first, "last": last}
    changes = {f"{name}_point": points[name] for name in given.split()}
    data = simulate(manifold, shooting_vector_length=length, noise_variance=0.0, **changes)
    start, vectors = geodesics(data)
    end = manifold.exp(start, vectors)
    # A distance on unit vectors is good to the root of the rounding.
    np.testing.assert_allclose(manifold.dist(end, data.points[:, -1]), 0.0, atol=1e-7)
    if "first" in given:
        np.testing.assert_array_equal(start, np.stack([first] * DATA_SETS))
    else:
        assert np.all(manifold.dist(start[0], start[1:]) > 1e-3)
        assert np.all(manifold.dist(start, end) > 1e-3)
    if "last" in given:
        np.testing.assert_allclose(manifold.dist(end, last), 0.0, atol=1e-7)
    elif manifold.dim > 1 or not given:
        # A line has but two directions of a length.
        assert np.all(manifold.dist(end[0], end[1:]) > 1e-3)


@pytest.mark.parametrize("space", ["hyperbolic", "spd", "euclidean"])
def test_random_end_points_fill_the_ball_of_their_radius(space):
    manifold, number, radius = make_manifold(space, 2), 4000, 2.0
    origin = {"hyperbolic": np.eye(3)[0], "spd": np.eye(2), "euclidean": np.zeros(2)}[space]
    ball = {"shooting_vector_length": None, "random_point_radius": radius, "noise_variance": 0.0}
    data = simulate(manifold, data_sets=number, number=2, **ball)
    first, last = (manifold.log(origin, data.points[:, end]) for end in (0, -1))
    for vectors in (first, last):
        shares = manifold.norm(origin, vectors) / radius
        # Uniform in the tangent ball; a right law is refused with probability 6e-5.
        assert stats.kstest(shares**manifold.dim, "uniform").pvalue > FALSE_ALARM
        mean = np.mean(manifold.coordinates(origin, vectors), axis=0)
        # Of a coordinate, which has variance radius^2 / (dim + 2).
        assert np.max(np.abs(mean)) < 4.5 * radius / np.sqrt(number * (manifold.dim + 2))
    # Ends do not depend on starts.
    inner = manifold.inner(origin, first, last)
    assert abs(np.mean(inner)) < 4.0 * np.std(inner) / np.sqrt(number)


@pytest.mark.parametrize(
    "other",
    [(2, "study", "cell"), (1, "study", "cell2"), (1, "study"), (1, "cell", "study")],
    ids=["seed", "name", "fewer names", "order of names"],
)
def test_streams_differ_in_seed_and_names(other):
    numbers = random_stream(1, "study", "cell").random(100)
    np.testing.assert_array_equal(numbers, random_stream(1, "study", "cell").random(100))
    assert not np.any(numbers == random_stream(*other).random(100))


def test_data_of_means_and_of_several_covariates():
    sphere = make_manifold("sphere", 2)
    settings = {"data_sets": 3, "number": 2000, "noise_variance": 1e-4, "ambient_noise": False}
    rng = random_stream(1, "simulate", "blocks")
    for k in (0, 3):
        model = GeodesicModel(sphere, k)
        data = simulate_geodesic_data(rng, model, shooting_vector_length=0.3, **settings)
        assert data.covariates.shape == (3, 2000, k)
        away = sphere.dist(model.predict(data.parameters, data.covariates), data.points)
        np.testing.assert_allclose(np.mean(away**2, axis=-1), 2e-4, rtol=0.15)
    orders = np.argsort(data.covariates[0], axis=0)
    assert np.any(orders[:, 0] != orders[:, 1])
    with pytest.raises(ValueError, match="give shooting_vector_length"):
        simulate_geodesic_data(rng, model, **settings)


@pytest.mark.parametrize("covariates", [0, 1, 2])
def test_one_data_set_has_no_leading_axis(covariates):
    """Neither when it is made, nor fitted, nor predicted from."""
    model = GeodesicModel(make_manifold("spd", 2), covariates)
    settings = {"number": 12, "noise_variance": 1e-3, "shooting_vector_length": 0.4}
    one, several = (
        simulate_geodesic_data(random_stream(1, "simulate", "one"), model, number_of, **settings)
        for number_of in (None, 1)
    )
    np.testing.assert_array_equal(one.covariates, several.covariates[0])
    np.testing.assert_array_equal(one.points, several.points[0])
    found, batch = (model.fit(data.covariates, data.points) for data in (one, several))
    for name in ("energy", "gradient_norm", "converged", "largest_residual"):
        assert np.ndim(getattr(found, name)) == 0
        assert getattr(batch, name).shape == (1,)
    at = np.linspace(0.0, 1.0, 3 * covariates).reshape((3, covariates))
    predicted = found.predict(at)
    np.testing.assert_allclose(predicted, batch.predict(at)[0], atol=1e-9)
    np.testing.assert_array_equal(batch.take(0).predict(at), batch.predict(at)[0])
    if covariates == 1:
        np.testing.assert_array_equal(found.predict(at[:, 0]), predicted)
    with pytest.raises(ValueError, match="give rows of"):
        found.predict(0.5)


# The stand-in for callosal outlines has the sizes it was made to


LANDMARKS = 50
SHAPES = KendallPlanarShapes(LANDMARKS)
SHARES = [0.47, 0.70, 0.81, 0.89, 0.96]


def stand_in(*names, data_sets=2, number=100, **changes):
    return simulate_outlines(random_stream(1, "stand-in", *names), data_sets, number, **changes)


def test_outlines_are_centred_of_about_unit_size_counter_clockwise_and_simple():
    outlines = stand_in(number=1000).outlines
    assert np.max(np.abs(np.mean(outlines, axis=-1))) < 1e-12
    np.testing.assert_allclose(np.linalg.norm(outlines, axis=-1), 1.0, atol=0.02)
    assert np.all(signed_area(outlines) > 0.0)
    # The stream decides them.
    np.testing.assert_array_equal(outlines, stand_in(number=1000).outlines)
    for others in (stand_in("b", number=1000).outlines, outlines[::-1]):
        assert not np.any(outlines == others)
    assert not any(crossing_edges(each) for each in outlines.reshape((-1, LANDMARKS)))


@pytest.mark.parametrize("length", [0.0, 0.045, 0.2])
def test_means_follow_a_geodesic_of_their_length_at_constant_speed(length):
    data = stand_in(number=3, trend_length=length)
    first, last = SHAPES.project(np.stack([data.first_outline, data.last_outline]))
    assert SHAPES.dist(first, last) == pytest.approx(length, abs=1e-12)
    fractions = np.linspace(0.0, 1.0, 9)
    means = SHAPES.project(outline(mean_coefficients(fractions, length), LANDMARKS))
    expected = SHAPES.exp(first, fractions[:, None] * SHAPES.log(first, last))
    np.testing.assert_allclose(SHAPES.dist(means, expected), 0.0, atol=1e-12)


def test_covariance_has_the_measured_spectrum_and_is_of_full_rank():
    factor = coefficient_factor()
    roots = np.linalg.svd(np.concatenate([factor.real, factor.imag]), compute_uv=False)
    shares = np.cumsum(roots**2) / np.sum(roots**2)
    np.testing.assert_allclose(shares[[0, 1, 2, 4, 9]], SHARES, rtol=1e-9)
    # All that shapes of 50 landmarks can do, but for the harmonic 25.
    assert np.sum(roots > 1e-5 * roots[0]) == SHAPES.dim - 2
    # Deviations move shapes and neither size nor rotation.
    assert np.max(np.abs(np.conj(mean_coefficients(0.5, 0.0)) @ factor)) < 1e-15


def test_shapes_vary_as_those_measured():
    points = SHAPES.project(stand_in("many", data_sets=1, number=6470, trend_length=0.0).outlines)
    mean = SHAPES.project(outline(mean_coefficients(0.5, 0.0), LANDMARKS))
    distances = SHAPES.dist(mean, points).reshape((10, 647))
    assert np.mean(distances) == pytest.approx(0.045, abs=0.002)
    assert np.mean(np.max(distances, axis=1)) == pytest.approx(0.12, abs=0.01)
