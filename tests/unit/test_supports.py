"""Supports: even draws and their density, even points, and steps that cannot stay."""

import numpy as np
import pytest

from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.manifolds.supports import Ball, ProductSupport, even_balls
from geodp.manifolds.tangent_bundle import TangentBundle

SPACES = [Euclidean(3), Sphere(2), SPD(2)]


def ball(space):
    rng = np.random.default_rng(1)
    return Ball(space, space.random_point(rng, (2,)), np.array([0.4, 1.1]))


def product(space):
    return ProductSupport(
        TangentBundle(space), space.random_point(np.random.default_rng(1)), 0.6, 1.3
    )


@pytest.mark.parametrize("make", [ball, product])
@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_draws_and_points_measure_the_same_volume(space, make):
    """The mean of one over the density of draws is the volume, and so is that of even points."""
    support = make(space)
    states = support.draw(np.random.default_rng(2), (2, 4000))
    assert np.all(support.contains(states))
    volume = np.mean(np.exp(-support.log_draw_density(states)), axis=-1)
    points, weights = support.even_points(4096)
    points = np.broadcast_to(points, (2, 4096, *support.space.point_shape))
    assert np.all(support.contains(points))
    density = np.exp(support.log_draw_density(points))
    # Weights are volumes relative to coordinates, in which draws are even.
    whole = density * weights
    np.testing.assert_allclose(whole, np.broadcast_to(whole[..., :1], whole.shape), rtol=1e-9)
    coordinates = 1.0 / whole[..., 0]
    np.testing.assert_allclose(np.mean(weights, axis=-1) * coordinates, volume, rtol=0.02)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_the_unit_cube_fills_a_product(space):
    support = product(space)
    bundle, dim = support.space, space.dim
    cube = np.random.default_rng(2).random((400, support.cube_dim))
    # The middle and the edge of one ball or the other.
    cube[:100, dim] = cube[50:150, -1] = 0.0
    cube[100:200, dim] = cube[150:250, -1] = 1.0
    states, volumes = support.from_cube(cube)
    steps = bundle.log(np.broadcast_to(support.origin, states.shape), states)
    np.testing.assert_allclose(volumes, bundle.exp_volume(support.origin, steps), rtol=1e-9)
    for part, level, radius in zip(
        bundle.parts(steps), (cube[:, dim], cube[:, -1]), support.radii, strict=True
    ):
        lengths = space.norm(np.broadcast_to(support.centre, part.shape), part)
        np.testing.assert_allclose(lengths, radius * level ** (1.0 / dim), atol=1e-7)


@pytest.mark.parametrize("space", SPACES, ids=lambda space: space.name)
def test_steps_within_a_product_may_stay(space):
    support = product(space)
    bundle = support.space
    first, second = support.draw(np.random.default_rng(3), (2, 500))
    steps = bundle.coordinates(first, bundle.log(first, second), bundle.frame(first))
    assert np.all(support.may_stay(steps))
    assert np.all(np.linalg.norm(steps, axis=-1) <= support.widest)
    for part in (0, space.dim):
        step = np.zeros(bundle.dim)
        step[part] = 2.7
        assert not support.may_stay(step)


def test_only_the_step_of_a_footpoint_can_be_too_long():
    bundle = TangentBundle(Sphere(2))
    steps = np.array([[3.0, 0.0, 0.0, 9.0], [0.0, 3.2, 0.0, 0.0]])
    np.testing.assert_array_equal(bundle.is_shortest(steps), [True, False])
    np.testing.assert_array_equal(Sphere(2).is_shortest(steps[:, :2]), [True, False])
    assert np.all(TangentBundle(SPD(2)).is_shortest(50.0 * np.ones((1, 6))))


def test_points_of_a_product_fill_both_balls():
    points = even_balls((2, 3), 2048)
    for part, dim in ((points[:, :2], 2), (points[:, 2:], 3)):
        level = np.sort(np.linalg.norm(part, axis=-1) ** dim)
        assert np.max(np.abs(level - (np.arange(2048) + 0.5) / 2048)) < 0.005
    # The balls do not know of one another.
    lengths = np.linalg.norm(points[:, :2], axis=-1), np.linalg.norm(points[:, 2:], axis=-1)
    assert abs(np.corrcoef(lengths)[0, 1]) < 0.02
