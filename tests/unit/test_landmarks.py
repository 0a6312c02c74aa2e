"""Landmarks: self-intersections of outlines, points at equal steps, and maps of landmarks."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.data.landmarks import crossing_edges, resample
from geodp.data.matrices import parse_matrix
from geodp.errors import DataError
from geodp.manifolds.kendall import NoReducedShapeError, ReducedPlanarShapes
from geodp.manifolds.landmark_maps import LandmarkMap, fourier_harmonics
from geodp.manifolds.registry import make_manifold, parse_point

EPSILON = np.finfo(float).eps

counts = st.integers(5, 40)


def star_shaped(seed, number):
    """A simple polygon: radii at increasing angles, counter-clockwise."""
    rng = np.random.default_rng(seed)
    gaps = rng.uniform(0.5, 1.5, number)
    angles = 2 * np.pi * np.cumsum(gaps) / np.sum(gaps)
    return rng.uniform(0.3, 1.0, number) * np.exp(1j * angles)


@pytest.mark.parametrize(
    ("outline", "edges"),
    [
        # The last edge, from landmark 4 to landmark 0, crosses the one from 1 to 2.
        (np.array([0.0, 2.0, 1.0 + 1.0j, 3.0j, 3.0 + 1.0j]), (1, 4)),
        # A corner on another edge, and an edge that runs back over another one.
        (np.array([0.0, 2.0, 2.0 + 2.0j, 1.0 + 0.0j, 2.0j]), (0, 2)),
        (np.array([0.0, 3.0, 3.0 + 1.0j, 2.0, 1.0, 1.0j]), (0, 2)),
        # On one line, but apart: notches in a common base.
        (np.array([0.0, 1.0, 1.0 + 1.0j, 2.0 + 1.0j, 2.0, 3.0, 3.0 + 2.0j, 2.0j]), None),
    ],
    ids=["last edge", "touching", "overlapping", "collinear"],
)
def test_known_crossings(outline, edges):
    assert crossing_edges(outline) == edges


@given(st.integers(0, 10**6), counts)
def test_crossing_edges_have_a_common_point(seed, number):
    rng = np.random.default_rng(seed)
    outline = rng.standard_normal(number) + 1j * rng.standard_normal(number)
    ends = np.roll(outline, -1)

    def meet(first, second):
        # Where along either edge their lines meet.
        directions = np.array([ends[first] - outline[first], outline[second] - ends[second]])
        gap = outline[second] - outline[first]
        matrix = np.array([directions.real, directions.imag])
        return np.all(np.abs(np.linalg.solve(matrix, [gap.real, gap.imag]) - 0.5) <= 0.5)

    pairs = (
        (first, second)
        for first in range(number)
        for second in range(first + 2, number)
        if (first, second) != (0, number - 1) and meet(first, second)
    )
    assert crossing_edges(outline) == next(pairs, None)


@given(st.integers(0, 10**6), counts, st.integers(1, 60))
def test_points_lie_at_equal_fractions_of_the_perimeter(seed, number, points):
    outline = star_shaped(seed, number)
    resampled = resample(outline, points)
    assert resampled[0] == outline[0]
    edges = np.roll(outline, -1) - outline
    before = np.concatenate([[0.0], np.cumsum(np.abs(edges))])
    along = np.clip(np.real((resampled[:, None] - outline) / edges), 0.0, 1.0)
    distance = np.abs(resampled[:, None] - (outline + along * edges))
    assert np.all(np.min(distance, axis=1) < 1e-12)
    each, edge = np.arange(points), np.argmin(distance, axis=1)
    places = before[edge] + along[each, edge] * np.abs(edges[edge])
    np.testing.assert_allclose(places / before[-1], each / points, atol=1e-12)


def test_repeated_landmarks_add_no_length():
    doubled = np.array([0.0, 0.0, 1.0, 1.0 + 1.0j, 1.0 + 1.0j, 1.0j, 0.0])
    expected = np.array([0.0, 0.5, 1.0, 1.0 + 0.5j, 1.0 + 1.0j, 0.5 + 1.0j, 1.0j, 0.5j])
    np.testing.assert_allclose(resample(doubled, 8), expected, atol=1e-15)
    same = np.full((2, 3, 5), 2.0 + 1.0j)
    np.testing.assert_array_equal(resample(same, 3), same[..., :3])


# Maps: what they keep, and what they refuse


seeds = st.integers(0, 2**32 - 1)

PLACE = "studies.callosa.manifold.landmark_map"


@pytest.mark.parametrize(("landmarks", "highest"), [(3, 1), (8, 3), (50, 24)])
def test_harmonics_are_orthonormal_and_in_their_order(landmarks, highest):
    matrix = fourier_harmonics(landmarks, highest).matrix
    orders = np.arange(1, highest + 1)
    orders = np.stack([orders, -orders], axis=-1).ravel()
    turns = np.arange(landmarks) / landmarks
    waves = np.exp(2j * np.pi * orders * turns[:, None])
    np.testing.assert_allclose(matrix @ waves, np.sqrt(landmarks) * np.eye(2 * highest), atol=1e-13)
    np.testing.assert_allclose(matrix @ matrix.conj().T, np.eye(2 * highest), atol=1e-14)
    np.testing.assert_allclose(np.sum(matrix, axis=1), 0.0, atol=1e-13)


@pytest.mark.parametrize(("landmarks", "highest", "limit"), [(50, 25, 24), (9, 5, 4), (9, 0, 4)])
def test_harmonics_out_of_range_are_refused(landmarks, highest, limit):
    with pytest.raises(DataError, match=rf"^landmark map: {landmarks} .* from 1 to {limit}$"):
        fourier_harmonics(landmarks, highest)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(5), "it has 1 axes"),
        (np.eye(1, 5), "1 rows for 5 landmarks"),
        (np.eye(5), "5 rows for 5 landmarks"),
        ([[1, 0, 0], [0, 1, np.nan]], "row 2, column 3: the entry is not a finite number"),
        ([[1, 1j * np.inf, 0], [0, 1, 0]], "row 1, column 2: the entry is not a finite"),
        ([[1, 0, 0, 0], [0, 1, 0, 0], [2, 3j, 0, 0]], "only 2 of its 3 rows are independent"),
        # Independent, until the landmarks are centred.
        ([[1, 0, 0, 0], [2, 1, 1, 1]], "only 1 of its 2 rows are independent"),
        (np.zeros((2, 4)), "only 0 of its 2 rows are independent"),
        ("1,2,3\n1,0.5+0.25i,3", ", row 2, column 2: '0.5+0.25i' is not a finite number"),
        ("1,2,3\n\n1,2,nan", ", row 3, column 3: 'nan' is not a finite number"),
        ("1,2,3\n1,,3", ", row 2, column 2: '' is not a finite number"),
        ("1,2,3\n1,2", ", row 2: it has 2 columns and the first row has 3"),
        ("\n , \n", ": the matrix is empty"),
    ],
)
def test_what_makes_no_map_is_refused(given, message):
    with pytest.raises(DataError) as caught:
        parse_matrix(given, PLACE) if isinstance(given, str) else LandmarkMap(given, "", PLACE)
    assert str(caught.value).startswith(PLACE)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_matrix_of_complex_and_real_entries():
    text = '0.5+0.25j,1,-2e-3\n\n 1j , "-0.5-1j",+3\n'
    expected = [[0.5 + 0.25j, 1.0, -0.002], [1j, -0.5 - 1j, 3.0]]
    np.testing.assert_array_equal(parse_matrix(text, "map.csv"), expected)
    assert parse_matrix("1,2\n3,4", "map.csv").dtype == complex


# Shapes reduced by a landmark map


def largest(array):
    return np.max(np.abs(array))


def random_landmarks(rng, shape):
    real, imaginary = rng.standard_normal((2, *shape))
    return real + 1j * imaginary


MAPS = {
    "harmonics": fourier_harmonics(12, 2),
    # Neither orthonormal rows nor rows that sum to zero.
    "random": LandmarkMap(random_landmarks(np.random.default_rng(31), (4, 12)), "a random map"),
}


@pytest.fixture(scope="module", params=MAPS.values(), ids=MAPS.keys())
def reduced(request):
    return ReducedPlanarShapes(request.param)


@given(seed=seeds)
def test_translation_scale_and_rotation_do_not_move_reduced_points(reduced, seed):
    rng = np.random.default_rng(seed)
    landmarks = random_landmarks(rng, (12,))
    shift, turn = random_landmarks(rng, (2,))
    point = reduced.from_landmarks(landmarks)
    assert reduced.invalid_reason(point) is None
    moved = reduced.from_landmarks(shift + turn * landmarks)
    # A configuration near the kernel loses digits.
    matrix = reduced.landmark_map.matrix
    image = matrix @ (landmarks - np.mean(landmarks))
    size = np.linalg.norm(matrix, 2) * np.linalg.norm(landmarks) / np.linalg.norm(image)
    allowed = 100 * EPSILON * size * (1.0 + abs(shift / turn))
    assert largest(point - image / np.linalg.norm(image)) <= allowed
    assert reduced.dist(point, moved) <= allowed
    # What changes a shape moves them.
    assert reduced.dist(point, reduced.from_landmarks(landmarks**2)) > 1e-3


@given(seed=seeds)
def test_reduced_points_come_back_from_landmarks_that_hold_nothing_else(reduced, seed):
    points = reduced.random_point(np.random.default_rng(seed), (5,))
    landmarks = reduced.to_landmarks(points)
    assert landmarks.shape == (5, 12)
    assert largest(np.mean(landmarks, axis=-1)) <= 10 * EPSILON
    assert largest(np.linalg.norm(landmarks, axis=-1) - 1.0) <= 10 * EPSILON
    assert largest(reduced.dist(reduced.from_landmarks(landmarks), points)) <= 1000 * EPSILON
    matrix = reduced.landmark_map.matrix
    unseen = np.linalg.svd(matrix - np.mean(matrix, axis=1, keepdims=True))[2][4:]
    assert largest(unseen @ landmarks.T) <= 100 * EPSILON


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


def test_map_has_to_go_with_the_manifold():
    for name, size in (("sphere", 20), ("kendall", 19)):
        with pytest.raises(DataError, match="of 20 planar landmarks: make both numbers equal"):
            make_manifold(name, size, fourier_harmonics(20, 2))


def test_parsed_points_and_the_numbers_to_give():
    space = make_manifold("kendall", 20, fourier_harmonics(20, 1))
    point = parse_point(space, [3.0, 0.0, 0.0, 4.0], "footpoint")
    assert largest(point - np.array([0.6, 0.8j])) <= EPSILON
    for wrong, numbers, message in (
        (space, [3.0, 4.0], r"footpoint: .* give 4, real and imaginary"),
        (space, [0.0] * 4, "not a point of planar shapes of 20 landmarks, Fourier"),
        (make_manifold("kendall", 3), [0.0, 1.0, 3.0], r"footpoint: .* \(x1, y1, x2"),
    ):
        with pytest.raises(DataError, match=message):
            parse_point(wrong, numbers, "footpoint")
