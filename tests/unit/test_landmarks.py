"""Outlines: self-intersections, and points at equal steps."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.data.landmarks import crossing_edges, resample

seeds = st.integers(0, 10**6)
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


@given(seeds, counts)
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


@given(seeds, counts, st.integers(1, 60))
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
