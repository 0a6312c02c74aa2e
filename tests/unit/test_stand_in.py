"""The stand-in for callosal outlines has the sizes it was made to."""

import numpy as np
import pytest

from geodp import KendallPlanarShapes
from geodp.data.landmarks import crossing_edges, signed_area
from geodp.data.stand_in import coefficient_factor, mean_coefficients, outline, simulate_outlines
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
    # The stream decides them.
    np.testing.assert_array_equal(outlines, simulate(number=1000).outlines)
    for others in (simulate("b", number=1000).outlines, outlines[::-1]):
        assert not np.any(outlines == others)
    assert not any(crossing_edges(each) for each in outlines.reshape((-1, LANDMARKS)))


@pytest.mark.parametrize("length", [0.0, 0.045, 0.2])
def test_means_follow_a_geodesic_of_their_length_at_constant_speed(length):
    data = simulate(number=3, trend_length=length)
    first, last = SHAPES.project(np.stack([data.first_outline, data.last_outline]))
    assert SHAPES.dist(first, last) == pytest.approx(length, abs=1e-12)
    fractions = np.linspace(0.0, 1.0, 9)
    means = SHAPES.project(outline(mean_coefficients(fractions, length), LANDMARKS))
    expected = SHAPES.exp(first, fractions[:, None] * SHAPES.log(first, last))
    np.testing.assert_allclose(SHAPES.dist(means, expected), 0.0, atol=1e-12)


def test_covariance_has_the_measured_spectrum_and_is_of_full_rank():
    factor = coefficient_factor()
    roots = np.linalg.svd(np.concatenate([factor.real, factor.imag]), compute_uv=False)
    shares = np.cumsum(roots**2) / np.sum(roots**2)
    np.testing.assert_allclose(shares[[0, 1, 2, 4, 9]], SHARES, rtol=1e-9)
    # All that shapes of 50 landmarks can do, but for the harmonic 25.
    assert np.sum(roots > 1e-5 * roots[0]) == SHAPES.dim - 2
    # Deviations move shapes and neither size nor rotation.
    assert np.max(np.abs(np.conj(mean_coefficients(0.5, 0.0)) @ factor)) < 1e-15


def test_shapes_vary_as_those_measured():
    points = SHAPES.project(simulate("many", data_sets=1, number=6470, trend_length=0.0).outlines)
    mean = SHAPES.project(outline(mean_coefficients(0.5, 0.0), LANDMARKS))
    distances = SHAPES.dist(mean, points).reshape((10, 647))
    assert np.mean(distances) == pytest.approx(0.045, abs=0.002)
    assert np.mean(np.max(distances, axis=1)) == pytest.approx(0.12, abs=0.01)
