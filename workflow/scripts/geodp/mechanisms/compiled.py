"""Sums over records on the unit sphere, compiled by Numba where it is installed.

An equal of what `geodp.models.regression.energy_gradient` and
`geodp.mechanisms.gradient_bounds.record_means` make of NumPy arrays, record by record and so
without arrays of the size of states times records.  Import it through `on_sphere`.
"""

import math

import numba
import numpy as np

from geodp.manifolds.unit_norm import LARGEST_COSINE, SQUARE_ROUNDING

# Below this angle ``a``, radians, ``-a cot a`` is less than one.
BEND_STARTS = 2.0


def _compile(function):
    """The function compiled, and kept for other processes if there is a directory for it."""
    try:
        return numba.njit(cache=True, error_model="numpy")(function)
    except RuntimeError:
        return numba.njit(error_model="numpy")(function)


@_compile
def _record_sums(by_footpoint, footpoints, vectors, covariates, points, moved, turned, sums, change):
    """Fill the sums (data sets, states, D) and, if ``moved`` is not empty, the bounds of change."""
    bounded = moved.size > 0
    size = footpoints.shape[-1]
    for data_set in range(footpoints.shape[0]):
        for state in range(footpoints.shape[1]):
            p, v = footpoints[data_set, state], vectors[data_set, state]
            speed = 0.0
            for k in range(size):
                speed += v[k] * v[k]
            speed = math.sqrt(speed)
            scale = 1.0 / speed if speed > 0.0 else 1.0
            total = sums[data_set, state]
            on_footpoint, on_unit, bound = 0.0, 0.0, 0.0
            for record in range(covariates.shape[-1]):
                x, y = covariates[data_set, record], points[data_set, record]
                along_footpoint, along_unit = 0.0, 0.0
                for k in range(size):
                    along_footpoint += p[k] * y[k]
                    along_unit += v[k] * y[k]
                along_unit *= scale
                angle = speed * x
                cosine, sine = math.cos(angle), math.sin(angle)
                overlap = cosine * along_footpoint + sine * along_unit
                overlap = min(max(overlap, -LARGEST_COSINE), LARGEST_COSINE)
                distance = math.acos(overlap)
                factor = distance / math.sqrt((1.0 - overlap) * (1.0 + overlap))
                along = factor * (cosine * along_unit - sine * along_footpoint)
                if by_footpoint:
                    across = cosine * factor
                else:
                    along *= x
                    across = (x * sine / angle if angle != 0.0 else x) * factor
                on_footpoint -= across * along_footpoint
                on_unit += along - across * along_unit
                for k in range(size):
                    total[k] += across * y[k]
                if bounded:
                    distance = math.sqrt(distance * distance + SQUARE_ROUNDING)
                    bound += _change(
                        by_footpoint,
                        distance,
                        abs(x),
                        speed,
                        moved[data_set, state],
                        turned[data_set, state],
                    )
            for k in range(size):
                total[k] += on_footpoint * p[k] + on_unit * scale * v[k]
            if bounded:
                change[data_set, state] = bound


@_compile
def _change(by_footpoint, distance, covariate, length, moved, turned):
    """`gradient_bounds.footpoint_change` or `shooting_vector_change` at curvature one."""
    if by_footpoint:
        geodesic = covariate * length
        farthest = distance + moved + covariate * turned
        most = distance + farthest
    else:
        geodesic = covariate * (length + moved)
        farthest = distance + covariate * moved
        most = covariate * (distance + farthest)
    if farthest >= math.pi:
        return most
    bend = 1.0
    if farthest > BEND_STARTS:
        bend = max(bend, -farthest / math.tan(farthest))
    square = geodesic * geodesic
    if by_footpoint:
        change = moved * (bend + farthest * geodesic * (1.0 + 5.0 * square / 6.0))
        change += turned * covariate * (bend + farthest * geodesic * (1.5 + square / 6.0))
    else:
        change = moved * covariate * covariate * (bend + farthest * geodesic * 5.0 / 6.0)
    return min(change, most)


def sphere_sums(block, footpoints, vectors, covariates, points, changes=()):
    """Sums over records of carried residuals, and of bounds of their change.

    Parameters
    ----------
    block : {"footpoint", "shooting_vector"}
        The gradient's block.
    footpoints, vectors : ndarray, shape (*data_sets, *chains, D)
        Unit vectors, and tangent vectors there.
    covariates : ndarray, shape (*data_sets, n)
    points : ndarray, shape (*data_sets, n, D)
    changes : sequence of ndarray that broadcast to (*data_sets, *chains), optional
        What ``footpoint_change`` or ``shooting_vector_change`` takes after the length, radians.

    Returns
    -------
    list of ndarray
        The sums (*data_sets, *chains, D), minus n times the gradient; and those of the bounds
        (*data_sets, *chains) if there are ``changes``.
    """
    batch, size = footpoints.shape[:-1], footpoints.shape[-1]
    data_sets = math.prod(covariates.shape[:-1])
    states = math.prod(batch) // max(1, data_sets)
    sums, bounds = np.zeros((data_sets, states, size)), np.zeros((data_sets, states))
    moved, turned = ([*changes, *[np.zeros(batch)] * 2])[:2] if changes else [np.empty((0, 0))] * 2
    _record_sums(
        block == "footpoint",
        _flat(footpoints, (data_sets, states, size)),
        _flat(vectors, (data_sets, states, size)),
        _flat(covariates, (data_sets, -1)),
        _flat(points, (data_sets, -1, size)),
        *(
            _flat(np.broadcast_to(array, batch), (data_sets, states)) if changes else array
            for array in (moved, turned)
        ),
        sums,
        bounds,
    )
    found = [sums.reshape((*batch, size))]
    return [*found, bounds.reshape(batch)] if changes else found


def _flat(array, shape):
    return np.ascontiguousarray(array, dtype=float).reshape(shape)
