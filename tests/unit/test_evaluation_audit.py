"""The audit: quadratures beside known integrals, searches, verdicts, and testers of releases."""

import numpy as np
import pytest
from scipy import stats

import audit
import testers
from geodp.audit import published
from geodp.audit.disc import Disc
from geodp.audit.published import SPHERE, VARIANTS, Variant, densities, realised_loss
from geodp.audit.worst_neighbours import Pair, climb, worst_neighbour
from geodp.manifolds.euclidean import Euclidean
from testers import TESTERS, property_test

CENTRE = np.array([0.0, 0.0, 1.0])
CHOSEN = {"ball_radius": np.pi / 8, "geodesic_length": 0.2 * np.pi}
CHOSEN |= {"noise_variance": 0.001, "tau": 0.1}
RECORDS, SETTING = published.records_in_ball(1, 20, **CHOSEN)


def outlier(x=RECORDS[0], y=RECORDS[1]):
    """A data set, and the one with a record moved to the edge of the ball."""
    moved = y.copy()
    moved[3] = SPHERE.exp(CENTRE, SETTING.radius * SPHERE.frame(CENTRE)[1])
    return Pair(np.stack([x, x]), np.stack([y, moved]), 3)


def densities_of(pair, name, budget):
    return densities(VARIANTS[name], SETTING, budget, pair.covariates[None], pair.points[None])


@pytest.mark.parametrize("away", [0.0, 0.2, 0.39])
@pytest.mark.parametrize("space", [SPHERE, Euclidean(2)], ids=["sphere", "plane"])
def test_nodes_add_up_to_the_area_of_a_disc(space, away):
    centre = CENTRE if space is SPHERE else np.zeros(2)
    disc = Disc(space, centre, 0.4)
    pole = space.exp(centre, away * space.frame(centre)[1])[None]
    states, log_weights = disc.nodes(pole, np.array([0.01]), 40, 64)
    area = 2.0 * np.pi * (1.0 - np.cos(0.4)) if space is SPHERE else np.pi * 0.16
    assert np.sum(np.exp(log_weights)) == pytest.approx(area, rel=1e-6)
    assert np.all(disc.contains(states))


def test_losses_are_those_of_a_grid():
    """Normalised on an even grid of the ball, which a flat density needs no more than."""
    compared = densities_of(outlier(), "tau shared", 0.2)
    side = np.linspace(-1.0, 1.0, 401)
    place = SETTING.radius * np.stack(np.meshgrid(side, side), axis=-1).reshape((-1, 2))
    place = place[np.sum(place**2, axis=-1) <= SETTING.radius**2]
    states = SPHERE.exp(CENTRE, SPHERE.vector(SPHERE.frame(CENTRE), place))
    value = compared.log_density(np.broadcast_to(states, (1, 2, *states.shape)))[0]
    mass = np.sinc(np.linalg.norm(place, axis=-1) / np.pi)
    first, second = value - np.log(np.sum(np.exp(value) * mass, axis=-1, keepdims=True))
    found = realised_loss(np.random.default_rng(1), compared)
    assert found.loss == pytest.approx(np.max(np.abs(first - second)), rel=0.02)
    assert found.error < 1e-6


def test_an_error_that_both_constants_share_is_none_of_the_loss():
    pair = outlier()
    same = Pair(pair.covariates[[0, 0]], pair.points[[0, 0]], 3)
    for each, is_same in ((same, True), (pair, False)):
        found = realised_loss(np.random.default_rng(1), densities_of(each, "tau shared", 3.0))
        assert (found.error == 0.0) == (found.loss == 0.0) == is_same


def test_a_public_bound_on_residuals_clips_none_by_itself():
    """A longer one has its whole part in the published density, whose scale does not cover it."""
    pair = outlier()
    data = SETTING, 1.0, pair.covariates[None], pair.points[None]
    public, clipped = (
        densities(Variant("", tau="public", clipped=each), *data) for each in (False, True)
    )
    assert (public.clip, clipped.clip) == (None, SETTING.tau)
    np.testing.assert_array_equal(public.scale, clipped.scale)
    states = public.pole[:, :, None]
    assert not np.allclose(public.log_density(states), clipped.log_density(states))


def test_verdicts_are_no_surer_than_losses():
    for words, found in (
        ("exceeded", [(1.2, 0.1), (np.inf, 0.1)]),
        ("not exceeded", [(0.8, 0.1), (1.0, 0.0)]),
        ("undecided", [(1.05, 0.1), (0.95, 0.1), (2.0, np.inf), (np.nan, 0.1), (0.5, np.nan)]),
    ):
        assert {audit.verdict(*each, 1.0) for each in found} == {words}


def test_climbing_finds_the_top_and_stays_in_bounds():
    top = SPHERE.exp(CENTRE, 0.3 * SPHERE.frame(CENTRE)[0])

    def value(states):
        away, below = (SPHERE.dist(np.broadcast_to(p, states.shape), states) for p in (CENTRE, top))
        return np.where(away <= 0.2, -below, -np.inf)

    start = np.broadcast_to(CENTRE, (3, 3))
    places, values = climb(np.random.default_rng(1), SPHERE, value, start, (0.1, 1e-4), rounds=60)
    np.testing.assert_allclose(values, -0.1, atol=2e-3)
    assert np.all(SPHERE.dist(CENTRE, places) <= 0.2)


def test_neighbours_differ_in_one_record_of_the_domain():
    x, y = RECORDS

    def loss(covariates, points):
        return np.sum(SPHERE.dist(CENTRE, points), axis=-1) + np.sum(covariates, axis=-1)

    pair, found = worst_neighbour(np.random.default_rng(1), x, y, SETTING, loss)
    differs = np.any(pair.points[0] != pair.points[1], axis=-1)
    differs |= pair.covariates[0] != pair.covariates[1]
    assert np.flatnonzero(differs).tolist() == [pair.record]
    np.testing.assert_array_equal(pair.points[0], y)
    gains = SETTING.radius - SPHERE.dist(CENTRE, y) + 1.0 - x
    assert found == pytest.approx(loss(x[None], y[None])[0] + np.max(gains), abs=0.02)
    assert np.all(SPHERE.dist(CENTRE, pair.points[1]) <= SETTING.radius * (1.0 + 1e-9))


@pytest.mark.parametrize(
    ("name", "low", "high"),
    [
        *(("as published", 40.0, np.inf), ("as published, any footpoint", 180.0, np.inf)),
        *(("tau shared", 1.6, 4.0), ("tau shared, v fixed", 0.5, 2.0)),
        *(("residuals clipped", 0.6, 2.0), ("residuals clipped, factor 2", 0.3, 1.0)),
        ("shooting vector as published", 30.0, np.inf),
        ("shooting vector, clipped, factor 2", 0.3, 1.0),
    ],
)
def test_losses_at_a_stated_budget_of_one(name, low, high):
    found = published.worst_published_loss(1, 20, 1.0, VARIANTS[name], 32, 4, **CHOSEN)
    assert low <= found.loss <= high


def test_the_factor_of_two_is_needed_and_attained():
    found = [row["value"] for row in audit.worst_two(1, 1.0, angle=0.02, tau=0.001)]
    np.testing.assert_allclose(found, [1.99, 0.995], atol=0.005)


def test_limits_are_those_of_clopper_and_pearson():
    for hits, total in ((0, 50), (1, 50), (25, 50), (50, 50)):
        limits = stats.binomtest(hits, total).proportion_ci(0.9, "exact")
        assert testers.lower_limit(hits, total, 0.05) == pytest.approx(limits.low, abs=1e-12)
    for others in (10, 50):
        limits = [stats.binomtest(k, 50).proportion_ci(0.95, "exact") for k in (30, others)]
        expected = np.log(limits[0].low / limits[1].high)
        assert testers.budget_bound(30, others, 50, 0.95) == pytest.approx(expected)


def laplace_pair(shift, seed, number=20_000):
    """Laplace noise of scale one on a number that moves by a shift, beside what tells nothing."""
    rng = np.random.default_rng(seed)
    columns = [rng.laplace(size=(number, 3)) for _ in range(2)]
    columns[0][:, 1] += shift
    return columns


@pytest.mark.parametrize("learn", TESTERS.values(), ids=TESTERS)
def test_the_budget_of_laplace_noise_is_bounded_closely_and_seldom_exceeded(learn):
    assert 1.6 < property_test(laplace_pair(2.0, 1), learn) <= 2.0
    # What two columns tell together: their signs agree, or do not.
    one, other = laplace_pair(0.0, 2)
    one[:, 2] = np.sign(one[:, 0]) * np.abs(one[:, 2])
    assert property_test((one, other), learn) > 0.6
    # Nothing differs: of 40 bounds at 0.9 above zero some 4, and 14 next to never.
    pairs = (laplace_pair(0.0, [3, k], 800) for k in range(40))
    assert sum(property_test(each, learn, 0.9) > 0.0 for each in pairs) < 14


@pytest.mark.slow
def test_releases_keep_their_budget_and_mistakes_are_refuted():
    for k, (name, words, *case) in enumerate(audit.cases("sphere", 2.0)):
        streams = [np.random.default_rng([4, k, which]) for which in (0, 1)]
        # Mistakes have to be found in fewer draws than those that find none where there is none.
        is_right = name == "release"
        columns = audit.released_columns(*case, streams, 2000 if is_right else 1400)
        for learn in TESTERS.values():
            found = property_test(columns, learn, 0.99)
            assert (found <= 2.0) == is_right, (name, words, found)
