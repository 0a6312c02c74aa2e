"""The distribution that follows a density's profile about an axis.

Its density against its own draws and against volumes that are known, and targets symmetric about
the axis, where it is all but exact.  Every comparison refuses a right distribution with probability
6e-5 (four standard errors).
"""

import numpy as np
import pytest
from quadrature import ball_target, distribution, mechanism_of_outlines
from scipy import stats
from scipy.special import betainc, gammaln, logsumexp

from geodp import SPD, Euclidean, KendallPlanarShapes, Sphere
from geodp.randomness import random_stream
from geodp.samplers import matched
from geodp.samplers.axial import AxialDistribution
from geodp.samplers.base import run
from geodp.samplers.matched import Matched

STANDARD_ERRORS = 4.0
FALSE_ALARM = 2.0 * stats.norm.sf(STANDARD_ERRORS)


def stream(*names):
    return random_stream(1, "axial", *names)


def laplace_target(space, radius, aside, sigma):
    """Laplace laws on a ball, with the mode at a fraction of the radius from its centre."""
    centre = space.random_point(np.random.default_rng(0))
    mode = space.exp(centre, aside * radius * space.frame(centre)[-1])
    sigma = np.asarray(sigma)

    def log_density(states):
        return -space.dist(mode, states) / sigma[..., None]

    return ball_target(space, mode, centre, np.full(sigma.shape, radius), log_density, sigma)


def weighed(rng, target, number):
    """Draws of the target's axial law, with their log weights as proposals for the target."""
    law = AxialDistribution.of(target)
    coordinates = law.draw(rng, number)
    states, volume = target.support.place(coordinates)
    log_weight = target.log_density(states) + np.log(volume) - law.log_density(coordinates)
    return states, log_weight


def effective_fraction(log_weight):
    squares = logsumexp(2.0 * log_weight, axis=-1)
    return np.exp(2.0 * logsumexp(log_weight, axis=-1) - squares) / log_weight.shape[-1]


FLAT = [
    (Euclidean(2), 1.5),
    (Sphere(2), 1.0),
    (Euclidean(3), 0.2),
    (SPD(2), 2.0),
    (Sphere(4), np.pi),
    (Euclidean(96), 1.0),
    (KendallPlanarShapes(50), 0.3),
]


@pytest.mark.parametrize(("space", "radius"), FLAT, ids=lambda value: getattr(value, "name", None))
def test_draws_weighed_by_their_density_give_known_volumes(space, radius):
    """Of coordinates in shells, and in halves of them in directions of any kind."""
    dim = space.dim
    target = laplace_target(space, radius, 0.5, [2.0 * radius])
    law = AxialDistribution.of(target)
    # Towards the mode.
    np.testing.assert_allclose(law.axis[0], np.eye(dim)[-1], atol=1e-9)
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
    assert np.all(np.isfinite(target.log_density(target.support.place(drawn)[0])))
    # Beyond the support there is none.
    beyond = 1.001 * radius * drawn / np.linalg.norm(drawn, axis=-1, keepdims=True)
    assert np.all(np.isneginf(law.log_density(beyond)))


def test_members_of_a_batch_have_laws_of_their_own():
    """Of their mode, their scale and their support."""
    space = Sphere(3)
    rng = np.random.default_rng(3)
    centre = space.random_point(rng, (2, 3))
    mode = space.exp(centre, 0.1 * space.random_tangent(rng, centre))
    sigma = np.array([[0.1, 1.0, 0.3], [3.0, 0.02, 0.2]])
    radius = np.array([[0.5, 1.0, np.pi], [0.2, 3.0, 1.5]])

    def law(member=()):
        modes, scales = mode[member], sigma[member]

        def log_density(states):
            return -space.dist(np.expand_dims(modes, -2), states) / scales[..., None]

        target = ball_target(space, modes, centre[member], radius[member], log_density, scales)
        return AxialDistribution.of(target)

    whole = law()
    coordinates = 0.1 * rng.standard_normal((2, 3, 50, 3))
    found = whole.log_density(coordinates)
    for member in np.ndindex(2, 3):
        one = law(tuple(slice(k, k + 1) for k in member))
        part = coordinates[member][None, None]
        np.testing.assert_allclose(found[member], one.log_density(part)[0, 0], rtol=1e-9)
    drawn = whole.draw(stream("batch"), 1000)
    assert np.all(np.isfinite(whole.log_density(drawn)))
    # Each is drawn where its own density is.
    assert np.all(np.max(np.linalg.norm(drawn, axis=-1), axis=-1) <= radius * (1.0 + 1e-12))


# Targets symmetric about the axis

# From nearly flat on its ball to concentrated.
SCALES = np.array([3.0, 0.3, 0.1, 0.03, 0.01, 0.003])
MANY = 3000


def log_share_inside(dim, aside, distance):
    """Logarithm of the share of a sphere about the mode that lies inside the unit ball.

    The cosine of the angle between a direction and the axis, moved to (0, 1), is a beta variable.
    """
    cosine = (1.0 - aside**2 - distance**2) / (2.0 * aside * np.maximum(distance, 1e-300))
    half = 0.5 * (dim - 1)
    with np.errstate(divide="ignore"):
        return np.log(betainc(half, half, np.clip(0.5 * (1.0 + cosine), 0.0, 1.0)))


@pytest.mark.parametrize("aside", [0.3, 0.95])
def test_a_density_in_many_dimensions_is_followed(aside):
    target = laplace_target(Euclidean(96), 1.0, aside, SCALES)
    rng = stream("many", str(aside))
    states, log_weight = weighed(rng, target, MANY)
    assert np.min(effective_fraction(log_weight)) > 0.95
    # What rejection keeps follows the target itself.
    share = np.exp(log_weight - np.max(log_weight, axis=-1, keepdims=True))
    kept = rng.random(share.shape) < share
    distance = target.space.dist(target.centre[:, None], states)
    for member, scale in enumerate(SCALES):

        def log_density(r, scale=scale):
            return 95 * np.log(r) - r / scale + log_share_inside(96, aside, r)

        law = distribution(log_density, 1e-9, 1.0 + aside)
        assert np.sum(kept[member]) > MANY / 5
        assert stats.kstest(distance[member, kept[member]], law).pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("space", "radius", "aside", "least"),
    [
        (Euclidean(2), 1.0, 0.0, 0.85),
        (Euclidean(3), 1.0, 0.5, 0.85),
        (Sphere(2), 3.0, 0.5, 0.85),
        (Sphere(4), 1.0, 0.0, 0.85),
        (SPD(2), 2.0, 0.5, 0.85),
        # Half of this without the volume, which falls towards the cut locus.
        (KendallPlanarShapes(50), 1.2, 0.0, 0.95),
    ],
)
def test_a_density_is_followed_on_every_space(space, radius, aside, least):
    target = laplace_target(space, radius, aside, SCALES[:4] * radius)
    _, log_weight = weighed(stream("every", space.name), target, MANY)
    assert np.all(np.isfinite(log_weight))
    assert np.min(effective_fraction(log_weight)) > least


def test_a_density_of_zero_in_places_does_not_break_the_law():
    """It is followed where it is not zero, and proposed where it is zero at little cost."""
    space = Euclidean(3)

    def log_density(states):
        value = -np.linalg.norm(states, axis=-1) / 0.3
        return np.where(states[..., 0] + 0.2 * states[..., 1] > 0.1, value, -np.inf)

    target = ball_target(space, np.array([0.3, 0.0, 0.0]), np.zeros(3), np.ones(1), log_density)
    _, log_weight = weighed(stream("hole"), target, MANY)
    assert not np.any(np.isnan(log_weight) | np.isposinf(log_weight))
    assert 0.5 < np.mean(np.isfinite(log_weight)) < 1.0


@pytest.mark.parametrize(("space", "sigma"), [(SPD(1), 1.5), (Sphere(1), 0.02)])
def test_spaces_of_one_dimension_do_without(space, sigma):
    """An interval, with the mode beside its middle."""
    target = laplace_target(space, 1.0, 0.5, [sigma])
    rng = stream("line", space.name, str(sigma))
    plan = matched.plan(rng, target, 500, 1e-3, 4, 100)
    state, _ = run(rng, plan.sampler, target, 4000, plan.steps)
    centre = target.support.centre[0]
    vectors = space.log(np.broadcast_to(centre, state.position[0].shape), state.position[0])
    found = space.coordinates(centre, vectors)[:, 0]
    law = distribution(lambda x: -np.abs(x - 0.5) / sigma, -1.0, 1.0)
    assert stats.kstest(found, law).pvalue > FALSE_ALARM


# Published densities of shapes of many landmarks


@pytest.fixture(scope="module")
def outlines():
    return mechanism_of_outlines(stream("outlines"), 2, 60, data_radius=np.pi / 16)


def test_few_steps_suffice_for_shapes_of_fifty_landmarks(outlines):
    rng, budget = stream("published"), 1.0
    footpoints = few_steps(rng, outlines.footpoint_target(budget))
    few_steps(rng, outlines.shooting_vector_target(footpoints[:, :3], budget)[0])


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
        log_weight = Matched(shares).init(stream("without"), target, 300).memory["log_weight"]
        return np.exp(np.max(log_weight, axis=-1) - logsumexp(log_weight, axis=-1)) * 300

    assert np.max(largest_weight(0.1, 0.8, 0.1)) < 3.0
    for uniform in (0.1, 0.9):
        assert np.max(largest_weight(1.0 - uniform, 0.0, uniform)) > 20.0
