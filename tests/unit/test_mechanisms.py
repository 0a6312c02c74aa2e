"""The published mechanism: its densities, their supports and their scales.

That gradients of the model are those of its energy is tested with models.
"""

from dataclasses import replace

import numpy as np
import pytest
from quadrature import beside_the_fit, published_mechanism

from geodp import SPD, DataError, Euclidean, GeodesicModel, Hyperbolic, KendallPlanarShapes, Sphere
from geodp.data.simulate import simulate_geodesic_data
from geodp.manifolds.product import Product
from geodp.manifolds.supports import Ball
from geodp.mechanisms.kng_as_published import PublishedSupport, published_support
from geodp.mechanisms.mechanism import PublicSettings
from geodp.mechanisms.registry import budget_names, mechanism_class, named_in
from geodp.models.sensitivity import gradient_sensitivity
from geodp.randomness import random_directions
from geodp.samplers import choice

NUMBER = 20
NOISE = (0.001, 0.02)
POLE = np.array([0.0, 0.0, 1.0])
SPACES = [Euclidean(3), Sphere(2), Hyperbolic(2), SPD(2), KendallPlanarShapes(5)]


@pytest.fixture(scope="module", params=SPACES, ids=lambda space: space.name)
def mechanism(request):
    return published_mechanism(request.param, NOISE)


def gradient_norms(mechanism, block, footpoints, shooting_vectors):
    """Lengths of the model's gradients at geodesics (data_sets, ...)."""
    model = mechanism.model
    at = model.parameters(footpoints, shooting_vectors)
    gradient = model.energy_gradient(at, mechanism.covariates, mechanism.points, (block,)).gradient
    return mechanism.manifold.norm(footpoints, gradient[block])


def published_scales(mechanism, budget):
    """Sensitivities over the budget, from the formulas of the paper's theorem."""
    tau = mechanism.fit.largest_residual
    lower = mechanism.manifold.curvature_bounds[0]
    if lower >= 0.0:
        return 2.0 * tau / NUMBER / budget, 2.0 * tau / NUMBER / budget
    # The data of the example are said to lie in a ball of radius one.
    reach = np.sqrt(-lower) * (1.0 + tau)
    footpoint = 2.0 * tau / NUMBER * np.cosh(2.0 * reach)
    shooting_vector = tau / NUMBER * np.sinh(2.0 * reach) / reach
    return footpoint / budget, shooting_vector / budget


def footpoints_about_the_fit(mechanism, chains, distance):
    rng = np.random.default_rng(4)
    manifold = mechanism.manifold
    start = np.repeat(np.expand_dims(mechanism.fit.footpoint, 1), chains, axis=1)
    return manifold.exp(start, distance * manifold.random_direction(rng, start))


def test_footpoint_density_is_that_of_the_gradient(mechanism):
    states = footpoints_about_the_fit(mechanism, 3, 0.4)
    found = mechanism.footpoint_target(0.7).log_density(states)
    assert found.shape == (2, 3)
    scales, _ = published_scales(mechanism, 0.7)
    fitted = (mechanism.fit.footpoint, mechanism.fit.shooting_vector)
    p, v = (np.expand_dims(part, 1) for part in fitted)
    carried = mechanism.manifold.transport_to(p, states, v)
    norms = gradient_norms(mechanism, "footpoint", states, carried)
    np.testing.assert_allclose(found, -norms / scales[:, None], rtol=1e-6)


def test_shooting_vector_density_is_that_of_the_gradient(mechanism):
    manifold = mechanism.manifold
    footpoints = footpoints_about_the_fit(mechanism, 2, 0.3)
    target, frame = mechanism.shooting_vector_target(footpoints, 0.4)
    assert target.batch == (2, 2)
    states = 0.7 * random_directions(np.random.default_rng(5), (2, 2, 3, manifold.dim))
    found = target.log_density(states)
    assert found.shape == (2, 2, 3)
    _, scales = published_scales(mechanism, 0.4)
    start = np.expand_dims(footpoints, 2)
    vectors = manifold.vector(np.expand_dims(frame, 2), states)
    start = np.broadcast_to(start, vectors.shape)
    np.testing.assert_allclose(manifold.norm(start, vectors), 0.7)
    norms = gradient_norms(mechanism, "shooting_vector", start, vectors)
    np.testing.assert_allclose(found, -norms / scales[:, None, None], rtol=1e-6)


def test_hessians_describe_the_densities_near_their_centres(mechanism):
    """There the log density is minus the length of the Hessian times the step."""
    rng = np.random.default_rng(6)
    footpoints = footpoints_about_the_fit(mechanism, 2, 0.1)
    first = mechanism.footpoint_target(1.0)
    second, _ = mechanism.shooting_vector_target(footpoints, 1.0)
    for target in (first, second):
        space = target.space
        axis = -space.point_ndim - 1
        coordinates = 0.03 * random_directions(rng, (*target.batch, 5, space.dim))
        frame = np.expand_dims(space.frame(target.centre), axis - 1)
        states = space.exp(np.expand_dims(target.centre, axis), space.vector(frame, coordinates))
        bent = np.squeeze(target.hessian[..., None, :, :] @ coordinates[..., None], axis=-1)
        expected = -np.linalg.norm(bent, axis=-1) / target.scale[..., None]
        np.testing.assert_allclose(target.log_density(states), expected, rtol=0.1)


@pytest.mark.parametrize("name", named_in("studies"))
def test_every_mechanism_of_studies_keeps_to_the_protocol(name, few_points):
    """Shapes of draws, a report for each budget, and the same of one data set alone."""
    entry = named_in("studies")[name]
    k = 1 if entry.most_covariates is None else min(1, entry.most_covariates)
    model, rng = GeodesicModel(Sphere(2), k), np.random.default_rng(7)
    data = simulate_geodesic_data(rng, model, 3, 60, 1e-3, 0.4 if k else None, first_point=POLE)
    options = dict.fromkeys(entry.options, 0.05)
    public = PublicSettings(0.5, POLE, 0.6, 0.9, (0.0, 1.0), options)
    records = data.covariates, data.points
    mechanism = mechanism_class(name).prepare(model, *records, public, model.fit(*records))
    names = budget_names(name, k)
    budgets, draws = dict.fromkeys(names, "2.0"), dict.fromkeys(names, 2)
    for part, number in ((mechanism, 3), (mechanism.take(slice(1, 2)), 1)):
        drawn = part.draw(rng, budgets, draws, choice.plan)
        assert list(drawn.parameters) == list(model.blocks)
        assert drawn.parameters["footpoint"].shape == (number, 2, 3)
        for vectors in list(drawn.parameters.values())[1:]:
            assert vectors.shape in ((number, 2, 1, 3), (number, 2, 2, 3))
        assert drawn.reports.keys() == budgets.keys()
        assert all(array.dtype != object for array in drawn.arrays().values())
    assert (mechanism.name, bool(mechanism.support_description)) == (name, True)
    assert mechanism.guarantee.line.endswith(".")


# Supports


def test_states_outside_their_support_have_no_density(mechanism):
    """Of footpoints and of shooting vectors; each data set has a support of its own."""
    centre = footpoints_about_the_fit(mechanism, 1, 0.1)[:, 0]
    footpoints = footpoints_about_the_fit(mechanism, 2, 0.1)
    radii = np.array([0.3, 0.5])
    restricted = replace(mechanism, support=PublishedSupport(radii, centre, radii))
    first, second = (
        (of.footpoint_target(1.0), of.shooting_vector_target(footpoints, 1.0)[0])
        for of in (mechanism, restricted)
    )
    lengths = np.array([0.0, 0.299, 0.301, 0.499, 0.501, 0.7])
    for free, target in zip(first, second, strict=True):
        space, axis = target.space, -target.space.point_ndim - 1
        middle = target.support.centre
        direction = np.take(space.frame(middle), [0], axis=axis)
        states = space.exp(np.expand_dims(middle, axis), space.expand(lengths) * direction)
        expected = free.log_density(states)
        assert np.all(np.isfinite(expected))
        inside = lengths < target.support.radius[..., None]
        found = target.log_density(states)
        np.testing.assert_array_equal(found, np.where(inside, expected, -np.inf))
        np.testing.assert_array_equal(target.unrestricted(states), expected)
    np.testing.assert_array_equal(second[0].support.centre, centre)
    np.testing.assert_array_equal(second[0].support.radius, radii)
    np.testing.assert_array_equal(second[1].support.radius, np.repeat(radii[:, None], 2, axis=1))
    assert not np.any(second[1].support.centre)
    # The fit's vectors are longer than the bounds: the proposals' centre is not outside.
    assert np.all(np.linalg.norm(second[1].centre, axis=-1) <= radii[:, None] + 1e-12)
    [radius] = restricted.take(slice(1, 2)).footpoint_target(1.0).support.radius
    assert radius == 0.5


TAU = np.array([0.1, 0.3])
CENTRE_ALONE = (None, None)


@pytest.mark.parametrize(
    ("manifold", "data_radius", "limits", "lengths", "radii"),
    [
        # Without data in a ball: the injectivity radius.
        (Sphere(2), None, None, np.pi, np.inf),
        (KendallPlanarShapes(6), None, None, np.pi / 2, np.inf),
        (Euclidean(3), None, None, np.inf, np.inf),
        # With them: twice their reach, and once they have a centre, their reach.
        *((space, 0.7, None, 2.0 * (0.7 + TAU), np.inf) for space in (SPD(2), Sphere(2))),
        *((space, 0.7, CENTRE_ALONE, 2.0 * (0.7 + TAU), 0.7 + TAU) for space in SPACES[:4:2]),
        (KendallPlanarShapes(5), 0.6, CENTRE_ALONE, [1.4, np.pi / 2], [0.7, 0.9]),
        # Footpoints may lie farther away than the data suggest, vectors may not be longer.
        (Sphere(2), 0.5, (0.4, 0.9), 0.9, 0.4),
        (Sphere(2), 0.5, (5.0, 5.0), [1.2, 1.6], np.pi),
        (Sphere(2), None, (0.4, 5.0), np.pi, 0.4),
    ],
)
def test_supports_are_bounded_where_data_are(manifold, data_radius, limits, lengths, radii):
    sensitivity = gradient_sensitivity(GeodesicModel(manifold), TAU, NUMBER, data_radius)
    centre = None if limits is None else manifold.random_point(np.random.default_rng(3))
    support = published_support(manifold, sensitivity, centre, *(limits or ()))
    np.testing.assert_allclose(support.shooting_vector_length, np.broadcast_to(lengths, 2))
    np.testing.assert_allclose(support.footpoint_radius, np.broadcast_to(radii, 2))
    expected = None if centre is None else [centre, centre]
    np.testing.assert_array_equal(support.footpoint_centre, expected)


def test_a_support_without_a_radius_that_it_needs_is_refused():
    """All of a space that no ball fills, and a ball of footpoints."""
    mechanism = published_mechanism(Product([Sphere(1), Sphere(1)]), (0.001,))
    with pytest.raises(DataError, match="no ball about a point is all of"):
        mechanism.footpoint_target(1.0)
    sensitivity = gradient_sensitivity(GeodesicModel(Sphere(2)), TAU, NUMBER)
    with pytest.raises(DataError, match="needs a radius: give footpoint_radius, or data_radius"):
        published_support(Sphere(2), sensitivity, POLE)


@pytest.mark.parametrize(
    ("manifold", "largest"),
    [(SPD(2), np.sqrt(2.0)), (SPD(3), np.sqrt(0.5)), (Hyperbolic(4), 1.0 / 3.0)],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_footpoint_density_that_is_too_wide_is_refused(manifold, largest):
    """The integral is infinite beyond this scale (on SPD(m): Hajri et al. 2016)."""
    mechanism = published_mechanism(manifold, NOISE)
    critical = float(np.max(published_scales(mechanism, 1.0)[0])) / largest
    mechanism.footpoint_target(1.001 * critical)
    with pytest.raises(DataError, match="no finite integral"):
        mechanism.footpoint_target(0.999 * critical)
    ball = replace(mechanism.support, footpoint_centre=mechanism.fit.footpoint, footpoint_radius=1)
    replace(mechanism, support=ball).footpoint_target(0.999 * critical)


@pytest.mark.parametrize("space", [Sphere(2), KendallPlanarShapes(5)], ids=str)
def test_a_ball_as_large_as_the_space_leaves_nothing_out(space):
    """Not even the cut locus, where a distance is the radius up to rounding."""
    rng = np.random.default_rng(9)
    centre = space.random_point(rng, (100,))
    start = np.repeat(np.expand_dims(centre, 1), 100, axis=1)
    states = space.exp(start, space.injectivity_radius * space.random_direction(rng, start))
    assert np.all(Ball(space, centre, np.full(100, space.injectivity_radius)).contains(states))


def test_a_search_with_some_of_many_records_finds_the_modes_of_all():
    """At a footpoint half a radian off, where there is another mode."""
    many = published_mechanism(Sphere(2), (0.01,), 3000)
    place = beside_the_fit(many, 0.5)[:, None]
    positions = []
    for records in (300, 3000):
        searched = replace(many, searched_records=records)
        target, _ = searched.shooting_vector_target(place, 0.3)
        modes = target.other_modes
        positions.append(modes.position[:, :, :1])
        assert modes.log_mass[0, 0, 0] > -2.0
        # The densities are those of all records, and have no slope there.
        assert target.log_density(positions[-1])[0, 0, 0] > -0.01
    few = target.density.thinned(300)
    assert few.covariates.shape == (1, 300, 1)
    # The mode of some records is elsewhere.
    assert few.log_density(positions[-1])[0, 0, 0] < -0.1
