"""The twin's numbers against the project's own, at settings of the papers.

Each test names the sentences that rest on its numbers.
"""

import numpy as np
import pytest

from geodp import GeodesicModel, PublicSettings
from geodp.audit import mean_losses, published
from geodp.audit.worst_neighbours import Pair
from geodp.linear.least_squares import Exponential, Gradient, LeastSquares, draw, perturb_objective
from geodp.linear.pinball import GradientScore, LossScore, Pinball
from geodp.linear.plane import chains
from geodp.linear.simulated_moments import Moments
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms import mean_noise
from geodp.mechanisms import means as mechanisms
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.models.sensitivity import largest_change_of_logs, neighbour_ratios
from geodp.samplers.choice import plan

from . import geodesic, linear, means, spd, sphere

pytestmark = pytest.mark.slow
SPACES = {"sphere": (sphere, make_manifold("sphere", 2)), "spd": (spd, make_manifold("spd", 2))}
PUBLIC = {"sphere": PublicSettings(), "spd": PublicSettings(data_radius=geodesic.DATA_RADIUS)}


def agree(ours, theirs):
    """Means of values, or one that is known to a hundredth: within four joint standard errors."""
    both = [np.atleast_1d(each) for each in (ours, theirs)]
    error = np.hypot(*(np.std(each) / np.sqrt(len(each)) for each in both))
    assert abs(np.mean(ours) - np.mean(theirs)) < 4 * error + 0.01 * abs(np.mean(ours))


@pytest.mark.parametrize(
    ("name", "n", "budgets"),
    [
        # {sphere,spd}_{n,gap_n,approach}, footpoint_{mean,deviation}, angle_deviation, error_n
        *(("sphere", 20, (1.0, 1.0)), ("sphere", 100, (1.0, 1.0))),
        *(("spd", 20, (1.0, 1.0)), ("spd", 50, (1.0, 1.0))),
        # {sphere,spd}_{budget,tails}, error_small
        ("sphere", 20, (0.1, 0.1)),
        # {sphere,spd}_{split}
        *(("sphere", 20, (0.46, 1.56)), ("sphere", 20, (1.56, 0.46)), ("spd", 20, (1.56, 0.46))),
    ],
)
def test_releases(name, n, budgets):
    (space, manifold), rng = SPACES[name], np.random.default_rng(1)
    release = geodesic.Release(space, *geodesic.simulate(space, n, rng))
    model, data = GeodesicModel(manifold), (release.x[None], release.y[None])
    fit, each = model.fit(*data), dict(zip(model.blocks, budgets, strict=True))
    assert geodesic.distance(space, release.p, fit.footpoint[0]) < 1e-6
    drawn = KNGAsPublished.prepare(model, *data, PUBLIC[name], fit)
    counts = dict(zip(model.blocks, (100, 3), strict=True))
    p, v = drawn.draw(rng, each, counts, plan).parameters.values()
    p = p[:, :, None]
    start, vector = np.broadcast_arrays(fit.footpoint, p)[0], fit.shooting_vector
    carried = manifold.transport_to(start, p, np.broadcast_to(vector, p.shape))
    p, carried = np.broadcast_to(p, v.shape), np.broadcast_to(carried, v.shape)
    e = model.residual_distances(model.parameters(p, v), *data)
    turned = manifold.norm(p, v - carried)
    found = manifold.dist(start, p[:, :, :1]), turned, np.log((e**2).mean(-1)), e.mean(-1)
    for ours, theirs in zip(release.expectations(budgets, rng), found, strict=True):
        agree(ours, theirs[0].mean(-1))


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("n", [20, 100])
def test_ratios_of_neighbours(name, n):
    """{sphere,spd}_ratios, ratios_{above,tight}, spd_printed."""
    (space, manifold), rng = SPACES[name], np.random.default_rng(2)
    x, y = geodesic.simulate(space, n + 1, rng)
    found = neighbour_ratios(GeodesicModel(manifold), x[None], y[None], geodesic.DATA_RADIUS)
    keys = ["ratio_footpoint", "ratio_shooting_vector", "ratio_shooting_vector_printed"]
    for key, ratio in zip(keys, geodesic.neighbour_ratios(space, x, y), strict=True):
        if key in found:
            assert ratio == pytest.approx(found[key][0], rel=1e-5)


def test_loss_of_footpoints():
    """privacy"""
    rng = np.random.default_rng(3)
    x, y = geodesic.simulate(sphere, 20, rng)
    other = y.copy()
    other[0] = sphere.exp(y[0], np.array([0.1, 0.1]))
    pair = Pair(np.stack([x, x]), np.stack([y, other]), 0)
    variant = published.VARIANTS["tau shared, v fixed, any footpoint"]
    centre = y.mean(0) / np.linalg.norm(y.mean(0))
    setting = published.SphereSetting(published.SPHERE, centre, np.pi / 4, 1.0)
    found = published.pair_loss(rng, variant, setting, 1.0, pair)
    loss = geodesic.footpoint_loss(x, y, other, 1.0, found.place)
    assert loss == pytest.approx(found.loss, rel=0.01)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("n", [20, 40])
def test_private_means(name, n):
    """{sphere,spd}_utility, spd_outside, sphere_reduction, positive_curvature, close, grid"""
    (space, manifold), rng = SPACES[name], np.random.default_rng(4)
    y = np.stack([means.sample(space, n, rng) for _ in range(400)])
    problem = mechanisms.MeanProblem.fitted(manifold, means.CENTRE[space], means.RADIUS[space], y)
    some = range(0, 400, 20)
    m = [means.mean(space, y[i]) for i in some]
    np.testing.assert_allclose(m, problem.mean[::20], atol=1e-8)
    laplace = mechanisms.LaplaceAsPublished if space is sphere else mechanisms.LaplaceGeneral
    assert means.bound(space, n) == pytest.approx(laplace.of(problem).sensitivity)
    scale = means.laplace_scale(space, n)
    drawn = {
        each.name: each.of(problem).private_means(rng, 1.0)
        for each in (laplace, mean_noise.AmbientLaplace, mechanisms.KNormGradient)
    }
    moved = {
        key: geodesic.norm(means.ambient(each) - means.ambient(problem.mean))
        for key, each in drawn.items()
    }
    agree(np.mean([means.laplace_error(space, each, scale) for each in m]), moved[laplace.name])
    agree(3 * means.ambient_scale(space, n), moved["ambient_laplace"])
    if space is spd:
        outside = np.linalg.eigvalsh(drawn["ambient_laplace"])[:, 0] <= 0
        agree(np.mean([means.share_outside(each, n) for each in m]), outside)
        return
    # Theorem 4 of 003: noise of D dimensions in d of them.
    flat = drawn["ambient_laplace"] - problem.mean
    flat = (flat**2).sum(-1) - (flat * problem.mean).sum(-1) ** 2
    agree(2 * (3 + 1) * means.ambient_scale(sphere, n) ** 2, flat)
    radius, expected = 2 * means.RADIUS[sphere], []
    for i in some:
        x, weight = means.kng_nodes(y[i], radius)
        chance = np.exp(means.kng_log_density(y[i], x, weight) + weight)
        expected.append(chance @ geodesic.distance(sphere, problem.mean[i], x))
    agree(np.mean(expected), manifold.dist(problem.mean, drawn["kng"]))


def test_losses_of_private_means():
    """budget, ambient_budget, grid"""
    (_, ball), (_, matrices) = SPACES.values()
    assert means.largest_change() == pytest.approx(largest_change_of_logs(ball, np.pi / 8), 1e-3)
    problems = mean_losses.problems_of_neighbours(matrices, np.eye(2), 1.5, 20)
    found = np.max(mean_losses.losses_by_form(problems, 1.0)["ambient_laplace"])
    ends = np.stack([np.diag([np.exp(end), 1.0]) for end in (1.5, -1.5)])
    moved = [means.ambient(means.mean(spd, ends[np.r_[np.zeros(19, int), k]])) for k in (0, 1)]
    assert geodesic.norm(moved[0] - moved[1]) / means.ambient_scale(spd, 20) == pytest.approx(found)
    for n in (3, 25):
        about = ball, means.CENTRE[sphere], np.pi / 8
        both = [each[:6] for each in mean_losses.neighbours(*about, n)]
        fitted = [mechanisms.MeanProblem.fitted(*about, y) for y in both]
        found = mean_losses.gradient_losses(fitted, 1.0, np.pi / 4)
        largest = []
        for first, second in zip(*both, strict=True):
            x, weight = means.kng_nodes(first, np.pi / 4)
            logs = [means.kng_log_density(y, x, weight) for y in (first, second)]
            largest.append(np.abs(logs[0] - logs[1])[np.isfinite(weight)].max())
        np.testing.assert_allclose(largest, found, rtol=0.05)


@pytest.mark.parametrize("n", [100, 10_000])
def test_linear_regression(n):
    """linear_*, noise, similar, sample_size"""
    rng = np.random.default_rng(13)
    square, product, largest = linear.moments(n, rng)
    expected = linear.linear_errors(square, product, largest, rng, 100_000)
    count = 200
    stacked = [np.repeat(np.asarray(each)[None], count, 0) for each in (square, product, largest)]
    problem = LeastSquares(Moments(np.full(count, n), *stacked).scaled(), 1.0)
    draws = {
        "kng": draw(rng, problem, Gradient.as_printed(1.0, 1.0)),
        "exponential": draw(rng, problem, Exponential.at(1.0, 1.0)),
        "objective": perturb_objective(rng, problem, 1.0),
    }
    for name, theta in draws.items():
        agree(expected[name], geodesic.norm(largest * theta - linear.TRUTH))


@pytest.mark.parametrize("n", [10, 100, 1000])
def test_quantile_regression(n):
    """quantile_*"""
    rng, truth = np.random.default_rng(14), np.array([0.0, -1.0])
    x = rng.uniform(-1, 1, n)
    y = truth[1] * x + rng.standard_normal(n)
    largest = np.abs(y).max()
    records = Pinball(np.stack([np.ones(n), x], -1), y / largest, 0.5)
    expected = linear.quantile_errors(x, y, truth)
    fit = records.fit()
    assert expected["fit"] == pytest.approx(geodesic.norm(largest * fit - truth), rel=1e-3)
    scores = {"kng": GradientScore.at(records, 1.0), "exponential": LossScore.at(records, 1.0, 1.0)}
    for name, score in scores.items():
        places, _ = chains(rng, score, fit / max(1, np.abs(fit).sum()), 1.0, 400, 200)
        agree(expected[name], geodesic.norm(largest * places[:, -1] - truth))
