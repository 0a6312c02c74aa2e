"""Linear and quantile regression: draws against quadrature and closed forms, sensitivities."""

import tracemalloc
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from quadrature import CellLaw, PolarChart
from scipy import stats

from geodp.linear import l1_ball, least_squares, plane, quantiles
from geodp.linear.moments import Moments, record_chunks, simulate_moments
from geodp.linear.pinball import GradientScore, LossScore, MedianScore, Pinball, smoothing_bandwidth
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.sphere import Sphere
from reproduction.claims.conditions import Conditions
from reproduction.claims.measures import MEASURES
from reproduction.measurements.linear.figures import errors_by_size
from reproduction.measurements.linear.geodesics import signed_angles
from reproduction.measurements.linear.moments import true_coefficients

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
    return least_squares.LeastSquares(
        Moments(*(np.repeat(value, copies, axis=0) for value in vars(found).values())), bound
    )


def agree(drawn, score):
    """Compare draws (m, 2) with a density in the unit ball."""
    middle = np.median(drawn, axis=0)
    away = np.median(np.linalg.norm(drawn - middle, axis=1))
    law = CellLaw(
        PolarChart(Euclidean(2), middle, 2.0, away),
        lambda places: np.where(l1_ball.contains(places, 1.0), -score(places), -np.inf),
    )
    assert law.p_value(drawn, 60) > FALSE_ALARM


# --- Records and their moments ---


def test_moments_are_those_of_the_records():
    coefficients = true_coefficients(4)
    x, y = records(np.random.default_rng(1), 1000, coefficients)
    found = simulate_moments(np.random.default_rng(1), coefficients, 1000)
    np.testing.assert_allclose(found.gram[0], x.T @ x, rtol=1e-12)
    np.testing.assert_allclose(found.cross[0], x.T @ y, rtol=1e-12)
    assert found.largest[0] == np.max(np.abs(y))
    np.testing.assert_allclose(
        found.scaled().fit()[0], np.linalg.lstsq(x, y / np.max(np.abs(y)), rcond=None)[0]
    )


def test_covariates_and_errors_have_the_distributions_of_the_paper(rng):
    x, y = records(rng, 20_000, true_coefficients(12))
    assert np.all(x[:, 0] == 1.0)
    assert stats.kstest(x[:, 1:].ravel(), "uniform", (-1.0, 2.0)).pvalue > FALSE_ALARM
    assert stats.kstest(y - x @ true_coefficients(12), "norm").pvalue > FALSE_ALARM


def test_memory_does_not_grow_with_the_number_of_records(rng):
    peaks = []
    for number in (50_000, 400_000):
        tracemalloc.start()
        simulate_moments(rng, true_coefficients(12), number)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 1.05 * peaks[0] < 20e6


# --- The ball ---


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


# --- Linear regression ---


@pytest.mark.parametrize("dim", [1, 2, 12])
def test_noise_of_the_cube_has_the_norm_of_a_gamma_variable(dim, rng):
    drawn = least_squares.cube_noise(rng, (DRAWS, dim), 3.0)
    norms = 3.0 * np.max(np.abs(drawn), axis=-1)
    assert stats.kstest(norms, "gamma", (dim,)).pvalue > FALSE_ALARM
    inner = drawn / np.max(np.abs(drawn), axis=-1, keepdims=True)
    assert abs(np.mean(inner)) < 5.0 / np.sqrt(inner.size)


# The truth is in the ball, about its edge, and outside; the density is wide, and narrow.
CASES = [(30, (0.0, -0.5)), (400, (0.2, -2.5)), (4000, (0.0, -3.0))]


@pytest.mark.parametrize("sampler", [least_squares.draw, least_squares.walk])
@pytest.mark.parametrize("name", DENSITIES)
@pytest.mark.parametrize(("number", "coefficients"), CASES)
def test_linear_regression_agrees_with_quadrature(sampler, name, number, coefficients, rng):
    mechanism, many = DENSITIES[name], problem(rng, number, coefficients, DRAWS)
    if sampler is least_squares.walk:
        drawn = least_squares.walk(rng, many, mechanism, 400)
        assert np.all(l1_ball.contains(drawn, 1.0 + 1e-12))
    else:
        found = least_squares.draw(rng, many, mechanism, 10, count=64)
        assert np.all(found.exact)
        drawn = found.theta
    one = many.take(slice(0, 1))
    agree(drawn, lambda places: mechanism.score(one, places[None])[0])


def test_a_data_set_without_an_accepted_proposal_is_drawn_by_a_chain(rng):
    many = problem(rng, 50, (0.0, -0.5), 3)
    drawn = least_squares.draw(rng, many, DENSITIES["exponential"], 20, rounds=0)
    assert not np.any(drawn.exact)
    assert np.all(l1_ball.contains(drawn.theta, 1.0))
    assert np.all(drawn.proposals == 0)


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


@pytest.mark.parametrize("bound", [0.5, 1.0, 2.0])
def test_sensitivities_of_linear_regression_are_attained_and_not_exceeded(bound, rng):
    count, d = 200_000, 3
    x, other_x = rng.choice((-1.0, 1.0), size=(2, count, d))
    y, other_y = rng.choice((-1.0, 1.0), size=(2, count))
    theta = bound * rng.choice((-1.0, 1.0), (count, 1)) * np.eye(d)[rng.integers(d, size=count)]
    residual = y - np.sum(x * theta, axis=-1)
    other = other_y - np.sum(other_x * theta, axis=-1)
    gradients = -2.0 * residual[:, None] * x, -2.0 * other[:, None] * other_x
    moved = np.max(np.abs(gradients[0] - gradients[1]))
    # Density (1) of the theorem has half the budget over the sensitivity.
    np.testing.assert_allclose(least_squares.Gradient.at(1.0, bound).rate, 0.5 / moved)
    # As printed it uses half of the budget.
    assert least_squares.Gradient.as_printed(1.0, bound) == least_squares.Gradient.at(0.5, bound)
    change = np.max(np.abs(residual**2 - other**2))
    assert change <= (1.0 + bound) ** 2 * (1.0 + 1e-12)
    np.testing.assert_allclose(
        least_squares.Exponential.at(1.0, bound).rate, 0.5 / (1.0 + bound) ** 2
    )


# --- Quantiles ---


@pytest.mark.parametrize("tau", [0.2, 0.5, 0.9])
def test_private_quantiles_have_their_density(tau, rng):
    values = np.sort(rng.uniform(-0.8, 0.6, size=7))
    drawn = quantiles.draw_quantiles(rng, np.tile(values, (DRAWS, 1)), tau, 2.0, 1.0, 1.0)
    places = np.linspace(-1.0, 1.0, 200_001)
    middles = 0.5 * (places[1:] + places[:-1])
    score = np.abs(7 * tau - np.sum(values[:, None] <= middles, axis=0))
    density = np.exp(-1.0 * score)
    density /= np.mean(density) * 2.0
    np.testing.assert_allclose(
        np.exp(quantiles.log_density(values, tau, 2.0, 1.0, 1.0, middles)), density, rtol=1e-3
    )
    levels = np.append(0.0, np.cumsum(density) / np.sum(density))
    assert stats.kstest(drawn, lambda x: np.interp(x, places, levels)).pvalue > FALSE_ALARM


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.75, 0.9])
def test_the_published_sensitivity_of_quantiles_is_too_small_above_the_median(tau):
    stated = quantiles.stated_sensitivity(tau)
    found = quantiles.realised_loss(tau, 1.0, 20, stated)
    # By hand: every log density moves by the budget over twice the sensitivity, and so does the
    # integral, in the other direction.
    np.testing.assert_allclose(found, 1.0 / (2.0 * (1.0 - tau)), rtol=1e-6)
    np.testing.assert_allclose(quantiles.realised_loss(tau, 1.0, 20, 1.0), 1.0, rtol=1e-6)


@pytest.mark.parametrize("tau", [0.25, 0.5, 0.9])
@pytest.mark.parametrize("bandwidth", [0.0, 0.4])
def test_the_sensitivity_of_quantile_regression_is_attained(tau, bandwidth, rng):
    theta = np.array([[0.0, 0.0]])
    moved = []
    for signs in np.stack(np.meshgrid(*[(-1.0, 1.0)] * 5), axis=-1).reshape((-1, 5)):
        pair = [
            Pinball(np.array([x]), np.array([y]), tau, bandwidth).gradient(theta)
            for x, y in ((signs[:2], signs[4]), (signs[2:4], -signs[4]), (signs[2:4], signs[4]))
        ]
        moved += [np.max(np.abs(pair[0] - pair[k])) for k in (1, 2)]
    np.testing.assert_allclose(max(moved), 2.0 * max(tau, 1.0 - tau))
    rate = GradientScore.at(Pinball(np.zeros((1, 2)), np.zeros(1), tau), 1.0).rate
    np.testing.assert_allclose(rate, 0.5 / max(moved))


# --- Quantile regression ---


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


def plane_scores(rng, number):
    x, y = records(rng, number, (0.0, -1.0))
    plain = Pinball(x, y / np.max(np.abs(y)), 0.5)
    smooth = Pinball(x, plain.responses, 0.5, 0.3)
    return plain.fit(), {
        "kng": GradientScore.at(plain, 1.0),
        "kng_smoothed": GradientScore.at(smooth, 1.0),
        "exponential": LossScore.at(plain, 1.0, 1.0),
        "exponential_sharp": LossScore.at(plain, 1.0, 1.0, sharp=True),
        "median": MedianScore(0.4 * np.column_stack([x[:, 1], y / 3.0]), 0.25),
    }


@pytest.mark.parametrize("number", [12, 150])
def test_scores_of_a_grid_are_those_of_its_places(number, rng):
    fit, scores = plane_scores(rng, number)
    # Not at the fit, where rounding decides which records count.
    grid = fit[:, None] + np.linspace(-0.5, 0.5, 24)
    places = np.stack(np.meshgrid(*grid, indexing="ij"), axis=-1)
    for score in scores.values():
        expected = score(places.reshape((-1, 2))).reshape((24, 24))
        np.testing.assert_allclose(score(*grid), expected, atol=1e-9)


def test_density_of_proposals_in_the_plane_integrates_to_one():
    grid = plane.Grid(np.array([0.1, -0.05]), 0.3, np.log(np.full((7, 7), 1.0 / 49.0)))
    # Middles of cells of the ball, whose area is 2 bound^2, in the coordinates x + y and x - y.
    middle = (np.arange(400) + 0.5) / 200.0 - 1.0
    total, difference = np.meshgrid(middle, middle)
    places = 0.5 * np.column_stack([(total + difference).ravel(), (total - difference).ravel()])
    density = np.exp(grid.log_mixture(1.5 * places, plane.UNIFORM, 1.5))
    assert np.mean(density) * 2.0 * 1.5**2 == pytest.approx(1.0, abs=0.01)


@pytest.mark.parametrize(
    ("name", "number"),
    [
        ("kng", 12),
        ("kng", 150),
        ("kng_smoothed", 150),
        ("exponential", 12),
        ("exponential_sharp", 150),
        ("median", 12),
    ],
)
def test_draws_in_the_plane_agree_with_quadrature(name, number, rng):
    fit, scores = plane_scores(rng, number)
    score = scores[name]
    centre = np.zeros(2) if name == "median" else l1_ball.project(fit, 1.0)
    places, values = plane.chains(rng, score, centre, 1.0, DRAWS, 40)
    drawn = places[:, -1]
    np.testing.assert_allclose(values[:50, -1], score(drawn[:50]), atol=1e-9)
    agree(drawn, score)


def test_the_bandwidth_falls_to_its_floor():
    sizes = [smoothing_bandwidth(n, 2) for n in (10, 100, 1000, 10**6)]
    assert sizes == sorted(sizes, reverse=True)
    np.testing.assert_allclose(sizes[2], ((2.0 + np.log(1000.0)) / 1000.0) ** 0.4)
    assert sizes[-1] == 0.05


# --- Geodesics, measures and summaries ---


def test_signed_angles_turn_with_the_shooting_vector():
    manifold = Sphere(2)
    fit = {"footpoint": np.array([[0.0, 0.0, 1.0]]), "shooting_vector": np.array([[0.5, 0.0, 0.0]])}
    turned = [np.radians(angle) for angle in (0.0, 90.0, -30.0, 170.0)]
    vectors = np.array([[[0.2 * np.cos(a), 0.2 * np.sin(a), 0.0] for a in turned]])[None]
    found = signed_angles(manifold, fit, fit["footpoint"][:, None], vectors)
    np.testing.assert_allclose(found, [[[0.0, 90.0, -30.0, 170.0]]], atol=1e-12)
    # Elsewhere the fitted vector is carried there.
    footpoint = np.array([[[np.sin(0.3), 0.0, np.cos(0.3)]]])
    carried = np.array([[[[0.5 * np.cos(0.3), 0.0, -0.5 * np.sin(0.3)]]]])
    np.testing.assert_allclose(signed_angles(manifold, fit, footpoint, carried), 0.0, atol=1e-12)


def test_share_of_data_sets_that_meet_a_condition(rng):
    table = pd.DataFrame({"width": [0.1, 0.2, 0.3, 0.4]})
    claim = SimpleNamespace(against_where=Conditions.parse("width <= 0.3"))
    found = MEASURES["share_meeting"].compute(claim, table, rng, 500)
    assert found.replicates[0] == 0.75
    assert found.says.startswith("3 of 4")
    assert abs(np.mean(found.replicates[1:]) - 0.75) < 0.1


def test_standard_errors_of_logarithms(rng):
    values = rng.gamma(20.0, size=4000)
    table = pd.DataFrame(
        {"mechanism": "kng", "guarantee": "proved", "budget": 1.0, "n": 10, "distance": values}
    )
    found = errors_by_size(table, "distance").iloc[0]
    assert found["estimate"] == "kng"
    np.testing.assert_allclose(found["standard_error_log"], 1.0 / np.sqrt(20.0 * 4000), rtol=0.1)
    np.testing.assert_allclose(
        found["standard_error_log10"] * np.log(10.0), found["standard_error_log"]
    )


def test_half_of_the_paper_s_sensitivity_is_enough_for_the_pinball_loss(rng):
    # Losses are not negative, so that they differ by no more than the largest.
    number = 100_000
    x = np.column_stack([np.ones(number), rng.choice((-1.0, 1.0), size=number)])
    y = rng.choice((-1.0, 1.0), size=number)
    theta = np.array([0.0, -1.0])
    over = x @ theta - y
    losses = np.where(over > 0.0, 0.3 * over, -0.7 * over)
    sharp = LossScore.at(Pinball(x, y, 0.7), 1.0, 1.0, sharp=True)
    np.testing.assert_allclose(np.ptp(losses), 0.5 / sharp.rate)
    assert LossScore.at(Pinball(x, y, 0.7), 1.0, 1.0).rate == 0.5 * sharp.rate
