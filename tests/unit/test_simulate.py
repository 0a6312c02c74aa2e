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


def test_shapes_lengths_and_covariates(manifold):
    data = simulate(manifold)
    footpoints, vectors = geodesics(data)
    assert data.points.shape == (DATA_SETS, NUMBER, *manifold.point_shape)
    for point in data.points.reshape((-1, *manifold.point_shape)):
        assert manifold.invalid_reason(point) is None
    np.testing.assert_allclose(manifold.norm(footpoints, vectors), LENGTH, rtol=1e-12)
    np.testing.assert_allclose(manifold.project_tangent(footpoints, vectors), vectors, atol=1e-12)
    covariates = data.covariates[..., 0]
    np.testing.assert_allclose(covariates, np.tile(np.arange(NUMBER) / (NUMBER - 1), (3, 1)))
    # Data sets differ.
    for array in (footpoints, vectors, data.points):
        assert not np.any(np.all(array[0] == array[1], axis=-1))


def test_without_noise_points_lie_on_the_geodesic(manifold):
    data = simulate(manifold, noise_variance=0.0)
    away = manifold.dist(predictions(manifold, data), data.points)
    # Distances of equal points come from a cosine of one or from a logarithm.
    np.testing.assert_allclose(away, 0.0, atol=1e-7)


def mean_square(manifold, variance, **changes):
    """Mean squared distance from predictions, over its value in flat space, and its error."""
    data = simulate(manifold, data_sets=1, noise_variance=variance, **changes)
    squares = manifold.dist(predictions(manifold, data), data.points) ** 2
    return np.mean(squares) / (manifold.dim * variance), np.sqrt(2.0 / manifold.dim / squares.size)


@pytest.mark.parametrize("space", [("sphere", 2), ("euclidean", 3)], ids=["S2", "R3"])
def test_ambient_noise_has_its_variance(space):
    found, error = mean_square(make_manifold(*space), 1e-4, number=20000, ambient_noise=True)
    # Of the ambient directions only the tangent ones remain, up to terms of second order.
    assert found == pytest.approx(1.0, abs=4.0 * error + 1e-3)


def test_tangent_noise_has_its_variance(manifold):
    found, error = mean_square(manifold, 1e-3, number=4000)
    # A sum of squared normal coordinates, moved by Exp without a change of length.
    assert found == pytest.approx(1.0, abs=4.0 * error)


def test_uniform_covariates_reach_both_ends():
    data = simulate(make_manifold("sphere", 2), equally_spaced=False, number=500, data_sets=4)
    ordered = np.sort(data.covariates[..., 0], axis=-1)
    assert np.all(ordered[:, 0] == 0.0)
    assert np.all(ordered[:, -1] == 1.0)
    # Kolmogorov's distance of 500 uniform numbers exceeds 0.1 once in 5000 times.
    assert np.max(np.abs(ordered - np.linspace(0, 1, 500))) < 0.1
    assert np.ptp(np.diff(ordered[0])) > 1e-3


# Geodesics between two points


def test_points_that_are_given_are_where_geodesics_start_and_end(manifold):
    first, last = manifold.random_point(np.random.default_rng(2), (2,))
    for given in ({"first_point": first}, {"last_point": last}):
        settings = {"noise_variance": 0.0, **given}
        if "last_point" in given:
            # A length has precedence.
            np.testing.assert_array_equal(
                simulate(manifold, **settings).points, simulate(manifold, noise_variance=0.0).points
            )
            settings["shooting_vector_length"] = None
        data = simulate(manifold, **settings)
        start, vectors = geodesics(data)
        if "first_point" in given:
            np.testing.assert_array_equal(start, np.stack([first] * DATA_SETS))
            # In directions of their own, of which a line has but two.
            assert manifold.dim == 1 or not np.allclose(vectors[0], vectors[1])
            continue
        assert not np.allclose(start[0], start[1])
        assert np.all(manifold.dist(start, last) > 1e-3)
        # A distance on unit vectors is good to the root of the rounding.
        for reached in (manifold.exp(start, vectors), data.points[:, -1]):
            np.testing.assert_allclose(manifold.dist(reached, last), 0.0, atol=1e-7)
    both = simulate(manifold, shooting_vector_length=None, first_point=first, last_point=last)
    start, vectors = geodesics(both)
    np.testing.assert_array_equal(start, np.stack([first] * DATA_SETS))
    np.testing.assert_allclose(manifold.dist(manifold.exp(start, vectors), last), 0.0, atol=1e-7)


def test_end_points_are_random_where_nothing_is_given(manifold):
    data = simulate(manifold, shooting_vector_length=None, noise_variance=0.0)
    start, vectors = geodesics(data)
    ends = manifold.exp(start, vectors)
    np.testing.assert_allclose(manifold.dist(ends, data.points[:, -1]), 0.0, atol=1e-7)
    # All six points are different.
    points = np.concatenate([start, ends])
    for index, point in enumerate(points):
        assert np.all(manifold.dist(point, points[:index]) > 1e-3)


UNBOUNDED = {
    "H2": (("hyperbolic", 2), np.eye(3)[0]),
    "H4": (("hyperbolic", 4), np.eye(5)[0]),
    "SPD2": (("spd", 2), np.eye(2)),
    "SPD3": (("spd", 3), np.eye(3)),
    "R3": (("euclidean", 3), np.zeros(3)),
}


@pytest.mark.parametrize("radius", [0.3, 2.0])
@pytest.mark.parametrize(("space", "origin"), UNBOUNDED.values(), ids=UNBOUNDED)
def test_random_end_points_fill_the_ball_of_their_radius(space, origin, radius):
    manifold, number = make_manifold(*space), 4000
    data = simulate(
        manifold,
        data_sets=number,
        number=2,
        shooting_vector_length=None,
        random_point_radius=radius,
        noise_variance=0.0,
    )
    first, last = (
        manifold.log(origin, points)
        for points in (data.parameters["footpoint"], data.points[:, -1])
    )
    for vectors in (first, last):
        shares = manifold.norm(origin, vectors) / radius
        assert np.max(shares) <= 1.0 + 1e-9
        # Uniform in the tangent ball; a right law is refused with probability 6e-5.
        assert stats.kstest(shares**manifold.dim, "uniform").pvalue > FALSE_ALARM
        mean = np.mean(manifold.coordinates(origin, vectors), axis=0)
        # Of a coordinate, which has variance radius^2 / (dim + 2).
        assert np.max(np.abs(mean)) < 4.5 * radius / np.sqrt(number * (manifold.dim + 2))
    # Ends do not depend on starts.
    inner = manifold.inner(origin, first, last)
    assert abs(np.mean(inner)) < 4.0 * np.std(inner) / np.sqrt(number)


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
    # They fill it: no smaller radius would do.
    assert 0.88 < np.max(manifold.dist(np.eye(2), data.points)) < 1.0


# Numbers printed by the version before end points could be given.
BEFORE = [
    (("sphere", 2), True, [-0.391273901019461, -0.6540464806905604, 0.647400907844054]),
    (("sphere", 2), False, [-0.23506368732824556, -0.6507234710668613, 0.7220138690512423]),
    (("kendall", 4), True, [0.4346457547967099 + 0.11362666429778172j]),
]


@pytest.mark.parametrize(("space", "plain", "expected"), BEFORE)
def test_draws_are_those_of_earlier_versions(space, plain, expected):
    found = simulate(
        make_manifold(*space),
        f"{'sphere' if space[0] == 'sphere' else 'shapes'} as before",
        data_sets=2,
        number=4,
        noise_variance=0.01,
        shooting_vector_length=0.7,
        equally_spaced=plain,
        ambient_noise=plain,
    )
    np.testing.assert_allclose(found.points[1, -1, : len(expected)], expected, rtol=1e-12)
    if not plain:
        np.testing.assert_allclose(found.covariates[1, 1], 0.595166216074255, rtol=1e-12)


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
    for name in ("energy", "gradient_norm", "converged", "largest_residual"):
        assert np.ndim(getattr(found, name)) == 0
        assert getattr(batch, name).shape == (1,)
    for block in model.blocks:
        np.testing.assert_allclose(found.parameters[block], batch.parameters[block][0], atol=1e-9)
    at = np.linspace(0.0, 1.0, 3 * covariates).reshape((3, covariates))
    predictions = found.predict(at)
    assert predictions.shape == (3, 2, 2)
    np.testing.assert_array_equal(predictions, model.predict(found.parameters, at))
    np.testing.assert_array_equal(batch.take(0).predict(at), batch.predict(at)[0])
    if covariates == 1:
        np.testing.assert_array_equal(found.predict(at[:, 0]), predictions)
        np.testing.assert_allclose(
            model.fit(one.covariates[:, 0], one.points).footpoint, found.footpoint
        )
    with pytest.raises(ValueError, match="give rows of"):
        found.predict(0.5)
