"""`check_manifold`: tests of a new manifold."""

from functools import partial
from types import SimpleNamespace

import numpy as np

from geodp.manifolds.symmetric import SymmetricSpace

# Rounding to allow in units of length one: 100 units in the last place.
ROUNDING = 100 * np.finfo(float).eps

# Points at which a manifold is tested.
PLACES = 10


def check_manifold(manifold, seed=0, reach=None, rounding=ROUNDING):
    """Test whether the functions of a manifold are consistent with one another.

    Parameters
    ----------
    manifold : Manifold
    seed : int
        Seed of the points and steps of the tests.
    reach : float, optional
        Length of the longest step; 0.9 of the injectivity radius, at which a logarithm magnifies
        rounding about tenfold, or 3 where that is infinite, unless given.
    rounding : float
        Allowed error in units of length one; more for functions that iterate.

    Raises
    ------
    AssertionError
        A property does not hold: a sentence with its name, the place and the size of the violation.

    Examples
    --------
    >>> from geodp.manifolds.sphere import Sphere
    >>> check_manifold(Sphere(3))
    """
    if reach is None:
        bounded = np.isfinite(manifold.injectivity_radius)
        reach = 0.9 * manifold.injectivity_radius if bounded else 3.0
    checks = [_points, _tangent_spaces, _geodesics, _transport, _batches, _derivatives]
    if isinstance(manifold, SymmetricSpace):
        checks.append(_symmetry)
    _run(checks, _scene(manifold, np.random.default_rng(seed), reach, rounding))


def _run(checks, at):
    """Raise at the first row of a check that does not hold.

    A row says what holds, what is found and expected, the error that is allowed and, of tangent
    vectors, where they are tangent.  The first axis is that of points.
    """
    for check in checks:
        own = _changed(at)
        for row in check(own):
            _equal(own, *row)


def _scene(manifold, rng, reach, rounding):
    """Points, steps of lengths from zero to ``reach``, their ends, and two unit tangents."""
    point = manifold.random_point(rng, (PLACES,))
    lengths = np.linspace(0.0, reach, PLACES)
    velocity = manifold.expand(lengths) * manifold.random_direction(rng, point)
    end = manifold.exp(point, velocity)
    spread = [manifold.magnification(each) for each in (point, end)]
    return SimpleNamespace(
        manifold=manifold,
        name=manifold.name,
        places=_words(lengths),
        rng=rng,
        rounding=rounding,
        point=point,
        lengths=lengths,
        velocity=velocity,
        end=end,
        other=manifold.random_point(rng, (PLACES,)),
        first=manifold.random_direction(rng, point),
        second=manifold.random_direction(rng, point),
        here=rounding * spread[0],
        there=rounding * spread[0] * spread[1],
    )


def _words(lengths):
    """Words for each point, where the step has the given length."""
    return np.array(
        [f"point {k}, with a step of length {length:.3g}" for k, length in enumerate(lengths, 1)]
    )


def _equal(at, what, found, expected, allowed, place=None):
    error = found * 1.0 - expected * 1.0
    error = abs(error) if place is None else at.manifold.norm(place, error)
    allowed = np.reshape(allowed, np.shape(allowed) + (1,) * (np.ndim(error) - np.ndim(allowed)))
    excess = np.where(np.isnan(error), np.inf, error - allowed)
    if np.all(excess <= 0.0):
        return
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    limit = np.broadcast_to(allowed, error.shape)[worst]
    raise AssertionError(
        f"{at.name}: {what}, but this is off by {error[worst]:.3g} (allowed: {limit:.3g}) at "
        f"{at.places[worst[0]]}"
    )


def _changed(at, **changes):
    return SimpleNamespace(**{**vars(at), **changes})


def _say(at, what, found, condition):
    if not condition:
        raise AssertionError(f"{at.name}: {what}, but it is {found}")


def _require_shape(at, what, array, shape):
    _say(at, f"{what} has shape {shape}", array.shape, array.shape == shape)


def _largest(array, axes):
    """Largest absolute entry over the last axes."""
    return np.max(np.abs(array), axis=tuple(range(-axes, 0)))


def _points(at):
    manifold = at.manifold
    _require_shape(at, "random_point", at.point, (PLACES, *manifold.point_shape))
    for each in (*at.point, *at.end):
        reason = manifold.invalid_reason(each)
        _say(at, "invalid_reason of a random point and of an end is None", reason, reason is None)
    broken = at.point[0].copy()
    broken.flat[0] = np.nan
    reason = manifold.invalid_reason(broken)
    said = isinstance(reason, str) and "\n" not in reason
    _say(at, "invalid_reason of a point that is not a number is a phrase", reason, said)
    allowed = at.here * _largest(at.point, manifold.point_ndim)
    found = manifold.project(at.point)
    yield "project leaves points where they are", found, at.point, allowed


def _tangent_spaces(at):
    manifold, dim = at.manifold, at.manifold.dim
    frame, start = manifold.frame(at.point), np.expand_dims(at.point, 1)
    _require_shape(at, "frame", frame, (PLACES, dim, *manifold.point_shape))
    gram = manifold.coordinates(start, frame, frame[:, None])
    yield "frame is orthonormal", gram, np.eye(dim), at.here
    projected = manifold.project_tangent(start, frame)
    yield "frame is tangent", projected, frame, at.here, start
    array = at.rng.standard_normal(at.point.shape)
    if manifold.dtype is complex:
        array = array + 1j * at.rng.standard_normal(at.point.shape)
    tangent = manifold.project_tangent(at.point, array)
    allowed = at.here * np.maximum(1.0, manifold.norm(at.point, tangent))
    again = manifold.project_tangent(at.point, tangent)
    back = manifold.vector(frame, manifold.coordinates(at.point, tangent, frame))
    yield "project_tangent leaves tangents as they are", again, tangent, allowed, at.point
    yield "project_tangent leads into the span of frame", back, tangent, allowed, at.point
    given = at.rng.standard_normal((PLACES, dim))
    allowed = 10.0 * at.here * np.sqrt(dim)
    back = manifold.coordinates(at.point, manifold.vector(frame, given))
    yield "coordinates undoes vector", back, given, allowed
    back = manifold.coordinates(at.point, manifold.tangent(at.point, given), frame)
    yield "coordinates in frame undoes tangent", back, given, allowed
    swapped = manifold.inner(at.point, at.second, at.first)
    product = manifold.inner(at.point, at.first, at.second)
    yield "inner is symmetric", swapped, product, at.here


def _geodesics(at):
    manifold = at.manifold
    yield "log undoes exp", manifold.log(at.point, at.end), at.velocity, at.there, at.point
    away = manifold.dist(at.point, at.end)
    yield "dist is the length of the geodesic", away, at.lengths, at.there
    with np.errstate(all="raise"):
        end, none = manifold.exp(at.point, 0.0 * at.velocity), manifold.dist(at.point, at.point)
    allowed = at.here * _largest(at.point, manifold.point_ndim)
    yield "a step of length zero stays", end, at.point, allowed
    yield "dist to the point itself is zero", none, 0.0, at.here
    # Pairs of random points, with logarithms of any length.
    there, back = manifold.dist(at.point, at.other), manifold.dist(at.other, at.point)
    allowed = at.there * manifold.magnification(at.other) * np.maximum(1.0, there)
    end = manifold.exp(at.point, manifold.log(at.point, at.other))
    yield "dist is symmetric", there, back, allowed
    yield "exp undoes log", manifold.dist(end, at.other), 0.0, allowed
    excess = np.maximum(0.0, there - away - manifold.dist(at.end, at.other))
    yield "dist obeys the triangle inequality", excess, 0.0, allowed


def _transport(at):
    manifold, tangent = at.manifold, at.manifold.project_tangent
    first, second, velocity = (
        manifold.transport(at.point, at.velocity, each)
        for each in (at.first, at.second, at.velocity)
    )
    for one, before in ((second, at.second), (first, at.first)):
        found = manifold.inner(at.end, first, one)
        expected = manifold.inner(at.point, at.first, before)
        yield "transport keeps inner products", found, expected, at.there
    back = manifold.transport(at.end, -velocity, first)
    yield "transport there and back changes nothing", back, at.first, at.there, at.point
    forth = -manifold.log(at.end, at.point)
    carried = manifold.transport_to(at.point, at.end, at.first)
    yield "transported vectors are tangent", tangent(at.end, first), first, at.there, at.end
    yield "the transported velocity leads back", forth, velocity, at.there, at.end
    yield "transport_to is transport along log", carried, first, at.there, at.end
    carried = manifold.transport_to(at.point, at.other, at.first)
    what = "transport_to leads into the tangent space of the other point"
    apart = at.there * manifold.magnification(at.other)
    yield what, tangent(at.other, carried), carried, apart, at.other
    half = 0.4 * at.velocity
    velocity = manifold.transport(at.point, half, at.velocity)
    end = manifold.exp(manifold.exp(at.point, half), 0.6 * velocity)
    yield "a geodesic continues from any of its points", manifold.dist(end, at.end), 0.0, at.there


# Functions of a manifold, with their arguments: points, and tangent vectors at the first.
VERBS = {
    "exp": "point first",
    "log": "point other",
    "dist": "point other",
    "transport": "point first second",
    "transport_to": "point other first",
    "inner": "point first second",
    "frame": "point",
    "coordinates": "point first",
    "project": "point",
    "project_tangent": "point second",
    "exp_volume": "point first",
}


def _batches(at):
    manifold = at.manifold
    at.places = _words(np.full(PLACES, 0.3))
    at.first, at.second = 0.3 * at.first, 0.3 * at.second
    at.carried = manifold.transport(at.point, at.first, at.second)
    is_symmetric = isinstance(manifold, SymmetricSpace)
    symmetric = {"frequencies": "point first", "split": "point first second"}
    verbs = [
        (verb, getattr(manifold, verb), names)
        for verb, names in (VERBS | (symmetric if is_symmetric else {})).items()
    ]
    for argument in ("point", "vector") if is_symmetric else ():
        adjoint = partial(manifold.jacobi_adjoint, argument=argument)
        verbs.append((f"jacobi_adjoint in its {argument}", adjoint, "point first carried"))
    for verb, function, names in verbs:
        arrays = [getattr(at, name) for name in names.split()]
        found = function(*(each.reshape((2, -1, *each.shape[1:])) for each in arrays))
        expected = np.stack([function(*each) for each in zip(*arrays, strict=True)])
        what = f"{verb} of a batch"
        _require_shape(at, what, found, (2, PLACES // 2, *expected.shape[1:]))
        allowed = at.there * np.maximum(1.0, np.max(np.abs(expected)))
        found = found.reshape(expected.shape)
        yield f"{what} is that of its members", found, expected, allowed
    # One point, and several vectors there.
    one = at.point[0]
    points = np.broadcast_to(one, (2, 3, *one.shape))
    vectors = 0.3 * manifold.random_direction(at.rng, points)
    for verb, *arrays in (
        ("exp", vectors),
        ("log", manifold.exp(points, vectors)),
        ("dist", manifold.exp(points, vectors)),
        ("transport", vectors[:1], vectors),
        ("exp_volume", vectors),
    ):
        found = getattr(manifold, verb)(one, *arrays)
        expected = getattr(manifold, verb)(points, *np.broadcast_arrays(*arrays))
        what = f"{verb} of one point and several vectors"
        _require_shape(at, what, found, expected.shape)
        allowed = at.here[:1] * max(1.0, np.max(np.abs(expected)))
        yield f"{what} broadcasts the point", found[None], expected[None], allowed


def _derivative(function, step=2e-3):
    """Derivative at zero of a function of one number, by central differences of sixth order.

    Truncation and rounding of functions of scale one are both about 1e-13.
    """
    stencil = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))
    total = sum(c * (function(k * step) - function(-k * step)) for k, c in stencil)
    return total / step


def _derivatives(at):
    manifold, dim = at.manifold, at.manifold.dim
    frame = manifold.frame(at.point)
    start, velocity, end = (
        np.broadcast_to(np.expand_dims(each, 1), frame.shape)
        for each in (at.point, at.velocity, at.end)
    )
    frame_there = np.expand_dims(manifold.frame(at.end), 1)

    def move_point(step):
        carried = manifold.transport(start, step, velocity)
        return manifold.exp(manifold.exp(start, step), carried)

    def move_vector(step):
        return manifold.exp(start, velocity + step)

    # Rounding is divided by the step, truncation is about as large, and logarithms of points near
    # the end magnify both once more.
    allowed = 50.0 * at.there * manifold.magnification(at.end)
    residual = manifold.random_direction(at.rng, at.end)
    weights = manifold.coordinates(at.end, residual, frame_there[:, 0])
    for moved, (argument, move) in enumerate((("point", move_point), ("vector", move_vector))):
        # Coordinates at the end (*batch, dim, dim) of images of the frame.
        matrix = _derivative(
            lambda step, move=move: manifold.coordinates(
                end, manifold.log(end, move(step * frame)), frame_there
            )
        )
        if isinstance(manifold, SymmetricSpace):
            adjoint = manifold.jacobi_adjoint(at.point, at.velocity, residual, argument)
            expected = np.squeeze(matrix @ weights[..., None], axis=-1)
            found = manifold.coordinates(at.point, adjoint, frame)
            size = np.maximum(1.0, _largest(expected, 1))
            what = f"jacobi_adjoint is the adjoint of the derivative of exp in its {argument}"
            yield what, found, expected, allowed * size
        else:
            images = manifold.exp_derivatives(at.point, [at.velocity], np.ones((1, 1)), moved)
            images = np.squeeze(images, axis=-manifold.point_ndim - 1)
            found = manifold.coordinates(end, images, frame_there)
            size = np.maximum(1.0, _largest(matrix, 2))
            what = f"exp_derivatives are those of exp in its {argument}"
            yield what, found, matrix, allowed * size
    # The last matrix is that of the vector; a determinant adds up the errors of its columns.
    expected = abs(np.linalg.det(matrix))
    found = manifold.exp_volume(at.point, at.velocity)
    what = "exp_volume is the determinant of the derivative of exp"
    yield what, found, expected, allowed * dim * np.maximum(1.0, expected)


def _symmetry(at):
    manifold, dim = at.manifold, at.manifold.dim
    signs, multiplicities = np.array(manifold.curvature_signs), np.array(manifold.multiplicities)
    found = (len(signs) == len(multiplicities)) and sum(multiplicities) == dim
    _say(at, f"multiplicities add up to {dim}", tuple(multiplicities), found)
    # A step of length zero has no direction.
    arrays = {key: each for key, each in vars(at).items() if isinstance(each, np.ndarray)}
    vars(at).update({key: each[1:] for key, each in arrays.items()})
    frame = manifold.frame(at.point)
    start, velocity = np.expand_dims(at.point, 1), np.expand_dims(at.velocity, 1)
    parts = manifold.split(start, velocity, frame)
    total = np.sum(parts, axis=-manifold.point_ndim - 1)
    yield "the parts of split add up", total, frame, at.here, start
    images = manifold.coordinates(
        np.expand_dims(start, 1), parts, np.expand_dims(frame, (1, 2))
    )  # (*batch, dim, K, dim)
    traces = np.einsum("...iki->...k", images)
    yield "multiplicities are the traces of split", traces, multiplicities, dim * at.here
    products = np.einsum("...iaj,...ibj->...ab", images, images)
    error = abs(products * (1.0 - np.eye(len(signs))))
    yield "the parts of split are orthogonal", error, 0.0, dim * at.here
    rates = manifold.frequencies(at.point, at.velocity) / at.lengths[:, None]
    curvatures = np.where(multiplicities > 0, signs * rates**2, 0.0)
    # The velocity's own direction counts among the eigenspaces, with curvature zero.
    lower, upper = min(manifold.curvature_bounds[0], 0.0), max(manifold.curvature_bounds[1], 0.0)
    error = curvatures - np.clip(curvatures, lower, upper)
    yield "frequencies are within curvature_bounds", error, 0.0, at.here
    excess = np.maximum(0.0, rates @ ((signs < 0) * multiplicities) - manifold.volume_growth)
    yield "volume_growth is the largest sum of frequencies", excess, 0.0, 10.0 * at.here
    # One rung of the pole ladder is exact here, and made of exp and log alone.
    short = manifold.expand(np.minimum(1.0, 0.7 * at.lengths[-1] / 0.9 / at.lengths))
    half, vector = 0.5 * short * at.velocity, 0.25 * at.lengths[-1] * at.first
    middle, tip = manifold.exp(at.point, half), manifold.exp(at.point, vector)
    end = manifold.exp(at.point, 2.0 * half)
    mirrored = manifold.exp(middle, -manifold.log(middle, tip))
    carried = manifold.transport(at.point, 2.0 * half, vector)
    rung = -manifold.log(end, mirrored)
    allowed = 10.0 * at.there * manifold.magnification(middle)
    yield "transport is a rung of the pole ladder", carried, rung, allowed, end
