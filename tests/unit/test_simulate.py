"""Simulated data lie about geodesics as they are told to."""

import numpy as np
import pytest

from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.regression import predict
from geodp.simulate import simulate_geodesic_data

DATA_SETS, NUMBER, LENGTH = 3, 12, 0.5


def simulate(manifold, *names, noise_variance=0.001, **changes):
    settings = {
        "data_sets": DATA_SETS,
        "number": NUMBER,
        "shooting_vector_length": LENGTH,
        "ambient_noise": False,
    }
    stream = random_stream(1, "simulate", *names)
    return simulate_geodesic_data(
        stream, manifold, noise_variance=noise_variance, **(settings | changes)
    )


def predictions(manifold, data):
    return np.stack(
        [
            predict(manifold, p, v, x)
            for p, v, x in zip(data.footpoint, data.shooting_vector, data.covariates, strict=True)
        ]
    )


def test_shapes_and_points(manifold):
    data = simulate(manifold)
    assert data.covariates.shape == (DATA_SETS, NUMBER)
    assert data.points.shape == (DATA_SETS, NUMBER, *manifold.point_shape)
    assert data.footpoint.shape == (DATA_SETS, *manifold.point_shape)
    assert data.shooting_vector.shape == (DATA_SETS, *manifold.point_shape)
    for point in data.points.reshape((-1, *manifold.point_shape)):
        assert manifold.invalid_reason(point) is None


def test_geodesics_have_the_length_asked_for(manifold):
    data = simulate(manifold)
    lengths = manifold.norm(data.footpoint, data.shooting_vector)
    np.testing.assert_allclose(lengths, LENGTH, rtol=1e-12)
    tangent = manifold.project_tangent(data.footpoint, data.shooting_vector)
    np.testing.assert_allclose(tangent, data.shooting_vector, atol=1e-12)


def test_without_noise_points_lie_on_the_geodesic(manifold):
    data = simulate(manifold, noise_variance=0.0)
    away = manifold.dist(predictions(manifold, data), data.points)
    # Distances of equal points come from a cosine of one or from a logarithm.
    np.testing.assert_allclose(away, 0.0, atol=1e-7)


def test_data_sets_differ(manifold):
    data = simulate(manifold)
    for array in (data.footpoint, data.shooting_vector, data.points):
        assert not np.any(np.all(array[0] == array[1], axis=-1))


@pytest.mark.parametrize("space", [("sphere", 2), ("euclidean", 3)], ids=["S2", "R3"])
def test_ambient_noise_has_its_variance(space):
    manifold = make_manifold(*space)
    variance = 1e-4
    data = simulate(
        manifold, number=20000, data_sets=1, noise_variance=variance, ambient_noise=True
    )
    squares = manifold.dist(predictions(manifold, data), data.points) ** 2
    # Of the ambient directions only the tangent ones remain, up to terms of second order.
    allowed = 4.0 * np.sqrt(2.0 / manifold.dim / squares.size) + 10.0 * variance
    assert np.mean(squares) / (manifold.dim * variance) == pytest.approx(1.0, abs=allowed)


def test_tangent_noise_has_its_variance(manifold):
    variance = 1e-3
    data = simulate(manifold, number=4000, data_sets=1, noise_variance=variance)
    clean = predictions(manifold, data)
    squares = manifold.dist(clean, data.points) ** 2
    # A sum of squared normal coordinates, moved by Exp without a change of length.
    allowed = 4.0 * np.sqrt(2.0 / manifold.dim / squares.size)
    assert np.mean(squares) / (manifold.dim * variance) == pytest.approx(1.0, abs=allowed)


def test_covariates_in_equal_steps(manifold):
    covariates = simulate(manifold).covariates
    np.testing.assert_allclose(covariates, np.tile(np.arange(NUMBER) / (NUMBER - 1), (3, 1)))


def test_uniform_covariates_reach_both_ends():
    data = simulate(make_manifold("sphere", 2), equally_spaced=False, number=500, data_sets=4)
    assert np.all(np.min(data.covariates, axis=-1) == 0.0)
    assert np.all(np.max(data.covariates, axis=-1) == 1.0)
    ordered = np.sort(data.covariates, axis=-1)
    # Kolmogorov's distance of 500 uniform numbers exceeds 0.1 once in 5000 times.
    assert np.max(np.abs(ordered - np.linspace(0, 1, 500))) < 0.1
    assert np.ptp(np.diff(ordered[0])) > 1e-3


def test_first_point_is_where_every_geodesic_starts(manifold):
    first = manifold.random_point(np.random.default_rng(2))
    data = simulate(manifold, first_point=first)
    np.testing.assert_array_equal(data.footpoint, np.stack([first] * DATA_SETS))
    # In directions of their own.
    assert not np.allclose(data.shooting_vector[0], data.shooting_vector[1])


def test_stream_decides_the_data():
    manifold = make_manifold("sphere", 2)
    one, again, other = (simulate(manifold, name) for name in ("a", "a", "b"))
    np.testing.assert_array_equal(one.points, again.points)
    assert not np.any(one.points == other.points)


@pytest.mark.parametrize(
    "other",
    [(2, "study", "cell"), (1, "study", "cell2"), (1, "study"), (1, "cell", "study")],
    ids=["seed", "name", "fewer names", "order of names"],
)
def test_streams_differ_in_seed_and_names(other):
    numbers = random_stream(1, "study", "cell").random(100)
    np.testing.assert_array_equal(numbers, random_stream(1, "study", "cell").random(100))
    assert not np.any(numbers == random_stream(*other).random(100))
