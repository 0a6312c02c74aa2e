"""Models on every space: `check_model`, closed forms, robust fits, refusals and invariance."""

import re
from unittest import mock

import numpy as np
import pytest
from conftest import space_of
from model_checks import DATA_SETS, check_model, directions, moved
from scipy.optimize import least_squares

import geodp
from geodp import DataError, GeodesicModel, Hyperbolic, KendallPlanarShapes, Sphere
from geodp.manifolds.registry import make_manifold
from geodp.models import geodesic
from geodp.models.blocks import FOOTPOINT
from geodp.models.fitting import CUT_LOCUS_FRACTION, FitError
from geodp.models.losses import Distance, Huber, SquaredDistance
from geodp.models.residuals import kind_of


def model_of(manifold, huber=None):
    """Geodesic regression, by least squares or with Huber's loss of a threshold."""
    return GeodesicModel(manifold, 1, SquaredDistance() if huber is None else Huber(huber))


def fit(manifold, covariates, points, huber=None):
    return model_of(manifold, huber).fit(covariates, points)


# What every model promises


MODELS = {
    "mean": (0, SquaredDistance()),
    "median": (0, Distance()),
    "one covariate": (1, SquaredDistance()),
    "one covariate, Huber": (1, Huber(0.3)),
    "two covariates, Huber": (2, Huber(0.3)),
    "three covariates": (3, SquaredDistance()),
}

# All kinds on one space, and the hardest of them on others; outlines of 50 landmarks take seconds.
CHECKED = [
    *(("S2", kind) for kind in MODELS),
    *((space, "median") for space in ("R3", "H2", "SPD2", "Kendall4")),
    *((space, "mean") for space in ("H2", "SPD2", "SPD3")),
    *((space, "two covariates, Huber") for space in ("R3", "H1", "H2", "SPD2", "Kendall4")),
    *((space, "three covariates") for space in ("SPD3", "Kendall8", "Reduced4of50")),
    ("Kendall50", "one covariate"),
]


def _chunks(at):
    """Records and chains in small chunks, and one chain at a time."""
    model, manifold = at.model, at.manifold
    places, step = directions(at, model.blocks)
    states = moved(at, places, step, 0.1)
    whole = model.energy_gradient(states, *at.data, normal=True)
    # Chunks of one chain and five records, so that a remainder is left.
    size = 5 * DATA_SETS * kind_of(manifold, model.number_of_covariates).record_size(manifold)
    with mock.patch.object(geodesic, "CHUNK", size):
        parts = model.energy_gradient(states, *at.data, normal=True)
    yield "chunks do not change the energy", parts.energy, whole.energy, at.rounding
    yield "chunks do not change the largest residual", parts.largest, whole.largest, at.rounding
    for block, expected in whole.gradient.items():
        what = f"chunks do not change the gradient in {block}"
        yield what, parts.gradient[block], expected, at.rounding, states[FOOTPOINT]
    one = {block: value[1, 2] for block, value in states.items()}
    single = model.energy_gradient(one, *(each[1] for each in at.data))
    error = np.array([0.0, abs(single.energy - whole.energy[1, 2])])
    yield "the energy of a batch is that of its members", error, 0.0, at.rounding


@pytest.mark.parametrize(("space", "kind"), CHECKED)
def test_energy_derivatives_and_fit_agree_and_chunks_change_nothing(space, kind):
    check_model(GeodesicModel(space_of(space), *MODELS[kind]), _chunks)


# Closed forms


# Three of five records in one place, and a corner of more than 120 degrees.
@pytest.mark.parametrize(
    "points", [[[0, 0], [1, 0.1], [-1, 0.1]], [[0, 0], [0, 0], [0, 0], [1, 0], [1, 1]]]
)
def test_median_is_a_record_that_outweighs_the_others(points):
    found = GeodesicModel(make_manifold("euclidean", 2), 0, Distance()).fit(None, np.array(points))
    assert found.converged
    np.testing.assert_array_equal(found.footpoint, [0.0, 0.0])


def test_fit_to_one_place_converges_at_once(manifold):
    place = manifold.random_point(np.random.default_rng(10), (2, 1))
    found = GeodesicModel(manifold, 0, Distance()).fit(None, np.repeat(place, 5, axis=1))
    assert np.all(found.converged)
    assert np.max(manifold.dist(found.footpoint, place[:, 0])) <= 1e-12


# From exact data to residuals as long as the geodesic: where residuals are small, energies
# differ by rounding alone long before the gradient vanishes.
@pytest.mark.parametrize("noise", [1e-6, 1e-3, 0.1])
@pytest.mark.parametrize("away", [2.4, 8.0])
def test_fit_converges_far_from_the_origin_of_hyperbolic_space(make_records, away, noise):
    space = Hyperbolic(2)
    for seed in range(5):
        rng = np.random.default_rng(seed)
        origin = np.array([1.0, 0.0, 0.0])
        footpoint = space.exp(origin, away * space.random_direction(rng, origin))
        vector = 0.8 * space.random_direction(rng, footpoint)
        data = make_records(space, seed=seed, noise=noise, truth=(footpoint, vector))
        found = fit(space, data.covariates, data.points)
        assert found.converged
        assert found.iterations <= 6


@pytest.mark.parametrize("space", ["S2", "H2", "SPD2", "Kendall4", "Kendall8"])
def test_fit_is_the_best_minimum_and_found_from_far_away(space, make_records):
    manifold = space_of(space)
    data = make_records(manifold, seed=12, noise=0.3)
    best = fit(manifold, data.covariates, data.points)
    rng = np.random.default_rng(12)
    footpoints = manifold.random_point(rng, (20,))
    model = model_of(manifold)
    start = model.parameters(footpoints, manifold.random_direction(rng, footpoints))
    found = model.minimise(start, data.covariates, data.points)
    assert np.all(found.converged)
    assert found.iterations <= 50
    curvatures = np.linalg.eigvalsh(model.hessian(found.parameters, data.covariates, data.points))
    assert np.min(curvatures) > 0.0
    assert np.min(found.energy) >= best.energy * (1.0 - 1e-12)
    # Positive curvature allows other minima, such as a geodesic the long way round.
    same = found.energy <= best.energy * (1.0 + 1e-9)
    assert np.mean(same) >= 0.9


def test_a_data_set_that_fails_leaves_the_others_alone(make_records):
    plane = Hyperbolic(2)
    data = make_records(plane, seed=16, noise=0.3, data_shape=(2,))
    alone = fit(plane, data.covariates[:1], data.points[:1])
    points = data.points.copy()
    points[1, 2] = plane.project(np.full(3, 1e6))
    with np.errstate(all="ignore"):
        found = fit(plane, data.covariates, points)
    assert alone.converged.tolist() == [True]
    assert found.converged[0]
    np.testing.assert_allclose(found.footpoint[0], alone.footpoint[0], atol=1e-9)
    np.testing.assert_allclose(found.shooting_vector[0], alone.shooting_vector[0], atol=1e-9)


# Huber's loss


def test_robust_fit_on_the_line_is_that_of_scipy(make_records):
    line = make_manifold("euclidean", 1)
    data = make_records(line, seed=43, number=40, noise=1.0)
    data.points[:4] += 20.0
    found = fit(line, data.covariates, data.points, huber=0.7)
    expected = least_squares(
        lambda parts: data.points[:, 0] - parts[0] - parts[1] * data.covariates,
        np.zeros(2),
        **{"loss": "huber", "f_scale": 0.7, "xtol": 1e-15, "ftol": 1e-15, "gtol": 1e-12},
    )
    # SciPy stops where the cost no longer changes, which is at half the digits.
    assert abs(found.footpoint[0] - expected.x[0]) <= 1e-7
    assert abs(found.shooting_vector[0] - expected.x[1]) <= 1e-7
    assert abs(40 * found.energy / expected.cost - 1.0) <= 1e-12


@pytest.mark.parametrize(("name", "size"), [("sphere", 2), ("kendall", 3), ("kendall", 8)])
def test_record_near_the_cut_locus_is_refused_unless_its_pull_is_bounded(make_records, name, size):
    space = make_manifold(name, size)
    data = make_records(space, seed=46, number=60, noise=0.02)
    clean = fit(space, data.covariates, data.points)
    if name == "sphere":
        data.points[41] = space.project(-data.points[41] + 0.05)
    else:
        data.points[41] = space.project(space.frame(data.points[41])[0] + 0.02 * data.points[41])
    arguments = (space, data.covariates, data.points)
    limit = re.escape(f"{space.injectivity_radius:.4g}")
    # With the last threshold nearly the whole of its pull is left.
    for huber in (None, 0.95 * space.injectivity_radius):
        with pytest.raises(FitError, match=rf"^record 42: it .* cut locus at {limit}"):
            fit(*arguments, huber=huber)
    robust = fit(*arguments, huber=0.04)
    assert robust.converged
    assert robust.largest_residual > CUT_LOCUS_FRACTION * space.injectivity_radius
    lines = [each.predict(np.linspace(0.0, 1.0, 11)) for each in (clean, robust)]
    assert np.max(space.dist(*lines)) <= 0.01


@pytest.mark.parametrize("threshold", [0.0, -1.0, np.nan])
def test_threshold_that_is_not_positive_is_refused(threshold):
    with pytest.raises(ValueError, match="threshold of Huber's loss is"):
        Huber(threshold)


# Data that cannot be fitted


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda x, y: (x[:2], y[:2]), "at least 3 records and there are 2: add records"),
        (lambda x, y: (0.0 * x, y), "a covariate is the same for all records"),
        (lambda x, y: (np.column_stack([x, 1.0 - 2.0 * x]), y), "a covariate is a linear comb"),
    ],
)
def test_data_that_determine_no_fit_are_refused(make_records, change, message):
    data = make_records(Sphere(2), seed=17)
    x, points = change(data.covariates, data.points)
    x = x.reshape((len(points), -1))
    with pytest.raises(FitError, match=message):
        GeodesicModel(Sphere(2), x.shape[-1]).fit(x, points)


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
@pytest.mark.parametrize(
    ("name", "what"), [("covariates", "a covariate"), ("points", "a coordinate of its point")]
)
def test_what_is_not_finite_is_refused_by_record(make_records, name, what, wrong):
    space = KendallPlanarShapes(4)
    for data_shape, where in (((), "record 4: "), ((3,), "record 4 of data set 2: ")):
        data = make_records(space, seed=17, number=6, data_shape=data_shape)
        for record in (5, 3):
            getattr(data, name)[(*(1 for _ in data_shape), record)] = wrong
        with pytest.raises(DataError, match=f"^{where}{what} is not a finite number"):
            fit(space, data.covariates, data.points)


# Means that have several minima or saddles, or that rounding ends


SPHERE = make_manifold("sphere", 2)
POLE = np.array([0.0, 0.0, 1.0])


def around_pole(rng, number, scale):
    flat = np.pad(rng.normal(scale=scale, size=(number, 2)), ((0, 0), (0, 1)))
    return SPHERE.exp(POLE, flat)


def triangle():
    """Three points of the equator, evenly spaced: their mean is a pole, a right angle away."""
    angles = 2.0 * np.pi * np.arange(3) / 3.0
    return np.stack([np.cos(angles), np.sin(angles), np.zeros(3)], axis=1)


def test_mean_is_no_saddle():
    with pytest.warns(RuntimeWarning, match="another minimum may be as low"):
        found = geodp.mean(triangle(), SPHERE)
    assert abs(found.footpoint[2]) == pytest.approx(1.0)
    assert found.energy == pytest.approx(np.pi**2 / 8.0)
    assert found.converged


def test_mean_of_points_everywhere_is_the_lowest():
    """Lower than at each of many points of a grid, of which some are in another valley."""
    rng = np.random.default_rng(5)
    everywhere = rng.normal(size=(2, 4000, 3))
    points, grid = everywhere / np.linalg.norm(everywhere, axis=-1, keepdims=True)
    for some in np.split(points[:120], 6):
        found = GeodesicModel(SPHERE, 0).fit(None, some)
        energies = 0.5 * np.mean(SPHERE.dist(grid[:, None], some) ** 2, axis=1)
        assert found.energy <= np.min(energies)


@pytest.mark.parametrize("far", [(0.0, 0.0, -1.0), (1e-3, 0.0, -1.0), (0.1, 0.0, -1.0)])
def test_one_record_near_the_antipode_moves_a_mean_by_its_part(far):
    rng, far = np.random.default_rng(6), np.array(far) / np.linalg.norm(far)
    near = around_pole(rng, 999, 0.1)
    with pytest.warns(RuntimeWarning, match="more than half the injectivity radius"):
        found = geodp.mean(np.concatenate([near, [far]]), SPHERE)
    assert found.converged
    moved = SPHERE.dist(found.footpoint, geodp.mean(near, SPHERE).footpoint)
    # The energy of the others bends by as much less than one as their scatter bends space.
    assert 0.0 < moved <= 1.01 * np.pi / 999.0


def test_a_wide_data_set_leaves_others_alone():
    rng = np.random.default_rng(7)
    both = np.stack([triangle(), around_pole(rng, 3, 0.1)])
    found = GeodesicModel(SPHERE, 0).fit(None, both)
    alone = GeodesicModel(SPHERE, 0).fit(None, both[1])
    np.testing.assert_allclose(found.footpoint[1], alone.footpoint, atol=1e-12)
    assert found.energy[0] == pytest.approx(np.pi**2 / 8.0)


def test_mean_ends_where_rounding_does():
    """The relative gradient that was asked for is below what whitening such matrices leaves."""
    rng, size = np.random.default_rng(8), 12
    turn = np.linalg.qr(rng.normal(size=(size, size)))[0]
    root = turn * np.sqrt(np.geomspace(1.0, 5e-9, size))
    logarithms = rng.normal(size=(288, size, size)) / size
    values, vectors = np.linalg.eigh(logarithms + logarithms.swapaxes(1, 2))
    scatter = (vectors * np.exp(values)[:, None, :]) @ vectors.swapaxes(1, 2)
    found = geodp.mean(root @ scatter @ root.T, geodp.SPD(size))
    assert found.converged
    assert 1e-10 < found.gradient_norm < 1e-8
    assert found.iterations < 25
