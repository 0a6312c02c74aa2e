"""Linear and quantile regression: draws against quadrature and closed forms, sensitivities."""

import numpy as np
import pytest
from quadrature import CellLaw, PolarChart
from scipy import stats

from geodp.linear import l1_ball, least_squares, plane, quantiles
from geodp.linear.pinball import GradientScore, LossScore, MedianScore, Pinball, smoothing_bandwidth
from geodp.linear.simulated_moments import Moments, record_chunks, simulate_moments
from geodp.manifolds.euclidean import Euclidean

COEFFICIENTS = np.array([0.0, -1.0, -0.5, 0.5])
FALSE_ALARM = 6e-5
DRAWS = 6000
DENSITIES = {
    "exponential": least_squares.Exponential.at(1.0, 1.0),
    "kng": least_squares.Gradient.at(1.0, 1.0),
}


@pytest.fixture
def rng():
    return np.random.default_rng(15)


def records(rng, number, coefficients):
    """Covariates and responses of a simulated data set."""
    chunks = record_chunks(rng, np.asarray(coefficients), number)
    *covariates, responses = np.concatenate([chunk.copy() for chunk in chunks], axis=1)
    return np.column_stack(covariates), responses


def problem(rng, number, coefficients, copies, bound=1.0):
    """The same data set several times."""
    found = simulate_moments(rng, np.asarray(coefficients), number).scaled()
    repeated = (np.repeat(value, copies, axis=0) for value in vars(found).values())
    return least_squares.LeastSquares(Moments(*repeated), bound)


def agree(drawn, score):
    """Compare draws (m, 2) with a density in the unit ball."""
    middle = np.median(drawn, axis=0)
    away = np.median(np.linalg.norm(drawn - middle, axis=1))
    law = CellLaw(
        PolarChart(Euclidean(2), middle, 2.0, away),
        lambda places: np.where(l1_ball.contains(places, 1.0), -score(places), -np.inf),
    )
    assert law.p_value(drawn, 60) > FALSE_ALARM


# --- Linear regression ---


def test_moments_are_those_of_the_records():
    # Of several chunks, the last of which is not full.
    x, y = records(np.random.default_rng(1), 40_000, COEFFICIENTS)
    found = simulate_moments(np.random.default_rng(1), COEFFICIENTS, 40_000)
    np.testing.assert_allclose(found.gram[0], x.T @ x, rtol=1e-11, atol=1e-9)
    np.testing.assert_allclose(found.cross[0], x.T @ y, rtol=1e-11)
    assert found.largest[0] == np.max(np.abs(y))
    fit = least_squares.LeastSquares(found.scaled(), 1.0).fit[0]
    np.testing.assert_allclose(fit, np.linalg.lstsq(x, y / np.max(np.abs(y)), rcond=None)[0])
    # Their distributions are those of the paper.
    assert np.all(x[:, 0] == 1.0)
    assert stats.kstest(x[:, 1:].ravel(), "uniform", (-1.0, 2.0)).pvalue > FALSE_ALARM
    assert stats.kstest(y - x @ COEFFICIENTS, "norm").pvalue > FALSE_ALARM


def test_least_squares_in_the_ball_is_a_minimum_there(rng):
    made = rng.standard_normal((6, 40, 5)) * [5.0, 1.0, 1.0, 1.0, 0.3]
    gram = np.swapaxes(made, -1, -2) @ made
    # From minima in the ball to minima far outside.
    minima = rng.standard_normal((6, 5)) * np.array([0.1, 1.0, 1.0, 2.0, 2.0, 3.0])[:, None]
    found, gaps = l1_ball.least_squares(gram, np.einsum("kij,kj->ki", gram, minima), 1.0)
    assert np.all(gaps <= 1e-10)
    assert np.all(l1_ball.contains(found, 1.0 + 1e-12))
    np.testing.assert_allclose(found[0], minima[0], atol=1e-7)
    slopes = np.einsum("kij,kj->ki", gram, found - minima)
    # By convexity the loss is above its minimum by at most the fall to the best corner of the ball.
    fall = np.sum(slopes * found, axis=-1) + np.max(np.abs(slopes), axis=-1)
    assert np.max(fall) <= 1e-9


# The truth is in the ball, about its edge, and outside; the density is wide, and narrow.
CASES = [(30, (0.0, -0.5)), (400, (0.2, -2.5)), (4000, (0.0, -3.0))]


@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize(("number", "coefficients"), CASES)
def test_linear_regression_agrees_with_quadrature(name, number, coefficients, rng):
    mechanism, many = DENSITIES[name], problem(rng, number, coefficients, DRAWS)
    one = many.take(slice(0, 1))
    drawn = least_squares.draw(rng, many, mechanism, count=64)
    agree(drawn, lambda places: mechanism.score(one, places[None])[0])


def test_a_data_set_without_an_accepted_proposal_is_refused(rng):
    with pytest.raises(RuntimeError, match="no proposal was accepted for 3 data sets"):
        least_squares.draw(rng, problem(rng, 50, (0.0, -0.5), 3), DENSITIES["kng"], rounds=0)


def test_objective_perturbation_has_the_noise_it_states(rng):
    # In a wide ball the gradient at the minimiser is minus the noise.
    budget, bound = 0.7, 50.0
    many = problem(rng, 20_000, (0.1, -0.4, 0.3), DRAWS, bound)
    theta = least_squares.perturb_objective(rng, many, budget)
    penalty = 2.0 * 3 / (np.exp(0.5 * budget) - 1.0)
    noise = 2.0 * many.pull(theta[:, None])[:, 0] + penalty * theta
    norms = np.max(np.abs(noise), axis=-1) * budget / (8.0 * (1.0 + bound))
    inside = np.sum(np.abs(theta), axis=-1) < bound
    assert np.mean(inside) > 0.999
    assert stats.kstest(norms[inside], "gamma", (3,)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("bound", [0.5, 2.0])
def test_sensitivities_of_linear_regression_are_attained_and_not_exceeded(bound, rng):
    count, d = 200_000, 3
    x, y = rng.choice((-1.0, 1.0), size=(2, count, d)), rng.choice((-1.0, 1.0), size=(2, count))
    theta = bound * rng.choice((-1.0, 1.0), (count, 1)) * np.eye(d)[rng.integers(d, size=count)]
    residuals = y - np.sum(x * theta, axis=-1)
    gradients = -2.0 * residuals[..., None] * x
    moved = np.max(np.abs(gradients[0] - gradients[1]))
    # Density (1) of the theorem has half the budget over the sensitivity.
    np.testing.assert_allclose(least_squares.Gradient.at(1.0, bound).rate, 0.5 / moved)
    # As printed it uses half of the budget.
    assert least_squares.Gradient.as_printed(1.0, bound) == least_squares.Gradient.at(0.5, bound)
    change = np.max(np.abs(residuals[0] ** 2 - residuals[1] ** 2))
    sensitivity = 0.5 / least_squares.Exponential.at(1.0, bound).rate
    assert change <= sensitivity * (1.0 + 1e-12)
    np.testing.assert_allclose(sensitivity, (1.0 + bound) ** 2)


# --- Quantiles and quantile regression ---


@pytest.mark.parametrize("tau", [0.2, 0.9])
def test_private_quantiles_have_their_density(tau, rng):
    values = np.sort(rng.uniform(-0.8, 0.6, size=7))
    drawn = quantiles.draw_quantiles(rng, np.tile(values, (DRAWS, 1)), tau, 2.0, 1.0, 1.0)
    places = np.linspace(-1.0, 1.0, 200_001)
    middles = 0.5 * (places[1:] + places[:-1])
    density = np.exp(-np.abs(7 * tau - np.sum(values[:, None] <= middles, axis=0)))
    density /= np.mean(density) * 2.0
    found = np.exp(quantiles.log_density(values, tau, 2.0, 1.0, 1.0, middles))
    np.testing.assert_allclose(found, density, rtol=1e-3)
    levels = np.append(0.0, np.cumsum(density) / np.sum(density))
    assert stats.kstest(drawn, lambda x: np.interp(x, places, levels)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.9])
@pytest.mark.parametrize("bandwidth", [0.0, 0.4])
def test_sensitivities_of_quantile_regression_are_attained(tau, bandwidth):
    theta, moved, losses = np.array([[0.0, -1.0]]), [], []
    corners = np.stack(np.meshgrid(*[(-1.0, 1.0)] * 3), axis=-1).reshape((-1, 3))
    for corner in corners:
        x, y = np.array([[1.0, corner[0]]]), corner[1:2]
        losses.append(Pinball(x, y, tau).loss(theta))
        for record in (Pinball(x, y, tau, bandwidth), Pinball(corner[2] * x, -y, tau, bandwidth)):
            moved.append(record.gradient(theta)[0])
    apart = np.max(np.abs(np.array(moved)[:, None] - moved))
    np.testing.assert_allclose(apart, 2.0 * max(tau, 1.0 - tau))
    records = Pinball(np.zeros((1, 2)), np.zeros(1), tau)
    np.testing.assert_allclose(GradientScore.at(records, 1.0).rate, 0.5 / apart)
    # Losses are not negative, so that they differ by no more than the largest.
    sharp = LossScore.at(records, 1.0, 1.0, sharp=True).rate
    np.testing.assert_allclose(np.ptp(losses), 0.5 / sharp)
    assert LossScore.at(records, 1.0, 1.0).rate == 0.5 * sharp


@pytest.mark.parametrize("tau", [0.3, 0.5])
@pytest.mark.parametrize("number", [11, 1001])
def test_fits_of_quantile_regression_are_optimal(tau, number, rng):
    x, y = records(rng, number, (0.0, -1.0))
    full = Pinball(x, y, tau)
    fit = full.fit()
    others = fit + np.array([1e-6, 1e-3, 1.0])[:, None, None] * rng.standard_normal((3, 300, 2))
    assert full.loss(fit[None])[0] <= np.min(full.loss(others.reshape((-1, 2)))) + 1e-12
    # Two records lie on the plane.
    assert np.sum(np.abs(y - x @ fit) < 1e-9) == 2


PLANE_CASES = [("kng", 12), ("kng", 150), ("kng_smoothed", 150), ("exponential", 12)]
PLANE_CASES += [("exponential_sharp", 150), ("median", 12)]


@pytest.mark.parametrize(("name", "number"), PLANE_CASES)
def test_draws_in_the_plane_agree_with_quadrature(name, number, rng):
    x, y = records(rng, number, (0.0, -1.0))
    plain = Pinball(x, y / np.max(np.abs(y)), 0.5)
    smooth = Pinball(x, plain.responses, 0.5, 0.3)
    score = {
        "kng": GradientScore.at(plain, 1.0),
        "kng_smoothed": GradientScore.at(smooth, 1.0),
        "exponential": LossScore.at(plain, 1.0, 1.0),
        "exponential_sharp": LossScore.at(plain, 1.0, 1.0, sharp=True),
        "median": MedianScore(0.4 * np.column_stack([x[:, 1], y / 3.0]), 0.25),
    }[name]
    centre = np.zeros(2) if name == "median" else l1_ball.project(plain.fit(), 1.0)
    # A box has the score of all records.
    box = centre + 0.1 * rng.uniform(-1.0, 1.0, (50, 2))
    np.testing.assert_allclose(score.within(centre, 0.1)(box), score(box), atol=1e-9)
    places, values = plane.chains(rng, score, centre, 1.0, DRAWS, 40)
    drawn = places[:, -1]
    np.testing.assert_allclose(values[:50, -1], score(drawn[:50]), atol=1e-9)
    agree(drawn, score)


def test_the_bandwidth_falls_to_its_floor():
    np.testing.assert_allclose(smoothing_bandwidth(1000, 2), ((2.0 + np.log(1000.0)) / 1e3) ** 0.4)
    assert smoothing_bandwidth(10**6, 2) == 0.05
