"""The ball ``|theta|_1 <= B``: uniform draws, projection, and least squares within it."""

import numpy as np


def contains(theta, bound):
    """Whether points (..., d) lie in the ball."""
    return np.sum(np.abs(theta), axis=-1) <= bound


def uniform(rng, shape, bound):
    """Uniform draws from the ball, an array of a shape whose last axis is the dimension."""
    parts = rng.standard_exponential((*shape[:-1], shape[-1] + 1))
    parts /= np.sum(parts, axis=-1, keepdims=True)
    return bound * rng.choice((-1.0, 1.0), size=shape) * parts[..., :-1]


def project(theta, bound):
    """Nearest points of the ball (Duchi et al. 2008), of points (..., d)."""
    lengths = np.abs(theta)
    ordered = -np.sort(-lengths, axis=-1)
    counts = np.arange(1, theta.shape[-1] + 1)
    thresholds = (np.cumsum(ordered, axis=-1) - bound) / counts
    last = np.sum(ordered > thresholds, axis=-1, keepdims=True) - 1
    threshold = np.maximum(np.take_along_axis(thresholds, last, axis=-1), 0.0)
    return np.sign(theta) * np.maximum(lengths - threshold, 0.0)


def least_squares(matrix, vector, bound, steps=20_000, enough=1e-15):
    """Minimise ``t' A t - 2 w' t`` over the ball: minimisers (data_sets, d), and gaps (data_sets).

    Accelerated projected gradient with restarts.  It stops where the gap of Frank and Wolfe, an
    upper bound of what the value is above the least one, is rounding; else it is a RuntimeError.
    """
    step = 1.0 / np.linalg.norm(matrix, 2, axis=(-2, -1))[:, None]

    def slope(theta):
        return np.einsum("kij,kj->ki", matrix, theta) - vector

    free = np.linalg.solve(matrix, vector[..., None])[..., 0]
    inside = contains(free, bound)
    found = np.where(inside[:, None], free, project(free, bound))
    size = np.maximum(np.einsum("ki,kij,kj->k", found, matrix, found), 1e-300)
    ahead, momentum = found, np.ones((len(found), 1))
    gap = np.full(len(found), np.inf)
    for number in range(steps):
        if number % 50 == 0:
            at = slope(found)
            gap = 2.0 * (np.sum(at * found, axis=-1) + bound * np.max(np.abs(at), axis=-1))
            gap = np.where(inside, 0.0, gap)
            if np.all(gap <= enough * size):
                break
        moved = project(ahead - step * slope(ahead), bound)
        # Momentum that points uphill is dropped.
        uphill = np.sum((ahead - moved) * (moved - found), axis=-1, keepdims=True) > 0.0
        after = np.where(uphill, 1.0, 0.5 * (1.0 + np.sqrt(1.0 + 4.0 * momentum**2)))
        ahead = moved + np.where(uphill, 0.0, (momentum - 1.0) / after) * (moved - found)
        found, momentum = np.where(inside[:, None], found, moved), after
    # The gap is a difference of large numbers.
    if np.any(gap > 1e3 * enough * size):
        raise RuntimeError(f"a gap of {np.max(gap / size):.3g} is left of least squares in a ball")
    return found, gap
