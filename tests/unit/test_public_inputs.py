"""Public inputs of a release: what is refused of them, and what follows where they are left out."""

from dataclasses import replace

import numpy as np
import pytest
from test_release_covariates import assumed

import geodp
from geodp import SPD, DataError, Euclidean, Hyperbolic, Sphere
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.public_inputs import ADD_OR_REMOVE
from geodp_release.run.subjects import ONE_EACH, subject_records


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"covariate_range": ((0, 1),) * 101}, "101 ranges: give 100 or fewer"),
        ({"covariate_range": ((0, 1), (1, 1))}, "the smaller first"),
        # Ranges narrower than their digits.
        ({"covariate_range": ((0, 1), (1.0, np.nextafter(1.0, 2.0)))}, "too narrow"),
        ({"covariate_range": ((0, 1), (1e15, 1e15 + 0.375))}, "too narrow"),
        ({"shooting_vector_length": (1.0,)}, "length has 1 values, and there are 2"),
        ({"shooting_vector_length": (1.0, -1.0)}, "give a positive number"),
        ({"covariate_spread": ("evenly", "oddly")}, "'oddly': give one of 'evenly', 'two groups'"),
        ({"transformation": "sqrt"}, "give one of 'none', 'log'"),
        ({"transformation": ("log", "none"), "covariate_range": ((0, 1), (1, 2))}, "no logarithm"),
        ({"footpoint_radius": 10.0, "manifold": Sphere(2)}, "no more than 3.14159 means anything"),
        ({"centre": "everywhere"}, "centre is 'everywhere': give a point, or one of"),
        ({"centre": "identity"}, "R.3 has no centre called identity: give a point"),
        (
            {"covariate_range": ((0, 1),) * 60, "covariate_spread": "evenly"},
            "60 covariates in 3 dimensions cannot be planned",
        ),
        ({"manifold": type("Other", (), {"name": "some space"})()}, "some space is none: take"),
    ],
)
def test_public_inputs_are_checked(changes, says):
    with pytest.raises(geodp.DataError, match=says):
        assumed(geodp.Euclidean(3), 2, **{"centre": np.array([0.0, 0.0, 1.0])} | changes)


def test_a_centre_has_the_names_of_settings():
    np.testing.assert_array_equal(assumed(geodp.SPD(2), 1, centre="anywhere").centre, np.eye(2))


def test_one_value_of_a_public_input_is_that_of_every_covariate():
    ranges = ((0.0, 1.0), (0.0, 2.0))
    found = assumed(geodp.Euclidean(1), 2, shooting_vector_length=1.0, covariate_range=ranges)
    assert found.shooting_vector_length == (1.0, 1.0)
    assert found.middles.tolist() == [0.5, 1.0]
    # One of a list is one.
    assert assumed(geodp.Euclidean(1), 1).shooting_vector_length == 0.6


def test_radii_that_were_left_out_follow_other_inputs():
    """Where others replace them, or the space is another, as if all had been given at once."""
    none = dict.fromkeys(("footpoint_radius", "shooting_vector_length"))
    left, given = assumed(geodp.Sphere(2), 1, **none), dict.fromkeys(none, 0.5)
    assert (left.footpoint_radius, left.wider) == (np.pi, 8.0)
    assert replace(left, subjects=7).support.radii.tolist() == left.support.radii.tolist()
    found = replace(left, **given)
    assert (found.smallest_radius, found.wider, found.usual_radius) == (None, 1.0, 0.5)
    line = replace(left, manifold=geodp.Euclidean(3))
    assert (line.footpoint_radius, line.smallest_radius) == (1e6, pytest.approx(1e-3))
    # What was given stays.
    small = replace(left, smallest_radius=0.1)
    assert (small.wider, replace(small, **given).wider) == pytest.approx((10.0 * np.pi, 5.0))
    with pytest.raises(geodp.DataError, match="shooting_vector_length is None: give a positive"):
        replace(left, footpoint_radius=0.5)


def rotated(condition):
    turn = np.array([[0.6, -0.8], [0.8, 0.6]])
    matrix = turn @ np.diag([1.0, condition]) @ turn.T
    return 0.5 * (matrix + matrix.T)


FAR = {
    "SPD2 at 9e10": (SPD(2), rotated(9e10), 0.5),
    "H5 at 20": (Hyperbolic(5), np.eye(6)[0], 20.0),
    "H2 at 60": (Hyperbolic(2), np.eye(3)[0], 60.0),
    "H2 60 away": (Hyperbolic(2), np.array([np.cosh(60.0), np.sinh(60.0), 0.0]), 0.5),
    "SPD3 at 1e-160": (SPD(3), 1e-160 * np.eye(3), 1.0),
    "SPD2 at 1e120": (SPD(2), 1e120 * np.eye(2), 1.0),
    # Rounding would lead beyond such a support, and the file of a release would be refused.
    "S2 within 1e-12": (Sphere(2), np.array([0.48, 0.6, 0.64]), 1e-12),
    "R1 at 1e9": (Euclidean(1), np.array([1e9]), 1e-3),
}


@pytest.mark.parametrize(("space", "centre", "radius"), FAR.values(), ids=FAR)
@pytest.mark.filterwarnings("error")
def test_public_inputs_that_lose_digits_are_refused(space, centre, radius):
    """Before any record is seen."""
    with pytest.raises(DataError, match="lose their digits"):
        Assumptions(space, centre, radius, 1.0, (0.0, 1.0), 10)


def test_ends_of_a_range_of_logarithms_are_its_places():
    found = assumed(Euclidean(1), 1, covariate_range=(20.0, 70.0), transformation="log")
    middle = np.sqrt(20.0 * 70.0)
    ends = found.scaled(np.array([20.0, middle, 70.0, 1e-300, 1e300])[:, None])
    np.testing.assert_allclose(ends[:, 0], [-0.5, 0.0, 0.5, -0.5, 0.5], atol=1e-12)
    assert found.middles == pytest.approx([middle])


# Matrices near the edge of their space, as records of a release


def matrices_about(space, centre):
    return Assumptions(
        space, centre, 0.5, 1.0, (0.0, 1.0), 5, neighbours=ADD_OR_REMOVE, residual_scale=0.1
    )


def mapped(assumptions, covariates, points):
    """Covariates, points and which are valid, of records of a subject each, however many."""
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
    assumptions = matrices_about(space, space.random_point(rng))
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
    assert not mapped(matrices_about(SPD(2), centre), [0.5], point[None])[2]


def test_matrices_that_were_in_single_precision_are_points_and_symmetric():
    """Of 1,000 such 950 did not count."""
    rng = np.random.default_rng(2)
    noise = rng.normal(size=(1000, 4, 40)).astype(np.float32)
    points = np.einsum("nik,njk->nij", noise * np.float32(1.1), noise).astype(float)
    points *= 1.0 + 1e-7 * rng.normal(size=points.shape)
    assert not np.any(np.all(points == points.swapaxes(1, 2), axis=(1, 2)))
    _, found, valid = mapped(matrices_about(SPD(4), np.eye(4)), np.full(1000, 0.5), points)
    assert np.all(valid)
    np.testing.assert_array_equal(found, found.swapaxes(1, 2))
