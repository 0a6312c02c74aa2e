"""The distribution that follows a density's profile about an axis.

Its density against its own draws, against volumes that are known, and against targets symmetric
about the axis, where it is all but exact.  Every comparison refuses a right distribution with
probability 6e-5 (four standard errors); there are about two hundred.
"""

from dataclasses import replace

import numpy as np
import pytest
from quadrature import distribution
from scipy import stats
from scipy.special import betainc, gammaln, logsumexp

from geodp.data.stand_in import simulate_outlines
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.manifolds.supports import Ball
from geodp.mechanisms.base import PublicSettings
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers import matched
from geodp.samplers.axial import AxialDistribution
from geodp.samplers.base import Target, run
from geodp.samplers.matched import Matched

STANDARD_ERRORS = 4.0
FALSE_ALARM = 2.0 * stats.norm.sf(STANDARD_ERRORS)
BEYOND_DOUBT = 1e-12


def stream(*names):
    return random_stream(1, "axial", *names)


def ball_target(space, mode, centre, radius, log_density, sigma=1.0):
    """Density on balls; one member for each radius."""
    batch = np.shape(radius)
    return Target(
        space=space,
        unrestricted=log_density,
        centre=np.broadcast_to(mode, (*batch, *space.point_shape)),
        hessian=np.broadcast_to(np.eye(space.dim), (*batch, space.dim, space.dim)),
        scale=np.broadcast_to(sigma, batch),
        support=Ball(
            space, np.broadcast_to(centre, (*batch, *space.point_shape)), np.asarray(radius)
        ),
    )


def laplace_target(space, radius, aside, sigma):
    """Laplace laws on a ball, with the mode at a fraction of the radius from its centre."""
    centre = space.random_point(np.random.default_rng(0))
    mode = space.exp(centre, aside * radius * space.frame(centre)[1])
    sigma = np.asarray(sigma)
    return ball_target(
        space,
        mode,
        centre,
        np.full(sigma.shape, radius),
        lambda states: -space.dist(mode, states) / sigma[..., None],
        sigma,
    )


def places(target, coordinates):
    """States at coordinates about the support's centre, and the volume density there."""
    space = target.space
    centre = np.expand_dims(target.support.centre, -space.point_ndim - 1)
    frame = np.expand_dims(space.frame(target.support.centre), -space.point_ndim - 2)
    vectors = space.vector(frame, coordinates)
    return space.exp(centre, vectors), space.exp_volume(centre, vectors)


def weighed(rng, target, number, law=None):
    """Draws of the target's axial law, with their log weights as proposals for the target."""
    law = AxialDistribution.of(target) if law is None else law
    coordinates = law.draw(rng, number)
    states, volume = places(target, coordinates)
    log_weight = target.log_density(states) + np.log(volume) - law.log_density(coordinates)
    return states, log_weight


def effective_fraction(log_weight):
    return (
        np.exp(2.0 * logsumexp(log_weight, axis=-1) - logsumexp(2.0 * log_weight, axis=-1))
        / (log_weight.shape[-1])
    )


def accepted(rng, log_weight):
    """Which draws rejection keeps: these follow the target itself."""
    share = np.exp(log_weight - np.max(log_weight, axis=-1, keepdims=True))
    return rng.random(share.shape) < share


# The density is that of the draws

FLAT = [
    (Euclidean(2), 1.5),
    (Sphere(2), 1.0),
    (Euclidean(3), 0.2),
    (SPD(2), 2.0),
    (Hyperbolic(4), 2.0),
    (Sphere(4), np.pi),
    (KendallPlanarShapes(5), 1.2),
    (Euclidean(96), 1.0),
    (KendallPlanarShapes(50), 0.3),
]


@pytest.mark.parametrize(("space", "radius"), FLAT, ids=lambda value: getattr(value, "name", None))
def test_draws_weighed_by_their_density_give_known_volumes(space, radius):
    """Of coordinates in shells, and in halves of them in directions of any kind."""
    dim = space.dim
    target = laplace_target(space, radius, 0.5, [2.0 * radius])
    law = AxialDistribution.of(target)
    rng = stream("volumes", space.name)
    number = 20000
    drawn = law.draw(rng, number)[0]
    log_density = law.log_density(drawn[None])[0]
    assert np.all(np.isfinite(log_density))
    length = np.linalg.norm(drawn, axis=-1)
    log_ball = 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim + 1.0) + dim * np.log(radius)
    # Shells that split the ball; the law leaves out what holds less than 1e-7 of the target.
    cuts = np.array([0.02, 0.35, 0.7, 0.98]) ** (1.0 / dim) * radius
    directions = rng.standard_normal((3, dim))
    directions[0] = law.axis[0]
    for share, low, high in zip((0.33, 0.35, 0.28), cuts[:-1], cuts[1:], strict=True):
        shell = (length >= low) & (length < high)
        for part, half in ((1.0, shell), *((0.5, shell & (drawn @ u > 0.0)) for u in directions)):
            values = np.where(half, np.exp(-log_density - log_ball), 0.0)
            error = np.mean(values) - share * part
            assert abs(error) < STANDARD_ERRORS * np.std(values) / np.sqrt(number)


@pytest.mark.parametrize(("space", "radius"), FLAT, ids=lambda value: getattr(value, "name", None))
def test_draws_stay_in_the_support_and_have_a_density(space, radius):
    target = laplace_target(space, radius, 0.9, radius * np.array([5.0, 0.1, 0.001]))
    law = AxialDistribution.of(target)
    drawn = law.draw(stream("support", space.name), 2000)
    assert drawn.shape == (3, 2000, space.dim)
    assert np.all(np.linalg.norm(drawn, axis=-1) <= radius * (1.0 + 1e-12))
    assert np.all(np.isfinite(law.log_density(drawn)))
    assert np.all(np.isfinite(target.log_density(places(target, drawn)[0])))
    # Beyond the support there is none.
    beyond = 1.001 * radius * drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    assert np.all(np.isneginf(law.log_density(beyond)))


@pytest.mark.parametrize(("space", "radius"), FLAT, ids=lambda value: getattr(value, "name", None))
def test_law_is_symmetric_about_its_axis(space, radius):
    target = laplace_target(space, radius, 0.4, [0.5 * radius])
    law = AxialDistribution.of(target)
    axis = law.axis[0]
    # Towards the mode.
    np.testing.assert_allclose(axis, np.eye(space.dim)[1], atol=1e-9)
    rng = stream("symmetry", space.name)
    drawn = law.draw(rng, 4000)
    along = drawn @ axis
    across = drawn - along[..., None] * axis
    turned = rng.standard_normal(across.shape)
    turned -= np.sum(turned * axis, axis=-1, keepdims=True) * axis
    turned *= (np.linalg.norm(across, axis=-1) / np.linalg.norm(turned, axis=-1))[..., None]
    same = law.log_density(drawn)
    for other in (-across, turned):
        found = law.log_density(along[..., None] * axis + other)
        # A few lie so near the edge of a cell that rounding takes them across.
        close = np.abs(found - same) <= 1e-9 * np.abs(same)
        assert np.mean(close) > 0.999
    # Draws show it too: in any direction across the axis they are as often on either side.
    normal = rng.standard_normal((2, space.dim))
    for one in normal - (normal @ axis)[:, None] * axis:
        positive = int(np.sum(drawn[0] @ one > 0.0))
        assert stats.binomtest(positive, 4000).pvalue > FALSE_ALARM


def test_what_tilts_a_density_across_the_axis_is_averaged_over_opposite_directions():
    space, centre, mode = Euclidean(3), np.zeros(3), np.array([0.5, 0.0, 0.0])
    tilt = np.array([0.0, 3.0, 1.0])
    laws = [
        AxialDistribution.of(
            ball_target(
                space,
                mode,
                centre,
                np.ones(1),
                lambda states, way=way: (
                    states @ (way * tilt) - np.linalg.norm(states - mode, axis=-1)
                ),
            )
        )
        for way in (1.0, -1.0)
    ]
    np.testing.assert_allclose(laws[0].log_mass, laws[1].log_mass, rtol=1e-12)


def test_members_of_a_batch_have_laws_of_their_own():
    """Of their mode, their scale and their support."""
    space = Sphere(3)
    rng = np.random.default_rng(3)
    centre = space.random_point(rng, (2, 3))
    mode = space.exp(centre, 0.1 * space.random_tangent(rng, centre))
    sigma = np.array([[0.1, 1.0, 0.3], [3.0, 0.02, 0.2]])
    radius = np.array([[0.5, 1.0, np.pi], [0.2, 3.0, 1.5]])

    def target(member=()):
        modes, scales = mode[member], sigma[member]
        return Target(
            space=space,
            unrestricted=lambda states: (
                -space.dist(np.expand_dims(modes, -2), states) / scales[..., None]
            ),
            centre=modes,
            hessian=np.broadcast_to(np.eye(3), (*scales.shape, 3, 3)),
            scale=scales,
            support=Ball(space, centre[member], radius[member]),
        )

    whole = AxialDistribution.of(target())
    coordinates = 0.1 * rng.standard_normal((2, 3, 50, 3))
    found = whole.log_density(coordinates)
    for member in np.ndindex(2, 3):
        one = AxialDistribution.of(target(tuple(slice(k, k + 1) for k in member)))
        part = coordinates[member][None, None]
        np.testing.assert_allclose(found[member], one.log_density(part)[0, 0], rtol=1e-9)
    drawn = whole.draw(stream("batch"), 1000)
    longest = np.max(np.linalg.norm(drawn, axis=-1), axis=-1)
    assert np.all(longest <= radius * (1.0 + 1e-12))
    # Each is proposed where its own target is.
    weights = target().log_density(places(target(), drawn)[0])
    assert np.all(np.isfinite(weights))


# Targets symmetric about the axis

# From nearly flat on its ball to concentrated.
SCALES = np.array([3.0, 0.3, 0.1, 0.03, 0.01, 0.003])
MANY = 3000


def log_volume(space, radius):
    """Logarithm of the area of a sphere of a radius, up to a constant."""
    if isinstance(space, Euclidean):
        return (space.dim - 1) * np.log(radius)
    return np.log(np.sin(2.0 * radius)) + (space.dim - 2) * np.log(np.sin(radius))


CENTRED = [
    (Euclidean(96), 1.0),
    (KendallPlanarShapes(50), 0.3),
    (KendallPlanarShapes(50), 1.2),
]
SHAPES = CENTRED[2]


@pytest.mark.parametrize(("space", "radius"), CENTRED)
def test_a_round_density_in_many_dimensions_is_followed(space, radius):
    sigma = SCALES * radius
    target = laplace_target(space, radius, 0.0, sigma)
    rng = stream("centred", space.name, str(radius))
    states, log_weight = weighed(rng, target, MANY)
    assert np.all(np.isfinite(log_weight))
    assert np.min(effective_fraction(log_weight)) > 0.95
    kept = accepted(rng, log_weight)
    distance = space.dist(target.centre[:, None], states)
    for member, scale in enumerate(sigma):
        law = distribution(
            lambda r, scale=scale: log_volume(space, r) - r / scale, 1e-9, radius * (1.0 - 1e-12)
        )
        assert np.sum(kept[member]) > MANY / 4
        assert stats.kstest(distance[member, kept[member]], law).pvalue > FALSE_ALARM


def test_a_law_that_forgets_the_volume_is_refused(monkeypatch):
    """What these weights can see."""
    space, radius = SHAPES
    target = laplace_target(space, radius, 0.0, SCALES[:2] * radius)
    flat = KendallPlanarShapes(50)
    monkeypatch.setattr(flat, "exp_volume", lambda point, vector: np.ones(vector.shape[:-1]))
    support = replace(target.support, space=flat)
    wrong = AxialDistribution.of(replace(target, space=flat, support=support))
    _, log_weight = weighed(stream("forgetful"), target, MANY, wrong)
    assert np.max(effective_fraction(log_weight)) < 0.5


def log_share_inside(dim, radius, aside, distance):
    """Logarithm of the share of a sphere about the mode that lies inside the ball.

    The cosine of the angle between a direction and the axis, moved to (0, 1), is a beta variable.
    """
    cosine = (radius**2 - aside**2 - distance**2) / (2.0 * aside * np.maximum(distance, 1e-300))
    half = 0.5 * (dim - 1)
    with np.errstate(divide="ignore"):
        return np.log(betainc(half, half, np.clip(0.5 * (1.0 + cosine), 0.0, 1.0)))


@pytest.mark.parametrize("aside", [0.3, 0.7, 0.95])
def test_a_density_beside_the_centre_of_its_ball_is_followed_in_many_dimensions(aside):
    space, radius = Euclidean(96), 1.0
    target = laplace_target(space, radius, aside, SCALES)
    rng = stream("beside", str(aside))
    states, log_weight = weighed(rng, target, MANY)
    assert np.all(np.isfinite(log_weight))
    assert np.min(effective_fraction(log_weight)) > 0.95
    kept = accepted(rng, log_weight)
    distance = space.dist(target.centre[:, None], states)
    for member, scale in enumerate(SCALES):
        law = distribution(
            lambda r, scale=scale: (
                log_volume(space, r) - r / scale + log_share_inside(96, radius, aside, r)
            ),
            1e-9,
            radius + aside,
        )
        assert np.sum(kept[member]) > MANY / 5
        assert stats.kstest(distance[member, kept[member]], law).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("space", "radius"),
    [(Euclidean(2), 1.0), (Euclidean(3), 1.0), (Sphere(2), 3.0), (Sphere(4), 1.0), (SPD(2), 2.0)],
    ids=lambda value: getattr(value, "name", None),
)
@pytest.mark.parametrize("aside", [0.0, 0.5])
def test_few_dimensions_are_followed_as_well(space, radius, aside):
    target = laplace_target(space, radius, aside, SCALES[:4] * radius)
    _, log_weight = weighed(stream("few", space.name, str(aside)), target, MANY)
    assert np.all(np.isfinite(log_weight))
    assert np.min(effective_fraction(log_weight)) > 0.85


# Densities with a hole, and places without directions


def test_a_density_of_zero_in_places_does_not_break_the_law():
    """It is followed where it is not zero, and proposed where it is zero at little cost."""
    space = Euclidean(3)

    def log_density(states):
        value = -np.linalg.norm(states, axis=-1) / 0.3
        return np.where(states[..., 0] + 0.2 * states[..., 1] > 0.1, value, -np.inf)

    target = ball_target(space, np.array([0.3, 0.0, 0.0]), np.zeros(3), np.ones(1), log_density)
    law = AxialDistribution.of(target)
    assert not np.any(np.isnan(law.log_mass))
    states, log_weight = weighed(stream("hole"), target, MANY, law)
    assert not np.any(np.isnan(log_weight) | np.isposinf(log_weight))
    assert 0.5 < np.mean(np.isfinite(log_weight)) < 1.0
    # Nothing is left out: the weighed draws have the target's mass in each part.
    axis = (np.arange(100) + 0.5) / 50.0 - 1.0
    nodes = np.stack(np.meshgrid(axis, axis, axis, indexing="ij"), axis=-1).reshape((-1, 3))
    mass = np.exp(log_density(nodes)) * (np.linalg.norm(nodes, axis=-1) < 1.0)
    expected = np.sum(mass * (nodes[:, 1] > 0.0)) / np.sum(mass)
    weight = np.exp(log_weight[0])
    found = np.sum(weight * (states[0, :, 1] > 0.0)) / np.sum(weight)
    error = STANDARD_ERRORS * 0.5 / np.sqrt(MANY * effective_fraction(log_weight)[0])
    assert abs(found - expected) < error + 0.005


@pytest.mark.parametrize("sigma", [1.5, 0.02])
@pytest.mark.parametrize("space", [SPD(1), Sphere(1)], ids=lambda space: space.name)
def test_spaces_of_one_dimension_do_without(space, sigma):
    """An interval, with the mode beside its middle."""
    radius, aside = 1.0, 0.5
    centre = space.random_point(np.random.default_rng(0))
    frame = space.frame(centre)[0]
    mode = space.exp(centre, aside * frame)
    target = ball_target(
        space,
        mode,
        centre,
        np.array([radius]),
        lambda states: -space.dist(mode, states) / sigma,
        np.array([sigma]),
    )
    rng = stream("line", space.name, str(sigma))
    plan = matched.plan(rng, target, 500, 1e-3, 4, 100)
    state, _ = run(rng, plan.sampler, target, 4000, plan.steps)
    vectors = space.log(np.broadcast_to(centre, state.position[0].shape), state.position[0])
    found = space.inner(centre, vectors, frame)
    law = distribution(lambda x: -np.abs(x - aside) / sigma, -radius, radius)
    assert stats.kstest(found, law).pvalue > FALSE_ALARM


# Published densities of shapes of many landmarks


@pytest.fixture(scope="module")
def outlines():
    """The published mechanism for outlines of 60 subjects, two data sets."""
    space = KendallPlanarShapes(50)
    data = simulate_outlines(stream("outlines"), 2, 60)
    covariates, points = (data.ages - 50.0) / 40.0, space.project(data.outlines)
    model = GeodesicModel(space)
    found = model.fit(covariates, points)
    assert np.all(found.converged)
    public = PublicSettings(data_radius=np.pi / 16, centre=found.footpoint)
    return KNGAsPublished.prepare(model, covariates, points, public, found)


@pytest.mark.parametrize("budget", [0.02, 1.0])
def test_few_steps_suffice_for_shapes_of_fifty_landmarks(outlines, budget):
    rng = stream("published", str(budget))
    footpoint_target = outlines.footpoint_target(budget)
    footpoints = few_steps(rng, footpoint_target)
    shooting_vector_target, _ = outlines.shooting_vector_target(footpoints[:, :3], budget)
    few_steps(rng, shooting_vector_target)


def few_steps(rng, target):
    assert target.space.dim == 96
    plan = matched.plan(rng, target, 400, 0.01, 1, 400)
    assert plan.largest_weight < 5.0
    assert not plan.cut_short
    assert plan.steps <= 20
    state, share = run(rng, plan.sampler, target, 40, max(plan.steps, 10))
    assert np.min(share) > 0.5
    assert np.all(np.isfinite(state.log_density))
    return state.position


def test_without_the_axial_distribution_weights_are_large(outlines):
    """What these limits can see: the mass lies neither near the mode nor all over."""
    target = outlines.footpoint_target(1.0)

    def largest_weight(*shares):
        log_weight = Matched(shares).init(stream("without"), target, 600).memory["log_weight"]
        return np.exp(np.max(log_weight, axis=-1) - logsumexp(log_weight, axis=-1)) * 600

    assert np.max(largest_weight(0.1, 0.8, 0.1)) < 3.0
    for uniform in (0.1, 0.3, 0.9):
        assert np.max(largest_weight(1.0 - uniform, 0.0, uniform)) > 20.0
