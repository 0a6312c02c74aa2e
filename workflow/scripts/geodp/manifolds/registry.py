"""Manifolds by the name a configuration gives them."""

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere

MANIFOLDS = {
    "euclidean": Euclidean,
    "sphere": Sphere,
    "spd": SPD,
    "kendall": KendallPlanarShapes,
}


def make_manifold(name, size):
    """The manifold called ``name``.

    Parameters
    ----------
    name : {"euclidean", "sphere", "spd", "kendall"}
    size : int
        Dimension (Euclidean, sphere), matrix size (SPD) or number of landmarks (Kendall).
    """
    return MANIFOLDS[name](size)


def parse_point(manifold, numbers, place):
    """A point of a manifold from the numbers a configuration gives, projected on the manifold.

    Parameters
    ----------
    manifold : Manifold
    numbers : sequence of float
        Coordinates in row-major order; ``x1, y1, x2, ...`` for landmarks.
    place : str
        Where the numbers stand, for messages.

    Raises
    ------
    DataError
        The numbers make no point.
    """
    values = np.asarray(numbers, dtype=float)
    if np.issubdtype(manifold.dtype, np.complexfloating) and values.size % 2 == 0:
        values = values[0::2] + 1j * values[1::2]
    if values.size != np.prod(manifold.point_shape):
        raise DataError(
            f"{place}: its {len(numbers)} numbers make no point of {manifold.name}: give the "
            "coordinates in row-major order (x1, y1, x2, ... for landmarks)"
        )
    with np.errstate(invalid="ignore"):
        point = manifold.project(values.reshape(manifold.point_shape))
    reason = manifold.invalid_reason(point)
    if reason is not None:
        raise DataError(f"{place}: not a point of {manifold.name}, since {reason}: correct it")
    return point
