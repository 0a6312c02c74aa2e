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
        name=manifold.name,
        places=_points(lengths),
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


def _points(lengths):
    """Words for each point, where the step has the given length."""
    return np.array(
        [f"point {k}, with a step of length {length:.3g}" for k, length in enumerate(lengths, 1)]
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
    """Raise unless ``error`` is at most ``allowed``; their first axis is points or data sets."""
    error = np.asarray(error, dtype=float)
    allowed = np.reshape(allowed, np.shape(allowed) + (1,) * (error.ndim - np.ndim(allowed)))
    excess = np.where(np.isnan(error), np.inf, error - allowed)
    if np.all(excess <= 0.0):
        return
    worst = np.unravel_index(np.argmax(excess), excess.shape)
    limit = np.broadcast_to(allowed, error.shape)[worst]
    raise AssertionError(
        f"{at.name}: {what}, but this is off by {error[worst]:.3g} (allowed: {limit:.3g}) at "
        f"{at.places[worst[0]]}"
    )


def _equal(at, what, found, expected, allowed, place=None):
    """Require that arrays are equal; with a place, that tangent vectors there are."""
    error = found * 1.0 - expected * 1.0
    _require(at, what, abs(error) if place is None else at.manifold.norm(place, error), allowed)


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


def _check_points(at):
    manifold, ndim = at.manifold, at.manifold.point_ndim
    _require_shape(at, "random_point", at.point, (PLACES, *manifold.point_shape))
    for each in (*at.point, *at.end):
        reason = manifold.invalid_reason(each)
        _say(at, "invalid_reason of a random point and of an end is None", reason, reason is None)
    broken = at.point[0].copy()
    broken.flat[0] = np.nan
    reason = manifold.invalid_reason(broken)
    said = isinstance(reason, str) and "\n" not in reason
    _say(at, "invalid_reason of a point that is not a number is a phrase", reason, said)
    allowed = at.here * _largest(at.point, ndim)
    _equal(
        at, "project leaves points where they are", manifold.project(at.point), at.point, allowed
    )


def _check_tangent_spaces(at):
    manifold, dim = at.manifold, at.manifold.dim
    frame = manifold.frame(at.point)
    _require_shape(at, "frame", frame, (PLACES, dim, *manifold.point_shape))
    start = np.expand_dims(at.point, 1)
    gram = manifold.coordinates(start, frame, frame[:, None])
    _equal(at, "frame is orthonormal", gram, np.eye(dim), at.here)
    projected = manifold.project_tangent(start, frame)
    _equal(at, "frame is tangent", projected, frame, at.here, start)
    array = at.rng.standard_normal(at.point.shape)
    if manifold.dtype is complex:
        array = array + 1j * at.rng.standard_normal(at.point.shape)
    tangent = manifold.project_tangent(at.point, array)
    allowed = at.here * np.maximum(1.0, manifold.norm(at.point, tangent))
    again = manifold.project_tangent(at.point, tangent)
    _equal(at, "project_tangent leaves tangents as they are", again, tangent, allowed, at.point)
    back = manifold.vector(frame, manifold.coordinates(at.point, tangent, frame))
    _equal(at, "project_tangent leads into the span of frame", back, tangent, allowed, at.point)
    coordinates = at.rng.standard_normal((PLACES, dim))
    found = manifold.coordinates(at.point, manifold.vector(frame, coordinates))
    _equal(at, "coordinates undoes vector", found, coordinates, 10.0 * at.here * np.sqrt(dim))
    found = manifold.coordinates(at.point, manifold.tangent(at.point, coordinates), frame)
    _equal(
        at, "coordinates in frame undoes tangent", found, coordinates, 10.0 * at.here * np.sqrt(dim)
    )
    swapped = manifold.inner(at.point, at.second, at.first)
    product = manifold.inner(at.point, at.first, at.second)
    _equal(at, "inner is symmetric", swapped, product, at.here)


def _check_geodesics(at):
    manifold, ndim = at.manifold, at.manifold.point_ndim
    _equal(at, "log undoes exp", manifold.log(at.point, at.end), at.velocity, at.there, at.point)
    away = manifold.dist(at.point, at.end)
    _equal(at, "dist is the length of the geodesic", away, at.lengths, at.there)
    zero = np.zeros_like(at.velocity)
    with np.errstate(all="raise"):
        end = manifold.exp(at.point, zero)
        allowed = at.here * _largest(at.point, ndim)
        _equal(at, "a step of length zero stays", end, at.point, allowed)
        _require(at, "dist to the point itself is zero", manifold.dist(at.point, at.point), at.here)
    # Pairs of random points, with logarithms of any length.
    there, back = manifold.dist(at.point, at.other), manifold.dist(at.other, at.point)
    allowed = at.there * _magnification(manifold, at.other) * np.maximum(1.0, there)
    _equal(at, "dist is symmetric", there, back, allowed)
    end = manifold.exp(at.point, manifold.log(at.point, at.other))
    _require(at, "exp undoes log", manifold.dist(end, at.other), allowed)
    detour = away + manifold.dist(at.end, at.other)
    _require(at, "dist obeys the triangle inequality", there - detour, allowed)


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
        found, expected = manifold.inner(at.end, one, other), manifold.inner(at.point, *before)
        _equal(at, "transport keeps inner products", found, expected, at.there)
    tangent = manifold.project_tangent(at.end, first)
    _equal(at, "transported vectors are tangent", tangent, first, at.there, at.end)
    forth = -manifold.log(at.end, at.point)
    _equal(at, "the transported velocity leads back", forth, velocity, at.there, at.end)
    back = manifold.transport(at.end, -velocity, first)
    _equal(at, "transport there and back changes nothing", back, at.first, at.there, at.point)
    carried = manifold.transport_to(at.point, at.end, at.first)
    _equal(at, "transport_to is transport along log", carried, first, at.there, at.end)
    carried = manifold.transport_to(at.point, at.other, at.first)
    tangent = manifold.project_tangent(at.other, carried)
    what = "transport_to leads into the tangent space of the other point"
    apart = at.there * _magnification(manifold, at.other)
    _equal(at, what, tangent, carried, apart, at.other)
    half = 0.4 * at.velocity
    velocity = manifold.transport(at.point, half, at.velocity)
    end = manifold.exp(manifold.exp(at.point, half), 0.6 * velocity)
    what = "a geodesic continues from any of its points"
    _require(at, what, manifold.dist(end, at.end), at.there)


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
    at = _changed(at, places=_points(np.full(PLACES, 0.3)))

    def paired(array):
        return array.reshape((2, -1, *array.shape[1:]))

    given = [at.point, *steps, at.other]
    batch = _verbs(manifold, *(paired(each) for each in given))
    singles = [_verbs(manifold, *(each[index] for each in given)) for index in range(PLACES)]
    for verb, found in batch.items():
        expected = paired(np.stack([single[verb] for single in singles]))
        what = f"{verb} of a batch"
        _require_shape(at, what, found, expected.shape)
        allowed = at.there * np.maximum(1.0, np.max(np.abs(expected)))
        found, expected = (each.reshape(PLACES, -1) for each in (found, expected))
        _equal(at, f"{what} is that of its members", found, expected, allowed)
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
        what = f"{verb} of one point and several vectors"
        _require_shape(at, what, found, expected.shape)
        allowed = at.here[:1] * max(1.0, np.max(np.abs(expected)))
        _equal(at, f"{what} broadcasts the point", found[None], expected[None], allowed)


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
        found = manifold.coordinates(at.point, adjoint, frame)
        size = np.maximum(1.0, _largest(expected, 1))
        what = f"jacobi_adjoint is the adjoint of the derivative of exp in its {argument}"
        _equal(at, what, found, expected, allowed * size)
    # The last matrix is that of the vector; a determinant adds up the errors of its columns.
    expected = abs(np.linalg.det(matrix))
    found = manifold.exp_volume(at.point, at.velocity)
    size = dim * np.maximum(1.0, expected)
    what = "exp_volume is the determinant of the derivative of exp"
    _equal(at, what, found, expected, allowed * size)


def _check_symmetry(at):
    manifold, dim = at.manifold, at.manifold.dim
    signs, multiplicities = np.array(manifold.curvature_signs), np.array(manifold.multiplicities)
    found = (len(signs) == len(multiplicities)) and sum(multiplicities) == dim
    _say(at, f"multiplicities add up to {dim}", tuple(multiplicities), found)
    # A step of length zero has no direction.
    arrays = {key: each for key, each in vars(at).items() if isinstance(each, np.ndarray)}
    at = _changed(at, **{key: each[1:] for key, each in arrays.items()})
    frame = manifold.frame(at.point)
    start, velocity = np.expand_dims(at.point, 1), np.expand_dims(at.velocity, 1)
    parts = manifold.split(start, velocity, frame)
    total = np.sum(parts, axis=-manifold.point_ndim - 1)
    _equal(at, "the parts of split add up", total, frame, at.here, start)
    images = manifold.coordinates(
        np.expand_dims(start, 1), parts, np.expand_dims(frame, (1, 2))
    )  # (*batch, dim, K, dim)
    traces = np.einsum("...iki->...k", images)
    _equal(at, "multiplicities are the traces of split", traces, multiplicities, dim * at.here)
    products = np.einsum("...iaj,...ibj->...ab", images, images)
    error = abs(products * (1.0 - np.eye(len(signs))))
    _require(at, "the parts of split are orthogonal", error, dim * at.here)
    rates = manifold.frequencies(at.point, at.velocity) / at.lengths[:, None]
    curvatures = np.where(multiplicities > 0, signs * rates**2, 0.0)
    # The velocity's own direction counts among the eigenspaces, with curvature zero.
    lower, upper = min(manifold.curvature_bounds[0], 0.0), max(manifold.curvature_bounds[1], 0.0)
    error = np.maximum(lower - curvatures, curvatures - upper)
    _require(at, "frequencies are within curvature_bounds", error, at.here)
    growth = rates @ ((signs < 0) * multiplicities)
    excess = growth - manifold.volume_growth
    _require(at, "volume_growth is the largest sum of frequencies", excess, 10.0 * at.here)
    # One rung of the pole ladder is exact here, and made of exp and log alone.
    short = manifold.expand(np.minimum(1.0, 0.7 * at.lengths[-1] / LONGEST / at.lengths))
    half = 0.5 * short * at.velocity
    vector = 0.25 * at.lengths[-1] * at.first
    middle, tip = manifold.exp(at.point, half), manifold.exp(at.point, vector)
    end = manifold.exp(at.point, 2.0 * half)
    mirrored = manifold.exp(middle, -manifold.log(middle, tip))
    carried = manifold.transport(at.point, 2.0 * half, vector)
    rung = -manifold.log(end, mirrored)
    allowed = 10.0 * at.there * _magnification(manifold, middle)
    _equal(at, "transport is a rung of the pole ladder", carried, rung, allowed, end)


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
        at = _changed(at, places=_points(np.full(data, length)))
        for key in ("squared_distances", "frequencies"):
            found, expected = getattr(fast, key), getattr(generic, key)
            _require_shape(at, f"{key} of logs_along", found, expected.shape)
            what = f"{key} of logs_along are those of exp and log"
            _equal(at, what, found, expected, allowed)
        for given_weights in (weights, [2.0, *weights[1:]], [*weights[:-1], 2.0]):
            found, expected = (each.combine(given_weights) for each in (fast, generic))
            what = "combine of logs_along is the sum of split"
            _equal(at, what, found, expected, 7.0 * allowed, start)


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
    predictions = model.predict(parameters, x)
    direction = _unit(manifold, rng, predictions)
    lengths = manifold.expand(_smooth_lengths(model.loss, rng, (DATA_SETS, RECORDS), reach))
    data = x, manifold.exp(predictions, lengths * direction)
    return SimpleNamespace(
        model=model,
        manifold=manifold,
        name=f"{k} covariates and the loss {model.loss.name} on {manifold.name}",
        places=[f"data set {index + 1}" for index in range(DATA_SETS)],
        rng=rng,
        parameters=parameters,
        data=data,
        predictions=predictions,
        gradient=model.energy_gradient(parameters, *data).gradient,
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


def _energy(at, parameters):
    return at.model.energy_gradient(parameters, *at.data, blocks=()).energy


def _check_energy(at):
    manifold, model = at.manifold, at.model
    x, points = at.data
    distances = manifold.dist(at.predictions, points)
    expected = np.mean(model.loss.values(distances**2), axis=-1)
    _equal(at, "the energy is the mean loss", _energy(at, at.parameters), expected, at.rounding)
    found = model.residual_distances(at.parameters, *at.data)
    # A distance comes from its square where that is faster.
    what = "residual_distances are the distances to predict"
    _equal(at, what, found**2, distances**2, at.rounding)
    at_zero = model.predict(at.parameters, np.zeros_like(x))
    error = manifold.dist(np.expand_dims(at.parameters[FOOTPOINT], 1), at_zero)
    _require(at, "predict at covariates zero is the footpoint", error, at.rounding)


def _check_contributions(at):
    """Against the adjoint of the derivative of Exp, record by record."""
    manifold, model = at.manifold, at.model
    x, points = at.data
    footpoint, *vectors = (np.expand_dims(value, 1) for value in at.parameters.values())
    start = np.broadcast_to(footpoint, points.shape)
    total = np.zeros_like(start)
    for index, vector in enumerate(vectors):
        total = total + manifold.expand(x[..., index]) * vector
    residual = manifold.log(manifold.exp(start, total), points)
    weights = model.loss.weights(manifold.dist(at.predictions, points) ** 2)
    residual = residual if weights is None else manifold.expand(weights) * residual
    found = model.contributions(at.parameters, *at.data)
    for index, block in enumerate(model.blocks):
        argument = "vector" if index else "point"
        expected = manifold.jacobi_adjoint(start, total, residual, argument)
        if index:
            expected = manifold.expand(x[..., index - 1]) * expected
        what = f"contributions to {block} are residuals carried back by jacobi_adjoint"
        _equal(at, what, found[block], expected, 50.0 * at.rounding, start)
        sums, expected = np.sum(found[block], axis=1), -RECORDS * at.gradient[block]
        what = f"contributions to {block} add up to minus n times the gradient"
        place = at.parameters[FOOTPOINT]
        _equal(at, what, sums, expected, 50.0 * RECORDS * at.rounding, place)


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
    for block in model.blocks:
        places, step = _directions(at, (block,))
        expected = _derivative(
            lambda size, p=places, s=step: _energy(at, model.retract(p, _along(s, size)))
        )
        gradient = np.expand_dims(at.gradient[block], 1)
        found = manifold.inner(places[FOOTPOINT], gradient, step[block])
        # Gradients are about 0.1 long.
        what = f"the gradient in {block} is the derivative of the energy"
        _equal(at, what, found, expected, 2e-12 + 50.0 * at.rounding)


def _check_hessian(at):
    manifold, model = at.manifold, at.model
    matrix = model.hessian(at.parameters, *at.data)
    _equal(at, "the Hessian is symmetric", matrix, np.swapaxes(matrix, -1, -2), 0.0)
    # Directions across all blocks see the mixed derivatives too.
    places, step = _directions(at, model.blocks)
    start = places[FOOTPOINT]

    def slope(size):
        end = model.retract(places, _along(step, size))
        found = model.energy_gradient(end, *at.data).gradient
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
    size = np.maximum(1.0, np.max(abs(matrix), axis=(-1, -2)))
    what = "the Hessian is the derivative of the gradient"
    _equal(at, what, found, expected, 1e-8 * size)


def _check_chunks(at):
    """Records and chains in small chunks, and one chain at a time."""
    model, manifold = at.model, at.manifold
    places, step = _directions(at, model.blocks)
    states = model.retract(places, _along(step, 0.1))
    whole = model.energy_gradient(states, *at.data)
    # Chunks of one chain and five records, so that a remainder is left.
    size = 5 * DATA_SETS * record_size(manifold, model.number_of_covariates)
    with mock.patch.object(chunks, "CHUNK", size):
        parts = model.energy_gradient(states, *at.data)
    _equal(at, "chunks do not change the energy", parts.energy, whole.energy, at.rounding)
    for block in model.blocks:
        found, expected = parts.gradient[block], whole.gradient[block]
        what = f"chunks do not change the gradient in {block}"
        _equal(at, what, found, expected, at.rounding, states[FOOTPOINT])
    one = {block: value[1, 2] for block, value in states.items()}
    single = model.energy_gradient(one, *(each[1] for each in at.data))
    error = np.array([0.0, abs(single.energy - whole.energy[1, 2])])
    _require(at, "the energy of a batch is that of its members", error, at.rounding)


def _check_gauss_newton(at):
    manifold, model = at.manifold, at.model
    footpoint = at.parameters[FOOTPOINT]
    damping = np.zeros(DATA_SETS)
    gradient = at.gradient
    steps = model.gauss_newton_steps(at.parameters, *at.data, gradient, damping)
    slope = sum(manifold.inner(footpoint, steps[block], gradient[block]) for block in gradient)
    size = sum(manifold.inner(footpoint, each, each) for each in gradient.values())
    # Below zero by far more than rounding.
    _require(at, "a Gauss-Newton step descends", np.maximum(0.0, slope + 1e-6 * size), 0.0)
    weights = model.loss.weights(np.zeros(1))
    if weights is not None and weights[0] != 1.0:
        return  # the loss has no second derivative without residuals
    exact = at.data[0], at.predictions
    matrix = model.hessian(at.parameters, *exact)
    steps = model.gauss_newton_steps(at.parameters, *exact, gradient, damping)
    flat, expected = (
        np.concatenate([manifold.coordinates(footpoint, each[b]) for b in model.blocks], axis=-1)
        for each in (steps, gradient)
    )
    error = np.linalg.norm(np.squeeze(matrix @ flat[..., None], axis=-1) + expected, axis=-1)
    allowed = 1e-7 * np.linalg.norm(flat, axis=-1)
    _require(at, "Gauss-Newton steps without residuals are Newton's", error, allowed)


def _check_fit(at):
    manifold, model = at.manifold, at.model
    found = model.fit(*at.data)
    _require(at, "the fit converges", ~found.converged, 0.0)
    _require(at, "the gradient at the fit is small", found.gradient_norm, 1e-10)
    truth = _energy(at, at.parameters)
    _require(at, "the fit has no more energy than the truth", found.energy - truth, at.rounding)
    places, step = _directions(_changed(at, parameters=found.parameters), model.blocks)
    for size in (1e-3, 1e-2, 0.1):
        around = _energy(at, model.retract(places, _along(step, size)))
        error = found.energy[:, None] - around
        _require(at, "the fit is a minimum", error, -1e-4 * size**2)
    distances = model.residual_distances(found.parameters, *at.data)
    largest = np.max(distances, axis=-1)
    _equal(at, "largest_residual is that of the fit", found.largest_residual, largest, 0.0)
    singles = [model.fit(*data) for data in zip(*at.data, strict=True)]
    for block in model.blocks:
        each = np.stack([single.parameters[block] for single in singles])
        footpoint = found.parameters[FOOTPOINT]
        if block == FOOTPOINT:
            error = manifold.dist(footpoint, each)
        else:
            error = manifold.norm(footpoint, found.parameters[block] - each)
        _require(at, f"a batch of fits has the {block} of single ones", error, 1e-8)


def _check_recovery(at):
    manifold, model = at.manifold, at.model
    found = model.fit(at.data[0], at.predictions)
    _require(at, "a fit without noise converges", ~found.converged, 0.0)
    error = manifold.dist(model.predict(found.parameters, at.data[0]), at.predictions)
    _require(at, "a fit without noise finds the truth", error, 1e-8)
