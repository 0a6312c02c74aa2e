"""Generic tests of a new manifold or model.

`check_manifold` tests whether the functions of a manifold are consistent with one another.
`check_model` tests whether the energy, derivatives and fit of a model are.  Both raise
``AssertionError`` with a sentence that names the property, the place and the size of the violation.
"""

from types import SimpleNamespace
from unittest import mock

import numpy as np

from geodp.manifolds.symmetric import SymmetricSpace
from geodp.models import chunks
from geodp.models.blocks import FOOTPOINT
from geodp.models.residuals import record_size

# Rounding to allow in units of length one: 100 units in the last place.
ROUNDING = 100 * np.finfo(float).eps

# Points at which a manifold is tested.
PLACES = 10

# The longest step, as a fraction of the injectivity radius: at 0.9 of it a logarithm magnifies
# rounding about tenfold, and at 1 it is not continuous.
LONGEST = 0.9

# The longest step where no cut locus is, at which points stay well scaled.
UNBOUNDED_REACH = 3.0

# Central differences of sixth order: multiples of the step, and coefficients of the differences.
# At this step truncation and rounding of functions of scale one are both about 1e-13.
STENCIL = ((1, 45.0 / 60.0), (2, -9.0 / 60.0), (3, 1.0 / 60.0))
STEP = 2e-3

# Records, data sets, and directions in which derivatives of a model are tested.
RECORDS, DATA_SETS, DIRECTIONS = 12, 2, 6


def check_manifold(manifold, seed=0, reach=None, rounding=ROUNDING):
    """Test whether the functions of a manifold are consistent with one another.

    Parameters
    ----------
    manifold : Manifold
    seed : int
        Seed of the points and steps of the tests.
    reach : float, optional
        Length of the longest step; 0.9 of the injectivity radius, or 3 where that is infinite,
        unless given.
    rounding : float
        Allowed error in units of length one; more for functions that iterate.

    Raises
    ------
    AssertionError
        A property does not hold.

    Examples
    --------
    >>> from geodp.manifolds.sphere import Sphere
    >>> check_manifold(Sphere(3))
    """
    if reach is None:
        bounded = np.isfinite(manifold.injectivity_radius)
        reach = LONGEST * manifold.injectivity_radius if bounded else UNBOUNDED_REACH
    at = _scene(manifold, np.random.default_rng(seed), reach, rounding)
    _check_points(at)
    _check_tangent_spaces(at)
    _check_geodesics(at)
    _check_transport(at)
    _check_batches(at)
    _check_derivatives(at)
    if isinstance(manifold, SymmetricSpace):
        _check_symmetry(at)
        _check_logs_along(at)


def _scene(manifold, rng, reach, rounding):
    """Points, steps of lengths from zero to ``reach``, their ends, and two unit tangents."""
    point = manifold.random_point(rng, (PLACES,))
    lengths = np.linspace(0.0, reach, PLACES)
    velocity = manifold.expand(lengths) * _unit(manifold, rng, point)
    end = manifold.exp(point, velocity)
    spread = [_magnification(manifold, each) for each in (point, end)]
    return SimpleNamespace(
        manifold=manifold,
        rng=rng,
        rounding=rounding,
        point=point,
        lengths=lengths,
        velocity=velocity,
        end=end,
        other=manifold.random_point(rng, (PLACES,)),
        first=_unit(manifold, rng, point),
        second=_unit(manifold, rng, point),
        here=rounding * spread[0],
        there=rounding * spread[0] * spread[1],
    )


def _unit(manifold, rng, point):
    vector = manifold.random_tangent(rng, point)
    return vector / manifold.expand(manifold.norm(point, vector))


def _magnification(manifold, point):
    """Factor, at least one, by which rounding of coordinates grows in lengths; shape of the batch.

    It is large where unit vectors have long or short coordinates, as far from the origin of
    hyperbolic space, or at ill-conditioned matrices.
    """
    frame = manifold.frame(point)
    flat = frame.reshape((*frame.shape[: frame.ndim - manifold.point_ndim], -1))
    if np.iscomplexobj(flat):
        flat = np.concatenate([flat.real, flat.imag], axis=-1)
    sizes = np.linalg.svd(flat, compute_uv=False)
    return np.maximum(1.0, sizes[..., 0]) * np.maximum(1.0, 1.0 / sizes[..., -1])


def _require(at, what, error, allowed):
    """Raise unless ``error``, whose first axis is the points, is at most ``allowed``."""
    error = np.asarray(error, dtype=float)
    while np.ndim(allowed) < error.ndim and np.ndim(allowed):
        allowed = np.expand_dims(allowed, -1)
    excess = np.where(np.isnan(error), np.inf, error - allowed)
    if np.all(excess <= 0.0):
        return
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    limit = np.broadcast_to(allowed, error.shape)[worst]
    raise AssertionError(
        f"{at.manifold.name}: {what}, but this is off by {error[worst]:.3g} (allowed: "
        f"{limit:.3g}) at point {worst[0] + 1}, with a step of length {at.lengths[worst[0]]:.3g}"
    )


def _say(name, what, found, condition):
    if not condition:
        raise AssertionError(f"{name}: {what}, but it is {found}")


def _largest(array, axes):
    """Largest absolute entry over the last axes."""
    return np.max(np.abs(array), axis=tuple(range(-axes, 0)))


def _check_points(at):
    manifold, ndim = at.manifold, at.manifold.point_ndim
    name = manifold.name
    shape = (PLACES, *manifold.point_shape)
    _say(name, f"random_point has shape {shape}", at.point.shape, at.point.shape == shape)
    for each in (*at.point, *at.end):
        reason = manifold.invalid_reason(each)
        _say(name, "invalid_reason of a random point and of an end is None", reason, reason is None)
    broken = at.point[0].copy()
    broken.flat[0] = np.nan
    reason = manifold.invalid_reason(broken)
    said = isinstance(reason, str) and "\n" not in reason
    _say(name, "invalid_reason of a point that is not a number is a phrase", reason, said)
    error = _largest(manifold.project(at.point) - at.point, ndim)
    _require(at, "project leaves points where they are", error, at.here * _largest(at.point, ndim))


def _check_tangent_spaces(at):
    manifold, dim = at.manifold, at.manifold.dim
    frame = manifold.frame(at.point)
    shape = (PLACES, dim, *manifold.point_shape)
    _say(manifold.name, f"frame has shape {shape}", frame.shape, frame.shape == shape)
    start = np.expand_dims(at.point, 1)
    gram = manifold.coordinates(start, frame, frame[:, None])
    error = _largest(gram - np.eye(dim), 2)
    _require(at, "frame is orthonormal", error, at.here)
    error = manifold.norm(start, manifold.project_tangent(start, frame) - frame)
    _require(at, "frame is tangent", error, at.here)
    array = at.rng.standard_normal(at.point.shape)
    if manifold.dtype is complex:
        array = array + 1j * at.rng.standard_normal(at.point.shape)
    tangent = manifold.project_tangent(at.point, array)
    size = np.maximum(1.0, manifold.norm(at.point, tangent))
    error = manifold.norm(at.point, manifold.project_tangent(at.point, tangent) - tangent)
    _require(at, "project_tangent leaves tangents as they are", error, at.here * size)
    back = manifold.vector(frame, manifold.coordinates(at.point, tangent, frame))
    error = manifold.norm(at.point, back - tangent)
    _require(at, "project_tangent leads into the span of frame", error, at.here * size)
    coordinates = at.rng.standard_normal((PLACES, dim))
    found = manifold.coordinates(at.point, manifold.vector(frame, coordinates))
    error = _largest(found - coordinates, 1)
    _require(at, "coordinates undoes vector", error, 10.0 * at.here * np.sqrt(dim))
    found = manifold.coordinates(at.point, manifold.tangent(at.point, coordinates), frame)
    error = _largest(found - coordinates, 1)
    _require(at, "coordinates in frame undoes tangent", error, 10.0 * at.here * np.sqrt(dim))
    difference = manifold.inner(at.point, at.first, at.second)
    difference = difference - manifold.inner(at.point, at.second, at.first)
    _require(at, "inner is symmetric", abs(difference), at.here)


def _check_geodesics(at):
    manifold, ndim = at.manifold, at.manifold.point_ndim
    error = manifold.norm(at.point, manifold.log(at.point, at.end) - at.velocity)
    _require(at, "log undoes exp", error, at.there)
    error = abs(manifold.dist(at.point, at.end) - at.lengths)
    _require(at, "dist is the length of the geodesic", error, at.there)
    zero = np.zeros_like(at.velocity)
    with np.errstate(all="raise"):
        error = _largest(manifold.exp(at.point, zero) - at.point, ndim)
        _require(at, "a step of length zero stays", error, at.here * _largest(at.point, ndim))
        _require(at, "dist to the point itself is zero", manifold.dist(at.point, at.point), at.here)
    # Pairs of random points, with logarithms of any length.
    apart = at.there * _magnification(manifold, at.other)
    there, back = manifold.dist(at.point, at.other), manifold.dist(at.other, at.point)
    size = np.maximum(1.0, there)
    _require(at, "dist is symmetric", abs(there - back), apart * size)
    end = manifold.exp(at.point, manifold.log(at.point, at.other))
    _require(at, "exp undoes log", manifold.dist(end, at.other), apart * size)
    detour = manifold.dist(at.point, at.end) + manifold.dist(at.end, at.other)
    error = np.maximum(0.0, there - detour)
    _require(at, "dist obeys the triangle inequality", error, apart * size)


def _check_transport(at):
    manifold = at.manifold
    first, second, velocity = (
        manifold.transport(at.point, at.velocity, each)
        for each in (at.first, at.second, at.velocity)
    )
    for one, other, before in (
        (first, second, (at.first, at.second)),
        (first, first, (at.first,) * 2),
    ):
        error = manifold.inner(at.end, one, other) - manifold.inner(at.point, *before)
        _require(at, "transport keeps inner products", abs(error), at.there)
    error = manifold.norm(at.end, first - manifold.project_tangent(at.end, first))
    _require(at, "transported vectors are tangent", error, at.there)
    error = manifold.norm(at.end, velocity + manifold.log(at.end, at.point))
    _require(at, "the transported velocity leads back", error, at.there)
    back = manifold.transport(at.end, -velocity, first)
    error = manifold.norm(at.point, back - at.first)
    _require(at, "transport there and back changes nothing", error, at.there)
    error = manifold.norm(at.end, manifold.transport_to(at.point, at.end, at.first) - first)
    _require(at, "transport_to is transport along log", error, at.there)
    carried = manifold.transport_to(at.point, at.other, at.first)
    error = manifold.norm(at.other, carried - manifold.project_tangent(at.other, carried))
    apart = at.there * _magnification(manifold, at.other)
    _require(at, "transport_to leads into the tangent space of the other point", error, apart)
    half = 0.4 * at.velocity
    velocity = manifold.transport(at.point, half, at.velocity)
    end = manifold.exp(manifold.exp(at.point, half), 0.6 * velocity)
    error = manifold.dist(end, at.end)
    _require(at, "a geodesic continues from any of its points", error, at.there)


def _verbs(manifold, point, first, second, other):
    """Results of all functions of a manifold, by name, for points and tangent vectors."""
    found = {
        "exp": manifold.exp(point, first),
        "log": manifold.log(point, other),
        "dist": manifold.dist(point, other),
        "transport": manifold.transport(point, first, second),
        "transport_to": manifold.transport_to(point, other, first),
        "inner": manifold.inner(point, first, second),
        "frame": manifold.frame(point),
        "coordinates": manifold.coordinates(point, first),
        "project": manifold.project(point),
        "project_tangent": manifold.project_tangent(point, second),
        "exp_volume": manifold.exp_volume(point, first),
        "needs_care": manifold.needs_care(point),
    }
    end = manifold.transport(point, first, second)
    for argument in ("point", "vector"):
        key = f"jacobi_adjoint in its {argument}"
        found[key] = manifold.jacobi_adjoint(point, first, end, argument)
    if isinstance(manifold, SymmetricSpace):
        found["frequencies"] = manifold.frequencies(point, first)
        found["split"] = manifold.split(point, first, second)
    return found


def _check_batches(at):
    manifold = at.manifold
    steps = 0.3 * at.first, 0.3 * at.second

    def paired(array):
        return array[: PLACES // 2 * 2].reshape((2, PLACES // 2, *array.shape[1:]))

    given = [at.point, *steps, at.other]
    batch = _verbs(manifold, *(paired(each) for each in given))
    singles = [_verbs(manifold, *(each[index] for each in given)) for index in range(PLACES)]
    for verb, found in batch.items():
        expected = paired(np.stack([single[verb] for single in singles]))
        what = f"{verb} of a batch has shape {expected.shape}"
        _say(manifold.name, what, found.shape, found.shape == expected.shape)
        error = np.abs(found * 1.0 - expected * 1.0).reshape(PLACES, -1)
        size = np.maximum(1.0, np.max(np.abs(expected)))
        _require(
            at, f"{verb} of a batch is that of its members", np.max(error, axis=-1), at.there * size
        )
    # One point, and several vectors there.
    vectors = manifold.random_tangent(
        at.rng, np.broadcast_to(at.point[0], (2, 3, *at.point[0].shape))
    )
    vectors = 0.3 * vectors / manifold.expand(manifold.norm(at.point[0], vectors))
    points = np.broadcast_to(at.point[0], vectors.shape)
    ends = manifold.exp(points, vectors)
    few = vectors[:1]
    for verb, found, expected in (
        ("exp", manifold.exp(at.point[0], vectors), ends),
        ("log", manifold.log(at.point[0], ends), manifold.log(points, ends)),
        ("dist", manifold.dist(at.point[0], ends), manifold.dist(points, ends)),
        (
            "transport",
            manifold.transport(at.point[0], few, vectors),
            manifold.transport(points, np.broadcast_to(few, vectors.shape), vectors),
        ),
    ):
        what = f"{verb} broadcasts to shape {expected.shape}"
        _say(manifold.name, what, found.shape, found.shape == expected.shape)
        error = np.max(np.abs(found - expected))
        size = max(1.0, np.max(np.abs(expected)))
        _require(at, f"{verb} broadcasts one point", error[None], at.here[:1] * size)


def _derivative(function):
    """Derivative at zero of a function of one number, by central differences of sixth order."""
    return (
        sum(
            coefficient * (function(multiple * STEP) - function(-multiple * STEP))
            for multiple, coefficient in STENCIL
        )
        / STEP
    )


def _check_derivatives(at):
    manifold, dim = at.manifold, at.manifold.dim
    frame = manifold.frame(at.point)
    start, velocity, end = (
        np.broadcast_to(np.expand_dims(each, 1), frame.shape)
        for each in (at.point, at.velocity, at.end)
    )
    frame_there = np.expand_dims(manifold.frame(at.end), 1)

    def images(move):
        """Coordinates at the end (*batch, dim, dim) of images of the frame."""

        def moved(step):
            return manifold.coordinates(end, manifold.log(end, move(step * frame)), frame_there)

        return _derivative(moved)

    def move_point(step):
        carried = manifold.transport(start, step, velocity)
        return manifold.exp(manifold.exp(start, step), carried)

    def move_vector(step):
        return manifold.exp(start, velocity + step)

    # Rounding is divided by the step, truncation is about as large, and logarithms of points near
    # the end magnify both once more.
    allowed = 50.0 * at.there * _magnification(manifold, at.end)
    residual = _unit(manifold, at.rng, at.end)
    weights = manifold.coordinates(at.end, residual, frame_there[:, 0])
    for argument, move in (("point", move_point), ("vector", move_vector)):
        matrix = images(move)
        adjoint = manifold.jacobi_adjoint(at.point, at.velocity, residual, argument)
        expected = np.squeeze(matrix @ weights[..., None], axis=-1)
        error = _largest(manifold.coordinates(at.point, adjoint, frame) - expected, 1)
        size = np.maximum(1.0, _largest(expected, 1))
        what = f"jacobi_adjoint is the adjoint of the derivative of exp in its {argument}"
        _require(at, what, error, allowed * size)
    # The last matrix is that of the vector; a determinant adds up the errors of its columns.
    expected = abs(np.linalg.det(matrix))
    error = abs(manifold.exp_volume(at.point, at.velocity) - expected)
    size = dim * np.maximum(1.0, expected)
    _require(at, "exp_volume is the determinant of the derivative of exp", error, allowed * size)


def _check_symmetry(at):
    manifold, ndim, dim = at.manifold, at.manifold.point_ndim, at.manifold.dim
    signs, multiplicities = np.array(manifold.curvature_signs), np.array(manifold.multiplicities)
    found = (len(signs) == len(multiplicities)) and sum(multiplicities) == dim
    _say(manifold.name, f"multiplicities add up to {dim}", tuple(multiplicities), found)
    # A step of length zero has no direction.
    at = SimpleNamespace(
        **{
            key: value[1:] if isinstance(value, np.ndarray) else value
            for key, value in vars(at).items()
        }
    )
    frame = manifold.frame(at.point)
    start, velocity = np.expand_dims(at.point, 1), np.expand_dims(at.velocity, 1)
    parts = manifold.split(start, velocity, frame)
    axis = -ndim - 1
    error = manifold.norm(start, np.sum(parts, axis=axis) - frame)
    _require(at, "the parts of split add up", error, at.here)
    images = manifold.coordinates(
        np.expand_dims(start, 1), parts, np.expand_dims(frame, (1, 2))
    )  # (*batch, dim, K, dim)
    traces = np.einsum("...iki->...k", images)
    error = abs(traces - multiplicities)
    _require(at, "multiplicities are the traces of split", error, dim * at.here)
    products = np.einsum("...iaj,...ibj->...ab", images, images)
    error = _largest(products * (1.0 - np.eye(len(signs))), 2)
    _require(at, "the parts of split are orthogonal", error, dim * at.here)
    rates = manifold.frequencies(at.point, at.velocity) / at.lengths[:, None]
    curvatures = np.where(multiplicities > 0, signs * rates**2, 0.0)
    # The velocity's own direction counts among the eigenspaces, with curvature zero.
    lower, upper = min(manifold.curvature_bounds[0], 0.0), max(manifold.curvature_bounds[1], 0.0)
    error = np.maximum(np.maximum(lower - curvatures, curvatures - upper), 0.0)
    _require(at, "frequencies are within curvature_bounds", error, at.here)
    growth = rates @ ((signs < 0) * multiplicities)
    error = np.maximum(0.0, growth - manifold.volume_growth)
    _require(at, "volume_growth is the largest sum of frequencies", error, 10.0 * at.here)
    # One rung of the pole ladder is exact here, and made of exp and log alone.
    short = manifold.expand(np.minimum(1.0, 0.7 * at.lengths[-1] / LONGEST / at.lengths))
    half = 0.5 * short * at.velocity
    vector = 0.25 * at.lengths[-1] * at.first
    middle, tip = manifold.exp(at.point, half), manifold.exp(at.point, vector)
    end = manifold.exp(at.point, 2.0 * half)
    mirrored = manifold.exp(middle, -manifold.log(middle, tip))
    carried = manifold.transport(at.point, 2.0 * half, vector)
    error = manifold.norm(end, carried + manifold.log(end, mirrored))
    apart = at.there * _magnification(manifold, middle)
    _require(at, "transport is a rung of the pole ladder", error, 10.0 * apart)


def _check_logs_along(at):
    """The fast `logs_along` of a space against the one that every symmetric space has."""
    manifold, rng = at.manifold, at.rng
    number, chains = 5, (2, 2)
    data = len(at.point) // 2
    for length in (0.6, 1e-9, 0.0):
        near = np.expand_dims(at.point[:data], (1, 2))
        near = np.broadcast_to(near, (data, *chains, *manifold.point_shape))
        start = manifold.exp(near, 0.1 * _unit(manifold, rng, near))
        velocity = length * _unit(manifold, rng, start)
        times = rng.uniform(-0.5, 1.0, (data, number))
        times[:, 0] = 0.0
        middle = np.repeat(np.expand_dims(at.point[:data], 1), number, axis=1)
        points = manifold.exp(middle, 0.4 * _unit(manifold, rng, middle))
        given = (start, velocity, times, points)
        fast, generic = manifold.logs_along(*given), SymmetricSpace.logs_along(manifold, *given)
        allowed = at.rounding * np.max(_magnification(manifold, start), axis=(1, 2))
        allowed = allowed * np.max(_magnification(manifold, points), axis=1)
        eigenspaces = len(manifold.curvature_signs)
        weights = [rng.standard_normal((data, *chains, number)) for _ in range(eigenspaces)]
        pairs = {"squared_distances": None, "frequencies": None}
        for key in pairs:
            found, expected = getattr(fast, key), getattr(generic, key)
            what = f"{key} of logs_along has shape {expected.shape}"
            _say(manifold.name, what, found.shape, found.shape == expected.shape)
            what = f"{key} of logs_along are those of exp and log"
            _require(at, what, np.abs(found - expected), allowed)
        for given_weights in (weights, [2.0, *weights[1:]], [*weights[:-1], 2.0]):
            difference = fast.combine(given_weights) - generic.combine(given_weights)
            error = manifold.norm(start, difference)
            what = "combine of logs_along is the sum of split"
            _require(at, what, error, 7.0 * allowed)


def check_model(model, seed=0, reach=0.6):
    """Test whether a model's energy, derivatives and fit are consistent with one another.

    Parameters
    ----------
    model : GeodesicModel
        On a manifold that passes `check_manifold`.
    seed : int
        Seed of the data.
    reach : float
        Length of the geodesics; residuals are from a third to two thirds of it.

    Raises
    ------
    AssertionError
        A property does not hold.

    Examples
    --------
    >>> from geodp.manifolds.sphere import Sphere
    >>> from geodp.models.geodesic import GeodesicModel
    >>> check_model(GeodesicModel(Sphere(2), number_of_covariates=2))
    """
    at = _study(model, np.random.default_rng(seed), reach)
    _check_energy(at)
    _check_contributions(at)
    _check_gradient(at)
    _check_hessian(at)
    _check_chunks(at)
    _check_gauss_newton(at)
    _check_fit(at)
    _check_recovery(at)


def _study(model, rng, reach):
    """Data sets about random parameters, with residuals whose lengths are known there."""
    manifold, k = model.manifold, model.number_of_covariates
    footpoint = manifold.random_point(rng, (DATA_SETS,))
    vectors = [reach / k * _unit(manifold, rng, footpoint) for _ in range(k)]
    parameters = model.parameters(footpoint, *vectors)
    x = rng.uniform(-0.5, 1.0, (DATA_SETS, RECORDS, k))
    predictions = _predictions(model, parameters, x)
    direction = _unit(manifold, rng, predictions)
    lengths = manifold.expand(_smooth_lengths(model.loss, rng, (DATA_SETS, RECORDS), reach))
    return SimpleNamespace(
        model=model,
        manifold=manifold,
        rng=rng,
        parameters=parameters,
        covariates=x,
        predictions=predictions,
        points=manifold.exp(predictions, lengths * direction),
        rounding=ROUNDING * np.max(_magnification(manifold, predictions), axis=1) ** 2,
    )


def _smooth_lengths(loss, rng, shape, reach):
    """Lengths from a third to two thirds of ``reach``, away from where the loss bends abruptly.

    Across such a place differences converge slowly, and prove nothing.
    """
    lengths = np.linspace(reach / 3.0, 2.0 * reach / 3.0, 4 * shape[-1])
    step = 0.01
    third = sum(
        coefficient * loss.values((lengths + offset * step) ** 2)
        for offset, coefficient in ((-3, -1.0), (-1, 3.0), (1, -3.0), (3, 1.0))
    )
    kept = np.sort(np.argsort(np.abs(third), kind="stable")[: 2 * shape[-1]])
    return rng.permuted(np.broadcast_to(lengths[kept], (*shape[:-1], len(kept))), axis=-1)[
        ..., : shape[-1]
    ]


def _predictions(model, parameters, covariates):
    return np.stack(
        [
            model.predict({block: value[index] for block, value in parameters.items()}, x)
            for index, x in enumerate(covariates)
        ]
    )


def _hold(at, what, error, allowed):
    """`_require` with a model's name for the manifold's, and data sets for points."""
    error = np.asarray(error, dtype=float)
    if np.all(error <= allowed):
        return
    limit = np.broadcast_to(allowed, error.shape)
    excess = np.where(np.isnan(error), np.inf, error - limit)
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    model = at.model
    raise AssertionError(
        f"{model.number_of_covariates} covariates and the loss {model.loss.name} on "
        f"{at.manifold.name}: {what}, but in data set {worst[0] + 1} this is off by "
        f"{error[worst]:.3g} (allowed: {limit[worst]:.3g})"
    )


def _energy(at, parameters):
    return at.model.energy_gradient(parameters, at.covariates, at.points, blocks=()).energy


def _check_energy(at):
    manifold, model = at.manifold, at.model
    distances = manifold.dist(at.predictions, at.points)
    expected = np.mean(model.loss.values(distances**2), axis=-1)
    _hold(
        at, "the energy is the mean loss", abs(_energy(at, at.parameters) - expected), at.rounding
    )
    found = model.residual_distances(at.parameters, at.covariates, at.points)
    # A distance comes from its square where that is faster.
    error = abs(found**2 - distances**2)
    what = "residual_distances are the distances to predict"
    _hold(at, what, error, at.rounding[:, None])
    at_zero = _predictions(model, at.parameters, np.zeros_like(at.covariates))
    error = manifold.dist(np.expand_dims(at.parameters[FOOTPOINT], 1), at_zero)
    _hold(at, "predict at covariates zero is the footpoint", error, at.rounding[:, None])


def _check_contributions(at):
    """Against the adjoint of the derivative of Exp, record by record."""
    manifold, model = at.manifold, at.model
    footpoint, *vectors = (np.expand_dims(value, 1) for value in at.parameters.values())
    start = np.broadcast_to(footpoint, at.points.shape)
    total = np.zeros_like(start)
    for index, vector in enumerate(vectors):
        total = total + manifold.expand(at.covariates[..., index]) * vector
    residual = manifold.log(manifold.exp(start, total), at.points)
    weights = model.loss.weights(manifold.dist(at.predictions, at.points) ** 2)
    residual = residual if weights is None else manifold.expand(weights) * residual
    found = model.contributions(at.parameters, at.covariates, at.points)
    gradient = model.energy_gradient(at.parameters, at.covariates, at.points).gradient
    for index, block in enumerate(model.blocks):
        argument = "vector" if index else "point"
        expected = manifold.jacobi_adjoint(start, total, residual, argument)
        if index:
            expected = manifold.expand(at.covariates[..., index - 1]) * expected
        error = manifold.norm(start, found[block] - expected)
        what = f"contributions to {block} are residuals carried back by jacobi_adjoint"
        _hold(at, what, error, 50.0 * at.rounding[:, None])
        difference = np.sum(found[block], axis=1) + RECORDS * gradient[block]
        error = manifold.norm(at.parameters[FOOTPOINT], difference)
        what = f"contributions to {block} add up to minus n times the gradient"
        _hold(at, what, error, 50.0 * RECORDS * at.rounding)
    residuals = model.residuals(at.parameters, at.covariates, at.points)
    for sign in (1.0, -1.0):
        signs = (0.5, sign, 0.7, -0.3)
        coefficients = dict(zip(model.blocks, signs, strict=False))
        combined = sum(
            coefficient * residuals.contributions(block)
            for block, coefficient in coefficients.items()
        )
        expected = manifold.norm(start, combined)
        found = residuals.adjoint_norms(coefficients)
        # A small difference of squares is rounded to its root, and upwards.
        error = np.where(found >= expected, (found - expected) * 1e-5, expected - found)
        what = "adjoint_norms are the norms of combined contributions"
        _hold(at, what, error, 50.0 * at.rounding[:, None] + 1e-11)


def _directions(at, blocks):
    """Places, and directions there: (data_sets, DIRECTIONS, *point_shape) by block."""
    manifold = at.manifold
    places = {
        block: np.repeat(np.expand_dims(value, 1), DIRECTIONS, axis=1)
        for block, value in at.parameters.items()
    }
    steps = {block: manifold.random_tangent(at.rng, places[FOOTPOINT]) for block in blocks}
    size = np.sqrt(sum(manifold.inner(places[FOOTPOINT], s, s) for s in steps.values()))
    return places, {block: step / manifold.expand(size) for block, step in steps.items()}


def _along(step, size):
    return {block: size * value for block, value in step.items()}


def _check_gradient(at):
    manifold, model = at.manifold, at.model
    gradient = model.energy_gradient(at.parameters, at.covariates, at.points).gradient
    for block in model.blocks:
        places, step = _directions(at, (block,))
        expected = _derivative(
            lambda size, p=places, s=step: _energy(at, model.retract(p, _along(s, size)))
        )
        found = manifold.inner(places[FOOTPOINT], np.expand_dims(gradient[block], 1), step[block])
        # Gradients are about 0.1 long.
        what = f"the gradient in {block} is the derivative of the energy"
        _hold(at, what, abs(found - expected), 2e-12 + 50.0 * at.rounding[:, None])


def _check_hessian(at):
    manifold, model = at.manifold, at.model
    matrix = model.hessian(at.parameters, at.covariates, at.points)
    error = np.max(abs(matrix - np.swapaxes(matrix, -1, -2)), axis=(-1, -2))
    _hold(at, "the Hessian is symmetric", error, 0.0)
    # Directions across all blocks see the mixed derivatives too.
    places, step = _directions(at, model.blocks)
    start = places[FOOTPOINT]

    def slope(size):
        end = model.retract(places, _along(step, size))
        found = model.energy_gradient(end, at.covariates, at.points).gradient
        return sum(
            manifold.inner(
                end[FOOTPOINT],
                found[block],
                manifold.transport(start, size * step[FOOTPOINT], value),
            )
            for block, value in step.items()
        )

    expected = _derivative(slope)
    frame = np.expand_dims(manifold.frame(at.parameters[FOOTPOINT]), 1)
    flat = np.concatenate(
        [manifold.coordinates(start, value, frame) for value in step.values()], axis=-1
    )
    found = np.einsum("dci,dij,dcj->dc", flat, matrix, flat)
    size = np.maximum(1.0, np.max(abs(matrix), axis=(-1, -2)))[:, None]
    what = "the Hessian is the derivative of the gradient"
    _hold(at, what, abs(found - expected), 1e-8 * size)


def _check_chunks(at):
    """Records and chains in small chunks, and one chain at a time."""
    model, manifold = at.model, at.manifold
    places, step = _directions(at, model.blocks)
    states = model.retract(places, _along(step, 0.1))
    whole = model.energy_gradient(states, at.covariates, at.points)
    # Chunks of one chain and five records, so that a remainder is left.
    size = 5 * DATA_SETS * record_size(manifold, model.number_of_covariates)
    with mock.patch.object(chunks, "CHUNK", size):
        parts = model.energy_gradient(states, at.covariates, at.points)
    error = abs(parts.energy - whole.energy)
    _hold(at, "chunks do not change the energy", error, at.rounding[:, None])
    for block in model.blocks:
        error = manifold.norm(states[FOOTPOINT], parts.gradient[block] - whole.gradient[block])
        _hold(at, f"chunks do not change the gradient in {block}", error, at.rounding[:, None])
    one = {block: value[1, 2] for block, value in states.items()}
    single = model.energy_gradient(one, at.covariates[1], at.points[1])
    error = np.array([0.0, abs(single.energy - whole.energy[1, 2])])
    _hold(at, "the energy of a batch is that of its members", error, at.rounding)


def _check_gauss_newton(at):
    manifold, model = at.manifold, at.model
    footpoint = at.parameters[FOOTPOINT]
    damping = np.zeros(DATA_SETS)
    gradient = model.energy_gradient(at.parameters, at.covariates, at.points).gradient
    steps = model.gauss_newton_steps(at.parameters, at.covariates, at.points, gradient, damping)
    slope = sum(manifold.inner(footpoint, steps[block], gradient[block]) for block in gradient)
    size = sum(manifold.inner(footpoint, each, each) for each in gradient.values())
    # Below zero by far more than rounding.
    _hold(at, "a Gauss-Newton step descends", np.maximum(0.0, slope + 1e-6 * size), 0.0)
    weights = model.loss.weights(np.zeros(1))
    if weights is not None and weights[0] != 1.0:
        return  # the loss has no second derivative without residuals
    matrix = model.hessian(at.parameters, at.covariates, at.predictions)
    steps = model.gauss_newton_steps(
        at.parameters, at.covariates, at.predictions, gradient, damping
    )
    flat, expected = (
        np.concatenate([manifold.coordinates(footpoint, each[b]) for b in model.blocks], axis=-1)
        for each in (steps, gradient)
    )
    error = np.linalg.norm(np.squeeze(matrix @ flat[..., None], axis=-1) + expected, axis=-1)
    allowed = 1e-7 * np.linalg.norm(flat, axis=-1)
    _hold(at, "Gauss-Newton steps without residuals are Newton's", error, allowed)


def _check_fit(at):
    manifold, model = at.manifold, at.model
    found = model.fit(at.covariates, at.points)
    _hold(at, "the fit converges", ~found.converged, 0.0)
    _hold(at, "the gradient at the fit is small", found.gradient_norm, 1e-10)
    truth = _energy(at, at.parameters)
    _hold(at, "the fit has no more energy than the truth", found.energy - truth, at.rounding)
    fitted = SimpleNamespace(**{**vars(at), "parameters": found.parameters})
    places, step = _directions(fitted, model.blocks)
    for size in (1e-3, 1e-2, 0.1):
        around = _energy(at, model.retract(places, _along(step, size)))
        error = found.energy[:, None] - around
        _hold(at, "the fit is a minimum", error, -1e-4 * size**2)
    distances = model.residual_distances(found.parameters, at.covariates, at.points)
    error = abs(found.largest_residual - np.max(distances, axis=-1))
    _hold(at, "largest_residual is that of the fit", error, 0.0)
    singles = [model.fit(at.covariates[i], at.points[i]) for i in range(DATA_SETS)]
    for block in model.blocks:
        each = np.stack([single.parameters[block] for single in singles])
        footpoint = found.parameters[FOOTPOINT]
        if block == FOOTPOINT:
            error = manifold.dist(footpoint, each)
        else:
            error = manifold.norm(footpoint, found.parameters[block] - each)
        _hold(at, f"a batch of fits has the {block} of single ones", error, 1e-8)


def _check_recovery(at):
    manifold, model = at.manifold, at.model
    found = model.fit(at.covariates, at.predictions)
    _hold(at, "a fit without noise converges", ~found.converged, 0.0)
    predictions = _predictions(model, found.parameters, at.covariates)
    error = manifold.dist(predictions, at.predictions)
    _hold(at, "a fit without noise finds the truth", error, 1e-8)
