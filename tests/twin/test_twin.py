"""The twin's numbers against the project's own, within four joint standard errors."""

import numpy as np
import pytest

from geodp.linear.least_squares import Exponential, Gradient, LeastSquares, draw, perturb_objective
from geodp.linear.moments import Moments
from geodp.manifolds.registry import make_manifold
from geodp.means.ambient import embed
from geodp.means.losses import realised_losses
from geodp.means.problem import fitted
from geodp.means.sensitivity import largest_change_of_logs
from geodp.mechanisms import means as mechanisms
from geodp.models.fitting import fit
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import gradient_sensitivity

from . import geodesic, linear, means, spd, sphere
from .registry import average

pytestmark = pytest.mark.slow
SPACES = {"sphere": (sphere, make_manifold("sphere", 2)), "spd": (spd, make_manifold("spd", 2))}


def agree(ours, theirs):
    """Two values with standard errors, of which one at least was drawn."""
    assert abs(ours[0] - theirs[0]) < 4 * np.hypot(ours[1], theirs[1])


@pytest.mark.parametrize("name", SPACES)
def test_fits_and_sensitivities(name):
    space, manifold = SPACES[name]
    rng = np.random.default_rng(1)
    for n in (20, 50):
        x, y = geodesic.SIMULATE[space](n, geodesic.NOISE[space], rng)
        release = geodesic.Release(space, x, y)
        found = fit(GeodesicModel(manifold, 1), x[:, None], y)
        apart = space.distance(release.p, np.asarray(found.footpoint))
        assert apart < 1e-6
        bounds = gradient_sensitivity(GeodesicModel(manifold, 1), np.array(release.tau), n, 1.0)
        np.testing.assert_allclose([float(b) for b in bounds.blocks.values()], release.delta)


@pytest.mark.parametrize("name", SPACES)
@pytest.mark.parametrize("n", [20, 40])
def test_errors_of_private_means(name, n):
    """Draws of the mechanisms against quadrature, for the same means."""
    space, manifold = SPACES[name]
    rng = np.random.default_rng(2)
    y = np.stack([means.sample(space, n, rng) for _ in range(400)])
    problem = fitted(manifold, means.CENTRE[space], means.RADIUS[space], y)
    scale = means.EMPIRICAL / n if space is sphere else 2 * means.bound(space, n)
    vector = (lambda m: m) if space is sphere else means.half_vector
    ours = []
    for m in problem.mean:
        x, chance = means.laplace_nodes(space, m, scale)
        ours.append(np.linalg.norm(vector(x) - vector(m), axis=-1) @ chance)
    by_draws = {}
    laplace = {"sphere": mechanisms.LaplaceAsPublished, "spd": mechanisms.LaplaceGeneral}[name]
    for mechanism in (laplace, mechanisms.AmbientLaplace):
        drawn = mechanism.of(problem).private_means(rng, 1.0)
        moved = embed(manifold, drawn) - embed(manifold, problem.mean)
        by_draws[mechanism.name] = average(np.linalg.norm(moved, axis=-1))
    agree(average(ours), by_draws[laplace.name])
    agree((3 * means.ambient_scale(space, n), 0.0), by_draws["ambient_laplace"])
    if space is spd:
        outside = np.linalg.eigvalsh(drawn)[:, 0] <= 0
        agree(means.spd_outside()[f"n{n}"], average(outside))


def test_ambient_budget_and_largest_change():
    found = realised_losses(SPACES["spd"][1], np.eye(2), 1.5, 20, 1.0)["ambient_laplace"]
    assert means.ambient_budget()["n20"][0] == pytest.approx(found, rel=1e-6)
    found = largest_change_of_logs(SPACES["sphere"][1], np.pi / 8)
    assert means.largest_change(np.pi / 8) == pytest.approx(found, rel=1e-4)


@pytest.mark.parametrize("n", [100, 10_000])
def test_linear_regression(monkeypatch, n):
    """Errors for the same data sets, by chains here and mostly by rejection there."""
    monkeypatch.setitem(linear.REPLICATES, n, 30)
    linear.linear_errors.cache_clear()
    ours = linear.linear_errors(n)[0]
    rng = np.random.default_rng([13, n])
    gram, cross, largest = zip(*(linear.moments(n, rng) for _ in range(30)), strict=True)
    numbers = np.full(30, n)
    of_all = Moments(numbers, np.array(gram), np.array(cross), np.array(largest))
    problem = LeastSquares(of_all.scaled(), 1.0)
    draws = {
        "kng": draw(rng, problem, Gradient.as_printed(1.0, 1.0), 10_000).theta,
        "exponential": draw(rng, problem, Exponential.at(1.0, 1.0), 10_000).theta,
        "objective": perturb_objective(rng, problem, 1.0),
    }
    for name, theta in draws.items():
        errors = np.linalg.norm(np.array(largest)[:, None] * theta - linear.TRUTH, axis=-1)
        agree(average(ours[name].mean(-1) - errors), (0.0, 0.0))
