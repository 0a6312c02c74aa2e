"""Models on every space: `check_model`, closed forms, robust fits, refusals and invariance."""

import re

import numpy as np
import pytest
from conftest import SPACES
from scipy.optimize import least_squares

from geodp.errors import DataError
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.registry import make_manifold
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.models.fitting import CUT_LOCUS_FRACTION, FitError
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance, Huber, SquaredDistance
from geodp.testing import check_model


def model_of(manifold, huber=None):
    """Geodesic regression, by least squares or with Huber's loss of a threshold."""
    return GeodesicModel(manifold, 1, SquaredDistance() if huber is None else Huber(huber))


def fit(manifold, covariates, points, huber=None, **options):
    return model_of(manifold, huber).fit(covariates, points, **options)


# What every model promises


MODELS = {
    "mean": (0, SquaredDistance()),
    "median": (0, Distance()),
    "one covariate": (1, SquaredDistance()),
    "one covariate, Huber": (1, Huber(0.3)),
    "two covariates, Huber": (2, Huber(0.3)),
    "three covariates": (3, SquaredDistance()),
}

# Outlines of 50 landmarks take seconds.
EVERY_SPACE = [
    pytest.param(name, marks=[pytest.mark.slow] if name == "Kendall50" else []) for name in SPACES
]


@pytest.mark.parametrize("kind", MODELS)
@pytest.mark.parametrize("space", EVERY_SPACE)
def test_energy_derivatives_and_fit_agree(space, kind):
    if (space, kind) == ("H1", "median"):
        pytest.skip("medians of an even number of records on a line are not unique")
    check_model(GeodesicModel(make_manifold(*SPACES[space]), *MODELS[kind]))


class Bent(SquaredDistance):
    """A loss whose second derivative jumps within the residuals of `check_model`."""

    name = "bent"

    def values(self, squared_distances):
        return 0.5 * squared_distances + np.maximum(np.sqrt(squared_distances) - 0.26, 0.0) ** 2

    def weights(self, squared_distances):
        distances = np.sqrt(squared_distances)
        return 1.0 + 2.0 * np.maximum(distances - 0.26, 0.0) / np.maximum(distances, 0.26)


def test_a_loss_that_bends_is_no_mistake():
    check_model(GeodesicModel(Sphere(2), 1, Bent()))


class WrongLoss(Huber):
    """Huber's loss whose derivative belongs to a larger threshold."""

    def weights(self, squared_distances):
        return Huber(1.001 * self.threshold).weights(squared_distances)


def broken(**functions):
    return type("Broken", (GeodesicModel,), functions)(Sphere(2))


RIGHT = GeodesicModel(Sphere(2))


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (GeodesicModel(Sphere(2), 1, WrongLoss(0.3)), "is the derivative of the energy"),
        (
            broken(gauss_newton_steps=lambda model, p, x, y, gradient, damping: gradient),
            "a Gauss-Newton step descends",
        ),
        # Shooting vectors that stay behind when the footpoint moves.
        (
            broken(
                retract=lambda model, p, steps: (
                    RIGHT.retract(p, steps)
                    | {"shooting_vector": p["shooting_vector"] + steps.get("shooting_vector", 0)}
                )
            ),
            "the gradient in footpoint is the derivative",
        ),
        (
            broken(fit=lambda model, x, y: RIGHT.fit(x, y, max_iterations=1)),
            "the fit converges",
        ),
    ],
)
def test_a_mistake_is_found_and_named(model, message):
    with pytest.raises(AssertionError, match=f"covariates and the loss .* on sphere.*{message}"):
        check_model(model)


# Closed forms


@pytest.mark.parametrize("k", [0, 1, 2, 3])
def test_fit_on_flat_space_is_linear_regression(k):
    rng = np.random.default_rng(7)
    x, points = rng.standard_normal((2, 30, k)), rng.standard_normal((2, 30, 3))
    model = GeodesicModel(make_manifold("euclidean", 3), k)
    found = model.fit(x, points)
    for index in range(2):
        design = np.column_stack([np.ones(30), x[index]])
        expected = np.linalg.lstsq(design, points[index])[0]
        each = np.stack([found.parameters[block][index] for block in model.blocks])
        assert np.max(abs(each - expected)) <= 1e-10
        residuals = np.linalg.norm(points[index] - design @ expected, axis=-1)
        assert abs(60 * found.energy[index] - np.sum(residuals**2)) <= 1e-10
        assert abs(found.largest_residual[index] - np.max(residuals)) <= 1e-10


def test_median_on_the_line_is_the_middle_record():
    points = np.random.default_rng(8).standard_normal((5, 21, 1))
    found = GeodesicModel(make_manifold("euclidean", 1), 0, Distance()).fit(None, points)
    assert np.all(found.converged)
    np.testing.assert_array_equal(found.footpoint, np.median(points, axis=1))


def test_median_is_a_record_that_outweighs_the_others():
    # Three of five records in one place, and a corner of more than 120 degrees.
    corner = np.array([[0.0, 0.0], [1.0, 0.1], [-1.0, 0.1]])
    heap = np.array([[0.0, 0.0]] * 3 + [[1.0, 0.0], [1.0, 1.0]])
    model = GeodesicModel(make_manifold("euclidean", 2), 0, Distance())
    for points in (corner, heap):
        found = model.fit(None, points)
        assert found.converged
        np.testing.assert_array_equal(found.footpoint, [0.0, 0.0])


@pytest.mark.parametrize("loss", [SquaredDistance(), Huber(0.1), Distance()])
def test_fit_to_one_place_converges_at_once(manifold, loss):
    place = manifold.random_point(np.random.default_rng(10), (2, 1))
    points = np.repeat(place, 5, axis=1)
    found = GeodesicModel(manifold, 0, loss).fit(None, points)
    assert np.all(found.converged)
    assert np.max(manifold.dist(found.footpoint, place[:, 0])) <= 1e-12


def along_the_circle(angle):
    """Points of a great circle and their velocities per unit of angle."""
    return (
        np.stack([np.cos(angle), np.sin(angle), 0.0 * angle], axis=-1),
        np.stack([-np.sin(angle), np.cos(angle), 0.0 * angle], axis=-1),
    )


def along_the_hyperbola(rapidity):
    return (
        np.stack([np.cosh(rapidity), np.sinh(rapidity), 0.0 * rapidity], axis=-1),
        np.stack([np.sinh(rapidity), np.cosh(rapidity), 0.0 * rapidity], axis=-1),
    )


def along_a_diagonal(logarithm):
    matrix = np.exp(np.multiply.outer(logarithm, [1.0, -0.5, 0.2]))[..., None] * np.eye(3)
    return matrix, matrix * np.array([1.0, -0.5, 0.2])


@pytest.mark.parametrize(
    ("space", "line"),
    [
        (Sphere(2), along_the_circle),
        (Hyperbolic(2), along_the_hyperbola),
        (SPD(3), along_a_diagonal),
    ],
)
def test_fit_along_a_geodesic_is_linear_regression_of_its_coordinate(space, line):
    # The mirror image of these data is themselves, so the fit stays in the mirror.
    rng = np.random.default_rng(8)
    covariates = rng.uniform(size=25)
    places = 0.3 + 0.8 * covariates + 0.2 * rng.standard_normal(25)
    found = fit(space, covariates, line(places)[0])
    slope, start = np.polyfit(covariates, places, 1)
    footpoint, velocity = line(np.array(start))
    assert np.max(abs(found.footpoint - footpoint)) <= 1e-10
    assert np.max(abs(found.shooting_vector - slope * velocity)) <= 1e-10


def matrix_of(points):
    """Matrices of determinant one from points of the hyperbolic plane, of curvature -1/2."""
    time, first, second = np.moveaxis(points, -1, 0)
    rows = [[time + first, second], [second, time - first]]
    return np.moveaxis(np.array(rows), (0, 1), (-2, -1))


def sphere_of(triangles):
    """Hopf's map of triangles, which are a sphere of radius one half."""
    space = KendallPlanarShapes(3)
    basis = space.random_point(np.random.default_rng(10))
    first, second = triangles @ np.conj(basis), triangles @ np.conj(space.frame(basis)[0])
    mixed = 2.0 * np.conj(first) * second
    return np.stack([mixed.real, mixed.imag, abs(first) ** 2 - abs(second) ** 2], axis=-1)


@pytest.mark.parametrize(
    ("space", "other", "image", "ratio"),
    [
        (Hyperbolic(2), SPD(2), matrix_of, 2.0),
        (KendallPlanarShapes(3), Sphere(2), lambda y: Sphere(2).project(sphere_of(y)), 4.0),
    ],
)
def test_fit_is_that_on_the_same_space_in_other_coordinates(
    make_records, space, other, image, ratio
):
    data = make_records(space, seed=10, noise=0.2)
    found, expected = (
        fit(each, data.covariates, points)
        for each, points in ((space, data.points), (other, image(data.points)))
    )
    assert abs(ratio * found.energy / expected.energy - 1.0) <= 1e-12
    line, same = (each.predict(data.covariates) for each in (found, expected))
    assert np.max(other.dist(image(line), same)) <= 1e-9


# From exact data to residuals as long as the geodesic: where residuals are small, energies
# differ by rounding alone long before the gradient vanishes.
@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("away", [1.5, 2.4, 3.0, 8.0])
def test_fit_converges_far_from_the_origin_of_hyperbolic_space(make_records, away, noise):
    space = Hyperbolic(2)
    for seed in range(8):
        rng = np.random.default_rng(seed)
        origin = np.array([1.0, 0.0, 0.0])
        direction = space.random_tangent(rng, origin)
        footpoint = space.exp(origin, away * direction / space.norm(origin, direction))
        vector = space.random_tangent(rng, footpoint)
        vector = 0.8 * vector / space.norm(footpoint, vector)
        data = make_records(space, seed=seed, noise=noise, truth=(footpoint, vector))
        found = fit(space, data.covariates, data.points)
        assert found.converged
        assert found.iterations <= 20


@pytest.mark.parametrize("dimension", [2, 4])
def test_fit_converges_with_noise_that_covers_the_sphere(dimension):
    # Noise of variance 0.1 in the ambient space, then back to the sphere.
    sphere = Sphere(dimension)
    rng = np.random.default_rng(11)
    footpoint = sphere.random_point(rng, (40, 1))
    vector = sphere.random_tangent(rng, footpoint)
    vector = vector * (np.pi / 4) / sphere.norm(footpoint, vector)[..., None]
    covariates = rng.uniform(size=(40, 100))
    points = sphere.exp(footpoint, covariates[..., None] * vector)
    points = sphere.project(points + np.sqrt(0.1) * rng.standard_normal(points.shape))
    found = fit(sphere, covariates, points)
    assert np.all(found.converged)
    assert found.iterations <= 20
    assert np.max(found.gradient_norm) <= 1e-10


@pytest.mark.parametrize("space", EVERY_SPACE)
def test_fit_is_the_best_minimum_and_found_from_far_away(space, make_records):
    manifold = make_manifold(*SPACES[space])
    data = make_records(manifold, seed=12, noise=0.3)
    best = fit(manifold, data.covariates, data.points)
    rng = np.random.default_rng(12)
    footpoints = manifold.random_point(rng, (20,))
    vectors = manifold.random_tangent(rng, footpoints)
    vectors = vectors / manifold.expand(manifold.norm(footpoints, vectors))
    model = model_of(manifold)
    start = model.parameters(footpoints, vectors)
    found = model.minimise(start, data.covariates, data.points)
    assert np.all(found.converged)
    assert found.iterations <= 50
    curvatures = np.linalg.eigvalsh(model.hessian(found.parameters, data.covariates, data.points))
    assert np.min(curvatures) > 0.0
    assert np.min(found.energy) >= best.energy * (1.0 - 1e-12)
    # Positive curvature allows other minima, such as a geodesic the long way round.
    same = found.energy <= best.energy * (1.0 + 1e-9)
    assert np.mean(same) >= 0.9


def test_fit_follows_a_change_of_the_covariate(manifold, make_records):
    data = make_records(manifold, seed=13, noise=0.2)
    found = fit(manifold, data.covariates, data.points)
    moved = fit(manifold, 3.0 - 2.0 * data.covariates, data.points)
    assert abs(moved.energy / found.energy - 1.0) <= 1e-12
    lines = found.predict(data.covariates), moved.predict(3.0 - 2.0 * data.covariates)
    assert np.max(manifold.dist(*lines)) <= 1e-9


def test_fit_says_when_it_has_not_converged(manifold, make_records):
    parts = [make_records(manifold, seed=15, noise=noise) for noise in (0.5, 0.0)]
    data = (np.stack([getattr(part, key) for part in parts]) for key in ("covariates", "points"))
    found = fit(manifold, *data, max_iterations=1)
    # The start is the solution in flat space, and of data without noise.
    flat = manifold.curvature_bounds == (0.0, 0.0)
    assert found.converged.tolist() == [flat, True]
    assert ((found.gradient_norm <= 1e-10) == found.converged).all()
    assert found.iterations <= (0 if flat else 1)


def test_a_data_set_that_fails_leaves_the_others_alone(make_records):
    plane = Hyperbolic(2)
    data = make_records(plane, seed=16, noise=0.3, data_shape=(2,))
    alone = fit(plane, data.covariates[:1], data.points[:1])
    points = data.points.copy()
    points[1, 2] = plane.project(np.full(3, 1e6))
    with np.errstate(all="ignore"):
        found = fit(plane, data.covariates, points)
    assert alone.converged.tolist() == [True]
    assert found.converged[0]
    np.testing.assert_allclose(found.footpoint[0], alone.footpoint[0], atol=1e-9)
    np.testing.assert_allclose(found.shooting_vector[0], alone.shooting_vector[0], atol=1e-9)


# Huber's loss


def largest_difference(manifold, first, second):
    """Largest distance between two geodesics over covariates from 0 to 1."""
    lines = [each.predict(np.linspace(0.0, 1.0, 11)) for each in (first, second)]
    return np.max(manifold.dist(*lines))


@pytest.mark.parametrize("threshold", [100.0, np.inf])
def test_threshold_beyond_every_record_is_least_squares(manifold, make_records, threshold):
    data = make_records(manifold, seed=42, noise=0.3)
    expected = fit(manifold, data.covariates, data.points)
    found = fit(manifold, data.covariates, data.points, huber=threshold)
    assert found.iterations == expected.iterations
    assert abs(found.energy / expected.energy - 1.0) <= 1e-13
    assert largest_difference(manifold, found, expected) <= 1e-12
    at = (expected.parameters, data.covariates, data.points)
    first, second = (
        model_of(manifold, huber).energy_gradient(*at).gradient for huber in (None, threshold)
    )
    for block, gradient in first.items():
        assert np.array_equal(gradient, second[block])


def test_robust_fit_on_the_line_is_that_of_scipy(make_records):
    line = make_manifold("euclidean", 1)
    data = make_records(line, seed=43, number=40, noise=1.0)
    data.points[:4] += 20.0
    found = fit(line, data.covariates, data.points, huber=0.7)
    expected = least_squares(
        lambda parts: data.points[:, 0] - parts[0] - parts[1] * data.covariates,
        np.zeros(2),
        loss="huber",
        f_scale=0.7,
        xtol=1e-15,
        ftol=1e-15,
        gtol=1e-12,
    )
    # SciPy stops where the cost no longer changes, which is at half the digits.
    assert abs(found.footpoint[0] - expected.x[0]) <= 1e-7
    assert abs(found.shooting_vector[0] - expected.x[1]) <= 1e-7
    assert abs(40 * found.energy / expected.cost - 1.0) <= 1e-12


def test_robust_fit_withstands_outliers(manifold, make_records):
    for seed in range(4):
        data = make_records(manifold, seed=44 + seed, number=60, noise=0.1)
        points = data.points.copy()
        # Six records that are anywhere, or all in one other place.
        shape = (6,) if seed % 2 else (1,)
        points[:6] = manifold.random_point(np.random.default_rng(seed), shape)
        found = fit(manifold, data.covariates, points, huber=0.15)
        assert found.converged
        assert found.iterations <= 15
        clean = fit(manifold, data.covariates[6:], data.points[6:])
        # Six records that pull as hard as 0.15 against 54 that give way to them.
        assert largest_difference(manifold, found, clean) <= 0.1
        # No other minimum is found from the truth.
        model = model_of(manifold, 0.15)
        truth = model.parameters(data.footpoint, data.shooting_vector)
        other = model.minimise(truth, data.covariates, points)
        assert found.energy <= other.energy * (1.0 + 1e-9)


@pytest.mark.parametrize(("name", "size"), [("sphere", 2), ("kendall", 3), ("kendall", 8)])
def test_record_near_the_cut_locus_is_refused_unless_its_pull_is_bounded(make_records, name, size):
    space = make_manifold(name, size)
    data = make_records(space, seed=46, number=60, noise=0.02)
    clean = fit(space, data.covariates, data.points)
    if name == "sphere":
        data.points[41] = space.project(-data.points[41] + 0.05)
    else:
        data.points[41] = space.project(space.frame(data.points[41])[0] + 0.02 * data.points[41])
    arguments = (space, data.covariates, data.points)
    limit = re.escape(f"{space.injectivity_radius:.4g}")
    # With the last threshold nearly the whole of its pull is left.
    for huber in (None, 0.95 * space.injectivity_radius):
        with pytest.raises(FitError, match=rf"^record 42: it .* cut locus at {limit}") as error:
            fit(*arguments, huber=huber)
        assert_one_sentence(error)
    robust = fit(*arguments, huber=0.04)
    assert robust.converged
    assert robust.largest_residual > CUT_LOCUS_FRACTION * space.injectivity_radius
    assert largest_difference(space, clean, robust) <= 0.01


@pytest.mark.parametrize("threshold", [0.0, -1.0, np.nan])
def test_threshold_that_is_not_positive_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold of Huber's loss is") as error:
        Huber(threshold)
    assert_one_sentence(error)


# Data that cannot be fitted


def assert_one_sentence(error):
    message = str(error.value)
    assert "\n" not in message
    assert ". " not in message
    assert len(message) < 200


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (x[:, :2], y[:, :2]), "at least 3 records and there are 2: add records"),
        (lambda x, y: (x * [[1.0], [0.0]], y), "a covariate is the same for all records"),
    ],
)
def test_data_that_determine_no_fit_are_refused(manifold, make_records, change, message):
    data = make_records(manifold, seed=17, data_shape=(2,))
    with pytest.raises(FitError, match=message) as error:
        fit(manifold, *change(data.covariates, data.points))
    assert_one_sentence(error)


def test_covariates_that_depend_on_one_another_are_refused(make_records):
    data = make_records(Sphere(2), seed=17)
    x = np.stack([data.covariates, 1.0 - 2.0 * data.covariates], axis=-1)
    with pytest.raises(FitError, match="a covariate is a linear combination") as error:
        GeodesicModel(Sphere(2), 2).fit(x, data.points)
    assert_one_sentence(error)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "what"), [("covariates", "a covariate"), ("points", "a coordinate of its point")]
)
def test_what_is_not_finite_is_refused_by_record(make_records, name, what, wrong):
    space = KendallPlanarShapes(4)
    for data_shape, where in (((), "record 4: "), ((3,), "record 4 of data set 2: ")):
        data = make_records(space, seed=17, number=6, data_shape=data_shape)
        for record in (5, 3):
            getattr(data, name)[(*(1 for _ in data_shape), record)] = wrong
        with pytest.raises(DataError, match=f"^{where}{what} is not a finite number") as error:
            fit(space, data.covariates, data.points)
        assert_one_sentence(error)


# Invariance under the isometries of each space


def rotation(size):
    return np.linalg.qr(np.random.default_rng(31).standard_normal((size, size)))[0]


def boost():
    """A rotation of hyperbolic space and then a step along its first axis."""
    turn, step = np.eye(5), np.eye(5)
    turn[1:, 1:] = rotation(4)
    step[:2, :2] = [[np.cosh(1.2), np.sinh(1.2)], [np.sinh(1.2), np.cosh(1.2)]]
    return step @ turn


EIGHT, MIX = KendallPlanarShapes(8), np.array([[1.2, 0.3, -0.5], [0.1, 0.7, 0.4], [0.6, -0.2, 1.1]])

# By name: the space, and a map of points and a map of tangent vectors.
ISOMETRIES = {
    "translation of R3": (make_manifold("euclidean", 3), lambda y: y + 3.0, lambda v: v),
    "rotation of S2": (Sphere(2), *[lambda y: y @ rotation(3).T] * 2),
    "rotation of S4": (Sphere(4), *[lambda y: y @ rotation(5).T] * 2),
    "boost and rotation of H4": (Hyperbolic(4), *[lambda y: y @ boost().T] * 2),
    "congruence of SPD2": (SPD(2), *[lambda y: MIX[:2, :2] @ y @ MIX[:2, :2].T] * 2),
    "congruence of SPD3": (SPD(3), *[lambda y: MIX @ y @ MIX.T] * 2),
    "similarity of landmarks": (
        EIGHT,
        lambda y: EIGHT.project(7.0 * np.exp(2.1j) * y + (4.0 - 3.0j)),
        lambda v: np.exp(2.1j) * v,
    ),
    "reflection of landmarks": (EIGHT, np.conj, np.conj),
    "new order of landmarks": (EIGHT, *[lambda y: y[..., ::-1]] * 2),
}


@pytest.mark.parametrize("name", ISOMETRIES)
@pytest.mark.parametrize("noise", [0.05, 0.4])
def test_isometries_move_the_fit_and_nothing_else(make_records, name, noise):
    manifold, move_points, move_vectors = ISOMETRIES[name]
    data = make_records(manifold, seed=33, noise=noise)
    moved = move_points(data.points)
    first, second = (fit(manifold, data.covariates, each) for each in (data.points, moved))
    line, other = (each.predict(np.linspace(-1.0, 2.0, 7)) for each in (first, second))
    assert np.max(manifold.dist(move_points(line), other)) <= 1e-9
    for key in ("energy", "largest_residual"):
        assert getattr(second, key) == pytest.approx(getattr(first, key), rel=1e-9)
    # Gradients at states from next to the fit to far from it.
    rng = np.random.default_rng(32)
    places = np.broadcast_to(first.footpoint, (12, *manifold.point_shape))
    steps = manifold.random_direction(rng, places)
    p = manifold.exp(places, manifold.expand(np.geomspace(1e-3, 1.0, 12)) * steps)
    v, model = 0.3 * manifold.random_tangent(rng, p), model_of(manifold)
    found, expected = (
        model.energy_gradient(model.parameters(*at), data.covariates, points).gradient
        for at, points in (((move_points(p), move_vectors(v)), moved), ((p, v), data.points))
    )
    for block, value in expected.items():
        lengths = manifold.norm(p, value), manifold.norm(move_points(p), found[block])
        assert np.allclose(*lengths, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("landmarks", [3, 8])
def test_any_similarity_of_single_records_changes_nothing(make_records, landmarks):
    manifold = KendallPlanarShapes(landmarks)
    data = make_records(manifold, seed=34, noise=0.2)
    real, imaginary = np.random.default_rng(34).standard_normal((2, 2, len(data.points), 1))
    factors, shifts = 200.0 * (real + 1j * imaginary)
    points = manifold.project(factors * data.points + shifts)
    first, second = (fit(manifold, data.covariates, each) for each in (data.points, points))
    for key in ("energy", "largest_residual"):
        assert getattr(second, key) == pytest.approx(getattr(first, key), rel=1e-9)
    lines = (each.predict(np.linspace(-1.0, 2.0, 7)) for each in (first, second))
    assert np.max(manifold.dist(*lines)) <= 1e-9
