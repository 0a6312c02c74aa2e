"""Shares of a whole as points of a sphere, by square roots, which zeros do not prevent."""

import numpy as np


def whole_of(shares, rounding=0.02):
    """What rows of shares (..., m) add up to, 1 or 100; NaN where it is neither up to rounding."""
    total = np.sum(shares, axis=-1)
    wholes = np.where(total > 10.0, 100.0, 1.0)
    is_whole = np.abs(total - wholes) <= rounding * wholes
    return np.where(is_whole & np.all(np.asarray(shares) >= 0.0, axis=-1), wholes, np.nan)


def roots_of(shares):
    """Unit vectors (..., m) of shares, in any unit; not finite where there are none."""
    shares = np.asarray(shares, dtype=float)
    return np.sqrt(shares / np.sum(shares, axis=-1, keepdims=True))


def percent_of(points):
    """Shares (..., m), in percent, of unit vectors."""
    return 100.0 * np.square(points)


def percent_limits(points, radii):
    """Least and greatest shares (2, n, m), in percent, within balls of radii (n,) about points."""
    # A coordinate is the cosine of the distance from the axis, which changes by as much as a ball
    # is wide; its sign does not matter.
    angles = np.arccos(np.clip(np.abs(points), -1.0, 1.0))
    radii = np.asarray(radii)[:, None]
    nearest = np.maximum(angles - radii, 0.0)
    farthest = np.minimum(angles + radii, 0.5 * np.pi)
    return percent_of(np.cos(np.stack([farthest, nearest])))


def refuse_no_shares(numbers, source, rows, columns):
    """Refuse the first row of numbers (n, m) that are no shares of a whole."""
    for name, values in zip(columns, numbers.T, strict=True):
        source.refuse_first(
            values < 0.0,
            rows,
            lambda index, values=values: f"{values[index]:g} is negative, and no share of a whole",
            name,
        )
    source.refuse_first(
        np.isnan(whole_of(numbers)),
        rows,
        lambda index: f"its shares add up to {np.sum(numbers[index]):g}, not to 1 or 100",
    )
