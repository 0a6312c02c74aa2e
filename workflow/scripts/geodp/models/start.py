"""Starts of a fit: linear regression in the tangent space at a point amid the data.

Where these are so wide that the sum of losses may have several minima, and saddles, means start
from several records besides.
"""

from dataclasses import fields, replace

import numpy as np

from geodp.data.large import extremes, settle
from geodp.models.blocks import FOOTPOINT
from geodp.models.losses import SquaredDistance
from geodp.models.residuals import residuals_of

# Most records that the start is computed from.
STARTING_RECORDS = 4096


def starting_parameters(model, covariates, points):
    """Start of the fit, and its ``spread`` for `minimise`.

    Linear regression in the tangent space at a central point; for other losses than least squares
    it is reweighted iteratively.
    """
    manifold = model.manifold
    centre, is_mean = _central_point(model, points)
    if is_mean and not covariates.shape[-1]:
        return model.parameters(centre), None
    at_centre = residuals_of(manifold, {FOOTPOINT: centre}, covariates[..., :0], points)
    spread = np.mean(model.loss.values(at_centre.squared_distances), axis=-1)
    if isinstance(model.loss, SquaredDistance):
        first, slopes = _linear_regression(
            manifold, covariates, lambda weights: at_centre.adjoint_sums(FOOTPOINT, weights)
        )
    else:
        first, slopes = _robust_regression(model, centre, covariates, points)
    footpoint = manifold.exp(centre, first)
    vectors = [manifold.log(footpoint, manifold.exp(centre, first + slope)) for slope in slopes]
    return model.parameters(footpoint, *vectors), spread if vectors else None


def _robust_regression(model, centre, covariates, points):
    """Linear regression of logarithms, reweighted as the loss weights residuals."""
    manifold = model.manifold
    record_axis = -manifold.point_ndim - 1
    centre = np.expand_dims(centre, record_axis)
    logs = manifold.log(centre, points)

    def sums(weights):
        return np.sum(manifold.expand(weights) * logs, axis=record_axis)

    first, slopes = _linear_regression(manifold, covariates, sums)
    for _ in range(30):
        line = np.expand_dims(first, record_axis) + manifold.combinations(slopes, covariates)
        apart = logs - line
        squares = np.maximum(manifold.inner(centre, apart, apart), 0.0)
        weights = model.loss.weights(squares)
        if not np.all(np.sum(weights, axis=-1) > 0.0):
            break
        first, slopes = _linear_regression(manifold, covariates, sums, weights)
    return first, slopes


def _central_point(model, points, candidates=10):
    """Points (*data_sets, *point_shape) amid the data, and whether they are near means.

    The record that has, of up to so many, the least sum of losses of the distances to the
    others; by least squares without a cut locus `Manifold.centre`.
    """
    manifold = model.manifold
    record_axis = -manifold.point_ndim - 1
    if np.isinf(manifold.injectivity_radius) and isinstance(model.loss, SquaredDistance):
        return manifold.centre(points), True
    number = points.shape[record_axis]
    chosen = np.unique(np.linspace(0, number - 1, candidates).astype(int))
    some = np.take(points, chosen, axis=record_axis)
    pairs = np.expand_dims(some, record_axis), np.expand_dims(some, record_axis - 1)
    losses = model.loss.values(manifold.dist(*pairs) ** 2)
    best = np.argmin(np.sum(losses, axis=-1), axis=-1)
    index = np.asarray(best)[(..., None) + (None,) * manifold.point_ndim]
    best = np.take_along_axis(some, index, axis=record_axis)
    return np.squeeze(best, axis=record_axis), False


def some_records(manifold, covariates, points):
    """At most about `STARTING_RECORDS` records, spread over the data; each covariate varies."""
    number, k = covariates.shape[-2:]
    if number <= STARTING_RECORDS:
        return covariates, points
    used = np.linspace(0, number - 1, STARTING_RECORDS).astype(int)
    used = np.broadcast_to(used, (*covariates.shape[:-2], STARTING_RECORDS))
    # With the two that are farthest apart in it a covariate varies.
    if k:
        used = np.concatenate([used, *extremes(covariates)], axis=-1)
    axis, parts = -manifold.point_ndim - 1, []
    for each in np.array_split(used, 16, axis=-1):
        parts.append(np.take_along_axis(points, manifold.expand(each), axis=axis))
        settle(points)
    some = np.take_along_axis(covariates, used[..., None], axis=-2)
    return some, np.concatenate(parts, axis=axis)


def _linear_regression(manifold, covariates, sums, weights=None):
    """Intercept and slopes (*data_sets, *point_shape) of tangent vectors at one point.

    ``sums`` takes weights (*data_sets, n) to the sum of weighted vectors.
    """
    if weights is None:
        weights = np.ones(covariates.shape[:-1])
    weights = weights / np.sum(weights, axis=-1, keepdims=True)
    middle = sums(weights)
    if not covariates.shape[-1]:
        return middle, []
    mean = np.sum(weights[..., None] * covariates, axis=-2)
    x = covariates - mean[..., None, :]
    weighted = weights[..., None] * x
    # Covariates that the weights leave no variation in get no slope.
    inverse = np.linalg.pinv(np.swapaxes(weighted, -1, -2) @ x, hermitian=True)
    factors = weighted @ inverse
    slopes = [sums(factors[..., j]) for j in range(x.shape[-1])]
    shift = sum(manifold.expand(mean[..., j]) * slope for j, slope in enumerate(slopes))
    return middle - shift, slopes


def is_wide(manifold, largest_residual):
    """Whether a residual is so long that there may be another minimum, for an array of them.

    Beyond half the injectivity radius residuals bend the energy downwards; up to it a minimum on a
    sphere is the only one near the data.
    """
    return largest_residual > 0.5 * manifold.injectivity_radius


def lowest_mean(model, found, points, tolerance, max_iterations, starts=6, rounds=4):
    """The lowest `Minimum` reached from ``found``, from so many records far apart, past saddles.

    Saddles are left as often as there are ``rounds``.  Of data sets that are not wide it is the one
    found.
    """
    manifold = model.manifold
    if not np.any(is_wide(manifold, found.largest_residual)):
        return found

    def minimised(places):
        start = {FOOTPOINT: places}
        return model.minimise(start, None, points, None, tolerance, max_iterations)

    found = _lowest(manifold, found, minimised(_far_apart(manifold, found, points, starts)))
    for _ in range(rounds):
        footpoint = found.parameters[FOOTPOINT]
        values, vectors = np.linalg.eigh(model.hessian(found.parameters, None, points))
        if not np.any(values[..., 0] < -1e-6 * np.abs(values[..., -1])):
            break
        # Along the direction of most negative curvature.
        step = 0.1 * manifold.injectivity_radius
        down = manifold.vector(manifold.frame(footpoint), vectors[..., :, 0])
        chain = -manifold.point_ndim - 1
        sides = [manifold.exp(footpoint, sign * step * down) for sign in (1.0, -1.0)]
        lower = _lowest(manifold, found, minimised(np.stack(sides, axis=chain)))
        if lower is found:
            break
        found = lower
    return found


def _far_apart(manifold, found, points, number):
    """Records (*data_sets, number, *point_shape): each the farthest from those before it."""
    axis = -manifold.point_ndim - 1
    near = manifold.dist(np.expand_dims(found.parameters[FOOTPOINT], axis), points)
    chosen = []
    for _ in range(number):
        index = manifold.expand(np.argmax(near, axis=-1)[..., None])
        record = np.take_along_axis(points, index, axis=axis)
        near = np.minimum(near, manifold.dist(record, points))
        chosen.append(record)
    return np.concatenate(chosen, axis=axis)


def _lowest(manifold, found, others):
    """Of each data set the minimum found, or that of the ``others``, a chain each, if lower."""
    best = np.argmin(np.where(others.converged, others.energy, np.inf), axis=-1)[..., None]

    def of_best(array, expand=lambda index: index):
        axis = best.ndim - 1
        return np.squeeze(np.take_along_axis(array, expand(best), axis=axis), axis=axis)

    # Not by rounding.
    is_lower = of_best(others.energy) < found.energy * (1.0 - 1e-9)
    is_lower &= of_best(others.converged)
    if not np.any(is_lower):
        return found
    each = {
        field.name: np.where(
            is_lower, of_best(getattr(others, field.name)), getattr(found, field.name)
        )
        for field in fields(found)
        if np.ndim(getattr(others, field.name))
    }
    footpoint = np.where(
        manifold.expand(is_lower),
        of_best(others.parameters[FOOTPOINT], manifold.expand),
        found.parameters[FOOTPOINT],
    )
    steps = found.iterations + others.iterations
    return replace(found, **each, parameters={FOOTPOINT: footpoint}, iterations=steps)
