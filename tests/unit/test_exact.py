"""Exact draws: certificates that hold, errors where they do not, and chains where there are none.

`test_distributions` compares draws with their density; here is what the sampler promises besides.
Counts are compared with the probabilities that are promised by binomial tails: a right
sampler fails one of these with probability 1e-6 at most, and so does any comparison of two samples.
There are fewer than a hundred, with fixed seeds.
"""

from dataclasses import dataclass, replace
from functools import cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
from quadrature import beside_the_fit, laplace_target, published_mechanism, target_in_a_ball
from scipy import stats

from geodp import SPD, Euclidean, GeodesicModel, Huber, Hyperbolic, KendallPlanarShapes, Sphere
from geodp.manifolds.product import Product
from geodp.mechanisms.density import FootpointDensity
from geodp.randomness import random_directions
from geodp.samplers import cell_envelope, choice, exact, matched
from geodp.samplers.cell_envelope import CellEnvelope
from geodp.samplers.kernel import run
from geodp.samplers.radial import RadialEnvelope
from geodp.samplers.random_walk import RandomWalk

FALSE_ALARM = 1e-6

# Proposals that acceptance is measured by, and records of a data set.
PROPOSALS, NUMBER = 4000, 8


def footpoints(space, noise_variances, budget):
    return published_mechanism(space, noise_variances, NUMBER).footpoint_target(budget)


def footpoints_in_a_ball(space, noise_variances, budget, radius, aside=0.0):
    """With the centre of the support beside the fit."""
    whole = published_mechanism(space, noise_variances, NUMBER)
    return target_in_a_ball(whole, budget, radius, aside)


def shooting_vectors(space, noise_variances, budget, distances):
    """At footpoints so far from the fit; the batch is (data sets, distances)."""
    whole = published_mechanism(space, noise_variances, NUMBER)
    places = np.stack([beside_the_fit(whole, away) for away in distances], axis=1)
    return whole.shooting_vector_target(places, budget)[0]


CIRCLE, SPHERE, PLANE, SOLID = Sphere(1), Sphere(2), Hyperbolic(2), Euclidean(3)

# One for each envelope on each kind of space and support: unbounded and bounded, about the fit and
# beside it, up to the cut locus, of one dimension and of four, of one member and of several.
TARGETS = {
    "R3": partial(footpoints, SOLID, (0.01,), 1.0),
    "R3 ball": partial(footpoints_in_a_ball, SOLID, (0.01,), 1.0, 0.2),
    "R1 ball elsewhere": partial(footpoints_in_a_ball, Euclidean(1), (0.01,), 1.0, 0.3, 3.0),
    "S1": partial(footpoints, CIRCLE, (0.01, 0.1), 1.0),
    "S1 ball": partial(footpoints_in_a_ball, CIRCLE, (0.01,), 1.0, 0.5, 0.6),
    "S2 narrow": partial(footpoints, SPHERE, (0.0001,), 10.0),
    "S2 whole, beside": partial(footpoints_in_a_ball, SPHERE, (0.01,), 0.5, np.pi, 1.5),
    "S2 vector": partial(shooting_vectors, SPHERE, (0.001, 0.1), 1.0, (0.0, 0.3)),
    "S3": partial(footpoints_in_a_ball, Sphere(3), (0.001,), 1.0, 0.5, 0.4),
    "H2": partial(footpoints, PLANE, (0.0001, 0.01), 2.0),
    "H2 ball": partial(footpoints_in_a_ball, PLANE, (0.001,), 0.2, 1.0, 0.9),
    "SPD2": partial(footpoints, SPD(2), (0.0001, 0.01), 5.0),
    "SPD2 ball": partial(footpoints_in_a_ball, SPD(2), (0.001,), 1.0, 0.5, 0.4),
    "Kendall3": partial(footpoints, KendallPlanarShapes(3), (0.001,), 1.0),
    "Kendall4": partial(footpoints_in_a_ball, KendallPlanarShapes(4), (0.00001,), 20.0, 0.15),
}


@cache
def target(name):
    return TARGETS[name]()


@cache
def planned(name):
    found, certified, reason = exact.plan(target(name), 1000)
    assert reason is None
    assert np.all(certified)
    return found


def states_of(kernel, found, count, seed=1):
    state, accepted = run(np.random.default_rng(seed), kernel, found, count, 0)
    assert np.all(accepted == 1.0)
    return state


def distances_of(found, state):
    axis = -found.space.point_ndim - 1
    return found.space.dist(np.expand_dims(found.centre, axis), state.position)


def accepted_by(kernel, envelope, member):
    """How many of so many proposals an envelope has accepted, one for each chain."""
    rng = np.random.default_rng(2)
    return int(np.sum(kernel._propose(rng, envelope, np.array([member]), PROPOSALS)[2]))


def is_refuted(accepted, certified):
    """Whether so few of the proposals would hardly be accepted if the certificate were right."""
    return stats.binom.cdf(accepted, PROPOSALS, certified) < FALSE_ALARM


@pytest.mark.parametrize("name", TARGETS)
def test_acceptance_is_at_least_what_is_certified(name):
    kernel = planned(name).sampler
    for member in range(len(kernel.chosen)):
        # Those that were not chosen, too.
        for envelope in kernel.envelopes:
            if envelope.acceptance[member] > 1e-3:
                accepted = accepted_by(kernel, envelope, member)
                assert not is_refuted(accepted, envelope.acceptance[member])
        chosen = kernel.envelopes[kernel.chosen[member]]
        assert 0.0 < chosen.acceptance[member] <= 1.0
        assert planned(name).proposals >= np.log(1e-12) / np.log1p(-chosen.acceptance[member])


def without_a_mode(radial):
    """An envelope at the mode that is of no use, so that cells cover all of the support."""
    return replace(radial, log_lower=np.full_like(radial.log_lower, -np.inf))


@pytest.mark.parametrize(
    ("name", "least"),
    [
        *((name, 0.75) for name in ("S1 ball", "R1 ball elsewhere", "S2 whole, beside", "H2 ball")),
        *(("Kendall3", 0.5), ("S3", 0.4)),
    ],
)
def test_small_cells_certify_most_of_what_is_accepted(name, least):
    """Where a certificate that is too high by a third or so would be refuted."""
    found, kernel = target(name), planned(name).sampler
    radial = without_a_mode(RadialEnvelope.of(found))
    envelope = CellEnvelope.of(found, np.array([0]), 1, least, 60_000, radial)
    accepted, certified = accepted_by(kernel, envelope, 0), envelope.acceptance[0]
    assert certified >= least
    assert not is_refuted(accepted, certified)
    assert is_refuted(accepted, min(1.8 * certified, 1.0))


def test_corners_of_flat_cells_are_no_farther_than_is_said_and_nearly_as_far():
    rng = np.random.default_rng(3)
    length, angle = rng.uniform(0.1, 2.0, 10_000), rng.uniform(0.0, 1.6, 10_000)
    along = length * rng.uniform(0.0, 1.0, 10_000)
    said = cell_envelope._way_to_corner(Euclidean(2), length, along, length * angle)
    for end in (length - along, length + along):
        corner = np.hypot(end * np.cos(angle) - length, end * np.sin(angle))
        assert np.all(corner <= said * (1.0 + 1e-12))
    assert np.all(corner >= 0.8 * said)


def test_cells_and_the_ball_about_the_mode_have_no_place_in_common():
    """Large cells reach into the ball; what they propose there would be proposed twice."""
    found = target("Kendall3")
    radial, both = RadialEnvelope.of(found), []
    for each in (radial, without_a_mode(radial)):
        envelope = CellEnvelope.of(found, np.array([0]), 1, 0.01, 3000, each)
        assert (envelope.near_share[0] > 0.0) == (each is radial)
        used = exact.Exact((envelope,), np.zeros(1, dtype=int), 20_000)
        both.append(distances_of(found, states_of(used, found, 3000))[0])
    assert stats.ks_2samp(*both).pvalue > FALSE_ALARM


@pytest.mark.parametrize("name", ["R3", "H2", "SPD2"])
def test_the_tail_falls_no_faster_than_the_density(name):
    """At distances that no proposal gets to, where the density falls at the rate of its slope."""
    found = target(name)
    space, radial = found.space, RadialEnvelope.of(found)
    rng = np.random.default_rng(17)
    count = 400
    directions = random_directions(rng, (len(radial.tail_rate), count, space.dim))
    farther = np.linspace(0.0, 12.0, count) * np.ones((len(directions), 1))
    lengths = radial.edges[:, -1:] + farther
    centre = np.expand_dims(found.centre, -space.point_ndim - 1)
    frame = np.expand_dims(space.frame(found.centre), -space.point_ndim - 2)
    steps = space.vector(frame, lengths[..., None] * directions)
    log_density = found.unrestricted(space.exp(centre, steps))
    shell = (space.dim - 1) * np.log(lengths) + np.log(space.exp_volume(centre, steps))
    bound = radial.log_tail[:, None] - radial.tail_rate[:, None] * farther
    slack = bound - log_density - shell
    assert np.all(slack >= 0.0)
    if name == "R3":
        # A rate higher by a fifth would not do.
        assert np.min(slack - 0.2 * radial.tail_rate[:, None] * farther) < 0.0


@dataclass
class Above:
    """An envelope that is above the density by so much everywhere, and counts its proposals."""

    inner: RadialEnvelope
    by: float
    made: int = 0

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def propose(self, rng, members, count):
        position, _ = self.inner.propose(rng, members, count)
        self.made += count
        return position, self.target.density.take(members).log_density(position) + self.by


def test_an_envelope_that_is_hardly_too_low_and_a_density_without_a_value_are_errors(monkeypatch):
    kernel = planned("R3").sampler
    touching, low = (Above(kernel.envelopes[0], by) for by in (0.0, -1e-6))
    states_of(replace(kernel, envelopes=(touching,)), target("R3"), 4000)
    with pytest.raises(RuntimeError, match="exceeds its certified bound by 1e-06"):
        states_of(replace(kernel, envelopes=(low,)), target("R3"), 4000)

    def undefined(self, states):
        return np.full(np.shape(states)[: -self.model.manifold.point_ndim], np.nan)

    monkeypatch.setattr(FootpointDensity, "log_density", undefined)
    with pytest.raises(RuntimeError, match="exceeds its certified bound"):
        states_of(kernel, target("R3"), 10)


@pytest.mark.parametrize("run_out", [0.3, 1e-12])
def test_a_draw_runs_out_as_seldom_as_it_is_said(run_out):
    few, _, reason = exact.plan(target("R3 ball"), 1000, run_out=run_out)
    assert reason is None
    assert few.total_variation == run_out
    assert few.proposals == few.sampler.proposals
    refused = 1.0 - few.sampler.envelopes[few.sampler.chosen[0]].acceptance[0]
    # As many proposals as that needs, and no more.
    assert refused**few.proposals <= run_out < refused ** (few.proposals - 1)
    never = Above(few.sampler.envelopes[0], np.inf)
    states_of(replace(few.sampler, envelopes=(never,)), target("R3 ball"), 3)
    assert never.made == 3 * few.proposals


def test_proposals_of_one_member_are_no_more_at_once_than_have_so_many_numbers(monkeypatch):
    kernel, sizes, propose = planned("R3").sampler, [], exact.Exact._propose

    def seen(self, rng, envelope, members, count):
        sizes.append(len(members) * count)
        return propose(self, rng, envelope, members, count)

    monkeypatch.setattr(exact.Exact, "_propose", seen)
    away = []
    for numbers in (1 << 18, 400):
        rng, given = np.random.default_rng(20), (kernel.envelopes[0], np.arange(1), 4000)
        position, log_density = kernel._rejection(rng, *given, numbers=numbers)
        assert np.array_equal(log_density, target("R3").density.log_density(position))
        away.append(SOLID.dist(target("R3").centre[:, None], position)[0])
    # The first are made in few calls.
    assert max(sizes) > 1000
    assert len(sizes) > 40
    assert sorted(sizes)[-40] == 100
    assert stats.ks_2samp(*away).pvalue > FALSE_ALARM


def test_draws_are_accepted_proposals_in_turn_or_the_last_that_is_allowed():
    """Of several members, whose proposals come in parts; against a loop over proposals."""
    rng, most = np.random.default_rng(19), 5
    refused, expected_refused = np.zeros((2, 4), dtype=int)
    for _ in range(20):
        owner = np.repeat(*np.array([[2, 0, 3], rng.integers(0, 12, 3)]))
        accepted = rng.random(len(owner)) < 0.3
        expected = []
        for member, each in zip(owner, accepted, strict=True):
            expected_refused[member] += 1
            expected.append(each or expected_refused[member] == most)
            expected_refused[member] *= not expected[-1]
        settled = exact._settled(owner, accepted, refused, most)
        assert settled.tolist() == expected
        assert refused.tolist() == expected_refused.tolist()


def test_a_support_beyond_the_cut_locus_is_the_whole_space():
    """Normal coordinates would cover it more than once."""
    whole = target("S2 whole, beside")
    wider = replace(whole, support=replace(whole.support, radius=np.array([1.7 * np.pi])))
    plan, _, reason = exact.plan(wider, 1000)
    assert reason is None
    expected = states_of(planned("S2 whole, beside").sampler, whole, 3000, seed=10)
    both = (states_of(plan.sampler, wider, 3000), expected)
    assert stats.ks_2samp(*(distances_of(whole, each)[0] for each in both)).pvalue > FALSE_ALARM


def refused(found, **limits):
    plan, certified, reason = exact.plan(found, 1000, **limits)
    assert plan is None
    assert certified.shape == found.batch
    assert not np.any(certified)
    return reason


def test_what_has_no_certificate_is_refused_with_a_reason():
    sphere = target("S2 narrow")

    def modelled(model):
        return replace(sphere, density=replace(sphere.density, model=model))

    assert refused(replace(sphere, density=None)) == "its density gives no bounds"
    other = SimpleNamespace(manifold=SimpleNamespace(name="some space"))
    assert refused(modelled(other)) == "some space is no symmetric space"
    both_signs = GeodesicModel(Product([Sphere(2), Hyperbolic(2)]))
    assert "curvatures of both signs" in refused(modelled(both_signs))
    # Clipped residuals make the gradient smaller, and the density larger, than least squares.
    huber = modelled(GeodesicModel(Sphere(2), loss=Huber(0.01)))
    assert refused(huber) == "the bounds are of least squares, and its loss is huber"
    convexity = "its energy is not certified to be convex enough"
    unbounded = footpoints(PLANE, (0.01,), 0.5)
    assert refused(unbounded) == f"{convexity}, and its support is unbounded"
    # In many dimensions little acceptance is not taken.
    many = footpoints_in_a_ball(KendallPlanarShapes(5), (0.0001,), 20.0, 0.15)
    assert refused(many) == f"{convexity}, and 6 dimensions are too many for cells"
    assert 0.0 < RadialEnvelope.of(many).acceptance[0] < 0.02


def test_too_little_work_is_refused():
    found = target("S2 narrow")
    fewest = exact.CELLS[2][0]
    enough = fewest * NUMBER
    expected = f"and the {fewest - 1} cells for each that its work allows are too few"
    assert refused(found, work=enough - 1).endswith(expected)
    # As many cells are tried, and are too few; of few proposals one has to be accepted.
    for limits in ({"work": enough}, {"most_proposals": 3}):
        assert "cells certify too small an acceptance" in refused(found, **limits)


# The choice between exact draws and chains


def choose(found):
    return choice.plan(np.random.default_rng(11), found, 1000)


def test_draws_are_exact_where_all_is_certified_and_matched_where_nothing_is():
    certified, matching = choose(target("H2")), choose(laplace_target(SPHERE, [0.1]))
    words = "energy is convex along geodesics from the mode; acceptance"
    assert certified.certificate.startswith(words)
    assert matching.certificate == "none: its density gives no bounds"
    for plan, kind, steps, share in ((certified, "exact", 0, 1.0), (matching, "matched", 3, 0.0)):
        assert (plan.drawn_by, plan.sampler.name, plan.exact_share) == (kind, kind, share)
        assert plan.steps >= steps
    assert (certified.steps, certified.total_variation) == (0, 1e-12)
    assert matching.proposals == matching.steps + 1


class AtTheMode(RandomWalk):
    """Starts at the mode and never leaves it."""

    def walk(self, rng, target, state, steps, every):
        yield state, np.zeros(target.batch)


def test_only_members_without_a_certificate_are_drawn_by_chains():
    """Of a target whose first member has one, and whose second has none."""
    mixed = footpoints(PLANE, (0.0001, 0.01), 0.5)
    plan = choose(mixed)
    assert (plan.drawn_by, plan.exact_share) == ("exact or matched", 0.5)
    assert plan.proposals == max(plan.sampler.exact.proposals, plan.steps + 1)
    assert plan.certificate.endswith("; else none: " + exact.plan(mixed, 1000)[2])
    first, second = (slice(0, 1),), (slice(1, 2),)
    assert plan.sampler.member(first).name == "exact"
    assert isinstance(plan.sampler.member(second), matched.Matched)
    kernel = replace(plan.sampler, matched=AtTheMode())
    rng = np.random.default_rng(18)
    state = kernel.init(rng, mixed, 5)
    ((later, accepted),) = kernel.walk(rng, mixed, state, 4, 4)
    for each in (state, later):
        away = distances_of(mixed, each)
        assert np.all(away[0] > 1e-9)
        assert np.all(away[1] < 1e-9)
        np.testing.assert_allclose(each.log_density, mixed.log_density(each.position), atol=1e-6)
    assert len(np.unique([each.log_density[0] for each in (state, later)])) == 10
    np.testing.assert_array_equal(accepted, [1.0, 0.0])
