"""The stand-in for callosal outlines has the sizes it was made to."""

import numpy as np
import pytest

from geodp import KendallPlanarShapes
from geodp.data.landmarks import crossing_edges, signed_area
from geodp.data.stand_in import (
    FINEST_HARMONIC,
    HARMONICS,
    MEASURED,
    coefficient_factor,
    mean_coefficients,
    outline,
    simulate_outlines,
)
from geodp.randomness import random_stream

LANDMARKS = 50
SHAPES = KendallPlanarShapes(LANDMARKS)
SHARES = [0.47, 0.70, 0.81, 0.89, 0.96]


def simulate(*names, data_sets=2, number=100, **changes):
    return simulate_outlines(random_stream(1, "stand-in", *names), data_sets, number, **changes)


def test_outlines_are_centred_of_about_unit_size_counter_clockwise_and_simple():
    outlines = simulate(number=1000).outlines
    assert np.max(np.abs(np.mean(outlines, axis=-1))) < 1e-12
    np.testing.assert_allclose(np.linalg.norm(outlines, axis=-1), 1.0, atol=0.02)
    assert np.all(signed_area(outlines) > 0.0)
    assert not any(crossing_edges(each) for each in outlines.reshape((-1, LANDMARKS)))


def test_stream_decides_the_data():
    one, again, other = (simulate(name) for name in ("a", "a", "b"))
    for field in ("outlines", "ages"):
        first = getattr(one, field)
        np.testing.assert_array_equal(first, getattr(again, field))
        assert not np.any(first == getattr(other, field))
        assert not np.any(first[0] == first[1])


@pytest.mark.parametrize("length", [0.0, 0.045, 0.2])
def test_means_follow_a_geodesic_of_their_length_at_constant_speed(length):
    data = simulate(number=3, trend_length=length)
    first, last = SHAPES.project(np.stack([data.first_outline, data.last_outline]))
    assert SHAPES.dist(first, last) == pytest.approx(length, abs=1e-12)
    fractions = np.linspace(0.0, 1.0, 9)
    means = SHAPES.project(outline(mean_coefficients(fractions, length), LANDMARKS))
    expected = SHAPES.exp(first, fractions[:, None] * SHAPES.log(first, last))
    np.testing.assert_allclose(SHAPES.dist(means, expected), 0.0, atol=1e-12)


def test_coefficients_have_their_measured_sizes():
    factor = coefficient_factor()
    assert not factor.flags.writeable
    sizes = dict(zip(HARMONICS, np.sqrt(np.sum(np.abs(factor) ** 2, axis=1)), strict=True))
    for harmonic, (_, deviation) in MEASURED.items():
        assert sizes[harmonic] == pytest.approx(deviation, rel=1e-9)
    fine = [sizes[harmonic] for harmonic in range(8, FINEST_HARMONIC + 1)]
    assert np.all(np.diff(fine) < 0.0)
    share = 2.0 * np.sum(np.square(fine)) / np.sum(np.square(list(sizes.values())))
    assert 0.04 < share < 0.06


def test_covariance_has_the_measured_spectrum_and_is_of_full_rank():
    factor = coefficient_factor()
    roots = np.linalg.svd(np.concatenate([factor.real, factor.imag]), compute_uv=False)
    shares = np.cumsum(roots**2) / np.sum(roots**2)
    np.testing.assert_allclose(shares[[0, 1, 2, 4, 9]], SHARES, rtol=1e-9)
    # All that shapes of 50 landmarks can do, but for the harmonic 25.
    assert np.sum(roots > 1e-5 * roots[0]) == SHAPES.dim - 2
    # Deviations move shapes and neither size nor rotation.
    assert np.max(np.abs(np.conj(mean_coefficients(0.5, 0.0)) @ factor)) < 1e-15


def test_sampled_coefficients_have_the_covariance_of_the_factor():
    data = simulate("covariance", data_sets=1, number=20000, trend_length=0.0)
    harmonics = np.array([1, -1, 2, -2, 3, -3])
    turns = np.outer(np.arange(LANDMARKS), harmonics) / LANDMARKS
    found = data.outlines[0] @ np.exp(-2j * np.pi * turns) / LANDMARKS
    found = found - np.array([MEASURED[harmonic][0] for harmonic in harmonics])
    some = coefficient_factor()[[list(HARMONICS).index(harmonic) for harmonic in harmonics]]
    expected = some @ some.conj().T
    sizes = np.sqrt(np.diagonal(expected).real)
    scaled = (found.T @ found.conj() / 20000 - expected) / np.outer(sizes, sizes)
    assert np.max(np.abs(scaled)) < 4.0 * np.sqrt(2.0 / 20000)


def test_shapes_vary_as_those_measured():
    points = SHAPES.project(simulate("many", data_sets=1, number=6470, trend_length=0.0).outlines)
    mean = SHAPES.project(outline(mean_coefficients(0.5, 0.0), LANDMARKS))
    distances = SHAPES.dist(mean, points).reshape((10, 647))
    assert np.mean(distances) == pytest.approx(0.045, abs=0.002)
    assert np.mean(np.max(distances, axis=1)) == pytest.approx(0.12, abs=0.01)
