"""What the list of statements says of those that a proof settles, on the smallest examples."""

import numpy as np
import pytest
from scipy.stats import gamma

from geodp import SPD, GeodesicModel, Sphere
from geodp.models.sensitivity import gradient_sensitivity


@pytest.mark.parametrize(("ambient", "own"), [(3, 2), (10, 4)])
def test_projected_noise_is_larger_by_another_ratio_than_printed(ambient, own):
    """Reimherr, Bharath and Soto, theorem 4, which prints D/d."""
    # The share d/D of the squared length of noise in R^D lies in a subspace.
    projected = gamma(ambient).moment(2) * own / ambient
    ratio = projected / gamma(own).moment(2)
    assert ratio == pytest.approx((ambient + 1) / (own + 1))
    assert abs(ratio / (ambient / own) - 1.0) > 0.09


def means_on_circle(angles):
    """Angles of the Frechet means of points on a circle, by a fine grid."""
    grid = np.linspace(-np.pi, np.pi, 20_001)[:-1]
    apart = (grid[:, None] - angles + np.pi) % (2.0 * np.pi) - np.pi
    energy = np.mean(apart**2, axis=1)
    return grid[energy < np.min(energy) + 1e-9]


def test_means_of_evenly_spaced_points_on_a_circle_move_less_than_half_of_it():
    """Reimherr, Bharath and Soto, example 1: n - 1 even places, one of them doubled."""
    for number, means in ((6, 1), (8, 1), (5, 2), (7, 2)):
        places = 2.0 * np.pi * np.arange(number - 1) / (number - 1)
        found = means_on_circle(np.append(places, 0.0))
        assert len(found) == means
        # For even n the mean is the doubled place, and for odd n neither of the two is a place.
        nearest = np.min(np.abs((found[:, None] - places + np.pi) % (2 * np.pi) - np.pi), axis=1)
        assert np.all(nearest < 1e-3) == (means == 1)
        # Another place may be doubled: the farthest is not opposite.
        farthest = np.max(np.abs((places + np.pi) % (2.0 * np.pi) - np.pi))
        if means == 1:
            assert farthest == pytest.approx((number - 2) / (number - 1) * np.pi)


def test_both_gradients_on_the_sphere_have_the_same_sensitivity():
    """Kulkarni and Soto, first version, 4.1, which says that the shooting vector's is higher."""
    found = gradient_sensitivity(GeodesicModel(Sphere(2), 1), np.array([0.3]), 20)
    first, second = found.blocks.values()
    assert first == second


def test_thin_ellipses_that_look_alike_are_far_apart_and_near_ones_look_alike():
    """Kulkarni and Soto, appendix F."""
    manifold, angle = SPD(2), 1e-3
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    thin = np.diag([1.0, 1e-12])
    turned = turn @ thin @ turn.T
    circle = np.linspace(0.0, 2.0 * np.pi, 100)
    outlines = [
        root @ np.stack([np.cos(circle), np.sin(circle)])
        for root in (np.sqrt(thin), turn @ np.sqrt(thin))
    ]
    assert np.max(np.abs(outlines[0] - outlines[1])) < 2e-3
    assert manifold.dist(thin, turned) > 10.0
    # Half axes in any direction differ by a factor of at most exp(r/2).
    rng = np.random.default_rng(1)
    base = manifold.random_point(rng)
    near = manifold.exp(base, 0.1 * manifold.random_direction(rng, base))
    directions = np.stack([np.cos(circle), np.sin(circle)], axis=-1)
    wide, wider = (
        np.sqrt(np.einsum("ki,ij,kj->k", directions, each, directions)) for each in (base, near)
    )
    assert np.max(np.abs(np.log(wide / wider))) <= 0.05 + 1e-12
