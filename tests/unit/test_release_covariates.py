"""Releases without a covariate and with several: means, and geodesics of several covariates."""

from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest

import geodp
import script
from geodp.samplers.integer_choice import generator_bits
from geodp_release import stages as st
from geodp_release.plan.agreeing import agreeing_releases, has_subjects
from geodp_release.plan.bands import TrueGeodesics, sampled_errors
from geodp_release.promise.public_inputs import ADD_OR_REMOVE, EVENLY, TWO_GROUPS, UNKNOWN
from geodp_release.run.covariate_moments import matrix_moments, possible_moments
from geodp_release.run.subjects import ONE_EACH, subject_records
from geodp_release.show.rehearsal import Rehearsed, without_data
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.draw import Released
from geodp_release.stages.residual_tables import length_grid
from geodp_release.stages.simulation import FlatReleases


def assumed(manifold, covariates, subjects=500, scale=0.1, /, **others):
    given = {"centre": manifold.random_point(np.random.default_rng(0)), "footpoint_radius": 0.5}
    given |= {"shooting_vector_length": (0.6,) * covariates, "residual_scale": scale}
    given |= {"covariate_range": ((10.0, 20.0),) * covariates, "subjects": subjects}
    given |= {"manifold": manifold, "covariate_spread": (EVENLY,) * covariates}
    return geodp.Assumptions(**given | others)


def cohort(assumptions):
    """Covariates (n, k) and points of as many subjects as assumed, about a geodesic."""
    rng, manifold = np.random.default_rng(1), assumptions.manifold
    p, *vectors = assumptions.support.draw(rng, (1,))[0]
    # So that no release seems to be at the edge, which withholds bands.
    vectors = [0.7 * each for each in vectors]
    x = rng.uniform(-0.5, 0.5, (assumptions.subjects, assumptions.number_of_covariates))
    clean = manifold.ends(p, vectors, x)
    noise = rng.normal(size=(len(x), manifold.dim))
    noise = manifold.vector(manifold.frame(clean), assumptions.residual_scale * noise)
    return 15.0 + 10.0 * x, manifold.exp(clean, noise)


def quick(assumptions):
    """A plan by hand, whose predicted errors mean nothing."""
    prior = (0.1,) * (1 + assumptions.number_of_covariates)
    stages = [st.NoisyStep(1, clip=0.5, prior=prior), st.NoisyStep(1, clip=0.2, prior=prior)]
    if assumptions.number_of_covariates:
        stages.insert(0, st.MomentsStage(Fraction(1, 2)))
    return geodp.ReleasePlan(assumptions, geodp.PrivacyBudget("2.5"), tuple(stages), 0.1, 0.1, 0.3)


def test_means_are_divided_by_the_number_of_subjects_that_was_released():
    """Also in simulations, where a noisy number is one at least."""
    assumptions = assumed(geodp.Sphere(2), 1, 20, neighbours=ADD_OR_REMOVE)
    records = subject_records(assumptions, *cohort(assumptions), ONE_EACH)
    state, step = assumptions.support.origin, st.NoisyStep(1, clip=0.5)
    before = [Released(state, each, np.array([0.0, 1.0 / 12.0])) for each in (20.0, 40.0)]
    bits = [generator_bits(np.random.default_rng(2)) for _ in before]
    one, two = (
        step.noisy_means(assumptions, records, *each) for each in zip(before, bits, strict=True)
    )
    np.testing.assert_allclose(two, 0.5 * one)
    rng = np.random.default_rng(1)
    start = FlatReleases.start(assumptions, 400, rng)
    counted = st.CountStage(Fraction(1, 100)).simulate(start, rng).counted
    assert np.max(counted) == 20.0
    assert np.min(counted) < 0.5


def test_a_rehearsal_tests_one_covariate_of_each_kind(monkeypatch):
    """So that a plan of thirty covariates ends within a minute."""
    plan = quick(assumed(geodp.Euclidean(2), 3, covariate_spread=(UNKNOWN, UNKNOWN, TWO_GROUPS)))
    tested = []
    monkeypatch.setattr(Rehearsed, "_p_value", lambda _, numbers: tested.append(numbers) or 0.5)
    assert without_data(plan).p_values().tolist() == [0.5] * 3
    assert tested == [[1], [3]]


@pytest.mark.parametrize("spreads", [(UNKNOWN,), (TWO_GROUPS, EVENLY)])
def test_bands_are_finite_where_covariates_are_constant(spreads):
    """Also those of a file, whose moments need not be what a release writes."""
    k = len(spreads)
    plan = quick(assumed(geodp.Euclidean(2), k, covariate_spread=spreads))
    state = np.array(plan.assumptions.support.origin)
    places = np.array([[0.0] * k, [0.5] * k])
    constant = np.array([0.5] * k + [0.25] * (k * (k + 1) // 2))
    for moments in (constant, possible_moments(constant), np.append(constant[:-1], 0.1)):
        errors = sampled_errors(*agreeing_releases(plan, moments))
        radii = TrueGeodesics.of(geodp.Euclidean(2), errors, state).radii(places)
        assert np.all(radii > 0.0)
        # No slope is known, and no residual is longer than the support is wide.
        assert np.all(radii < 10.0)


def test_records_with_half_of_their_covariates_are_unusable():
    assumptions = assumed(geodp.Euclidean(1), 2, 4)
    x = [[12.0, 13.0], [np.nan, 13.0], [12.0, 99.0], None]
    found = subject_records(assumptions, x, np.zeros((4, 1)), ONE_EACH)
    assert found.valid[:, 0].tolist() == [True, False, True, False]
    np.testing.assert_allclose(found.covariates[:, 0, 1], [-0.2, 0.0, 0.5, 0.0])
    with pytest.raises(geodp.DataError, match="covariates are missing"):
        subject_records(assumptions, None, np.zeros((4, 1)), ONE_EACH)


@pytest.mark.parametrize("bad", [0.0, -np.inf])
def test_covariates_without_a_logarithm_are_those_of_unusable_records(bad):
    logs, points = assumed(geodp.Euclidean(1), 1, 3, transformation="log"), np.zeros((3, 1))
    found, good = (
        subject_records(logs, [12.0, each, 13.0], points, ONE_EACH) for each in (bad, 14.0)
    )
    assert found.valid[:, 0].tolist() == [True, False, True]
    np.testing.assert_array_equal(found.covariates[[0, 2]], good.covariates[[0, 2]])


@pytest.mark.parametrize("covariates", [0, 2])
def test_releases_predict_at_covariates(covariates):
    assumptions = assumed(geodp.Sphere(2), covariates, 300)
    x, points = cohort(assumptions)
    found = geodp.release_geodesic(quick(assumptions), x if covariates else None, points, ONE_EACH)
    assert found.shooting_vectors.shape == (covariates, 3)
    if covariates:
        assert found.predict([[15.0, 15.0]])[0] == pytest.approx(found.footpoint)
        with pytest.raises(geodp.DataError, match="give rows of 2, one a prediction"):
            found.predict([15.0])
        with pytest.raises(ValueError, match="too many values"):
            _ = found.shooting_vector
    else:
        assert found.band().shape == (1,)
        # Covariates may be left out, and an empty table is no other thing.
        for x in ((), (np.zeros((3, 0)),)):
            for each in found.predict(*x):
                np.testing.assert_allclose(each, found.footpoint, rtol=0.0, atol=1e-14)


@pytest.mark.parametrize("covariates", [1, 2, 3])
def test_subjects_are_where_moments_say(covariates):
    """All over ranges of even covariates, and about the middle of a clump, if noise lets it."""
    spreads = {"covariate_spread": (UNKNOWN,) * covariates}
    plan, few = (quick(assumed(geodp.Euclidean(2), covariates, n, **spreads)) for n in (50000, 50))
    places = np.array([[0.5], [-0.5], [0.0]]) * np.ones(covariates)
    even = Covariates.independent((UNKNOWN,) * covariates).moments
    clump = matrix_moments(np.diag([1.0] + [0.0025] * covariates))
    assert has_subjects(plan, even, places).tolist() == [True, True, True]
    # Where noise hides where they are, bands are drawn, and wide.
    assert has_subjects(few, even, places).tolist() == [True, True, True]
    assert has_subjects(plan, clump, places).tolist() == [False, False, True]
    beside = np.eye(covariates)[:1] * [[0.09], [0.14]]
    assert has_subjects(plan, clump, beside).tolist() == [True, covariates > 1]


@pytest.mark.parametrize("manifold", [geodp.SPD(2), geodp.Sphere(2)])
def test_bands_hold_together(manifold):
    """At all places at once, and pointwise at a quarter fewer; by other errors than theirs."""
    rng, places = np.random.default_rng(3), np.linspace(-0.5, 0.5, 11)[:, None]
    p = manifold.random_point(rng)
    state = np.stack([p, 0.4 * manifold.random_direction(rng, p)])
    errors = rng.normal(size=(2, 4000, 2, manifold.dim)) * [[0.02], [0.07]]
    starts = manifold.exp(p, manifold.vector(manifold.frame(p), errors[1, :, 0]))
    turned = state[1] + manifold.vector(manifold.frame(p), errors[1, :, 1])
    turned = manifold.transport_to(np.broadcast_to(p, starts.shape), starts, turned)
    away = manifold.dist(
        manifold.ends(starts[:, None], [turned[:, None]], places),
        manifold.ends(p, state[1:], places),
    )
    for together, least, most in ((True, 0.885, 0.915), (False, 0.6, 0.85)):
        [radii] = TrueGeodesics.of(manifold, errors[0], state).radii(places, [0.9], together)
        assert least < np.mean(np.all(away[:, 0] <= radii, axis=1)) < most


def test_coefficients_are_those_of_predictions_and_their_intervals_hold():
    """Of planes along an age and the logarithm of a dose, by noise of other bits for each."""
    scales = {"transformation": ("none", "log"), "covariate_spread": (UNKNOWN,) * 2}
    assumptions = assumed(geodp.Euclidean(1), 2, 2000, **scales)
    made = geodp.release_geodesic(quick(assumptions), *cohort(assumptions), ONE_EACH)
    first, *slopes = made.coefficients().value
    ages, doses = x = np.array([[10.0, 13.0, 19.0], [20.0, 11.0, 14.0]])
    found = first + np.outer(ages - 15.0, slopes[0])
    found += np.outer(np.log(doses / np.sqrt(200.0)), slopes[1])
    np.testing.assert_allclose(made.predict(x.T), found, rtol=1e-12)
    with pytest.raises(geodp.DataError, match="positive ones where their logarithm is taken"):
        made.predict([[15.0, 15.0], [15.0, 0.0]])
    rng, held = np.random.default_rng(7), []
    for _ in range(80):
        truth = assumptions.support.radii[:, None] * rng.uniform(-1.0, 1.0, (3, 1))
        x = rng.uniform(10.0, 20.0, (2000, 2))
        truth[0] += assumptions.centre
        y = np.insert(assumptions.places(x), 0, 1.0, axis=1) @ truth
        y += 0.1 * rng.normal(size=y.shape)
        each = script.release(made.plan, x, y, rng).coefficients(0.9)
        truth = assumptions.coefficients @ truth
        held.append((each.low <= truth) & (truth <= each.high))
    assert 0.85 < np.mean(held) < 0.96


def test_doubts_say_what_to_change_and_withhold_bands():
    plan = quick(assumed(geodp.Sphere(2), 1))
    looks = st.ScaleStage(1, share=0.75), st.FarStage(1)
    data, public = cohort(plan.assumptions), replace(plan.assumptions, residual_scale=None)
    stages = *plan.stages, *looks
    plan = replace(plan, assumptions=public, budget=geodp.PrivacyBudget("4.5"), stages=stages)
    made = geodp.release_geodesic(plan, *data, ONE_EACH)
    assert made.doubts() == []
    assert made.far < 0.1 * made.number
    assert "residuals have a standard deviation of" in made.found()[0]
    grid = length_grid(plan.assumptions)
    measured_last = replace(plan, stages=(*stages[1:], stages[0]))
    assert replace(made, plan=measured_last).doubts() == []
    for key, parts in (
        ("another centre", {"reached": np.array([1.1, 0.5])}),
        ("a larger shooting_vector_length", {"reached": np.array([0.5, 1.1])}),
        ("a larger footpoint_radius", {"lengths": (grid[0],)}),
        ("a smaller footpoint_radius", {"lengths": (grid[-1],)}),
        ("far from the geodesic", {"far": 0.2 * made.number}),
        ("covariate_spread at unknown", {"moments": np.array([-0.2, 0.07]), "plan": measured_last}),
    ):
        doubtful = replace(made, **parts)
        [said] = doubtful.doubts()
        assert key in said
        assert said in str(doubtful).replace("\n    ", " ")
        assert np.all(np.isnan(doubtful.band([12.0])))
    # What noise leads as far, of a step or of a look, is no doubt.
    weak = replace(plan, stages=(*(replace(each, budget=0.05) for each in stages[:-1]), stages[-1]))
    for parts in ({"reached": np.array([1.02, 1.02])}, {"lengths": (grid[0],)}):
        assert replace(made, plan=weak, **parts).doubts() == []
