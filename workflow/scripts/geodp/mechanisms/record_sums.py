"""Gradients of the energy and bounds of their change, summed over records: fast loops by space.

They equal those of `geodp.mechanisms.gradient_bounds.record_means`, which works on arrays of the
size of states times records; the loops are those of `geodp.mechanisms.compiled`.
"""

import math

import numpy as np

from geodp.mechanisms import compiled


def sphere_sums(block, footpoints, vectors, covariates, points, changes=()):
    """Minus n times the gradient in a block; with ``changes``, also sums of bounds of its change.

    Then some records are left out of the gradient, see `gradient_bounds.LEFT_OUT`.

    Of unit vectors, and tangent vectors there, (*data_sets, *chains, D), covariates (*data_sets, n)
    and points (*data_sets, n, D).  Changes, arrays that broadcast to (*data_sets, *chains), are the
    arguments of `footpoint_change` or `shooting_vector_change` after the length, radians.
    """
    compiled.compile_kernels()
    batch = footpoints.shape[:-1]
    flat, arrays = _arranged(footpoints, vectors, covariates)
    sums, bounds = np.zeros((*flat, footpoints.shape[-1])), np.zeros(flat)
    moves = [_contiguous(np.broadcast_to(array, batch), flat) for array in changes]
    moves = moves or [np.empty((0, 0))]
    # A moving shooting vector alone has no second number.
    arrays = (*arrays, _by_record(points, flat), points.shape[-2], moves[0], moves[-1])
    compiled.sphere_sums(block == "footpoint", *arrays, sums, bounds)
    found = [sums.reshape(footpoints.shape)]
    return [*found, bounds.reshape(batch)] if changes else found


def shape_sums(block, footpoints, vectors, covariates, points):
    """`sphere_sums` without bounds, for complex unit vectors up to a phase."""
    compiled.compile_kernels()
    flat, arrays = _arranged(footpoints, vectors, covariates)
    parts = [_by_record(part, flat) for part in (points.real, points.imag)]
    sums = np.zeros((*flat, footpoints.shape[-1]), dtype=complex)
    compiled.shape_sums(block == "footpoint", *arrays, *parts, sums)
    return [sums.reshape(footpoints.shape)]


def matrix_sums(block, footpoints, vectors, covariates, points):
    """`sphere_sums` without bounds, for symmetric positive definite 2 x 2 matrices."""
    compiled.compile_kernels()
    p, v = (array.reshape((*array.shape[:-2], 4)) for array in (footpoints, vectors))
    flat, arrays = _arranged(p, v, covariates, 1)
    sums = np.empty((*flat, 4))
    points = _by_record(points.reshape((*points.shape[:-2], 4)), flat, 1)
    compiled.matrix_sums(block == "footpoint", *arrays, points, sums)
    return [sums.reshape(footpoints.shape)]


def _arranged(footpoints, vectors, covariates, together=8):
    """Numbers of data sets and states, and the arrays reshaped to these axes."""
    data_sets = math.prod(covariates.shape[:-1])
    flat = (data_sets, math.prod(footpoints.shape[:-1]) // max(1, data_sets))
    states = (_contiguous(array, (*flat, array.shape[-1])) for array in (footpoints, vectors))
    return flat, (*states, _by_record(covariates[..., None], flat, together)[:, 0])


def _by_record(points, flat, together=8):
    """Points (*data_sets, n, D) as an array (data_sets, D, n), with n made a multiple.

    Points zero, which add nothing to sums, make it one of so many together: what is left over of
    whole vectors of the processor is slow.
    """
    number, size = points.shape[-2:]
    found = np.zeros((flat[0], size, number + -number % together))
    found[..., :number] = np.swapaxes(points.reshape((flat[0], number, size)), -1, -2)
    return found


def _contiguous(array, shape):
    # Whether an array may be written to is part of its type, and each type is compiled for.
    return np.require(array, requirements=["C", "W"]).reshape(shape)
