"""Matrices near the edge of their space, as records of a release."""

from dataclasses import replace

import numpy as np
import pytest

from geodp import SPD
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.public_inputs import ADD_OR_REMOVE
from geodp_release.run.subjects import ONE_EACH, subject_records


def mapped(assumptions, covariates, points):
    """Covariates, points and which are valid, of records of a subject each, however many."""
    assumptions = replace(assumptions, neighbours=ADD_OR_REMOVE)
    found = subject_records(assumptions, covariates, points, ONE_EACH)
    return [each[:, 0] for each in (found.covariates, found.points, found.valid)]


def reference_averaged(rng, size, number):
    """Covariances after an average reference: of rank ``size`` - 1, but for rounding."""
    noise = rng.normal(size=(number, size, 40))
    noise -= np.mean(noise, axis=1, keepdims=True)
    return noise @ noise.swapaxes(1, 2) / 40.0


@pytest.mark.parametrize("size", [2, 3, 5])
def test_whether_a_matrix_counts_does_not_depend_on_others(size):
    """Four matrices were judged by another formula than five, and 65,540 than 65,541."""
    rng, space = np.random.default_rng(size), SPD(size)
    points = reference_averaged(rng, size, 40)
    points += rng.choice([0.0, 1e-16, 1e-13, 1e-12, 1e-11], size=(40, 1, 1)) * np.eye(size)
    points[0, :2, :2] = [[0.6, 0.7549834435270749], [0.7549834435270749, 0.95]]
    centre = space.random_point(rng)
    assumptions = Assumptions(space, centre, 0.5, 1.0, (0.0, 1.0), 5, residual_scale=0.1)
    x = np.linspace(0.0, 1.0, 40)
    expected = mapped(assumptions, x, points)
    for _ in range(60):
        some = rng.integers(0, 40, size=rng.integers(1, 10))
        for found, whole in zip(mapped(assumptions, x[some], points[some]), expected, strict=True):
            np.testing.assert_array_equal(found, whole[some])


def test_matrices_of_less_rank_are_no_points_and_the_reason_is_named():
    """86 of 200 were, by the sign of a rounding error, and their mean ended in an overflow."""
    space = SPD(6)
    points = reference_averaged(np.random.default_rng(1), 6, 200)
    assert not np.any(space.are_points(points))
    assert "average reference or fewer samples than channels" in space.invalid_reason(points[0])
    # Those that the centre sees so are not either.
    centre, point = np.diag([1.0, 1e-5]), np.diag([1e-8, 1.0])
    assert SPD(2).are_points(point[None])
    assumptions = Assumptions(SPD(2), centre, 0.5, 1.0, (0.0, 1.0), 5, residual_scale=0.1)
    assert not mapped(assumptions, [0.5], point[None])[2]


def test_matrices_that_were_in_single_precision_are_points_and_symmetric():
    """Of 1,000 such 950 did not count."""
    rng, space = np.random.default_rng(2), SPD(4)
    noise = rng.normal(size=(1000, 4, 40)).astype(np.float32)
    points = np.einsum("nik,njk->nij", noise * np.float32(1.1), noise).astype(float)
    points *= 1.0 + 1e-7 * rng.normal(size=points.shape)
    assert np.all(space.are_points(points))
    assert not np.any(np.all(points == points.swapaxes(1, 2), axis=(1, 2)))
    assumptions = Assumptions(space, np.eye(4), 0.5, 1.0, (0.0, 1.0), 5, residual_scale=0.1)
    _, found, valid = mapped(assumptions, np.full(1000, 0.5), points)
    assert np.all(valid)
    np.testing.assert_array_equal(found, found.swapaxes(1, 2))
