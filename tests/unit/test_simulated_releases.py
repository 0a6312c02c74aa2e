"""Simulated releases, beside real ones: what plans, bands and tests for a trend rest on."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from test_release_planner import assumed, sphere

from geodp import PrivacyBudget, plan_release
from geodp.samplers.integer_choice import generator_bits
from geodp_release.plan import measurements
from geodp_release.plan.agreeing import DOUBLINGS, agreeing_releases, moments_stage
from geodp_release.promise.budget import UNITS
from geodp_release.promise.public_inputs import EVENLY, TWO_GROUPS, UNKNOWN
from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.contributions import shares_within
from geodp_release.run.covariate_moments import moment_matrix
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.stages import FarStage, MatrixStage, NoisyStep, PointsStage, ScaleStage, step
from geodp_release.stages import points as points_module
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.draw import Released
from geodp_release.stages.points import _mean_losses, support_points
from geodp_release.stages.residual_tables import length_grid, limit_at
from geodp_release.stages.scale import LAST_SHARE, SOON_OUTWEIGHED
from geodp_release.stages.simulation import FlatReleases
from simulated import simulate


@pytest.mark.parametrize("spreads", [(UNKNOWN,), (UNKNOWN, TWO_GROUPS)])
def test_a_step_knows_its_error_where_moments_are_noisy(spreads):
    """The covariance after a step is that of errors, with true moments about the given ones."""
    number, blocks = 40_000, 1 + len(spreads)
    assumptions = assumed(("euclidean", 2), (1.0, 2.0), 0.1, 500, spreads)
    moments = Covariates.independent(spreads, clustered=True).moments
    uncertainty = np.linspace(0.04, 0.02, len(moments))
    step = NoisyStep(Fraction(1), clip=0.2, kept=0.8, prior=(0.02,) * blocks)
    rng = np.random.default_rng(3)
    errors = np.sqrt(0.02) * rng.normal(size=(number, blocks, 2))
    true = moment_matrix(moments + uncertainty * rng.normal(size=(number, len(moments))))
    coordinates = ClippingCoordinates.about(moments)
    noise = coordinates.variances(step.noise_in_floats(assumptions), 2)
    scale = np.sqrt(noise)[:, None] / 500
    errors = coordinates.standard.T @ errors
    means = 0.8 * true @ errors + coordinates.back @ (scale * rng.normal(size=errors.shape))
    for each, is_known in ((uncertainty, True), (None, False)):
        before = Released(np.zeros((blocks, 2)), 500.0, moments, uncertainty=each)
        change, covariance = step.change(means, before, assumptions)
        left = errors - change
        found = np.einsum("nid,njd->ij", left, left) / (2 * number)
        assert np.allclose(found, covariance, rtol=0.05, atol=2e-4) == is_known


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("kind", [("euclidean", 2), ("sphere", 2)])
def test_simulated_matrices_of_moments_err_as_real_ones(kind, unit):
    """Errors over where subjects are, and moments."""
    spreads, rng = (UNKNOWN, TWO_GROUPS), np.random.default_rng(5)
    assumptions = assumed(kind, (0.3, 0.5), 0.05, 400, spreads)
    start = FlatReleases.start(assumptions, 4000, rng)
    start = replace(start, typical=0.05 * np.sqrt(2.0))
    reach, manifold = MatrixStage.planned_reach(assumptions), assumptions.manifold
    stage = MatrixStage(Fraction(1), unit, clip=0.5, reach=reach).fitted(start)
    simulated = stage.simulate(start, rng)
    before = Released(assumptions.support.origin, 400.0, Covariates.independent(spreads).moments)
    squares, moments = [], []
    for _ in range(300):
        truth, x, points = simulate(assumptions, 0.05, rng)
        records = subject_records(assumptions, x, points, ONE_EACH)
        found = stage.run(before, assumptions, records, generator_bits(rng))
        ends = [manifold.ends(state[0], state[1:], x) for state in (truth, found.state)]
        squares.append(np.mean(manifold.dist(*ends) ** 2))
        moments.append(found.moments)
    expected = np.sqrt(np.mean(simulated.subject_squares))
    assert np.sqrt(np.mean(squares)) == pytest.approx(expected, rel=0.12)
    deviations = (np.std(each, axis=0) for each in (moments, simulated.moments))
    np.testing.assert_allclose(*deviations, rtol=0.15)


def test_residuals_that_grow_with_a_covariate_are_those_of_records():
    """In steps, looks, losses of points, and in what sampling leaves of the estimate."""
    assumptions = assumed(("euclidean", 2), (1.0, 2.0), 0.1, 400)
    rng, number, covariates = (
        np.random.default_rng(4),
        100_000,
        Covariates.independent(("evenly",), clustered=True),
    )
    start = FlatReleases.start(assumptions, 1, rng)
    truth = {"truth": np.array([[[0.03, -0.02], [0.1, 0.08]]]), "typical": 0.1 * np.sqrt(2.0)}
    truth |= {"deviates": np.zeros_like(start.deviates), "doublings": np.array([[1.6]])}
    known = {"covariates": covariates, "moments": covariates.moments[None], "last_level": -1}
    found = replace(start, **truth, **known)
    x = rng.beta(2.0, 5.0, (number, 1)) - 0.5
    sizes = 2.0 ** (1.6 * x)
    residuals = 0.1 * sizes / np.sqrt(np.mean(sizes**2)) * rng.normal(size=(number, 2))
    clip, coordinates = limit_at(-1, found.typical), found.coordinates

    def contributions(error):
        away = residuals + error[0] + x * error[1]
        each = np.stack([away, x * away], axis=1)
        return each / np.maximum(coordinates.norm(coordinates.of(each)) / clip, 1.0)[:, None, None]

    [error], [expected] = found.truth, NoisyStep(Fraction(1), clip=clip).prepare(found)
    np.testing.assert_allclose(np.mean(contributions(error), axis=0), expected, atol=0.001)
    away, lengths = residuals + error[0] + x * error[1], length_grid(assumptions)
    seen = [np.mean(shares_within(each / np.linalg.norm(away, axis=-1))) for each in lengths]
    np.testing.assert_allclose(ScaleStage(Fraction(1)).prepare(found)[0][0], seen, atol=0.009)
    points, limit = support_points(found, 8), limit_at(-2, found.typical)
    for place, loss in zip(points.states, _mean_losses(found, points, -2)[0], strict=True):
        rest = np.linalg.norm(away - place[0] - x * place[1], axis=-1)
        assert np.mean(np.minimum(rest / limit, 1.0) ** 2) == pytest.approx(loss, abs=0.004)
    each = contributions(np.zeros((2, 2)))
    changes = [
        contributions(0.01 * np.array([[row == 0, 0], [row == 1, 0]])) - each for row in (0, 1)
    ]
    inverse = np.linalg.inv([np.mean(change[..., 0], axis=0) / 0.01 for change in changes])
    scores = np.einsum("nid,njd->ij", each, each) / (2 * number)
    sampled = inverse.T @ scores @ inverse / 400
    np.testing.assert_allclose(found.estimate_covariance[0], sampled, rtol=0.06)


def test_simulated_releases_know_what_is_unknown_of_moments_and_scales(few_designs):
    plan = plan_release(assumed(("sphere", 2), (0.6, 1.2), 0.05, 100), PrivacyBudget("1"))
    stage = moments_stage(plan)
    found, _ = agreeing_releases(plan, np.array([-0.1, 0.06]))
    np.testing.assert_array_equal(found.uncertainty, stage.uncertainty(plan.assumptions))
    assert np.all(found.uncertainty > 0.0)
    likely, _ = stage.belief(np.array([-0.1, 0.06]), plan.assumptions)
    assert np.mean(found.covariates.moments[:, 0]) == pytest.approx(likely[0], abs=0.02)
    assert likely[0] < -0.1
    # And how much longer residuals may be at one end.
    assert np.std(found.doublings) == pytest.approx(DOUBLINGS / np.sqrt(3.0), rel=0.1)


def squares_of(found):
    """Mean squared errors (1 + k,) of simulated releases."""
    return np.average(np.sum(found.errors**2, axis=-1), axis=0, weights=found.weight)


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
