"""Exact draws from Laplace distributions on symmetric spaces: ``exp(-d(p, centre) / sigma)``.

In normal coordinates at the centre the density is ``J(v) exp(-|v| / sigma)`` within the injectivity
radius, where J is the volume density of the exponential map.  J is at most ``exp(growth |v|)``, so
a Euclidean Laplace distribution of a larger scale is an envelope, and rejection is exact.  On the
symmetric positive definite matrices this is the distribution of Hajri et al. (2016), whose
eigenvalues it has.
"""

import numpy as np
from scipy.special import gammainc, gammaincinv

from geodp.errors import DataError
from geodp.manifolds.symmetric import SymmetricSpace

# Typical length of a proposal where volume grows exponentially, beyond which points have no digits.
LONGEST = 30.0


def check_laplace_scale(manifold, scale):
    """Refuse a scale at which the Laplace distribution has no finite volume.

    Parameters
    ----------
    manifold : Manifold
    scale : float

    Raises
    ------
    DataError
        The space is not symmetric, or the scale is too large for its curvature.
    """
    if not isinstance(manifold, SymmetricSpace):
        raise DataError(
            f"a Laplace distribution on {manifold.name} has no exact sampler: it needs a "
            "symmetric space"
        )
    growth, room = manifold.volume_growth, manifold.dim / LONGEST
    if growth and 1.0 / scale - growth < room:
        raise DataError(
            f"a Laplace distribution on {manifold.name} has a finite volume for scales below "
            f"{1.0 / growth:.4g} and can be drawn below {1.0 / (growth + room):.4g}, and this one "
            f"is {scale:.4g}: take a larger budget, more records, or a smaller ball of data"
        )


def draw_laplace(rng, manifold, centre, scale):
    """Draw points of Laplace distributions.

    Parameters
    ----------
    rng : numpy.random.Generator
    manifold : SymmetricSpace
    centre : ndarray, shape (*draws, *point_shape)
        One for each draw.
    scale : float
        In the manifold's unit of length.

    Returns
    -------
    ndarray, shape (*draws, *point_shape)

    Raises
    ------
    DataError
        See `check_laplace_scale`.
    """
    check_laplace_scale(manifold, scale)
    points = np.reshape(centre, (-1, *manifold.point_shape)).copy()
    rate = 1.0 / scale - manifold.volume_growth
    # Part of the envelope within the injectivity radius.
    whole = gammainc(manifold.dim, rate * manifold.injectivity_radius)
    left = np.arange(len(points))
    while len(left):
        start = points[left]
        length = gammaincinv(manifold.dim, whole * rng.random(len(left))) / rate
        step = manifold.expand(length) * manifold.random_direction(rng, start)
        volume = manifold.exp_volume(start, step) * np.exp(-manifold.volume_growth * length)
        accepted = rng.random(len(left)) < volume
        points[left[accepted]] = manifold.exp(start[accepted], step[accepted])
        left = left[~accepted]
    return points.reshape(np.shape(centre))
