"""Exact draws from K-norm gradient distributions of Frechet means, of many data sets at once.

The density is ``exp(-|grad U(p)| / scale)``, with ``U(p) = sum d(p, y_i)^2 / (2 n)``.  Within a
ball in which U has a Hessian of at least h its gradient at p is at least ``h d(p, mean)`` long
(Soto et al., supplement, lemma 1).  So a Laplace distribution about the mean, of scale ``scale /
h``, is an envelope, and rejection from it is exact.
"""

import numpy as np

from geodp.models.sensitivity import convexity
from geodp.samplers.riemannian_laplace import draw_laplace

# A mean and its gradient are known to this share of the scale.
ROUNDING = 1e-9


def draw_kng_means(rng, model, points, mean, scale, centre, data_radius, radius):
    """Draw one point for each data set.

    Parameters
    ----------
    rng : numpy.random.Generator
    model : GeodesicModel
        Without covariates, least squares.
    points : ndarray, shape (data_sets, n, *point_shape)
        Within ``data_radius`` of the centre.
    mean : ndarray, shape (data_sets, *point_shape)
        Their Frechet means.
    scale : float
    centre : ndarray, shape point_shape
    data_radius : float
    radius : float
        Of the support, a ball about the centre; infinite for the whole of a space without positive
        curvature.

    Returns
    -------
    drawn : ndarray, shape (data_sets, *point_shape)
    proposals : float
        Per draw.

    Raises
    ------
    DataError
        The Hessian has no lower bound on the support, or the Laplace distribution no finite volume.
    """
    manifold = model.manifold
    [block] = model.blocks
    flat = manifold.curvature_bounds[1] <= 0.0
    # Two points of the support and the data are no farther apart.
    h = 1.0 if flat else convexity(manifold, 0.5 * (data_radius + radius))
    drawn = np.array(mean)
    left, proposals = np.arange(len(drawn)), 0
    while len(left):
        proposals += len(left)
        proposed = draw_laplace(rng, manifold, mean[left], scale / h)
        inside = manifold.dist(centre, proposed) <= radius
        if not np.any(inside):
            continue
        left_inside, proposed = left[inside], proposed[inside]
        found = model.energy_gradient({block: proposed}, None, points[left_inside])
        length = manifold.norm(proposed, found.gradient[block])
        log_chance = (h * manifold.dist(mean[left_inside], proposed) - length) / scale
        if np.any(log_chance > ROUNDING):
            raise ArithmeticError("a gradient is shorter than its lower bound: report this")
        accepted = np.log(rng.random(len(proposed))) < log_chance
        drawn[left_inside[accepted]] = proposed[accepted]
        left = np.setdiff1d(left, left_inside[accepted])
    return drawn, proposals / len(drawn)
