"""Every space against `check_manifold`, closed forms and many digits."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_checks import check_model

from geodp import SPD, DataError, GeodesicModel, Hyperbolic, Sphere
from geodp.manifolds.differences import DifferencedManifold
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.log_euclidean import LogEuclideanSPD
from geodp.manifolds.product import Product
from geodp.manifolds.registry import make_manifold
from geodp.manifolds.rotations import Rotations
from geodp.manifolds.sphere import ProjectiveSpace
from geodp.manifolds.symmetric import jacobi_cosine, jacobi_sine
from geodp.models.losses import Distance, Huber
from geodp.samplers.riemannian_laplace import check_laplace_scale
from geodp.testing import check_manifold

EPSILON = np.finfo(float).eps

seeds = st.integers(0, 2**32 - 1)


def rounding(manifold, *points):
    """Rounding to allow: 100 units in the last place.

    Matrices are whitened by the points, which multiplies it by their condition numbers; and a
    unit vector of hyperbolic space has coordinates as large as its point's.
    """
    if isinstance(manifold, Hyperbolic):
        return 100 * EPSILON * np.prod([point[0] for point in points])
    if isinstance(manifold, SPD | LogEuclideanSPD):
        return 100 * EPSILON * np.prod([np.linalg.cond(point) for point in points])
    if isinstance(manifold, Product):
        parts = zip(manifold.factors, *map(manifold.parts, points), strict=True)
        return max(rounding(*each) for each in parts) * max(manifold.weights)
    return 100 * EPSILON


def largest(array):
    return np.max(np.abs(array))


# What every space promises


def test_verbs_agree_with_one_another(manifold):
    for seed in range(2):
        check_manifold(manifold, seed)
    points = manifold.random_point(np.random.default_rng(3), (20,))
    assert np.all(manifold.dist(points, points) == 0.0)


SPHERE = Sphere(3)

# By the property that each violates: mistakes a contributor makes.
MISTAKES = {
    "log undoes exp": {"log": lambda p, q: SPHERE.log(p, q) * (1.0 + 1e-9)},
    "transported vectors are tangent": {"transport": lambda p, d, v: v},
    "project_tangent leads into the span": {"project_tangent": lambda p, a: 1.0 * a},
    "exp_volume is the determinant": {"exp_volume": lambda p, v: 1.0 + 0.0 * SPHERE.norm(p, v)},
    "adjoint of the derivative of exp in its point": {
        "jacobi_adjoint": lambda p, v, other, argument: SPHERE.jacobi_adjoint(p, v, other, "vector")
    },
    "invalid_reason of a random point": {"invalid_reason": lambda array: "it is odd"},
    "dist of a batch": {"dist": lambda p, q: SPHERE.dist(p, q) * (1.0 + 1e-9 * (p.ndim == 1))},
}


@pytest.mark.parametrize("message", MISTAKES)
def test_a_mistake_is_found_and_named(message):
    space = Sphere(3)
    vars(space).update(MISTAKES[message])
    with pytest.raises(AssertionError, match=f"^sphere S\\^3: .*{message}"):
        check_manifold(space)


def test_a_manifold_of_differences_has_models_and_refuses_infinite_densities():
    """A space of which only the verbs are known."""
    known, names = Hyperbolic(3), "exp log transport inner frame project project_tangent"
    names = (*names.split(), "random_point", "invalid_reason")
    verbs = {name: staticmethod(getattr(known, name)) for name in names}
    space = type("Differenced", (DifferencedManifold,), verbs)()
    for name in ("name", "dim", "point_shape", "curvature_bounds"):
        setattr(space, name, getattr(known, name))
    check_manifold(space, rounding=1e-11)
    for covariates, loss in ((0, Distance()), (2, Huber(0.3))):
        check_model(GeodesicModel(space, covariates, loss))
    assert space.volume_growth == known.volume_growth == 2.0
    check_laplace_scale(space, 0.1)
    with pytest.raises(DataError, match="finite volume for scales below"):
        check_laplace_scale(space, 0.6)
    right = space.exp_derivatives
    space.exp_derivatives = lambda p, v, x, moved: right(p, v, x, 1)
    with pytest.raises(AssertionError, match="exp_derivatives are those of exp in its point"):
        check_manifold(space, rounding=1e-11)


# Distances


@pytest.mark.parametrize(("name", "size"), [("sphere", 4), ("kendall", 8)])
def test_long_walks_stay_in_the_space(name, size):
    manifold = make_manifold(name, size)
    rng = np.random.default_rng(29)
    point = manifold.random_point(rng, (50,))
    for _ in range(1500):
        point = manifold.exp(point, 0.01 * manifold.random_tangent(rng, point))
    assert all(manifold.invalid_reason(each) is None for each in point)
    # Rounding must not add up: after so many steps it would be some 40 units.
    assert largest(np.linalg.norm(point, axis=-1) - 1.0) <= 4 * EPSILON


@pytest.mark.parametrize("distance", [1e-12, 1e-6, 1e-3, None])
@given(seed=seeds)
def test_distances_against_many_digits(manifold, distance, seed):
    rng = np.random.default_rng(seed)
    point, other = manifold.random_point(rng, (2,))
    # Near by, one condition number: that of the whitening.  The end is that of these doubles, not
    # of the velocity, whose digits a point of size one cannot hold.
    allowed = rounding(manifold, point, other)
    if distance is not None:
        other = manifold.exp(point, distance * manifold.random_direction(rng, point))
        # Of logarithms of matrices, which a chart subtracts, digits are lost.
        allowed = rounding(manifold, point) / 10
        allowed *= 1.0 if isinstance(manifold, LogEuclideanSPD) else distance
    exact = exact_dist(manifold, point, other)
    assert abs(manifold.dist(point, other) - exact) <= allowed * max(1.0, exact / (distance or 1.0))


def exact_dist(manifold, point, other):
    """Distance of the very doubles, with 50 digits."""
    with mpmath.workdps(50):
        if isinstance(manifold, SPD):
            inverse = mpmath.inverse(mpmath.cholesky(mpmath.matrix(point)))
            white = inverse * mpmath.matrix(other) * inverse.T
            values = mpmath.eigsy(white, eigvals_only=True)
            return float(mpmath.sqrt(sum(mpmath.log(value) ** 2 for value in values)))
        if isinstance(manifold, Product):
            parts = zip(manifold.factors, manifold.parts(point), manifold.parts(other), strict=True)
            squares = [mpmath.mpf(exact_dist(*each)) ** 2 for each in parts]
            return float(mpmath.sqrt(mpmath.fdot(manifold.weights, squares)))
        if isinstance(manifold, LogEuclideanSPD):
            return float(mpmath.norm(exact_log(other) - exact_log(point)))
        if isinstance(manifold, Hyperbolic):
            places = [mpmath.matrix(each[1:]) for each in (point, other)]
            times = [mpmath.sqrt(1 + mpmath.fdot(place, place)) for place in places]
            return float(mpmath.acosh(times[0] * times[1] - mpmath.fdot(*places)))
        first, second = mpmath.matrix(point), mpmath.matrix(other)
        if not isinstance(manifold, Sphere | ProjectiveSpace):
            return float(mpmath.norm(second - first))
        first, second = (each / mpmath.norm(each) for each in (first, second))
        overlap = (first.H * second)[0]
        across = mpmath.norm(second - first * overlap)
        along = abs(overlap) if isinstance(manifold, ProjectiveSpace) else overlap.real
        return float(mpmath.atan2(across, along))


def exact_log(matrix):
    """Logarithm of a symmetric matrix of doubles; its entries one after another."""
    values, vectors = mpmath.eigsy(mpmath.matrix(matrix))
    found = vectors * mpmath.diag([mpmath.log(value) for value in values]) * vectors.T
    return mpmath.matrix([found[i, j] for i in range(found.rows) for j in range(found.cols)])


@pytest.mark.parametrize("size", [1, 3])
def test_a_matrix_that_overflows_is_far_and_leaves_the_others_alone(size):
    space, centre = SPD(size), 1e-160 * np.eye(size)
    others = space.exp(centre, 0.1 * space.frame(centre))
    many = np.concatenate([others, 9e149 * centre[None] / 1e-160])
    with np.errstate(all="ignore"):
        found = space.log(centre, many), space.dist(centre, many)
    np.testing.assert_array_equal(found[0][:-1], space.log(centre, others))
    np.testing.assert_array_equal(found[1][:-1], space.dist(centre, others))
    assert not np.isfinite(found[1][-1])


@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_antipode_is_half_a_turn_away(dimension):
    sphere = Sphere(dimension)
    point = sphere.random_point(np.random.default_rng(3), (5,))
    # With exact zeros the antipode leaves no direction at all, not even one of rounding.
    point[0] = np.eye(dimension + 1)[0]
    assert np.allclose(sphere.dist(point, -point), np.pi, rtol=4 * EPSILON)
    assert largest(sphere.exp(point, sphere.log(point, -point)) + point) <= 4 * EPSILON
    assert np.sum(point[0] * sphere.log(point, -point)[0]) == 0.0


def test_vectors_are_carried_to_the_representative_that_is_given():
    space, rng = KendallPlanarShapes(5), np.random.default_rng(5)
    point, other = space.random_point(rng, (2,))
    vector, turn = space.random_direction(rng, point), np.exp(0.7j)
    found = space.transport_to(point, turn * other, vector)
    np.testing.assert_allclose(found, turn * space.transport_to(point, other, vector), atol=1e-14)


# Hyperbolic space


@given(seed=seeds, dimension=st.sampled_from([1, 2, 4]), log_scale=st.floats(-20.0, 2.7))
def test_long_and_short_hyperbolic_distances_against_many_digits(seed, dimension, log_scale):
    """Of points up to 15 from the origin, however near to each other they are."""
    space = Hyperbolic(dimension)
    rng = np.random.default_rng(seed)
    point = space.random_point(rng, radius=15.0)
    other = space.exp(point, np.exp(log_scale) * space.random_direction(rng, point))
    exact = exact_dist(space, point, other)
    # The rounding of the coordinates' directions alone moves a point by its size; the end that
    # is compared with is that of the doubles, and no more than this can be lost on the way.
    assert abs(space.dist(point, other) / exact - 1.0) <= 20 * EPSILON * min(point[0], other[0])


@pytest.mark.parametrize("length", [1e-9, 1.0, 15.0, 40.0, 300.0])
@pytest.mark.parametrize("dimension", [1, 2, 4])
def test_hyperbolic_points_far_from_the_origin_are_in_place(dimension, length):
    """Proposals of a wide distribution lead so far, and must not be misplaced there."""
    space = Hyperbolic(dimension)
    origin = space.project(np.zeros(dimension + 1))
    vector = length * space.random_direction(np.random.default_rng(1), origin)
    end = space.exp(origin, vector)
    assert space.invalid_reason(end) is None
    for distance in (space.dist(origin, end), space.dist(end, origin)):
        assert distance == pytest.approx(length, rel=4 * EPSILON)
    assert largest(space.log(origin, end) - vector) <= 8 * EPSILON * length


@pytest.mark.parametrize("length", [10.0, 40.0])
def test_matrices_far_from_the_identity_are_in_place(length):
    assert SPD(2).dist(np.eye(2), np.diag([np.exp(-length), 1.0])) == pytest.approx(length)


@pytest.mark.parametrize(
    ("space", "change", "reason"),
    [
        (Sphere(2), lambda point: 1.000002 * point, "its length is 1.000002, not 1"),
        (Rotations("quaternion"), lambda point: 1.01 * point, "its length as a quaternion is 1.01"),
        (KendallPlanarShapes(4), lambda point: 1.01 * point, "its size is 1.01, not 1"),
        (KendallPlanarShapes(4), lambda point: point + 0.01, "not centred"),
        (Hyperbolic(2), lambda point: 1.01 * point, "its first coordinate is "),
        (Hyperbolic(2), lambda point: -point, "the root of one plus the squares of the others"),
        (SPD(2), lambda point: point + 1e-3 * np.eye(2, k=1), "not symmetric"),
        (SPD(2), lambda point: -point, "not positive definite"),
        (Product([SPD(2), Sphere(1)]), lambda point: -point, "in SPD(2) the matrix is not posit"),
    ],
)
def test_invalid_reason_names_what_is_wrong(space, change, reason):
    point = space.random_point(np.random.default_rng(7))
    assert reason in space.invalid_reason(change(point))
    assert space.are_points(np.stack([point, change(point)])).tolist() == [True, False]


# Curvature and the derivatives of exp


@pytest.mark.parametrize("sign", [-1, 0, 1])
def test_jacobi_solutions_against_many_digits(sign):
    # About the size at which a series takes over, too.
    frequencies = np.array([0.0, 1e-200, 1e-9, 0.99e-4, 1.01e-4, 1e-3, 0.5, 1.5, 3.0])
    with mpmath.workdps(50):
        roots = [mpmath.sqrt(-sign) * mpmath.mpf(float(value)) for value in frequencies]
        cosines = [float(mpmath.cosh(root).real) for root in roots]
        sines = [float((mpmath.sinh(root) / root).real) if root else 1.0 for root in roots]
    assert np.allclose(jacobi_cosine(sign, frequencies), cosines, rtol=4 * EPSILON, atol=EPSILON)
    assert np.allclose(jacobi_sine(sign, frequencies), sines, rtol=4 * EPSILON, atol=EPSILON)


@given(seed=seeds, exponent=st.integers(-300, -5))
def test_tiny_vectors(manifold, seed, exponent):
    rng = np.random.default_rng(seed)
    point = manifold.random_point(rng)
    velocity = 10.0**exponent * manifold.random_direction(rng, point)
    vector = manifold.random_direction(rng, point)
    # Down to sizes whose squares underflow, nothing but the identity is left of transport.
    carried = manifold.transport(point, velocity, vector)
    allowed = rounding(manifold, point)
    assert manifold.norm(point, carried - vector) <= allowed + 10.0**exponent
    # The volume differs from one by a sixth of the Ricci curvature, which is at most dim + 2.
    change = manifold.exp_volume(point, velocity) - 1.0
    assert abs(change) <= allowed + (manifold.dim + 2) * 100.0**exponent


def test_volumes_are_bounded_where_curvatures_have_both_signs():
    space = Product([Hyperbolic(2), Sphere(2)], [0.01, 1.0])
    point = space.random_point(np.random.default_rng(1))
    # Along the sphere, whose frequencies are those of no cell more than one.
    unit, length, angles = space.frame(point)[-1], np.array(2.9), np.linspace(0.0, 1.0, 50)
    volume = space.exp_volume(point, length * unit)
    found = [space.exp_volume_range(point, unit, length, length, each) for each in angles]
    assert all(least <= volume * (1.0 + 1e-9) for least, _ in found)


@pytest.mark.parametrize(
    ("name", "size", "least", "greatest"),
    [
        ("euclidean", 3, 0.0, 0.0),
        ("sphere", 3, 1.0, 1.0),
        ("hyperbolic", 2, -1.0, -1.0),
        ("kendall", 5, 1.0, 4.0),
        # Of matrices the least depends on the direction, and 0 belongs to multiples of the matrix.
        ("spd", 2, None, 0.0),
        ("projective", 3, 1.0, 1.0),
        ("rotations", None, 0.25, 0.25),
    ],
)
def test_sectional_curvatures_through_a_vector(name, size, least, greatest):
    manifold = make_manifold(name, size)
    rng = np.random.default_rng(3)
    point = manifold.random_point(rng, (50,))
    vector = 0.3 * manifold.random_direction(rng, point)
    low, high = manifold.sectional_curvatures(point, vector)
    if least is None:
        assert -0.5 <= low.min() < -0.45
        least = -((np.max(manifold.frequencies(point, vector), axis=-1) / 0.3) ** 2)
    np.testing.assert_allclose(low, np.broadcast_to(least, 50), atol=1e-12)
    np.testing.assert_allclose(high, greatest, atol=1e-12)


@pytest.mark.parametrize("verb", ["dist", "log", "exp"])
def test_arrays_of_another_shape_are_refused(manifold, verb):
    pairs = np.ones((5, 7))
    with pytest.raises(DataError, match=r"an array has shape \(5, 7\), and points of"):
        getattr(manifold, verb)(pairs, pairs)
