"""Where steps lead; of the last one what it clips, second moments, and bands of these."""

import re
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.stats import chi, chi2, f
from test_contributions import assumed, states_of

import script
from geodp import Assumptions, Euclidean, PrivacyBudget, ReleasePlan, Sphere
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.samplers.integer_choice import ExactChoice, generator_bits
from geodp_release import stages as st
from geodp_release.ask.holder_warnings import off_least_squares
from geodp_release.plan.bands import Scatter
from geodp_release.promise.public_inputs import EVENLY
from geodp_release.run import contributions as sums
from geodp_release.run.clipping_coordinates import ClippingCoordinates
from geodp_release.run.noise import Noise
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.show.doubts import long_tails
from geodp_release.stages import counts as tails
from geodp_release.stages import scale
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.curvature import moved, straightened
from geodp_release.stages.draw import Released, run_plan
from geodp_release.stages.matrix import triangle_matrix
from simulated import RESIDUALS, true_r_squared

NUMBER = 4000
# So much that there is next to no noise.
PLENTY = Fraction(10**5)
LAST = st.LastStep(PLENTY, clip=8.0, prior=(1.0, 1.0), is_relative=True)


def skewed(dim=1, covariates=1, number=NUMBER):
    """Assumptions, covariates, points: exponential residuals, twice as long at one end."""
    rng = np.random.default_rng(3)
    public = 3.0, 3.0, ((-0.5, 0.5),) * covariates, number
    spread = {"covariate_spread": (EVENLY,) * covariates}
    assumptions = Assumptions(Euclidean(dim), np.zeros(dim), *public, **spread)
    x = rng.random((number, covariates)) - 0.5
    residuals = rng.normal(size=(number, dim))
    residuals[:, 0] = rng.exponential(size=number) - 1.0
    slopes = np.linspace(0.5, 1.0, covariates)[:, None]
    sizes = 0.2 * (1.5 + np.sum(x[:, :1], axis=1, keepdims=True))
    return assumptions, x, x @ slopes + sizes * residuals


def plan_of(assumptions, last, clip=4.0, before=()):
    """A plan with a short step, a look at the upper quartile, and a last step."""
    blocks = (1.0,) * (1 + assumptions.number_of_covariates)
    stages = (
        st.ScaleStage(PLENTY),
        st.NoisyStep(PLENTY, clip=0.8, prior=blocks, is_relative=True),
        st.ScaleStage(PLENTY, share=0.75),
        *before,
        last,
        st.ProductsStage(PLENTY, clip=clip),
        st.FarStage(PLENTY),
    )
    return ReleasePlan(assumptions, PrivacyBudget("1000000"), stages, 0.1, 0.1, 1.0)


def released(plan, x, points):
    return script.release(plan, x, points, np.random.default_rng(1))


def least_squares(x, points):
    design = np.column_stack([np.ones(len(x)), x])
    return np.linalg.lstsq(design, points, rcond=None)[0]


@pytest.mark.parametrize("share", [0.5, 0.25, 0.01])
@pytest.mark.parametrize("dim", [1, 2, 14])
def test_what_is_beyond_a_length_is_as_the_statement_has_it(dim, share):
    def shares(ratio):
        return tails.share_beyond(share, ratio, dim)

    for ratio in (1.0, 1.7):
        found = quad(shares, ratio, 60.0, limit=200)[0]
        assert tails.excess_beyond(share, ratio, dim) == pytest.approx(found, rel=1e-6)
        found = quad(lambda ratio: 2.0 * ratio * shares(ratio), ratio, 60.0, limit=200)[0]
        assert tails.squares_beyond(share, ratio, dim) == pytest.approx(found, rel=1e-6)
    # Normal residuals are within it.
    length = chi.isf(share, dim)
    ratios = np.linspace(1.0, 4.0, 50)
    assert np.all(chi.sf(ratios * length, dim) <= shares(ratios) * (1.0 + 1e-9))
    assert shares(1.0) == pytest.approx(share)
    # Below the length as if all were longer.
    assert tails.excess_beyond(share, 0.4, dim) == pytest.approx(
        0.6 + tails.excess_beyond(share, 1.0, dim)
    )


@pytest.mark.parametrize("covariates", [0, 1, 2])
def test_products_and_long_contributions_are_those_of_gradients(covariates):
    assumptions, x, points = skewed(3, covariates, number=300)
    records = subject_records(assumptions, x, points, ONE_EACH)
    moments = Covariates.independent(assumptions.spreads).moments
    about, state = ClippingCoordinates.about(moments), assumptions.support.origin
    found = sums.gradients(assumptions.manifold, x, points, state, about)
    whole, coarse = (
        sums.lattice_gradients(assumptions.manifold, found, np.ones(300, bool), clip, about)
        * (clip / sums.LATTICE)
        for clip in (100.0, 0.7)
    )
    before = Released(state, 300.0, moments, lengths=(0.5,))
    for directions, kind in ((False, "nbd,ncd->bc"), (True, "nbd,nbe->de")):
        stage = st.ProductsStage(PLENTY, clip=1.4, directions=directions)
        [found] = stage.run(
            before, assumptions, records, generator_bits(np.random.default_rng(1))
        ).products
        expected = np.einsum(kind, coarse, coarse) / 300.0
        np.testing.assert_allclose(triangle_matrix(np.array(found)), expected, rtol=0.01, atol=1e-4)
        assert len(expected) == stage.size(assumptions)
    limits = np.array([0.3, 0.6, 1.2])
    expected, _ = np.histogram(about.norm(whole), [*limits, np.inf])
    found = sums.tail_counts(assumptions, records, state, limits, about)
    assert found == (expected * sums.LOSS_LATTICE).tolist()


@pytest.mark.parametrize(("dim", "covariates"), [(1, 1), (2, 2), (1, 0)])
def test_a_last_step_leads_to_least_squares_where_clipped_steps_do_not(dim, covariates):
    assumptions, x, points = skewed(dim, covariates)
    prior = (1e-4,) * (1 + covariates)
    how = {"clip": 8.0, "prior": prior, "is_relative": True}
    fit, off = least_squares(x, points), {}
    for step in (
        st.LastStep(PLENTY, unlike=0.4, **how),
        st.NoisyStep(PLENTY, **how | {"clip": 0.8}),
    ):
        release = released(plan_of(assumptions, step), x, points)
        found = np.stack([release.footpoint, *release.shooting_vectors])
        off[type(step)] = np.linalg.norm(found[0] - fit[0])
    assert off[st.LastStep] < 0.006 < 0.02 < off[st.NoisyStep]


def test_a_last_step_expects_errors_that_simulations_do_not_have():
    """So that it leaves little of them, and bands have what it leaves."""
    assumptions, *_ = skewed()
    how = {"clip": 8.0, "prior": (1e-8, 1e-8), "is_relative": True}
    sure, unsure = (st.LastStep(Fraction(1, 10), unlike=each, **how) for each in (0.0, 0.4))
    moments = Covariates.independent((EVENLY,)).moments
    before = Released(assumptions.support.origin, float(NUMBER), moments, lengths=(0.3,))
    means = np.array([[0.1], [0.02]])
    short, long = (each.change(means, before, assumptions, 0.3)[0] for each in (sure, unsure))
    assert np.all(np.abs(short) < 0.01 * np.abs(long))
    # Wholly where it is as large as the support.
    wide = replace(unsure, is_relative=False, budget=PLENTY)
    change = wide.change(means, before, assumptions, 1.0)[0]
    np.testing.assert_allclose(change, [[0.1], [0.24]], rtol=1e-3)


def test_bands_are_of_second_moments_as_they_are():
    """Those of residuals that are longer at one end of the range, beside the sandwich's."""
    assumptions, x, points = skewed()
    plan = plan_of(assumptions, LAST)
    release = released(plan, x, points)
    design = np.column_stack([np.ones(NUMBER), x])
    residuals = points[:, 0] - design @ least_squares(x, points)[:, 0]
    inverse = np.linalg.inv(design.T @ design)
    covariance = inverse @ (design.T * residuals**2) @ design @ inverse
    at = np.array([-0.5, 0.0, 0.5])
    rows = np.column_stack([np.ones(3), at])
    expected = 1.96 * np.sqrt(np.einsum("mi,ij,mj->m", rows, covariance, rows))
    ratio = release.band(at) / expected
    # Moments of the sample are not those that are assumed, which a step from afar makes more of.
    assert np.all((ratio > 0.97) & (ratio < 1.25))
    # Squares beyond a shorter clip may be as many as the statement allows, and are not.
    short = released(plan_of(assumptions, LAST, clip=1.0), x, points)
    # As evenly over the range, though a clip takes more where residuals are longer.
    ratio = short.band(at) / release.band(at)
    assert np.all((ratio > 0.95) & (ratio < 1.2))
    assert ratio[1] > 1.05


@pytest.mark.parametrize("clip", [0.7, 1.8])
@pytest.mark.parametrize("dim", [1, 2, 14])
def test_squares_beyond_a_clip_are_those_of_residuals_of_any_scale(dim, clip):
    for degrees, squares in ((3.0, f(dim, 3.0)), (1e6, chi2(dim, scale=1.0 / dim))):
        limit = clip**2 * squares.mean()
        kept = quad(squares.sf, 0.0, limit)[0]
        beyond = squares.mean() - kept
        found = tails.student_squares_beyond(kept / limit, 0.9999, dim, degrees)
        assert found == pytest.approx(beyond / limit, rel=2e-3, abs=1e-4)


@pytest.mark.parametrize("law", ["normal", "lognormal", "t(3)"])
def test_intervals_of_r_squared_and_of_scales_hold_what_clipping_takes_from_squares(law):
    """And the chance of the sample: of a population, with next to no noise."""
    number, scale, held = 20000, 0.3, []
    assumptions, *_ = skewed(2, number=number)
    plan = plan_of(assumptions, LAST, clip=1.0)
    state = np.array([[0.0, 0.0], [1.0, 0.0]])
    true = true_r_squared(assumptions.manifold, state, scale, np.full(1, 1.0 / 12.0))
    for seed in range(6):
        rng = np.random.default_rng(seed)
        x = rng.random((number, 1)) - 0.5
        residuals = RESIDUALS[law](rng, rng.normal(size=(number, 2)), x)
        release = released(plan, x, x * state[1] + scale * residuals)
        spread, (value, low, high, _) = release.residual_scale(0.95), release.r_squared(0.95)
        held.append([low <= true <= high, spread.low <= scale <= spread.high])
        if law == "normal":
            assert value == pytest.approx(true, abs=0.02)
    assert np.all(np.mean(held, axis=0) > 0.8)


def test_what_clipping_may_take_widens_bands_and_is_doubted_where_counts_are_higher():
    assumptions, x, points = skewed()
    last, tail = replace(LAST, clip=2.0), st.TailStage(PLENTY, limit=2.0)
    narrow, wide = (
        released(plan_of(assumptions, replace(last, share=share), before=(tail,)), x, points)
        for share in (Fraction(0), Fraction(1, 4))
    )
    length = wide.lengths[-1]
    more = wide.band([0.0, 0.5]) - narrow.band([0.0, 0.5])
    # In the middle of the range and at its end, where the leverage is four times as large.
    expected = tails.excess_beyond(0.25, 2.0, 1) * length * np.array([1.0, 2.0])
    np.testing.assert_allclose(more, expected, rtol=1e-6)
    assert 0 < sum(wide.tails) < tails.share_beyond(0.25, 2.0, 1) * NUMBER
    assert not long_tails(wide)
    longer = replace(wide, tails=(*wide.tails[:2], 90.0, 60.0, 0.0))
    assert long_tails(longer)
    assert any("tails: any" in each for each in longer.doubts())
    assert np.all(np.isnan(longer.band([0.0])))
    assert np.all(np.isfinite(longer.band([0.0], doubted=True)))


def test_the_holder_is_told_how_far_clipping_leads_from_least_squares():
    assumptions, x, points = skewed()
    records, off = subject_records(assumptions, x, points, ONE_EACH), []
    how = {"prior": (1e-6, 1e-6), "is_relative": True}
    for last in (
        st.LastStep(PLENTY, clip=8.0, unlike=0.4, **how),
        st.LastStep(PLENTY, clip=0.8, **how),
    ):
        said = off_least_squares(plan_of(assumptions, last), records)
        off.append(float(re.search("at most ([^ ]+) radii", said)[1]))
    assert off[0] < 0.3
    assert off[1] > 1.0


def test_mean_squares_of_residuals_count_what_clipping_took_and_what_is_guessed():
    coordinates = ClippingCoordinates.about([0.0, 1.0 / 12.0])
    # Of residuals whose mean square is 4, whatever the covariate is.
    back = np.linalg.inv(coordinates.gradients)
    blocks = 4.0 * back @ np.diag([1.0, 1.0 / 12.0]) @ back.T
    clip, many, typical = 100.0, 1e15, np.linspace(1.0, 3.0, 2001)
    given = blocks, 0.0, coordinates, np.eye(1), 0.0, 1e-9, 0.0, clip, 0.01
    measured = Scatter(*given, 0.0, (1.0, 0.0))
    # From nothing, which is what normal residuals lose, to what heavy tails do.
    found = measured.residual_squares(typical, many)
    heavy = clip**2 * tails.student_squares_beyond(4.0 / clip**2, 0.9, 1, 3.0)
    assert np.quantile(found, [0.0, 0.5, 1.0]) == pytest.approx([4.0, 4.0, 4.0 + heavy], rel=1e-3)
    # Or to what is in blocks for it.
    found = replace(measured, lost=1.0).residual_squares(typical, many)
    assert np.quantile(found, [0.0, 0.5, 1.0]) == pytest.approx([3.0, 3.0, 4.0], rel=1e-3)
    # A part that simulated residuals stand for is as unsure as they are.
    more = replace(measured, guessed=0.25).residual_squares(typical, many)
    first = measured.residual_squares(typical, many)
    np.testing.assert_allclose(more - first, 0.25 * (typical**2 - 4.0), atol=1e-9)
    # Where nearly all may be longer than a released length it says nothing.
    all_longer = replace(measured, share=0.9).residual_squares(typical, many)
    np.testing.assert_allclose(all_longer, first, rtol=1e-3)
    # And a sample of the population is, the less it has.
    few = replace(measured, clip=4.0).residual_squares(np.full(2001, 2.0), 1200.0)
    assert np.std(few[2::32]) == pytest.approx(np.sqrt(4.0 * 12.0 / 1200.0), rel=0.3)


@pytest.mark.parametrize("reach", [10.0, 1.3])
def test_without_noise_a_matrix_leads_to_least_squares(manifold, reach, monkeypatch):
    """Of residuals about the centre, with weights, of covariates in clumps."""
    monkeypatch.setattr(Noise, "add", lambda noise, sums, bits: sums)
    assumptions = assumed(manifold, 61, covariate_range=((-0.5, 0.5),) * 2)
    rng, origin, size = np.random.default_rng(11), assumptions.support.origin, (3, manifold.dim)
    x = rng.beta(2.0, 5.0, (61, 2)) - 0.5
    change = 0.1 / np.sqrt(manifold.dim) * rng.normal(size=size)
    true, _ = moved(assumptions, origin, manifold.tangent(origin[0], change))
    clean = manifold.ends(true[0], true[1:], x)
    points = manifold.exp(clean, 1e-3 / np.sqrt(manifold.dim) * manifold.random_tangent(rng, clean))
    records = subject_records(assumptions, x, points, ONE_EACH)
    stage = st.MatrixStage(10**6, clip=1.0, prior=(1.0,) * 3, reach=reach)
    plan = ReleasePlan(assumptions, PrivacyBudget("1e6"), (stage,), 1.0, 1.0, 1.0)
    released = run_plan(plan, records, None)
    found, rows = released.state, np.column_stack([np.ones(61), x])
    long = np.linalg.norm(rows / stage.widths(assumptions), axis=1, keepdims=True)
    weights = 1.0 / np.maximum(long, reach)
    residuals = manifold.coordinates(origin[0], manifold.log(origin[0], points))
    expected = np.linalg.lstsq(weights * rows, weights * residuals)[0]
    expected, _ = straightened(assumptions, origin, expected, released.moments)
    np.testing.assert_allclose(found, expected, atol=1e-6)
    # To first order in curved space that is the fit.
    assert np.max(manifold.dist(manifold.ends(found[0], found[1:], x), clean)) < 3e-3


@pytest.mark.parametrize(("size", "radius"), [(1.0, 0.6), (1e300, 0.6), (3.0, None)])
@pytest.mark.filterwarnings("error")
def test_a_step_stays_in_the_support(manifold, size, radius):
    vectors = radius and 2.0 * radius
    assumptions = assumed(manifold, 4, footpoint_radius=radius, shooting_vector_length=vectors)
    rng = np.random.default_rng(13)
    (state,) = states_of(assumptions, 1)
    for _ in range(5):
        change = manifold.tangent(state[0], size * rng.normal(size=(2, manifold.dim)))
        state, reached = moved(assumptions, state, change)
        assert assumptions.support.contains(state[None])[0]
        p, vector = state
        lengths = [manifold.dist(assumptions.centre, p), manifold.norm(p, vector)]
        kept = np.minimum(reached, 1.0) * assumptions.support.radii
        np.testing.assert_allclose(lengths, kept, rtol=1e-6)


def test_steps_in_units_of_a_released_length_are_steps():
    assumptions = assumed(Sphere(2), 60, covariate_range=(-0.5, 0.5))
    rng, length = np.random.default_rng(9), 0.25
    centres = np.stack([assumptions.centre] * 60)
    steps = 0.2 * assumptions.manifold.random_tangent(rng, centres)
    points = assumptions.manifold.exp(centres, steps)
    records = subject_records(assumptions, rng.uniform(-0.5, 0.5, 60), points, ONE_EACH)
    before = np.array(assumptions.support.origin), 60.0, np.array([0.0, 1 / 12]), 0.1 * np.eye(2)
    before = Released(*before, lengths=(length,))
    relative = st.NoisyStep(1, clip=2.0, prior=(0.5, 0.5), is_relative=True)
    absolute = st.NoisyStep(1, clip=2.0 * length, prior=(0.5 * length**2,) * 2)
    one, other = (
        each.run(before, assumptions, records, generator_bits(np.random.default_rng(1)))
        for each in (relative, absolute)
    )
    np.testing.assert_allclose(one.state, other.state, atol=1e-12)
    np.testing.assert_allclose(one.covariance, other.covariance, atol=1e-12)


def test_choices_of_wide_supports_have_weights_and_noisy_numbers_make_none_long(monkeypatch):
    """Else a release would fail after it was paid for: for a public reason, or for its noise."""
    wide = assumed(Hyperbolic(12), 3, footpoint_radius=7.9, covariate_range=())
    wide = replace(wide, shooting_vector_length=())
    rng = np.random.default_rng(0)
    records = subject_records(wide, None, wide.support.draw(rng, (3,))[:, 0], ONE_EACH)
    _, choice = st.PointsStage.of(1, "epsilon", 256, 1.0)._choice(wide, records, {})
    assert len(choice.weights) == 256
    made = []

    def kept(*given):
        made.append(ExactChoice(*given))
        return made[-1]

    monkeypatch.setattr(scale, "ExactChoice", kept)
    found = Released(wide.support.origin, 1e10, np.zeros(0))
    st.ScaleStage(1).run(found, wide, records, generator_bits(rng))
    assert made[0].size == 1 << 8
