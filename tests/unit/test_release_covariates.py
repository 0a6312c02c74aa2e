"""Releases without a covariate and with several: means, and geodesics of several covariates."""

from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.linalg import block_diag

import geodp
from geodp import KendallPlanarShapes
from geodp.samplers.integer_choice import generator_bits
from geodp_release import folder
from geodp_release.accounting import PURE, UNITS
from geodp_release.assumptions import ADD_OR_REMOVE
from geodp_release.bands import agreeing_releases, band_radii, has_subjects, sampled_errors
from geodp_release.coordinates import ClippingCoordinates, noise_of
from geodp_release.draw import Released, run_plan
from geodp_release.moments import (
    LEAST,
    matrix_moments,
    moment_matrix,
    number_of_covariates,
    possible_moments,
)
from geodp_release.pictures import picture
from geodp_release.planning import run_stages
from geodp_release.simulation import (
    EVENLY,
    SQUARES,
    TWO_GROUPS,
    UNKNOWN,
    Covariates,
    FlatReleases,
    length_grid,
    level_of,
)
from geodp_release.stages import CountStage, FarStage, MomentsStage, NoisyStep, ScaleStage
from geodp_release.stages.matrix import MatrixStage
from geodp_release.stages.moments import EXPECTED, WIDER
from geodp_release.subjects import ONE_EACH, subject_records

THREE = (EVENLY, TWO_GROUPS, TWO_GROUPS)
EVEN = Covariates.independent((EVENLY,))


def assumed(manifold, covariates, subjects=500, scale=0.1, /, **others):
    return geodp.Assumptions(
        **{
            "manifold": manifold,
            "centre": manifold.random_point(np.random.default_rng(0)),
            "footpoint_radius": 0.5,
            "shooting_vector_length": (0.6,) * covariates,
            "covariate_range": ((10.0, 20.0),) * covariates,
            "residual_scale": scale,
            "subjects": subjects,
            "covariate_spread": (EVENLY,) * covariates,
            **others,
        }
    )


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
    stages = [NoisyStep(1, clip=0.5, prior=prior), NoisyStep(1, clip=0.2, prior=prior)]
    if assumptions.number_of_covariates:
        stages.insert(0, MomentsStage(Fraction(1, 2)))
    return geodp.ReleasePlan(assumptions, geodp.PrivacyBudget("2.5"), tuple(stages), 0.1, 0.1, 0.3)


# Simulations and noise


@pytest.mark.parametrize("kind", [NoisyStep, MatrixStage])
def test_the_simulated_clip_is_that_of_contributions(kind):
    """With several covariates gradients are longer than residuals: their mean, as simulated."""
    assumptions = assumed(geodp.Euclidean(2), 3, 4000, covariate_spread=THREE)
    rng = np.random.default_rng(5)
    start = FlatReleases.start(assumptions, 4, rng)
    start = replace(start, typical=assumptions.residual_scale * np.sqrt(2.0))
    level = level_of(0.3, start.typical)
    clip = start.typical * 2.0 ** (level / 4.0)
    clipping = start.coordinates
    for error, clean in zip(start.errors, kind(1, clip=clip).prepare(start), strict=True):
        x = rng.uniform(-0.5, 0.5, (40_000, 3))
        x[:, 1:] = np.sign(x[:, 1:]) / 2.0
        residual = error[0] + x @ error[1:]
        residual += assumptions.residual_scale * rng.normal(size=residual.shape)
        each = np.concatenate([residual[:, None], x[..., None] * residual[:, None]], axis=1)
        lengths = np.linalg.norm(residual, axis=-1)
        if kind is NoisyStep:
            lengths = clipping.norm(clipping.of(each))
        each *= np.minimum(1.0, clip / lengths)[:, None, None]
        assert np.abs(np.mean(each, axis=0) - clean).max() < 0.05 * np.linalg.norm(error)


def test_coordinates_are_about_where_subjects_are():
    """Windows end with the range, and covariates that go together are taken apart."""
    for mean, deviation, low, high in ((0.4, 0.2, 0.05, 0.5), (-0.1, 0.04, -0.17, -0.03)):
        found = ClippingCoordinates.about(np.array([mean, mean**2 + deviation**2]))
        each = found.of(np.array([[[1.0], [x]] for x in (low, 0.5 * (low + high), high)]))
        # Of a residual of length one only one end is left at the ends of the window.
        np.testing.assert_allclose(each[..., 0], [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], atol=1e-3)
    mean, covariance = np.array([0.1, -0.2]), 0.04 * np.array([[1.0, 0.8], [0.8, 1.0]])
    matrix = np.outer([1.0, *mean], [1.0, *mean]) + block_diag(0.0, covariance)
    standard = ClippingCoordinates.about(matrix_moments(matrix)).standard
    np.testing.assert_allclose(standard @ matrix @ standard.T, np.eye(3), atol=1e-12)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("covariates", [0, 1, 3])
def test_noise_has_the_variances_that_are_planned_with(covariates, unit):
    moments = Covariates.independent((UNKNOWN,) * covariates, clustered=True).moments
    found, dim, draws = ClippingCoordinates.about(moments), 2, 400
    planned = found.variances(noise_of(covariates, unit, 1 << 20, 0.5), dim)
    rng = np.random.default_rng(1)
    zero = [[0] * dim] * (1 + covariates)
    noise = noise_of(covariates, unit, 1 << 20, Fraction(1, 2))
    bits = generator_bits(np.random.default_rng(2))
    drawn = np.array([found.noisy(zero, bits, noise) for _ in range(draws)])
    simulated = found.simulated(rng, noise, (20_000, 1 + covariates, dim))
    for block, variance in zip(np.var(simulated, axis=0), planned, strict=True):
        np.testing.assert_allclose(block, variance, rtol=0.12)
    np.testing.assert_allclose(np.mean(np.var(drawn, axis=0), axis=-1), planned, rtol=0.3)
    # Entries of a row have noise of their own.
    assert np.max(np.abs(np.mean(drawn[..., 0] * drawn[..., 1], axis=0)) / planned) < 0.3
    if covariates > 1 and unit == PURE:
        # One Gamma length for all blocks.
        lengths, number = np.linalg.norm(simulated, axis=(1, 2)), dim * (1 + covariates)
        assert np.mean(lengths) == pytest.approx(number * (1 << 21), rel=0.02)
        assert np.var(lengths) == pytest.approx(number * (1 << 21) ** 2, rel=0.06)


def test_means_are_divided_by_the_number_of_subjects_that_was_released():
    """Also in simulations, where a noisy number is one at least."""
    assumptions = assumed(geodp.Sphere(2), 1, 20, neighbours=ADD_OR_REMOVE)
    records = subject_records(assumptions, *cohort(assumptions), ONE_EACH)
    state, step = assumptions.support.origin, NoisyStep(1, clip=0.5)
    one, two = (
        step.noisy_means(
            assumptions,
            records,
            Released(state, each, EVEN.moments),
            generator_bits(np.random.default_rng(2)),
        )
        for each in (20.0, 40.0)
    )
    np.testing.assert_allclose(two, 0.5 * one)
    rng = np.random.default_rng(1)
    start = FlatReleases.start(assumptions, 400, rng)
    counted = CountStage(Fraction(1, 100)).simulate(start, rng).counted
    assert np.max(counted) == 20.0
    assert np.min(counted) < 0.5


def test_simulated_errors_of_a_mean_are_those_of_a_mean():
    """Without noise to speak of the error is that of the sample mean."""
    assumptions = assumed(geodp.Euclidean(3), 0, 100)
    stages = (NoisyStep(1e6, clip=9.0, prior=(1.0,)),)
    plan = geodp.ReleasePlan(assumptions, geodp.PrivacyBudget("1e6"), stages, 1.0, 1.0, 1.0)
    errors = sampled_errors(*agreeing_releases(plan))
    assert errors.shape[1:] == (1, 3)
    assert np.mean(np.sum(errors**2, axis=-1)) == pytest.approx(0.01 * 3.0 / 100.0, rel=0.2)
    start = FlatReleases.start(assumptions, 100, np.random.default_rng(1))
    found = run_stages(start, stages, np.random.default_rng(2))
    assert found.curve == pytest.approx(0.01 * 3.0 / 100.0, rel=0.1)


# Moments of covariates


def sample_moments(x):
    rows = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    return matrix_moments(rows.T @ rows / len(x))


def test_moments_that_are_possible_stay():
    rng = np.random.default_rng(1)
    x = rng.uniform(-0.5, 0.5, (50, 3))
    moments = sample_moments(x)
    assert number_of_covariates(moments) == 3
    np.testing.assert_allclose(moment_matrix(moments)[0, 1:], np.mean(x, axis=0))
    np.testing.assert_allclose(moment_matrix(moments)[1:, 1:], x.T @ x / 50)
    for possible in (moments, np.array([0.0, 0.0, 0.25, 0.0, 0.25])):
        np.testing.assert_allclose(possible_moments(possible), possible, atol=1e-12)
    assert np.shape(moment_matrix(np.zeros((4, 0)))) == (4, 1, 1)


@pytest.mark.parametrize("covariates", [1, 2, 5])
@pytest.mark.parametrize("noise", [0.02, 1.0])
def test_possible_moments_leave_every_covariate_a_variance(covariates, noise):
    """Also where all subjects are in one corner, and whatever the noise is."""
    products = covariates * (covariates + 1) // 2
    corner = np.array([0.5] * covariates + [0.25] * products)
    drawn = np.random.default_rng(1).normal(size=(2000, len(corner)))
    moments = possible_moments(corner + noise * drawn)
    np.testing.assert_allclose(possible_moments(moments), moments, atol=1e-12)
    found = moment_matrix(moments)
    means = found[..., 0, 1:]
    left = found[..., 1:, 1:] - means[..., None] * means[..., None, :]
    assert np.linalg.eigvalsh(left).min() > (1.0 - 1e-9) * LEAST
    assert np.all(np.abs(found) <= np.outer(*[[1.0] + [0.5] * covariates] * 2))


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
        radii = band_radii(geodp.Euclidean(2), errors, state, places)
        assert np.all(radii > 0.0)
        # No slope is known, and no residual is longer than the support is wide.
        assert np.all(radii < 10.0)


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("covariates", [1, 2])
def test_noise_of_moments_is_that_planned_with(covariates, unit, monkeypatch):
    """About the moments of the records, before they are drawn to what is expected."""
    monkeypatch.setattr(MomentsStage, "moments", lambda stage, noisy, *_: noisy)
    assumptions, stage = assumed(geodp.Euclidean(1), covariates, 20), MomentsStage(1, unit)
    x, points = cohort(assumptions)
    records = subject_records(assumptions, x, points, ONE_EACH)
    bits, rng = generator_bits(np.random.default_rng(3)), np.random.default_rng(4)
    given = Released(np.zeros((1 + covariates, 1)), 20.0, np.zeros(0)), assumptions, records, bits
    drawn = 20.0 * np.array([stage.run(*given).moments for _ in range(500)])
    errors = drawn - 20.0 * sample_moments((x - 15.0) / 10.0)
    planned = stage.deviations(assumptions)
    assert np.max(np.abs(np.mean(errors, axis=0)) / planned) < 0.2
    for each in (errors, stage.simulated_noise(rng, 4000, assumptions)):
        np.testing.assert_allclose(np.std(each, axis=0), planned, rtol=0.2)
    assert np.max(np.abs(np.corrcoef(errors.T) - np.eye(len(planned)))) < 0.25


@pytest.mark.parametrize("unit", UNITS)
def test_what_moments_may_be_is_what_a_prior_and_noise_say(unit):
    """Regression of true moments on released ones, of many draws from the wider expectations."""
    spreads, number, rng = (UNKNOWN,), 200, np.random.default_rng(5)
    assumptions = assumed(geodp.Euclidean(1), 1, number, covariate_spread=spreads)
    stage, expected = MomentsStage(Fraction(1, 4), unit), Covariates.independent(spreads).moments
    wide = WIDER * np.array([EXPECTED["mean"], EXPECTED["square"]])
    true = expected + wide * rng.normal(size=(40000, 2))
    noisy = true + stage.simulated_noise(rng, 40000, assumptions) / number
    for at, level in enumerate(expected):
        near = level + 0.5 * wide[at]
        some = np.abs(noisy[:, at] - near) < 0.03 * wide[at]
        here = np.where(np.arange(2) == at, near, expected)
        means, deviations = stage.belief(stage.moments(here, number, assumptions), assumptions)
        # As if all of them were at the place near which they are.
        likely = (true - noisy)[some, at] + near
        deviation = np.std(likely)
        assert np.mean(likely) == pytest.approx(means[at], abs=0.1 * deviation)
        assert deviation == pytest.approx(deviations[at], rel=0.1)


def test_correlated_covariates_are_learnt_from_moments():
    """Where covariates go together steps overshoot, unless a stage has told how they do."""
    assumptions = assumed(geodp.Euclidean(1), 2, 20_000)
    rng = np.random.default_rng(1)
    x = rng.uniform(-0.5, 0.5, (20_000, 1)) * [[1.0, 1.0]] + 0.05 * rng.normal(size=(20_000, 2))
    x = np.clip(x, -0.5, 0.5)
    points = x @ [[0.3], [0.2]] + 0.1 * rng.normal(size=(20_000, 1))
    records = subject_records(assumptions, 15.0 + 10.0 * x, points, ONE_EACH)
    step = NoisyStep(5, clip=1.0, prior=(0.1, 0.1, 0.1))

    def error(*stages):
        plan = geodp.ReleasePlan(assumptions, geodp.PrivacyBudget("60"), stages, 1.0, 1.0, 1.0)
        state = run_plan(plan, records, generator_bits(np.random.default_rng(2))).state
        return np.sqrt(np.mean((state[0] + x @ state[1:] - x @ [[0.3], [0.2]]) ** 2))

    with_moments, without = error(MomentsStage(5), step, step), error(step, step)
    assert with_moments < 0.01
    assert without > 3.0 * with_moments


# Distributions of covariates


def unequal_groups(number):
    rng = np.random.default_rng(1)
    groups = np.where(rng.random((number, 2)) < 0.75, -0.5, 0.5)
    return np.concatenate([rng.uniform(-0.5, 0.5, (number, 1)), groups], axis=1)


@pytest.mark.parametrize(
    ("start", "moments"),
    [
        *((EVEN, each) for each in ((0.0, 1 / 12), (-0.2, 0.07), (0.3, 0.11), (0.0, 0.24))),
        (Covariates.independent(THREE), sample_moments(unequal_groups(500))),
    ],
)
def test_a_distribution_with_given_moments_has_them(start, moments):
    found = start.with_moments(np.array(moments))
    np.testing.assert_allclose(found.moments, moments, atol=1e-9)
    assert len(moments) > 2 or np.all(np.abs(found.nodes) <= 0.5)


@pytest.mark.parametrize("spreads", [(), (EVENLY,), (UNKNOWN,), THREE, (EVENLY,) * 5])
def test_nodes_have_the_moments_of_their_distribution(spreads):
    found = Covariates.independent(spreads)
    wanted = matrix_moments(np.diag([1.0, *(SQUARES[spread] for spread in spreads)]))
    np.testing.assert_allclose(found.moments, wanted, atol=0.01 if len(spreads) > 3 else 1e-12)
    assert np.sum(found.weights) == pytest.approx(1.0)


# Public inputs and records


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"covariate_range": ((0, 1),) * 101}, "101 ranges: give 100 or fewer"),
        ({"covariate_range": ((0, 1), (1, 1))}, "the smaller first"),
        ({"shooting_vector_length": (1.0,)}, "length has 1 values, and there are 2"),
        ({"shooting_vector_length": (1.0, -1.0)}, "give a positive number"),
        ({"covariate_spread": ("evenly", "oddly")}, "'oddly': give one of evenly, two groups"),
        ({"transformation": "sqrt"}, "give one of none, log"),
        ({"transformation": ("log", "none"), "covariate_range": ((0, 1), (1, 2))}, "no logarithm"),
        (
            {"footpoint_radius": 10.0, "manifold": geodp.Sphere(2)},
            r"no more than 3\.14159 means anything",
        ),
        ({"manifold": type("Other", (), {"name": "some space"})()}, "some space is none: take"),
    ],
)
def test_public_inputs_are_checked(changes, says):
    with pytest.raises(geodp.DataError, match=says):
        assumed(geodp.Euclidean(3), 2, centre=np.array([0.0, 0.0, 1.0]), **changes)


def test_one_value_of_a_public_input_is_that_of_every_covariate():
    found = assumed(
        geodp.Euclidean(1), 2, shooting_vector_length=1.0, covariate_range=((0.0, 1.0), (0.0, 2.0))
    )
    assert found.shooting_vector_length == (1.0, 1.0)
    assert found.number_of_covariates == 2
    assert found.middles.tolist() == [0.5, 1.0]
    # One of a list is one.
    one = assumed(geodp.Euclidean(1), 1)
    assert one.covariate_range == (10.0, 20.0)
    assert one.shooting_vector_length == 0.6


def test_radii_that_were_left_out_follow_other_inputs():
    """Where others replace them, or the space is another, as if all had been given at once."""
    none = dict.fromkeys(("footpoint_radius", "shooting_vector_length"))
    left, given = assumed(geodp.Sphere(2), 1, **none), dict.fromkeys(none, 0.5)
    assert (left.footpoint_radius, left.wider) == (np.pi, 8.0)
    assert replace(left, subjects=7).support.radii.tolist() == left.support.radii.tolist()
    found = replace(left, **given)
    assert (found.smallest_radius, found.wider, found.usual_radius) == (None, 1.0, 0.5)
    line = replace(left, manifold=geodp.Euclidean(3))
    assert (line.footpoint_radius, line.smallest_radius) == (1e6, pytest.approx(1e-3))
    # What was given stays.
    small = replace(left, smallest_radius=0.1)
    assert (small.wider, replace(small, **given).wider) == pytest.approx((10.0 * np.pi, 5.0))
    with pytest.raises(
        geodp.DataError, match="shooting_vector_length is None: give a positive number"
    ):
        replace(left, footpoint_radius=0.5)


ROWS = [[12.0], [13.0], [np.nan]]


@pytest.mark.parametrize(
    "given", [ROWS, np.array(ROWS), np.array(ROWS)[:, 0], [12.0, 13.0, np.nan]], ids=range(4)
)
def test_one_covariate_may_come_in_rows_of_one(given):
    found = subject_records(assumed(geodp.Euclidean(1), 1, 3), given, np.zeros((3, 1)), ONE_EACH)
    assert found.valid[:, 0].tolist() == [True, True, False]
    np.testing.assert_allclose(found.covariates[:2, 0, 0], [-0.3, -0.2])


def test_records_with_half_of_their_covariates_are_unusable():
    assumptions = assumed(geodp.Euclidean(1), 2, 4)
    x = [[12.0, 13.0], [np.nan, 13.0], [12.0, 99.0], None]
    found = subject_records(assumptions, x, np.zeros((4, 1)), ONE_EACH)
    assert found.valid[:, 0].tolist() == [True, False, True, False]
    np.testing.assert_allclose(found.covariates[:, 0, 1], [-0.2, 0.0, 0.5, 0.0])
    assert geodp.inspect_inputs(assumptions, x, np.zeros((4, 1))).outside.tolist() == [2]
    with pytest.raises(geodp.DataError, match="covariates are missing"):
        subject_records(assumptions, None, np.zeros((4, 1)), ONE_EACH)


# Releases


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


def called(made, names, responses=(), is_geographic=False):
    """What settings say of the names of a release."""
    assumptions, public = made.plan.assumptions, SimpleNamespace(centre=[0.0, 0.0])
    about = {"assumptions": assumptions, "public": public, "is_geographic": is_geographic}
    about["value_words"] = lambda _, value: f"{value:g}"
    return SimpleNamespace(names=names, responses=responses, labels=list, **about)


@pytest.mark.parametrize("names", [[], ["age", "sex"]])
@pytest.mark.parametrize(
    "manifold", [geodp.SPD(2), geodp.SPD(3), geodp.Sphere(2), "latitude_longitude"]
)
def test_figures_have_a_title_a_covariate(manifold, names):
    """Of several covariates one line each; of a mean none."""
    is_map = manifold == "latitude_longitude"
    assumptions = assumed(geodp.Sphere(2) if is_map else manifold, len(names), 300)
    made = geodp.release_geodesic(quick(assumptions), *cohort(assumptions), ONE_EACH)
    settings = called(made, names, is_geographic=is_map)
    svg, caption = picture(made, settings, np.full((1, len(names)), 12.0), 0.95)
    assert ("longitude" in svg) == is_map
    assert all(name in svg for name in names)
    assert "covariate" not in caption or names


@pytest.mark.parametrize("covariates", [1, 2, 3])
def test_subjects_are_where_moments_say(covariates):
    """All over ranges of even covariates, and about the middle of a clump, if noise lets it."""
    spreads = {"covariate_spread": (UNKNOWN,) * covariates}
    plan, few = (quick(assumed(geodp.Euclidean(2), covariates, n, **spreads)) for n in (50000, 50))
    ends, middle = np.full((2, covariates), 0.5), np.zeros((1, covariates))
    ends[1] *= -1.0
    places = np.concatenate([ends, middle])
    even = Covariates.independent((UNKNOWN,) * covariates).moments
    clump = np.append(
        np.zeros(covariates), 0.0025 * np.eye(covariates)[np.triu_indices(covariates)]
    )
    assert has_subjects(plan, even, places).tolist() == [True, True, True]
    # Where noise hides where they are, bands are drawn, and wide.
    assert has_subjects(few, even, places).tolist() == [True, True, True]
    assert has_subjects(plan, clump, places).tolist() == [False, False, True]
    beside = np.eye(covariates)[:1] * [[0.09], [0.14]]
    assert has_subjects(plan, clump, beside).tolist() == [True, covariates > 1]


@pytest.mark.parametrize("manifold", [geodp.SPD(2), geodp.Sphere(2), KendallPlanarShapes(5)])
def test_bands_and_figures_end_where_subjects_do(manifold):
    plan = quick(assumed(manifold, 1))
    made = geodp.release_geodesic(plan, *cohort(plan.assumptions), ONE_EACH)
    assert np.all(np.isfinite(made.band([10.0, 20.0])))
    plan = quick(assumed(manifold, 1, covariate_spread=UNKNOWN))
    made = replace(made, moments=np.array([-0.4, 0.1625]), plan=plan)
    x = np.array([[11.0], [20.0]])
    assert np.isfinite(made.band(x)).tolist() == [True, False]
    # Over where subjects are, and not in their midst alone.
    assert 0.0 < made.error < np.min(made.band([10.5, 11.5]))
    settings = called(made, ["age"], [] if manifold.dtype is complex else ["a", "b", "c"])
    svg, caption = picture(made, settings, x, 0.95)
    assert svg.count("too few subjects here") == 1 or "end where" in caption
    rows = folder.predictions(made, settings, x)
    for row, there, note in zip(rows, [True, False], ["", "too few subjects here"], strict=True):
        _, *numbers, said = row.values()
        assert ({*np.isfinite(numbers)}, said) == ({there}, note)


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
        [radii] = band_radii(manifold, errors[0], state, places, [0.9], together)
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
    rng, held = np.random.default_rng(7), []
    for _ in range(80):
        truth = assumptions.support.radii[:, None] * rng.uniform(-1.0, 1.0, (3, 1))
        x = rng.uniform(10.0, 20.0, (2000, 2))
        truth[0] += assumptions.centre
        y = np.insert(assumptions.places(x), 0, 1.0, axis=1) @ truth
        y += 0.1 * rng.normal(size=y.shape)
        records = subject_records(assumptions, x, y, ONE_EACH)
        drawn = run_plan(made.plan, records, generator_bits(rng))
        each = geodp.Release.of(made.plan, drawn, made.guarantee).coefficients(0.9)
        truth = assumptions.coefficients @ truth
        held.append((each.low <= truth) & (truth <= each.high))
    assert 0.85 < np.mean(held) < 0.96


def test_doubts_say_what_to_change_and_withhold_bands():
    plan = quick(assumed(geodp.Sphere(2), 1))
    looks = ScaleStage(1, share=0.75), FarStage(1)
    data, public = cohort(plan.assumptions), replace(plan.assumptions, residual_scale=None)
    stages = *plan.stages, *looks
    plan = replace(plan, assumptions=public, budget=geodp.PrivacyBudget("4.5"), stages=stages)
    made = geodp.release_geodesic(plan, *data, ONE_EACH)
    assert made.doubts() == []
    assert made.share_far_away < 0.1
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
