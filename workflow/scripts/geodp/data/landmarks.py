"""Closed outlines in the plane: orientation, self-intersection, resampling by arc length.

An outline is a complex array of shape (..., k): landmarks in their order along a closed polygon.
Edge j runs from landmark j to landmark j + 1, the last one back to the first.
"""

import numpy as np


def _cross(first, second):
    """Cross product of plane vectors: positive where the second lies to the left of the first."""
    return first.real * second.imag - first.imag * second.real


def signed_area(outlines):
    """Areas (...) inside closed polygons (..., k), negative where they are traversed clockwise."""
    outlines = np.asarray(outlines)
    # From the first landmark: far from the origin the products would cancel.
    outlines = outlines - outlines[..., :1]
    return np.sum(_cross(outlines, np.roll(outlines, -1, axis=-1)), axis=-1) / 2.0


def orient(outlines):
    """Outlines (..., k) traversed counter-clockwise, and which of them were reversed.

    A reversed outline keeps its first landmark: ``z0, z_{k-1}, ..., z1``.
    """
    outlines = np.asarray(outlines)
    reversed_ones = signed_area(outlines) < 0
    turned = np.roll(outlines[..., ::-1], 1, axis=-1)
    return np.where(reversed_ones[..., None], turned, outlines), reversed_ones


def crossing_edges(outline):
    """Two edges of a closed polygon (k,) that meet though they are not adjacent.

    Indices of the landmarks at which the edges of the first such pair start; ``None`` if the
    polygon is simple.  Edges that touch count as meeting.
    """
    start = np.asarray(outline)
    number = len(start)
    edge = np.roll(start, -1) - start
    end = start + edge
    # side[i, j]: on which side of edge i the start of edge j lies.
    side = np.sign(_cross(edge[:, None], start[None, :] - start[:, None]))
    # Each edge's line separates the ends of the other, or touches one.
    apart = side * np.roll(side, -1, axis=1) <= 0

    # Edges on one line always pass that test; they meet only if their extents overlap.
    near = np.ones((number, number), dtype=bool)
    for first, second in ((start.real, end.real), (start.imag, end.imag)):
        within = np.minimum(first, second)[:, None] <= np.maximum(first, second)
        near &= within & within.T
    first, second = np.nonzero(np.triu(apart & apart.T & near, k=2))
    # The last edge ends where the first starts.
    genuine = second - first < number - 1
    if not np.any(genuine):
        return None
    return int(first[genuine][0]), int(second[genuine][0])


def resample(outlines, number):
    """Points at equal arc length along closed polygons (..., k), from the first landmark on.

    Point j of a number lies at the fraction j / number of the perimeter.
    """
    outlines = np.asarray(outlines)
    closed = np.concatenate([outlines, outlines[..., :1]], axis=-1)
    found = np.empty((*outlines.shape[:-1], number), dtype=complex)
    for index in np.ndindex(found.shape[:-1]):
        ends = np.append(0.0, np.cumsum(np.abs(np.diff(closed[index]))))
        found[index] = np.interp(ends[-1] * np.arange(number) / number, ends, closed[index])
    return found
