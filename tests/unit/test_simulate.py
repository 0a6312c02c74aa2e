"""Simulated data lie about geodesics as they are told to."""

import numpy as np
import pytest
from scipy import stats

from geodp import GeodesicModel, simulate_geodesic_data
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream

DATA_SETS, NUMBER, LENGTH = 3, 12, 0.5
FALSE_ALARM = 6e-5


def simulate(manifold, *names, noise_variance=0.001, **changes):
    given = {"data_sets": DATA_SETS, "number": NUMBER, "shooting_vector_length": LENGTH}
    given |= {"ambient_noise": False, "noise_variance": noise_variance} | changes
    stream = random_stream(1, "simulate", *names)
    return simulate_geodesic_data(stream, GeodesicModel(manifold), **given)


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
    # Data sets differ.
    for array in (footpoints, vectors, data.points):
        assert not np.any(np.all(array[0] == array[1], axis=-1))


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
