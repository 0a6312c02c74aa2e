"""How far Frechet means move when a record is replaced: what is seen, and what is searched for."""

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.sphere import Sphere
from geodp.means.problem import fitted
from geodp.means.samples import pole
from geodp.models.sensitivity import convexity


def largest_change_of_logs(manifold, radius, number=360):
    """Largest distance of the logarithms, at a point of a ball's edge, of two others of its edge.

    On the sphere S^2, for a radius below ``pi / 2``, on a grid of so many points.  Source:
    Reimherr, Bharath and Soto, B.1, who call it an empirical bound.
    """
    if not isinstance(manifold, Sphere) or manifold.dim != 2:
        raise DataError(f"the empirical bound is that of the sphere S^2, not of {manifold.name}")
    angles = 2.0 * np.pi * np.arange(number) / number
    around = radius * np.stack([np.cos(angles), np.sin(angles)], axis=-1)
    centres = np.broadcast_to(pole(manifold), (number, 3))
    edge = manifold.exp(centres, manifold.tangent(centres[0], around))
    logs = manifold.log(np.broadcast_to(edge[0], edge.shape), edge)
    return float(np.max(np.linalg.norm(logs[:, None] - logs, axis=-1)))


def empirical_sensitivity(manifold, number, radius):
    """Sensitivity of a mean by `largest_change_of_logs` in place of ``2 r (2 - h)``, unproved."""
    return largest_change_of_logs(manifold, radius) / (number * convexity(manifold, radius))


def moved_means(manifold, points):
    """Distances of the means of neighbours, and the means, from points (pairs, n + 1, ...).

    The first record is left out, or the last.
    """
    pairs = (points[:, 1:], points[:, :-1])
    means = tuple(fitted(manifold, None, None, each).mean for each in pairs)
    return manifold.dist(*means), means
