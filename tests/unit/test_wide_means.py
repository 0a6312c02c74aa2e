"""Means that have several minima or saddles, or that rounding ends."""

import numpy as np
import pytest

import geodp
from geodp.manifolds.registry import make_manifold
from geodp.models.geodesic import GeodesicModel

SPHERE = make_manifold("sphere", 2)
POLE = np.array([0.0, 0.0, 1.0])


def around_pole(rng, number, scale):
    flat = np.pad(rng.normal(scale=scale, size=(number, 2)), ((0, 0), (0, 1)))
    return SPHERE.exp(POLE, flat)


def triangle():
    """Three points of the equator, evenly spaced: their mean is a pole, a right angle away."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    return np.stack([np.cos(angles), np.sin(angles), np.zeros(3)], axis=1)


def test_mean_is_no_saddle():
    with pytest.warns(RuntimeWarning, match="another minimum may be as low"):
        found = geodp.mean(triangle(), SPHERE)
    assert abs(found.footpoint[2]) == pytest.approx(1.0)
    assert found.energy == pytest.approx(np.pi**2 / 8.0)
    assert found.converged


def test_mean_of_points_everywhere_is_the_lowest():
    """Lower than at each of many points of a grid, of which some are in another valley."""
    rng = np.random.default_rng(5)
    everywhere = rng.normal(size=(2, 4000, 3))
    points, grid = everywhere / np.linalg.norm(everywhere, axis=-1, keepdims=True)
    for some in np.split(points[:120], 6):
        found = GeodesicModel(SPHERE, 0).fit(None, some)
        energies = 0.5 * np.mean(SPHERE.dist(grid[:, None], some) ** 2, axis=1)
        assert found.energy <= np.min(energies)


@pytest.mark.parametrize("far", [(0.0, 0.0, -1.0), (1e-3, 0.0, -1.0), (0.1, 0.0, -1.0)])
def test_one_record_near_the_antipode_moves_a_mean_by_its_part(far):
    rng, far = np.random.default_rng(6), np.array(far) / np.linalg.norm(far)
    near = around_pole(rng, 999, 0.1)
    with pytest.warns(RuntimeWarning, match="more than half the injectivity radius"):
        found = geodp.mean(np.concatenate([near, [far]]), SPHERE)
    assert found.converged
    moved = SPHERE.dist(found.footpoint, geodp.mean(near, SPHERE).footpoint)
    # The energy of the others bends by as much less than one as their scatter bends space.
    assert 0.0 < moved <= 1.01 * np.pi / 999.0


def test_a_wide_data_set_leaves_others_alone():
    rng = np.random.default_rng(7)
    both = np.stack([triangle(), around_pole(rng, 3, 0.1)])
    found = GeodesicModel(SPHERE, 0).fit(None, both)
    alone = GeodesicModel(SPHERE, 0).fit(None, both[1])
    np.testing.assert_allclose(found.footpoint[1], alone.footpoint, atol=1e-12)
    assert found.energy[0] == pytest.approx(np.pi**2 / 8.0)


def test_mean_ends_where_rounding_does():
    """The relative gradient that was asked for is below what whitening such matrices leaves."""
    rng, size = np.random.default_rng(8), 12
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    root = turn * np.sqrt(np.geomspace(1.0, 5e-9, size))
    logarithms = rng.normal(size=(288, size, size)) / size
    values, vectors = np.linalg.eigh(logarithms + logarithms.swapaxes(1, 2))
    scatter = (vectors * np.exp(values)[:, None, :]) @ vectors.swapaxes(1, 2)
    found = geodp.mean(root @ scatter @ root.T, geodp.SPD(size))
    assert found.converged
    assert 1e-10 < found.gradient_norm < 1e-8
    assert found.iterations < 25
