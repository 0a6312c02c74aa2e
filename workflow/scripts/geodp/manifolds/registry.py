"""Manifolds by the name a configuration gives them."""

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
