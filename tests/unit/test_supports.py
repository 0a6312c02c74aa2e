"""Supports: even draws and their density, points that fill them, and what they contain."""

import numpy as np
import pytest

from geodp import SPD, Euclidean, GeodesicModel, Sphere
from geodp.manifolds.supports import Ball, ProductSupport, even_balls
from geodp.randomness import random_directions

LENGTHS = (1.3, 0.7)


@pytest.fixture
def product(manifold):
    centre = manifold.random_point(np.random.default_rng(1))
    return ProductSupport(manifold, centre, 0.6, LENGTHS)


def unevenness(levels):
    """Largest distance of levels from as many even ones on the unit interval."""
    levels = np.sort(levels, axis=None)
    return np.max(np.abs(levels - (np.arange(levels.size) + 0.5) / levels.size))


@pytest.mark.parametrize("space", [Euclidean(3), Sphere(2), SPD(2)], ids=lambda space: space.name)
def test_draws_in_a_ball_have_their_density(space):
    """Draws are even in coordinates, where the volume density is that of Exp."""
    rng = np.random.default_rng(1)
    ball = Ball(space, space.random_point(rng, (2,)), np.array([0.4, 1.1]))
    states = ball.draw_along(rng, random_directions(rng, (2, 4000, space.dim)))
    assert np.all(ball.contains(states))
    coordinates, density = ball.coordinates(states)
    lengths = np.linalg.norm(coordinates, axis=-1) / ball.radius[:, None]
    assert all(unevenness(each**space.dim) < 0.04 for each in lengths)
    unit = {2: np.pi, 3: 4.0 * np.pi / 3.0}[space.dim]
    expected = -np.log(density) - np.log(unit * ball.radius**space.dim)[:, None]
    np.testing.assert_allclose(ball.log_draw_density(states), expected, atol=1e-9)


def test_points_of_a_product_are_steps_of_the_model(manifold, product):
    """Those of `GeodesicModel.retract`, with coordinates in balls."""
    states, volumes = product.even_points(32)
    balls = even_balls((manifold.dim,) * 3, 32).reshape((32, 3, manifold.dim))
    model = GeodesicModel(manifold, number_of_covariates=2)
    at = [np.broadcast_to(part, states[:, 0].shape) for part in product.origin]
    steps = [
        manifold.tangent(at[0], radius * balls[:, j]) for j, radius in enumerate((0.6, *LENGTHS))
    ]
    expected = model.retract(model.parameters(*at), model.parameters(*steps))
    for found, wanted in zip(np.moveaxis(states, 1, 0), expected.values(), strict=True):
        np.testing.assert_allclose(found, wanted, atol=1e-13)
    np.testing.assert_allclose(volumes, manifold.exp_volume(at[0], steps[0]), rtol=1e-12)


@pytest.mark.parametrize("kind", ["even", "random"])
def test_points_fill_a_product(manifold, product, kind):
    if kind == "even":
        # Low-discrepancy points; else a Kolmogorov-Smirnov test at one in ten thousand.
        states, allowed = product.even_points(512)[0], 0.03
    else:
        states, allowed = product.draw(np.random.default_rng(3), (2, 300)), 0.09
    assert np.all(product.contains(states))
    p, *vectors = product.parts(states)
    found = manifold.dist(product.centre, p), *(manifold.norm(p, v) for v in vectors)
    for lengths, radius in zip(found, (0.6, *LENGTHS), strict=True):
        assert unevenness((lengths / radius) ** manifold.dim) < allowed
    # The balls do not know of one another.
    correlations = np.corrcoef([lengths.ravel() for lengths in found])
    assert np.max(np.abs(correlations - np.eye(3))) < 2.0 * allowed


def test_a_product_contains_nothing_beyond_its_limits(manifold, product):
    unit = manifold.frame(product.centre)[0]

    def contains(away, first, second):
        p = manifold.exp(product.centre, away * unit)
        along = manifold.transport(product.centre, away * unit, unit)
        return product.contains(np.stack([p, first * along, second * along])[None])

    assert contains(0.599, 1.299, 0.699)
    assert not contains(0.601, 0.1, 0.1)
    assert not contains(0.1, 1.301, 0.1)
    assert not contains(0.1, 0.1, 0.701)
    assert not contains(0.1, np.nan, 0.1)
