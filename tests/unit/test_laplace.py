"""The Laplace mechanism: its radii against quadrature, its directions, budgets and refusals."""

from dataclasses import replace

import numpy as np
import pytest
from quadrature import laplace_radius
from scipy import stats
from scipy.integrate import cumulative_simpson, simpson

from geodp import DataError, GeodesicModel, GeomstatsManifold, Sphere
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.means import Laplace
from geodp.mechanisms.mechanism import PROVED, PublicSettings
from geodp.models.sensitivity import mean_sensitivity
from geodp.samplers.riemannian_laplace import draw_laplace

FALSE_ALARM = 6e-5
NUMBER, RADIUS = 20, 0.4
CENTRE, SPHERE = np.array([0.0, 0.0, 1.0]), Sphere(2)


RANK_ONE = {
    ("sphere", 1): (0.1, 3.0),
    ("sphere", 2): (0.02, 0.5, 3.0),
    ("sphere", 20): (0.05, 0.5),
    ("hyperbolic", 2): (0.1, 0.5),
    ("hyperbolic", 10): (0.08,),
    ("euclidean", 3): (20.0,),
    ("kendall", 3): (0.05, 1.0),
    ("kendall", 16): (0.01, 0.3),
}


@pytest.mark.parametrize(("kind", "scales"), RANK_ONE.items())
def test_distances_follow_their_distribution(kind, scales):
    manifold, rng = make_manifold(*kind), np.random.default_rng(1)
    centre = np.broadcast_to(manifold.random_point(rng), (20_000, *manifold.point_shape))
    for scale in scales:
        away = manifold.dist(centre, draw_laplace(rng, manifold, centre, scale))
        assert stats.kstest(away, laplace_radius(manifold, scale)).pvalue > FALSE_ALARM
        if manifold.dim > 1:
            # Without the volume of spheres of that radius the same test fails.
            wrong = laplace_radius(manifold, scale, volume=False)
            assert stats.kstest(away, wrong).pvalue < 1e-9


@pytest.mark.parametrize("scale", [0.1, 0.56])
def test_matrices_have_the_eigenvalues_of_hajri_and_others(scale):
    """Density exp(-|r| / sigma) sinh(|r1 - r2| / 2) of their logarithms, by quadrature."""
    spd, rng = make_manifold("spd", 2), np.random.default_rng(4)
    root = np.linalg.cholesky(spd.random_point(rng))
    centre = np.broadcast_to(root @ root.T, (20_000, 2, 2))
    drawn = draw_laplace(rng, spd, centre, scale)
    inverse = np.linalg.inv(root)
    logs = np.log(np.linalg.eigvalsh(inverse @ drawn @ inverse.T))
    reach = 60.0 / (1.0 / scale - spd.volume_growth)
    # Half the difference and half the sum of both.
    half, total = np.linspace(0.0, reach, 1501), np.linspace(-reach, reach, 3001)
    flat = np.exp(-np.sqrt(2.0) * np.hypot(half[:, None], total) / scale)

    def p_value(values, nodes, density, axis):
        mass = cumulative_simpson(simpson(density, axis=axis), x=nodes, initial=0.0)
        return stats.kstest(values, lambda x: np.interp(x, nodes, mass / mass[-1])).pvalue

    density, halves = flat * np.sinh(half[:, None]), 0.5 * (logs[:, 1] - logs[:, 0])
    assert p_value(halves, half, density, 1) > FALSE_ALARM
    assert p_value(0.5 * (logs[:, 1] + logs[:, 0]), total, density, 0) > FALSE_ALARM
    if scale > 0.1:
        # Without the volume they would be closer together.
        assert p_value(halves, half, flat * half[:, None], 1) < 1e-9


@pytest.mark.parametrize(
    ("kind", "widest", "least", "limit"),
    [(("spd", 2), 0.56, 0.6, 1.414), (("hyperbolic", 3), 0.32, 0.4, 0.5)],
)
def test_scales_without_a_finite_volume_are_refused(kind, widest, least, limit):
    manifold, rng = make_manifold(*kind), np.random.default_rng(8)
    centre = np.broadcast_to(manifold.random_point(rng), (10_000, *manifold.point_shape))
    drawn = draw_laplace(rng, manifold, centre, widest)
    assert manifold.are_points(drawn).all()
    assert np.all(np.isfinite(manifold.dist(centre, drawn)))
    for scale in (least, limit, 10.0):
        with pytest.raises(DataError, match=rf"finite volume for scales below {limit:.4g}"):
            draw_laplace(rng, manifold, centre[:1], scale)


def test_spaces_of_which_too_little_is_known_are_refused():
    space = object.__new__(GeomstatsManifold)
    space.name = "some space"
    with pytest.raises(DataError, match="some space is not known to be one"):
        draw_laplace(np.random.default_rng(1), space, np.ones((1, 3)), 0.1)


def ball_data():
    rng = np.random.default_rng(2)
    centre = np.broadcast_to(CENTRE, (2, NUMBER, 3))
    return SPHERE.exp(centre, SPHERE.random_tangent_in_ball(rng, centre, RADIUS))


def prepared(points, fit=None, **public):
    model = GeodesicModel(SPHERE, 0)
    settings = PublicSettings(**{"data_radius": RADIUS, "centre": CENTRE, **public})
    fit = model.fit(None, points) if fit is None else fit
    return Laplace.prepare(model, None, points, settings, fit)


def test_draws_are_about_the_mean_at_the_scale_of_the_budget():
    mechanism = prepared(ball_data())
    model = mechanism.model
    assert mechanism.guarantee.status == PROVED
    assert mechanism.sensitivity == mean_sensitivity(model, NUMBER, RADIUS)
    for budget in ("0.1", "2"):
        draws = mechanism.draw(np.random.default_rng(3), {"footpoint": budget}, {"footpoint": 4000})
        found = draws.parameters["footpoint"]
        assert found.shape == (2, 4000, 3)
        assert draws.reports["footpoint"].exact_share == 1.0
        scale = mechanism.sensitivity / float(budget)
        for mean, points in zip(model.fit(None, ball_data()).footpoint, found, strict=True):
            away = model.manifold.dist(mean, points)
            assert stats.kstest(away, laplace_radius(SPHERE, scale)).pvalue > FALSE_ALARM
            # A budget judged wrong by a tenth would be seen.
            assert stats.kstest(away, laplace_radius(SPHERE, 1.1 * scale)).pvalue < 1e-4
            frame = model.manifold.frame(mean)
            steps = model.manifold.coordinates(mean, model.manifold.log(mean, points), frame)
            angle = np.arctan2(steps[:, 0], steps[:, 1]) / (2.0 * np.pi) + 0.5
            assert stats.kstest(angle, "uniform").pvalue > FALSE_ALARM


def test_a_mean_may_lie_on_the_rim_of_the_ball():
    """As that of records which all lie there; rounding puts some of both beyond it."""
    rim = SPHERE.random_direction(np.random.default_rng(6), np.broadcast_to(CENTRE, (50, 3)))
    points = np.repeat(SPHERE.exp(CENTRE, RADIUS * rim)[:, None], NUMBER, axis=1)
    assert np.any(SPHERE.dist(CENTRE, prepared(points).mean) > RADIUS)


def test_data_and_means_that_will_not_do_are_refused():
    points, model = ball_data(), GeodesicModel(SPHERE, 0)
    fit = model.fit(None, points)
    outside, no_number = points.copy(), points.copy()
    outside[1, 6] = SPHERE.project(np.array([0.9, 0.0, 1.0]))
    no_number[0, 3] = np.nan
    for given, found, public, message in (
        (outside, None, {}, r"^record 7 of data set 2 is not within .* radius 0\.4"),
        (no_number, fit, {}, r"^record 4 of data set 1 is not within"),
        (points, replace(fit, converged=np.array([True, False])), {}, "has not converged"),
        (points, model.fit(None, -points), {}, "not within the ball of its data"),
        (points, None, {"data_radius": 0.8}, r"data_radius is 0\.8.*below 0\.7854"),
        (points, None, {"centre": None}, "give its centre"),
    ):
        with pytest.raises(DataError, match=message):
            prepared(given, fit=found, **public)
