"""Simulated data of means, within a public ball (Reimherr, Bharath and Soto, A.2 and A.3)."""

import numpy as np

from geodp.manifolds.spd import SPD, symmetric_eigenvalues
from geodp.manifolds.sphere import Sphere


def in_ball(rng, manifold, radius, shape):
    """Points (*shape, *point_shape) of the papers' distribution on a space, about its `pole`."""
    draw = wishart_in_ball if isinstance(manifold, SPD) else polar_in_ball
    return draw(rng, manifold, radius, shape)


def wishart_in_ball(rng, manifold, radius, shape):
    """Wishart matrices of mean I and as many degrees of freedom as rows, within a ball about I.

    Matrices outside are drawn again.
    """
    size, wanted = manifold.size, int(np.prod(shape))
    kept: list = []
    while sum(map(len, kept)) < wanted:
        factors = rng.standard_normal((2 * wanted, size, size))
        # The smallest may be zero or less in rounding, and such a matrix is outside of any ball.
        matrices = factors @ np.swapaxes(factors, -1, -2) / size
        values = np.maximum(symmetric_eigenvalues(matrices), np.finfo(float).tiny)
        kept.append(matrices[np.linalg.norm(np.log(values), axis=-1) < radius])
    return np.concatenate(kept)[:wanted].reshape((*shape, size, size))


def polar_in_ball(rng, manifold, radius, shape):
    """Points whose distance from a pole is uniform, in uniform directions."""
    poles = np.broadcast_to(pole(manifold), (*shape, *manifold.point_shape))
    lengths = rng.uniform(0.0, radius, shape)
    return manifold.exp(poles, manifold.expand(lengths) * manifold.random_direction(rng, poles))


def contaminated(rng, manifold, centre, radius, shape, share):
    """Points near a centre, of which a share lies about another place at 0.7 of the radius.

    An ndarray of shape (data_sets, n, *point_shape).  Records scatter within a quarter of the
    radius, and the share of each data set is rounded down to whole ones.
    """
    outlying = manifold.exp(
        centre, 0.7 * radius * manifold.tangent(centre, np.eye(manifold.dim)[0])
    )
    moved = manifold.expand(np.broadcast_to(np.arange(shape[1]) < int(share * shape[1]), shape))
    start = np.where(moved, outlying, centre)
    lengths = manifold.expand(0.25 * radius * rng.random(shape))
    return manifold.exp(start, lengths * manifold.random_direction(rng, start))


def pole(manifold):
    """The centre of the ball: the identity, or the last of the axes."""
    if isinstance(manifold, SPD):
        return np.eye(manifold.size)
    if isinstance(manifold, Sphere):
        return np.eye(manifold.dim + 1)[-1]
    raise ValueError(f"{manifold.name} has no pole of its own")
