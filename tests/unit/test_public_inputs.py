"""Public inputs of a release: what is refused of them, and what follows where they are left out."""

from dataclasses import replace

import numpy as np
import pytest
from test_release_covariates import assumed

import geodp
from geodp import SPD, DataError, Euclidean, Hyperbolic, Sphere
from geodp_release.promise.assumptions import Assumptions


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
        ({"covariate_spread": ("evenly", "oddly")}, "'oddly': give one of evenly, two groups"),
        ({"transformation": "sqrt"}, "give one of none, log"),
        ({"transformation": ("log", "none"), "covariate_range": ((0, 1), (1, 2))}, "no logarithm"),
        (
            {"footpoint_radius": 10.0, "manifold": geodp.Sphere(2)},
            r"no more than 3\.14159 means anything",
        ),
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
    found = assumed(
        geodp.Euclidean(1), 2, shooting_vector_length=1.0, covariate_range=((0.0, 1.0), (0.0, 2.0))
    )
    assert found.shooting_vector_length == (1.0, 1.0)
    assert found.number_of_covariates == 2
    assert found.middles.tolist() == [0.5, 1.0]
    # One of a list is one.
    one = assumed(geodp.Euclidean(1), 1)
    assert one.covariate_range == (10.0, 20.0)
    assert one.shooting_vector_length == 0.6


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
