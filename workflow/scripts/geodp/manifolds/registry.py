"""Registry of manifolds by name, and points from lists of numbers."""

from collections.abc import Callable

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.base import Manifold
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes, ReducedPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere

MANIFOLDS: dict[str, Callable[[int], Manifold]] = {
    "euclidean": Euclidean,
    "sphere": Sphere,
    "hyperbolic": Hyperbolic,
    "spd": SPD,
    "kendall": KendallPlanarShapes,
}


def make_manifold(name, size, landmark_map=None):
    """Make a manifold from its name and size.

    Parameters
    ----------
    name : {"euclidean", "sphere", "hyperbolic", "spd", "kendall"}
    size : int
        Dimension (Euclidean, sphere, hyperbolic), matrix size (SPD) or number of landmarks
        (Kendall).
    landmark_map : geodp.manifolds.landmark_maps.LandmarkMap, optional
        Linear map of the landmarks (Kendall only); none unless given.

    Returns
    -------
    Manifold

    Raises
    ------
    DataError
        The map does not go with the manifold.
    """
    if landmark_map is None:
        return MANIFOLDS[name](size)
    if name != "kendall":
        raise DataError(
            f"manifold {name}: a landmark map ({landmark_map.description}) goes with planar shapes "
            "only: leave it out, or set the manifold to kendall"
        )
    if landmark_map.landmarks != size:
        raise DataError(
            f"manifold {name} of size {size}: the landmark map ({landmark_map.description}) is one "
            f"of {landmark_map.landmarks} landmarks: make the two numbers equal"
        )
    return ReducedPlanarShapes(landmark_map)


def parse_point(manifold, numbers, place):
    """A point of a manifold from a list of numbers, projected on the manifold.

    Parameters
    ----------
    manifold : Manifold
    numbers : sequence of float
        Coordinates in row-major order; real and imaginary part of each in turn for shapes, which
        is ``x1, y1, x2, ...`` for landmarks.
    place : str
        What messages call the numbers.

    Returns
    -------
    ndarray, shape point_shape

    Raises
    ------
    DataError
        The numbers are not those of a point.
    """
    values = np.asarray(numbers, dtype=float)
    is_complex = manifold.dtype is complex
    expected = int(np.prod(manifold.point_shape)) * (2 if is_complex else 1)
    if values.size != expected:
        order = "in row-major order"
        if is_complex:
            order = "real and imaginary part in turn (x1, y1, x2, ... if these are landmarks)"
        raise DataError(
            f"{place}: its {values.size} numbers make no point of {manifold.name}: give the "
            f"coordinates as {expected} numbers, {order}"
        )
    if is_complex:
        values = values[0::2] + 1j * values[1::2]
    with np.errstate(invalid="ignore"):
        point = manifold.project(values.reshape(manifold.point_shape))
    reason = manifold.invalid_reason(point)
    if reason is not None:
        raise DataError(f"{place}: not a point of {manifold.name}, since {reason}: correct it")
    return point
