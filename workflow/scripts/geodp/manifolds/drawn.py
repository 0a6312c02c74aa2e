"""Numbers along a curve of points, as figures show them."""

from typing import NamedTuple

import numpy as np


class Drawn(NamedTuple):
    """What a figure shows of points along a curve, between limits, and of a centre."""

    values: np.ndarray  # (n, c), as are the limits.
    low: np.ndarray
    high: np.ndarray
    before: np.ndarray  # (c,), of the centre.
    what: str  # What they are, as the beginning of a caption.
    names: list | None = None  # Where they are not `Manifold.coordinate_names`.


def in_one_piece(values, before, periods):
    """Numbers (n, c) along a curve without jumps by periods (c,), and those (c,) of a point near.

    The middle of the curve stays as it is.
    """
    values, before = np.array(values), np.array(before)
    middle = len(values) // 2
    for k, period in enumerate(periods):
        if np.isfinite(period):
            along = np.unwrap(values[:, k], period=period)
            values[:, k] = along + (values[middle, k] - along[middle])
            before[k] += period * np.round((values[middle, k] - before[k]) / period)
    return values, before
