"""Effects of curvature on steps and errors in flat space, by derivatives of predictions."""

from dataclasses import replace

import numpy as np

from geodp.manifolds.symmetric import JACOBI_SOLUTIONS
from geodp_release.run.covariate_moments import possible_moments
from geodp_release.stages.covariates import Covariates

# Least factor of a derivative that is followed: near a conjugate point a step would have no end.
LEAST = 0.5

# Numbers of a state up to which curvature is looked at: a matrix of their squares is inverted.
MOST_NUMBERS = 256


def derivatives(manifold, state, nodes, numbers=1 << 18):
    """Derivatives (m, dim, (1 + k) dim) of predictions at covariates (m, k) by a state.

    In a frame at the footpoint, to which they are carried back (Kulkarni and Soto, eq. 7 and 8).
    About so many ``numbers`` are computed at once.
    """
    p, *vectors = state
    frame, dim = manifold.frame(p), manifold.dim
    steps = manifold.combinations(np.stack(vectors), nodes)
    frequencies = manifold.frequencies(p, steps)
    factors = np.empty((2, *frequencies.shape))
    for index, sign in enumerate(manifold.curvature_signs):
        for each, solution in zip(factors, JACOBI_SOLUTIONS.values(), strict=True):
            each[:, index] = np.maximum(solution(sign, frequencies[:, index]), LEAST)
    found = np.empty((2, len(nodes), dim, dim))
    # Vectors at a node for a direction: a part in each eigenspace; and where the space has an inner
    # product of its own, products of both derivatives with all of the frame.
    vectors_each = max(frequencies.shape[-1], 1 if manifold.ambient_inner else 2 * dim)
    at_once = max(numbers // (len(nodes) * vectors_each * frame[0].size), 1)
    for start in range(0, dim, at_once):
        some = np.expand_dims(frame[start : start + at_once], 1)
        parts = manifold.split(p, steps, np.broadcast_to(some, (len(some), *steps.shape)))
        moved = np.einsum("fmi,nmi...->nfm...", factors, parts)
        each = manifold.coordinates(p, moved, frame)
        found[..., start : start + at_once] = np.moveaxis(each, 0, -1)
    of_point, of_vector = found
    along = nodes[:, :, None, None] * of_vector[:, None]
    blocks = np.concatenate([of_point[:, None], along], axis=1)
    return np.moveaxis(blocks, 1, 2).reshape((len(nodes), dim, -1))


def looked_at(assumptions, moments):
    """Covariates with these moments.

    ``None`` in flat space, without a covariate, and for more than `MOST_NUMBERS` numbers.
    """
    numbers = assumptions.manifold.dim * (1 + assumptions.number_of_covariates)
    if assumptions.is_flat or not assumptions.spreads or numbers > MOST_NUMBERS:
        return None
    found = Covariates.assumed(assumptions).with_moments(possible_moments(moments))
    # In their ranges, beyond which predictions would be without end, as of many cells of words.
    return replace(found, nodes=np.clip(found.nodes, -0.5, 0.5))


def mean_squares(assumptions, state, moments):
    """Mean squares ((1 + k) dim, (1 + k) dim) of `derivatives`, and those of flat space.

    Where covariates have these moments.  ``None`` where `looked_at` is.
    """
    manifold = assumptions.manifold
    covariates = looked_at(assumptions, moments)
    if covariates is None:
        return None
    each = derivatives(manifold, state, covariates.nodes)
    flat = np.kron(covariates.matrix, np.eye(manifold.dim))
    return mean_square(each, covariates.weights), flat


def bend(assumptions, state, moments):
    """Matrix ((1 + k) dim, (1 + k) dim) that makes of an error in flat space one in the space.

    Mean gradients are of an error times the first of `mean_squares`, and not the second.  ``None``
    where `looked_at` is.
    """
    found = mean_squares(assumptions, state, moments)
    return None if found is None else np.linalg.solve(*found)


def bent(matrix, changes):
    """Changes (..., 1 + k, dim) of a state, or its errors, times a matrix of `bend`."""
    if matrix is None:
        return changes
    return (changes.reshape((*changes.shape[:-2], -1)) @ matrix.T).reshape(changes.shape)


def weighted(each, weights):
    """Transposed matrix ((1 + k) dim, m dim) of `derivatives` times weights (m,) of covariates."""
    return (weights[:, None, None] * each).reshape((-1, each.shape[-1])).T


def mean_square(each, weights, ridge=1e-12):
    """Mean square of `derivatives` over covariates with weights (m,), which has an inverse."""
    found = weighted(each, weights) @ each.reshape((-1, each.shape[-1]))
    return found + ridge * np.mean(np.diagonal(found)) * np.eye(len(found))
