"""Confidence bands: how often they hold the true prediction."""

import numpy as np
import pytest

from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.sphere import Sphere
from geodp.release import planning
from geodp.release.accounting import PrivacyBudget
from geodp.release.assumptions import Assumptions
from geodp.release.bands import LEVELS, band_radii, simulated_errors
from geodp.release.draw import run_plan
from geodp.release.planning import plan_release
from geodp.release.subjects import ONE_EACH, subject_records
from geodp.samplers.integer_choice import generator_bits

# Manifold, radii of the support, residual scale, subjects, budget; releases without many points,
# which take milliseconds.
CASES = {
    "R3": (Euclidean(3), 1.0, 2.0, 0.1, 500, "3"),
    "S5": (Sphere(5), 0.5, 1.0, 0.03, 500, "2"),
    "shapes": (KendallPlanarShapes(9), 0.1, 0.2, 0.012, 409, "3"),
}
PLACES = np.array([-0.5, 0.0, 0.5])

# What a band may miss of its level, besides chance: measured with 1,000 releases, at most 2.5
# points where curvature is strong.
MISSED = 0.03


def truth_of(rng, assumptions):
    """A geodesic as the planner assumes: uniform directions and lengths."""
    manifold, centre = assumptions.manifold, assumptions.centre
    lengths = rng.random(2) * [assumptions.footpoint_radius, assumptions.shooting_vector_length]
    start = manifold.exp(centre, lengths[0] * manifold.random_direction(rng, centre))
    return start, lengths[1] * manifold.random_direction(rng, start)


def coverage(assumptions, plan, releases, factor=1.0, seed=1):
    """Share of releases whose band holds the true prediction; (levels, places)."""
    rng = np.random.default_rng(seed)
    manifold, number = assumptions.manifold, assumptions.subjects
    errors, held = simulated_errors(plan), 0
    for _ in range(releases):
        start, velocity = truth_of(rng, assumptions)
        x = rng.uniform(-0.5, 0.5, number)
        means = manifold.exp(start, manifold.expand(x) * velocity)
        noise = assumptions.residual_scale * rng.normal(size=(number, manifold.dim))
        points = manifold.exp(means, manifold.vector(manifold.frame(means), noise))
        records = subject_records(assumptions, x, points, ONE_EACH)
        p, v = state = run_plan(plan, records, generator_bits(rng)).state
        radii = factor * band_radii(manifold, errors, state, PLACES)
        drawn = manifold.exp(p, manifold.expand(PLACES) * v)
        held = held + (
            manifold.dist(drawn, manifold.exp(start, manifold.expand(PLACES) * velocity)) <= radii
        )
    return held / releases


def case(name, monkeypatch):
    manifold, radius, length, scale, number, epsilon = CASES[name]
    # So few points that many releases are drawn in a short time.
    monkeypatch.setattr(planning, "FIRST_WORK", 1 << 17)
    monkeypatch.setattr(planning, "LATER_WORK", 1 << 17)
    centre = manifold.random_point(np.random.default_rng(0))
    assumptions = Assumptions(manifold, centre, radius, length, (-0.5, 0.5), scale, number)
    return assumptions, plan_release(assumptions, PrivacyBudget(epsilon))


@pytest.mark.slow
@pytest.mark.parametrize("name", CASES)
def test_bands_hold_the_true_prediction_as_often_as_they_say(name, monkeypatch):
    releases = 300
    found = coverage(*case(name, monkeypatch), releases)
    for level, shares in zip(LEVELS, found, strict=True):
        chance = 3.5 * np.sqrt(level * (1.0 - level) / releases)
        np.testing.assert_allclose(shares, level, atol=MISSED + chance)


def test_a_narrower_band_is_caught(monkeypatch):
    """The check above can fail: bands of 0.7 times the radius hold far less."""
    found = coverage(*case("shapes", monkeypatch), 150, factor=0.7)
    assert np.all(found[0] < 0.75)
