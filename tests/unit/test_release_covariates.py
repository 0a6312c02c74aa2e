"""Releases without a covariate and with several: means, and geodesics of several covariates."""

import csv
import re
from dataclasses import replace
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest
import yaml
from cohort import COLUMNS, DIM, NUMBER, SETTINGS

from geodp import (
    SPD,
    Assumptions,
    DataError,
    Euclidean,
    PrivacyBudget,
    PrivateGeodesicRegression,
    Release,
    ReleasePlan,
    Sphere,
    inspect_inputs,
    plan_release,
    release_geodesic,
)
from geodp.samplers.integer_choice import generator_bits
from geodp_release import coordinates
from geodp_release.accounting import CONCENTRATED, PURE, UNITS
from geodp_release.assumptions import ADD_OR_REMOVE
from geodp_release.bands import band_radii, simulated_errors
from geodp_release.cli import main
from geodp_release.contributions import COVARIATE_LATTICE, covariate_sums
from geodp_release.coordinates import ClippingCoordinates
from geodp_release.draw import run_plan
from geodp_release.ledger import Ledger
from geodp_release.moments import (
    LEAST,
    matrix_moments,
    moment_matrix,
    number_of_covariates,
    possible_moments,
)
from geodp_release.planning import run_stages
from geodp_release.simulation import (
    EVEN,
    EVENLY,
    SQUARES,
    TWO_GROUPS,
    UNKNOWN,
    Covariates,
    FlatReleases,
    level_of,
)
from geodp_release.stages import CountStage, MomentsStage, NoisyStep
from geodp_release.stages.moments import EXPECTED, WIDER, moment_weights, moments_change
from geodp_release.stages.step import clean_means
from geodp_release.subjects import ONE_EACH, SubjectRecords, subject_records

SPREADS = {0: (), 2: (EVENLY, TWO_GROUPS), 3: (EVENLY, TWO_GROUPS, TWO_GROUPS)}


def assumed(manifold, covariates, subjects=500, scale=0.1, **others):
    spreads = others.pop("spreads", (EVENLY,) * covariates)
    return Assumptions(
        manifold=manifold,
        centre=manifold.random_point(np.random.default_rng(0)),
        footpoint_radius=0.5,
        shooting_vector_length=(0.6,) * covariates,
        covariate_range=((10.0, 20.0),) * covariates,
        residual_scale=scale,
        subjects=subjects,
        covariate_spread=spreads,
        **others,
    )


def places_of(rng, spreads, number):
    """Covariates (number, k) from -1/2 to 1/2, spread as assumed."""
    x = rng.uniform(-0.5, 0.5, (number, len(spreads)))
    is_group = np.array([spread == TWO_GROUPS for spread in spreads], dtype=bool)
    x[:, is_group] = np.sign(x[:, is_group]) / 2.0
    return x


def cohort(assumptions, rng):
    """A true state, covariates and points of as many subjects as assumed."""
    manifold = assumptions.manifold
    frame = manifold.frame(assumptions.centre)

    def some(radius):
        direction = rng.normal(size=manifold.dim)
        return manifold.vector(frame, radius * rng.random() * direction / np.linalg.norm(direction))

    footpoint = manifold.exp(assumptions.centre, some(assumptions.footpoint_radius))
    vectors = [
        manifold.transport_to(assumptions.centre, footpoint, some(length))
        for length in np.ravel(assumptions.shooting_vector_length)
    ]
    x = places_of(rng, assumptions.spreads, assumptions.subjects)
    clean = manifold.ends(footpoint, vectors, x)
    noise = rng.normal(size=(len(x), manifold.dim))
    noise = manifold.vector(manifold.frame(clean), assumptions.residual_scale * noise)
    return np.stack([footpoint, *vectors]), x, manifold.exp(clean, noise)


# --- Accuracy ---

CASES = {
    "mean on S^2": (Sphere(2), (), "1", PURE),
    "mean on SPD(2), rho": (SPD(2), (), "0.1", CONCENTRATED),
    "two on S^2": (Sphere(2), (EVENLY, EVENLY), "2", PURE),
    "three on SPD(2)": (SPD(2), SPREADS[3], "3", PURE),
    "three on SPD(2), rho": (SPD(2), SPREADS[3], "0.5", CONCENTRATED),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", CASES)
def test_errors_and_bands_are_those_of_the_plan(case):
    manifold, spreads, amount, unit = CASES[case]
    budget = PrivacyBudget(amount, unit, "1e-6" if unit == CONCENTRATED else None)
    assumptions = assumed(manifold, len(spreads), 1000, spreads=spreads)
    plan = plan_release(assumptions, budget, work=1 << 19)
    errors, rng = simulated_errors(plan), np.random.default_rng(3)
    squares, held = [], []
    for _ in range(40):
        true, x, points = cohort(assumptions, rng)
        records = subject_records(assumptions, 15.0 + 10.0 * x, points, ONE_EACH)
        found = run_plan(plan, records, generator_bits(rng)).state
        some = x[:40]
        away = manifold.dist(
            manifold.ends(found[0], found[1:], some), manifold.ends(true[0], true[1:], some)
        )
        squares.append(np.mean(away**2))
        held.append(away[0] <= band_radii(manifold, errors, found, some[:1], [0.9])[0])
    # Of 40 releases: standard errors are some 10 per cent of the error, and 5 points.
    assert np.sqrt(np.mean(squares)) == pytest.approx(plan.error, rel=0.35)
    assert 0.75 <= np.mean(held) <= 1.0
    assert plan.error < 0.3 * plan.error_without_data


def test_the_simulated_clip_is_that_of_contributions():
    """With several covariates contributions are longer than residuals: their mean, as simulated."""
    manifold, spreads = Euclidean(2), SPREADS[3]
    assumptions = assumed(manifold, 3, 4000, spreads=spreads)
    rng = np.random.default_rng(5)
    start = FlatReleases.start(assumptions, 8, rng)
    level = level_of(0.3, start.typical)
    clean = clean_means(start, level)
    clip = start.typical * 2.0 ** (level / 4.0)
    coordinates_ = ClippingCoordinates(3)
    for release in range(8):
        x = places_of(rng, spreads, 40_000)
        error = start.errors[release]
        residual = error[0] + x @ error[1:]
        residual += assumptions.residual_scale * rng.normal(size=residual.shape)
        each = np.concatenate([residual[:, None], x[..., None] * residual[:, None]], axis=1)
        lengths = coordinates_.norm(coordinates_.of(each))
        each *= np.minimum(1.0, clip / lengths)[:, None, None]
        assert np.abs(np.mean(each, axis=0) - clean[release]).max() < 0.05 * np.linalg.norm(error)


def unequal_groups(rng, number):
    x = rng.uniform(-0.5, 0.5, (number, 3))
    x[:, 1:] = np.where(rng.random((number, 2)) < 0.75, -0.5, 0.5)
    return x


def correlated(rng, number):
    x = places_of(rng, SPREADS[3], number)
    x[:, 2] = np.where(rng.random(number) < 0.8, x[:, 1], -x[:, 1])
    return x


@pytest.mark.slow
@pytest.mark.parametrize("draw_places", [unequal_groups, correlated])
def test_covariates_unlike_the_assumed_ones_are_seen_by_their_moments(draw_places):
    """Groups of other sizes, or that go together: moments come first, and bands use them."""
    manifold, assumptions = Euclidean(2), assumed(Euclidean(2), 3, 500, spreads=SPREADS[3])
    plan = plan_release(assumptions, PrivacyBudget("3"))
    assert isinstance(plan.stages[0], MomentsStage)
    rng, squares, held = np.random.default_rng(4), [], []
    for _ in range(30):
        true, x, _ = cohort(assumptions, rng)
        x = draw_places(rng, len(x))
        clean = manifold.ends(true[0], true[1:], x)
        points = clean + assumptions.residual_scale * rng.normal(size=clean.shape)
        found = release_geodesic(plan, 15.0 + 10.0 * x, points, ONE_EACH)
        some = 15.0 + 10.0 * x[:20]
        away = manifold.dist(found.predict(some), clean[:20])
        squares.append(np.mean(away**2))
        held.append(np.mean(away[:1] <= found.band(some[:1], 0.95)))
    # Some releases in a hundred fail, as the plan does not foresee; see docs/releases.md.
    assert np.sqrt(np.median(squares)) < 1.5 * plan.error
    assert np.mean(held) >= 0.75


def test_plans_state_errors_of_means_and_of_several_covariates():
    """Without privacy that of least squares, without data that of the centre, by hand."""
    for spreads, squares in (((), 0.0), (SPREADS[3], 1.0 / 12.0 + 2.0 / 4.0)):
        k = len(spreads)
        plan = plan_release(assumed(Euclidean(2), k, 1000, spreads=spreads), PrivacyBudget("3"))
        assert plan.error_without_privacy == pytest.approx(0.1 * np.sqrt(2.0 * (1 + k) / 1000))
        # Lengths are uniform up to 0.5 and 0.6.
        without_data = np.sqrt(0.25 / 3.0 + squares * 0.36 / 3.0)
        assert plan.error_without_data == pytest.approx(without_data)


# --- Noise ---


@pytest.mark.parametrize("unit", UNITS)
@pytest.mark.parametrize("covariates", [0, 1, 2, 3])
def test_noise_has_the_variances_that_are_planned_with(covariates, unit):
    found, dim, draws = ClippingCoordinates(covariates), 2, 600
    planned = found.variances(found.noise(unit, 1 << 20, 0.5), dim)
    rng = np.random.default_rng(1)
    zero = [[0] * dim] * (1 + covariates)
    bits = (generator_bits(np.random.default_rng([2, k])) for k in range(draws))
    noise = found.noise(unit, 1 << 20, Fraction(1, 2))
    drawn = np.array([found.noisy(zero, each, noise) for each in bits])
    simulated = found.simulated(rng, noise, (20_000, 1 + covariates, dim))
    for block, variance in zip(np.var(simulated, axis=0), planned, strict=True):
        np.testing.assert_allclose(block, variance, rtol=0.12)
    np.testing.assert_allclose(np.mean(np.var(drawn, axis=0), axis=-1), planned, rtol=0.3)
    if covariates > 1 and unit == PURE:
        # One Gamma length for all blocks, after weighting.
        simulated[:, 1:] *= float(coordinates.WEIGHT)
        lengths, number = np.linalg.norm(simulated, axis=(1, 2)), dim * (1 + covariates)
        assert np.mean(lengths) == pytest.approx(number * (1 << 21), rel=0.02)
        assert np.var(lengths) == pytest.approx(number * (1 << 21) ** 2, rel=0.06)


# --- Moments ---


def sums_of(covariates):
    """Sums of single subjects with their covariates (records, k), in the units of the noise."""
    covariates = np.atleast_2d(covariates)
    number = len(covariates)
    records = SubjectRecords(
        covariates[None], np.zeros((1, number, 1)), np.ones((1, number), bool), np.array([number])
    )
    first, second = covariate_sums(records)
    whole = np.array(first) / COVARIATE_LATTICE, np.array(second) / COVARIATE_LATTICE**2
    return moment_weights(covariates.shape[-1]) * np.concatenate(whole)


@pytest.mark.parametrize("covariates", [2, 3, 4])
def test_sums_of_moments_change_by_their_bound_at_most(covariates):
    rng = np.random.default_rng(1)
    subjects = [
        sums_of(rng.choice([-0.5, 0.5], size=(rng.integers(1, 3), covariates))) for _ in range(150)
    ] + [sums_of(rng.uniform(-0.5, 0.5, size=covariates)) for _ in range(50)]
    subjects = np.array(subjects)
    largest = {
        1: np.max(np.linalg.norm(subjects, axis=-1)),
        2: np.max(np.linalg.norm(subjects[:, None] - subjects, axis=-1)),
    }
    for changes, found in largest.items():
        assert found <= moments_change(covariates, changes)
        # Corners that are orthogonal are the worst; there are none in three dimensions.
        assert found > (0.9 if covariates == 3 else 0.95) * moments_change(covariates, changes)


def test_matrices_of_moments():
    rng = np.random.default_rng(1)
    x = rng.uniform(-0.5, 0.5, (50, 3))
    rows = np.concatenate([np.ones((50, 1)), x], axis=1)
    matrix = rows.T @ rows / 50
    moments = matrix_moments(matrix)
    assert number_of_covariates(moments) == 3
    np.testing.assert_allclose(moment_matrix(moments), matrix)
    np.testing.assert_allclose(possible_moments(moments), moments, atol=1e-12)
    equal_groups = np.array([0.0, 0.0, 0.25, 0.0, 0.25])
    np.testing.assert_allclose(possible_moments(equal_groups), equal_groups, atol=1e-12)
    far = possible_moments(moments + rng.normal(size=(20, 9)))
    assert np.all(np.abs(far[:, :3]) <= 0.5)
    assert np.all(np.abs(far[:, 3:]) <= 0.25)
    assert np.shape(moment_matrix(np.zeros((4, 0)))) == (4, 1, 1)


@pytest.mark.parametrize("covariates", [1, 2, 3, 5])
@pytest.mark.parametrize("noise", [0.02, 0.1, 1.0])
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


@pytest.mark.parametrize("spreads", [(UNKNOWN,), (TWO_GROUPS,), (TWO_GROUPS, EVENLY)])
def test_bands_are_finite_where_covariates_are_constant(spreads):
    """Also those of a file, whose moments need not be what a release writes."""
    k = len(spreads)
    assumptions = assumed(Euclidean(2), k, spreads=spreads)
    plan = plan_release(assumptions, PrivacyBudget("8"), work=1 << 20)
    state = np.array(assumptions.support.origin)
    places = np.array([[0.0] * k, [0.5] * k])
    constant = np.array([0.5] * k + [0.25] * (k * (k + 1) // 2))
    for moments in (constant, possible_moments(constant), np.append(constant[:-1], 0.1)):
        radii = band_radii(Euclidean(2), simulated_errors(plan, moments), state, places)
        assert np.all(radii > 0.0)
        # No slope is known, and no residual is longer than the support is wide.
        assert np.all(radii < 10.0)


@pytest.mark.parametrize("unit", UNITS)
def test_moments_of_several_covariates_are_near_what_is_true_or_assumed(unit):
    assumptions = assumed(Euclidean(1), 2)
    expected = Covariates.independent(assumptions.spreads).moments
    stage, true = MomentsStage(1, unit), np.array([0.2, -0.1, 0.1, 0.01, 0.08])
    many = stage.moments(true, 1e7, assumptions)
    np.testing.assert_allclose(many, true, atol=1e-3)
    few = stage.moments(true, 1.0, assumptions)
    np.testing.assert_allclose(few, expected, atol=0.02)


@pytest.mark.parametrize("unit", UNITS)
def test_what_moments_may_be_is_what_a_prior_and_noise_say(unit):
    """Regression of true moments on released ones, of many draws from the wider expectations."""
    spreads, number, rng = (UNKNOWN,), 200, np.random.default_rng(5)
    assumptions = assumed(Euclidean(1), 1, number, spreads=spreads)
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


@pytest.mark.parametrize("moments", [(0.0, 1 / 12), (-0.2, 0.07), (0.3, 0.11), (0.0, 0.24), None])
def test_a_distribution_with_given_moments_has_them(moments):
    start = EVEN
    if moments is None:
        x = unequal_groups(np.random.default_rng(1), 500)
        rows = np.concatenate([np.ones((500, 1)), x], axis=1)
        start, moments = Covariates.independent(SPREADS[3]), matrix_moments(rows.T @ rows / 500)
    found = start.with_moments(np.array(moments))
    np.testing.assert_allclose(found.moments, moments, atol=1e-9 if len(moments) == 2 else 1e-12)
    assert len(moments) > 2 or np.all(np.abs(found.nodes) <= 0.5)


def test_a_plan_says_what_clustered_covariates_cost():
    plan = plan_release(
        Assumptions(Euclidean(2), np.zeros(2), 1.0, 1.0, (0.0, 1.0), 0.1, 200), PrivacyBudget("1")
    )
    clustered = Covariates.independent((UNKNOWN,), clustered=True)
    start = FlatReleases.start(plan.assumptions, 4000, np.random.default_rng(1))
    found = run_stages(replace(start, covariates=clustered), plan.stages, np.random.default_rng(2))
    assert plan.error_if_clustered == pytest.approx(np.sqrt(found.curve), rel=0.1)
    assert plan.error_if_clustered > 1.2 * plan.error


@pytest.mark.parametrize(
    "spreads", [(), (EVENLY,), (UNKNOWN,), SPREADS[2], SPREADS[3], (EVENLY,) * 5]
)
def test_nodes_have_the_moments_of_their_distribution(spreads):
    found = Covariates.independent(spreads)
    squares = [SQUARES[spread] for spread in spreads]
    wanted = matrix_moments(np.diag([1.0, *squares]))
    np.testing.assert_allclose(found.moments, wanted, atol=0.01 if len(spreads) > 3 else 1e-12)
    assert np.sum(found.weights) == pytest.approx(1.0)


@pytest.mark.parametrize("epsilon", ["1", "4"])
def test_an_unknown_spread_is_measured_before_steps(epsilon):
    """With clustered covariates, which steps for even ones overshoot, predictions are nearer."""
    covariates, errors, planned = Covariates.beta(1.0, 4.0), {}, {}
    for spread in (EVENLY, UNKNOWN):
        assumptions = Assumptions(
            Euclidean(4), np.zeros(4), 2.0, 4.0, (0.0, 1.0), 1.0, 100, covariate_spread=spread
        )
        plan = plan_release(assumptions, PrivacyBudget(epsilon))
        assert isinstance(plan.stages[0], MomentsStage) == (spread == UNKNOWN)
        rng = np.random.default_rng(4)
        start = replace(FlatReleases.start(assumptions, 2000, rng), covariates=covariates)
        found = run_stages(start, plan.stages, rng).errors
        at = [found[:, 0] + x * found[:, 1] for (x,) in covariates.nodes]
        errors[spread] = covariates.weights @ [np.mean(each**2) for each in at]
        planned[spread] = plan.error
    assert errors[UNKNOWN] < {"1": 0.5, "4": 0.15}[epsilon] * errors[EVENLY]
    # What it costs where covariates are even.
    assert planned[EVENLY] < planned[UNKNOWN] < 1.1 * planned[EVENLY]


# --- Public inputs ---


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"covariate_range": ((0, 1),) * 101}, "101 ranges: give 100 or fewer"),
        ({"covariate_range": ((0, 1), (1, 1))}, "the smaller first"),
        ({"shooting_vector_length": (1.0,)}, "length has 1 values, and there are 2"),
        ({"shooting_vector_length": (1.0, -1.0)}, "give a positive number"),
        ({"covariate_spread": ("evenly", "oddly")}, "'oddly': give one of evenly, two groups"),
        ({"transformation": ("log", "none"), "covariate_range": ((0, 1), (1, 2))}, "no logarithm"),
    ],
)
def test_inputs_of_several_covariates_are_checked(changes, says):
    given = {
        "manifold": Euclidean(1),
        "centre": [0.0],
        "footpoint_radius": 1.0,
        "shooting_vector_length": 1.0,
        "covariate_range": ((0, 1), (0, 2)),
        "residual_scale": 0.1,
        "subjects": 10,
    }
    with pytest.raises(DataError, match=says):
        Assumptions(**given | changes)
    found = Assumptions(**given)
    assert found.shooting_vector_length == (1.0, 1.0)
    assert found.number_of_covariates == 2
    assert found.middles.tolist() == [0.5, 1.0]
    # One of a list is one.
    one = Assumptions(**given | {"covariate_range": [(0, 1)]})
    assert one.covariate_range == (0.0, 1.0)
    assert one.shooting_vector_length == 1.0


def test_one_covariate_may_come_in_rows_of_one():
    """As a list of rows, which an array of a column is, too."""
    assumptions = assumed(Euclidean(1), 1, 3)
    rows = [[12.0], [13.0], [np.nan]]
    for given in (rows, np.array(rows), np.array(rows)[:, 0], [12.0, 13.0, np.nan]):
        found = subject_records(assumptions, given, np.zeros((3, 1)), ONE_EACH)
        assert found.valid[:, 0].tolist() == [True, True, False]
        np.testing.assert_allclose(found.covariates[:2, 0, 0], [-0.3, -0.2])


def test_records_with_half_of_their_covariates_are_unusable():
    assumptions = assumed(Euclidean(1), 2, 4)
    x = [[12.0, 13.0], [np.nan, 13.0], [12.0, 99.0], None]
    found = subject_records(assumptions, x, np.zeros((4, 1)), ONE_EACH)
    assert found.valid[:, 0].tolist() == [True, False, True, False]
    np.testing.assert_allclose(found.covariates[:, 0, 1], [-0.2, 0.0, 0.5, 0.0])
    looked = inspect_inputs(assumptions, x, np.zeros((4, 1)))
    assert looked.outside.tolist() == [2]
    with pytest.raises(DataError, match="covariates are missing"):
        subject_records(assumptions, None, np.zeros((4, 1)), ONE_EACH)


# --- Releases ---


def quick(assumptions):
    """A plan by hand, whose predicted errors mean nothing."""
    prior = (0.1,) * (1 + assumptions.number_of_covariates)
    stages = [NoisyStep(1, clip=0.5, prior=prior), NoisyStep(1, clip=0.2, prior=prior)]
    if assumptions.number_of_covariates:
        stages.insert(0, MomentsStage(Fraction(1, 2)))
    return ReleasePlan(assumptions, PrivacyBudget("2.5"), tuple(stages), 0.1, 0.1, 0.3)


@pytest.mark.parametrize("covariates", [0, 2])
def test_releases_are_saved_loaded_and_printed(covariates, tmp_path):
    assumptions = assumed(Sphere(2), covariates, 300)
    _, x, points = cohort(assumptions, np.random.default_rng(1))
    made = release_geodesic(
        quick(assumptions), 15.0 + 10.0 * x if covariates else None, points, ONE_EACH
    )
    made.save(tmp_path / "release.json")
    found = Release.load(tmp_path / "release.json")
    np.testing.assert_array_equal(found.shooting_vectors, made.shooting_vectors)
    assert found.shooting_vectors.shape == (covariates, 3)
    assert found.plan.assumptions.covariate_range == assumptions.covariate_range
    assert str(found) == str(made)
    if covariates:
        assert "Geodesics on sphere S^2" in str(made)
        assert str(made).count("Shooting vector, from covariate 10 to 20") == 2
        assert found.predict([[15.0, 15.0]])[0] == pytest.approx(found.footpoint)
        with pytest.raises(DataError, match="give rows of 2, one a prediction"):
            found.predict([15.0])
        with pytest.raises(ValueError, match="too many values"):
            _ = found.shooting_vector
    else:
        assert "A mean on sphere S^2" in str(made)
        np.testing.assert_allclose(found.predict(), [found.footpoint], rtol=0.0, atol=1e-14)
        assert found.band().shape == (1,)
        # Covariates may be left out, and an empty table is no other thing.
        several = found.predict(np.zeros((3, 0)))
        np.testing.assert_allclose(several, [found.footpoint] * 3, rtol=0.0, atol=1e-14)


def test_a_noisy_count_goes_with_means():
    assumptions = assumed(Sphere(2), 0, 300, neighbours=ADD_OR_REMOVE)
    stages = CountStage(Fraction(1, 4)), NoisyStep(1, clip=0.5, prior=(0.1,))
    plan = ReleasePlan(assumptions, PrivacyBudget("2"), stages, 1.0, 1.0, 1.0)
    rng = np.random.default_rng(1)
    records = subject_records(assumptions, None, cohort(assumptions, rng)[2], ONE_EACH)
    found = run_plan(plan, records, generator_bits(rng))
    assert 300 != found.number == pytest.approx(300, abs=100)
    assert found.moments.shape == (0,)


def test_means_are_divided_by_the_number_of_subjects_that_was_released():
    """Also in simulations, where a noisy number is one at least."""
    assumptions = assumed(Sphere(2), 1, 20, neighbours=ADD_OR_REMOVE)
    rng = np.random.default_rng(1)
    _, x, points = cohort(assumptions, rng)
    records = subject_records(assumptions, 15.0 + 10.0 * x, points, ONE_EACH)
    state, step = assumptions.support.origin, NoisyStep(1, clip=0.5)
    one, two = (
        step.noisy_means(
            assumptions, records, state, each, generator_bits(np.random.default_rng(2))
        )
        for each in (20.0, 40.0)
    )
    np.testing.assert_allclose(two, 0.5 * one)
    start = FlatReleases.start(assumptions, 400, rng)
    counted = CountStage(Fraction(1, 100)).simulate(start, rng).counted
    assert np.max(counted) == 20.0
    assert np.min(counted) < 0.5


def test_correlated_covariates_are_learnt_from_moments():
    """Where covariates go together steps overshoot, unless a stage has told how they do."""
    assumptions = assumed(Euclidean(1), 2, 20_000)
    rng = np.random.default_rng(1)
    x = rng.uniform(-0.5, 0.5, (20_000, 1)) * [[1.0, 1.0]] + 0.05 * rng.normal(size=(20_000, 2))
    x = np.clip(x, -0.5, 0.5)
    points = x @ [[0.3], [0.2]] + 0.1 * rng.normal(size=(20_000, 1))
    records = subject_records(assumptions, 15.0 + 10.0 * x, points, ONE_EACH)
    step = NoisyStep(5, clip=1.0, prior=(0.1, 0.1, 0.1))

    def error(*stages):
        plan = ReleasePlan(assumptions, PrivacyBudget("60"), stages, 1.0, 1.0, 1.0)
        state = run_plan(plan, records, generator_bits(np.random.default_rng(2))).state
        return np.sqrt(np.mean((state[0] + x @ state[1:] - x @ [[0.3], [0.2]]) ** 2))

    with_moments, without = error(MomentsStage(5), step, step), error(step, step)
    assert with_moments < 0.01
    assert without > 3.0 * with_moments


# --- The command and the estimator ---


def settings_with(covariates):
    """Settings of the cohort's release, of its mean or with a second covariate."""
    settings = yaml.safe_load(yaml.safe_dump(SETTINGS))
    settings["budget"] = {"epsilon": "3"}
    public = settings["public"]
    if covariates == 0:
        del settings["covariate"], settings["data"]["covariate"]
        del public["covariate_range"], public["shooting_vector_length"]
    else:
        settings["covariate"] = ["age", "sex"]
        settings["data"]["covariate"] = ["age", "sex"]
        public["covariate_range"] = [[50, 90], [0, 1]]
        public["covariate_spread"] = ["evenly", "two groups"]
    return settings


@pytest.fixture
def holder(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(11)
    ages, sexes = rng.uniform(51.0, 89.0, NUMBER), rng.integers(0, 2, NUMBER)
    points = 0.2 + np.outer((ages - 70.0) / 40.0, np.full(DIM, 0.1)) + 0.2 * sexes[:, None]
    points += 0.1 * rng.normal(size=points.shape)
    with open("mine.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "age", "sex", *COLUMNS])
        for index, row in enumerate(zip(ages, sexes, points, strict=True)):
            age, sex, point = row
            writer.writerow([f"patient{index}", f"{age:.6f}", sex, *(f"{x:.9f}" for x in point)])
    Ledger.create("mine.ledger", "3", "epsilon")
    return tmp_path


@pytest.mark.parametrize("covariates", [0, 2])
def test_the_command_releases_means_and_several_covariates(covariates, holder, capsys):
    Path("mine.yaml").write_text(yaml.safe_dump(settings_with(covariates)))
    assert main(["plan", "mine.yaml"]) == 0
    shown, what = capsys.readouterr().out, "a mean" if covariates == 0 else "geodesics"
    assert f"trial: {what} on Euclidean R^8" in shown
    assert f"for {what} drawn" in shown
    assert main(["check", "mine.yaml"]) == 0
    assert f"All {NUMBER} records would be used as they are." in capsys.readouterr().out
    assert main(["release", "mine.yaml"]) == 0
    out = Path("out/trial")
    release = Release.load(out / "release.json")
    with open(out / "predictions.csv", newline="") as file:
        rows = list(csv.DictReader(file))
    predicted = [[float(row[f"coordinate_{k + 1}"]) for k in range(DIM)] for row in rows]
    page = (out / "index.html").read_text()
    if covariates == 0:
        assert len(rows) == 1
        assert "covariate" not in " ".join(rows[0])
        assert "trial: a mean released with differential privacy" in page
        # Without a covariate nothing is said of one.
        assert "range of the covariate" not in page
        assert "sex" not in page
        # The mean of ages and sexes: 0.2 + 0.1.
        np.testing.assert_allclose(predicted, 0.3, atol=0.1)
        np.testing.assert_array_equal(release.predict(), predicted)
        return
    at = np.array([[float(row["covariate_age"]), float(row["covariate_sex"])] for row in rows])
    # The first of the two groups and the middle of the range; then the ends of each.
    assert at.tolist() == [[70, 0], [50, 0], [90, 0], [70, 1]]
    np.testing.assert_array_equal(release.predict(at), predicted)
    assert "two covariates" not in page
    assert "on 2 covariates (age, sex)" in page
    assert re.search(r"From sex 0 to 1 the released geodesic has length 0\.\d", page)
    assert '<th class="number">sex</th>' in page
    # From one group to the other coordinates grow by 0.2.
    first, *_, second = np.array(predicted)
    assert np.mean(second - first) == pytest.approx(0.2, abs=0.1)


@pytest.mark.parametrize(
    ("changes", "says"),
    [
        ({"data": {"covariate": "age"}}, "it names 1 columns, and public.covariate_range has 2"),
        ({"covariate": ["age"]}, "it has 1 names, and public.covariate_range 2 ranges"),
        ({"predictions": [60, 70]}, "it has 1 values, and there are 2 covariates"),
        ({"predictions": [[60, 2]]}, "2 is outside covariate_range, 0 to 1"),
        ({"data": {"covariate": ["age", "c1"]}}, "column c1 of a point is the covariate too"),
        ({"data": {"covariate": ["age", "age"]}}, "age is named twice, or is the subject"),
        ({"data": {"covariate": ["age", "who"]}}, "who is named twice, or is the subject"),
        ({"public": {"shooting_vector_length": None}}, "shooting_vector_length is missing"),
        (
            {"data": {"source": "simulated outlines", "number": 400}},
            "simulated outlines have one covariate",
        ),
        ({"data": {"covariate": ["age", "height"]}}, "there is no column height"),
        ({"public": {"covariate_spread": "even"}}, "covariate_spread"),
        ({"public": {"shooting_vector_length": [1.0]}}, "shooting_vector_length has 1 values"),
    ],
)
def test_settings_of_several_covariates_are_checked(changes, says, holder, capsys):
    settings = settings_with(2)
    for key, value in changes.items():
        is_part = isinstance(value, dict) and "source" not in value
        settings[key] = settings[key] | value if is_part else value
    Path("mine.yaml").write_text(yaml.safe_dump(settings))
    assert main(["release", "mine.yaml"]) == 2
    assert says in capsys.readouterr().err
    assert str(Ledger.open("mine.ledger").spent) == "0"


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("covariate", "age"),
        ("predictions", [[]]),
        ("public.shooting_vector_length", 0.2),
        ("public.covariate_spread", "two groups"),
        ("public.transformation", "log"),
    ],
)
def test_what_a_mean_has_no_use_for_is_refused(key, value, holder, capsys):
    settings = settings_with(0)
    *section, name = key.split(".")
    (settings[section[0]] if section else settings)[name] = value
    Path("mine.yaml").write_text(yaml.safe_dump(settings))
    assert main(["release", "mine.yaml"]) == 2
    assert f"key {key}: a mean has no covariate: remove it" in capsys.readouterr().err
    assert str(Ledger.open("mine.ledger").spent) == "0"


def test_figures_of_matrices_and_shapes_have_a_title_a_covariate(tmp_path):
    """Of several covariates one line each; of a mean none."""
    from geodp_release.pictures import picture

    for manifold in (SPD(2), Sphere(2)):
        for covariates, names in ((0, []), (2, ["age", "sex"])):
            assumptions = assumed(manifold, covariates, 300)
            _, x, points = cohort(assumptions, np.random.default_rng(1))
            made = release_geodesic(quick(assumptions), 15.0 + 10.0 * x, points, ONE_EACH)
            at = np.full((1, covariates), 12.0)
            svg, caption = picture(made, at, 0.95, names)
            assert all(name in svg for name in names)
            assert "covariate" not in caption or covariates


def test_the_estimator_takes_several_columns():
    rng = np.random.default_rng(1)
    X = rng.uniform(0.0, 1.0, (3000, 2))
    y = X @ [[1.0, 0.0, 2.0], [0.0, -1.0, 1.0]] + 0.1 * rng.normal(size=(3000, 3))
    found = PrivateGeodesicRegression(
        epsilon="5",
        manifold=Euclidean(3),
        centre=np.zeros(3),
        footpoint_radius=3.0,
        shooting_vector_length=3.0,
        covariate_range=((0.0, 1.0), (0.0, 1.0)),
        residual_scale=0.1,
        subjects=3000,
        neighbours="replace one subject",
        unit=ONE_EACH,
    ).fit(X, y)
    assert found.n_features_in_ == 2
    assert found.shooting_vectors_.shape == (2, 3)
    assert found.score(X, y) > 0.9
    assert np.isnan(found.predict([[0.5, np.nan]])).all()
    with pytest.raises(ValueError, match="3 features"):
        found.predict([[0.5, 0.5, 0.5]])
    with pytest.raises(DataError, match="X has 3 columns"):
        found.fit(np.ones((3000, 3)), y)


def test_simulated_errors_of_a_mean_are_those_of_a_mean():
    """Without noise to speak of the error is that of the sample mean."""
    assumptions = assumed(Euclidean(3), 0, 100)
    stages = (NoisyStep(1e6, clip=9.0, prior=(1.0,)),)
    plan = ReleasePlan(assumptions, PrivacyBudget("1e6"), stages, 1.0, 1.0, 1.0)
    errors = simulated_errors(plan)
    assert errors.shape[1:] == (1, 3)
    assert np.mean(np.sum(errors**2, axis=-1)) == pytest.approx(0.01 * 3.0 / 100.0, rel=0.2)
    start = FlatReleases.start(assumptions, 100, np.random.default_rng(1))
    found = run_stages(start, stages, np.random.default_rng(2))
    assert found.curve == pytest.approx(0.01 * 3.0 / 100.0, rel=0.1)
