"""Moments of covariates: means of x_1, ..., x_k and of the products x_i x_j, i <= j, row by row.

Covariates are from -1/2 to 1/2.
"""

from functools import lru_cache
from math import isqrt

import numpy as np

# Least eigenvalue of a matrix of moments, so that there are steps and bands.
LEAST = 1e-3


def number_of_covariates(moments):
    """k, of moments (..., k (k + 3) / 2)."""
    return (isqrt(9 + 8 * np.shape(moments)[-1]) - 3) // 2


@lru_cache
def product_indices(covariates):
    """Indices i and j of the products, each (k (k + 1) / 2,)."""
    return np.triu_indices(covariates)


def moment_matrix(moments):
    """Means (*batch, 1 + k, 1 + k) of the products of all entries of (1, x_1, ..., x_k)."""
    covariates = number_of_covariates(moments)
    matrix = np.ones((1 + covariates, 1 + covariates, *np.shape(moments)[:-1]))
    matrix = np.moveaxis(matrix, (0, 1), (-2, -1))
    matrix[..., 0, 1:] = matrix[..., 1:, 0] = moments[..., :covariates]
    first, second = product_indices(covariates)
    products = moments[..., covariates:]
    matrix[..., 1 + first, 1 + second] = matrix[..., 1 + second, 1 + first] = products
    return matrix


def matrix_moments(matrix):
    """Inverse of `moment_matrix`."""
    first, second = product_indices(matrix.shape[-1] - 1)
    return np.concatenate([matrix[..., 0, 1:], matrix[..., 1 + first, 1 + second]], axis=-1)


def possible_moments(moments, least=LEAST):
    """Moments near the given ones that covariates from -1/2 to 1/2 can have, of the same shape.

    Their matrix has eigenvalues of at least ``least``, and so has the covariance of the covariates.
    Moments of which that is true already stay as they are.
    """
    values, vectors = np.linalg.eigh(moment_matrix(moments))
    values = np.maximum(values, 0.0)
    matrix = (vectors * values[..., None, :]) @ np.swapaxes(vectors, -1, -2)
    limits = np.full(matrix.shape[-1], 0.5)
    limits[0] = 1.0
    # Whole rows and columns are made smaller: entries cut one by one would leave no covariance.
    squares = np.diagonal(matrix, axis1=-2, axis2=-1)
    scales = limits / np.sqrt(np.maximum(squares, limits**2))
    matrix = scales[..., :, None] * matrix * scales[..., None, :]
    # And drawn to independent covariates at the ends of their ranges, whose variance is largest.
    ends = np.diag(limits**2)
    smallest = np.minimum(np.linalg.eigvalsh(matrix)[..., 0], least)
    part = (least - smallest) / (0.25 - smallest)
    matrix += part[..., None, None] * (ends - matrix)
    # What rounding added.
    matrix = np.clip(matrix, -np.outer(limits, limits), np.outer(limits, limits))
    return matrix_moments(matrix)


def products(first, *others, many=12):
    """Products of matrices (..., i, j), one after the other.

    From so many rows on libraries are faster than arithmetic along the last axis.
    """
    for each in others:
        if min(*first.shape[-2:], each.shape[-1]) >= many:
            first = np.asfortranarray(np.ascontiguousarray(first) @ np.ascontiguousarray(each))
        else:
            first = np.einsum("...ij,...jk->...ik", first, each, order="F")
    return first


def inverses(matrices, many=12):
    """Inverses of positive definite matrices (..., m, m): elimination, which needs no pivots."""
    if matrices.shape[-1] >= many:
        return np.asfortranarray(np.linalg.inv(np.ascontiguousarray(matrices)))
    found = matrices.copy(order="K")
    for each in range(found.shape[-1]):
        column, pivot = found[..., each].copy(order="K"), 1.0 / found[..., each, each]
        found[..., each] = np.eye(found.shape[-1])[each]
        row = found[..., each, :] * pivot[..., None]
        found -= column[..., None] * row[..., None, :]
        found[..., each, :] = row
    return found
