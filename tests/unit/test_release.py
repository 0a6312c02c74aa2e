"""Releases: what they hold, what they say of themselves, and what is refused."""

import logging
from dataclasses import fields, replace
from fractions import Fraction

import numpy as np
import pytest
import test_contributions as common

from geodp import Assumptions, DataError, PrivacyBudget, ReleasePlan, Sphere, release_geodesic
from geodp.samplers.integer_choice import generator_bits, system_bits
from geodp_release.promise.budget import CONCENTRATED, PURE
from geodp_release.promise.public_inputs import ADD_OR_REMOVE
from geodp_release.run import contributions
from geodp_release.run.contributions import LOSS_LATTICE
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.show import release
from geodp_release.show.hypotheses import (
    ASSUMED,
    FAILS,
    HOLDS,
    ReleaseGuarantee,
    check_hypotheses,
)
from geodp_release.stages import CountStage, MomentsStage, NoisyStep, PointsStage
from geodp_release.stages.draw import Released, run_plan

SPHERE, NUMBER = Sphere(2), 20
PURE_BUDGET, RHO_BUDGET = PrivacyBudget("1.0"), PrivacyBudget("0.5", CONCENTRATED, "1e-6")


def assumed(manifold=SPHERE, number=NUMBER, **others):
    return common.assumed(manifold, number, **others)


def made_plan(assumptions, budget=PURE_BUDGET, stages=None):
    """A plan with a stage of each kind that it may have, in place of the best ones."""
    if stages is None:
        unit, total = budget.unit, budget.exact
        choice = PointsStage.of(Fraction(1, 4), unit, 64, 0.3)
        stages = (choice, MomentsStage(total / 8, unit), NoisyStep(total / 8, unit, clip=0.1))
        if assumptions.neighbours == ADD_OR_REMOVE:
            stages = (CountStage(total / 16, unit), *stages)
    return ReleasePlan(assumptions, budget, tuple(stages), 0.2, 0.1, 0.5)


def example(assumptions, seed=2):
    """Covariates and points of as many subjects as are assumed."""
    return common.draw_records(assumptions, assumptions.subjects, seed)


def grouped(assumptions):
    return subject_records(assumptions, *example(assumptions), ONE_EACH)


PLAN = made_plan(assumed())


def checked(plan=PLAN, records=None, bits=system_bits):
    return check_hypotheses(plan, grouped(plan.assumptions) if records is None else records, bits)


def failing(*given, **named):
    return {each.name for each in checked(*given, **named) if each.state == FAILS}


guarantee_of = ReleaseGuarantee.of


def test_the_guarantee_says_whom_it_protects_and_what_it_assumes():
    found = guarantee_of(PLAN, checked())
    assert found.holds
    assert guarantee_of(PLAN, ()).words() == "no guarantee: no hypothesis was checked"
    assert found.words() == (
        "pure 1.0-differential privacy for the replacement of one subject with one record, "
        "assuming R1, R2, R6, R7"
    )
    said = ("whose each record is", "without looking at the data", "fair", "nothing else")
    told = [each.by_holder for each in found.hypotheses if each.state == ASSUMED]
    assert all(words in each for words, each in zip(said, told, strict=True))
    states = {each.name: (bool(each.by_code), each.state) for each in found.hypotheses}
    assert states == {
        **dict.fromkeys(("R1", "R6"), (True, ASSUMED)),
        **dict.fromkeys(("R2", "R7"), (False, ASSUMED)),
        **dict.fromkeys(("R3", "R4", "R5"), (True, HOLDS)),
    }
    several = made_plan(assumed(neighbours=ADD_OR_REMOVE, records_per_subject=3), RHO_BUDGET)
    words = guarantee_of(several, checked(several)).words()
    assert words.startswith(
        "0.5-zero-concentrated differential privacy, so (5.2216, 0.000001)-differential privacy "
        "for the addition or removal of one subject with all its records, of which 3 count"
    )


def weakened(**others):
    """A plan that its class would refuse."""
    found = object.__new__(ReleasePlan)
    found.__dict__.update({**vars(PLAN), **others})
    return found


COUNT, STEP = CountStage(Fraction(1, 4)), NoisyStep(Fraction(1, 4), clip=0.1)


def own(kind, base, **changed):
    """An instance of another class that says something else of itself."""
    found = object.__new__(type("Own", (kind,), changed))
    found.__dict__.update(vars(base))
    return found


def counting(*stages):
    return made_plan(assumed(neighbours=ADD_OR_REMOVE), stages=stages)


HAIR = replace(STEP, budget=1), replace(STEP, budget=Fraction(1e-17))
OWN = own(Assumptions, PLAN.assumptions, changes=0.001)

# Plans, and the hypotheses that fail.
UNSOUND = {
    "sound": (PLAN, set()),
    "no stage": (weakened(stages=()), {"R4", "R5"}),
    "own stage": (made_plan(assumed(), stages=[own(NoisyStep, STEP)]), {"R4", "R5"}),
    "own assumptions": (weakened(assumptions=OWN), {"R4", "R5"}),
    "own budget": (weakened(budget=own(PrivacyBudget, PLAN.budget, exact=10)), {"R4", "R5"}),
    "own plan": (own(ReleasePlan, PLAN), {"R4"}),
    "too much": (weakened(stages=(replace(STEP, budget=2),)), {"R5"}),
    "a hair too much": (weakened(stages=HAIR), {"R5"}),
    # In which as much is another budget.
    "other unit": (weakened(stages=(replace(STEP, unit=CONCENTRATED),)), {"R5"}),
    "count for replacement": (made_plan(assumed(), stages=(COUNT, STEP)), {"R4"}),
    "count": (counting(COUNT, STEP), set()),
    "no count": (counting(STEP), {"R4"}),
    "count not first": (counting(STEP, COUNT), {"R4"}),
    "two counts": (counting(COUNT, COUNT, STEP), {"R4"}),
}


@pytest.mark.parametrize(("plan", "fails"), UNSOUND.values(), ids=UNSOUND)
def test_unsound_plans_release_nothing(plan, fails):
    assumptions = assumed(neighbours=plan.assumptions.neighbours)
    assert failing(plan, grouped(assumptions)) == fails
    if fails:
        assert not guarantee_of(plan, checked(plan, grouped(assumptions))).holds
        with pytest.raises(DataError, match="nothing is released, since there is no guarantee: R"):
            release_geodesic(plan, *example(assumptions), ONE_EACH)


def test_other_records_bits_and_spaces_have_no_guarantee(monkeypatch):
    records = grouped(PLAN.assumptions)
    parts = {name: part for name, part in vars(records).items() if name != "gradients"}
    other = type("Records", (type(records),), {})(**parts)
    assert failing(records=other) == failing(records=object()) == {"R1", "R3"}
    assert failing(records=grouped(assumed(records_per_subject=2))) == {"R1"}
    # Of a space of one's own the holder answers for what tests examine of others.
    space = type("Own", (Sphere,), {})(2)
    found = {each.name: each for each in checked(made_plan(assumed(space)), records)}
    assert found["R3"].state == ASSUMED
    assert "a space of one's own" in found["R3"].by_holder
    bits = generator_bits(np.random.default_rng(1))
    assert failing(bits=bits) == {"R6"}
    monkeypatch.setattr(release, "system_bits", bits)
    monkeypatch.setattr(release, "run_plan", None)
    with pytest.raises(DataError, match="nothing is released, since there is no guarantee: R6"):
        release_geodesic(PLAN, *example(PLAN.assumptions), ONE_EACH)


def test_a_release_holds_nothing_else_of_the_data(capfd, caplog):
    """Fields, attributes, what is printed, and what is logged."""
    caplog.set_level(logging.DEBUG)
    data = [example(PLAN.assumptions, seed) for seed in (2, 3)]
    one, other = (release_geodesic(PLAN, *each, ONE_EACH) for each in data)
    names = [field.name for field in fields(release.Release)]
    expected = ["footpoint", "shooting_vectors", "number", "moments", "lengths", "plan"]
    assert names == [*expected, "guarantee", "far", "reached", "tails", "products", "about"]
    assert set(vars(one)) == set(names)
    assert one.about is other.about is None
    assert one.guarantee == other.guarantee
    assert one.number == other.number == NUMBER
    assert one.plan is PLAN
    # Covariance and uncertainty are functions of the plan and of noisy moments, and what a step
    # reached is one of its noisy sums.
    names = [field.name for field in fields(Released)]
    expected = ["state", "number", "moments", "covariance", "uncertainty", "lengths", "far"]
    assert names == [*expected, "tails", "products", "reached", "within", "is_whole"]
    captured = capfd.readouterr()
    assert captured.out + captured.err + caplog.text == ""


def test_frequencies_of_few_points_are_their_probabilities():
    """Of losses computed here."""
    assumptions = assumed(number=10)
    covariates, points = example(assumptions)
    clip = 0.3
    stage = PointsStage.of(Fraction(3, 2), PURE, 16, clip)
    plan = made_plan(assumptions, PrivacyBudget("3"), [stage])
    x = np.clip((covariates - 45.0) / 50.0, -0.5, 0.5)
    states, volumes = assumptions.support.even_points(16)
    ends = SPHERE.exp(states[:, 0, None], x[:, None] * states[:, 1, None])
    losses = np.minimum((SPHERE.dist(ends, points) / clip) ** 2, 1.0)
    # Rounded down, each of them.
    losses = np.sum(np.floor(LOSS_LATTICE * losses), axis=1) / LOSS_LATTICE
    mass = volumes * np.exp(-0.75 * losses)
    share = mass / np.sum(mass)
    records = subject_records(assumptions, covariates, points, ONE_EACH)
    bits = generator_bits(np.random.default_rng(6))
    drawn = np.array([run_plan(plan, records, bits).state for _ in range(800)])
    same = np.all(drawn[:, None] == states, axis=(-1, -2))
    assert np.all(np.sum(same, axis=1) == 1)
    found = np.mean(same, axis=0)
    spread = np.sqrt(share * (1.0 - share) / len(drawn)) + 4e-4
    assert np.max(np.abs(found - share) / spread) < 5.0


def test_the_work_of_a_release_does_not_depend_on_the_data(monkeypatch):
    found, counts = [], []
    right = type(SPHERE).distances_along, contributions.gradients

    def distances(self, p, *others):
        counts.append(len(p) * len(others[1]))
        return right[0](self, p, *others)

    def gradients(manifold, covariates, *others):
        counts.append(len(covariates))
        return right[1](manifold, covariates, *others)

    monkeypatch.setattr(type(SPHERE), "distances_along", distances)
    monkeypatch.setattr(contributions, "gradients", gradients)
    assumptions = assumed(number=60)
    first = PointsStage.of(Fraction(1, 4), PURE, 64, 0.3)
    plan = made_plan(assumptions, stages=[first, NoisyStep(Fraction(1, 2), clip=0.1)])
    for seed, spoiled in ((1, 0), (2, 30), (3, 60)):
        covariates, points = example(assumptions, seed)
        points[:spoiled] = np.nan
        counts.clear()
        release_geodesic(plan, covariates, points, ONE_EACH)
        found.append(sum(counts))
    assert found[0] == found[1] == found[2]
    assert found[0] > 32 * 60
