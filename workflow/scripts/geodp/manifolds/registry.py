"""Registry of manifolds by name, and points from lists of numbers."""

from collections.abc import Callable

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.base import Manifold
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes, ReducedPlanarShapes
from geodp.manifolds.landmark_maps import LandmarkMap
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.plain import from_plain, plain

# Largest size that a file may name, beyond which a mistake would fill the memory.
LARGEST_SIZE = 2000

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


def manifold_settings(manifold):
    """Name, size and landmark map of a manifold of `make_manifold`, as values that JSON has."""
    if type(manifold) is ReducedPlanarShapes:
        chosen = manifold.landmark_map
        described = {"matrix": plain(chosen.matrix), "description": chosen.description}
        return {"name": "kendall", "size": manifold.landmarks, "landmark_map": described}
    for name, kind in MANIFOLDS.items():
        if type(manifold) is kind and manifold.size <= LARGEST_SIZE:
            return {"name": name, "size": manifold.size, "landmark_map": None}
    raise DataError(
        f"{manifold.name} cannot be written to a file, since only {', '.join(MANIFOLDS)} up to "
        f"size {LARGEST_SIZE} have a name there: keep its numbers yourself"
    )


def manifold_from_settings(settings):
    """The manifold that `manifold_settings` described."""
    name, size, chosen = (settings.get(key) for key in ("name", "size", "landmark_map"))
    known = isinstance(name, str) and name in MANIFOLDS
    if not (known and type(size) is int and 1 <= size <= LARGEST_SIZE):
        raise DataError(
            f"there is no manifold {name!r} of size {size!r}: give one of {', '.join(MANIFOLDS)} "
            f"and a size up to {LARGEST_SIZE}"
        )
    if chosen is None:
        return make_manifold(name, size)
    try:
        matrix, described = from_plain(chosen["matrix"]), str(chosen["description"])
        landmark_map = LandmarkMap(np.asarray(matrix, dtype=complex), described)
    except (LookupError, TypeError, ValueError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError("landmark map: it is not a matrix with a description: correct it") from None
    return make_manifold(name, size, landmark_map)


def parse_point(manifold, numbers, place):
    """The point nearest to numbers in one of the manifold's `layouts`.

    Raises a `DataError` that calls the numbers ``place`` if they are not those of a point.
    """
    values = np.asarray(numbers, dtype=float)
    if values.size not in manifold.layouts():
        raise DataError(
            f"{place}: its {values.size} numbers make no point of {manifold.name}: "
            f"{layout_advice(manifold)}"
        )
    with np.errstate(invalid="ignore"):
        [point] = manifold.project(manifold.from_layout(values.reshape((1, -1))))
    reason = manifold.invalid_reason(point)
    if reason is not None:
        raise DataError(f"{place}: not a point of {manifold.name}, since {reason}: correct it")
    return point


def layout_advice(manifold):
    """What numbers to give for a point, as the end of a message."""
    layouts = manifold.layouts().items()
    return "give " + ", or ".join(f"{number}, {words}" for number, words in layouts)
