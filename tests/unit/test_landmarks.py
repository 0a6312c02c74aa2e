"""Outlines: areas, directions, self-intersections, and points at equal steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.data.landmarks import crossing_edges, orient, resample, signed_area

SQUARE = np.array([0.0, 1.0, 1.0 + 1.0j, 1.0j])
# An L of six unit squares' sides: not convex.
CORNER = np.array([0.0, 2.0, 2.0 + 1.0j, 1.0 + 1.0j, 1.0 + 2.0j, 2.0j])
FIGURE_EIGHT = np.array([0.0, 2.0 + 2.0j, 2.0, 2.0j])


def star_shaped(seed, number):
    """A simple polygon: radii at increasing angles, counter-clockwise."""
    rng = np.random.default_rng(seed)
    gaps = rng.uniform(0.5, 1.5, number)
    angles = 2 * np.pi * np.cumsum(gaps) / np.sum(gaps)
    return rng.uniform(0.3, 1.0, number) * np.exp(1j * angles)


seeds = st.integers(0, 10**6)
counts = st.integers(5, 40)


def perimeter_places(outline, points):
    """Arc lengths, over the perimeter, at which points lie on a polygon; fails if one does not."""
    edges = np.roll(outline, -1) - outline
    before = np.concatenate([[0.0], np.cumsum(np.abs(edges))])
    along = np.real((points[:, None] - outline) / edges)
    nearest = outline + np.clip(along, 0.0, 1.0) * edges
    distance = np.abs(points[:, None] - nearest)
    assert np.all(np.min(distance, axis=1) < 1e-12)
    edge = np.argmin(distance, axis=1)
    place = before[edge] + np.abs(
        np.take_along_axis(nearest, edge[:, None], 1)[:, 0] - outline[edge]
    )
    return place / before[-1]


# --- Areas ---


def test_known_areas():
    areas = signed_area(np.stack([SQUARE, SQUARE[::-1], FIGURE_EIGHT, 1e-3 * SQUARE + 1e6 + 1e6j]))
    np.testing.assert_allclose(areas, [1.0, -1.0, 0.0, 1e-6], rtol=1e-5, atol=1e-15)
    assert signed_area(CORNER) == pytest.approx(3.0)


@given(seeds, counts)
def test_area_of_a_moved_turned_and_scaled_outline(seed, number):
    outline = star_shaped(seed, number)
    moved = 3.0 * np.exp(2.1j) * outline + (400.0 - 700.0j)
    assert signed_area(moved) == pytest.approx(9.0 * signed_area(outline), rel=1e-9)
    assert signed_area(np.conj(outline)) == pytest.approx(-signed_area(outline))
    assert signed_area(np.roll(outline, 3)) == pytest.approx(signed_area(outline))


# --- Directions ---


def clockwise(outline):
    return np.roll(outline[::-1], 1)


@pytest.mark.parametrize(
    "turned",
    [[False, True, False], [True, False, True], [True, True], [False, False]],
    ids=["one", "most", "all", "none"],
)
def test_outlines_are_turned_counter_clockwise_each_by_itself(turned):
    outlines = np.array([clockwise(CORNER) if one else CORNER for one in turned])
    oriented, found = orient(outlines)
    np.testing.assert_array_equal(found, turned)
    np.testing.assert_array_equal(oriented, [CORNER] * len(turned))


@given(seeds, counts)
def test_oriented_outlines_stay_as_they_are(seed, number):
    rng = np.random.default_rng(seed)
    outlines = np.stack([star_shaped(seed + index, number) for index in range(7)])
    outlines = np.where(rng.random((7, 1)) < 0.5, outlines, np.conj(outlines))
    oriented, reversed_ones = orient(outlines)
    assert np.all(signed_area(oriented) > 0)
    np.testing.assert_array_equal(reversed_ones, signed_area(outlines) < 0)
    again, none = orient(oriented)
    np.testing.assert_array_equal(again, oriented)
    assert not np.any(none)


# --- Self-intersections ---


@pytest.mark.parametrize(
    ("outline", "edges"),
    [
        (SQUARE, None),
        (CORNER, None),
        (FIGURE_EIGHT, (0, 2)),
        # The last edge, from landmark 4 to landmark 0, crosses the one from 1 to 2.
        (np.array([0.0, 2.0, 1.0 + 1.0j, 3.0j, 3.0 + 1.0j]), (1, 4)),
        # A corner on another edge, and an edge that runs back over another one.
        (np.array([0.0, 2.0, 2.0 + 2.0j, 1.0 + 0.0j, 2.0j]), (0, 2)),
        (np.array([0.0, 3.0, 3.0 + 1.0j, 2.0, 1.0, 1.0j]), (0, 2)),
        # On one line, but apart: notches in a common base.
        (np.array([0.0, 1.0, 1.0 + 1.0j, 2.0 + 1.0j, 2.0, 3.0, 3.0 + 2.0j, 2.0j]), None),
    ],
    ids=["square", "corner", "eight", "last edge", "touching", "overlapping", "collinear"],
)
def test_known_crossings(outline, edges):
    assert crossing_edges(outline) == edges


@given(seeds, counts)
def test_only_exchanged_landmarks_make_an_outline_cross(seed, number):
    outline = star_shaped(seed, number)
    assert crossing_edges(outline) is None
    # On a circle, so that the exchange cannot but cross.
    outline /= np.abs(outline)
    assert crossing_edges(outline) is None
    first = seed % (number - 2)
    outline[[first, first + 1]] = outline[[first + 1, first]]
    found = crossing_edges(outline)
    assert found == tuple(sorted([(first - 1) % number, first + 1]))


@given(seeds, counts)
def test_moving_an_outline_changes_no_crossing(seed, number):
    rng = np.random.default_rng(seed)
    outline = rng.standard_normal(number) + 1j * rng.standard_normal(number)
    expected = crossing_edges(outline)
    assert crossing_edges(100.0 * np.exp(0.7j) * outline + 10.0) == expected
    assert crossing_edges(np.conj(outline)) == expected


@given(seeds, counts)
def test_crossing_edges_have_a_common_point(seed, number):
    rng = np.random.default_rng(seed)
    outline = rng.standard_normal(number) + 1j * rng.standard_normal(number)
    found = crossing_edges(outline)
    ends = np.roll(outline, -1)

    def meet(first, second):
        # Where along either edge their lines meet.
        directions = np.array([ends[first] - outline[first], outline[second] - ends[second]])
        gap = outline[second] - outline[first]
        matrix = np.array([directions.real, directions.imag])
        return np.all(np.abs(np.linalg.solve(matrix, [gap.real, gap.imag]) - 0.5) <= 0.5)

    pairs = [
        (first, second)
        for first in range(number)
        for second in range(first + 2, number)
        if (first, second) != (0, number - 1) and meet(first, second)
    ]
    assert found == (pairs[0] if pairs else None)


# --- Equal steps ---


def test_steps_along_a_square():
    expected = np.array([0.0, 0.5, 1.0, 1.0 + 0.5j, 1.0 + 1.0j, 0.5 + 1.0j, 1.0j, 0.5j])
    np.testing.assert_allclose(resample(SQUARE, 8), expected, atol=1e-15)
    np.testing.assert_allclose(resample(expected, 4), SQUARE, atol=1e-15)


@given(seeds, counts, st.integers(1, 60))
def test_points_lie_at_equal_fractions_of_the_perimeter(seed, number, points):
    outline = star_shaped(seed, number)
    resampled = resample(outline, points)
    assert resampled[0] == outline[0]
    places = perimeter_places(outline, resampled)
    np.testing.assert_allclose(places, np.arange(points) / points, atol=1e-12)


@given(seeds, counts)
def test_more_landmarks_along_the_same_edges_change_nothing(seed, number):
    outline = star_shaped(seed, number)
    halves = (outline + np.roll(outline, -1)) / 2
    finer = np.stack([outline, halves], axis=-1).ravel()
    np.testing.assert_allclose(resample(finer, 17), resample(outline, 17), atol=1e-12)


@given(seeds, counts)
def test_resampling_goes_along_with_similarities_and_reversal(seed, number):
    outline = star_shaped(seed, number)
    similar = 5.0 * np.exp(1.3j) * outline + (2.0 - 9.0j)
    expected = 5.0 * np.exp(1.3j) * resample(outline, 12) + (2.0 - 9.0j)
    np.testing.assert_allclose(resample(similar, 12), expected, atol=1e-12)
    np.testing.assert_allclose(
        resample(clockwise(outline), 12), clockwise(resample(outline, 12)), atol=1e-12
    )


def test_many_outlines_are_resampled_one_by_one():
    outlines = np.stack([star_shaped(seed, 9) for seed in range(6)]).reshape(2, 3, 9)
    together = resample(outlines, 14)
    assert together.shape == (2, 3, 14)
    for index in np.ndindex(2, 3):
        np.testing.assert_array_equal(together[index], resample(outlines[index], 14))


def test_a_repeated_landmark_adds_no_length():
    doubled = np.array([0.0, 0.0, 1.0, 1.0 + 1.0j, 1.0 + 1.0j, 1.0j, 0.0])
    np.testing.assert_allclose(resample(doubled, 8), resample(SQUARE, 8), atol=1e-15)
