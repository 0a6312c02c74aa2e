"""The audit: its quadratures against known integrals, and the mutants that it must find."""

import numpy as np
import pytest
from quadrature import CellLaw, PolarChart
from scipy import stats

from geodp.audit import attack
from geodp.audit.disc import Disc
from geodp.audit.published import (
    PLANE,
    SPHERE,
    VARIANTS,
    densities,
    losses,
    pair_loss,
    realised_loss,
    two_point_densities,
    two_points,
)
from geodp.audit.search import Pair, climb, worst_neighbour
from reproduction.measurements.audit.losses import (
    CENTRE,
    record_domain,
    search_published,
    sphere_data,
    sphere_setting,
    verdict,
)

SETTINGS_OF_SPHERE = {"ball_radius": np.pi / 8, "geodesic_length": 0.2 * np.pi}
SETTINGS_OF_SPHERE |= {"noise_variance": 0.001, "tau": 0.1}
SETTING, DOMAIN = sphere_setting(SETTINGS_OF_SPHERE), record_domain(SETTINGS_OF_SPHERE)


def sphere_records(number=20, **changes):
    return sphere_data(SETTINGS_OF_SPHERE | changes, 1, number)


def outlier(number=20):
    """A data set, and the one with a record moved to the edge of the ball."""
    x, y = sphere_records(number)
    moved = y.copy()
    moved[3] = SPHERE.exp(CENTRE, SETTING.radius * SPHERE.frame(CENTRE)[1])
    return Pair(np.stack([x, x]), np.stack([y, moved]), 3)


# Quadrature


@pytest.mark.parametrize("away", [0.0, 0.2, 0.39])
@pytest.mark.parametrize("space", [SPHERE, PLANE], ids=["sphere", "plane"])
def test_nodes_add_up_to_the_area_of_a_disc(space, away):
    centre = CENTRE if space is SPHERE else np.zeros(2)
    disc = Disc(space, centre, 0.4)
    pole = space.exp(centre, away * space.frame(centre)[1])[None]
    states, log_weights = disc.nodes(pole, np.array([0.01]), 40, 64)
    area = 2.0 * np.pi * (1.0 - np.cos(0.4)) if space is SPHERE else np.pi * 0.16
    assert np.sum(np.exp(log_weights)) == pytest.approx(area, rel=1e-6)
    assert np.all(disc.contains(states))
    if space is SPHERE:
        _, log_weights = Disc(space, centre, np.pi).nodes(pole, np.array([1e-3]), 40, 16)
        assert np.sum(np.exp(log_weights)) == pytest.approx(4.0 * np.pi, rel=1e-9)


@pytest.mark.slow
def test_constants_are_those_of_adaptive_quadrature():
    """Cells of another chart, halved where they must be."""
    pair = outlier()
    variant = VARIANTS["as published, any footpoint"]
    distributions = densities(variant, SETTING, 1.0, pair.covariates[None], pair.points[None])
    found = losses(distributions, (64, 48)).log_constants[0]
    for which in (0, 1):
        chart = PolarChart(
            SPHERE, distributions.pole[0, which], np.pi, 30.0 * float(distributions.scale[0, which])
        )

        def log_density(states, which=which):
            both = np.broadcast_to(states, (1, 2, *states.shape))
            return distributions.log_density(both)[0, which]

        expected = CellLaw(chart, log_density)
        assert found[which] == pytest.approx(expected.log_integral, abs=5e-3)


def test_losses_are_those_of_a_grid():
    """Normalised on an even grid of the ball, which a flat density needs no more than."""
    pair = outlier()
    variant, budget = VARIANTS["tau shared"], 0.2
    distributions = densities(variant, SETTING, budget, pair.covariates[None], pair.points[None])
    side = np.linspace(-1.0, 1.0, 401)
    place = SETTING.radius * np.stack(np.meshgrid(side, side), axis=-1).reshape((-1, 2))
    place = place[np.sum(place**2, axis=-1) <= SETTING.radius**2]
    states = SPHERE.exp(CENTRE, SPHERE.vector(SPHERE.frame(CENTRE), place))
    value = distributions.log_density(np.broadcast_to(states, (1, 2, *states.shape)))[0]
    mass = np.sinc(np.linalg.norm(place, axis=-1) / np.pi)
    first, second = value - np.log(np.sum(np.exp(value) * mass, axis=-1, keepdims=True))
    found = realised_loss(np.random.default_rng(1), distributions)
    assert found.loss == pytest.approx(np.max(np.abs(first - second)), rel=0.02)
    assert found.loss >= np.max(np.abs(first - second)) - 2e-3
    assert found.error < 1e-6


def test_an_error_that_both_constants_share_is_none_of_the_loss():
    same = outlier()
    pair = Pair(same.covariates[[0, 0]], same.points[[0, 0]], 3)
    distributions = densities(
        VARIANTS["tau shared"], SETTING, 3.0, pair.covariates[None], pair.points[None]
    )
    rougher = [losses(distributions, nodes).log_constants[0] for nodes in ((40, 32), (26, 21))]
    assert np.min(np.abs(rougher[0] - rougher[1])) > 1e-12
    found = realised_loss(np.random.default_rng(1), distributions)
    assert found.error == found.loss == 0.0
    # Of different data sets it is some of it.
    distributions = densities(
        VARIANTS["tau shared"], SETTING, 3.0, same.covariates[None], same.points[None]
    )
    assert realised_loss(np.random.default_rng(1), distributions).error > 0.0


@pytest.mark.parametrize(
    ("loss", "error", "expected"),
    [
        (1.2, 0.1, "exceeded"),
        (np.inf, 0.1, "exceeded"),
        (0.8, 0.1, "not exceeded"),
        (1.0, 0.0, "not exceeded"),
        (1.05, 0.1, "undecided"),
        (0.95, 0.1, "undecided"),
        (2.0, np.inf, "undecided"),
        (np.nan, 0.1, "undecided"),
        (0.5, np.nan, "undecided"),
    ],
)
def test_verdicts_are_no_surer_than_losses(loss, error, expected):
    assert verdict(loss, error, 1.0) == expected


# Searches


def test_climbing_finds_the_top_and_stays_in_bounds():
    top = SPHERE.exp(CENTRE, 0.3 * SPHERE.frame(CENTRE)[0])

    def value(states):
        away = SPHERE.dist(np.broadcast_to(CENTRE, states.shape), states)
        return np.where(
            away <= 0.2, -SPHERE.dist(np.broadcast_to(top, states.shape), states), -np.inf
        )

    start = np.broadcast_to(CENTRE, (3, 3))
    places, values = climb(np.random.default_rng(1), SPHERE, value, start, (0.1, 1e-4), rounds=60)
    np.testing.assert_allclose(values, -0.1, atol=2e-3)
    assert np.all(SPHERE.dist(CENTRE, places) <= 0.2)


def test_neighbours_differ_in_one_record_of_the_domain():
    x, y = sphere_records()

    def loss(covariates, points):
        return np.sum(SPHERE.dist(CENTRE, points), axis=-1) + np.sum(covariates, axis=-1)

    pair, found = worst_neighbour(np.random.default_rng(1), x, y, DOMAIN, loss)
    differs = (pair.covariates[0] != pair.covariates[1]) | np.any(
        pair.points[0] != pair.points[1], axis=-1
    )
    assert np.flatnonzero(differs).tolist() == [pair.record]
    np.testing.assert_array_equal(pair.points[0], y)
    gains = DOMAIN.radius - SPHERE.dist(CENTRE, y) + 1.0 - x
    before = np.sum(SPHERE.dist(CENTRE, y)) + np.sum(x)
    assert found == pytest.approx(before + np.max(gains), abs=0.02)
    assert np.all(SPHERE.dist(CENTRE, pair.points[1]) <= DOMAIN.radius * (1.0 + 1e-9))


# The published densities


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        ("as published", 40.0, np.inf),
        ("as published, any footpoint", 180.0, np.inf),
        ("tau shared", 1.6, 4.0),
        ("tau shared, v fixed", 0.5, 2.0),
        ("residuals clipped", 0.6, 2.0),
        ("residuals clipped, factor 2", 0.3, 1.0),
        ("shooting vector as published", 30.0, np.inf),
        ("shooting vector, clipped, factor 2", 0.3, 1.0),
    ],
)
def test_losses_at_a_stated_budget_of_one(name, low, high):
    found, _ = search_published(SETTINGS_OF_SPHERE, 1, 20, 1.0, VARIANTS[name], 32, 4)
    assert low <= found.loss <= high


def test_the_factor_of_two_is_needed_and_attained():
    rng = np.random.default_rng(1)
    found = [
        realised_loss(rng, two_point_densities(two_points(), 0.001, 1.0, k)) for k in (1.0, 2.0)
    ]
    assert found[0].loss == pytest.approx(1.99, abs=0.005)
    assert found[1].loss == pytest.approx(0.995, abs=0.003)


def test_the_published_loss_grows_as_residuals_vanish():
    """Tau scales it, and may be as small as one likes."""
    found = []
    for noise_variance in (1e-3, 1e-5):
        x, y = sphere_records(noise_variance=noise_variance)
        moved = outlier().points[1, 3]
        points = np.stack([y, y])
        points[1, 3] = moved
        pair = Pair(np.stack([x, x]), points, 3)
        rng = np.random.default_rng(1)
        found.append(pair_loss(rng, VARIANTS["as published"], SETTING, 1.0, pair).loss)
    assert found[1] > 5.0 * found[0]


# From draws


def test_limits_are_those_of_clopper_and_pearson():
    for hits, total in ((0, 50), (1, 50), (25, 50), (50, 50)):
        limits = stats.binomtest(hits, total).proportion_ci(0.9, "exact")
        assert attack.lower_limit(hits, total, 0.05) == pytest.approx(limits.low, abs=1e-12)
        assert attack.upper_limit(hits, total, 0.05) == pytest.approx(limits.high, abs=1e-12)
    assert attack.budget_bound(0, 10, 50, 0.95) == -np.inf
    # Each of the two limits has half of the error.
    limits = attack.lower_limit(30, 50, 0.025), attack.upper_limit(10, 50, 0.025)
    assert attack.budget_bound(30, 10, 50, 0.95) == pytest.approx(np.log(limits[0] / limits[1]))
