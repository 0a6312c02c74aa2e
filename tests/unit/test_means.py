"""Private Frechet means of many data sets: draws and budgets."""

from functools import lru_cache
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import stats

from geodp import DataError, Distance, GeodesicModel
from geodp.audit.mean_losses import losses_by_form, problems_of_neighbours
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms import mean_noise
from geodp.mechanisms.gaussian import (
    gaussian_delta,
    gaussian_deviation,
    wrapped_gaussian_delta,
    wrapped_gaussian_deviation,
)
from geodp.mechanisms.means import MeanProblem, ambient_radius, embed
from geodp.mechanisms.mechanism import PROVED, PublicSettings
from geodp.mechanisms.registry import mechanism_class, named_in
from geodp.samplers.kernel import by_rejection
from geodp.samplers.riemannian_laplace import draw_laplace
from reproduction.tables.means import contaminated, in_ball, pole

FALSE_ALARM = 6e-5
SPD, SPHERE = make_manifold("spd", 2), make_manifold("sphere", 2)
SPACES = {"SPD(2)": (SPD, 1.5), "S^2": (SPHERE, np.pi / 8)}


@pytest.fixture
def rng():
    return np.random.default_rng(14)


def problem(rng, name, number=30, data_sets=200):
    manifold, radius = SPACES[name]
    points = in_ball(rng, manifold, radius, (data_sets, number))
    return MeanProblem.fitted(manifold, pole(manifold), radius, points)


def private(name, rng, given, budget):
    """Private means by the mechanism of a name."""
    return mechanism_class(name).of(given).private_means(rng, budget)


def test_simulated_data_are_at_uniform_distances_within_the_ball(rng):
    _, radius = SPACES["S^2"]
    away = SPHERE.dist(pole(SPHERE), in_ball(rng, SPHERE, radius, (40, 25)))
    assert np.max(away) <= radius
    assert stats.kstest(away.ravel() / radius, "uniform").pvalue > FALSE_ALARM


@pytest.mark.parametrize(
    ("name", "number", "scale", "published", "support"),
    # The second is proved, whatever the base measure is; the first is that of the paper.
    [
        ("S^2", 12, 0.15, np.pi / 4 * (2.0 - np.pi / 4), np.pi / 4),
        ("SPD(2)", 8, 0.2, 4.0 * 1.5, np.inf),
    ],
)
def test_gradient_density_agrees_with_weighted_draws(name, number, scale, published, support, rng):
    one = problem(rng, name, number, data_sets=1)
    manifold, kng = one.manifold, mechanism_class("kng").of(one)
    assert kng.scale(0.5) == pytest.approx(published / (number * 0.5))
    assert kng.support_radius == support
    [drawn] = kng.many_means(rng, kng.scale(1.0) / scale, 6000)
    # The same means over the distribution, by weighted draws of a wider one.
    wide = 1.5 * scale
    proposed = draw_laplace(rng, manifold, np.repeat(one.mean, 60000, axis=0), wide)
    [block] = one.model.blocks
    gradient = one.model.energy_gradient({block: proposed[None]}, None, one.points).gradient[block]
    away = manifold.dist(one.mean, proposed)
    log_weight = away / wide - manifold.norm(proposed, gradient[0]) / scale
    log_weight[manifold.dist(one.centre, proposed) > kng.support_radius] = -np.inf
    weights = np.exp(log_weight - np.max(log_weight))
    weights /= np.sum(weights)
    last = (lambda p: np.linalg.slogdet(p)[1]) if manifold is SPD else (lambda p: p[..., 0])
    for feature in (lambda p: manifold.dist(one.mean, p), last):
        values, mine = feature(proposed), feature(drawn)
        expected = weights @ values
        spread = np.sqrt(weights**2 @ (values - expected) ** 2)
        error = np.hypot(spread, np.std(mine) / np.sqrt(len(mine)))
        assert abs(np.mean(mine) - expected) < stats.norm.isf(FALSE_ALARM / 2) * error


@lru_cache
def matrices(number):
    return problem(np.random.default_rng(13), "SPD(2)", number, data_sets=600)


def sensitivity(number):
    return 2.0 * 1.5 / number


GAUSSIAN = gaussian_deviation(sensitivity(30), 0.8, 1e-6)
WRAPPED_GAUSSIAN = wrapped_gaussian_deviation(SPD, sensitivity(30), 0.8, 1e-6)
# By mechanism: numbers of records, the distribution of the noise's length, and its scale.
NOISE = {
    "tangent_laplace": (30, stats.gamma(3), sensitivity(30) / 0.8),
    "tangent_gaussian": (30, stats.chi(3), GAUSSIAN),
    "wrapped_gaussian": (30, stats.chi(3), WRAPPED_GAUSSIAN),
    # A wrapped draw pays for the distortion of volume, whose growth is the root of a half.
    "wrapped_laplace": (5, stats.gamma(3), 1.0 / (0.8 / sensitivity(5) - np.sqrt(0.5))),
    "wrapped_laplace_at_centre": (30, stats.gamma(3), sensitivity(30) / 0.8),
    "wrapped_gaussian_at_centre": (30, stats.chi(3), GAUSSIAN),
    "ambient_laplace": (30, stats.gamma(3), 2.0 * ambient_radius(SPD, 1.5) / (30 * 0.8)),
}


@pytest.mark.parametrize("name", NOISE)
def test_noise_has_the_size_of_its_budget(name, rng):
    number, noise, scale = NOISE[name]
    one = matrices(number)
    drawn = private(name, rng, one, 0.8)
    if name.startswith("tangent"):
        base, mean = one.mean_of_logs(one.centre, one.radius)
        length = SPD.norm(base, SPD.log(base, drawn) - mean)
    elif name.endswith("at_centre"):
        base = np.broadcast_to(one.centre, drawn.shape)
        length = SPD.norm(base, SPD.log(base, drawn) - SPD.log(base, one.mean))
    elif name.startswith("wrapped"):
        length = SPD.dist(one.mean, drawn)
    else:
        length = np.linalg.norm(embed(SPD, drawn) - embed(SPD, one.mean), axis=-1)
    assert stats.kstest(length / scale, noise.cdf).pvalue > FALSE_ALARM
    assert stats.kstest(length / (1.15 * scale), noise.cdf).pvalue < 1e-3


@pytest.mark.parametrize("epsilon", [0.3, 1.0, 3.0])
def test_the_delta_of_gaussian_noise_agrees_with_quadrature(epsilon):
    ratio = 0.7
    # The hockey-stick divergence of normal distributions that are so far apart.
    x = np.linspace(-15.0, 15.0, 300_001)
    excess = stats.norm.pdf(x) - np.exp(epsilon) * stats.norm.pdf(x + ratio)
    expected = np.trapezoid(np.maximum(excess, 0.0), x)
    assert gaussian_delta(epsilon, ratio) == pytest.approx(expected, rel=1e-5)
    deviation = gaussian_deviation(2.0, epsilon, 1e-6)
    assert gaussian_delta(epsilon, 2.0 / deviation) == pytest.approx(1e-6, rel=1e-6)


@pytest.mark.parametrize(("kind", "size"), [("spd", 2), ("hyperbolic", 2)])
def test_wrapped_gaussian_noise_keeps_within_its_delta(kind, size, rng):
    # The divergence between two centres, by the mean of its density's excess over draws.
    manifold, draws, moved, deviation = make_manifold(kind, size), 40_000, 0.5, 0.6
    centre = np.broadcast_to(manifold.random_point(rng), (draws, *manifold.point_shape))
    drawn = manifold.exp(centre, deviation * manifold.random_tangent(rng, centre))
    along = np.ones(manifold.dim) / np.sqrt(manifold.dim)
    other = manifold.exp(centre, moved * manifold.tangent(centre, along))

    def log_density(at):
        vector = manifold.log(at, drawn)
        volume = manifold.exp_volume(at, vector)
        return -0.5 * (manifold.norm(at, vector) / deviation) ** 2 - np.log(volume)

    loss = log_density(centre) - log_density(other)
    for epsilon in (0.1, 0.5, 1.0):
        excess = np.maximum(-np.expm1(epsilon - loss), 0.0)
        bound = wrapped_gaussian_delta(manifold, moved, deviation, epsilon, 1e-4)
        assert np.mean(excess) <= bound + 4.0 * np.std(excess) / np.sqrt(draws)
        assert np.mean(excess) > 0.2 * gaussian_delta(epsilon, moved / deviation)


def test_the_delta_of_wrapped_gaussian_noise_is_that_of_its_docstring():
    # On SPD(2) the growth of volume is the root of a half, and so is that of the least curvature.
    moved, deviation, epsilon, tail = 0.3, 0.8, 1.5, 1e-3
    longest = deviation * np.sqrt(stats.chi2(3).isf(tail)) + moved
    angle = np.sqrt(0.5) * longest
    spent = np.sqrt(0.5) * moved + 0.5 * (moved / deviation) ** 2 * (angle / np.tanh(angle) - 1.0)
    assert spent > 0.3
    expected = tail + gaussian_delta(epsilon - spent, moved / deviation)
    found = wrapped_gaussian_delta(SPD, moved, deviation, epsilon, tail)
    assert found == pytest.approx(expected, rel=1e-9)


WRAPPED = ["wrapped_laplace", "wrapped_gaussian"]


@pytest.mark.parametrize("name", WRAPPED)
def test_wrapped_draws_need_a_space_and_a_budget_for_the_distortion_of_volume(name, rng):
    """About the centre there is none, and any budget will do."""
    at_centre, one = f"{name}_at_centre", problem(rng, "SPD(2)", 3, 2)
    for each in (name, at_centre):
        with pytest.raises(DataError, match="positive curvature"):
            private(each, rng, problem(rng, "S^2", data_sets=2), 1.0)
    assert 0.7 * sensitivity(3) < SPD.volume_growth * sensitivity(3)
    with pytest.raises(DataError, match="take a larger one, or more records"):
        private(name, rng, one, 0.7)
    assert np.all(SPD.are_points(private(at_centre, rng, one, 0.7)))


def test_rejection_keeps_imaginary_parts(rng):
    def propose(left):
        return rng.random(len(left)) < 0.5, np.full((len(left), 2), 1.0 + 2.0j)

    drawn, left = by_rejection((50, 2), propose)
    assert len(left) == 0
    assert np.all(drawn == 1.0 + 2.0j)


@pytest.mark.parametrize("name", named_in("means"))
def test_several_draws_of_each_data_set_are_about_its_own_mean(name, rng):
    """By the protocol of studies, and each data set with its own budget's scale."""
    others = {"landmarkwise_laplace": make_manifold("kendall", 5), "laplace_as_published": SPHERE}
    manifold = others.get(name, SPD)
    centre = manifold.random_point(rng) if manifold.dtype is complex else pole(manifold)
    starts = np.broadcast_to(centre, (2, 40, *manifold.point_shape))
    points = manifold.exp(starts, 0.2 * manifold.random_direction(rng, starts))
    model = GeodesicModel(manifold, 0)
    public = PublicSettings(data_radius=0.3, centre=centre)
    given = mechanism_class(name).prepare(model, None, points, public, model.fit(None, points))
    drawn = given.draw(rng, {"footpoint": "4"}, {"footpoint": 200}).parameters["footpoint"]
    assert drawn.shape == (2, 200, *manifold.point_shape)
    second = given.take(slice(1, 2))
    again = second.draw(rng, {"footpoint": "4"}, {"footpoint": 200}).parameters["footpoint"]
    away = [manifold.dist(given.mean[1], each) for each in (drawn[1], again[0])]
    assert stats.ks_2samp(*away).pvalue > FALSE_ALARM
    assert given.guarantee.status == given.status(manifold)


def test_what_is_proved_is_told_by_space():
    everywhere, nonpositive, nowhere = [True] * 3, [True, False, False], [False] * 3
    for name, expected in (
        *(("laplace", everywhere), ("private_steps", everywhere), ("kng", nonpositive)),
        *(("laplace_as_published", nonpositive), ("ambient_laplace", nowhere)),
        ("landmarkwise_laplace", nowhere),
    ):
        status = mechanism_class(name).status
        found = [status(each) == PROVED for each in (SPD, SPHERE, make_manifold("kendall", 5))]
        assert found == expected, name


@pytest.mark.parametrize("name", SPACES)
def test_steps_in_tangent_spaces_lead_to_the_mean_where_budgets_are_large(name, rng):
    one = problem(rng, name, data_sets=50)
    found = {
        mechanism: np.max(one.manifold.dist(one.mean, private(mechanism, rng, one, 1e6)))
        for mechanism in ("tangent_laplace", "private_steps")
    }
    # The mean of logarithms at the centre is not the Frechet mean; the second step mends it.
    assert found["private_steps"] < 0.2 * found["tangent_laplace"]


def test_a_step_moves_by_its_sensitivity_whatever_the_data(rng):
    # What is clipped moves the mean of the logarithms by no more than twice the radius over n.
    one = problem(rng, "SPD(2)", data_sets=1)
    outside = one.points.copy()
    outside[0, 0] = SPD.exp(np.eye(2), 9.0 * np.diag([1.0, 0.0]))
    other = type(one)(one.model, one.centre, one.radius, outside, one.mean)
    first, second = (
        private("tangent_laplace", np.random.default_rng(3), each, 1e9) for each in (one, other)
    )
    base = np.broadcast_to(np.eye(2), first.shape)
    moved = SPD.norm(base, SPD.log(base, first) - SPD.log(base, second))
    assert np.max(moved) <= 2.0 * one.radius / 30 + 1e-6


def test_losses_on_matrices_have_a_closed_form():
    n, r, budget = 40, 1.5, 0.7
    found = losses_by_form(problems_of_neighbours(SPD, np.eye(2), r, n), budget)
    # All but one record at the end of the ball, and the last at either end.
    moved = np.exp(r) * -np.expm1(-2.0 * r / n)
    largest = {name: np.max(values) for name, values in found.items()}
    assert largest["ambient_laplace"] == pytest.approx(budget * n * moved / (2.0 * np.expm1(r)))
    assert largest["laplace"] == pytest.approx(budget)
    assert largest["laplace_general"] == pytest.approx(0.5 * budget)


@pytest.mark.parametrize("name", ["laplace", "laplace_as_published", "ambient_laplace"])
def test_mean_distances_with_a_formula_are_those_of_draws(name):
    one = problem(np.random.default_rng(1), "S^2", 20, data_sets=2)
    mechanism = mechanism_class(name).of(one)
    drawn = embed(SPHERE, mechanism.many_means(np.random.default_rng(2), 1.0, 20_000))
    away = np.linalg.norm(drawn - embed(SPHERE, mechanism.mean)[:, None], axis=-1)
    error = np.std(away) / np.sqrt(away.size)
    assert abs(np.mean(away) - mechanism.expected_distance(1.0)) < 4.0 * error


@pytest.mark.parametrize(
    ("name", "scales"),
    [
        # Twice the clip, in parts of the radius, over what is spent.
        ("private_steps", [2.0 * 1.0 / 0.2, 2.0 * 1.25 / 1.8]),
        # A fifth of each step is for the mean of the weights, which one record moves by one.
        ("private_median", [2.0 * 0.1 / 0.4, 1.0 / 0.1] * 4),
    ],
)
def test_steps_share_the_budget(name, scales, rng, monkeypatch):
    """By the scales of their noise, times the number of records."""
    one, found = problem(rng, "S^2", data_sets=5), []

    def of_logs(_, manifold, base, scale):
        found.append(scale * one.number / one.radius)
        return np.zeros_like(base)

    def of_weights(scale, size):
        found.append(scale * one.number)
        return np.zeros(size)

    monkeypatch.setattr(mean_noise, "tangent_laplace", of_logs)
    private(name, SimpleNamespace(laplace=of_weights), one, 2.0)
    np.testing.assert_allclose(found, scales)


def test_noise_for_each_landmark_has_the_published_scales(rng):
    manifold = make_manifold("kendall", 5)
    start = manifold.random_point(rng, (1, 1))
    direction = manifold.random_direction(rng, np.broadcast_to(start, (1, 20, 5)))
    points = manifold.exp(start, 0.1 * direction)
    one = MeanProblem.fitted(manifold, start[0, 0], 0.2, points)
    scales = []

    def laplace(scale):
        scales.append(scale)
        return np.zeros_like(scale)

    drawn = private("landmarkwise_laplace", SimpleNamespace(laplace=laplace), one, 0.5)
    assert manifold.dist(one.mean, drawn)[0] < 1e-9
    mean = one.mean[0]
    turned = np.array([y * np.exp(-1j * np.angle(np.vdot(mean, y))) for y in points[0]])
    away = turned - mean
    expected = [np.max(np.abs(part), axis=0) for part in (away.real, away.imag)]
    assert np.allclose(np.squeeze(scales), 4 * 5 * np.array(expected) / (20 * 0.5))


@pytest.mark.parametrize(("kind", "size"), [("spd", 2), ("kendall", 6)])
def test_private_steps_lead_to_the_median_among_outliers(kind, size, rng):
    manifold = make_manifold(kind, size)
    centre = manifold.random_point(rng)
    points = contaminated(rng, manifold, centre, 0.3, (30, 200), 0.2)
    away = manifold.dist(centre, points)
    assert np.max(away) <= 0.3
    assert np.all(np.sum(away > 0.3 * 0.4, axis=1) == 40)
    one = MeanProblem.fitted(manifold, centre, 0.3, points)
    median = GeodesicModel(manifold, 0, Distance()).fit(None, points).footpoint
    found = private("private_median", rng, one, 1e6)
    off = {name: manifold.dist(centre, p) for name, p in (("mean", one.mean), ("median", median))}
    assert np.all(manifold.dist(found, median) < 0.2 * off["mean"])
    assert np.all(off["median"] < 0.4 * off["mean"])
