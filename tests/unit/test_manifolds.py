"""Every space against identities, numerical derivatives, many digits and geomstats."""

from types import SimpleNamespace

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.linalg import helmert

from geodp.errors import DataError
from geodp.manifolds.base import BLOCKS
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import (
    ComplexProjectiveSpace,
    KendallPlanarShapes,
    NoReducedShapeError,
    ReducedPlanarShapes,
)
from geodp.manifolds.landmark_maps import LandmarkMap, fourier_harmonics
from geodp.manifolds.registry import make_manifold, parse_point
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.manifolds.symmetric import (
    SymmetricResiduals,
    SymmetricSpace,
    jacobi_cosine,
    jacobi_sine,
)

EPSILON = np.finfo(float).eps

seeds = st.integers(0, 2**32 - 1)

# How far points lie apart, as a fraction of the reach of the space.  At 0.9 of the injectivity
# radius a logarithm magnifies rounding about tenfold; at 1 it is not continuous.
fractions = st.floats(0.0, 0.9)


def reach(manifold):
    """The injectivity radius; without one, a length at which points stay well scaled."""
    return manifold.injectivity_radius if np.isfinite(manifold.injectivity_radius) else 3.0


def unit_tangent(manifold, rng, point):
    vector = manifold.random_tangent(rng, point)
    return vector / manifold.expand(manifold.norm(point, vector))


def scene(manifold, seed, fraction):
    """A point, a velocity of the given length, where it leads, and two unit tangents."""
    rng = np.random.default_rng(seed)
    point = manifold.random_point(rng)
    velocity = fraction * reach(manifold) * unit_tangent(manifold, rng, point)
    return SimpleNamespace(
        rng=rng,
        point=point,
        velocity=velocity,
        end=manifold.exp(point, velocity),
        first=unit_tangent(manifold, rng, point),
        second=unit_tangent(manifold, rng, point),
    )


def rounding(manifold, *points):
    """Rounding to allow: 100 units in the last place.

    Matrices are whitened by the points, which multiplies it by their condition numbers; and a
    unit vector of hyperbolic space has coordinates as large as its point's.
    """
    if isinstance(manifold, Hyperbolic):
        return 100 * EPSILON * np.prod([point[0] for point in points])
    if isinstance(manifold, SPD):
        return 100 * EPSILON * np.prod([np.linalg.cond(point) for point in points])
    return 100 * EPSILON


def largest(array):
    return np.max(np.abs(array))


# Identities of exp, log, dist


@given(seed=seeds, fraction=fractions)
def test_log_undoes_exp(manifold, seed, fraction):
    at = scene(manifold, seed, fraction)
    error = manifold.norm(at.point, manifold.log(at.point, at.end) - at.velocity)
    assert error <= rounding(manifold, at.point, at.end)


@given(seed=seeds)
def test_exp_undoes_log(manifold, seed):
    rng = np.random.default_rng(seed)
    point, other = manifold.random_point(rng, (2,))
    end = manifold.exp(point, manifold.log(point, other))
    assert manifold.dist(end, other) <= rounding(manifold, point, other)


@given(seed=seeds, fraction=fractions)
def test_dist_is_the_length_of_the_geodesic(manifold, seed, fraction):
    at = scene(manifold, seed, fraction)
    error = manifold.dist(at.point, at.end) - fraction * reach(manifold)
    assert abs(error) <= rounding(manifold, at.point, at.end)


@given(seed=seeds)
def test_dist_is_symmetric(manifold, seed):
    point, other = manifold.random_point(np.random.default_rng(seed), (2,))
    there, back = manifold.dist(point, other), manifold.dist(other, point)
    assert there > 0.0
    assert abs(there - back) <= rounding(manifold, point, other) * max(1.0, there)


@given(seed=seeds)
def test_dist_obeys_the_triangle_inequality(manifold, seed):
    first, second, third = manifold.random_point(np.random.default_rng(seed), (3,))
    detour = manifold.dist(first, second) + manifold.dist(second, third)
    direct = manifold.dist(first, third)
    assert direct <= detour + rounding(manifold, first, third) * max(1.0, direct)


@given(seed=seeds, fraction=fractions, share=st.floats(0.0, 1.0))
def test_geodesic_continues_from_any_of_its_points(manifold, seed, fraction, share):
    at = scene(manifold, seed, fraction)
    halfway = manifold.exp(at.point, share * at.velocity)
    velocity = manifold.transport(at.point, share * at.velocity, at.velocity)
    end = manifold.exp(halfway, (1.0 - share) * velocity)
    assert manifold.dist(end, at.end) <= rounding(manifold, at.point, at.end)


@pytest.mark.parametrize(("name", "size"), [("sphere", 2), ("sphere", 4), ("kendall", 8)])
def test_long_walks_stay_in_the_space(name, size):
    manifold = make_manifold(name, size)
    rng = np.random.default_rng(29)
    point = manifold.random_point(rng, (50,))
    for _ in range(4000):
        point = manifold.exp(point, 0.01 * manifold.random_tangent(rng, point))
    assert all(manifold.invalid_reason(each) is None for each in point)
    # Rounding must not add up: after so many steps it would be some 60 units.
    assert largest(np.linalg.norm(point, axis=-1) - 1.0) <= 4 * EPSILON


@pytest.mark.parametrize("distance", [1e-12, 1e-9, 1e-6, 1e-3])
@given(seed=seeds)
def test_small_distances_keep_their_digits(manifold, distance, seed):
    at = scene(manifold, seed, distance / reach(manifold))
    exact = exact_dist(manifold, at.point, at.end)
    error = abs(mpmath.mpf(float(manifold.dist(at.point, at.end))) / exact - 1)
    # One condition number: that of the whitening.  The end is that of these doubles, not of
    # the velocity, whose digits a point of size one cannot hold.
    assert error <= rounding(manifold, at.point) / 10


@pytest.mark.parametrize("length", [10.0, 30.0, 40.0])
@pytest.mark.parametrize("size", [1, 2])
def test_distances_of_matrices_are_those_of_their_logarithms_however_small(size, length):
    """Proposals of a wide law lead so far, and must not be misplaced there."""
    space = SPD(size)
    small = np.diag(np.exp([-length, 0.0][:size]))
    assert space.dist(np.eye(size), small) == pytest.approx(length, rel=1e-6)


def exact_dist(manifold, point, other):
    """Distance of the very doubles, with 50 digits."""
    with mpmath.workdps(50):
        if isinstance(manifold, SPD):
            inverse = mpmath.inverse(mpmath.cholesky(mpmath.matrix(point.tolist())))
            values = mpmath.eigsy(
                inverse * mpmath.matrix(other.tolist()) * inverse.T, eigvals_only=True
            )
            return mpmath.sqrt(sum(mpmath.log(value) ** 2 for value in values))
        if isinstance(manifold, Hyperbolic):
            places = [mpmath.matrix(each[1:].tolist()) for each in (point, other)]
            times = [mpmath.sqrt(1 + mpmath.fdot(place, place)) for place in places]
            return mpmath.acosh(times[0] * times[1] - mpmath.fdot(*places))
        first = [mpmath.mpmathify(complex(entry)) for entry in point]
        second = [mpmath.mpmathify(complex(entry)) for entry in other]
        if not isinstance(manifold, Sphere | ComplexProjectiveSpace):
            return mpmath.norm([b - a for a, b in zip(first, second, strict=True)])
        first_norm, second_norm = mpmath.norm(first), mpmath.norm(second)
        overlap = sum(mpmath.conj(a) * b for a, b in zip(first, second, strict=True))
        overlap /= first_norm * second_norm
        across = mpmath.norm(
            [b / second_norm - overlap * a / first_norm for a, b in zip(first, second, strict=True)]
        )
        along = abs(overlap) if isinstance(manifold, ComplexProjectiveSpace) else overlap.real
        return mpmath.atan2(across, along)


@given(seed=seeds)
def test_random_distances_against_many_digits(manifold, seed):
    point, other = manifold.random_point(np.random.default_rng(seed), (2,))
    exact = float(exact_dist(manifold, point, other))
    error = abs(manifold.dist(point, other) - exact)
    assert error <= rounding(manifold, point, other) * max(1.0, exact)


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_antipode_is_half_a_turn_away(dimension):
    sphere = Sphere(dimension)
    point = sphere.random_point(np.random.default_rng(3), (5,))
    # With exact zeros the antipode leaves no direction at all, not even one of rounding.
    point[0] = np.eye(dimension + 1)[0]
    assert np.allclose(sphere.dist(point, -point), np.pi, rtol=4 * EPSILON)
    assert largest(sphere.exp(point, sphere.log(point, -point)) + point) <= 4 * EPSILON
    assert np.sum(point[0] * sphere.log(point, -point)[0]) == 0.0


def test_orthogonal_shapes_are_a_quarter_turn_apart():
    space = KendallPlanarShapes(5)
    point = space.random_point(np.random.default_rng(3))
    other = space.frame(point)[0]
    assert abs(space.dist(point, other) - np.pi / 2) <= 4 * EPSILON
    assert space.dist(space.exp(point, space.log(point, other)), other) <= 4 * EPSILON


@given(seed=seeds)
def test_aligned_shape_is_the_nearest_of_its_preshapes(seed):
    space = KendallPlanarShapes(5)
    point, other = space.random_point(np.random.default_rng(seed), (2,))
    aligned = space.align(point, other)
    overlap = np.vdot(point, aligned)
    assert abs(overlap.imag) <= 10 * EPSILON
    assert overlap.real > 0.0
    assert abs(abs(np.vdot(other, aligned)) - 1.0) <= 10 * EPSILON
    # Tangents do not depend on the preshape they lead to.
    assert largest(space.log(point, aligned) - space.log(point, other)) <= 100 * EPSILON


def test_triangles_form_a_sphere_of_radius_one_half():
    triangles, sphere = KendallPlanarShapes(3), Sphere(2)
    rng = np.random.default_rng(5)
    points = triangles.random_point(rng, (2, 100))
    # Coordinates of the preshapes in an orthonormal basis of centred triangles, and Hopf's map.
    basis = triangles.random_point(rng)
    first = points @ np.conj(basis)
    second = points @ np.conj(triangles.frame(basis)[0])
    mixed = 2.0 * np.conj(first) * second
    images = np.stack([mixed.real, mixed.imag, abs(first) ** 2 - abs(second) ** 2], axis=-1)
    error = triangles.dist(*points) - 0.5 * sphere.dist(*images)
    assert largest(error) <= 100 * EPSILON


# Hyperbolic space


@given(seed=seeds, dimension=st.sampled_from([1, 2, 4]), log_scale=st.floats(-20.0, 2.7))
def test_long_and_short_hyperbolic_distances_against_many_digits(seed, dimension, log_scale):
    """Of points up to 15 from the origin, however near to each other they are."""
    space = Hyperbolic(dimension)
    rng = np.random.default_rng(seed)
    point = space.random_point(rng, radius=15.0)
    other = space.exp(point, np.exp(log_scale) * unit_tangent(space, rng, point))
    exact = float(exact_dist(space, point, other))
    # The rounding of the coordinates' directions alone moves a point by its size; the end that
    # is compared with is that of the doubles, and no more than this can be lost on the way.
    assert abs(space.dist(point, other) / exact - 1.0) <= 20 * EPSILON * min(point[0], other[0])


@pytest.mark.parametrize("length", [1e-9, 1.0, 15.0, 40.0, 300.0])
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_hyperbolic_points_far_from_the_origin_are_in_place(dimension, length):
    """Proposals of a wide law lead so far, and must not be misplaced there."""
    space = Hyperbolic(dimension)
    origin = space.project(np.zeros(dimension + 1))
    vector = length * unit_tangent(space, np.random.default_rng(1), origin)
    end = space.exp(origin, vector)
    assert space.invalid_reason(end) is None
    assert space.dist(origin, end) == pytest.approx(length, rel=4 * EPSILON)
    assert space.dist(end, origin) == pytest.approx(length, rel=4 * EPSILON)
    assert largest(space.log(origin, end) - vector) <= 8 * EPSILON * length


@given(seed=seeds)
def test_hyperbolic_line_is_the_line(seed):
    """In one dimension arcsinh is an isometry, exact to rounding however far away."""
    space, line = Hyperbolic(1), make_manifold("euclidean", 1)
    rng = np.random.default_rng(seed)
    first, second, step = rng.uniform(-15.0, 15.0, (3, 1))
    point, other = (space.project(np.sinh(np.append(0.0, each))) for each in (first, second))
    allowed = 100 * EPSILON * 15.0
    assert abs(space.dist(point, other) - line.dist(first, second)) <= allowed
    frame = space.frame(point)
    assert largest(space.coordinates(point, space.log(point, other)) - (second - first)) <= allowed
    end = space.exp(point, space.vector(frame, step))
    assert abs(np.arcsinh(end[1]) - line.exp(first, step)[0]) <= allowed
    carried = space.transport(point, space.vector(frame, second - first), frame[0])
    error = space.norm(other, carried - space.frame(other)[0])
    assert error <= allowed * max(1.0, point[0] / other[0])


@given(seed=seeds, spread=st.floats(0.0, 4.0))
def test_horocycles_have_their_chords(seed, spread):
    """Points ``s`` apart along a horocycle are ``2 arcsinh(s / 2)`` apart."""
    # With a light-like vector n the horocycle through the origin is u + s e + s^2 / 2 n.
    first, second = np.random.default_rng(seed).uniform(-spread, spread, 2)
    points = [
        np.array([1.0 + 0.5 * s**2, 0.5 * s**2, s])  # n = (1, 1, 0), e = (0, 0, 1)
        for s in (first, second)
    ]
    space = Hyperbolic(2)
    assert all(space.invalid_reason(point) is None for point in points)
    expected = 2.0 * np.arcsinh(0.5 * abs(first - second))
    allowed = 100 * EPSILON * points[0][0] * points[1][0]
    assert abs(space.dist(*points) - expected) <= allowed


@given(seed=seeds, radius=st.floats(0.01, 3.0))
def test_transport_around_a_hyperbolic_triangle_turns_by_its_area(seed, radius):
    """Gauss and Bonnet: by pi less the angles, against the sense of the walk."""
    space = Hyperbolic(2)
    corners = space.random_point(np.random.default_rng(seed), (3,), radius=radius)
    first, second, third = corners

    def angle(corner, one, other):
        frame = space.frame(corner)
        turns = [
            np.arctan2(*space.coordinates(corner, space.log(corner, end), frame)[::-1])
            for end in (one, other)
        ]
        return (turns[1] - turns[0] + np.pi) % (2.0 * np.pi) - np.pi

    angles = [angle(first, second, third), angle(second, third, first), angle(third, first, second)]
    defect = np.sign(angles[0]) * (np.pi - abs(sum(angles)))
    frame = space.frame(first)
    carried = frame[0]
    for start, end in zip(corners, np.roll(corners, -1, axis=0), strict=True):
        carried = space.transport_to(start, end, carried)
    turned = np.arctan2(*space.coordinates(first, carried, frame)[::-1])
    # An angle between short sides has the rounding of the points over their lengths.
    sides = space.dist(corners, np.roll(corners, -1, axis=0))
    assert abs(turned + defect) <= rounding(space, *corners) / min(1.0, np.min(sides))


@given(seed=seeds)
def test_rotations_of_minkowski_space_are_isometries(seed):
    space = Hyperbolic(3)
    rng = np.random.default_rng(seed)
    point, other = space.random_point(rng, (2,))
    vector = unit_tangent(space, rng, point)
    boost = hyperbolic_rotation(rng, 3)
    moved = [space.project(each @ boost.T) for each in (point, other)]
    allowed = 100 * EPSILON * boost[0, 0] ** 2 * point[0] * other[0]
    assert abs(space.dist(*moved) - space.dist(point, other)) <= allowed
    error = space.log(*moved) - space.log(point, other) @ boost.T
    assert largest(error) <= allowed
    carried = space.transport_to(*moved, vector @ boost.T)
    assert largest(carried - space.transport_to(point, other, vector) @ boost.T) <= allowed


def hyperbolic_rotation(rng, dimension):
    """A random isometry: a rotation, and a boost along the first direction."""
    matrix, boost = np.eye(dimension + 1), np.eye(dimension + 1)
    matrix[1:, 1:] = np.linalg.qr(rng.standard_normal((dimension, dimension)))[0]
    rapidity = rng.uniform(-1.0, 1.0)
    boost[:2, :2] = [
        [np.cosh(rapidity), np.sinh(rapidity)],
        [np.sinh(rapidity), np.cosh(rapidity)],
    ]
    return boost @ matrix


@pytest.mark.parametrize("away", [0.0, 1.0, 2.0, 3.0, 6.0, 10.0])
@pytest.mark.parametrize("dimension", [2, 4])
def test_hyperbolic_residuals_far_from_the_origin_keep_their_digits(make_records, dimension, away):
    """A public change of origin changes nothing; products of far points would."""
    space = Hyperbolic(dimension)
    data = make_records(space, seed=3, number=7, noise=0.1)
    boost = np.eye(dimension + 1)
    boost[:2, :2] = [[np.cosh(away), np.sinh(away)], [np.sinh(away), np.cosh(away)]]
    footpoint, points = (space.project(each @ boost.T) for each in (data.footpoint, data.points))
    vector = data.shooting_vector @ boost.T
    near = space.pulled_back_residuals(
        data.footpoint, data.shooting_vector, data.covariates, data.points
    )
    far = space.pulled_back_residuals(footpoint, vector, data.covariates, points)
    # Moved places are rounded by as much as they are long.
    allowed = 200 * EPSILON * np.cosh(away)
    assert largest(far.squared_distances - near.squared_distances) <= allowed
    assert largest(far.frequencies - near.frequencies) <= allowed
    weights = [1.0, 2.0]
    lengths = [
        space.norm(footpoint, far.combine(weights)),
        space.norm(data.footpoint, near.combine(weights)),
    ]
    assert abs(lengths[0] - lengths[1]) <= 7 * allowed


# Shapes reduced by a landmark map


def random_map(rows, landmarks, seed=31):
    """A map without structure: neither orthonormal rows nor rows that sum to zero."""
    real, imaginary = np.random.default_rng(seed).standard_normal((2, rows, landmarks))
    return LandmarkMap(real + 1j * imaginary, "a random map")


def random_landmarks(rng, shape):
    real, imaginary = rng.standard_normal((2, *shape))
    return real + 1j * imaginary


MAPS = {"harmonics": fourier_harmonics(12, 2), "random": random_map(4, 12)}


@pytest.fixture(scope="module", params=MAPS.values(), ids=MAPS.keys())
def reduced(request):
    return ReducedPlanarShapes(request.param)


def test_projective_space_of_shapes_is_that_of_centred_coordinates():
    shapes, space = KendallPlanarShapes(6), ComplexProjectiveSpace(5)
    assert (shapes.dim, shapes.multiplicities) == (space.dim, space.multiplicities)
    points = shapes.random_point(np.random.default_rng(5), (2, 20))
    # Coordinates in an orthonormal basis of the centred configurations.
    basis = np.linalg.svd(np.eye(6) - 1.0 / 6.0)[2][:5]
    coordinates = points @ basis.T
    assert largest(shapes.dist(*points) - space.dist(*coordinates)) <= 100 * EPSILON


def test_landmarks_of_all_shapes_are_their_points():
    space = KendallPlanarShapes(7)
    landmarks = random_landmarks(np.random.default_rng(5), (3, 7))
    points = space.from_landmarks(landmarks)
    assert np.array_equal(points, space.project(landmarks))
    assert np.array_equal(space.to_landmarks(points), points)


def test_reduced_point_is_the_image_of_the_centred_configuration():
    space = ReducedPlanarShapes(MAPS["random"])
    landmarks = random_landmarks(np.random.default_rng(5), (3, 12)) + 10.0
    image = np.array([MAPS["random"].matrix @ (one - np.mean(one)) for one in landmarks])
    expected = image / np.linalg.norm(image, axis=-1)[:, None]
    assert largest(space.from_landmarks(landmarks) - expected) <= 100 * EPSILON
    assert space.point_shape == (4,)
    assert space.landmarks == 12
    assert space.dim == 6


@given(seed=seeds)
def test_translation_scale_and_rotation_do_not_move_reduced_points(reduced, seed):
    rng = np.random.default_rng(seed)
    landmarks = random_landmarks(rng, (12,))
    shift, turn = random_landmarks(rng, (2,))
    point = reduced.from_landmarks(landmarks)
    assert reduced.invalid_reason(point) is None
    moved = reduced.from_landmarks(shift + turn * landmarks)
    # A configuration near the kernel loses digits.
    image = np.linalg.norm(reduced.landmark_map.matrix @ (landmarks - np.mean(landmarks)))
    size = np.linalg.norm(reduced.landmark_map.matrix, 2) * np.linalg.norm(landmarks)
    allowed = 100 * EPSILON * size / image * (1.0 + abs(shift / turn))
    assert reduced.dist(point, moved) <= allowed
    # What changes a shape moves them.
    assert reduced.dist(point, reduced.from_landmarks(landmarks**2)) > 1e-3


@given(seed=seeds)
def test_reduced_points_come_back_from_their_landmarks(reduced, seed):
    points = reduced.random_point(np.random.default_rng(seed), (5,))
    landmarks = reduced.to_landmarks(points)
    assert landmarks.shape == (5, 12)
    assert largest(np.mean(landmarks, axis=-1)) <= 10 * EPSILON
    assert largest(np.linalg.norm(landmarks, axis=-1) - 1.0) <= 10 * EPSILON
    assert largest(reduced.dist(reduced.from_landmarks(landmarks), points)) <= 1000 * EPSILON


@given(seed=seeds)
def test_landmarks_of_reduced_points_hold_nothing_the_map_does_not_see(reduced, seed):
    landmarks = reduced.to_landmarks(reduced.random_point(np.random.default_rng(seed)))
    matrix = reduced.landmark_map.matrix
    unseen = np.linalg.svd(matrix - np.mean(matrix, axis=1, keepdims=True))[2][4:]
    assert unseen.shape == (8, 12)
    assert largest(unseen @ landmarks) <= 100 * EPSILON


@given(seed=seeds)
def test_harmonics_keep_the_nearest_shape_that_has_no_others(seed):
    rng = np.random.default_rng(seed)
    shapes, space = KendallPlanarShapes(12), ReducedPlanarShapes(MAPS["harmonics"])
    shape = shapes.random_point(rng)
    point = space.from_landmarks(shape)
    nearest = shapes.dist(shape, space.to_landmarks(point))
    others = space.exp(point, 0.1 * space.random_tangent(rng, np.stack([point] * 20)))
    assert np.all(shapes.dist(shape, space.to_landmarks(others)) > nearest)
    # Its cosine is the share of the configuration that is kept.
    kept = np.linalg.norm(MAPS["harmonics"].matrix @ shape)
    assert abs(np.cos(nearest) - kept) <= 100 * EPSILON


@given(seed=seeds)
def test_harmonics_keep_distances_of_shapes_that_have_no_others(seed):
    shapes, space = KendallPlanarShapes(12), ReducedPlanarShapes(MAPS["harmonics"])
    points = space.random_point(np.random.default_rng(seed), (2,))
    first, second = space.to_landmarks(points)
    assert abs(shapes.dist(first, second) - space.dist(*points)) <= 100 * EPSILON


@given(seed=seeds)
def test_all_harmonics_keep_all_distances(seed):
    shapes, space = KendallPlanarShapes(9), ReducedPlanarShapes(fourier_harmonics(9, 4))
    assert space.dim == shapes.dim
    first, second = shapes.random_point(np.random.default_rng(seed), (2,))
    reduced_distance = space.dist(space.from_landmarks(first), space.from_landmarks(second))
    assert abs(reduced_distance - shapes.dist(first, second)) <= 100 * EPSILON
    # None is lost on the way, either.
    assert shapes.dist(space.to_landmarks(space.from_landmarks(first)), first) <= 100 * EPSILON


@given(seed=seeds, steps=st.integers(1, 11))
def test_harmonics_do_not_care_where_outlines_start(seed, steps):
    space = ReducedPlanarShapes(MAPS["harmonics"])
    landmarks = random_landmarks(np.random.default_rng(seed), (2, 12))
    before = space.dist(*space.from_landmarks(landmarks))
    after = space.dist(*space.from_landmarks(np.roll(landmarks, steps, axis=-1)))
    assert abs(after - before) <= 1000 * EPSILON


def test_configuration_without_a_reduced_shape_is_named():
    space = ReducedPlanarShapes(MAPS["harmonics"])
    landmarks = random_landmarks(np.random.default_rng(5), (4, 12))
    # The third harmonic alone, which the map does not see, anywhere in the plane.
    landmarks[2] = 3.0 + 2.0 * np.exp(2j * np.pi * 3.0 * np.arange(12) / 12)
    with pytest.raises(NoReducedShapeError) as caught:
        space.from_landmarks(landmarks)
    assert caught.value.record == 2
    assert str(caught.value) == f"record 3: {caught.value.reason}"
    assert "Fourier harmonics up to 2" in caught.value.reason
    # A little of what the map sees is enough.
    landmarks[2] += 1e-9 * np.exp(2j * np.pi * np.arange(12) / 12)
    assert space.from_landmarks(landmarks).shape == (4, 4)
    with pytest.raises(NoReducedShapeError, match="record 1: "):
        space.from_landmarks(np.zeros(12, dtype=complex))


@pytest.mark.parametrize(
    ("name", "size", "message"),
    [("sphere", 20, "planar shapes only"), ("kendall", 19, "of 20 landmarks")],
)
def test_map_has_to_go_with_the_manifold(name, size, message):
    with pytest.raises(DataError, match=message):
        make_manifold(name, size, fourier_harmonics(20, 2))


def test_parsed_reduced_point():
    space = make_manifold("kendall", 20, fourier_harmonics(20, 1))
    point = parse_point(space, [3.0, 0.0, 0.0, 4.0], "footpoint")
    assert largest(point - np.array([0.6, 0.8j])) <= EPSILON
    # As many numbers as coordinates, but no pairs; and those of landmarks.
    for numbers in ([3.0, 4.0], [3.0, 0.0, 4.0], np.arange(40.0)):
        with pytest.raises(DataError, match=r"footpoint: .* as 4 numbers, real and imaginary"):
            parse_point(space, numbers, "footpoint")
    with pytest.raises(DataError, match="not a point of planar shapes of 20 landmarks, Fourier"):
        parse_point(space, [0.0] * 4, "footpoint")


def test_parsed_landmarks_are_pairs():
    point = parse_point(make_manifold("kendall", 3), [0.0, 0.0, 1.0, 0.0, 0.0, 1.0], "footpoint")
    assert point.shape == (3,)
    with pytest.raises(DataError, match=r"footpoint: .* \(x1, y1, x2"):
        parse_point(make_manifold("kendall", 3), [0.0, 1.0, 3.0], "footpoint")


# Parallel transport


@given(seed=seeds, fraction=fractions)
def test_transport_keeps_inner_products(manifold, seed, fraction):
    at = scene(manifold, seed, fraction)
    first, second = (
        manifold.transport(at.point, at.velocity, vector) for vector in (at.first, at.second)
    )
    error = manifold.inner(at.end, first, second) - manifold.inner(at.point, at.first, at.second)
    assert abs(error) <= rounding(manifold, at.point, at.end)


@given(seed=seeds, fraction=fractions)
def test_transported_vector_is_tangent(manifold, seed, fraction):
    at = scene(manifold, seed, fraction)
    carried = manifold.transport(at.point, at.velocity, at.first)
    error = manifold.norm(at.end, carried - manifold.project_tangent(at.end, carried))
    assert error <= rounding(manifold, at.point, at.end)


@given(seed=seeds, fraction=fractions)
def test_transport_there_and_back_changes_nothing(manifold, seed, fraction):
    at = scene(manifold, seed, fraction)
    carried = manifold.transport(at.point, at.velocity, at.first)
    back = manifold.transport_back(at.point, at.velocity, carried)
    assert manifold.norm(at.point, back - at.first) <= rounding(manifold, at.point, at.end)


@given(seed=seeds, fraction=fractions)
def test_transported_velocity_is_the_velocity_at_the_end(manifold, seed, fraction):
    at = scene(manifold, seed, fraction)
    carried = manifold.transport(at.point, at.velocity, at.velocity)
    error = manifold.norm(at.end, carried + manifold.log(at.end, at.point))
    assert error <= rounding(manifold, at.point, at.end)


@given(seed=seeds, fraction=st.floats(0.0, 0.7), share=st.floats(0.01, 0.25))
def test_transport_is_the_pole_ladder(manifold, seed, fraction, share):
    """In a symmetric space one rung of the ladder is exact, and made of exp and log alone."""
    at = scene(manifold, seed, fraction)
    vector = share * reach(manifold) * at.first
    middle = manifold.exp(at.point, 0.5 * at.velocity)
    tip = manifold.exp(at.point, vector)
    mirrored = manifold.exp(middle, -manifold.log(middle, tip))
    expected = -manifold.log(at.end, mirrored)
    error = manifold.norm(at.end, manifold.transport(at.point, at.velocity, vector) - expected)
    assert error <= rounding(manifold, at.point, middle, at.end)


@given(seed=seeds)
def test_transport_to_ends_at_the_point_itself(manifold, seed):
    rng = np.random.default_rng(seed)
    point, other = manifold.random_point(rng, (2,))
    vector = unit_tangent(manifold, rng, point)
    carried = manifold.transport_to(point, other, vector)
    allowed = rounding(manifold, point, other)
    # A shape's representative turns by any phase; the vector has to turn with it.
    assert manifold.norm(other, carried - manifold.project_tangent(other, carried)) <= allowed
    towards = manifold.log(point, other)
    length = manifold.norm(point, towards)
    arrived = manifold.transport_to(point, other, towards)
    error = manifold.norm(other, arrived + manifold.log(other, point))
    assert error <= allowed * near_the_cut_locus(manifold, length)


def near_the_cut_locus(manifold, length):
    """How much a logarithm magnifies rounding, at least one."""
    return 1.0 / max(1e-300, 1.0 - length / manifold.injectivity_radius)


# Frames, coordinates, projections


DIMENSIONS = {
    "Euclidean R^3": 3,
    "sphere S^2": 2,
    "sphere S^4": 4,
    "hyperbolic space H^1": 1,
    "hyperbolic space H^2": 2,
    "hyperbolic space H^4": 4,
    "SPD(2)": 3,
    "SPD(3)": 6,
    "planar shapes of 3 landmarks": 2,
    "planar shapes of 4 landmarks": 4,
    "planar shapes of 8 landmarks": 12,
    "planar shapes of 50 landmarks": 96,
    "planar shapes of 20 landmarks, Fourier harmonics up to 1": 2,
    "planar shapes of 50 landmarks, Fourier harmonics up to 4": 14,
}


@given(seed=seeds)
def test_frame_is_an_orthonormal_basis_of_the_tangent_space(manifold, seed):
    point = manifold.random_point(np.random.default_rng(seed))
    frame = manifold.frame(point)
    assert manifold.dim == DIMENSIONS[manifold.name]
    assert frame.shape == (manifold.dim, *manifold.point_shape)
    products = manifold.inner(point, frame[:, None], frame[None])
    assert largest(products - np.eye(manifold.dim)) <= rounding(manifold, point)
    assert largest(manifold.project_tangent(point, frame) - frame) <= rounding(manifold, point)


@given(seed=seeds)
def test_coordinates_and_vector_undo_each_other(manifold, seed):
    rng = np.random.default_rng(seed)
    point = manifold.random_point(rng)
    frame = manifold.frame(point)
    coordinates = rng.standard_normal(manifold.dim)
    vector = manifold.vector(frame, coordinates)
    allowed = rounding(manifold, point) * np.linalg.norm(coordinates)
    assert largest(manifold.coordinates(point, vector) - coordinates) <= allowed
    assert largest(manifold.coordinates(point, vector, frame) - coordinates) <= allowed
    assert abs(manifold.norm(point, vector) - np.linalg.norm(coordinates)) <= allowed


@given(seed=seeds)
def test_projections_change_nothing_that_is_in_place(manifold, seed):
    rng = np.random.default_rng(seed)
    point = manifold.random_point(rng)
    array = rng.standard_normal(point.shape).astype(manifold.dtype)
    if manifold.dtype is complex:
        array = array + 1j * rng.standard_normal(point.shape)
    assert largest(manifold.project(point) - point) <= 4 * EPSILON
    tangent = manifold.project_tangent(point, array)
    again = manifold.project_tangent(point, tangent)
    assert largest(again - tangent) <= 10 * EPSILON * largest(array)
    if isinstance(manifold, ComplexProjectiveSpace):
        # Horizontal: neither growing nor turning.
        assert abs(np.vdot(point, tangent)) <= 10 * EPSILON * np.linalg.norm(array)
    if not isinstance(manifold, SPD):
        # What is taken away is orthogonal to every tangent; SPD drops the skew part instead.
        taken = array - tangent
        if isinstance(manifold, Hyperbolic):
            # Its inner product is for tangents; in Minkowski's all that it needs is the sign.
            taken[0] = -taken[0]
            products = manifold.frame(point) @ taken
        else:
            products = manifold.inner(point, taken, manifold.frame(point))
        assert largest(products) <= 10 * EPSILON * largest(array) * np.sqrt(manifold.dim)


def test_invalid_reason_is_none_for_points_and_a_phrase_otherwise(manifold):
    point = manifold.random_point(np.random.default_rng(7))
    assert manifold.invalid_reason(point) is None
    broken = point.copy()
    broken.flat[0] = np.nan
    reason = manifold.invalid_reason(broken)
    assert "finite" in reason
    assert "\n" not in reason


@pytest.mark.parametrize(
    ("space", "change", "reason"),
    [
        (Sphere(2), lambda point: 1.01 * point, "its length is 1.01, not 1"),
        (KendallPlanarShapes(4), lambda point: 1.01 * point, "its size is 1.01, not 1"),
        (KendallPlanarShapes(4), lambda point: point + 0.01, "not centred"),
        (ComplexProjectiveSpace(4), lambda point: 1.01 * point, "its length is 1.01, not 1"),
        (Hyperbolic(2), lambda point: 1.01 * point, "its first coordinate is "),
        (Hyperbolic(2), lambda point: -point, "the root of one plus the squares of the others"),
        (SPD(2), lambda point: point + 1e-3 * np.eye(2, k=1), "not symmetric"),
        (SPD(2), lambda point: -point, "not positive definite"),
    ],
    ids=[
        "long vector",
        "large shape",
        "shifted shape",
        "long point",
        "long time",
        "lower sheet",
        "lopsided matrix",
        "negative matrix",
    ],
)
def test_invalid_reason_names_what_is_wrong(space, change, reason):
    point = space.random_point(np.random.default_rng(7))
    assert reason in space.invalid_reason(change(point))


# Curvature and the derivatives of exp


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_jacobi_solutions_against_many_digits(sign):
    # About the size at which a series takes over, too.
    frequencies = np.array([0.0, 1e-200, 1e-9, 0.99e-4, 1.01e-4, 1e-3, 0.5, 1.5, 3.0])
    with mpmath.workdps(50):
        roots = [mpmath.sqrt(-sign) * mpmath.mpf(float(value)) for value in frequencies]
        cosines = [float(mpmath.cosh(root).real) for root in roots]
        sines = [float((mpmath.sinh(root) / root).real) if root else 1.0 for root in roots]
    assert np.allclose(jacobi_cosine(sign, frequencies), cosines, rtol=4 * EPSILON, atol=EPSILON)
    assert np.allclose(jacobi_sine(sign, frequencies), sines, rtol=4 * EPSILON, atol=EPSILON)


@given(seed=seeds, fraction=fractions)
def test_eigenspaces_have_their_multiplicities_and_add_up(manifold, seed, fraction):
    at = scene(manifold, seed, max(fraction, 0.01))
    frame = manifold.frame(at.point)
    parts = manifold.split(at.point, at.velocity, frame)
    axis = -manifold.point_ndim - 1
    allowed = rounding(manifold, at.point)
    assert largest(np.sum(parts, axis=axis) - frame) <= allowed * max(1.0, largest(frame))
    assert sum(manifold.multiplicities) == manifold.dim
    # The trace of an orthogonal projection is the dimension of its image.
    traces = np.sum(manifold.inner(at.point, frame[:, None], parts), axis=0)
    assert largest(traces - manifold.multiplicities) <= manifold.dim * allowed


@given(seed=seeds, fraction=fractions)
def test_eigenspaces_are_orthogonal(manifold, seed, fraction):
    at = scene(manifold, seed, max(fraction, 0.01))
    first = manifold.split(at.point, at.velocity, at.first)
    second = manifold.split(at.point, at.velocity, at.second)
    products = manifold.inner(at.point, first[:, None], second[None])
    off_diagonal = products - np.diag(np.diagonal(products))
    assert largest(off_diagonal) <= rounding(manifold, at.point)


@given(seed=seeds, fraction=fractions)
def test_curvatures_are_within_their_bounds(manifold, seed, fraction):
    at = scene(manifold, seed, max(fraction, 0.01))
    frequencies = manifold.frequencies(at.point, at.velocity)
    curvatures = np.multiply(manifold.curvature_signs, frequencies**2)
    curvatures = curvatures / manifold.norm(at.point, at.velocity) ** 2
    curvatures = curvatures[np.array(manifold.multiplicities) > 0]
    allowed = rounding(manifold, at.point)
    lower, upper = manifold.curvature_bounds
    # The velocity's own direction counts among the eigenspaces, with curvature zero.
    assert np.all(curvatures >= min(lower, 0.0) - allowed)
    assert np.all(curvatures <= max(upper, 0.0) + allowed)


@pytest.mark.parametrize(
    ("name", "size", "bounds"),
    [
        ("euclidean", 3, (0.0, 0.0)),
        ("sphere", 2, (1.0, 1.0)),
        ("hyperbolic", 1, (0.0, 0.0)),
        ("hyperbolic", 2, (-1.0, -1.0)),
        ("hyperbolic", 4, (-1.0, -1.0)),
        ("spd", 2, (-0.5, 0.0)),
        ("spd", 3, (-0.5, 0.0)),
        ("kendall", 3, (4.0, 4.0)),
        ("kendall", 4, (1.0, 4.0)),
    ],
)
def test_curvature_bounds_are_attained(name, size, bounds):
    manifold = make_manifold(name, size)
    assert manifold.curvature_bounds == bounds
    if name == "spd":
        point, direction = np.eye(size), np.diag([1.0, -1.0, 0.0][:size])
    else:
        rng = np.random.default_rng(2)
        point = manifold.random_point(rng)
        direction = unit_tangent(manifold, rng, point)
    ratio = manifold.frequencies(point, direction) / manifold.norm(point, direction)
    curvatures = np.multiply(manifold.curvature_signs, ratio**2)
    curvatures = np.sort(curvatures[np.array(manifold.multiplicities) > 0])
    # Beside the flat direction of the geodesic itself, which every space has.
    if bounds[0] > 0.0:
        across = curvatures[1:]
    elif bounds[1] < 0.0:
        across = curvatures[:-1]
    else:
        across = curvatures
    assert np.allclose((across[0], across[-1]), bounds, rtol=10 * EPSILON, atol=0.0)


@pytest.mark.parametrize(
    ("name", "size"),
    [("euclidean", 3), ("hyperbolic", 1), ("hyperbolic", 4), ("spd", 1), ("spd", 2), ("spd", 3)],
)
def test_volume_grows_as_the_fastest_direction_does(name, size):
    """The logarithm of the volume density of Exp grows by the sum of the frequencies."""
    manifold = make_manifold(name, size)
    rng = np.random.default_rng(2)
    point = manifold.random_point(rng, (20000,))
    frequencies = manifold.frequencies(point, unit_tangent(manifold, rng, point))
    rates = frequencies @ np.abs(np.multiply(manifold.curvature_signs, manifold.multiplicities))
    assert np.max(rates) <= manifold.volume_growth + 1e-9
    assert np.max(rates) >= 0.99 * manifold.volume_growth


def differential_of_exp(manifold, at, derivative, part, frame):
    """Images of a frame under the derivative of exp, in coordinates; shape (dim, dim)."""

    def moved(step):
        if part == "shooting_vector":
            return manifold.exp(at.point, at.velocity + step * frame)
        start = manifold.exp(at.point, step * frame)
        velocity = manifold.transport(at.point, step * frame, at.velocity)
        return manifold.exp(start, velocity)

    images = manifold.project_tangent(at.end, derivative(moved))
    return manifold.coordinates(at.end, images)


def allowed_difference(manifold, at):
    """Error to allow of a derivative: rounding is divided by the step, truncation is as large."""
    allowed = 50 * rounding(manifold, at.point, at.end)
    # A difference is tangent up to rounding, which Minkowski's projection magnifies.
    return allowed * at.end[0] if isinstance(manifold, Hyperbolic) else allowed


@given(seed=seeds, fraction=fractions)
def test_exp_volume_is_the_determinant_of_the_derivative(manifold, derivative, seed, fraction):
    at = scene(manifold, seed, fraction)
    frame = manifold.frame(at.point)
    matrix = differential_of_exp(manifold, at, derivative, "shooting_vector", frame)
    volume = abs(np.linalg.det(matrix))
    found = manifold.exp_volume(at.point, at.velocity)
    # A determinant adds up the errors of its columns.
    allowed = manifold.dim * allowed_difference(manifold, at)
    assert abs(found - volume) <= allowed * max(1.0, volume)


@pytest.mark.parametrize("part", ["footpoint", "shooting_vector"])
@given(seed=seeds, fraction=fractions)
def test_jacobi_adjoint_is_the_adjoint_of_the_derivative(
    manifold, derivative, part, seed, fraction
):
    at = scene(manifold, seed, fraction)
    frame = manifold.frame(at.point)
    images = differential_of_exp(manifold, at, derivative, part, frame)
    residual = unit_tangent(manifold, at.rng, at.end)
    adjoint = manifold.jacobi_adjoint(at.point, at.velocity, residual, part)
    expected = images @ manifold.coordinates(at.end, residual)
    error = largest(manifold.coordinates(at.point, adjoint) - expected)
    assert error <= allowed_difference(manifold, at) * max(1.0, largest(expected))


# Zero vectors and batches


def test_zero_vectors(manifold):
    rng = np.random.default_rng(11)
    point = manifold.random_point(rng)
    vector = unit_tangent(manifold, rng, point)
    zero = np.zeros_like(vector)
    allowed = rounding(manifold, point)
    with np.errstate(all="raise"):
        assert largest(manifold.exp(point, zero) - point) <= allowed * largest(point)
        assert manifold.norm(point, manifold.log(point, point)) == 0.0
        assert manifold.dist(point, point) == 0.0
        carried = manifold.transport(point, zero, vector)
        assert manifold.norm(point, carried - vector) <= allowed
        assert np.all(manifold.frequencies(point, zero) == 0.0)
        assert manifold.exp_volume(point, zero) == 1.0
        parts = manifold.split(point, zero, vector)
        error = np.sum(parts, axis=-manifold.point_ndim - 1) - vector
        assert manifold.norm(point, error) <= allowed
        for part in ("footpoint", "shooting_vector"):
            adjoint = manifold.jacobi_adjoint(point, zero, vector, part)
            assert manifold.norm(point, adjoint - vector) <= allowed


@given(seed=seeds, exponent=st.integers(-300, -5))
def test_tiny_vectors(manifold, seed, exponent):
    rng = np.random.default_rng(seed)
    point = manifold.random_point(rng)
    velocity = 10.0**exponent * unit_tangent(manifold, rng, point)
    vector = unit_tangent(manifold, rng, point)
    # Down to sizes whose squares underflow, nothing but the identity is left of transport.
    carried = manifold.transport(point, velocity, vector)
    allowed = rounding(manifold, point)
    assert manifold.norm(point, carried - vector) <= allowed + 10.0**exponent
    # The volume differs from one by a sixth of the Ricci curvature, which is at most dim + 2.
    change = manifold.exp_volume(point, velocity) - 1.0
    assert abs(change) <= allowed + (manifold.dim + 2) * 100.0**exponent


VERBS = {
    "exp": lambda m, point, first, second, other: m.exp(point, first),
    "log": lambda m, point, first, second, other: m.log(point, other),
    "dist": lambda m, point, first, second, other: m.dist(point, other),
    "transport": lambda m, point, first, second, other: m.transport(point, first, second),
    "transport_to": lambda m, point, first, second, other: m.transport_to(point, other, first),
    "inner": lambda m, point, first, second, other: m.inner(point, first, second),
    "norm": lambda m, point, first, second, other: m.norm(point, first),
    "frame": lambda m, point, first, second, other: m.frame(point),
    "coordinates": lambda m, point, first, second, other: m.coordinates(point, first),
    "project_tangent": lambda m, point, first, second, other: m.project_tangent(point, second),
    "frequencies": lambda m, point, first, second, other: m.frequencies(point, first),
    "split": lambda m, point, first, second, other: m.split(point, first, second),
    "exp_volume": lambda m, point, first, second, other: m.exp_volume(point, first),
    "jacobi_adjoint": lambda m, point, first, second, other: m.jacobi_adjoint(
        point, first, m.transport(point, first, second), "shooting_vector"
    ),
}


@pytest.mark.parametrize("verb", VERBS.values(), ids=VERBS.keys())
def test_batches_equal_loops(manifold, verb):
    shape = (2, 3)
    rng = np.random.default_rng(13)
    point, other = manifold.random_point(rng, (2, *shape))
    first, second = 0.3 * manifold.random_tangent(rng, np.stack([point, point]))
    batch = verb(manifold, point, first, second, other)
    loop = np.array(
        [
            verb(manifold, point[index], first[index], second[index], other[index])
            for index in np.ndindex(shape)
        ]
    )
    loop = loop.reshape(shape + loop.shape[1:])
    assert batch.shape == loop.shape
    allowed = rounding(manifold, *point.reshape(-1, *manifold.point_shape)[:1])
    assert largest(batch - loop) <= allowed * largest(loop)


def test_points_and_vectors_broadcast(manifold):
    rng = np.random.default_rng(17)
    point = manifold.random_point(rng)
    vectors = 0.3 * manifold.random_tangent(rng, np.stack([point] * 6))
    vectors = vectors.reshape((2, 3, *manifold.point_shape))
    ends = manifold.exp(point, vectors)
    points = np.broadcast_to(point, vectors.shape)
    assert ends.shape == vectors.shape
    assert np.array_equal(ends, manifold.exp(points, vectors))
    assert np.array_equal(manifold.log(point, ends), manifold.log(points, ends))
    assert np.array_equal(
        manifold.transport(point, vectors[:1], vectors),
        manifold.transport(points, np.broadcast_to(vectors[:1], vectors.shape), vectors),
    )
    assert manifold.dist(point, ends).shape == (2, 3)


# Residuals carried back to the footpoint


BATCHES = {
    "one data set, one geodesic": ((), ()),
    "one data set, chains": ((), (3,)),
    "one data set, footpoints and chains": ((), (2, 3)),
    "data sets, one geodesic each": ((2,), ()),
    "data sets, chains": ((2,), (3,)),
    "data sets, footpoints and chains": ((2,), (4, 3)),
}


@pytest.mark.parametrize("speed", [0.6, 1e-9, 0.0], ids=["moving", "nearly still", "still"])
@pytest.mark.parametrize(("data_shape", "chains"), BATCHES.values(), ids=BATCHES.keys())
def test_pulled_back_residuals_equal_the_generic_ones(
    manifold, make_records, data_shape, chains, speed
):
    rng = np.random.default_rng(19)
    data = make_records(manifold, seed=19, number=7, noise=0.3, data_shape=data_shape)
    # A covariate of zero, and one before the footpoint.
    data.covariates[..., 0], data.covariates[..., 1] = 0.0, -0.5
    batch = data_shape + chains
    near = data.footpoint.reshape(data_shape + (1,) * len(chains) + manifold.point_shape)
    near = np.broadcast_to(near, batch + manifold.point_shape)
    footpoint = manifold.exp(near, 0.1 * manifold.random_tangent(rng, near) / manifold.dim**0.5)
    vector = speed * unit_tangent(manifold, rng, footpoint)
    arguments = (footpoint, vector, data.covariates, data.points)
    fast = manifold.pulled_back_residuals(*arguments)
    generic = SymmetricSpace.pulled_back_residuals(manifold, *arguments)
    footpoints = footpoint.reshape(-1, *manifold.point_shape)
    allowed = max(rounding(manifold, point) for point in footpoints)
    assert fast.squared_distances.shape == (*batch, 7)
    assert fast.frequencies.shape == (*batch, len(manifold.curvature_signs))
    assert largest(fast.squared_distances - generic.squared_distances) <= allowed
    assert largest(fast.frequencies - generic.frequencies) <= allowed
    full = [rng.standard_normal((*batch, 7)) for _ in manifold.curvature_signs]
    plain = [rng.standard_normal(7) for _ in manifold.curvature_signs]
    for weights in (full, [2.0, *full[1:]], [*full[:-1], 2.0], plain):
        found, expected = fast.combine(weights), generic.combine(weights)
        assert found.shape == expected.shape == footpoint.shape
        # Sums over seven records.
        assert np.max(manifold.norm(footpoint, found - expected)) <= 7 * allowed


@pytest.mark.parametrize("speed", [0.6, 0.0], ids=["moving", "still"])
def test_adjoint_norms_are_those_of_each_record(manifold, make_records, speed):
    """Of `jacobi_adjoint`, record by record and one chain at a time."""
    rng = np.random.default_rng(20)
    data = make_records(manifold, seed=20, number=5, noise=0.3, data_shape=(2,))
    data.covariates[:, 0] = -0.5
    near = np.repeat(data.footpoint[:, None], 3, axis=1)
    footpoint = manifold.exp(near, 0.1 * manifold.random_tangent(rng, near) / manifold.dim**0.5)
    vector = speed * unit_tangent(manifold, rng, footpoint)
    arguments = (footpoint, vector, data.covariates, data.points)
    fast = manifold.residuals(*arguments)
    generic = SymmetricResiduals(
        manifold,
        data.covariates[:, None],
        SymmetricSpace.pulled_back_residuals(manifold, *arguments),
    )
    for coefficients in (
        {"footpoint": 0.5, "shooting_vector": 1.0},
        {"footpoint": 0.5, "shooting_vector": -1.0},
        {"shooting_vector": 2.0},
    ):
        expected = np.zeros((2, 3, 5))
        for data_set, chain, record in np.ndindex(expected.shape):
            p, v = footpoint[data_set, chain], vector[data_set, chain]
            x = data.covariates[data_set, record]
            residual = manifold.log(manifold.exp(p, x * v), data.points[data_set, record])
            parts = {part: manifold.jacobi_adjoint(p, x * v, residual, part) for part in BLOCKS}
            parts["shooting_vector"] = x * parts["shooting_vector"]
            combined = sum(factor * parts[block] for block, factor in coefficients.items())
            expected[data_set, chain, record] = manifold.norm(p, combined)
        allowed = 10 * max(rounding(manifold, point) for point in near[:, 0])
        generic_norms = generic.adjoint_norms(coefficients)
        np.testing.assert_allclose(generic_norms, expected, rtol=0.0, atol=max(allowed, 1e-11))
        # Small differences of squares are rounded, but never downwards.
        found = fast.adjoint_norms(coefficients)
        np.testing.assert_allclose(found, expected, rtol=0.0, atol=2e-6)
        assert np.all(found >= expected - max(allowed, 1e-11))


# Against geomstats


@pytest.fixture(scope="module")
def geomstats_metric():
    """Function that gives the metric of geomstats on the same space."""
    # It takes seconds to import: not for those who run other tests.
    from geomstats.geometry.euclidean import Euclidean as GeomstatsEuclidean
    from geomstats.geometry.hyperboloid import Hyperboloid
    from geomstats.geometry.hypersphere import Hypersphere
    from geomstats.geometry.pre_shape import PreShapeSpace
    from geomstats.geometry.spd_matrices import SPDAffineMetric, SPDMatrices

    def metric(manifold):
        if isinstance(manifold, Sphere):
            return Hypersphere(manifold.dim).metric
        if isinstance(manifold, Hyperbolic):
            return Hyperboloid(manifold.dim).metric
        if isinstance(manifold, SPD):
            matrices = SPDMatrices(manifold.size, equip=False)
            matrices.equip_with_metric(SPDAffineMetric)
            return matrices.metric
        if isinstance(manifold, ComplexProjectiveSpace):
            preshapes = PreShapeSpace(manifold.dim // 2 + 2, 2)
            preshapes.equip_with_group_action("rotations")
            preshapes.equip_with_quotient()
            return preshapes.quotient.metric
        return GeomstatsEuclidean(manifold.dim).metric

    return metric


def to_geomstats(manifold, array):
    """Landmarks as pairs of numbers."""
    if isinstance(manifold, ReducedPlanarShapes):
        # Coordinates in an orthonormal basis of the centred configurations of m + 1 landmarks.
        array = array @ helmert(array.shape[-1] + 1)
    if np.iscomplexobj(array):
        return np.stack([array.real, array.imag], axis=-1)
    return array


def from_geomstats(manifold, array):
    if manifold.dtype is complex:
        array = array[..., 0] + 1j * array[..., 1]
    if isinstance(manifold, ReducedPlanarShapes):
        array = array @ helmert(array.shape[-1]).T
    return array


@pytest.fixture(scope="module")
def many(manifold):
    """Twenty scenes at distances from 0.01, below which geomstats loses digits."""
    rng = np.random.default_rng(23)
    lengths = np.geomspace(0.01, 0.9 * reach(manifold), 20)
    point = manifold.random_point(rng, (20,))
    first, second = (unit_tangent(manifold, rng, point) for _ in range(2))
    velocity = manifold.expand(lengths) * first
    end = manifold.exp(point, velocity)
    allowed = np.array([rounding(manifold, *pair) for pair in zip(point, end, strict=True)])
    return SimpleNamespace(
        lengths=lengths, point=point, velocity=velocity, vector=second, end=end, allowed=allowed
    )


def test_exp_agrees_with_geomstats(manifold, geomstats_metric, many):
    metric = geomstats_metric(manifold)
    found = metric.exp(to_geomstats(manifold, many.velocity), to_geomstats(manifold, many.point))
    # A shape may come back as any of its preshapes.
    distances = manifold.dist(many.end, from_geomstats(manifold, found))
    assert np.all(distances <= many.allowed)


def test_log_and_dist_agree_with_geomstats(manifold, geomstats_metric, many):
    metric = geomstats_metric(manifold)
    end = many.end
    if manifold.dtype is complex:
        end = end * np.exp(1j * np.linspace(0.0, 6.0, 20))[:, None]
    found = metric.log(to_geomstats(manifold, end), to_geomstats(manifold, many.point))
    error = from_geomstats(manifold, found) - manifold.log(many.point, end)
    # An arc cosine divides rounding by the distance.
    allowed = many.allowed + 20 * EPSILON / many.lengths
    assert np.all(manifold.norm(many.point, error) <= allowed)
    distances = metric.dist(to_geomstats(manifold, many.point), to_geomstats(manifold, end))
    assert np.all(abs(distances - manifold.dist(many.point, end)) <= allowed)


def test_transport_agrees_with_geomstats(manifold, geomstats_metric, many):
    metric = geomstats_metric(manifold)
    allowed = many.allowed
    options = {}
    if isinstance(manifold, ComplexProjectiveSpace):
        # It integrates an equation here, to fourth order in a hundredth of the length.
        options = {"n_steps": 100, "step": "rk4"}
        allowed = 1e-9 * np.maximum(1.0, many.lengths) ** 4
    found = metric.parallel_transport(
        to_geomstats(manifold, many.vector),
        to_geomstats(manifold, many.point),
        direction=to_geomstats(manifold, many.velocity),
        **options,
    )
    expected = manifold.transport(many.point, many.velocity, many.vector)
    error = from_geomstats(manifold, found) - expected
    print(manifold.name, manifold.norm(many.end, error) / allowed)
    assert np.all(manifold.norm(many.end, error) <= allowed)
