"""Plans of releases: what stages spend, what is predicted, and what they turn out to give."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from geodp import Assumptions, PrivacyBudget, plan_release
from geodp.errors import DataError
from geodp.evaluation import geodesic_errors
from geodp.manifolds.registry import make_manifold
from geodp.samplers.integer_choice import generator_bits
from geodp_release import planning, simulation
from geodp_release.accounting import CONCENTRATED
from geodp_release.assumptions import ADD_OR_REMOVE
from geodp_release.draw import run_plan
from geodp_release.files import plan_document
from geodp_release.planning import run_stages
from geodp_release.simulation import CLUSTERED, CURVE, EVENLY, UNKNOWN, Covariates, FlatReleases
from geodp_release.stages import CountStage, MomentsStage, NoisyStep, PointsStage, step
from geodp_release.stages import points as points_module
from geodp_release.subjects import ONE_EACH, subject_records


def assumed(kind, radii, scale, number, **others):
    manifold = make_manifold(*kind)
    centre = manifold.random_point(np.random.default_rng(3))
    return Assumptions(manifold, centre, *radii, (0.0, 1.0), scale, number, **others)


def sphere(number, **others):
    return assumed(("sphere", 2), (np.pi / 4, np.pi / 2), 0.03, number, **others)


def matrices(number, **others):
    return assumed(("spd", 2), (0.5, 1.0), 0.01, number, **others)


@pytest.fixture
def few_designs(few_points, monkeypatch):
    """A short search."""
    short = {"choices": ((0.35,), (0.16, 0.34)), "expanded": 2, "refined": 1, "rounds": 1}
    monkeypatch.setattr(planning, "SEARCH", replace(planning.SEARCH, **short))


RHO = PrivacyBudget("0.3", CONCENTRATED, "1e-6")


@pytest.mark.parametrize("budget", [PrivacyBudget("1.1"), RHO], ids=["epsilon", "rho"])
@pytest.mark.parametrize("others", [{}, {"neighbours": ADD_OR_REMOVE}], ids=["same", "other"])
def test_stages_spend_the_budget_and_stay_in_the_support(budget, others, few_designs):
    assumptions = sphere(60, **others)
    plan = plan_release(assumptions, budget)
    assert plan.assumptions is assumptions
    assert plan.budget is budget
    spent = sum(stage.budget for stage in plan.stages)
    assert Fraction(999, 1000) * budget.exact < spent <= budget.exact
    if budget.unit != CONCENTRATED:
        assert spent == budget.exact
    counted = [isinstance(stage, CountStage) for stage in plan.stages]
    assert counted == [bool(others)] + [False] * (len(counted) - 1)
    choices = [stage for stage in plan.stages if isinstance(stage, PointsStage)]
    for index, stage in enumerate(choices):
        assert (stage.radii is None) == (index == 0)
        if stage.radii is not None:
            assert np.all(np.array(stage.radii) <= assumptions.support.radii)
    assert sum(isinstance(stage, MomentsStage) for stage in plan.stages) <= 1
    assert isinstance(plan.stages[-1], PointsStage | NoisyStep)
    assert {stage.unit for stage in plan.stages} == {budget.unit}
    assert plan.error_without_privacy < plan.error
    if not plan.is_noise:
        assert plan.error < plan.error_without_data


def test_a_plan_is_the_same_at_every_call(few_designs):
    """As are files of it; caches of simulations do not matter."""
    first = plan_release(sphere(60), PrivacyBudget("1"))
    plan_release(matrices(90), PrivacyBudget("1"))
    for cached in (step._clipped_means, points_module._losses, simulation.excess_of_clipping):
        cached.cache_clear()
    second = plan_release(sphere(60), PrivacyBudget("1"))
    assert first.stages == second.stages
    assert plan_document(first) == plan_document(second)


def test_a_plan_depends_on_public_assumptions_alone(few_designs):
    """Neither on where the centre is, nor on units of the covariate or of lengths."""
    one = plan_release(sphere(60), PrivacyBudget("1"))
    assumptions = replace(sphere(60), centre=np.array([0.0, 0.0, 1.0]), covariate_range=(50, 90))
    assert plan_release(assumptions, PrivacyBudget("1")).stages == one.stages
    flat = [
        assumed(("euclidean", 2), (unit * 0.5, unit), unit * 0.03, 60) for unit in (1.0, 1024.0)
    ]
    small, large = (plan_release(each, PrivacyBudget("1")) for each in flat)
    assert large.error == pytest.approx(1024.0 * small.error, rel=1e-6)
    assert [each.budget for each in large.stages] == [each.budget for each in small.stages]


@pytest.mark.slow
def test_releases_get_better_with_subjects_and_budget(few_points):
    errors = [
        plan_release(sphere(number), PrivacyBudget("3")).error for number in (10, 50, 200, 2000)
    ]
    assert errors == sorted(errors, reverse=True)
    errors = [plan_release(sphere(100), PrivacyBudget(each)).error for each in ("0.1", "1", "10")]
    assert errors == sorted(errors, reverse=True)
    rich = plan_release(matrices(2000), PrivacyBudget("10"))
    assert not rich.is_noise
    # Nearly as good as without privacy.
    assert rich.error < 1.05 * rich.error_without_privacy
    poor = plan_release(matrices(20), PrivacyBudget("0.1"))
    assert poor.is_noise
    # What is learnt is next to nothing, and the plan is no worse than staying at the centre.
    assert 0.8 * poor.error_without_data < poor.error < 1.2 * poor.error_without_data


@pytest.mark.slow
@pytest.mark.parametrize("points", [1 << 9, 1 << 10, 1 << 13])
def test_points_that_stand_for_others_change_nothing(points, monkeypatch):
    """A stage in which the far points hold much of the mass, with all of them and with a sample."""

    def mean_squares(number):
        stage = PointsStage.of(Fraction(1), "epsilon", points, 0.2)
        rng = np.random.default_rng(4)
        releases = FlatReleases.start(sphere(number), 2000, rng)
        return stage.simulate(releases, rng).squares @ CURVE

    for number in (10, 25, 60):
        sampled = mean_squares(number)
        monkeypatch.setattr(points_module, "NEAR", points)
        every = mean_squares(number)
        monkeypatch.undo()
        assert sampled == pytest.approx(every, rel=0.12)


def test_choices_that_look_for_failures_see_more_of_them_and_tell_the_same_mean():
    """A choice that fails once in some hundred releases, by which its mean error is decided."""
    stage = PointsStage.of(Fraction(1), "epsilon", 1 << 8, 0.2)
    mean, error, failures = {}, {}, {}
    for tails in (0.0, 0.25):
        found = FlatReleases.start(sphere(70), 20_000, np.random.default_rng(1), tails)
        found = stage.simulate(found, np.random.default_rng(2))
        squares = np.sum(found.errors**2, axis=-1) @ CURVE
        assert np.mean(found.weight) == pytest.approx(1.0, abs=0.02)
        assert np.average(squares, weights=found.weight) == pytest.approx(found.squares @ CURVE)
        mean[tails] = found.squares @ CURVE
        error[tails] = np.std(found.weight * squares) / np.sqrt(len(squares))
        failures[tails] = np.mean(squares > 0.4)
    assert abs(mean[0.25] - mean[0.0]) < 3.0 * np.hypot(*error.values())
    assert 0.001 < failures[0.0] < 0.02
    assert failures[0.25] > 2.0 * failures[0.0]


def test_weights_of_two_choices_and_a_step_tell_the_same_means():
    stages = (
        PointsStage.of(Fraction(1), "epsilon", 1 << 8, 0.2),
        PointsStage.of(Fraction(1), "epsilon", 1 << 8, 0.1, (0.2, 0.6)),
    )
    means, errors, kept = {}, {}, {}
    for tails in (0.0, 0.25):
        start = FlatReleases.start(sphere(90), 6000, np.random.default_rng(1), tails)
        found = run_stages(start, stages, np.random.default_rng(2))
        assert np.mean(found.weight) == pytest.approx(1.0, abs=0.03)
        fitted = NoisyStep(Fraction(1), "epsilon", 0.1).fitted(found)
        np.testing.assert_allclose(fitted.prior, found.squares / found.dim)
        kept[tails] = fitted.kept
        squares = np.sum(found.errors**2, axis=-1)
        means[tails] = found.squares
        errors[tails] = np.std(found.weight[:, None] * squares, axis=0) / np.sqrt(len(squares))
        # Without the weights there would be more failures in the mean.
        unweighted = np.mean(squares, axis=0)
    assert np.all(np.abs(means[0.25] - means[0.0]) < 3.5 * np.hypot(*errors.values()))
    assert np.all(unweighted > 1.1 * means[0.25])
    assert kept[0.25] == pytest.approx(kept[0.0], rel=0.05)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (lambda: sphere(0), "subjects is 0: give a whole number"),
        (
            lambda: assumed(("sphere", 2), (10.0, 1.0), 0.1, 10),
            r"no more than 3\.14159 means anything",
        ),
        (
            lambda: Assumptions(OTHER, np.ones(3), 0.5, 1.0, (0.0, 1.0), 0.1, 10),
            "some space is none: take another manifold",
        ),
    ],
)
def test_other_spaces_and_public_inputs_are_refused(make, says):
    with pytest.raises(DataError, match=says):
        make()


# A space that is not symmetric.
OTHER = type("Other", (), {"name": "some space"})()


# Releases on the manifold


def simulated_squares(plan, releases, clustered=False):
    """Squared errors (releases,) of the geodesic; truths are drawn as the planner assumes.

    With even covariates, or with clustered ones.
    """
    rng = np.random.default_rng(5)
    assumptions, bits = plan.assumptions, generator_bits(rng)
    manifold, centre, number = assumptions.manifold, assumptions.centre, assumptions.subjects

    def within(p, radius):
        """A vector of uniform direction and length."""
        return radius * rng.random() * manifold.random_direction(rng, p)

    found = np.empty(releases)
    for index in range(releases):
        p = manifold.exp(centre, within(centre, assumptions.footpoint_radius))
        v = within(p, assumptions.shooting_vector_length)
        x = rng.beta(*CLUSTERED, number) if clustered else rng.random(number)
        start = np.broadcast_to(p, (number, *manifold.point_shape))
        clean = manifold.exp(start, manifold.expand(x - 0.5) * v)
        noise = assumptions.residual_scale * manifold.random_tangent(rng, clean)
        records = subject_records(assumptions, x, manifold.exp(clean, noise), ONE_EACH)
        state = run_plan(plan, records, bits).state
        found[index] = geodesic_errors(manifold, tuple(state), (p, v))["curve"]
    return found


def kinds_of(plan):
    return {type(stage) for stage in plan.stages}


# Space, its public radii, its residuals, n, budget and number of releases.
STEPS = {
    "H^2": (("hyperbolic", 2), (0.4, 0.8), 0.1, 100, "2", 500),
    "S^2": (("sphere", 2), (0.6, 1.2), 0.05, 60, "2", 200),
    "SPD(2)": (("spd", 2), (0.5, 1.0), 0.05, 150, "3", 150),
}
CLOSE = 0.15


@pytest.fixture
def only_steps(monkeypatch):
    """Plans without choices among points."""
    monkeypatch.setattr(planning, "SEARCH", replace(planning.SEARCH, choices=()))


by_steps = pytest.mark.parametrize(
    "name", ["S^2", *(pytest.param(each, marks=pytest.mark.slow) for each in ("H^2", "SPD(2)"))]
)


@by_steps
def test_predictions_are_what_releases_by_steps_have(name, only_steps):
    *given, epsilon, releases = STEPS[name]
    plan = plan_release(assumed(*given, covariate_spread=EVENLY), PrivacyBudget(epsilon))
    assert NoisyStep in kinds_of(plan)
    assert PointsStage not in kinds_of(plan)
    # Noise of the stages is a good part of the error.
    assert plan.error > 1.3 * plan.error_without_privacy
    simulated = np.sqrt(np.mean(simulated_squares(plan, releases)))
    assert simulated == pytest.approx(plan.error, rel=CLOSE)


@by_steps
def test_releases_that_measure_the_spread_err_as_simulated(name, only_steps):
    """Of clustered covariates, by quartiles: rare failures decide means, and need thousands."""
    *given, epsilon, releases = STEPS[name]
    plan = plan_release(assumed(*given, covariate_spread=UNKNOWN), PrivacyBudget(epsilon))
    assert MomentsStage in kinds_of(plan)
    flat = FlatReleases.start(plan.assumptions, 4000, np.random.default_rng(6))
    flat = replace(flat, covariates=Covariates.beta(*CLUSTERED))
    flat = run_stages(flat, plan.stages, np.random.default_rng(7))
    predicted = (np.sum(flat.errors**2, axis=-1) + flat.estimate_squares) @ flat.weights
    found, expected = (
        np.sqrt(np.quantile(squares, [0.25, 0.5, 0.75]))
        for squares in (simulated_squares(plan, releases, clustered=True), predicted)
    )
    np.testing.assert_allclose(found, expected, rtol=CLOSE)


CHOICES = {
    "R^2": (("euclidean", 2), (0.5, 1.0), 0.05, 100, PrivacyBudget("1.5")),
    "H^2": (("hyperbolic", 2), (0.4, 0.8), 0.05, 60, PrivacyBudget("2")),
    "S^2": (("sphere", 2), (0.6, 1.2), 0.05, 60, PrivacyBudget("2")),
    "SPD(2)": (("spd", 2), (0.5, 1.0), 0.05, 100, PrivacyBudget("3")),
    "triangles": (("kendall", 3), (0.2, 0.4), 0.02, 100, PrivacyBudget("2")),
    # Of many dimensions, where there are steps alone.
    "octagons": (("kendall", 8), (0.2, 0.4), 0.01, 400, PrivacyBudget("4")),
    "S^2, rho": (("sphere", 2), (0.6, 1.2), 0.05, 60, PrivacyBudget("0.1", CONCENTRATED, "1e-6")),
}


@pytest.mark.slow
@pytest.mark.parametrize("neighbours", ["same", "other"])
@pytest.mark.parametrize("name", CHOICES)
def test_predictions_are_what_releases_by_choices_and_steps_have(name, neighbours, few_points):
    *given, budget = CHOICES[name]
    others = {} if neighbours == "same" else {"neighbours": ADD_OR_REMOVE}
    plan = plan_release(assumed(*given, covariate_spread=EVENLY, **others), budget)
    assert (PointsStage in kinds_of(plan)) == (name != "octagons")
    assert not plan.is_noise
    # Rare failures of early choices decide the mean: on S^2 it takes more releases to tell it.
    releases = {"octagons": 60, "S^2": 600}.get(name, 150)
    simulated = np.sqrt(np.mean(simulated_squares(plan, releases)))
    assert simulated == pytest.approx(plan.error, rel=CLOSE)
