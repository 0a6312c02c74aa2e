"""How far Frechet means move when a record is replaced: what is seen, and what is searched for."""

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.sphere import Sphere
from geodp.means.samples import pole
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import convexity


def largest_change_of_logs(manifold, radius, number=360):
    """Largest distance of the logarithms, at a point of a ball's edge, of two others of its edge.

    Source: Reimherr, Bharath and Soto, B.1, who call it an empirical bound: points are on a grid.

    Parameters
    ----------
    manifold : Sphere
        Of two dimensions.
    radius : float
        Below ``pi / 2``, so that no two points of the edge are opposite.
    number : int
        Points of the grid, even.

    Returns
    -------
    float
    """
    if not isinstance(manifold, Sphere) or manifold.dim != 2:
        raise DataError(f"the empirical bound is that of the sphere S^2, not of {manifold.name}")
    centre = pole(manifold)
    angles = 2.0 * np.pi * np.arange(number) / number
    around = np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    edge = manifold.exp(
        np.broadcast_to(centre, (number, 3)), manifold.tangent(centre, radius * around)
    )
    logs = manifold.log(np.broadcast_to(edge[0], edge.shape), edge)
    return float(np.max(np.linalg.norm(logs[:, None] - logs, axis=-1)))


def empirical_sensitivity(manifold, number, radius):
    """Sensitivity of a mean by `largest_change_of_logs`, without its proof.

    Source: Reimherr, Bharath and Soto, B.1; it stands in the place of ``2 r (2 - h)``.
    """
    return largest_change_of_logs(manifold, radius) / (number * convexity(manifold, radius))


def moved_means(manifold, points):
    """Distances of the means of neighbours: the first record is left out, or the last.

    Parameters
    ----------
    manifold : Manifold
    points : ndarray, shape (pairs, n + 1, *point_shape)

    Returns
    -------
    distances : ndarray, shape (pairs,)
    means : tuple of ndarray, shape (pairs, *point_shape)
    """
    model = GeodesicModel(manifold, 0)
    found = [model.fit(None, some) for some in (points[:, 1:], points[:, :-1])]
    if not all(np.all(each.converged) for each in found):
        raise DataError("a Frechet mean has not converged: take data in a smaller ball")
    means = tuple(each.footpoint for each in found)
    return manifold.dist(*means), means
