"""Means of data so wide that the sum of losses may have several minima, and saddles."""

from dataclasses import fields, replace

import numpy as np

from geodp.models.blocks import FOOTPOINT

# Residuals beyond this part of the injectivity radius bend the energy downwards; up to it a minimum
# on a sphere is the only one near the data.
WIDE = 0.5

# Records from which descents start, and how often a saddle is left, by so much of the injectivity
# radius along the direction of most negative curvature, if that is clearly below zero.
STARTS, ROUNDS, AWAY, NEGATIVE = 6, 4, 0.1, 1e-6

# What a lower energy is, in parts of it: not one by rounding.
LOWER = 1e-9


def is_wide(manifold, largest_residual):
    """Whether a residual is so long that there may be another minimum, for an array of them."""
    return largest_residual > WIDE * manifold.injectivity_radius


def lowest_mean(model, found, points, tolerance, max_iterations):
    """The lowest `Minimum` reached from ``found``, from records far apart, and past saddles.

    Of data sets that are not wide it is the one found.
    """
    manifold = model.manifold
    if not np.any(is_wide(manifold, found.largest_residual)):
        return found

    def minimised(starts):
        start = {FOOTPOINT: starts}
        return model.minimise(start, None, points, None, tolerance, max_iterations)

    found = _lowest(manifold, found, minimised(_far_apart(manifold, found, points)))
    for _ in range(ROUNDS):
        footpoint = found.parameters[FOOTPOINT]
        values, vectors = np.linalg.eigh(model.hessian(found.parameters, None, points))
        if not np.any(values[..., 0] < -NEGATIVE * np.abs(values[..., -1])):
            break
        step = AWAY * manifold.injectivity_radius
        down = manifold.vector(manifold.frame(footpoint), vectors[..., :, 0])
        chain = -manifold.point_ndim - 1
        sides = [manifold.exp(footpoint, sign * step * down) for sign in (1.0, -1.0)]
        lower = _lowest(manifold, found, minimised(np.stack(sides, axis=chain)))
        if lower is found:
            break
        found = lower
    return found


def _far_apart(manifold, found, points):
    """Records (*data_sets, STARTS, *point_shape): each the farthest from those before it."""
    axis = -manifold.point_ndim - 1
    near = manifold.dist(np.expand_dims(found.parameters[FOOTPOINT], axis), points)
    chosen = []
    for _ in range(STARTS):
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

    is_lower = of_best(others.energy) < found.energy * (1.0 - LOWER)
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
