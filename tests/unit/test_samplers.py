"""Matched chains, their proposals, plans and traces; `test_distributions` has laws by quadrature.

Every comparison refuses a right sampler with probability 6e-5 (four standard errors).
"""

from dataclasses import replace

import numpy as np
import pytest
from quadrature import (
    PolarChart,
    ball_target,
    beside_the_fit,
    distribution,
    laplace_radius,
    laplace_target,
    law_of,
    published_mechanism,
)
from scipy import stats
from scipy.special import gammaln, logsumexp

from geodp import SPD, Euclidean, Hyperbolic, KendallPlanarShapes, Sphere
from geodp.randomness import random_stream
from geodp.samplers import matched
from geodp.samplers.axial import AxialDistribution
from geodp.samplers.kernel import Modes, run, trace
from geodp.samplers.matched import Matched
from geodp.samplers.random_walk import RandomWalk

FALSE_ALARM = 2.0 * stats.norm.sf(4.0)
BEYOND_DOUBT = 1e-12

SPHERE = Sphere(2)
# Two data sets on the sphere, concentrated and widely spread.
MECHANISM = published_mechanism(SPHERE, (0.001, 0.1))


def planned(rng, target, **changes):
    settings = {"proposals": 1000, "total_variation": 1e-3, "fewest": 8, "most": 100}
    return matched.plan(rng, target, **(settings | changes))


def draw(target, chains, *names):
    """Last states of chains, as the workflow draws them."""
    rng = random_stream(1, "samplers", *names)
    plan = planned(rng, target)
    state, _ = run(rng, plan.sampler, target, chains, plan.steps)
    return state.position


# Laplace distributions, known exactly


LAPLACE = [
    *((Sphere(2), 0.5), (KendallPlanarShapes(4), 0.3), (SPD(2), 0.5), (Euclidean(3), 0.7)),
    *((Hyperbolic(1), 0.5), (Hyperbolic(2), 0.5)),
]


@pytest.mark.parametrize(("space", "sigma"), LAPLACE)
def test_laplace_radius_on_every_space(space, sigma):
    target = laplace_target(space, [sigma])
    # The chains walk in blocks of a few steps.
    away = space.dist(target.centre[0], draw(target, 6000, "laplace", space.name)[0])
    assert stats.kstest(away, laplace_radius(space, sigma)).pvalue > FALSE_ALARM
    # They do not depend on one another.
    assert stats.spearmanr(away[1:], away[:-1]).pvalue > FALSE_ALARM


def test_a_proposal_is_elliptical_where_the_hessian_is():
    """Density exp(-|H u| / sigma) in the plane: weights are constant here too."""
    hessian = np.array([[2.0, 0.6], [0.6, 0.5]])
    target = replace(
        laplace_target(Euclidean(2), [0.4], np.zeros(2)),
        unrestricted=lambda states: -np.linalg.norm(states @ hessian, axis=-1) / 0.4,
        hessian=hessian[None],
    )
    rng = random_stream(1, "ellipse")
    plan = planned(rng, target)
    assert plan.largest_weight < 1.0 + 1e-8
    state, accepted = run(rng, plan.sampler, target, 10000, plan.steps)
    assert accepted[0] > 1.0 - 1e-9
    white = state.position[0] @ hessian / 0.4
    assert stats.kstest(np.linalg.norm(white, axis=-1), stats.gamma(2).cdf).pvalue > FALSE_ALARM
    angle = np.arctan2(white[:, 1], white[:, 0])
    assert stats.kstest(angle, stats.uniform(-np.pi, 2.0 * np.pi).cdf).pvalue > FALSE_ALARM


def test_a_narrow_mode_is_sampled_once_it_is_known():
    """Two Laplace laws on a disc, the second a fifth of all and far narrower than the disc."""
    space, place = Euclidean(2), np.array([2.0, 0.0])
    target = laplace_target(space, [0.02], np.zeros(2))

    def log_density(states):
        first = np.linalg.norm(states, axis=-1) / 0.02
        return np.logaddexp(-first, -np.linalg.norm(states - place, axis=-1) / 0.01)

    ball = replace(target.support, radius=np.array([3.0]))
    unknown = replace(target, unrestricted=log_density, support=ball)
    mode = Modes(place[None, None], 2.0 * np.eye(2)[None, None], np.full((1, 1), -np.log(4.0)))
    known, unknown = (
        np.linalg.norm(draw(one, 10000, "two modes")[0] - place, axis=-1)
        for one in (replace(unknown, find_other_modes=lambda: mode), unknown)
    )
    known, unknown = known[known < 1.0], unknown[unknown < 1.0]
    assert stats.binomtest(len(known), 10000, 0.2).pvalue > FALSE_ALARM
    assert stats.binomtest(len(unknown), 10000, 0.2).pvalue < BEYOND_DOUBT
    assert stats.kstest(known, stats.gamma(2, scale=0.01).cdf).pvalue > FALSE_ALARM


# The plan


def misfit(ratio):
    """A Laplace law in the plane whose proposals are too wide by a ratio."""
    return replace(laplace_target(Euclidean(2), [1.0], np.zeros(2)), scale=np.array([ratio]))


def test_a_plan_knows_nearly_flat_densities_from_concentrated_ones():
    """On a disc: a density that falls only near its mode, and one that falls everywhere."""
    target = laplace_target(Euclidean(2), [0.02, 0.02], np.zeros(2))
    lowest = np.array([-np.inf, -1.0])

    def log_density(states):
        length = np.linalg.norm(states, axis=-1)
        return np.maximum(-length / 0.02, lowest[:, None])

    ball = replace(target.support, radius=np.ones(2))
    target = replace(target, unrestricted=log_density, support=ball)
    rng = random_stream(1, "plan shares")
    plan = planned(rng, target)
    concentrated, flat = plan.sampler.shares
    # From the ellipse, the uniform law and the axial one: each lacks what would not fit.
    assert concentrated[2] <= 0.1
    assert flat[0] <= 0.1
    assert plan.largest_weight < 1.5
    assert np.allclose(np.sum(plan.sampler.shares, axis=-1), 1.0)
    state, _ = run(rng, plan.sampler, target, 8000, plan.steps)
    for radius, floor in zip(np.linalg.norm(state.position, axis=-1), lowest, strict=True):
        law = distribution(lambda r, f=floor: np.log(r) + np.maximum(-r / 0.02, f), 1e-9, 1.0)
        assert stats.kstest(radius, law).pvalue > FALSE_ALARM


@pytest.mark.parametrize("seed", range(3))
def test_the_bound_of_total_variation_is_one_and_is_close(seed):
    """On a finite space, where the chain's distribution after m steps is a power of a matrix."""
    rng = np.random.default_rng(seed)
    proposal, law = rng.dirichlet(np.ones(8)), rng.dirichlet(np.full(8, 0.3))
    # Frequencies that weights of so many proposals have exactly.
    counts = np.maximum(np.round(4e5 * proposal).astype(int), 1)
    proposal = counts / np.sum(counts)
    weight = law / proposal
    step = np.minimum(1.0, weight[None] / weight[:, None]) * proposal[None]
    step[np.diag_indices(8)] += 1.0 - np.sum(step, axis=1)
    steps = np.array([1, 2, 5, 10, 30])
    bounds = matched.total_variation_bounds(np.log(np.repeat(weight, counts)) + 7.0, steps)
    for number, bound in zip(steps, bounds, strict=True):
        after = proposal @ np.linalg.matrix_power(step, number)
        distance = 0.5 * np.sum(np.abs(after - law))
        assert distance <= bound + 1e-9
        assert bound <= 2.0 * distance + 1e-3


def test_the_bound_is_one_where_all_proposals_miss_and_the_plan_takes_the_most_steps():
    steps = np.array([1, 3])
    assert np.all(matched.total_variation_bounds(np.full((2, 50), -np.inf), steps) == 1.0)
    # Half of the proposals are refused, and what is accepted has the right law.
    some = np.array([0.0, -np.inf, -np.inf, 0.0])
    np.testing.assert_allclose(matched.total_variation_bounds(some, steps), [0.25, 0.0625])
    target = laplace_target(SPHERE, [0.1])
    empty = replace(target, unrestricted=lambda states: np.full(states.shape[:-1], -np.inf))
    assert planned(random_stream(1, "plan empty"), empty, most=50).steps == 50


def test_a_plan_takes_more_steps_for_larger_weights():
    """Proposals wider by a ratio k in the plane have weights up to k^2."""

    def plan(ratio, **changes):
        return planned(random_stream(1, "plan steps"), misfit(ratio), **{"fewest": 1} | changes)

    steps = []
    for ratio in (1.5, 2.0, 4.0):
        found = plan(ratio, most=1000)
        # The largest seen, not the largest there is.
        assert 0.7 * ratio**2 < found.largest_weight < 1.15 * ratio**2
        # What the largest weight alone would ask for is more than is needed.
        assert found.steps <= np.ceil(np.log(1e-3) / np.log1p(-1.0 / found.largest_weight))
        assert not found.cut_short
        # Without a ball nothing is proposed uniformly.
        assert np.array_equal(found.sampler.shares, [matched.ELLIPSE_ALONE])
        steps.append(found.steps)
    assert steps == sorted(set(steps))
    assert plan(4.0, total_variation=0.1).steps < steps[-1]
    assert plan(4.0, most=9).steps == 9
    assert plan(1.0, fewest=7).steps == 7


def test_the_worst_counted_member_of_a_batch_rules_its_plan():
    target = laplace_target(Euclidean(2), [1.0, 1.0], np.zeros(2))
    target = replace(target, scale=np.array([1.0, 3.0]))
    rng = random_stream(1, "plan batch")
    assert 6.0 < planned(rng, target, fewest=1).largest_weight < 10.0
    others = planned(rng, target, fewest=1, counted=np.array([True, False]))
    assert others.largest_weight < 1.01
    assert others.steps == 1


def test_a_plan_states_no_distance_that_its_pilots_cannot_see():
    """Proposals that fit: all weights are alike."""
    for proposals in (100, 1000):
        plan = planned(random_stream(1, "plan claim"), misfit(1.0), proposals=proposals)
        assert plan.total_variation == pytest.approx(-np.log(0.05) / proposals)
        assert not plan.cut_short
    log_weight = np.zeros((3, 100))
    log_weight[1, 0] = np.log(5.0)
    log_weight[2] = -np.inf
    # The largest weight is five, over a mean of 1.04.
    expected = [-np.log(0.05) / 100, -np.log(0.05) * 5.0 / 104.0, 1.0]
    np.testing.assert_allclose(matched.resolution(log_weight), expected)


def test_members_of_a_batch_follow_their_own_density():
    """Two data sets of very different scale, at the fit and at a footpoint beside it."""
    footpoints = np.stack([beside_the_fit(MECHANISM, away) for away in (0.0, 0.02)], axis=1)
    target, _ = MECHANISM.shooting_vector_target(footpoints, 1.0)
    states = draw(target, 2000, "batch")
    width = target.scale / np.linalg.eigvalsh(target.hessian)[..., 0]
    for member in np.ndindex(2, 2):
        # About the mode where the density is narrow, else about zero, where the disc is round.
        pole = target.centre[member] if width[member] < 0.5 else np.zeros(2)
        reach = np.pi + np.linalg.norm(pole)
        law = law_of(target, PolarChart(Euclidean(2), pole, reach, width[member]), member)
        assert law.p_value(states[member], 60) > FALSE_ALARM
        # Neighbouring footpoints have nearly the same law, the other data set has not.
        assert law.p_value(states[1 - member[0], member[1]], 60) < BEYOND_DOUBT


@pytest.mark.parametrize("space", [Euclidean(2), SPD(2), KendallPlanarShapes(4)])
def test_a_trace_has_a_summary_of_every_state(space):
    target = laplace_target(space, [0.1, 0.3])
    found = trace(random_stream(1, "trace"), Matched(), target, chains=3, states=7, warm_up=2)
    coordinates = [f"coordinate_{k + 1}" for k in range(min(3, space.dim))]
    assert set(found) == {"log_density", "distance", *coordinates}
    assert {values.shape for values in found.values()} == {(2, 3, 7)}
    # The target's log density is the distance, in its own units.
    expected = -found["distance"] / np.array([0.1, 0.3])[:, None, None]
    np.testing.assert_allclose(found["log_density"], expected, rtol=1e-6, atol=1e-9)
    length = np.sqrt(sum(found[key] ** 2 for key in coordinates))
    # One of the four of shapes is left out.
    assert np.all(length <= found["distance"] * (1.0 + 1e-9))
    assert np.allclose(length, found["distance"], rtol=1e-9) == (space.dim <= 3)


@pytest.mark.parametrize("sampler", [Matched(), RandomWalk()])
def test_a_thinned_trace_keeps_some_of_the_states(sampler):
    target = MECHANISM.footpoint_target(0.5)
    every = trace(random_stream(1, "thin"), sampler, target, chains=2, states=12)
    third = trace(random_stream(1, "thin"), sampler, target, chains=2, states=4, thin=3)
    for key, values in every.items():
        assert np.array_equal(values[..., 2::3], third[key])
    state, accepted = run(random_stream(1, "thin"), sampler, target, 2, 12)
    assert np.array_equal(every["log_density"][..., -1], state.log_density)
    assert np.all((accepted > 0.0) & (accepted <= 1.0))


# The distribution that follows a density's profile about an axis: against its own draws and volumes
# that are known, and on targets symmetric about the axis, where it is all but exact


def mode_aside(space, radius, aside, sigma):
    """Laplace laws on a ball, with the mode at a fraction of the radius from its centre."""
    centre = space.random_point(np.random.default_rng(0))
    mode = space.exp(centre, aside * radius * space.frame(centre)[-1])
    return laplace_target(space, sigma, mode, centre, radius)


def weighed(rng, target):
    """Log weights of draws of the target's axial law, as proposals for the target."""
    law = AxialDistribution.of(target)
    coordinates = law.draw(rng, 3000)
    states, volume = target.support.place(coordinates)
    return target.log_density(states) + np.log(volume) - law.log_density(coordinates)


FLAT = [
    *((Euclidean(2), 1.5), (Sphere(2), 1.0), (Euclidean(3), 0.2), (SPD(2), 2.0)),
    *((Sphere(4), np.pi), (Euclidean(96), 1.0), (KendallPlanarShapes(50), 0.3)),
]


@pytest.mark.parametrize(("space", "radius"), FLAT, ids=lambda value: getattr(value, "name", None))
def test_draws_weighed_by_their_density_give_known_volumes(space, radius):
    """Of coordinates in shells, and in halves of them in directions of any kind."""
    dim = space.dim
    target = mode_aside(space, radius, 0.5, [2.0 * radius])
    law = AxialDistribution.of(target)
    # Towards the mode.
    np.testing.assert_allclose(law.axis[0], np.eye(dim)[-1], atol=1e-9)
    rng = random_stream(1, "axial", "volumes", space.name)
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
            assert abs(error) < 4.0 * np.std(values) / np.sqrt(number)


# From nearly flat on its ball to concentrated.
SCALES = np.array([3.0, 0.3, 0.1, 0.03, 0.01, 0.003])


@pytest.mark.parametrize(
    ("space", "radius", "aside", "least"),
    [
        (Euclidean(2), 1.0, 0.0, 0.85),
        (Euclidean(3), 1.0, 0.5, 0.85),
        (Sphere(2), 3.0, 0.5, 0.85),
        (Sphere(4), 1.0, 0.0, 0.85),
        (SPD(2), 2.0, 0.5, 0.85),
        (Euclidean(96), 1.0, 0.3, 0.95),
        (Euclidean(96), 1.0, 0.95, 0.95),
        # Half of this without the volume, which falls towards the cut locus.
        (KendallPlanarShapes(50), 1.2, 0.0, 0.95),
    ],
)
def test_a_density_is_followed_on_every_space(space, radius, aside, least):
    scales = SCALES if space.dim == 96 else SCALES[:4]
    target = mode_aside(space, radius, aside, scales * radius)
    log_weight = weighed(random_stream(1, "axial", "every", space.name), target)
    assert np.all(np.isfinite(log_weight))
    squares = logsumexp(2.0 * log_weight, axis=-1)
    effective = np.exp(2.0 * logsumexp(log_weight, axis=-1) - squares)
    assert np.min(effective) > least * log_weight.shape[-1]


def test_a_density_of_zero_in_places_does_not_break_the_law():
    """It is followed where it is not zero, and proposed where it is zero at little cost."""
    space = Euclidean(3)

    def log_density(states):
        value = -np.linalg.norm(states, axis=-1) / 0.3
        return np.where(states[..., 0] + 0.2 * states[..., 1] > 0.1, value, -np.inf)

    target = ball_target(space, np.array([0.3, 0.0, 0.0]), np.zeros(3), np.ones(1), log_density)
    log_weight = weighed(random_stream(1, "axial", "hole"), target)
    assert not np.any(np.isnan(log_weight) | np.isposinf(log_weight))
    assert 0.5 < np.mean(np.isfinite(log_weight)) < 1.0
