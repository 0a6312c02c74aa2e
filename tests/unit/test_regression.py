"""Energy, gradients, Hessians and fits, on every space."""

import tracemalloc
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.optimize import least_squares

from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.registry import make_manifold
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.kng_as_published import AsPublished, configured_support
from geodp.models import regression
from geodp.models.regression import (
    FitError,
    energy_gradient,
    fit,
    hessian,
    minimise_energy,
    predict,
    residual_distances,
)
from geodp.models.sensitivity import published_sensitivity

EPSILON = np.finfo(float).eps


def radius_of_data(manifold):
    """A public radius, where the sensitivity needs one."""
    return 1.0 if manifold.curvature_bounds[0] < 0.0 else None


def off_the_minimum(manifold, data, seed):
    """A geodesic some way from the one the data scatter about."""
    rng = np.random.default_rng(seed)
    footpoint, vector = data.footpoint, data.shooting_vector
    step = 0.2 * manifold.random_tangent(rng, footpoint) / np.sqrt(manifold.dim)
    turn = 0.2 * manifold.random_tangent(rng, footpoint) / np.sqrt(manifold.dim)
    return manifold.exp(footpoint, step), manifold.transport(footpoint, step, vector + turn)


def energy_around(manifold, footpoint, vector, data, huber=None):
    """The energy as a function of steps of the footpoint and of the shooting vector.

    The shooting vector is carried along in parallel, which is what the gradient with respect to
    the footpoint means.
    """

    def energy(step, turn):
        vectors = np.broadcast_to(vector + turn, np.broadcast_shapes(step.shape, turn.shape))
        points = np.broadcast_to(footpoint, vectors.shape)
        steps = np.broadcast_to(step, vectors.shape)
        end = manifold.exp(points, steps)
        carried = manifold.transport(points, steps, vectors)
        return energy_gradient(
            manifold, end, carried, data.covariates, data.points, (), huber
        ).energy

    return energy


# Energy and derivatives


def test_energy_is_half_the_mean_squared_distance(manifold, make_records):
    data = make_records(manifold, seed=1, noise=0.2)
    found = energy_gradient(
        manifold, data.footpoint, data.shooting_vector, data.covariates, data.points, ()
    )
    predictions = predict(manifold, data.footpoint, data.shooting_vector, data.covariates)
    expected = 0.5 * np.mean(manifold.dist(predictions, data.points) ** 2)
    assert found.footpoint is None
    assert found.shooting_vector is None
    assert abs(found.energy / expected - 1.0) <= 1e-13


@pytest.mark.parametrize("seed", [1, 2, 3])
@pytest.mark.parametrize("block", ["footpoint", "shooting_vector"])
def test_gradient_is_the_derivative_of_the_energy(manifold, make_records, derivative, block, seed):
    data = make_records(manifold, seed=seed, speed=0.7, noise=0.3)
    footpoint, vector = off_the_minimum(manifold, data, seed)
    energy = energy_around(manifold, footpoint, vector, data)
    frame = manifold.frame(footpoint)
    zero = np.zeros_like(frame)
    moved = {
        "footpoint": lambda step: energy(step * frame, zero),
        "shooting_vector": lambda step: energy(zero, step * frame),
    }
    expected = derivative(moved[block])
    gradient = energy_gradient(manifold, footpoint, vector, data.covariates, data.points, [block])
    found = manifold.coordinates(footpoint, getattr(gradient, block), frame)
    # The differences are good to 1e-13 in each of up to 96 coordinates of a gradient of 0.1.
    assert np.linalg.norm(found - expected) <= 2e-11 * np.linalg.norm(expected)


@pytest.mark.parametrize("speed", [0.0, 0.7], ids=["still", "moving"])
def test_hessian_is_the_second_derivative_of_the_energy(manifold, make_records, speed):
    data = make_records(manifold, seed=4, speed=speed, noise=0.3)
    footpoint, vector = off_the_minimum(manifold, data, 4)
    matrix = hessian(manifold, footpoint, vector, data.covariates, data.points)
    assert matrix.shape == (2 * manifold.dim, 2 * manifold.dim)
    assert np.array_equal(matrix, matrix.T)
    energy = energy_around(manifold, footpoint, vector, data)
    # Directions across both blocks see the mixed derivatives too.
    rng = np.random.default_rng(4)
    directions = rng.standard_normal((40, 2 * manifold.dim))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    frame = manifold.frame(footpoint)
    steps = manifold.vector(frame, directions[:, : manifold.dim])
    turns = manifold.vector(frame, directions[:, manifold.dim :])
    # Fourth order: truncation is about 1e-10 at this step, and 2^6 times that along the
    # directions of curvature 4; rounding is less.
    size = 1e-2
    weights = {-2: -1.0, -1: 16.0, 0: -30.0, 1: 16.0, 2: -1.0}
    expected = sum(w * energy(k * size * steps, k * size * turns) for k, w in weights.items())
    expected = expected / (12.0 * size**2)
    found = np.einsum("ki,ij,kj->k", directions, matrix, directions)
    assert np.max(abs(found - expected)) <= 1e-8 * np.max(abs(matrix))


@pytest.mark.parametrize(
    ("block", "part"),
    [("footpoint", slice(None, 1)), ("shooting_vector", slice(1, None))],
)
def test_hessian_of_one_block_is_a_part_of_the_whole(manifold, make_records, block, part):
    data = make_records(manifold, seed=5)
    footpoint, vector = off_the_minimum(manifold, data, 5)
    arguments = (manifold, footpoint, vector, data.covariates, data.points)
    whole = hessian(*arguments)
    half = slice(
        None if part.start is None else manifold.dim, None if part.stop is None else manifold.dim
    )
    found = hessian(*arguments, blocks=(block,))
    assert np.max(np.abs(found - whole[half, half])) <= 1e-9 * np.max(np.abs(whole))


BATCHES = {
    "one data set, one geodesic": ((), ()),
    "one data set, footpoints and chains": ((), (4, 5)),
    "data sets, one geodesic each": ((3,), ()),
    "data sets, footpoints and chains": ((3,), (4, 5)),
}


@pytest.mark.parametrize("chunk", [1, 7, 40])
@pytest.mark.parametrize(("data_shape", "chains"), BATCHES.values(), ids=BATCHES.keys())
def test_chunks_change_nothing(manifold, make_records, monkeypatch, data_shape, chains, chunk):
    # 11 records leave a remainder whatever the chunk.
    data = make_records(manifold, seed=6, number=11, data_shape=data_shape)
    rng = np.random.default_rng(6)
    near = data.footpoint.reshape(data_shape + (1,) * len(chains) + manifold.point_shape)
    near = np.broadcast_to(near, data_shape + chains + manifold.point_shape)
    footpoint = manifold.exp(near, 0.1 * manifold.random_tangent(rng, near))
    vector = 0.3 * manifold.random_tangent(rng, footpoint)
    arguments = (manifold, footpoint, vector, data.covariates, data.points)
    whole = energy_gradient(*arguments)
    monkeypatch.setattr(regression, "CHUNK", chunk)
    parts = energy_gradient(*arguments)
    assert whole.energy.shape == parts.energy.shape == data_shape + chains
    assert np.allclose(parts.energy, whole.energy, rtol=1e-13, atol=0.0)
    for block in regression.BLOCKS:
        found, expected = getattr(parts, block), getattr(whole, block)
        assert found.shape == expected.shape == footpoint.shape
        assert np.max(abs(found - expected)) <= 1e-13 * np.max(abs(expected))


# Least-squares fits


def test_fit_on_flat_space_is_linear_regression(make_records):
    space = make_manifold("euclidean", 3)
    data = make_records(space, seed=7, number=30, noise=1.0)
    found = fit(space, data.covariates, data.points)
    design = np.stack([np.ones(30), data.covariates], axis=-1)
    expected, squares, *_ = np.linalg.lstsq(design, data.points, rcond=None)
    assert np.max(abs(found.footpoint - expected[0])) <= 1e-10
    assert np.max(abs(found.shooting_vector - expected[1])) <= 1e-10
    assert abs(2 * 30 * found.energy - np.sum(squares)) <= 1e-10
    residuals = np.linalg.norm(data.points - design @ expected, axis=-1)
    assert abs(found.largest_residual - np.max(residuals)) <= 1e-10


def test_fit_along_a_great_circle_is_linear_regression_of_the_angle():
    # The mirror image of these data is themselves, so the fit stays in the mirror.
    rng = np.random.default_rng(8)
    covariates = rng.uniform(size=25)
    angles = 0.3 + 0.8 * covariates + 0.2 * rng.standard_normal(25)
    points = np.stack([np.cos(angles), np.sin(angles), np.zeros(25)], axis=-1)
    found = fit(Sphere(2), covariates, points)
    slope, start = np.polyfit(covariates, angles, 1)
    footpoint = [np.cos(start), np.sin(start), 0.0]
    assert np.max(abs(found.footpoint - footpoint)) <= 1e-10
    vector = [-slope * np.sin(start), slope * np.cos(start), 0.0]
    assert np.max(abs(found.shooting_vector - vector)) <= 1e-10


def test_fit_along_a_hyperbolic_line_is_linear_regression_of_rapidity():
    # As above: a line through the origin, in a plane.
    rng = np.random.default_rng(8)
    covariates = rng.uniform(size=25)
    rapidities = 0.3 + 0.8 * covariates + 0.2 * rng.standard_normal(25)
    points = np.stack([np.cosh(rapidities), np.sinh(rapidities), np.zeros(25)], axis=-1)
    found = fit(Hyperbolic(2), covariates, points)
    slope, start = np.polyfit(covariates, rapidities, 1)
    assert np.max(abs(found.footpoint - [np.cosh(start), np.sinh(start), 0.0])) <= 1e-10
    vector = [slope * np.sinh(start), slope * np.cosh(start), 0.0]
    assert np.max(abs(found.shooting_vector - vector)) <= 1e-10


def test_fit_of_matrices_of_determinant_one_is_that_on_the_hyperbolic_plane(make_records):
    """They are a plane of curvature -1/2, on which distances are the root of two times ours."""
    plane, matrices = Hyperbolic(2), SPD(2)
    data = make_records(plane, seed=10, noise=0.2)

    def image(points):
        time, first, second = np.moveaxis(points, -1, 0)
        rows = [[time + first, second], [second, time - first]]
        return np.moveaxis(np.array(rows), (0, 1), (-2, -1))

    found = fit(plane, data.covariates, data.points)
    expected = fit(matrices, data.covariates, image(data.points))
    assert abs(2.0 * found.energy / expected.energy - 1.0) <= 1e-12
    assert np.max(abs(image(found.footpoint) - expected.footpoint)) <= 1e-9
    assert np.max(abs(image(found.shooting_vector) - expected.shooting_vector)) <= 1e-9


def test_fit_of_diagonal_matrices_is_linear_regression_of_logarithms():
    rng = np.random.default_rng(9)
    covariates = rng.uniform(size=25)
    logarithms = covariates[:, None] * [1.0, -0.5, 0.2] + 0.3 * rng.standard_normal((25, 3))
    points = np.exp(logarithms)[:, None, :] * np.eye(3)
    found = fit(SPD(3), covariates, points)
    slope, start = np.polyfit(covariates, logarithms, 1)
    assert np.max(abs(found.footpoint - np.diag(np.exp(start)))) <= 1e-10
    assert np.max(abs(found.shooting_vector - np.diag(slope * np.exp(start)))) <= 1e-10


def test_fit_of_triangles_is_that_on_the_sphere_of_radius_one_half(make_records):
    triangles, sphere = KendallPlanarShapes(3), Sphere(2)
    data = make_records(triangles, seed=10, noise=0.2)
    basis = triangles.random_point(np.random.default_rng(10))

    def image(points):
        first = points @ np.conj(basis)
        second = points @ np.conj(triangles.frame(basis)[0])
        mixed = 2.0 * np.conj(first) * second
        height = abs(first) ** 2 - abs(second) ** 2
        return sphere.project(np.stack([mixed.real, mixed.imag, height], axis=-1))

    found = fit(triangles, data.covariates, data.points)
    expected = fit(sphere, data.covariates, image(data.points))
    assert abs(4.0 * found.energy / expected.energy - 1.0) <= 1e-12
    line = predict(triangles, found.footpoint, found.shooting_vector, data.covariates)
    circle = predict(sphere, expected.footpoint, expected.shooting_vector, data.covariates)
    assert np.max(sphere.dist(image(line), circle)) <= 1e-9


# From exact data to residuals as long as the geodesic: where residuals are small, energies
# differ by rounding alone long before the gradient vanishes.
@pytest.mark.parametrize("noise", [1e-9, 1e-7, 1e-5, 1e-3, 1e-2, 0.1, 0.5])
def test_fit_converges(manifold, make_records, noise):
    for seed in range(8):
        data = make_records(manifold, seed=seed, noise=noise)
        found = fit(manifold, data.covariates, data.points)
        assert found.converged
        assert found.gradient_norm <= 1e-10
        assert found.iterations <= 20
        gradient = energy_gradient(
            manifold, found.footpoint, found.shooting_vector, data.covariates, data.points
        )
        scale = np.sqrt(np.mean(manifold.dist(found.footpoint, data.points) ** 2))
        for block in regression.BLOCKS:
            # The relative scale is that of the start, which is near the fit.
            length = manifold.norm(found.footpoint, getattr(gradient, block))
            assert length <= 2e-10 * scale


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


def test_fit_is_a_minimum(manifold, make_records):
    data = make_records(manifold, seed=12, noise=0.4)
    found = fit(manifold, data.covariates, data.points)
    matrix = hessian(manifold, found.footpoint, found.shooting_vector, data.covariates, data.points)
    assert np.linalg.eigvalsh(matrix)[0] > 0.0
    energy = energy_around(manifold, found.footpoint, found.shooting_vector, data)
    rng = np.random.default_rng(12)
    places = np.broadcast_to(found.footpoint, (200, *manifold.point_shape))
    steps, turns = (manifold.random_tangent(rng, places) for _ in range(2))
    size = manifold.expand(np.geomspace(1e-4, 0.5, 200) / np.sqrt(manifold.dim))
    assert np.all(energy(size * steps, size * turns) > found.energy)


def test_fit_is_the_best_minimum_and_found_from_far_away(manifold, make_records):
    data = make_records(manifold, seed=12, noise=0.3)
    best = fit(manifold, data.covariates, data.points)
    rng = np.random.default_rng(12)
    footpoints = manifold.random_point(rng, (20,))
    vectors = manifold.random_tangent(rng, footpoints)
    vectors = vectors / manifold.expand(manifold.norm(footpoints, vectors))
    found = minimise_energy(manifold, footpoints, vectors, data.covariates, data.points)
    assert np.all(found.converged)
    assert found.iterations <= 50
    curvatures = np.linalg.eigvalsh(
        hessian(manifold, found.footpoint, found.shooting_vector, data.covariates, data.points)
    )
    assert np.min(curvatures) > 0.0
    assert np.min(found.energy) >= best.energy * (1.0 - 1e-12)
    # Positive curvature allows other minima, such as a geodesic the long way round.
    same = found.energy <= best.energy * (1.0 + 1e-9)
    assert np.mean(same) >= 0.9


def test_fit_recovers_an_exact_geodesic(manifold, make_records):
    for seed in range(5):
        data = make_records(manifold, seed=seed, speed=0.8, noise=0.0)
        found = fit(manifold, data.covariates, data.points)
        assert found.converged
        assert manifold.dist(found.footpoint, data.footpoint) <= 1e-9
        ends = [
            predict(manifold, line.footpoint, line.shooting_vector, np.linspace(-0.5, 1.5, 5))
            for line in (found, data)
        ]
        assert np.max(manifold.dist(*ends)) <= 1e-9
        # On unit vectors a distance is an arc cosine, good to the root of the rounding, which
        # on the hyperboloid is that of coordinates above one.
        size = np.max(data.points[:, 0]) if isinstance(manifold, Hyperbolic) else 1.0
        assert found.largest_residual <= 3e-8 * size


def test_fit_follows_a_change_of_the_covariate(manifold, make_records):
    data = make_records(manifold, seed=13, noise=0.2)
    found = fit(manifold, data.covariates, data.points)
    moved = fit(manifold, 3.0 - 2.0 * data.covariates, data.points)
    assert abs(moved.energy / found.energy - 1.0) <= 1e-12
    line = predict(manifold, found.footpoint, found.shooting_vector, data.covariates)
    other = predict(manifold, moved.footpoint, moved.shooting_vector, 3.0 - 2.0 * data.covariates)
    assert np.max(manifold.dist(line, other)) <= 1e-9


def test_batch_of_fits_equals_single_fits(manifold, make_records):
    parts = [make_records(manifold, seed=14, noise=noise) for noise in (1e-3, 0.1, 0.3, 0.5)]
    batch = fit(
        manifold,
        np.stack([data.covariates for data in parts]).reshape(2, 2, -1),
        np.stack([data.points for data in parts]).reshape(2, 2, -1, *manifold.point_shape),
    )
    assert batch.energy.shape == batch.converged.shape == (2, 2)
    for index, data in zip(np.ndindex(2, 2), parts, strict=True):
        single = fit(manifold, data.covariates, data.points)
        assert batch.converged[index]
        assert manifold.dist(batch.footpoint[index], single.footpoint) <= 1e-9
        difference = batch.shooting_vector[index] - single.shooting_vector
        assert manifold.norm(single.footpoint, difference) <= 1e-9
        assert abs(batch.energy[index] / single.energy - 1.0) <= 1e-9
        assert abs(batch.largest_residual[index] / single.largest_residual - 1.0) <= 1e-7


def test_fit_says_when_it_has_not_converged(manifold, make_records):
    data = make_records(manifold, seed=15, noise=0.5)
    found = fit(manifold, data.covariates, data.points, max_iterations=1)
    # The start is the solution in flat space, and there alone.
    flat = manifold.curvature_bounds == (0.0, 0.0)
    assert found.converged == flat
    assert (found.gradient_norm <= 1e-10) == flat
    assert found.iterations == (0 if flat else 1)


def test_fit_reports_convergence_for_each_data_set(make_records):
    sphere = Sphere(2)
    parts = [make_records(sphere, seed=16, noise=noise) for noise in (0.0, 0.5)]
    covariates, points = (
        np.stack([getattr(data, name) for data in parts]) for name in ("covariates", "points")
    )
    found = fit(sphere, covariates, points, max_iterations=1)
    assert found.converged.tolist() == [True, False]


# Huber's loss


def amid_the_residuals(manifold, footpoint, vector, data):
    """A threshold as far as can be from any of the middle residuals."""
    distances = residual_distances(manifold, footpoint, vector, data.covariates, data.points)
    middle = np.sort(distances)[len(distances) // 4 : -len(distances) // 4]
    widest = np.argmax(np.diff(middle))
    return 0.5 * (middle[widest] + middle[widest + 1])


def with_outliers(manifold, data, seed, share=0.1):
    """The same records, some of them anywhere, or all in one other place."""
    rng = np.random.default_rng(seed)
    number = round(share * len(data.covariates))
    points = data.points.copy()
    points[:number] = manifold.random_point(rng, (number,) if seed % 2 else (1,))
    return points


def largest_difference(manifold, first, second):
    """Largest distance between two geodesics over covariates from 0 to 1."""
    lines = [
        predict(manifold, each.footpoint, each.shooting_vector, np.linspace(0.0, 1.0, 11))
        for each in (first, second)
    ]
    return np.max(manifold.dist(*lines))


@pytest.mark.parametrize("block", ["footpoint", "shooting_vector"])
def test_gradient_is_the_derivative_of_the_robust_energy(manifold, make_records, derivative, block):
    data = make_records(manifold, seed=40, speed=0.7, noise=0.3)
    footpoint, vector = off_the_minimum(manifold, data, 40)
    threshold = amid_the_residuals(manifold, footpoint, vector, data)
    energy = energy_around(manifold, footpoint, vector, data, huber=threshold)
    frame = manifold.frame(footpoint)
    zero = np.zeros_like(frame)
    moved = {
        "footpoint": lambda step: energy(step * frame, zero),
        "shooting_vector": lambda step: energy(zero, step * frame),
    }
    expected = derivative(moved[block])
    gradient = energy_gradient(
        manifold, footpoint, vector, data.covariates, data.points, [block], huber=threshold
    )
    found = manifold.coordinates(footpoint, getattr(gradient, block), frame)
    assert np.linalg.norm(found - expected) <= 2e-11 * np.linalg.norm(expected)
    squares = energy_gradient(manifold, footpoint, vector, data.covariates, data.points, ())
    assert gradient.energy < squares.energy


def test_hessian_is_the_second_derivative_of_the_robust_energy(manifold, make_records):
    data = make_records(manifold, seed=41, noise=0.3)
    footpoint, vector = off_the_minimum(manifold, data, 41)
    threshold = amid_the_residuals(manifold, footpoint, vector, data)
    matrix = hessian(manifold, footpoint, vector, data.covariates, data.points, huber=threshold)
    energy = energy_around(manifold, footpoint, vector, data, huber=threshold)
    rng = np.random.default_rng(41)
    directions = rng.standard_normal((40, 2 * manifold.dim))
    directions /= np.linalg.norm(directions, axis=-1, keepdims=True)
    frame = manifold.frame(footpoint)
    steps = manifold.vector(frame, directions[:, : manifold.dim])
    turns = manifold.vector(frame, directions[:, manifold.dim :])
    # Short enough to keep every record on its side of the threshold: rounding is what is left.
    size = 1e-3
    weights = {-2: -1.0, -1: 16.0, 0: -30.0, 1: 16.0, 2: -1.0}
    expected = sum(w * energy(k * size * steps, k * size * turns) for k, w in weights.items())
    expected = expected / (12.0 * size**2)
    found = np.einsum("ki,ij,kj->k", directions, matrix, directions)
    assert np.max(abs(found - expected)) <= 1e-8 * np.max(abs(matrix))


@pytest.mark.parametrize("threshold", [100.0, 1e300, np.inf])
def test_threshold_beyond_every_record_is_least_squares(manifold, make_records, threshold):
    data = make_records(manifold, seed=42, noise=0.3)
    expected = fit(manifold, data.covariates, data.points)
    found = fit(manifold, data.covariates, data.points, huber=threshold)
    assert found.iterations == expected.iterations
    assert abs(found.energy / expected.energy - 1.0) <= 1e-13
    assert largest_difference(manifold, found, expected) <= 1e-12
    arguments = (manifold, expected.footpoint, expected.shooting_vector)
    arguments = (*arguments, data.covariates, data.points)
    for block in regression.BLOCKS:
        first, second = (
            getattr(energy_gradient(*arguments, huber=huber), block) for huber in (None, threshold)
        )
        assert np.array_equal(first, second)


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
    for seed in range(6):
        data = make_records(manifold, seed=44 + seed, number=60, noise=0.1)
        points = with_outliers(manifold, data, seed)
        found = fit(manifold, data.covariates, points, huber=0.15)
        assert found.converged
        assert found.iterations <= 15
        clean = fit(manifold, data.covariates[6:], data.points[6:])
        # Six records that pull as hard as 0.15 against 54 that give way to them.
        assert largest_difference(manifold, found, clean) <= 0.1
        # No other minimum is found from the truth.
        other = minimise_energy(
            manifold, data.footpoint, data.shooting_vector, data.covariates, points, huber=0.15
        )
        assert found.energy <= other.energy * (1.0 + 1e-9)


def test_robust_fits_of_a_batch_equal_single_ones(manifold, make_records):
    data = make_records(manifold, seed=45, noise=0.3, data_shape=(3,))
    found = fit(manifold, data.covariates, data.points, huber=0.2)
    assert np.all(found.converged)
    for index in range(3):
        single = fit(manifold, data.covariates[index], data.points[index], huber=0.2)
        assert manifold.dist(found.footpoint[index], single.footpoint) <= 1e-9
        assert abs(found.energy[index] / single.energy - 1.0) <= 1e-9


def rats():
    """Log ages scaled to [0, 1] and landmarks of the table kept with the project."""
    table = Path(__file__).parents[2] / "resources" / "vilmann_rats.csv"
    values = np.loadtxt(table, delimiter=",", skiprows=1)
    ages = np.log(values[:, 1])
    return (ages - np.min(ages)) / np.ptp(ages), values[:, 2::2] + 1j * values[:, 3::2]


# One record; three with the code in one place, which pull together; a tenth of all, anywhere.
@pytest.mark.parametrize(
    ("rows", "same_landmark", "least_squares_moves", "robust_moves"),
    [([41], True, 0.023, 0.0013), ([41, 90, 130], True, 0.057, 0.003), (None, False, 0.07, 0.006)],
    ids=["one", "three", "a tenth"],
)
def test_missing_codes_taken_for_landmarks_hardly_move_the_robust_fit(
    rows, same_landmark, least_squares_moves, robust_moves
):
    space = KendallPlanarShapes(8)
    ages, landmarks = rats()
    rows = range(3, 143, 10) if rows is None else rows
    wrong = landmarks.copy()
    for index, row in enumerate(rows):
        wrong[row, 0 if same_landmark else index % 8] = 9999.0 + 9999.0j
    clean, wrong = space.project(landmarks), space.project(wrong)
    best = fit(space, ages, clean)
    distances = residual_distances(space, best.footpoint, best.shooting_vector, ages, clean)
    threshold = 1.5 * np.median(distances)
    dragged = minimise_energy(space, *regression.starting_geodesic(space, ages, wrong), ages, wrong)
    robust = fit(space, ages, wrong, huber=threshold)
    assert robust.converged
    assert robust.largest_residual > 1.0
    # The geodesic is 0.21 long and the usual residual is 0.03.
    assert largest_difference(space, best, dragged) >= least_squares_moves
    assert largest_difference(space, best, robust) <= robust_moves


@pytest.mark.parametrize("name", ["sphere", "kendall"])
def test_outlier_near_the_cut_locus_is_refused_unless_its_pull_is_bounded(make_records, name):
    space = make_manifold(name, 8)
    data = make_records(space, seed=46, number=60, noise=0.02)
    clean = fit(space, data.covariates, data.points)
    if name == "sphere":
        data.points[41] = space.project(-data.points[41] + 0.05)
    else:
        data.points[41] = space.project(space.frame(data.points[41])[0] + 0.02 * data.points[41])
    arguments = (space, data.covariates, data.points)
    robust = fit(*arguments, huber=0.04)
    assert robust.converged
    assert robust.largest_residual > regression.CUT_LOCUS_FRACTION * space.injectivity_radius
    assert largest_difference(space, clean, robust) <= 0.01
    # Nearly the whole of its pull is left.
    with pytest.raises(FitError, match=r"^record 42: it lies"):
        fit(*arguments, huber=0.95 * space.injectivity_radius)


@pytest.mark.parametrize("threshold", [0.0, -1.0, np.nan])
def test_threshold_that_is_not_positive_is_refused(make_records, threshold):
    data = make_records(Sphere(2), seed=47)
    with pytest.raises(FitError, match="threshold of Huber's loss is") as error:
        fit(Sphere(2), data.covariates, data.points, huber=threshold)
    assert_one_sentence(error)


# Data that cannot be fitted


def assert_one_sentence(error):
    message = str(error.value)
    assert "\n" not in message
    assert ". " not in message
    assert len(message) < 200


@pytest.mark.parametrize("number", [1, 2])
def test_too_few_records_are_refused(manifold, make_records, number):
    data = make_records(manifold, seed=17, number=number)
    with pytest.raises(FitError, match=f"at least 3 records and there are {number}") as error:
        fit(manifold, data.covariates, data.points)
    assert_one_sentence(error)


def test_constant_covariate_is_refused(manifold, make_records):
    data = make_records(manifold, seed=18, data_shape=(2,))
    data.covariates[1] = 0.3
    with pytest.raises(FitError, match="covariate is the same for all records") as error:
        fit(manifold, data.covariates, data.points)
    assert_one_sentence(error)


@pytest.mark.parametrize("dimension", [2, 4])
def test_record_near_the_antipode_of_its_prediction_is_refused(make_records, dimension):
    sphere = Sphere(dimension)
    data = make_records(sphere, seed=19, number=60, noise=0.02)
    data.points[41] = sphere.project(-data.points[41] + 0.05)
    with pytest.raises(FitError, match=r"^record 42: it lies .* cut locus at 3\.142") as error:
        fit(sphere, data.covariates, data.points)
    assert_one_sentence(error)


@pytest.mark.parametrize("landmarks", [3, 4, 8])
def test_shape_nearly_orthogonal_to_its_prediction_is_refused(make_records, landmarks):
    space = KendallPlanarShapes(landmarks)
    data = make_records(space, seed=20, number=60, noise=0.02)
    frame = space.frame(data.points[41])
    data.points[41] = space.project(frame[0] + 0.02 * data.points[41])
    with pytest.raises(FitError, match=r"^record 42: it lies .* cut locus at 1\.571") as error:
        fit(space, data.covariates, data.points)
    assert_one_sentence(error)


def test_cost_grows_in_proportion_to_the_number_of_records(make_records):
    sphere = Sphere(2)
    truth = make_records(sphere, seed=21, number=3)
    peaks = []
    for number in (50_000, 200_000):
        data = make_records(
            sphere,
            seed=21,
            number=number,
            noise=0.2,
            truth=(truth.footpoint, truth.shooting_vector),
        )
        size = data.covariates.nbytes + data.points.nbytes
        tracemalloc.start()
        found = fit(sphere, data.covariates, data.points)
        peaks.append(tracemalloc.get_traced_memory()[1] / size)
        tracemalloc.stop()
        assert found.converged
        # The standard error of the footpoint is about 2 * 0.2 / sqrt(2 n).
        assert sphere.dist(found.footpoint, truth.footpoint) <= 5 * 0.4 / np.sqrt(2 * number)
    # The arrays over records are a few, and chunks make those of the gradient small.
    assert max(peaks) <= 6.0
    assert peaks[1] <= 1.1 * peaks[0]


# Invariance under the isometries of each space


def isometries():
    """By name: the space, and a map of points and a map of tangent vectors."""
    rng = np.random.default_rng(31)
    rotation, _ = np.linalg.qr(rng.standard_normal((3, 3)))
    rotation4, _ = np.linalg.qr(rng.standard_normal((5, 5)))
    shift = np.array([3.0, -2.0, 0.5])
    boost, turn = np.eye(5), np.eye(5)
    boost[:2, :2] = [[np.cosh(1.2), np.sinh(1.2)], [np.sinh(1.2), np.cosh(1.2)]]
    turn[1:, 1:], _ = np.linalg.qr(np.random.default_rng(32).standard_normal((4, 4)))
    mix2 = np.array([[1.5, 0.4], [-0.7, 0.8]])
    mix3 = np.array([[1.2, 0.3, -0.5], [0.1, 0.7, 0.4], [0.6, -0.2, 1.1]])
    phase = np.exp(2.1j)
    order = rng.permutation(8)
    eight = KendallPlanarShapes(8)

    def congruence(mix):
        return lambda points: mix @ points @ mix.T

    def similarity(landmarks):
        return eight.project(7.0 * phase * landmarks + (4.0 - 3.0j))

    return {
        "translation of R3": (make_manifold("euclidean", 3), lambda y: y + shift, lambda v: v),
        "rotation of R3": (make_manifold("euclidean", 3), *[lambda y: y @ rotation.T] * 2),
        "rotation of S2": (Sphere(2), *[lambda y: y @ rotation.T] * 2),
        "rotation of S4": (Sphere(4), *[lambda y: y @ rotation4.T] * 2),
        "boost of H2": (Hyperbolic(2), *[lambda y: y @ boost[:3, :3].T] * 2),
        "boost and rotation of H4": (
            Hyperbolic(4),
            *[lambda y: y @ turn.T @ boost.T] * 2,
        ),
        "congruence of SPD2": (SPD(2), *[congruence(mix2)] * 2),
        "congruence of SPD3": (SPD(3), *[congruence(mix3)] * 2),
        "similarity of landmarks": (eight, similarity, lambda v: phase * v),
        "reflection of landmarks": (eight, np.conj, np.conj),
        "new order of landmarks": (eight, *[lambda y: y[..., order]] * 2),
    }


ISOMETRIES = isometries()


def published_mechanism(manifold, covariates, points):
    found = fit(manifold, covariates, points)
    sensitivity = published_sensitivity(
        manifold, found.largest_residual, covariates.shape[-1], radius_of_data(manifold)
    )
    return AsPublished(
        manifold, covariates, points, found, sensitivity, configured_support(manifold, sensitivity)
    )


def states_around(mechanism, seed):
    """Footpoints and shooting vectors from next to the fit to far from it."""
    manifold, found = mechanism.manifold, mechanism.fit
    rng = np.random.default_rng(seed)
    places = np.broadcast_to(found.footpoint, (12, *manifold.point_shape))
    steps = manifold.random_tangent(rng, places)
    lengths = np.geomspace(1e-3, 1.0, 12) / manifold.norm(places, steps)
    footpoints = manifold.exp(places, manifold.expand(lengths) * steps)
    vectors = 0.3 * manifold.random_tangent(rng, footpoints)
    return SimpleNamespace(footpoints=footpoints, vectors=vectors)


def assert_equal_mechanisms(first, second, move_points, move_vectors):
    """Fit, sensitivity, gradients and densities correspond, to 1e-9."""
    manifold = first.manifold
    assert manifold.dist(move_points(first.fit.footpoint), second.fit.footpoint) <= 1e-9
    line = [
        predict(manifold, each.fit.footpoint, each.fit.shooting_vector, np.linspace(-1.0, 2.0, 7))
        for each in (first, second)
    ]
    assert np.max(manifold.dist(move_points(line[0]), line[1])) <= 1e-9
    for name in ("energy", "largest_residual"):
        assert getattr(second.fit, name) == pytest.approx(getattr(first.fit, name), rel=1e-9)
    assert first.fit.gradient_norm <= 1e-10
    assert second.fit.gradient_norm <= 1e-10
    for name in ("footpoint", "shooting_vector", "tau"):
        found, expected = (getattr(each.sensitivity, name) for each in (second, first))
        assert found == pytest.approx(expected, rel=1e-9)

    states = states_around(first, 32)
    moved = SimpleNamespace(
        footpoints=move_points(states.footpoints), vectors=move_vectors(states.vectors)
    )
    for block in regression.BLOCKS:
        lengths = []
        for each, at in ((first, states), (second, moved)):
            found = energy_gradient(
                manifold, at.footpoints, at.vectors, each.covariates, each.points
            )
            lengths.append(manifold.norm(at.footpoints, getattr(found, block)))
        assert np.allclose(*lengths, rtol=1e-9, atol=1e-12)

    # A budget at which the law has a finite integral on every space.
    densities = [
        each.footpoint_target(20.0).log_density(at.footpoints)
        for each, at in ((first, states), (second, moved))
    ]
    assert np.all(densities[0] < 0.0)
    assert np.allclose(*densities, rtol=1e-9, atol=0.0)


@pytest.mark.parametrize("name", ISOMETRIES)
@pytest.mark.parametrize("noise", [0.05, 0.4])
def test_isometries_move_the_fit_and_nothing_else(make_records, name, noise):
    manifold, move_points, move_vectors = ISOMETRIES[name]
    data = make_records(manifold, seed=33, noise=noise)
    first = published_mechanism(manifold, data.covariates, data.points)
    second = published_mechanism(manifold, data.covariates, move_points(data.points))
    assert_equal_mechanisms(first, second, move_points, move_vectors)


@pytest.mark.parametrize("landmarks", [3, 4, 8, 50])
@pytest.mark.parametrize(
    "rows",
    [slice(0, 1), slice(10, 11), slice(None)],
    ids=["the first", "one in the middle", "each its own"],
)
def test_any_similarity_of_single_records_changes_nothing(make_records, landmarks, rows):
    manifold = KendallPlanarShapes(landmarks)
    data = make_records(manifold, seed=34, noise=0.2)
    rng = np.random.default_rng(34)
    count = len(data.points[rows])
    turns = np.exp(2j * np.pi * rng.uniform(size=(count, 1)))
    sizes = rng.uniform(0.5, 200.0, size=(count, 1))
    shifts = rng.standard_normal((count, 1)) + 1j * rng.standard_normal((count, 1))
    points = data.points.copy()
    points[rows] = manifold.project(sizes * turns * points[rows] + shifts)
    first = published_mechanism(manifold, data.covariates, data.points)
    second = published_mechanism(manifold, data.covariates, points)
    assert_equal_mechanisms(first, second, lambda y: y, lambda v: v)
