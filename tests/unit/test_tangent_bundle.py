"""Footpoint and shooting vector as one state, on every space."""

import numpy as np
import pytest

from geodp.manifolds.sphere import Sphere
from geodp.manifolds.supports import ProductSupport
from geodp.manifolds.tangent_bundle import TangentBundle
from geodp.models.geodesic import GeodesicModel


@pytest.fixture(scope="module")
def bundle(manifold):
    return TangentBundle(manifold)


@pytest.fixture(scope="module")
def scene(bundle):
    """Five states, and a step from each that stays well within the injectivity radius."""
    rng = np.random.default_rng(1)
    states = bundle.random_point(rng, (5,))
    step = bundle.random_tangent(rng, states)
    return states, 0.6 * step / bundle.expand(bundle.norm(states, step))


def test_exp_is_the_step_of_the_regression(manifold, bundle, scene):
    (p, v), (u, w) = (bundle.parts(array) for array in scene)
    model = GeodesicModel(manifold)
    expected = model.retract(model.parameters(p, v), model.parameters(u, w))
    found = bundle.parts(bundle.exp(*scene))
    for one, other in zip(found, expected.values(), strict=True):
        np.testing.assert_allclose(one, other, atol=1e-13)


def test_log_undoes_exp(bundle, scene):
    states, step = scene
    found = bundle.log(states, bundle.exp(states, step))
    assert np.max(bundle.norm(states, found - step)) <= 1e-11
    np.testing.assert_allclose(bundle.dist(states, bundle.exp(states, step)), 0.6, rtol=1e-11)


def test_transport_keeps_inner_products(bundle, scene):
    states, step = scene
    rng = np.random.default_rng(2)
    first, second = (bundle.random_tangent(rng, states) for _ in range(2))
    ends = bundle.exp(states, step)
    moved = [bundle.transport(states, step, vector) for vector in (first, second)]
    expected = bundle.inner(states, first, second)
    np.testing.assert_allclose(bundle.inner(ends, *moved), expected, atol=1e-11 * bundle.dim)
    again = bundle.transport_to(states, ends, first)
    assert np.max(bundle.norm(ends, again - moved[0])) <= 1e-11 * bundle.dim


def test_frame_is_orthonormal(bundle, scene):
    states, _ = scene
    frame = bundle.frame(states)
    assert frame.shape == (5, bundle.dim, *bundle.point_shape)
    gram = bundle.coordinates(states[:, None], frame, frame[:, None])
    np.testing.assert_allclose(gram, np.broadcast_to(np.eye(bundle.dim), gram.shape), atol=1e-12)


def test_exp_volume_is_the_determinant_of_exp(bundle, scene, derivative):
    """Of its derivative along the base and along fibres, whose measures the volume multiplies."""
    states, step = (array[:, None] for array in scene)
    end = bundle.exp(states, step)
    frame = bundle.frame(scene[0])

    def moved(size):
        return bundle.coordinates(end, bundle.log(end, bundle.exp(states, step + size * frame)))

    expected = abs(np.linalg.det(derivative(moved)))
    np.testing.assert_allclose(bundle.exp_volume(*scene), expected, rtol=1e-8)


def test_projections_give_states(bundle, scene):
    states, step = scene
    for state in bundle.exp(states, step):
        assert bundle.invalid_reason(state) is None
        np.testing.assert_allclose(bundle.project(state), state, atol=1e-12)
    np.testing.assert_allclose(bundle.project_tangent(states, step), step, atol=1e-12)


def test_states_are_told_from_others():
    bundle = TangentBundle(Sphere(2))
    north, east = np.eye(3)[2], np.eye(3)[0]
    assert bundle.invalid_reason(np.stack([north, east])) is None
    assert "tangent" in bundle.invalid_reason(np.stack([north, north]))
    assert "finite" in bundle.invalid_reason(np.stack([north, np.nan * east]))
    assert "footpoint" in bundle.invalid_reason(np.stack([2.0 * north, east]))


# Supports


def test_draws_lie_in_the_support_and_beyond_is_out(manifold, bundle):
    rng = np.random.default_rng(3)
    centre = manifold.random_point(rng)
    support = ProductSupport(bundle, centre, 0.5, 0.8)
    assert np.all(support.contains(support.draw(rng, (3, 50))))
    unit = manifold.frame(centre)[0]

    def state(away, length):
        p = manifold.exp(centre, away * unit)
        return bundle.join(p, length * manifold.transport(centre, away * unit, unit))

    assert support.contains(state(0.499, 0.799))
    assert not support.contains(state(0.501, 0.1))
    assert not support.contains(state(0.1, 0.801))
    assert not support.contains(np.nan * state(0.1, 0.1))


def test_density_of_draws_gives_the_volume_of_the_support():
    manifold = Sphere(2)
    support = ProductSupport(TangentBundle(manifold), np.eye(3)[0], 2.0, 0.7)
    states = support.draw(np.random.default_rng(4), (20000,))
    inverse = np.exp(-support.log_draw_density(states))
    expected = 2.0 * np.pi * (1.0 - np.cos(2.0)) * np.pi * 0.7**2
    # Six standard errors.
    error = np.std(inverse) / np.sqrt(len(inverse))
    assert abs(np.mean(inverse) - expected) <= 6.0 * error
