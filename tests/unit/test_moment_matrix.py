"""Noisy matrices of moments: their privacy losses, and what is worked out from a release."""

import numpy as np
import pytest
from scipy import stats

import linear_matrix as lm
from geodp.linear.moment_matrix import shrunk
from geodp.mechanisms.gaussian import gaussian_delta
from geodp.randomness import random_stream

DELTA = 1e-6
TRACE = 1.0 + lm.WEIGHT**2


@pytest.fixture
def rng(request):
    return random_stream(15, request.node.name)


def test_gaussian_noise_spends_epsilon_and_delta(rng):
    """The loss of Gaussian noise depends on the change's norm over the deviation alone."""
    epsilon = 0.7
    noise = lm.noise_of(TRACE, epsilon, DELTA)
    assert gaussian_delta(epsilon, TRACE / noise.scale) == pytest.approx(DELTA, rel=1e-6)
    # Density proportional to exp(-|N|_F^2 / (2 s^2)): independent, half the variance off the
    # diagonal; so |N|_F^2 / s^2 is a chi-squared variable of 3 (3 + 1) / 2 degrees.
    squares = [np.sum(noise.draw(rng, 3) ** 2) / noise.scale**2 for _ in range(5000)]
    assert stats.kstest(squares, stats.chi2(6).cdf).pvalue > 1e-4


def test_records_add_no_more_than_their_trace(rng):
    design = rng.standard_normal((200, 4)) * rng.exponential(3.0, (200, 1))
    responses = rng.standard_normal((200, 1)) * rng.exponential(3.0, (200, 1))
    for limit in (0.2, 1.0):
        z = lm.contributions(design, responses, limit)
        squares = np.sum(z**2, axis=1)
        assert squares.max() == pytest.approx(TRACE, rel=1e-12)
        assert (squares <= TRACE * (1.0 + 1e-12)).all()
    inside = lm.contributions(0.01 * design, 0.001 * responses, 0.5)
    np.testing.assert_allclose(inside, np.hstack([0.01 * design, 0.002 * lm.WEIGHT * responses]))


@pytest.mark.parametrize("delta", [None, DELTA])
@pytest.mark.parametrize("records", [100, 5000])
def test_a_release_sees_a_record_by_its_contribution_alone(rng, monkeypatch, delta, records):
    """What all else is worked out from, for neighbours, with the same random numbers."""
    seen, beyond = [], []
    monkeypatch.setattr(lm, "slopes_from", lambda *given: seen.append(given))
    monkeypatch.setattr(lm, "part_kept", lambda *of: beyond.append(of) or 0.9)
    x, y = rng.standard_normal((40, 3)), rng.uniform(-3.0, 3.0, (40, 1))
    y[39] = 2.0
    for n in (40, 39):
        stream = np.random.default_rng(1)
        lm.private_slopes(stream, x[:n], y[:n], records, 0.3, delta)
    (noisy, *others), (other, *same) = seen
    assert others == same
    values = np.linalg.eigvalsh(noisy - other)
    assert values[-1] <= TRACE * (1.0 + 1e-9)
    np.testing.assert_allclose(values[:-1], 0.0, atol=1e-9)
    if records == 100:
        assert others[1] == lm.noise_of(TRACE, 0.3, delta)
        assert not beyond
        return
    # The record has a response beyond its bound.
    limit = lm.planned_clipping(records, 3, 0.3)
    assert others[1:] == [lm.noise_of(TRACE, 0.3, delta, 0.95), limit / lm.WEIGHT / 0.9]
    (squares, of_squares, one, of_one, *_), (fewer, _, other, *_) = beyond
    assert [one - other, squares - fewer] == pytest.approx([1.0 - limit**2, limit**2])
    assert of_one == lm.excess_noise(limit, records, 0.3, delta).deviation(1)
    assert of_squares == pytest.approx(others[1].deviation(4) * (limit / lm.WEIGHT) ** 2)


@pytest.mark.parametrize("delta", [None, DELTA])
def test_both_releases_spend_the_budget_and_no_more(delta):
    one, other = lm.noise_of(TRACE, 0.3, delta, 0.95), lm.excess_noise(0.6, 10_000, 0.3, delta)
    ratios = TRACE / one.scale, (1.0 - 0.6**2) / other.scale
    if delta is None:
        assert sum(ratios) == pytest.approx(0.3)
        assert lm.noise_of(TRACE, 0.3) == lm.LaplaceNoise(TRACE / 0.3)
    else:
        # One Gaussian release of what is divided by its deviations.
        assert gaussian_delta(0.3, np.hypot(*ratios)) == pytest.approx(DELTA, rel=1e-6)
    # The second is made where its noise allows, and not where nothing is clipped.
    assert lm.excess_noise(0.6, 100, 0.3, delta) is lm.excess_noise(1.0, 10**6, 0.3, delta) is None


@pytest.mark.parametrize(
    ("noise", "edge"), [(lm.LaplaceNoise(2.0), 3.33), (lm.GaussianNoise(np.sqrt(800.0)), 2.0)]
)
def test_noise_alone_is_shrunk_to_nothing(rng, noise, edge):
    """Its spectrum ends at an edge, in units of the pole or of the semicircle's deviation."""
    size = 400
    drawn = noise.draw(rng, size)
    unit = noise.pole(size) or np.sqrt(size) * noise.deviation(size)
    largest = np.abs(np.linalg.eigvalsh(drawn)).max() / unit
    assert largest == pytest.approx(edge, rel=0.02)
    found, _ = shrunk(drawn + 1e4 * np.eye(size), noise.deviation(size), noise.pole(size))
    values = np.linalg.eigvalsh(found)
    # The few that fluctuate beyond the edge come back nearly as far.
    away = np.sort(np.abs(values - np.median(values))) / unit
    assert away[-5] < 1e-9
    assert away[-1] < 0.5


@pytest.mark.parametrize("noise", [lm.LaplaceNoise(2.0), lm.GaussianNoise(20.0)])
def test_a_lone_eigenvalue_is_brought_back(rng, noise):
    """No multiple of what is seen of it has a smaller error, and its mean is the true one's."""
    size = 300
    deviation, pole = noise.deviation(size), noise.pole(size)
    true = 4.0 * np.sqrt(size) * deviation
    noisy = np.diag([true, *np.zeros(size - 1)]) + noise.draw(rng, size)
    found, _ = shrunk(noisy, deviation, pole)
    values, vectors = np.linalg.eigh(found)
    best = true * vectors[0, -1] ** 2
    assert values[-1] - max(np.trace(noisy) / size, 0.0) == pytest.approx(best, rel=0.05)
    # What it has of the trace the others have not.
    ones = noisy + true * np.eye(size)
    kept, _ = shrunk(ones, deviation, pole, keeps_trace=True)
    assert np.trace(kept) == pytest.approx(np.trace(ones))


@pytest.mark.parametrize("limit", [0.1, 0.2, 0.4, 0.8])
def test_the_part_that_clipping_keeps(rng, limit):
    """Of normal responses it is nearly the chance of not being clipped, of two values exact."""
    y, plan = 0.2 * rng.standard_normal((20_000, 1)), (limit, 20_000)
    squares = np.sum(np.clip(y, -limit, limit) ** 2)
    found = lm.part_kept(squares, 0.0, np.sum(y**2) - squares, 0.0, *plan)
    assert found == pytest.approx(2.0 * stats.norm.cdf(limit / 0.2) - 1.0, abs=0.06)
    two = 20_000 * np.array([limit**2, 0.9**2 - limit**2])
    assert lm.part_kept(two[0], 0.0, two[1], 0.0, *plan) == pytest.approx(limit / 0.9)
    # Nothing is taken that might be noise.
    assert lm.part_kept(squares, 0.02 * squares, np.sum(y**2) - squares, 30.0, *plan) > found
    assert lm.part_kept(squares, 0.0, 10.0, 30.0, *plan) == 1.0
