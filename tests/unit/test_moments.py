"""Moments of covariates: as released, as planned with, and the coordinates they make."""

from fractions import Fraction

import numpy as np
import pytest
from scipy.linalg import block_diag
from test_contributions import LIMIT, RANGE, grouped
from test_release_covariates import assumed, cohort

import geodp
from geodp import Sphere
from geodp.samplers.integer_choice import generator_bits
from geodp_release.promise.budget import PURE, UNITS
from geodp_release.promise.public_inputs import EVENLY, SQUARES, TWO_GROUPS, UNKNOWN
from geodp_release.run import covariate_moments as cm
from geodp_release.run.clipping_coordinates import ClippingCoordinates, noise_of
from geodp_release.run.contributions import COVARIATE_LATTICE, covariate_sums
from geodp_release.run.subjects import ONE_EACH, SubjectRecords, subject_records
from geodp_release.stages import MomentsStage
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.draw import Released
from geodp_release.stages.moments import EXPECTED, WIDER

THREE = (EVENLY, TWO_GROUPS, TWO_GROUPS)
EVEN = Covariates.independent((EVENLY,))


def test_coordinates_are_about_where_subjects_are():
    """Windows end with the range, and covariates that go together are taken apart."""
    for mean, deviation, low, high in ((0.4, 0.2, 0.05, 0.5), (-0.1, 0.04, -0.17, -0.03)):
        found = ClippingCoordinates.about(np.array([mean, mean**2 + deviation**2]))
        each = found.of(np.array([[[1.0], [x]] for x in (low, 0.5 * (low + high), high)]))
        # Of a residual of length one only one end is left at the ends of the window.
        np.testing.assert_allclose(each[..., 0], [[0.0, 1.0], [0.5, 0.5], [1.0, 0.0]], atol=1e-3)
    mean, covariance = np.array([0.1, -0.2]), 0.04 * np.array([[1.0, 0.8], [0.8, 1.0]])
    matrix = np.outer([1.0, *mean], [1.0, *mean]) + block_diag(0.0, covariance)
    standard = ClippingCoordinates.about(cm.matrix_moments(matrix)).standard
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


def sample_moments(x):
    rows = np.concatenate([np.ones((len(x), 1)), x], axis=1)
    return cm.matrix_moments(rows.T @ rows / len(x))


@pytest.mark.parametrize("covariates", [1, 2, 5])
@pytest.mark.parametrize("noise", [0.02, 1.0])
def test_possible_moments_leave_every_covariate_a_variance(covariates, noise):
    """Also where all subjects are in one corner, and whatever the noise is."""
    products = covariates * (covariates + 1) // 2
    corner = np.array([0.5] * covariates + [0.25] * products)
    drawn = np.random.default_rng(1).normal(size=(2000, len(corner)))
    moments = cm.possible_moments(corner + noise * drawn)
    np.testing.assert_allclose(cm.possible_moments(moments), moments, atol=1e-12)
    found = cm.moment_matrix(moments)
    means = found[..., 0, 1:]
    left = found[..., 1:, 1:] - means[..., None] * means[..., None, :]
    assert np.linalg.eigvalsh(left).min() > (1.0 - 1e-9) * cm.LEAST
    assert np.all(np.abs(found) <= np.outer(*[[1.0] + [0.5] * covariates] * 2))


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
    wanted = cm.matrix_moments(np.diag([1.0, *(SQUARES[spread] for spread in spreads)]))
    np.testing.assert_allclose(found.moments, wanted, atol=0.01 if len(spreads) > 3 else 1e-12)
    assert np.sum(found.weights) == pytest.approx(1.0)


def test_covariate_sums_are_additive_sums_of_means():
    """Bit by bit, whatever the order."""
    records = grouped(
        assumed(Sphere(2), 1, 300, records_per_subject=LIMIT, covariate_range=(RANGE,)), 14
    )
    whole = np.array(covariate_sums(records), dtype=object)
    for total, power in zip(whole, (1, 2), strict=True):
        assert type(total[0]) is int
        means = np.sum(records.covariates[..., 0] ** power, axis=1) / records.counts
        # Each of 300 subjects is rounded by less than two steps of the lattice.
        found = total[0] / COVARIATE_LATTICE**power
        assert found == pytest.approx(means.sum(), abs=600 / COVARIATE_LATTICE)
    order = np.random.default_rng(15).permutation(300)
    parts = [covariate_sums(records.take(part)) for part in (order[:150], order[150:])]
    assert np.all(np.sum(np.array(parts, dtype=object), axis=0) == whole)


HALF = COVARIATE_LATTICE // 2


@pytest.mark.parametrize(
    ("steps", "first", "second"),
    [
        # Covariates beyond the range are clipped as integers, whatever scaling did to them.
        ([0.9 * COVARIATE_LATTICE], HALF, HALF**2),
        ([-3.0 * COVARIATE_LATTICE], -HALF, HALF**2),
        # Parts of a step are left out towards zero: those of a covariate, and those of a mean.
        ([4.7], 4, 16),
        ([-4.7], -4, 16),
        ([1, 2], 1, 2),
        ([-1, -2], -1, 2),
        ([-1, -1, -3], -1, 3),
    ],
)
def test_covariates_are_rounded_towards_zero(steps, first, second):
    x = np.reshape(steps, (1, -1, 1)) / COVARIATE_LATTICE
    subject = SubjectRecords(x, x, np.ones(x.shape[:2], bool), np.array([len(steps)]))
    assert covariate_sums(subject) == ([first], [second])
