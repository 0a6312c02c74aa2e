"""Draws of every sampler against the laws they are meant to have, by quadrature.

Densities are those of the published mechanism, from nearly flat to very concentrated.  The total
variation between draws and law is measured over bins of about equal probability; of a perfect
sampler it is not zero but about the noise floor, which is kept below 0.004, and of a right one it
may exceed that by 0.01.

False alarms: one draw of N moves the measured total variation by 1 / N at most, so by McDiarmid's
inequality a perfect sampler exceeds its mean by 0.01 with probability ``exp(-2 N 0.01^2)`` at most,
6e-7 for 72000 draws (0.002 for 31000, where 0.01 is in fact eight standard deviations).  Chi-square
refuses a right sampler with probability 1e-4.  Seeds are fixed.
"""

from functools import cache, partial

import numpy as np
import pytest
import quadrature

from geodp import SPD, Euclidean, Hyperbolic, Sphere
from geodp.randomness import random_stream
from geodp.samplers import exact, matched
from geodp.samplers.kernel import run
from geodp.samplers.random_walk import RandomWalk

# Enough draws take minutes; a few see what is grossly wrong, as do those of `test_exact`.
slow = pytest.mark.slow

# Bins of the total variation, with the draws that bring the noise floor down to where it has to be;
# fewer bins where draws are dear.  And bins of chi-squares.
BINS = 8
DRAWS = {8: 72_000, 4: 31_000}
NOISE_FLOOR = 0.004
BEYOND_NOISE = 0.01
FINE_BINS = 60
FALSE_ALARM = 1e-4

# Where a density falls by this many powers of e, at least, nothing is left of it.
NOTHING_LEFT = 25.0

# Chains that run at once.
CHAINS = 8000

SPHERE, HYPERBOLIC, MATRICES = Sphere(2), Hyperbolic(2), SPD(2)
PLANE = Euclidean(2)


def planned(rng, target):
    """As the studies plan, but for the fewest steps: no chain gets nearer its law by fewer."""
    return matched.plan(rng, target, 96, 0.01, fewest=3, most=400)


def certified(rng, target):
    """Every density here has a certificate."""
    plan, _, reason = exact.plan(target, DRAWS[BINS])
    assert reason is None
    return plan


# From a stream and a target to a plan.
PLANNERS = {"matched": planned, "exact": certified}


def draws_of(sampler, target, count):
    """Draws (count, *point_shape) from a target with one member, each the end of a chain."""
    rng = random_stream(1, "laws", sampler, str(count), str(target.scale), str(target.batch))
    plan = PLANNERS[sampler](rng, target)
    return ends(rng, plan.sampler, target, count, plan.steps)


def ends(rng, kernel, target, count, steps):
    """Last states of chains."""
    found = []
    for start in range(0, count, CHAINS):
        state, _ = run(rng, kernel, target, min(CHAINS, count - start), steps)
        found.append(state.position.reshape((-1, *target.space.point_shape)))
    return np.concatenate(found)


def chart_of(space, pole, reach, wide):
    """Coordinates whose middle is about the mean radius of a density of a width."""
    return quadrature.PolarChart(space, pole, reach, (2.7 if space is MATRICES else 1.7) * wide)


def footpoint(space, noise_variance, budget, bins=BINS):
    """The footpoint's density on the whole space; of a compact one with modes far away, too.

    With its law by quadrature and bins of the total variation, as all cases.
    """
    target = quadrature.published_mechanism(space, (noise_variance,)).footpoint_target(budget)
    # In the direction where the density is the widest.
    wide = float(target.scale[0] / np.min(np.abs(np.linalg.eigvalsh(target.hessian[0]))))
    reach = np.pi if space is SPHERE else NOTHING_LEFT / (1.0 / wide - space.volume_growth)
    chart = chart_of(space, target.centre[0], reach, wide)
    return target, quadrature.law_of(target, chart), bins


def footpoint_in_a_ball(space, noise_variance, budget, radius, aside=0.0, bins=4):
    """On a ball, where small budgets make the density nearly flat; its centre beside the fit."""
    target = quadrature.target_in_a_ball(
        quadrature.published_mechanism(space, (noise_variance,)), budget, radius, aside
    )
    wide = radius * 0.5 ** (1.0 / space.dim) / (2.7 if space is MATRICES else 1.7)
    chart = chart_of(space, target.support.centre[0], radius, wide)
    return target, quadrature.law_of(target, chart), bins


def shooting_vector(noise_variance, budget, distance, bins=BINS):
    """The shooting vector's density on S^2 at a footpoint so far from the fit."""
    whole = quadrature.published_mechanism(SPHERE, (noise_variance,))
    target, _ = whole.shooting_vector_target(
        quadrature.beside_the_fit(whole, distance)[:, None], budget
    )
    chart = quadrature.PolarChart(PLANE, np.zeros(2), np.pi, 0.5 * np.pi)
    return target, quadrature.law_of(target, chart), bins


CASES = {
    "S2 flat": partial(footpoint, SPHERE, 0.1, 0.02, bins=4),
    "S2 wide": partial(footpoint, SPHERE, 0.001, 0.02),
    "S2 with a mode at the antipode": partial(footpoint, SPHERE, 0.1, 0.3),
    "S2 ball": partial(footpoint_in_a_ball, SPHERE, 0.001, 0.1, 0.3, 0.6),
    "S2 vector, flat, 0.3 away": partial(shooting_vector, 0.1, 0.02, 0.3, bins=4),
    "S2 vector, narrow, 0.1 away": partial(shooting_vector, 0.001, 10.0, 0.1),
    # The other way round a |v| near pi may be stationary too, and here has half of the mass.
    "S2 vector, opposite, 0.2 away": partial(shooting_vector, 0.001, 2.0, 0.2),
    "S2 vector, 0.1 away": partial(shooting_vector, 0.1, 0.5, 0.1),
    "S2 vector, slivers, 0.1 away": partial(shooting_vector, 0.01, 10.0, 0.1),
    "S2 vector, 0.5 away": partial(shooting_vector, 0.01, 0.5, 0.5),
    "S2 vector, 1.9 away": partial(shooting_vector, 0.01, 0.1, 1.9),
    "S2 vector, 3 away": partial(shooting_vector, 0.01, 0.1, 3.0),
    "H2 wide": partial(footpoint, HYPERBOLIC, 0.01, 0.5),
    "H2 narrow": partial(footpoint, HYPERBOLIC, 0.0001, 10.0),
    "H2 ball, flat": partial(footpoint_in_a_ball, HYPERBOLIC, 0.01, 0.1, 1.0),
    "R2 wide": partial(footpoint, PLANE, 0.1, 0.02),
    "SPD2 wide": partial(footpoint, MATRICES, 0.01, 0.3, bins=4),
    "SPD2 ball, flat": partial(footpoint_in_a_ball, MATRICES, 0.001, 0.02, 0.5),
}


@cache
def case(name):
    return CASES[name]()


# On an unbounded support with a shooting vector long for the curvature, convexity is certified for
# a part of the space only.
REFUSED = ("exact", "H2 wide")

# Of footpoints off the fit by many widths of their own density, slivers between cut loci near the
# opposite geodesic hold mass that neither the search for modes nor pilot proposals find: 6 % at 0.1
# away, which a sum over a plain grid confirms.
MISSED = pytest.param(
    "matched",
    "S2 vector, slivers, 0.1 away",
    marks=pytest.mark.xfail(reason="a sliver with 0.057 of the mass is not found"),
)


PAIRS = {(sampler, name) for sampler in PLANNERS for name in CASES} - {REFUSED, MISSED.values}


@slow
@pytest.mark.parametrize(("sampler", "name"), [*sorted(PAIRS), MISSED])
def test_draws_have_the_law_of_their_density(sampler, name):
    target, law, bins = case(name)
    # Quadrature's, in total variation.
    assert law.error < 1e-3
    states = draws_of(sampler, target, DRAWS[bins])
    measured, floor = law.total_variation(states, bins)
    assert floor < NOISE_FLOOR
    assert measured < floor + BEYOND_NOISE
    if sampler == "exact":
        assert law.p_value(states, FINE_BINS) > FALSE_ALARM


QUICK = ("S2 wide", "S2 vector, 0.1 away", "S2 vector, opposite, 0.2 away", "S2 ball")


@pytest.mark.parametrize("name", QUICK)
def test_a_few_draws_have_the_law_of_their_density(name):
    target, law, _ = case(name)
    assert law.p_value(draws_of("matched", target, 4000), FINE_BINS) > FALSE_ALARM


def test_a_random_walk_long_enough_has_the_law_of_its_density():
    target, law, _ = case("S2 wide")
    states = ends(random_stream(1, "random walk"), RandomWalk(), target, 12_000, 80)
    assert law.p_value(states, FINE_BINS) > FALSE_ALARM
