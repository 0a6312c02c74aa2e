"""The published sensitivities against their formulas, and the bounds they claim."""

import numpy as np
import pytest

from geodp.manifolds.registry import make_manifold
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.models.regression import BLOCKS, energy_gradient, fit
from geodp.models.sensitivity import neighbour_ratios, published_sensitivity

TAU = np.array([0.01, 0.2, 0.7])


def data_radius(manifold):
    """Radius of the ball of data, where the sensitivity needs one."""
    return 0.8 if manifold.curvature_bounds[0] < 0.0 else None


@pytest.mark.parametrize(
    ("name", "size"),
    [
        ("euclidean", 3),
        ("sphere", 2),
        ("sphere", 4),
        ("hyperbolic", 1),
        ("kendall", 3),
        ("kendall", 8),
    ],
)
def test_sensitivity_without_negative_curvature_is_twice_tau_over_n(name, size):
    # A radius of the data bounds geodesics, and has no part in the sensitivity.
    for radius, reach in ((None, np.full(3, np.inf)), (0.8, 2.0 * (0.8 + TAU))):
        bound = published_sensitivity(make_manifold(name, size), TAU, 25, data_radius=radius)
        for found in (bound.footpoint, bound.shooting_vector):
            assert np.allclose(found, 2.0 * TAU / 25, rtol=1e-15, atol=0.0)
        assert np.array_equal(bound.tau, TAU)
        np.testing.assert_allclose(bound.reach, reach, rtol=1e-15)


CURVED = [("spd", 2, -0.5), ("spd", 3, -0.5), ("hyperbolic", 2, -1.0), ("hyperbolic", 4, -1.0)]


@pytest.mark.parametrize(("name", "size", "curvature"), CURVED)
def test_sensitivity_under_negative_curvature_is_as_printed(name, size, curvature):
    """Equations 19 and 20, and the proof of theorem D.1, with their kappa_l."""
    radius, number = 0.8, 25
    bound = published_sensitivity(make_manifold(name, size), TAU, number, data_radius=radius)
    angle = np.sqrt(-curvature) * (radius + TAU)
    footpoint = (2.0 * TAU / number) * np.cosh(2.0 * angle)
    shooting_vector = (TAU / number) * np.sinh(2.0 * angle) / angle
    assert np.allclose(bound.footpoint, footpoint, rtol=1e-14, atol=0.0)
    assert np.allclose(bound.shooting_vector, shooting_vector, rtol=1e-14, atol=0.0)
    assert np.allclose(bound.reach, 2.0 * (radius + TAU), rtol=1e-15, atol=0.0)
    assert np.array_equal(bound.tau, TAU)


def test_sensitivity_of_a_point_shaped_ball_is_the_flat_one():
    # Without curvature over no distance; near it the hyperbolic sine has to keep its digits.
    bound = published_sensitivity(SPD(2), np.array([1e-9, 1e-6]), 10, data_radius=0.0)
    expected = 2.0 * np.array([1e-9, 1e-6]) / 10
    assert np.allclose(bound.footpoint, expected, rtol=1e-11, atol=0.0)
    assert np.allclose(bound.shooting_vector, expected, rtol=1e-11, atol=0.0)


@pytest.mark.parametrize(("name", "size", "curvature"), CURVED)
def test_negative_curvature_needs_the_radius_of_the_data(make_records, name, size, curvature):
    space = make_manifold(name, size)
    with pytest.raises(ValueError, match=r"negative curvature.*: set data_radius") as error:
        published_sensitivity(space, 0.1, 10)
    assert space.name in str(error.value)
    data = make_records(space, seed=1, data_shape=(2,))
    with pytest.raises(ValueError, match="set data_radius"):
        neighbour_ratios(space, data.covariates, data.points)


@pytest.mark.parametrize("seed", range(4))
def test_neighbours_within_the_assumptions_stay_within_the_bounds(manifold, seed):
    rng = np.random.default_rng(seed)
    pairs, number, tau = 200, 10, 0.6
    bound = published_sensitivity(manifold, tau, number, data_radius(manifold))
    longest = min(manifold.injectivity_radius, float(bound.reach), 3.0)
    footpoint = manifold.random_point(rng, (pairs,))

    def tangents(points, lengths):
        vectors = manifold.random_tangent(rng, points)
        return manifold.expand(lengths / manifold.norm(points, vectors)) * vectors

    # Half of all lengths and residuals are at their bounds, and so are half of the covariates.
    vector = tangents(footpoint, longest * np.minimum(1.0, 2 * rng.uniform(size=pairs)))
    covariates = np.minimum(1.0, 2 * rng.uniform(size=(pairs, number + 1)))
    axis = -manifold.point_ndim - 1
    predictions = manifold.exp(
        np.expand_dims(footpoint, axis),
        manifold.expand(covariates) * np.expand_dims(vector, axis),
    )
    lengths = tau * np.minimum(1.0, 2 * rng.uniform(size=covariates.shape))
    points = manifold.exp(predictions, tangents(predictions, lengths))

    first, second = (
        energy_gradient(manifold, footpoint, vector, covariates[:, rows], points[:, rows])
        for rows in (slice(1, None), slice(None, -1))
    )
    for block in BLOCKS:
        difference = manifold.norm(footpoint, getattr(first, block) - getattr(second, block))
        assert np.all(difference <= getattr(bound, block) * (1.0 + 1e-9))


@pytest.mark.parametrize("block", BLOCKS)
def test_bounds_are_attained(manifold, block):
    """Two records on opposite sides of the end of a geodesic, in the direction that bends most."""
    number, tau = 10, 0.4
    bound = published_sensitivity(manifold, tau, number, data_radius(manifold))
    rng = np.random.default_rng(5)
    point = manifold.random_point(rng)
    if isinstance(manifold, SPD):
        # The plane of curvature -1/2: two eigenvalues part, and their eigenvectors turn.
        point = np.eye(manifold.size)
        vector = np.diag([1.0, -1.0, 0.0][: manifold.size]) * float(bound.reach) / np.sqrt(2.0)
        across = np.zeros_like(vector)
        across[0, 1] = across[1, 0] = np.sqrt(0.5)
    elif manifold.curvature_bounds[0] < 0.0:
        vector, across = manifold.frame(point)[:2]
        vector = vector * float(bound.reach)
    else:
        # Along the geodesic itself nothing bends, and no positive curvature helps.
        across = manifold.frame(point)[0]
        vector = 0.5 * across
    end = manifold.exp(point, vector)
    residual = tau * manifold.transport(point, vector, across)
    pair = np.stack([manifold.exp(end, residual), manifold.exp(end, -residual)])
    shared = np.broadcast_to(end, (number - 1, *end.shape))
    gradients = [
        getattr(
            energy_gradient(
                manifold, point, vector, np.ones(number), np.concatenate([each[None], shared])
            ),
            block,
        )
        for each in pair
    ]
    difference = manifold.norm(point, gradients[0] - gradients[1])
    assert abs(difference / getattr(bound, block) - 1.0) <= 1e-12


@pytest.mark.parametrize("dimension", [2, 4])
@pytest.mark.parametrize("noise", [0.02, 0.2])
def test_neighbour_ratios_on_the_sphere_are_at_least_one(make_records, dimension, noise):
    sphere = Sphere(dimension)
    data = make_records(sphere, seed=6, number=21, noise=noise, data_shape=(60,))
    ratios = neighbour_ratios(sphere, data.covariates, data.points)
    assert set(ratios) == {"ratio_footpoint", "ratio_shooting_vector", "tau", "converged"}
    assert all(array.shape == (60,) for array in ratios.values())
    assert np.all(ratios["converged"])
    for name in ("ratio_footpoint", "ratio_shooting_vector"):
        assert np.all(ratios[name] >= 1.0)
        assert np.all(np.isfinite(ratios[name]))


@pytest.mark.parametrize(
    ("name", "size"), [("sphere", 2), ("hyperbolic", 2), ("spd", 2), ("kendall", 4)]
)
def test_neighbour_ratios_are_those_of_the_pairs_one_by_one(make_records, name, size):
    manifold = make_manifold(name, size)
    radius = data_radius(manifold)
    data = make_records(manifold, seed=7, number=11, noise=0.1, data_shape=(3,))
    ratios = neighbour_ratios(manifold, data.covariates, data.points, radius)
    for index in range(3):
        covariates, points = data.covariates[index], data.points[index]
        found = fit(manifold, covariates[1:], points[1:])
        place = (manifold, found.footpoint, found.shooting_vector)
        first = energy_gradient(*place, covariates[1:], points[1:])
        second = energy_gradient(*place, covariates[:-1], points[:-1])
        predictions = manifold.exp(
            np.broadcast_to(found.footpoint, points.shape),
            manifold.expand(covariates) * found.shooting_vector,
        )
        tau = np.max(manifold.dist(predictions, points))
        assert ratios["tau"][index] == pytest.approx(tau, rel=1e-9)
        bound = published_sensitivity(manifold, tau, 10, radius)
        for block in BLOCKS:
            difference = getattr(first, block) - getattr(second, block)
            expected = getattr(bound, block) / manifold.norm(found.footpoint, difference)
            assert ratios[f"ratio_{block}"][index] == pytest.approx(expected, rel=1e-8)
