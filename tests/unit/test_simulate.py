"""Simulated data lie about geodesics as they are told to."""

import numpy as np
import pytest
from scipy import stats

from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream

DATA_SETS, NUMBER, LENGTH = 3, 12, 0.5
FALSE_ALARM = 6e-5


def simulate(manifold, *names, noise_variance=0.001, **changes):
    settings = {
        "data_sets": DATA_SETS,
        "number": NUMBER,
        "shooting_vector_length": LENGTH,
        "ambient_noise": False,
    }
    stream = random_stream(1, "simulate", *names)
    return simulate_geodesic_data(
        stream, GeodesicModel(manifold), noise_variance=noise_variance, **(settings | changes)
    )


def geodesics(data):
    return data.parameters["footpoint"], data.parameters["shooting_vector"]


def predictions(manifold, data):
    footpoints, vectors = (np.expand_dims(each, 1) for each in geodesics(data))
    return manifold.exp(footpoints, manifold.expand(data.covariates[..., 0]) * vectors)


def test_shapes_and_points(manifold):
    data = simulate(manifold)
    assert data.covariates.shape == (DATA_SETS, NUMBER, 1)
    assert data.points.shape == (DATA_SETS, NUMBER, *manifold.point_shape)
    assert data.parameters["footpoint"].shape == (DATA_SETS, *manifold.point_shape)
    assert data.parameters["shooting_vector"].shape == (DATA_SETS, *manifold.point_shape)
    for point in data.points.reshape((-1, *manifold.point_shape)):
        assert manifold.invalid_reason(point) is None


def test_geodesics_have_the_length_asked_for(manifold):
    data = simulate(manifold)
    lengths = manifold.norm(data.parameters["footpoint"], data.parameters["shooting_vector"])
    np.testing.assert_allclose(lengths, LENGTH, rtol=1e-12)
    tangent = manifold.project_tangent(
        data.parameters["footpoint"], data.parameters["shooting_vector"]
    )
    np.testing.assert_allclose(tangent, data.parameters["shooting_vector"], atol=1e-12)


def test_without_noise_points_lie_on_the_geodesic(manifold):
    data = simulate(manifold, noise_variance=0.0)
    away = manifold.dist(predictions(manifold, data), data.points)
    # Distances of equal points come from a cosine of one or from a logarithm.
    np.testing.assert_allclose(away, 0.0, atol=1e-7)


def test_data_sets_differ(manifold):
    data = simulate(manifold)
    for array in (data.parameters["footpoint"], data.parameters["shooting_vector"], data.points):
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
    covariates = simulate(manifold).covariates[..., 0]
    np.testing.assert_allclose(covariates, np.tile(np.arange(NUMBER) / (NUMBER - 1), (3, 1)))


def test_uniform_covariates_reach_both_ends():
    data = simulate(make_manifold("sphere", 2), equally_spaced=False, number=500, data_sets=4)
    covariates = data.covariates[..., 0]
    assert np.all(np.min(covariates, axis=-1) == 0.0)
    assert np.all(np.max(covariates, axis=-1) == 1.0)
    ordered = np.sort(covariates, axis=-1)
    # Kolmogorov's distance of 500 uniform numbers exceeds 0.1 once in 5000 times.
    assert np.max(np.abs(ordered - np.linspace(0, 1, 500))) < 0.1
    assert np.ptp(np.diff(ordered[0])) > 1e-3


def test_first_point_is_where_every_geodesic_starts(manifold):
    first = manifold.random_point(np.random.default_rng(2))
    data = simulate(manifold, first_point=first)
    np.testing.assert_array_equal(data.parameters["footpoint"], np.stack([first] * DATA_SETS))
    # In directions of their own, of which a line has but two.
    assert manifold.dim == 1 or not np.allclose(
        data.parameters["shooting_vector"][0], data.parameters["shooting_vector"][1]
    )


# Geodesics between two points


def test_last_point_is_where_every_geodesic_ends(manifold):
    first, last = manifold.random_point(np.random.default_rng(2), (2,))
    one = simulate(manifold, shooting_vector_length=None, last_point=last, noise_variance=0.0)
    ends = manifold.exp(one.parameters["footpoint"], one.parameters["shooting_vector"])
    # From points of their own; a distance on unit vectors is good to the root of the rounding.
    assert np.all(manifold.dist(one.parameters["footpoint"], last) > 1e-3)
    assert not np.allclose(one.parameters["footpoint"][0], one.parameters["footpoint"][1])
    for reached in (ends, one.points[:, -1]):
        np.testing.assert_allclose(manifold.dist(reached, last), 0.0, atol=1e-7)
    lengths = manifold.norm(one.parameters["footpoint"], one.parameters["shooting_vector"])
    np.testing.assert_allclose(
        lengths, manifold.dist(one.parameters["footpoint"], last), rtol=1e-12
    )
    both = simulate(manifold, shooting_vector_length=None, first_point=first, last_point=last)
    np.testing.assert_array_equal(both.parameters["footpoint"], np.stack([first] * DATA_SETS))
    reached = manifold.exp(both.parameters["footpoint"], both.parameters["shooting_vector"])
    np.testing.assert_allclose(manifold.dist(reached, last), 0.0, atol=1e-7)


def test_a_length_has_precedence_over_the_last_point(manifold):
    last = manifold.random_point(np.random.default_rng(2))
    np.testing.assert_array_equal(
        simulate(manifold, last_point=last).points, simulate(manifold).points
    )


def test_end_points_are_random_where_nothing_is_given(manifold):
    data = simulate(manifold, shooting_vector_length=None, noise_variance=0.0)
    ends = manifold.exp(data.parameters["footpoint"], data.parameters["shooting_vector"])
    np.testing.assert_allclose(manifold.dist(ends, data.points[:, -1]), 0.0, atol=1e-7)
    # All six points are different.
    points = np.concatenate([data.parameters["footpoint"], ends])
    for index, point in enumerate(points):
        assert np.all(manifold.dist(point, points[:index]) > 1e-3)


UNBOUNDED = {
    "H2": ("hyperbolic", 2),
    "H4": ("hyperbolic", 4),
    "SPD2": ("spd", 2),
    "SPD3": ("spd", 3),
    "R3": ("euclidean", 3),
}
ORIGINS = {
    "hyperbolic": lambda space: np.eye(space.dim + 1)[0],
    "spd": lambda space: np.eye(space.size),
    "euclidean": lambda space: np.zeros(space.dim),
}


@pytest.mark.parametrize("radius", [0.3, 2.0])
@pytest.mark.parametrize("space", UNBOUNDED.values(), ids=UNBOUNDED.keys())
def test_random_end_points_fill_the_ball_of_their_radius(space, radius):
    manifold = make_manifold(*space)
    data = simulate(
        manifold,
        data_sets=4000,
        number=2,
        shooting_vector_length=None,
        random_point_radius=radius,
        noise_variance=0.0,
    )
    origin = ORIGINS[space[0]](manifold)
    for points in (data.parameters["footpoint"], data.points[:, -1]):
        vectors = manifold.log(origin, points)
        shares = manifold.norm(origin, vectors) / radius
        assert np.max(shares) <= 1.0 + 1e-9
        # Uniform in the tangent ball; a right law is refused with probability 6e-5.
        assert stats.kstest(shares**manifold.dim, "uniform").pvalue > FALSE_ALARM
        mean = np.mean(manifold.coordinates(origin, vectors), axis=0)
        # Of a coordinate, which has variance radius^2 / (dim + 2).
        assert np.max(np.abs(mean)) < 4.5 * radius / np.sqrt(4000 * (manifold.dim + 2))
    # Ends do not depend on starts.
    first, last = (
        manifold.log(origin, data.parameters["footpoint"]),
        manifold.log(origin, data.points[:, -1]),
    )
    inner = manifold.inner(origin, first, last) / radius**2
    assert abs(np.mean(inner)) < 4.0 * np.std(inner) / np.sqrt(4000)


def test_data_of_the_default_study_of_matrices_lie_in_their_public_ball():
    """As configured: end points within 0.9 of the identity, noise of variance 1e-4, tau_m = 1."""
    manifold = make_manifold("spd", 2)
    data = simulate(
        manifold,
        data_sets=2000,
        number=50,
        shooting_vector_length=None,
        random_point_radius=0.9,
        noise_variance=1e-4,
    )
    away = manifold.dist(np.eye(2), data.points)
    assert np.max(away) < 1.0
    # They fill it: no smaller radius would do.
    assert np.max(away) > 0.88


def test_draws_on_the_sphere_are_those_of_earlier_versions():
    """Numbers printed by the version before end points could be given."""
    sphere = make_manifold("sphere", 2)
    found = simulate_before(sphere, "sphere as before", True)
    expected = [-0.391273901019461, -0.6540464806905604, 0.647400907844054]
    np.testing.assert_allclose(found.points[1, -1], expected, rtol=1e-12)
    expected = [-0.5690956140681772, -0.40505340261317047, -0.04540840318550136]
    np.testing.assert_allclose(found.parameters["shooting_vector"][1], expected, rtol=1e-12)
    found = simulate_before(sphere, "sphere as before", False)
    expected = [-0.23506368732824556, -0.6507234710668613, 0.7220138690512423]
    np.testing.assert_allclose(found.points[1, -1], expected, rtol=1e-12)
    np.testing.assert_allclose(found.covariates[1, 1], 0.595166216074255, rtol=1e-12)
    shapes = simulate_before(make_manifold("kendall", 4), "shapes as before", True)
    expected = 0.4346457547967099 + 0.11362666429778172j
    np.testing.assert_allclose(shapes.points[1, -1, 0], expected, rtol=1e-12)


def simulate_before(manifold, name, plain):
    return simulate(
        manifold,
        name,
        data_sets=2,
        number=4,
        noise_variance=0.01,
        shooting_vector_length=0.7,
        equally_spaced=plain,
        ambient_noise=plain,
    )


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


def test_data_of_means_and_of_several_covariates():
    sphere = make_manifold("sphere", 2)
    settings = {"data_sets": 3, "number": 2000, "noise_variance": 1e-4, "ambient_noise": False}
    rng = random_stream(1, "simulate", "blocks")
    mean = simulate_geodesic_data(rng, GeodesicModel(sphere, 0), **settings)
    assert mean.covariates.shape == (3, 2000, 0)
    away = sphere.dist(mean.parameters["footpoint"][:, None], mean.points)
    np.testing.assert_allclose(np.mean(away**2, axis=-1), 2e-4, rtol=0.15)
    model = GeodesicModel(sphere, 3)
    several = simulate_geodesic_data(rng, model, shooting_vector_length=0.3, **settings)
    found = model.fit(several.covariates, several.points)
    assert np.all(found.converged)
    for block, truth in several.parameters.items():
        np.testing.assert_allclose(found.parameters[block], truth, atol=5e-3)
    orders = np.argsort(several.covariates[0], axis=0)
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
    found, batch = (model.fit(data.covariates, data.points) for data in (one, several))
    assert one.covariates.shape == (12, covariates)
    assert one.points.shape == (12, 2, 2)
    assert found.footpoint.shape == (2, 2)
    for name in ("energy", "gradient_norm", "converged", "largest_residual"):
        assert np.ndim(getattr(found, name)) == 0
        assert getattr(batch, name).shape == (1,)
    for block in model.blocks:
        np.testing.assert_allclose(found.parameters[block], batch.parameters[block][0], atol=1e-9)
    at = np.linspace(0.0, 1.0, 3 * covariates).reshape((3, covariates))
    predictions = found.predict(at)
    assert predictions.shape == (3, 2, 2)
    np.testing.assert_array_equal(predictions, model.predict(found.parameters, at))
    assert batch.predict(at).shape == (1, 3, 2, 2)
    np.testing.assert_array_equal(batch.take(0).predict(at), batch.predict(at)[0])
    if covariates == 1:
        np.testing.assert_array_equal(found.predict(at[:, 0]), predictions)
        np.testing.assert_allclose(
            model.fit(one.covariates[:, 0], one.points).footpoint, found.footpoint
        )
    with pytest.raises(ValueError, match="give rows of"):
        found.predict(0.5)
