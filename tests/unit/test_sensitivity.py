"""The published sensitivities: attained within their assumptions, and refused elsewhere."""

import numpy as np
import pytest

from geodp import SPD, DataError, GeodesicModel, Huber, Sphere
from geodp.manifolds.product import Product
from geodp.manifolds.registry import make_manifold
from geodp.models.sensitivity import (
    check_data_radius,
    gradient_sensitivity,
    mean_sensitivity,
    neighbour_ratios,
)

BLOCKS = ("footpoint", "shooting_vector")

TAU = np.array([0.01, 0.2, 0.7])

# Of the ball of data; it has a part in the sensitivity under negative curvature alone.
RADIUS = 0.8


def test_negative_curvature_needs_the_radius_of_the_data():
    with pytest.raises(ValueError, match=r"^SPD\(2\) has negative curv.*: give data_radius"):
        gradient_sensitivity(GeodesicModel(SPD(2)), 0.1, 10)


def gradient_changes(model, at, x, points):
    """Lengths of the change of the gradient between data sets without the first and last record."""
    first, second = (
        model.energy_gradient(at, x[:, rows], points[:, rows]).gradient
        for rows in (slice(1, None), slice(None, -1))
    )
    return {b: model.manifold.norm(at["footpoint"], first[b] - second[b]) for b in BLOCKS}


def test_bounds_are_attained(manifold):
    """Two records on opposite sides of the end of a geodesic, in the direction that bends most."""
    number, tau, model = 10, 0.4, GeodesicModel(manifold)
    bound = gradient_sensitivity(model, tau, number, RADIUS)
    point = manifold.random_point(np.random.default_rng(5))
    if isinstance(manifold, SPD):
        # The plane of curvature -1/2: two eigenvalues part, and their eigenvectors turn.
        point = np.eye(manifold.size)
        vector = np.diag([1.0, -1.0, 0.0][: manifold.size]) * float(bound.reach) / np.sqrt(2.0)
        across = np.zeros_like(vector)
        across[0, 1] = across[1, 0] = np.sqrt(0.5)
    elif isinstance(manifold, Product) and manifold.curvature_bounds[0] < 0.0:
        # The same plane of its matrices, behind a circle.
        _, one, across, other = manifold.frame(point)
        vector = float(bound.reach) * (one - other) / np.sqrt(2.0)
    elif manifold.curvature_bounds[0] < 0.0:
        vector, across = manifold.frame(point)[:2]
        vector = vector * float(bound.reach)
    else:
        # Along the geodesic itself nothing bends, and no positive curvature helps.
        across = manifold.frame(point)[0]
        vector = 0.5 * across
    end = manifold.exp(point, vector)
    residual = tau * manifold.transport(point, vector, across)
    sides = [manifold.exp(end, side * residual) for side in (1.0, -1.0)]
    points = np.stack([sides[0], *[end] * (number - 1), sides[1]])
    at = model.parameters(point[None], vector[None])
    changes = gradient_changes(model, at, np.ones((1, number + 1)), points[None])
    for block, change in changes.items():
        assert abs(change / bound.blocks[block] - 1.0) <= 1e-12


@pytest.mark.parametrize(("name", "size"), [("spd", 2), ("kendall", 4)])
def test_neighbour_ratios_are_those_of_the_pairs_one_by_one(make_records, name, size):
    manifold = make_manifold(name, size)
    model = GeodesicModel(manifold)
    data = make_records(manifold, seed=7, number=11, noise=0.1, data_shape=(3,))
    ratios = neighbour_ratios(model, data.covariates, data.points, RADIUS)
    bent = manifold.curvature_bounds[0] < 0.0
    assert np.all(ratios["converged"])
    for index in range(3):
        x, points = (each[index : index + 1] for each in (data.covariates, data.points))
        found = model.fit(x[:, 1:], points[:, 1:])
        tau = np.max(manifold.dist(found.predict(x[..., None]), points))
        assert ratios["tau"][index] == pytest.approx(tau, rel=1e-9)
        bound = gradient_sensitivity(model, tau, 10, RADIUS)
        for block, change in gradient_changes(model, found.parameters, x, points).items():
            expected = bound.blocks[block] / change
            assert expected >= 1.0
            assert ratios[f"ratio_{block}"][index] == pytest.approx(expected, rel=1e-8)
            if bent:
                # No ball that holds the records is smaller.
                assert ratios[f"ratio_{block}_smallest_ball"][index] < expected


# Frechet means


def test_mean_gradient_has_the_published_sensitivity():
    """``2 r (2 - h) / n``; h is ``2 r cot(2 r)`` on the sphere, 1 without positive curvature."""
    radius, number = 0.3, 25
    h = 2.0 * radius / np.tan(2.0 * radius)
    # A circle has no curvature.
    flat = [(*space, 1.0) for space in (("spd", 2), ("euclidean", 3), ("sphere", 1))]
    for name, size, factor in (("sphere", 3, 2.0 - h), *flat):
        model = GeodesicModel(make_manifold(name, size), 0)
        bound = gradient_sensitivity(model, TAU, number, radius)
        np.testing.assert_allclose(
            bound.blocks["footpoint"], np.full(3, 2.0 * radius * factor / number), rtol=1e-14
        )
    h = 4.0 * radius / np.tan(4.0 * radius)
    model = GeodesicModel(make_manifold("kendall", 4), 0)
    assert mean_sensitivity(model, number, radius) == pytest.approx(
        2.0 * radius * (2.0 - h) / (number * h), rel=1e-14
    )


@pytest.mark.parametrize(
    ("name", "size", "radius"), [("sphere", 2, 0.7), ("spd", 2, 1.0), ("euclidean", 3, 1.0)]
)
def test_means_of_neighbours_in_a_ball_stay_within_the_bound(name, size, radius):
    manifold, rng = make_manifold(name, size), np.random.default_rng(8)
    pairs, number = 300, 5
    centre = manifold.random_point(rng, (pairs, 1))
    places = np.broadcast_to(centre, (pairs, number + 1, *manifold.point_shape))
    # Records on both sides of a random direction, most of them at the rim.
    signs = rng.choice([-1.0, 1.0], (pairs, number + 1))
    signs[:, 0], signs[:, -1] = 1.0, -1.0
    steps = manifold.expand(signs) * manifold.random_direction(rng, centre)
    steps = steps + 0.1 * manifold.random_direction(rng, places)
    lengths = radius * np.minimum(1.0, 2.0 * rng.random((pairs, number + 1)))
    lengths[:, [0, -1]] = radius
    points = manifold.exp(places, steps * manifold.expand(lengths / manifold.norm(places, steps)))
    model = GeodesicModel(manifold, 0)
    moved = manifold.dist(
        *(model.fit(None, each).footpoint for each in (points[:, 1:], points[:, :-1]))
    )
    bound = mean_sensitivity(model, number, radius)
    assert np.max(moved) <= bound * (1.0 + 1e-9)
    # The simulation looks near the worst case.
    assert np.max(moved) >= 0.8 * 2.0 * radius / number
    if name == "euclidean":
        assert bound == pytest.approx(2.0 * radius / number, rel=1e-15)


@pytest.mark.parametrize(
    ("model", "radius", "message"),
    [
        (GeodesicModel(Sphere(2), 2), 0.3, "published"),
        (GeodesicModel(Sphere(2), 0, Huber(0.1)), 0.3, "published"),
        (GeodesicModel(Sphere(2), 0), None, "give data_radius"),
        # A quarter of a turn; and half of one of a circle, beyond which means jump.
        (GeodesicModel(Sphere(2), 0), 0.8, "0.7854"),
        (GeodesicModel(Sphere(1), 0), np.pi / 2.0, "below 1.571"),
    ],
)
def test_what_no_theorem_covers_is_refused(model, radius, message):
    for bound in (
        lambda: mean_sensitivity(model, 10, radius),
        lambda: gradient_sensitivity(model, TAU, 10, radius),
    ):
        with pytest.raises(ValueError, match=message):
            bound()


def test_a_geodesic_has_no_sensitivity_of_means():
    with pytest.raises(DataError, match="Frechet means only"):
        mean_sensitivity(GeodesicModel(Sphere(2), 1), 10, 0.3)


def test_a_radius_too_small_for_the_data_is_refused():
    space = SPD(2)
    identity = np.broadcast_to(np.eye(2), (2, 5, 2, 2))
    steps = np.linspace(-1.0, 1.0, 5)[:, None] * np.array([[0.1], [0.3]])[:, None] * [1.0, 0.0, 0.0]
    points = space.exp(identity, space.tangent(identity, steps))
    check_data_radius(space, points, None)
    check_data_radius(space, points, 0.3)
    with pytest.raises(DataError, match=r"two records are 0\.6 apart, and no ball of radius 0\.29"):
        check_data_radius(space, points, 0.29)
