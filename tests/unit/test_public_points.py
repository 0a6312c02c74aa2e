"""Exact probabilities of what a release chooses: whether budgets hold, and mutants that break them.

Every path of choices is followed through the code that makes a release, and its probability is
read off the integers by which it is chosen: no draw is made, and nothing is estimated.
"""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from geodp.audit.published import SPHERE, two_points
from geodp.audit.search import Pair
from geodp.manifolds.spd import SPD
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, map_records
from geodp.samplers import public_points
from geodp.samplers.integer_choice import PRECISION, ExactChoice

EPSILON = Fraction(1)

# Points of every choice.
FEW = 8

# Two stages with half of the budget each.  Footpoints of the second are nearer than the support's,
# and still much farther away than the records of the worst case are from one another.
HALVES = (
    public_points.Stage(EPSILON / 2, FEW),
    public_points.Stage(EPSILON / 2, FEW, (0.15, 3e-4)),
)


class Path:
    """In place of random bits: the indices to choose, one after the other, and how likely."""

    def __init__(self, indices):
        self.indices = list(indices)
        self.log_probability = 0.0


class Followed(ExactChoice):
    """Chooses what it is told, and says with which probability it would have."""

    def draw(self, bits):
        index = bits.indices.pop(0)
        lower, upper = self._cumulative(PRECISION)
        # Both ends of the enclosures are the same to some seventy digits.
        share = Fraction(upper[index] - (lower[index - 1] if index else 0), upper[-1])
        never = not self.weights[index]
        bits.log_probability += -np.inf if never else np.log(float(share))
        return index


class WithTwiceTheRate(Followed):
    """A mutant."""

    def __init__(self, weights, exponents, rate):
        super().__init__(weights, exponents, 2 * rate)


class WithoutWeights(Followed):
    """No mutant: another public measure, under which budgets hold as well."""

    def __init__(self, weights, exponents, rate):
        super().__init__([int(weight > 0) for weight in weights], exponents, rate)


def sphere_case():
    """The two records of the worst case, about a public point."""
    public = PublicInputs(
        SPHERE, np.array([0.0, 0.0, 1.0]), 0.5, 1e-3, (0.0, 1.0), 1e-4, 3.0, 2, loss_offset=0.999
    )
    states, _ = public.support.even_points(FEW)
    return public, two_points(0.02, states[3, 0])


def spd_case():
    """Records at a public point but for one, which is far away on one side or the other."""
    manifold, centre = SPD(2), np.eye(2)
    public = PublicInputs(manifold, centre, 1.0, 1e-3, (0.0, 1.0), 0.3, 3.0, 6, loss_offset=0.999)
    states, _ = public.support.even_points(FEW)
    farthest = np.argmax(manifold.dist(centre, states[:, 0]))
    direction = manifold.log(centre, states[farthest, 0])
    direction = direction / manifold.norm(centre, direction)
    steps = np.full((2, 6), 0.6)
    steps[:, -1] = -30.0, 30.0
    points = manifold.exp(centre, manifold.expand(steps) * direction)
    return public, Pair(np.full((2, 6), 0.5), points, 5)


CASES = {"sphere": sphere_case(), "spd": spd_case()}


def largest_loss(monkeypatch, case, stages, choice=Followed):
    """The largest logarithm of a ratio of probabilities of any path, of both data sets."""
    monkeypatch.setattr(public_points, "ExactChoice", choice)
    public, pair = case
    laws = [
        CertifiedDistribution(public, map_records(public, x[None], y[None]))
        for x, y in zip(pair.covariates, pair.points, strict=True)
    ]
    # Patterns of later stages have their centre besides.
    sizes = [stage.points + (place > 0) for place, stage in enumerate(stages)]
    logs = []
    for indices in np.ndindex(*sizes):
        paths = [Path(indices) for _ in laws]
        for law, path in zip(laws, paths, strict=True):
            public_points.draw(law, stages, path)
            assert not path.indices
        logs.append([path.log_probability for path in paths])
    logs = np.array(logs)
    np.testing.assert_allclose(np.sum(np.exp(logs), axis=0), 1.0, rtol=1e-12)
    # What is outside the support has no probability in either.
    never = np.isneginf(logs)
    np.testing.assert_array_equal(never[:, 0], never[:, 1])
    logs = logs[~never[:, 0]]
    return np.max(np.abs(logs[:, 0] - logs[:, 1]))


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_one_choice_holds_its_budget_and_comes_near_it(case, monkeypatch):
    stages = (public_points.Stage(EPSILON, FEW),)
    assert 0.6 * EPSILON < largest_loss(monkeypatch, case, stages) <= EPSILON
    found = largest_loss(monkeypatch, case, stages, WithoutWeights)
    assert 0.6 * EPSILON < found <= EPSILON


@pytest.mark.parametrize("case", CASES.values(), ids=CASES.keys())
def test_a_rate_off_by_a_factor_of_two_is_found(case, monkeypatch):
    stages = (public_points.Stage(EPSILON, FEW),)
    assert largest_loss(monkeypatch, case, stages, WithTwiceTheRate) > 1.2 * EPSILON


def test_two_stages_hold_their_budget_together(monkeypatch):
    found = largest_loss(monkeypatch, CASES["sphere"], HALVES)
    assert 0.6 * EPSILON < found <= EPSILON


def test_two_stages_that_both_have_the_whole_budget_are_found(monkeypatch):
    whole = [replace(stage, epsilon=EPSILON) for stage in HALVES]
    assert largest_loss(monkeypatch, CASES["sphere"], whole) > 1.2 * EPSILON
