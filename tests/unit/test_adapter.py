"""Spaces of geomstats through the adapter: against closed forms, and where there are none."""

from functools import partial
from types import SimpleNamespace

import numpy as np
import pytest

from geodp import DataError, GeomstatsManifold
from geodp.manifolds.registry import make_manifold
from geodp.testing import check_manifold

pytestmark = pytest.mark.geomstats

hypersphere = pytest.importorskip(
    "geomstats.geometry.hypersphere",
    reason="needs geomstats: ./run --with geomstats pytest -m geomstats",
)
spd_matrices = pytest.importorskip("geomstats.geometry.spd_matrices")
pre_shape = pytest.importorskip("geomstats.geometry.pre_shape")
hpd_matrices = pytest.importorskip("geomstats.geometry.hpd_matrices")
poincare_ball = pytest.importorskip("geomstats.geometry.poincare_ball")

SPHERE = hypersphere.Hypersphere(2)
ADAPTED = {
    "sphere": GeomstatsManifold(SPHERE, (1.0, 1.0), injectivity_radius=np.pi),
    "spd": GeomstatsManifold(spd_matrices.SPDMatrices(2), (-0.5, 0.0), origin=np.eye(2)),
}


@pytest.fixture(scope="module")
def bures():
    space = spd_matrices.SPDMatrices(2, equip=False)
    space.equip_with_metric(spd_matrices.SPDBuresWassersteinMetric)
    transport = partial(space.metric.parallel_transport, n_steps=20)
    return GeomstatsManifold(space, (0.0, np.inf), transport=transport, origin=np.eye(2))


# Against closed forms


@pytest.mark.parametrize("name", ADAPTED)
def test_verbs_of_known_spaces_are_those_of_this_library(name):
    own, other = make_manifold(name, 2), ADAPTED[name]
    check_manifold(other)
    point, end = other.random_point(np.random.default_rng(1), (2, 5))
    vector = other.log(point, end)
    assert np.max(own.norm(point, vector - own.log(point, end))) <= 1e-9
    carried = own.transport(point, vector, vector)
    assert np.max(own.norm(end, other.transport(point, vector, vector) - carried)) <= 1e-9


# A space that is not symmetric: matrices with the Bures-Wasserstein metric


def test_verbs_agree_with_one_another(bures):
    # Long steps leave the cone of matrices, and transport is integrated in twenty steps.
    check_manifold(bures, reach=0.3, rounding=1e-11)


# What geomstats gets wrong


class Faulty:
    """The sphere of geomstats with some functions replaced."""

    def __init__(self, **functions):
        verbs = ("exp", "log", "inner_product", "parallel_transport")
        self.metric = SimpleNamespace(**{verb: getattr(SPHERE.metric, verb) for verb in verbs})
        self.shape, self.dim = (3,), 2
        self.to_tangent, self.random_point = SPHERE.to_tangent, SPHERE.random_point
        self.belongs = SPHERE.belongs
        for name, function in functions.items():
            setattr(self if hasattr(self, name) else self.metric, name, function)


def refusing(*points):
    """The logarithm of batches of one alone."""
    if points[-1].ndim == 1 or len(points[-1]) > 1:
        raise ValueError("not in this shape")
    return SPHERE.metric.log(*points)


EXP, INNER = SPHERE.metric.exp, SPHERE.metric.inner_product

# Functions that take batches wrongly, and right for one point.
FAULTS = {
    "exp": {"exp": lambda v, p: EXP(v[:1], p[:1]) + 0.0 * v if v.ndim > 1 else EXP(v, p)},
    "log": {"log": refusing},
    "inner": {"inner_product": lambda u, w, p: u @ w.T if u.ndim > 1 else INNER(u, w, p)},
    "tangent": {"to_tangent": lambda a, p: SPHERE.to_tangent(a.T if a.shape == (3, 3) else a, p)},
}


@pytest.mark.parametrize("name", FAULTS)
def test_functions_that_take_batches_wrongly_are_looped(name):
    faulty = Faulty(**FAULTS[name])
    check_manifold(GeomstatsManifold(faulty, (1.0, 1.0), injectivity_radius=np.pi))


def quotient():
    space = pre_shape.PreShapeSpace(4, 2)
    space.equip_with_group_action("rotations")
    space.equip_with_quotient()
    return space.quotient


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (quotient, "as if points stood for classes"),
        (lambda: hpd_matrices.HPDMatrices(2), "are no real arrays"),
        (lambda: poincare_ball.PoincareBall(2), "its transport fails"),
        (
            lambda: Faulty(parallel_transport=lambda vector, point, direction: 0.9 * vector),
            "its transport changes lengths by 0.01",
        ),
        (lambda: Faulty(log=lambda other, point: other - point), "its logarithm undoes its exp"),
        (lambda: Faulty(exp=lambda vector, point: np.nan * point), "its exp gives what is no fin"),
    ],
)
def test_spaces_that_will_not_do_are_refused(make, reason):
    with pytest.raises(DataError, match=reason):
        GeomstatsManifold(make(), (0.0, 1.0), injectivity_radius=1.0)


def test_random_points_follow_the_generator_alone():
    sphere = ADAPTED["sphere"]
    state = np.random.get_state()[1].copy()  # noqa: NPY002
    first, second = (sphere.random_point(np.random.default_rng(10), (2, 3)) for _ in range(2))
    assert np.array_equal(first, second)
    assert not np.array_equal(first[0], first[1])
    assert np.array_equal(np.random.get_state()[1], state)  # noqa: NPY002
    assert "does not belong" in sphere.invalid_reason(2.0 * first[0, 0])
