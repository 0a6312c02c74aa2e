"""The rules of the choice between exact draws and chains."""

from dataclasses import replace

import numpy as np
import pytest
from exact_targets import PLANE, SPHERE, distances_of, footpoints, target
from quadrature import laplace_target, origin

from geodp.samplers import choice, exact, matched
from geodp.samplers.kernel import Kernel, State


def choose(found, **limits):
    return choice.plan(np.random.default_rng(11), found, 1000, **limits)


@pytest.fixture(scope="module")
def mixed():
    """A target whose first member has a certificate, and whose second has none."""
    return footpoints(PLANE, (0.0001, 0.01), 0.5)


def test_draws_are_exact_where_all_is_certified():
    plan = choose(target("H2"))
    assert isinstance(plan.sampler, exact.Exact)
    assert (plan.drawn_by, plan.steps, plan.exact_share) == ("exact", 0, 1.0)
    assert plan.total_variation == exact.RUN_OUT
    assert plan.certificate.startswith("energy is convex along geodesics from the mode; acceptance")


def test_matched_chains_where_nothing_is_certified():
    plan = choose(laplace_target(SPHERE, origin(SPHERE, 1), np.array([0.1])))
    assert plan.certificate == "none: its density gives no bounds"
    assert isinstance(plan.sampler, matched.Matched)
    expected = ("matched", 0.0, plan.steps + 1)
    assert (plan.drawn_by, plan.exact_share, plan.proposals) == expected
    assert plan.steps >= 3


class AtTheMode(Kernel):
    """Never leaves the mode."""

    def init(self, rng, target, chains):
        axis = -target.space.point_ndim - 1
        shape = (*target.batch, chains, *target.space.point_shape)
        position = np.broadcast_to(np.expand_dims(target.centre, axis), shape)
        return State(position, target.log_density(position))

    def walk(self, rng, target, state, steps, every):
        yield state, np.zeros(target.batch)


def test_only_members_without_a_certificate_are_drawn_by_chains(mixed):
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
