"""Exact draws from K-norm gradient distributions of Frechet means, of many data sets at once.

The density is ``exp(-|grad U(p)| / scale)``, with ``U(p) = sum d(p, y_i)^2 / (2 n)``.  Within a
ball in which U has a Hessian of at least h its gradient at p is at least ``h d(p, mean)`` long
(Soto et al., supplement, lemma 1).  So a Laplace distribution about the mean, of scale ``scale /
h``, is an envelope, and rejection from it is exact.
"""

import numpy as np

from geodp.means.problem import is_nonpositive
from geodp.models.sensitivity import convexity
from geodp.samplers.rejection import by_rejection
from geodp.samplers.riemannian_laplace import draw_laplace

# A mean and its gradient are known to this share of the scale.
ROUNDING = 1e-9


def draw_kng_means(rng, problem, scale, radius):
    """Draw one point for each mean.

    Parameters
    ----------
    rng : numpy.random.Generator
    problem : MeanProblem
    scale : float
    radius : float
        Of the support, a ball about the centre; infinite for the whole of a space without positive
        curvature.

    Returns
    -------
    ndarray, shape of the means

    Raises
    ------
    DataError
        The Hessian has no lower bound on the support, or the Laplace distribution no finite volume.
    """
    model, manifold = problem.model, problem.manifold
    [block] = model.blocks
    # Two points of the support and the data are no farther apart.
    h = 1.0 if is_nonpositive(manifold) else convexity(manifold, 0.5 * (problem.radius + radius))
    mean, centre = (
        np.broadcast_to(each, problem.mean.shape).reshape((-1, *manifold.point_shape))
        for each in (problem.mean, problem.centre)
    )
    data_set = np.repeat(np.arange(len(problem.points)), len(mean) // len(problem.points))

    def propose(left):
        proposed = draw_laplace(rng, manifold, mean[left], scale / h)
        inside = manifold.dist(centre[left], proposed) <= radius
        if not np.any(inside):
            return inside, proposed
        places, left = proposed[inside], left[inside]
        points = problem.points[data_set[left]]
        length = manifold.norm(
            places, model.energy_gradient({block: places}, None, points).gradient[block]
        )
        log_chance = (h * manifold.dist(mean[left], places) - length) / scale
        if np.any(log_chance > ROUNDING):
            raise ArithmeticError("a gradient is shorter than its lower bound: report this")
        inside[inside] = np.log(rng.random(len(places))) < log_chance
        return inside, proposed

    return by_rejection(mean.shape, propose)[0].reshape(problem.mean.shape)
