"""Checks of each public input by itself, and the words that are allowed as values of some."""

from functools import lru_cache
from typing import Any

import numpy as np

from geodp.errors import DataError

# What predictions are taken along: the covariate itself, or its natural logarithm.
NONE, LOG = "none", "log"
TRANSFORMATIONS: dict[str, Any] = {NONE: np.asarray, LOG: np.log}

# How covariates are assumed to be spread over their range.
EVENLY, TWO_GROUPS, UNKNOWN = "evenly", "two groups", "unknown"

# Mean squares of covariates: squared errors of shooting vectors in those of predictions, averaged
# over covariates; that of the footpoint counts once.
SQUARES = {EVENLY: 1.0 / 12.0, TWO_GROUPS: 0.25, UNKNOWN: 1.0 / 12.0}

NEIGHBOURS = REPLACE, ADD_OR_REMOVE = "replace one subject", "add or remove one subject"

# What is said of long residuals: that they are no more than an exponential distribution has, or
# nothing.
TAILS = EXPONENTIAL, ANY = "exponential", "any"

# What a release minimises: squares of residuals, or Huber's loss of them.
LOSSES = LEAST_SQUARES, HUBER = "squares", "huber"

# Lengths below this can be squared in single precision.
LONGEST = 1e15


class Widest(float):
    """A radius that was left out, and is again where `dataclasses.replace` gives other inputs."""


def as_tuple(value):
    """A value for one covariate as a tuple."""
    return value if isinstance(value, list | tuple | np.ndarray) else (value,)


def lost_digits(manifold, centre, radius, reach):
    """Why a centre loses too many digits for what is computed there, or ``None``."""
    return _lost_digits(manifold, centre.tobytes(), centre.dtype, radius, reach)


# As it takes many seconds in thousands of dimensions.
@lru_cache(maxsize=4)
def _lost_digits(manifold, numbers, dtype, radius, reach, stretch=1e6, rounding=1e-7):
    """See `lost_digits`.

    The ratio of the lengths, as arrays, of unit vectors there is at most ``stretch``; on SPD
    matrices it is the centre's condition.  And points at the ``radius`` are so far from the
    centre but for this part of it, which ``rounding`` may change.
    """
    centre = np.frombuffer(numbers, dtype).reshape(manifold.point_shape)
    frame = manifold.frame(centre)
    parts = frame.reshape((manifold.dim, -1))
    parts = np.concatenate([parts.real, parts.imag], axis=-1)
    if np.all(np.isfinite(parts)):
        # An orthonormal frame of arrays has the length 1 in all directions.
        is_known = manifold.ambient_inner
        lengths = np.ones(2) if is_known else np.linalg.svd(parts, compute_uv=False)
        usual = lengths[-1] > 1e-100 and lengths[0] < 1e100
        if usual and lengths[0] <= stretch * lengths[-1]:
            ends = [manifold.exp(centre, sign * reach * frame) for sign in (-1.0, 1.0)]
            away = manifold.dist(centre, manifold.exp(centre, radius * frame)) - radius
            are_told = np.all(np.abs(away) <= rounding * radius)
            if are_told and np.all(manifold.are_points(np.concatenate(ends))):
                return None
    return "numbers there, within the radius or as far as predictions may be, lose their digits"


def positive(name, value):
    try:
        number = float(value)
    except (TypeError, ValueError):
        number = np.nan
    if not 1.0 / LONGEST < number < LONGEST:
        raise DataError(f"{name} is {value!r}: give a positive number")
    return value if isinstance(value, Widest) else number


def counted(name, value, most):
    is_whole = isinstance(value, int | np.integer) and not isinstance(value, bool)
    if not (is_whole and 0 < value <= most):
        raise DataError(f"{name} is {value!r}: give a whole number from 1 to {most}")
    return int(value)


def one_of(names):
    def check(name, value):
        if value not in names:
            raise DataError(f"{name} is {value!r}: give one of {', '.join(map(repr, names))}")
        return value

    return check


def one_each(name, given, number):
    """A value for each covariate; a single one is for all."""
    if given is None and not number:
        return ()
    if not isinstance(given, list | tuple | np.ndarray):
        return (given,) * number
    if len(given) != number:
        raise DataError(
            f"{name} has {len(given)} values, and there are {number} covariates: give one for "
            "each, or one for all"
        )
    return tuple(given)


def of_all(name, given, listed, of_words):
    """A value for each column, from one for all, for each, or for each without listed words.

    ``listed`` says which columns (c,) have words, whose value is ``of_words`` in any case.
    """
    measured = len(listed) - sum(map(bool, listed))
    given = list(given) if isinstance(given, list | tuple | np.ndarray) else [given] * measured
    if len(given) == measured:
        each = iter(given)
        given = [of_words if words else next(each) for words in listed]
    if len(given) != len(listed):
        raise DataError(
            f"{name} has {len(given)} values, and there are {measured} covariates without listed "
            "words: give one for each of these, or one for all"
        )
    for value, words in zip(given, listed, strict=True):
        if words and value != of_words:
            raise DataError(
                f"{name} is {value} for a covariate of listed words, and {of_words} there: give "
                "that, or values for the others alone"
            )
    return given


def ranges_of(given, most=100):
    """A range, or several; of one alone it is that range."""
    each = list(given) if np.iterable(given) else [given]
    if any(np.ndim(part) == 0 for part in each):
        return _range(given)
    if len(each) > most:
        raise DataError(f"covariate_range has {len(each)} ranges: give {most} or fewer")
    return _range(each[0]) if len(each) == 1 else tuple(map(_range, each))


def _range(given, narrowest=1e-9, largest=1e100):
    """A range that is no narrower than that, relative to its ends, which can be squared."""
    try:
        low, high = (float(each) for each in given)
    except (TypeError, ValueError):
        low = high = np.nan
    if not -largest < low < high < largest:
        raise DataError(
            f"covariate_range is {given!r}: give two numbers of a size below {largest:g}, the "
            "smaller first"
        )
    if high - low < narrowest * max(abs(low), abs(high)):
        raise DataError(
            f"covariate_range is {low:g} to {high:g}, which is too narrow for the digits of its "
            "ends: measure the covariate from the range's middle"
        )
    return low, high
