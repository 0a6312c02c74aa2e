"""Privacy budgets and stages: what they cost, how they add up, and what is refused."""

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest
from cohort import REFUSALS
from hypothesis import given, strategies

from geodp import Assumptions, DataError, Euclidean, ReleasePlan
from geodp_release import stages as st
from geodp_release.promise.budget import (
    CONCENTRATED,
    PURE,
    UNITS,
    PrivacyBudget,
    choice_cost,
    choice_epsilon,
    epsilon_of_rho,
)


def test_budgets_are_exact_decimals_and_say_what_they_are():
    budget = PrivacyBudget("0.1")
    assert (budget.amount, budget.unit, budget.delta) == (Decimal("0.1"), PURE, None)
    assert (budget.exact, budget.epsilon) == (Fraction(1, 10), 0.1)
    assert budget.words() == "pure 0.1-differential privacy"
    budget = PrivacyBudget("0.5", CONCENTRATED, "1e-6")
    assert (budget.exact, budget.epsilon) == (Fraction(1, 2), epsilon_of_rho(0.5, 1e-6))
    # The formula is below zero there.
    assert epsilon_of_rho(1e-6, 1e-3) == 0.0
    said = budget.words()
    assert said.startswith("0.5-zero-concentrated differential privacy, so (")
    # No smaller epsilon is said than holds.
    assert budget.epsilon <= float(said.split("(")[1].split(",")[0]) <= budget.epsilon + 1e-4


@pytest.mark.parametrize(("given_", "says"), REFUSALS["budgets"])
def test_budgets_that_make_no_sense_are_refused(given_, says):
    with pytest.raises(DataError, match=says):
        PrivacyBudget(*given_)


@pytest.mark.parametrize(
    ("rho", "delta", "known"),
    [
        *((0.1, 1e-6, 2.142), (0.5, 1e-6, 5.222)),
        *((1e-6, 1e-9, None), (2.0, 1e-9, None), (100.0, 1e-3, None)),
    ],
)
def test_the_epsilon_is_the_least_over_orders(rho, delta, known):
    """By a search over a grid of alpha, with delta of the proposition, not solved for epsilon."""
    found, alphas = epsilon_of_rho(rho, delta), 1.0 + np.geomspace(1e-3, 1e4, 200001)
    logs = (alphas - 1.0) * (alphas * rho - found)
    logs = logs - np.log(alphas - 1.0) + alphas * np.log1p(-1.0 / alphas)
    assert np.min(logs) == pytest.approx(np.log(delta), abs=1e-5)
    assert known is None or found == pytest.approx(known, abs=1e-3)


fractions = strategies.fractions(min_value=Fraction(1, 10**6), max_value=1000)


@given(fractions, strategies.sampled_from(UNITS))
def test_choices_cost_no_more_than_asked(cost, unit):
    """And nearly as much: a grain more of epsilon would be too much."""
    epsilon = choice_epsilon(cost, unit)
    assert choice_cost(epsilon, unit) <= cost < choice_cost(epsilon + Fraction(1, 1 << 20), unit)
    stage = st.PointsStage.of(epsilon, unit, 16, 0.3)
    assert stage.budget == (epsilon if unit == PURE else epsilon**2 / 8)


@pytest.mark.parametrize("epsilon", [0.01, 0.3, 1.0, 3.0, 20.0])
def test_a_bounded_range_is_concentrated_as_stated(epsilon):
    """Two outcomes with losses epsilon apart: Renyi divergences are at most alpha eps^2 / 8."""
    cost = float(choice_cost(Fraction(epsilon), CONCENTRATED))
    largest = 0.0
    for share in np.linspace(0.01, 0.99, 25):
        # Probabilities q and p with losses log(p / q) a distance of epsilon apart.
        q = np.array([share, 1.0 - share])
        p = q * np.exp([epsilon, 0.0])
        p = p / p.sum()
        for alpha in (1.01, 1.5, 2.0, 10.0):
            divergence = np.log(np.sum(p**alpha * q ** (1.0 - alpha))) / (alpha - 1.0)
            largest = max(largest, divergence / alpha)
    assert largest <= cost * (1.0 + 1e-9) + 1e-12
    # Of small choices the bound is nearly reached.
    assert epsilon > 0.5 or largest > 0.95 * cost


def planned(*stages, budget="1", unit=PURE, covariates=1):
    assumptions = Assumptions(
        Euclidean(1), [0.0], 1.0, (1.0,) * covariates, ((0, 1),) * covariates, 9, residual_scale=0.1
    )
    amount = PrivacyBudget(budget, unit, None if unit == PURE else "1e-6")
    return ReleasePlan(assumptions, amount, stages, 1.0, 1.0, 1.0)


THIRD = st.NoisyStep(Fraction(1, 3), clip=0.2)
BAD_STAGES = [
    (lambda: st.PointsStage(1, PURE, 2, 16, 0.3), "does not cost its budget"),
    (lambda: st.PointsStage(1, CONCENTRATED, 1, 16, 0.3), "does not cost its budget"),
    (lambda: st.PointsStage.of(1, PURE, 12, 0.3), "power of two"),
    (lambda: st.PointsStage.of(1, PURE, 1, 0.3), "power of two"),
    (lambda: st.PointsStage.of(1, PURE, 16, np.nan), "clip nan"),
    (lambda: st.PointsStage.of(0, PURE, 16, 0.3), "budget 0: give each one above zero"),
    (lambda: st.CountStage(-1), "budget -1"),
    (lambda: st.MomentsStage(1, "delta"), "epsilon or rho"),
    *((lambda c=c: st.NoisyStep(1, clip=c), f"clip {c}") for c in (0.0, np.inf)),
    *((lambda r=r: st.MatrixStage(1, clip=1.0, reach=r), f"reach {r}") for r in (0.0, np.inf)),
    (lambda: st.NoisyStep(1, clip=1.0, kept=0.0), "kept 0.0"),
    *((lambda k=k: st.ScaleStage(1, share=k), f"share {k}: give") for k in (0, 1, Fraction(1, 3))),
    (lambda: st.NoisyStep(1, clip=1.0, prior=(1.0, 0.0)), "positive numbers"),
    (lambda: st.LastStep(1, clip=1.0, unlike=-1.0), "a stage has unlike -1"),
    (lambda: st.LastStep(1, clip=1.0, share=Fraction(2)), "share 2: give k/1024 between 0 and 1"),
    # For other covariates than there are.
    (lambda: planned(THIRD, covariates=2), "2 numbers for the 3 parts of a state"),
    (lambda: planned(st.MomentsStage(1), covariates=0), "a mean has no covariates"),
    (lambda: planned(st.NoisyStep(1, clip=1.0, is_relative=True)), "no stage before it releases"),
]


@pytest.mark.parametrize(("stage", "says"), BAD_STAGES)
def test_stages_that_make_no_sense_are_refused(stage, says):
    with pytest.raises(DataError, match=says):
        stage()


def test_budgets_of_stages_add_up_exactly():
    """Three thirds are one, and a hair more is too much."""
    third = [THIRD] * 3
    assert planned(*third).stages == tuple(third)
    hairs = [st.NoisyStep(Fraction(part), clip=0.1) for part in (1.0, 1e-17, 1e-17)]
    for stages in (hairs, [*third, st.CountStage(Fraction(1, 10**40))]):
        with pytest.raises(DataError, match="cost 1, which is more than the budget 1"):
            planned(*stages)
    with pytest.raises(DataError, match="of different units"):
        planned(st.NoisyStep(Fraction(1, 2), CONCENTRATED, clip=0.2))
    for unit, enough, less in ((PURE, "3", "2.999"), (CONCENTRATED, "1.125", "1.124")):
        choice = st.PointsStage.of(Fraction(3), unit, 16, 0.3)
        assert planned(choice, budget=enough, unit=unit).stages == (choice,)
        with pytest.raises(DataError, match="more than the budget"):
            planned(choice, budget=less, unit=unit)
