"""What clipping leaves of residuals about a wrong prediction: tables for simulated releases."""

import math
from functools import lru_cache

import numpy as np
from scipy.special import gammaincinv, ndtri

# Distances of the tables of means, in units of a typical residual.
DISTANCES = np.geomspace(1e-3, 1e4, 320)

# Limits of clipping are powers of this ratio, in units of a typical residual; tables have those of
# levels up to LEVELS and down to minus that.
LIMITS_PER_DOUBLING, LEVELS = 4, 240


def limit_at(level, typical):
    """The limit of clipping of an integer level, or those of an array."""
    return typical * 2.0 ** (level / LIMITS_PER_DOUBLING)


def level_of(limit, typical):
    """The level whose limit is nearest; levels for arrays."""
    levels = np.rint(LIMITS_PER_DOUBLING * np.log2(limit / typical)).astype(int)
    return levels if np.ndim(levels) else int(levels)


def length_grid(assumptions, factor=4096):
    """Lengths of residuals to choose from, the longest first, a level apart.

    From the longest that there can be about a state of the support down to a part of ``factor``.
    """
    longest = 2.0 * assumptions.reach
    octaves = int(np.ceil(np.log2(factor * assumptions.wider)))
    steps = np.arange(LIMITS_PER_DOUBLING * octaves + 1)
    return min(longest, assumptions.manifold.injectivity_radius) * 2.0 ** (
        -steps / LIMITS_PER_DOUBLING
    )


@lru_cache(maxsize=8)
def residual_lengths(dim, nodes=64, across=24, alone=1024):
    """Residuals about predictions at the distances of the tables, by quadrature.

    Their components along the error and lengths, each (distances, residuals), the shortest first.
    """
    # In one dimension no others make them finer.
    nodes = nodes if dim > 1 else alone
    along = ndtri((np.arange(nodes) + 0.5) / nodes)[:, None] / np.sqrt(dim)
    side = np.zeros(1)
    if dim > 1:
        places = (np.arange(across) + 0.5) / across
        side = np.sqrt(2.0 * gammaincinv(0.5 * (dim - 1), places) / dim)
    along = np.repeat(along, len(side), axis=1) + DISTANCES[:, None, None]
    both = np.reshape([along, np.hypot(along, side)], (2, len(DISTANCES), -1))
    return np.take_along_axis(both, np.argsort(both[1:]), axis=2)


@lru_cache(maxsize=8)
def clipped_residuals(dim):
    """Tables (levels, distances) of what clipping keeps of a mean residual, and of mean squares.

    The squares are in units of that of the limit, in single precision.
    """
    kept, squares, limits = [], [], limit_at(np.arange(-LEVELS, LEVELS + 1), 1.0)
    for along, length in zip(*residual_lengths(dim), strict=True):
        below = np.searchsorted(length, limits)
        each = np.array([along, along / length, length**2])
        sums, squared = np.zeros((3, 1 + len(length))), limits**2
        np.cumsum(each, axis=1, out=sums[:, 1:])
        mean, direction, square = sums[:, below]
        kept.append((mean + limits * (sums[1, -1] - direction)) / sums[0, -1])
        squares.append((square / squared + (len(length) - below)) / len(length))
    return np.transpose(kept).copy(), np.transpose(squares).astype(np.float32, order="C")


@lru_cache(maxsize=8)
def clipped_moments(dim):
    """At all levels: what clipping keeps of a mean, and squares.

    In units of those of all residuals; shape (2, levels).
    """
    length = residual_lengths(dim)[1][0]
    limits = limit_at(np.arange(-LEVELS, LEVELS + 1), 1.0)[:, None]
    clipped, square = np.minimum(length, limits), np.mean(length**2)
    # Stein's lemma: the derivative of the mean is the mean product with the normal residual.
    return np.mean([length * clipped, clipped**2], axis=2) / square


def in_tables(levels):
    """Where the nearest levels are in tables."""
    return np.clip(levels, -LEVELS, LEVELS) + LEVELS


def places_in_tables(squares):
    """Index and fraction in tables of squared distances in units of a typical residual."""
    # Numbers of Python, beside which single precision stays single.
    low, high = (2.0 * math.log(each) for each in (1e-3, 1e4))
    number = len(DISTANCES)
    # In place, here and below: these are the largest arrays of a simulation.
    place = np.maximum(squares, 1e-30)
    np.log(place, out=place)
    place -= low
    place *= (number - 1) / (high - low)
    np.clip(place, 0.0, number - 1.001, out=place)
    below = place.astype(np.intp)
    place -= below.astype(place.dtype)
    return below, place


def looked_up_in(tables, rows, places):
    """Values of rows of tables, one for each place, at `places_in_tables`."""
    below, part = places
    flat, first = tables.ravel(), rows * tables.shape[1] + below
    low, high = flat.take(first), flat[1:].take(first)
    high -= low
    high *= part
    high += low
    return high
