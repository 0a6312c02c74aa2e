"""Privacy budgets: what they cost, how they add up, and when no guarantee is given."""

from dataclasses import replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import brentq
from scipy.stats import norm

from geodp.errors import DataError
from geodp.manifolds.sphere import Sphere
from geodp.samplers.integer_choice import generator_bits, system_bits
from geodp_release import release
from geodp_release.accounting import (
    CONCENTRATED,
    PURE,
    UNITS,
    PrivacyBudget,
    choice_cost,
    choice_epsilon,
    epsilon_of_rho,
)
from geodp_release.assumptions import ADD_OR_REMOVE, REPLACE, Assumptions
from geodp_release.hypotheses import ASSUMED, FAILS, HOLDS, ReleaseGuarantee, check_hypotheses
from geodp_release.planning import ReleasePlan
from geodp_release.release import release_geodesic
from geodp_release.stages import CountStage, MomentsStage, NoisyStep, PointsStage
from geodp_release.subjects import ONE_EACH, subject_records

SPHERE, NUMBER = Sphere(2), 12


# Budgets


def test_budgets_are_exact_decimals():
    budget = PrivacyBudget("0.1")
    assert (budget.amount, budget.unit, budget.delta) == (Decimal("0.1"), PURE, None)
    assert budget.exact == Fraction(1, 10)
    assert budget.epsilon == 0.1
    assert budget.words() == "pure 0.1-differential privacy"


def test_concentrated_budgets_say_both():
    budget = PrivacyBudget("0.5", CONCENTRATED, "1e-6")
    assert budget.exact == Fraction(1, 2)
    assert budget.epsilon == epsilon_of_rho(0.5, 1e-6)
    said = budget.words()
    assert said.startswith("0.5-zero-concentrated differential privacy, so (")
    # No smaller epsilon is said than holds.
    assert budget.epsilon <= float(said.split("(")[1].split(",")[0]) <= budget.epsilon + 1e-4


@pytest.mark.parametrize(
    ("given_", "says"),
    [
        (("0",), "above zero"),
        (("-1",), "above zero"),
        (("nan",), "above zero"),
        (("Infinity",), "above zero"),
        (("much",), "not a number"),
        ((True,), "not a number"),
        ((None,), "not a number"),
        (("1e-10",), "beyond which none means anything"),
        (("1e7",), "beyond which none means anything"),
        (("1", "delta"), "give one of epsilon, rho"),
        (("1", PURE, "1e-6"), "delta goes with rho"),
        (("1", CONCENTRATED), "rho needs a delta"),
        (("1", CONCENTRATED, "0"), "above zero"),
        (("1", CONCENTRATED, "0.01"), "above 0.001"),
        (("1", CONCENTRATED, "1"), "above 0.001"),
        (("1", CONCENTRATED, "small"), "not a number"),
    ],
)
def test_budgets_that_make_no_sense_are_refused(given_, says):
    with pytest.raises(DataError, match=says):
        PrivacyBudget(*given_)


# Concentrated privacy


def gaussian_epsilon(rho, delta):
    """Exact epsilon at delta of Gaussian noise, which is rho-zCDP (Balle and Wang 2018)."""
    ratio = np.sqrt(2.0 * rho)

    def excess(epsilon):
        first = norm.cdf(0.5 * ratio - epsilon / ratio)
        second = np.exp(epsilon + norm.logcdf(-0.5 * ratio - epsilon / ratio))
        return first - second - delta

    if excess(0.0) <= 0.0:
        return 0.0
    return brentq(excess, 0.0, rho + 10.0 * np.sqrt(rho * np.log(1.0 / delta)) + 1.0)


@pytest.mark.parametrize("delta", [1e-9, 1e-6, 1e-3])
@pytest.mark.parametrize("rho", [1e-6, 1e-3, 0.1, 0.5, 1.0, 5.0, 100.0])
def test_epsilons_of_rho_are_between_two_known_ones(rho, delta):
    """At least that of one rho-zCDP mechanism, below the textbook's bound of all of them."""
    found = epsilon_of_rho(rho, delta)
    assert gaussian_epsilon(rho, delta) <= found < rho + 2.0 * np.sqrt(rho * np.log(1.0 / delta))


@pytest.mark.parametrize(("rho", "delta"), [(0.1, 1e-6), (0.5, 1e-6), (2.0, 1e-9)])
def test_the_epsilon_is_the_least_over_orders(rho, delta):
    """By a search over a grid of alpha, with delta of the proposition, not solved for epsilon."""
    alphas = 1.0 + np.geomspace(1e-3, 1e4, 200001)

    def least_delta(epsilon):
        logs = (alphas - 1.0) * (alphas * rho - epsilon)
        logs = logs - np.log(alphas - 1.0) + alphas * np.log1p(-1.0 / alphas)
        return np.min(logs)

    found = epsilon_of_rho(rho, delta)
    assert least_delta(found) == pytest.approx(np.log(delta), abs=1e-5)


def test_known_epsilons():
    # The textbook's bounds are 2.451 and 5.757.
    assert epsilon_of_rho(0.1, 1e-6) == pytest.approx(2.142, abs=1e-3)
    assert epsilon_of_rho(0.5, 1e-6) == pytest.approx(5.222, abs=1e-3)
    # More of either is less private, and less.
    assert epsilon_of_rho(0.2, 1e-6) > epsilon_of_rho(0.1, 1e-6)
    assert epsilon_of_rho(0.1, 1e-5) < epsilon_of_rho(0.1, 1e-6)


# Choices


fractions = st.fractions(min_value=Fraction(1, 10**6), max_value=1000)


@given(fractions, st.sampled_from(UNITS))
def test_choices_cost_no_more_than_asked(cost, unit):
    """And nearly as much: a grain more of epsilon would be too much."""
    epsilon = choice_epsilon(cost, unit)
    assert choice_cost(epsilon, unit) <= cost
    assert choice_cost(epsilon + Fraction(1, 1 << 20), unit) > cost


@given(fractions)
def test_concentrated_choices_cost_an_eighth_of_the_square(epsilon):
    assert choice_cost(epsilon, CONCENTRATED) == epsilon * epsilon / 8
    assert choice_cost(epsilon, PURE) == epsilon
    stage = PointsStage.of(epsilon, CONCENTRATED, 16, 0.3)
    assert (stage.budget, stage.epsilon) == (epsilon**2 / 8, epsilon)


@given(st.floats(min_value=1e-3, max_value=20.0))
def test_a_bounded_range_is_concentrated_as_stated(epsilon):
    """Two outcomes with losses epsilon apart: Renyi divergences are at most alpha eps^2 / 8."""
    for share in (0.01, 0.3, 0.5, 0.9):
        # Probabilities q and p with losses log(p / q) a distance of epsilon apart.
        q = np.array([share, 1.0 - share])
        p = q * np.exp([epsilon, 0.0])
        p = p / p.sum()
        for alpha in (1.5, 2.0, 10.0):
            divergence = np.log(np.sum(p**alpha * q ** (1.0 - alpha))) / (alpha - 1.0)
            cost = float(choice_cost(Fraction(epsilon), CONCENTRATED))
            assert divergence <= alpha * cost * (1.0 + 1e-9) + 1e-12


@pytest.mark.parametrize(
    ("stage", "says"),
    [
        (lambda: PointsStage(1, PURE, 2, 16, 0.3), "does not cost its budget"),
        (lambda: PointsStage(1, CONCENTRATED, 1, 16, 0.3), "does not cost its budget"),
        (lambda: PointsStage.of(1, PURE, 12, 0.3), "power of two"),
        (lambda: PointsStage.of(1, PURE, 16, np.nan), "clip nan"),
        (lambda: PointsStage.of(1, PURE, 16, 0.3, (0.1, 0.0)), "positive numbers"),
        (lambda: PointsStage.of(0, PURE, 16, 0.3), "budget 0"),
        (lambda: CountStage(-1), "budget -1"),
        (lambda: MomentsStage(1, "delta"), "epsilon or rho"),
        (lambda: NoisyStep(1, clip=1.0, kept=0.0), "kept 0.0"),
        (lambda: NoisyStep(1, clip=1.0, prior=(1.0, 0.0)), "positive numbers"),
    ],
)
def test_stages_that_make_no_sense_are_refused(stage, says):
    with pytest.raises(DataError, match=says):
        stage()


# Plans


def assumed(neighbours=REPLACE, limit=1):
    return Assumptions(SPHERE, np.eye(3)[0], 0.8, 1.5, (20.0, 70.0), 0.1, NUMBER, limit, neighbours)


def planned(*stages, budget="1", neighbours=REPLACE, unit=PURE, limit=1):
    amount = PrivacyBudget(budget, unit, None if unit == PURE else "1e-6")
    return ReleasePlan(assumed(neighbours, limit), amount, stages, 1.0, 1.0, 1.0)


def stages_of(unit, count=False):
    """Four stages, or five, whose budgets are not decimals."""
    quarter = Fraction(1, 9 if count else 8)
    counted = (CountStage(quarter, unit),) if count else ()
    return (
        *counted,
        PointsStage.of(choice_epsilon(quarter, unit), unit, 16, 0.3),
        PointsStage.of(choice_epsilon(quarter, unit), unit, 16, 0.3, (0.1, 0.1)),
        MomentsStage(quarter, unit),
        NoisyStep(quarter, unit, clip=0.2),
    )


def data(plan, seed=1):
    rng = np.random.default_rng(seed)
    centre = np.broadcast_to(np.eye(3)[0], (NUMBER, 3))
    points = SPHERE.exp(centre, 0.2 * SPHERE.random_tangent(rng, centre))
    return rng.uniform(20.0, 70.0, NUMBER), points


def records_of(plan):
    return subject_records(plan.assumptions, *data(plan), ONE_EACH)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("neighbours", [REPLACE, ADD_OR_REMOVE])
def test_a_plan_within_its_budget_is_released(unit, neighbours):
    stages = stages_of(unit, neighbours == ADD_OR_REMOVE)
    plan = planned(*stages, budget="1", unit=unit, neighbours=neighbours)
    found = release_geodesic(plan, *data(plan), ONE_EACH)
    assert found.guarantee.holds
    assert found.guarantee.budget == plan.budget
    states = {each.state for each in found.guarantee.hypotheses}
    assert states == {HOLDS, ASSUMED}
    said = found.guarantee.words()
    assert plan.budget.words() in said
    assert ("the replacement of" in said) == (neighbours == REPLACE)
    assert "one subject with one record" in said
    assert (found.number == NUMBER) or neighbours == ADD_OR_REMOVE


def test_budgets_of_stages_add_up_exactly():
    """Three thirds are one, and a hair more is too much."""
    third = [NoisyStep(Fraction(1, 3), clip=0.2)] * 3
    assert planned(*third).stages == tuple(third)
    hair = NoisyStep(Fraction(1, 3) + Fraction(1, 10**40), clip=0.2)
    with pytest.raises(DataError, match="more than the budget 1"):
        planned(*third[:2], hair)
    with pytest.raises(DataError, match="more than the budget 1"):
        planned(*third, CountStage(Fraction(1, 10**9)))


@pytest.mark.parametrize("unit", UNITS)
def test_choices_count_in_a_plan_by_what_they_cost(unit):
    choice = PointsStage.of(Fraction(3), unit, 16, 0.3)
    amount = {PURE: "3", CONCENTRATED: "1.125"}[unit]
    assert planned(choice, budget=amount, unit=unit).stages == (choice,)
    with pytest.raises(DataError, match="more than the budget"):
        planned(choice, budget={PURE: "2.999", CONCENTRATED: "1.124"}[unit], unit=unit)


def test_stages_in_another_unit_are_refused():
    with pytest.raises(DataError, match="of different units"):
        planned(NoisyStep(Fraction(1, 2), CONCENTRATED, clip=0.2))


# Guarantees


def failing(hypotheses):
    return {each.name for each in hypotheses if each.state == FAILS}


class ForeignStep(NoisyStep):
    """A step of somebody else."""


STEP = NoisyStep(Fraction(1, 4), clip=0.2)
COUNT = CountStage(Fraction(1, 4))

# Plans that can be made, and the hypothesis of each that fails.
UNSOUND = {
    "foreign step": (planned(ForeignStep(Fraction(1, 4), clip=0.2)), {"R4", "R5"}),
    "no stage": (planned(), {"R4", "R5"}),
    "no count": (planned(STEP, neighbours=ADD_OR_REMOVE), {"R4"}),
    "count not first": (planned(STEP, COUNT, neighbours=ADD_OR_REMOVE), {"R4"}),
    "two counts": (planned(COUNT, COUNT, STEP, neighbours=ADD_OR_REMOVE), {"R4"}),
    "count for replacement": (planned(COUNT, STEP), {"R4"}),
}


@pytest.mark.parametrize(("plan", "names"), UNSOUND.values(), ids=UNSOUND)
def test_unsound_plans_release_nothing(plan, names):
    assert failing(check_hypotheses(plan, records_of(plan), system_bits)) == names
    with pytest.raises(DataError, match="nothing is released, since there is no guarantee: R"):
        release_geodesic(plan, *data(plan), ONE_EACH)


def test_seeded_bits_release_nothing(monkeypatch):
    plan = planned(STEP)
    bits = generator_bits(np.random.default_rng(1))
    assert failing(check_hypotheses(plan, records_of(plan), bits)) == {"R6"}
    monkeypatch.setattr(release, "system_bits", bits)
    with pytest.raises(DataError, match="no guarantee: R6 of the theorem fails"):
        release_geodesic(plan, *data(plan), ONE_EACH)


@pytest.mark.parametrize(
    "stage", [NoisyStep(Fraction(2), clip=0.2), NoisyStep(Fraction(1, 4), CONCENTRATED, clip=0.2)]
)
def test_plans_that_were_changed_by_force_release_nothing(stage):
    plan = planned(STEP)
    object.__setattr__(plan, "stages", (stage,))
    with pytest.raises(DataError, match="no guarantee: R5"):
        release_geodesic(plan, *data(plan), ONE_EACH)


def test_records_of_another_limit_have_no_guarantee():
    plan = planned(STEP)
    records = records_of(planned(STEP, limit=3))
    assert failing(check_hypotheses(plan, records, system_bits)) == {"R1"}
    assert failing(check_hypotheses(plan, object(), system_bits)) == {"R1", "R3"}


def test_nothing_is_guaranteed_without_its_hypotheses():
    plan = planned(STEP)
    nothing = ReleaseGuarantee(plan.budget, REPLACE, 1, ())
    assert not nothing.holds
    assert nothing.words() == "no guarantee: no hypothesis was checked"
    sound = replace(nothing, hypotheses=check_hypotheses(plan, records_of(plan), system_bits))
    assert sound.holds
    assert len(sound.unchecked()) == 4
