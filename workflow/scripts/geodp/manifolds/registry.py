"""Registry of manifolds by name, and points from lists of numbers."""

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.landmark_maps import LandmarkMap
from geodp.manifolds.manifold import Manifold
from geodp.manifolds.product import Product
from geodp.manifolds.rotations import Rotations
from geodp.manifolds.size_and_shape import SizeAndShape
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import RealProjective, Sphere
from geodp.plain import from_plain

# Largest size that a file may name, beyond which a mistake would fill the memory.
LARGEST_SIZE = 2000

MANIFOLDS: dict[str, type[Manifold]] = {
    "euclidean": Euclidean,
    "sphere": Sphere,
    "hyperbolic": Hyperbolic,
    "spd": SPD,
    "kendall": KendallPlanarShapes,
    "projective": RealProjective,
    "rotations": Rotations,
    "product": Product,
    "size_and_shape": SizeAndShape,
}


def name_of(manifold):
    """Name of a registered space, ``None`` of another; of a product all factors are registered."""
    for name, kind in MANIFOLDS.items():
        if type(manifold) in (kind, *kind.variants) and all(map(name_of, manifold.factors)):
            return name
    return None


def make_manifold(name, size=None, landmark_map=None, **settings):
    """Make one of `MANIFOLDS` from its name and its ``keys``, None for those that are left out.

    The size is the dimension, the number of rows of a matrix, or the number of landmarks.  A
    `LandmarkMap` that does not go with the manifold is a `DataError`.
    """
    if landmark_map is not None and (name != "kendall" or landmark_map.landmarks != size):
        raise DataError(
            f"manifold {name} of size {size}: the landmark map ({landmark_map.description}) is one "
            f"of {landmark_map.landmarks} planar landmarks: make both numbers equal, or leave it "
            "out of other spaces"
        )
    settings |= {"size": size, "landmark_map": landmark_map}
    return MANIFOLDS[name].of(**{key: each for key, each in settings.items() if each is not None})


def manifold_settings(manifold):
    """Name and settings of a manifold of `make_manifold`, as values that JSON has."""
    name = name_of(manifold)
    made_from = manifold.made_from if name else {}
    if name and made_from.get("size", 1) <= LARGEST_SIZE:
        return {"name": name, **made_from}
    raise DataError(
        f"{manifold.name} cannot be written to a file, since only {', '.join(MANIFOLDS)} up to "
        f"size {LARGEST_SIZE} have a name there: keep its numbers yourself"
    )


def manifold_from_settings(settings):
    """The manifold that `manifold_settings` described."""
    name, size, chosen = (settings.get(key) for key in ("name", "size", "landmark_map"))
    known = isinstance(name, str) and name in MANIFOLDS
    is_size = type(size) is int and 1 <= size <= LARGEST_SIZE
    if not known or is_size != ("size" in MANIFOLDS[name].keys):
        raise DataError(
            f"there is no manifold {name!r} of size {size!r}: give one of {', '.join(MANIFOLDS)} "
            f"and a size up to {LARGEST_SIZE}"
        )
    try:
        if chosen is not None:
            matrix, described = from_plain(chosen["matrix"]), str(chosen["description"])
            settings = settings | {
                "landmark_map": LandmarkMap(np.asarray(matrix, dtype=complex), described)
            }
        return make_manifold(**settings)
    except (LookupError, TypeError, ValueError) as problem:
        if isinstance(problem, DataError):
            raise
        raise DataError(f"manifold {name}: these settings make none: correct them") from None


def parse_point(manifold, numbers, place):
    """The point nearest to numbers in one of the manifold's `layouts`.

    Raises a `DataError` that calls the numbers ``place`` if they are not those of a point, up to
    what digits left out may make.
    """
    values = np.asarray(numbers, dtype=float)
    if values.size not in manifold.layouts():
        raise DataError(
            f"{place}: its {values.size} numbers make no point of {manifold.name}: "
            f"{layout_advice(manifold)}"
        )
    with np.errstate(all="ignore"):
        [given] = manifold.from_layout(values.reshape((1, -1)))
        [point] = manifold.project(given[None])
        found = point if manifold.is_rounded(given, point) else given
    reason = manifold.layout_fault(values) or manifold.invalid_reason(found)
    if reason is not None:
        raise DataError(f"{place}: not a point of {manifold.name}, since {reason}: correct it")
    return point


def layout_advice(manifold):
    """What numbers to give for a point, as the end of a message."""
    layouts = manifold.layouts().items()
    return "give " + ", or ".join(f"{number}, {words}" for number, words in layouts)
