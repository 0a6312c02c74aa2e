"""Exact draws: certificates that hold, and errors where they do not.

`test_distributions` compares draws with their density; here is what the sampler promises besides.
Counts are compared with the probabilities that are promised by binomial tails: a right
sampler fails one of these with probability 1e-6 at most, and so does any comparison of two samples.
There are fewer than a hundred, with fixed seeds.
"""

from dataclasses import dataclass, replace
from types import SimpleNamespace

import numpy as np
import pytest
from exact_targets import (
    NUMBER,
    PLANE,
    TARGETS,
    distances_of,
    footpoints,
    footpoints_in_a_ball,
    planned,
    states_of,
    target,
)
from scipy import stats

from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.density import FootpointDensity
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Huber
from geodp.randomness import random_directions
from geodp.samplers import cell_envelope, exact
from geodp.samplers.cell_envelope import CellEnvelope
from geodp.samplers.radial import RadialEnvelope

FALSE_ALARM = 1e-6

# Proposals that acceptance is measured by, and draws that laws are compared by.
PROPOSALS = 4000
DRAWS = 4000


def members(kernel):
    return np.arange(len(kernel.chosen))


def accepted_by(kernel, envelope, member, seed=2):
    """How many of so many proposals an envelope has accepted, one for each chain."""
    rng = np.random.default_rng(seed)
    return int(np.sum(kernel._propose(rng, envelope, np.array([member]), PROPOSALS, 1)[2]))


def is_refuted(accepted, certified):
    """Whether so few of the proposals would hardly be accepted if the certificate were right."""
    return stats.binom.cdf(accepted, PROPOSALS, certified) < FALSE_ALARM


@pytest.mark.parametrize("name", TARGETS)
def test_acceptance_is_at_least_what_is_certified(name):
    kernel = planned(name).sampler
    for member in members(kernel):
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
        *(("Kendall3", 0.5), ("S3", 0.3)),
    ],
)
def test_small_cells_certify_most_of_what_is_accepted(name, least):
    """Where a certificate that is too high by a third or so would be refuted."""
    found, kernel = target(name), planned(name).sampler
    radial = without_a_mode(RadialEnvelope.of(found))
    envelope = CellEnvelope.of(found, np.array([0]), 1, (least, least), 60_000, radial)
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
    rough = (0.01, 0.01)
    radial, both = RadialEnvelope.of(found), []
    for each in (radial, without_a_mode(radial)):
        envelope = CellEnvelope.of(found, np.array([0]), 1, rough, 1000, each)
        assert (envelope.near_share[0] > 0.0) == (each is radial)
        used = exact.Exact((envelope,), np.zeros(1, dtype=int), exact.MOST_PROPOSALS)
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


def test_an_envelope_that_is_hardly_too_low_is_an_error():
    kernel = planned("R3").sampler
    touching, low = (Above(kernel.envelopes[0], by) for by in (0.0, -1e-6))
    states_of(replace(kernel, envelopes=(touching,)), target("R3"), DRAWS)
    with pytest.raises(RuntimeError, match=r"exceeds its certified bound by 1e-06"):
        states_of(replace(kernel, envelopes=(low,)), target("R3"), DRAWS)


class Undefined(FootpointDensity):
    """A density without a value."""

    def log_density(self, states):
        return np.full_like(super().log_density(states), np.nan)


def test_a_density_without_a_value_is_an_error():
    kernel, found = planned("R3").sampler, target("R3")
    wrong = replace(found, density=Undefined(**vars(found.density)))
    wrong = replace(kernel, envelopes=(replace(kernel.envelopes[0], target=wrong),))
    with pytest.raises(RuntimeError, match="exceeds its certified bound"):
        states_of(wrong, found, 10)


@pytest.mark.parametrize("run_out", [0.3, 1e-12])
def test_a_draw_runs_out_as_seldom_as_it_is_said(run_out, monkeypatch):
    monkeypatch.setattr(exact, "RUN_OUT", run_out)
    few, _, reason = exact.plan(target("R3 ball"), 1000)
    assert reason is None
    assert few.total_variation == run_out
    assert few.proposals == few.sampler.proposals
    refused = 1.0 - few.sampler.envelopes[few.sampler.chosen[0]].acceptance[0]
    # As many proposals as that needs, and no more.
    assert refused**few.proposals <= run_out < refused ** (few.proposals - 1)
    never = Above(few.sampler.envelopes[0], np.inf)
    states_of(replace(few.sampler, envelopes=(never,)), target("R3 ball"), 1)
    assert never.made == few.proposals


def test_a_support_beyond_the_cut_locus_is_the_whole_space():
    """Normal coordinates would cover it more than once."""
    whole = target("S2 whole, beside")
    wider = replace(whole, support=replace(whole.support, radius=np.array([1.7 * np.pi])))
    plan, _, reason = exact.plan(wider, 1000)
    assert reason is None
    expected = states_of(planned("S2 whole, beside").sampler, whole, 3000, seed=10)
    both = (states_of(plan.sampler, wider, 3000), expected)
    assert stats.ks_2samp(*(distances_of(whole, each)[0] for each in both)).pvalue > FALSE_ALARM


class BothSigns(Sphere):
    curvature_bounds = (-1.0, 1.0)


def refused(found, **limits):
    plan, certified, reason = exact.plan(found, 1000, **limits)
    assert plan is None
    assert certified.shape == found.batch
    assert not np.any(certified)
    return reason


@pytest.mark.parametrize("name", ["S2 narrow", "S2 vector"])
def test_losses_that_the_bounds_do_not_know_are_refused(name):
    """Clipped residuals make the gradient smaller, and the density larger, than least squares."""
    found = target(name)
    model = GeodesicModel(found.density.manifold, loss=Huber(0.01))
    density = replace(found.density, model=model)
    huber = replace(found, density=density, unrestricted=density.log_density)
    assert refused(huber) == "the bounds are of least squares, and its loss is huber"


def test_what_has_no_certificate_is_refused_with_a_reason():
    sphere = target("S2 narrow")

    def modelled(model):
        return replace(sphere, density=replace(sphere.density, model=model))

    assert refused(replace(sphere, density=None)) == "its density gives no bounds"
    other = SimpleNamespace(manifold=SimpleNamespace(name="some space"))
    assert refused(modelled(other)) == "some space is no symmetric space"
    assert "curvatures of both signs" in refused(modelled(GeodesicModel(BothSigns(2))))
    wide = footpoints(KendallPlanarShapes(5), (0.3,), 0.1)
    convexity = "its energy is not certified to be convex enough"
    assert refused(wide) == f"{convexity}, and 6 dimensions are too many for cells"
    unbounded = footpoints(PLANE, (0.01,), 0.5)
    assert refused(unbounded) == f"{convexity}, and its support is unbounded"
    flat = replace(
        footpoints_in_a_ball(Euclidean(4), (0.01,), 1.0, 0.3, 3.0), find_other_modes=lambda: None
    )
    assert refused(flat) == f"{convexity}, and 4 dimensions are too many for cells"


def test_too_little_work_is_refused(monkeypatch):
    found = target("S2 narrow")
    fewest = exact.CELLS[2][0]
    enough = fewest * NUMBER
    expected = f"and the {fewest - 1} cells for each that its work allows are too few"
    assert refused(found, work=enough - 1).endswith(expected)
    # As many cells are tried, and are too few.
    monkeypatch.setattr(exact, "MOST_PROPOSALS", 50)
    assert "cells certify too small an acceptance" in refused(found, work=enough)


def test_in_many_dimensions_little_acceptance_is_not_taken():
    found = footpoints_in_a_ball(KendallPlanarShapes(5), (0.0001,), 20.0, 0.15)
    assert "6 dimensions are too many for cells" in refused(found)
    assert 0.0 < RadialEnvelope.of(found).acceptance[0] < exact.MODE_ACCEPTANCE
    assert exact.plan(found, 1000)[0] is None
