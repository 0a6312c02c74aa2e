"""Plans of releases: what stages spend, what is predicted, and what they turn out to give."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

from geodp import Assumptions, PrivacyBudget, plan_release, release_geodesic
from geodp.manifolds.registry import make_manifold
from geodp.samplers.integer_choice import generator_bits
from geodp_release import bands, measurements, planning, simulation
from geodp_release.accounting import CONCENTRATED
from geodp_release.assumptions import ADD_OR_REMOVE
from geodp_release.draw import Released, run_plan
from geodp_release.files import plan_document
from geodp_release.hypotheses import check_stages
from geodp_release.simulation import (
    CLUSTERED,
    EVENLY,
    TWO_GROUPS,
    UNKNOWN,
    Covariates,
    FlatReleases,
)
from geodp_release.stages import (
    CountStage,
    FarStage,
    LastStep,
    MatrixStage,
    MomentsStage,
    NoisyStep,
    PointsStage,
    ProductsStage,
    ScaleStage,
    step,
)
from geodp_release.stages import points as points_module
from geodp_release.stages.moments import TO_CONTRADICT
from geodp_release.stages.scale import LAST_SHARE, SHARE, SOON_OUTWEIGHED
from geodp_release.subjects import ONE_EACH, subject_records
from simulated import places_of, simulate


def squares_of(found):
    """Mean squared errors (1 + k,) of simulated releases."""
    return np.average(np.sum(found.errors**2, axis=-1), axis=0, weights=found.weight)


def assumed(kind, radii, scale, number, spreads=(UNKNOWN,), **others):
    manifold = make_manifold(*kind)
    centre = manifold.random_point(np.random.default_rng(3))
    footpoint_radius, length = radii
    return Assumptions(
        manifold,
        centre,
        footpoint_radius,
        (length,) * len(spreads),
        ((-0.5, 0.5),) * len(spreads),
        number,
        residual_scale=scale,
        covariate_spread=spreads,
        **others,
    )


def sphere(number, **others):
    return assumed(("sphere", 2), (np.pi / 4, np.pi / 2), 0.03, number, **others)


def matrices(number):
    return assumed(("spd", 2), (0.5, 1.0), 0.01, number)


@pytest.fixture
def few_designs(few_points, monkeypatch):
    """A short search."""
    short = {"CHOICES": (0.16, 0.4), "WIDE_STEPS": (0.2,), "FOLLOWED": 192, "STEPS": 2}
    for name, value in short.items():
        monkeypatch.setattr(planning, name, value)


def rho(amount):
    return PrivacyBudget(amount, CONCENTRATED, "1e-6")


@pytest.mark.parametrize(
    ("budget", "others"),
    [(PrivacyBudget("1.1"), {}), (rho("0.3"), {"neighbours": ADD_OR_REMOVE})],
    ids=["epsilon", "rho"],
)
def test_stages_spend_the_budget_on_every_way(budget, others, few_designs):
    assumptions = sphere(60, **others)
    plan = plan_release(assumptions, budget)
    assert plan.assumptions is assumptions
    assert plan.budget is budget
    limits = [way.longest for way in plan.ways]
    assert limits == sorted(limits, reverse=True)
    for stages in plan.paths:
        spent = sum(stage.budget for stage in stages)
        assert Fraction(999, 1000) * budget.exact < spent <= budget.exact
        counted = [isinstance(stage, CountStage) for stage in stages]
        assert counted == [bool(others)] + [False] * (len(counted) - 1)
        assert sum(stage.measures for stage in stages) == 1
        place = [isinstance(stage, LastStep) for stage in stages].index(True)
        *before, look, last = stages[: place + 1]
        after = [type(stage) for stage in stages[place + 1 :]]
        # Where few residuals lie beyond the last look before it there is one after it.
        more = [ScaleStage] if look.share > LAST_SHARE else []
        assert [each for each in after if each is not ProductsStage] == [*more, FarStage]
        assert ProductsStage in after
        assert stages[-1].share == min(look.share, LAST_SHARE)
        assert {each.share for each in before if each.is_look} <= {SHARE}
        assert (last.share > 0) == last.is_relative
        assert {stage.unit for stage in stages} == {budget.unit}
    assert plan.error_without_privacy < plan.error
    assert plan.is_noise or plan.error < plan.error_without_data


def test_a_release_goes_the_way_of_its_length():
    """The first way takes what is longer than all limits, and a length goes with its own limit."""
    assumptions = assumed(("euclidean", 2), (1.0, 2.0), None, 60, (EVENLY,))
    looks = [ScaleStage(Fraction(1, number)) for number in (4, 3, 5)]
    ways = tuple(
        planning.Way(longest, (look,)) for longest, look in zip((1.0, 0.5), looks[1:], strict=True)
    )
    given = assumptions, PrivacyBudget("1"), (looks[0],), 1.0, 1.0, 1.0
    plan = planning.ReleasePlan(*given, ways=ways)
    for length, last in ((2.0, looks[1]), (0.6, looks[1]), (0.5, looks[2]), (0.1, looks[2])):
        path = plan.path((length, 9.0))
        assert path.stages == (looks[0], last)
        assert path.path((length, 9.0)) is path
    start = FlatReleases.start(assumptions, 400, np.random.default_rng(1))
    found = plan.simulated(start, np.random.default_rng(2))
    assert np.sort(found.typical).tolist() == np.sort(start.typical).tolist()
    assert check_stages(plan) == {"R4": True, "R5": True}
    other = type("Other", (planning.Way,), {})(1.0, (looks[1],))
    for way in (planning.Way(1.0, (CountStage(Fraction(1, 9)),)), other):
        assert not check_stages(replace(plan, ways=(way,)))["R4"]


def test_a_plan_is_the_same_at_every_call(few_designs):
    """As are files of it; caches of simulations do not matter."""
    first = plan_release(sphere(60), PrivacyBudget("1"))
    plan_release(matrices(90), PrivacyBudget("1"))
    simulation.clipped_residuals.cache_clear()
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


def test_releases_get_better_with_subjects_and_budget(few_designs):
    poor, better, best = (
        plan_release(matrices(number), PrivacyBudget(epsilon))
        for number, epsilon in ((20, "0.1"), (20, "3"), (200, "3"))
    )
    assert best.error < 0.1 * better.error < 0.1 * poor.error
    assert not best.is_noise
    # What is learnt is next to nothing, and the plan is no worse than staying at the centre.
    assert poor.is_noise
    assert 0.8 * poor.error_without_data < poor.error < 1.2 * poor.error_without_data


@pytest.mark.parametrize(
    ("spreads", "squares"),
    [((), 0.0), ((EVENLY, TWO_GROUPS, TWO_GROUPS), 1.0 / 12.0 + 2.0 / 4.0)],
)
def test_plans_state_errors_without_privacy_and_without_data(spreads, squares, few_designs):
    """That of least squares and that of the centre, by hand."""
    k = len(spreads)
    assumptions = assumed(("euclidean", 2), (0.5, 0.6), 0.1, 1000, spreads)
    plan = plan_release(assumptions, PrivacyBudget("3"))
    assert plan.error_without_privacy == pytest.approx(0.1 * np.sqrt(2.0 * (1 + k) / 1000))
    # Lengths are uniform up to 0.5 and 0.6.
    without_data = np.sqrt(0.25 / 3.0 + squares * 0.36 / 3.0)
    assert plan.error_without_data == pytest.approx(without_data)
    scale, half, least = plan.usual_errors()
    assert (scale, least) == pytest.approx((0.1, plan.error_without_privacy))
    # Half of the releases are better than their root mean square.
    assert least < half < plan.error


def test_a_plan_says_what_clustered_covariates_cost():
    assumptions = assumed(("euclidean", 2), (1.0, 4.0), 0.1, 200)
    plan = plan_release(assumptions, PrivacyBudget("2"))
    clustered = Covariates.independent((UNKNOWN,), clustered=True)
    start = FlatReleases.start(plan.assumptions, 4000, np.random.default_rng(1))
    found = plan.simulated(replace(start, covariates=clustered), np.random.default_rng(2))
    assert plan.error_if_clustered == pytest.approx(np.sqrt(found.curve), rel=0.1)
    assert plan.error < plan.error_if_clustered < 1.5 * plan.error


def test_a_plan_for_few_subjects_is_within_its_budget_and_says_that_it_is_noise():
    plan = plan_release(assumed(("sphere", 2), (0.5, 1.0), None, 20), PrivacyBudget("1"))
    assert plan.is_noise


def test_an_unknown_spread_is_measured_before_steps():
    """With clustered covariates, which steps for even ones overshoot, predictions are nearer."""
    covariates, errors, planned = Covariates.beta(1.0, 4.0), {}, {}
    for spread in (EVENLY, UNKNOWN):
        assumptions = assumed(("euclidean", 4), (2.0, 4.0), 1.0, 100, (spread,))
        plan = plan_release(assumptions, PrivacyBudget("4"))
        assert plan.stages[0].measures == (spread == UNKNOWN)
        assert all(stages[-1].measures == (spread == EVENLY) for stages in plan.paths)
        rng = np.random.default_rng(4)
        start = replace(FlatReleases.start(assumptions, 2000, rng), covariates=covariates)
        found = plan.simulated(start, rng).errors
        at = [found[:, 0] + x * found[:, 1] for (x,) in covariates.nodes]
        errors[spread] = covariates.weights @ [np.mean(each**2) for each in at]
        planned[spread] = plan.error
    assert errors[UNKNOWN] < 0.13 * errors[EVENLY]
    # What it costs where covariates are even.
    assert planned[EVENLY] < planned[UNKNOWN] < 1.1 * planned[EVENLY]


@pytest.mark.parametrize("budget", [PrivacyBudget("1"), rho("0.05")], ids=["epsilon", "rho"])
@pytest.mark.parametrize("subjects", [600, 100_000])
def test_moments_contradict_covariates_that_are_said_to_be_even(budget, subjects):
    assumptions = assumed(("euclidean", 2), (1.0, 2.0), 0.1, subjects, (EVENLY,))
    stage = MomentsStage.planned(assumptions, budget.unit, budget.exact, **TO_CONTRADICT)
    start = FlatReleases.start(assumptions, 4000, np.random.default_rng(4))
    for beta, least, most in (((1.0, 1.0), 0.0, 0.008), (CLUSTERED, 0.95, 1.0)):
        some = replace(start, covariates=Covariates.beta(*beta))
        found = stage.simulate(some, np.random.default_rng(5)).moments
        assert least <= np.mean(~stage.agrees(found, assumptions)) <= most


# Simulations


@pytest.mark.parametrize("number", [10, 60])
def test_points_that_stand_for_others_change_nothing(number, monkeypatch):
    """A stage in which the far points hold much of the mass, with all of them and with a sample."""

    def mean_squares():
        stage = PointsStage.of(Fraction(1), "epsilon", 1 << 10, 0.2)
        rng = np.random.default_rng(4)
        found = stage.simulate(FlatReleases.start(sphere(number), 2000, rng), rng)
        return squares_of(found) @ found.weights

    sampled = mean_squares()
    monkeypatch.setattr(points_module, "FEW", 1 << 10)
    assert sampled == pytest.approx(mean_squares(), rel=0.12)


def test_weights_of_a_choice_and_a_step_tell_the_same_means():
    """Choices that look for failures, by which the mean error is decided, see more of them."""
    stage = PointsStage.of(Fraction(1), "epsilon", 1 << 8, 0.2)
    means, errors, kept = {}, {}, {}
    for tails in (0.0, 0.25):
        start = FlatReleases.start(sphere(90), 6000, np.random.default_rng(1), tails)
        found = stage.simulate(start, np.random.default_rng(2))
        assert np.mean(found.weight) == pytest.approx(1.0, abs=0.03)
        fitted = NoisyStep(Fraction(1), "epsilon", 0.1).fitted(found)
        np.testing.assert_allclose(fitted.prior, squares_of(found) / found.dim)
        kept[tails] = fitted.kept
        squares = np.sum(found.errors**2, axis=-1)
        means[tails] = squares_of(found)
        errors[tails] = np.std(found.weight[:, None] * squares, axis=0) / np.sqrt(len(squares))
        # Without the weights there would be more failures in the mean.
        unweighted = np.mean(squares, axis=0)
    assert np.all(np.abs(means[0.25] - means[0.0]) < 3.5 * np.hypot(*errors.values()))
    assert np.all(unweighted > 1.1 * means[0.25])
    assert kept[0.25] == pytest.approx(kept[0.0], rel=0.05)


# Releases on the manifold, of cohorts as the planner assumes them


LEVELS = (0.5, 0.9)
THREE = (EVENLY, TWO_GROUPS, TWO_GROUPS)

# Widths of bands that are seen to be wrong.
NARROW, WIDE = 0.8, 1.25


def drawn(plan, releases):
    """Squared errors (releases,), and by width whether bands hold: (releases, levels, places).

    That is NaN where a release draws no band, since there are no subjects.
    """
    rng = np.random.default_rng(5)
    assumptions, bits = plan.assumptions, generator_bits(rng)
    errors = bands.sampled_errors(*bands.agreeing_releases(plan))
    manifold = assumptions.manifold
    places = places_of(assumptions.number_of_covariates, 3)
    squares, held = [], {factor: [] for factor in (NARROW, 1.0, WIDE)}
    for _ in range(releases):
        truth, x, points = simulate(assumptions, assumptions.residual_scale, rng)
        true = truth[0], truth[1:]
        records = subject_records(assumptions, x, points, ONE_EACH)
        found = run_plan(plan, records, bits)
        state = found.state[0], found.state[1:]
        # Of other covariates than the data have.
        few = replace(assumptions, subjects=60)
        some = simulate(few, assumptions.residual_scale, rng)[1]
        missed = manifold.dist(manifold.ends(*state, some), manifold.ends(*true, some))
        squares.append(np.mean(missed**2))
        if bands.moments_stage(plan, found.moments) is not None:
            errors = bands.sampled_errors(*bands.agreeing_releases(plan, found.moments))
        band = bands.band_radii(manifold, errors, found.state, places, LEVELS)
        away = manifold.dist(manifold.ends(*state, places), manifold.ends(*true, places))
        there = bands.has_subjects(plan, found.moments, places)
        for factor, each in held.items():
            each.append(np.where(there, away <= factor * band, np.nan))
    return np.array(squares), {factor: np.array(each) for factor, each in held.items()}


# Space, radii of its support, residual scale, n, budget, spreads of covariates, releases; there are
# so many of these that bands of other widths are seen.
CASES = {
    "octagons": (("kendall", 8), (0.2, 0.4), 0.01, 1000, PrivacyBudget("4"), (EVENLY,), 100),
    "S^2": (("sphere", 2), (0.6, 1.2), 0.05, 60, PrivacyBudget("2"), (EVENLY,), 320),
    "SPD(2), +-": (("spd", 2), (0.5, 1.0), 0.05, 100, PrivacyBudget("3"), (EVENLY,), 150),
    "mean on H^2, rho, +-": (("hyperbolic", 2), (0.5, 0.6), 0.1, 200, rho("0.1"), (), 640),
    "three on SPD(2), rho": (("spd", 2), (0.5, 0.6), 0.1, 1000, rho("0.5"), THREE, 80),
}


@pytest.mark.parametrize(
    "name",
    [each if each == "octagons" else pytest.param(each, marks=pytest.mark.slow) for each in CASES],
)
def test_releases_err_and_bands_hold_as_predicted(name, few_points):
    *given, budget, spreads, releases = CASES[name]
    others = {"neighbours": ADD_OR_REMOVE} if name.endswith("+-") else {}
    plan = plan_release(assumed(*given, spreads, **others), budget)
    kinds = {type(stage) for stage in plan.stages}
    assert (CountStage in kinds) == bool(others)
    assert not plan.is_noise
    squares, held = drawn(plan, releases)
    assert np.sqrt(np.mean(squares)) == pytest.approx(plan.error, rel=0.15)
    chance = 0.5 / np.sqrt(releases)
    for level, found in zip(LEVELS, np.nanmean(held[1.0], axis=0), strict=True):
        np.testing.assert_allclose(found, level, atol=0.02 + 3.5 * chance)
    missed = {
        factor: np.max(np.abs(np.nanmean(found, axis=(0, 2)) - LEVELS))
        for factor, found in held.items()
    }
    assert missed[1.0] < 0.02 + 2.2 * chance < min(missed[NARROW], missed[WIDE])


# Residual scales that are measured


@pytest.mark.parametrize(("error", "share"), [(0.0, 0.5), (0.2, 0.5), (0.0, 0.75)])
def test_a_simulated_residual_length_is_that_of_records(error, share):
    assumptions = assumed(("euclidean", 2), (1.0, 2.0), None, 400, (EVENLY,))
    rng, scale, number = np.random.default_rng(8), 0.05, 400
    stage, count = ScaleStage(Fraction(1, 4), share=share), FarStage(Fraction(1, 4))
    truth = np.array([[error, 0.0], [0.0, 0.0]])
    x = rng.uniform(-0.5, 0.5, (number, 1))
    found, expected, far = [], [], []
    for _ in range(number):
        points = truth[0] + scale * rng.normal(size=(number, 2))
        records = subject_records(assumptions, x, points + assumptions.centre, ONE_EACH)
        before = Released(np.array(assumptions.support.origin), float(number), np.zeros(2))
        [length] = stage.run(before, assumptions, records, generator_bits(rng)).lengths
        found.append(np.log(length))
        expected.append(np.log(np.quantile(np.linalg.norm(points, axis=-1), share)))
        # About as many are this far as are not.
        before = replace(before, lengths=(0.03,))
        far.append(count.run(before, assumptions, records, generator_bits(rng)).far)
    start = FlatReleases.start(assumptions, 4000, rng)
    typical = np.full(4000, scale * np.sqrt(2.0))
    start = replace(start, truth=start.state + truth, typical=typical)
    simulated_ones = np.log(stage.simulate(start, rng).length)
    # A level is log(2) / 4 = 0.17.
    assert np.mean(found) == pytest.approx(np.mean(expected), abs=0.1)
    assert np.mean(found) == pytest.approx(np.mean(simulated_ones), abs=0.04)
    assert np.std(found) == pytest.approx(np.std(simulated_ones), abs=0.03)
    simulated_ones = count.simulate(replace(start, length=np.full(4000, 0.03)), rng).far
    assert np.mean(far) == pytest.approx(np.mean(simulated_ones), abs=8.0)
    assert np.std(far) == pytest.approx(np.std(simulated_ones), rel=0.25)


@pytest.mark.parametrize(("times", "rarely"), [(1.0, 0.02), (8.0, 0.1), (1.0 / 8.0, 0.1)])
def test_a_last_length_is_seldom_far_too_long(times, rarely):
    """Whatever the one before was: fewer residuals than half are longer, and have to be heard."""
    assumptions = assumed(("euclidean", 2), (1.0, 2.0), None, 400, (EVENLY,))
    start = FlatReleases.start(assumptions, 4000, np.random.default_rng(9))
    right = 0.05 * np.sqrt(2.0)
    start = replace(start, truth=start.state, typical=right, length=np.full(4000, right))
    cost = Fraction(int(measurements.LAST_LOOK), 400)
    stage = ScaleStage(cost, share=LAST_SHARE).fitted(start, SOON_OUTWEIGHED)
    found = stage.simulate(replace(start, length=times * start.length), np.random.default_rng(1))
    assert np.mean(found.length > 2.0 * right) < rarely


@pytest.mark.parametrize("spreads", [(UNKNOWN,), (UNKNOWN, TWO_GROUPS)])
def test_distributions_by_turns_are_those_of_each(spreads):
    assumptions = assumed(("sphere", 2), (0.6, 1.2), None, 60, spreads)
    start = FlatReleases.start(assumptions, 12, np.random.default_rng(1))
    clustered = Covariates.independent(spreads, clustered=True)
    level = np.arange(12) % 5 - 2
    start = replace(
        start, doublings=np.linspace(-1.0, 1.0, 12 * len(spreads)).reshape(12, -1), last_level=level
    )
    both = replace(start, covariates=Covariates.by_turns([start.covariates, clustered], 6))

    def seen(releases):
        candidates = points_module.support_points(releases, 64)
        return (
            np.broadcast_to(releases.covariates.moments, releases.moments.shape),
            releases.deviations,
            np.broadcast_to(releases.estimate_squares, releases.truth.shape[:2]),
            np.broadcast_to(step.stretch(releases), releases.truth.shape[:1]),
            NoisyStep(Fraction(1), clip=0.1).prepare(releases),
            MatrixStage(Fraction(1), clip=0.1).prepare(releases),
            *ScaleStage(Fraction(1)).prepare(releases),
            points_module._mean_losses(releases, candidates, level),
        )

    found, some = seen(both), both.drawn(np.arange(12) % 3 == 0)
    for turn, each in enumerate((start.covariates, clustered)):
        expected = seen(replace(start, covariates=each, kept={}))
        for one, other in zip(found, expected, strict=True):
            np.testing.assert_allclose(one[turn::2], other[turn::2], rtol=1e-5)
        np.testing.assert_allclose(some.covariates.moments[turn::2], [each.moments] * 2)


def test_losses_are_those_of_residuals_with_other_lengths():
    start = FlatReleases.start(sphere(60), 8, np.random.default_rng(1))
    stage, longer = PointsStage.of(Fraction(1), "epsilon", 64, 0.2), np.geomspace(0.1, 1.0, 8)
    stage.simulate(start, np.random.default_rng(2))
    again, anew = (replace(start, typical=longer, **kept) for kept in ({}, {"kept": {}}))
    after = [stage.simulate(each, np.random.default_rng(2)).state for each in (again, anew)]
    np.testing.assert_array_equal(*after)


def test_steps_in_units_of_a_released_length_are_steps():
    assumptions = assumed(("sphere", 2), (0.6, 1.2), None, 60, (EVENLY,))
    rng, length = np.random.default_rng(9), 0.25
    centres = np.stack([assumptions.centre] * 60)
    steps = 0.2 * assumptions.manifold.random_tangent(rng, centres)
    points = assumptions.manifold.exp(centres, steps)
    records = subject_records(assumptions, rng.uniform(-0.5, 0.5, 60), points, ONE_EACH)
    before = Released(
        np.array(assumptions.support.origin),
        60.0,
        np.array([0.0, 1 / 12]),
        0.1 * np.eye(2),
        lengths=(length,),
    )
    relative = NoisyStep(1, clip=2.0, prior=(0.5, 0.5), is_relative=True)
    absolute = NoisyStep(1, clip=2.0 * length, prior=(0.5 * length**2,) * 2)
    one, other = (
        each.run(before, assumptions, records, generator_bits(np.random.default_rng(1)))
        for each in (relative, absolute)
    )
    np.testing.assert_allclose(one.state, other.state, atol=1e-12)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("scale", "freedom"), [(0.2, np.inf), (0.02, 5.0)])
def test_bands_intervals_and_tests_hold_at_scales_that_nobody_guessed(scale, freedom, few_designs):
    """Over 60 releases: shares of 0.9 within 0.12, p-values of no trend whose mean is a half.

    Of normal residuals and of those with the tails of t.
    """
    assumptions = assumed(("euclidean", 2), (1.0, 2.0), None, 1000, (EVENLY,))
    plan = plan_release(assumptions, PrivacyBudget("2"))
    rng, places, held, p_values = (
        np.random.default_rng(10),
        np.array([[-0.5], [0.0], [0.5]]),
        [],
        [],
    )
    for index in range(60):
        vector = 0.0 if index % 2 else 2.0 * scale
        x = rng.uniform(-0.5, 0.5, 1000)
        clean = assumptions.centre + np.outer(x, [vector, 0.0])
        tails = 1.0
        if np.isfinite(freedom):
            tails = np.sqrt((freedom - 2.0) / rng.chisquare(freedom, (1000, 1)))
        points = clean + scale * tails * rng.normal(size=clean.shape)
        found = release_geodesic(plan, x, points, ONE_EACH)
        true = assumptions.centre + places * [vector, 0.0]
        away = np.linalg.norm(found.predict(places) - true, axis=-1)
        explained = vector**2 / 12.0 / (vector**2 / 12.0 + 2.0 * scale**2)
        r_squared, spread = found.r_squared(), found.residual_scale()
        held.append(
            [
                *(away <= found.band(places, 0.9)),
                r_squared.low - 0.01 <= explained <= r_squared.high,
                spread.low <= scale <= spread.high,
            ]
        )
        p_values.append(found.p_values()[0])
    np.testing.assert_allclose(np.mean(held, axis=0), 0.9, atol=0.12)
    assert np.mean(p_values[1::2]) == pytest.approx(0.5, abs=0.18)
    # One release of seventy of this plan fails, and p-values count that.
    assert np.median(p_values[::2]) < 0.05
