"""Realised privacy losses of mechanisms for means, on neighbours chosen to make them large.

Neighbours have all records but one at one place of the ball's diameter, and the last one at either
end of it.  What is found is a lower bound of the largest loss.
"""

import numpy as np
from scipy.special import logsumexp

from geodp.audit.disc import Disc
from geodp.means.mechanisms import (
    MECHANISMS,
    MeanProblem,
    ambient_scale,
    embed,
    fitted,
    kng_scale,
    laplace_scale,
    published_laplace_scale,
    support_radius,
)

# Places of the other records along the diameter, from its middle to its end.
PLACES = np.linspace(0.0, 1.0, 11)

# Nodes of quadrature, rings and rays.
NODES = (60, 64)


def diameters(manifold, centre, radius, number, places=PLACES):
    """Neighbours about each place of a diameter.

    Returns
    -------
    tuple of ndarray, shape (places, number, *point_shape)
        The last record is at the end next to the others' place, or at the other end.
    """
    if manifold.dim > 1 and np.shape(centre) == (2, 2):
        # Along the first axis of a matrix, where the ambient distance grows fastest.
        direction = np.diag([1.0, 0.0])
    else:
        direction = manifold.tangent(centre, np.eye(manifold.dim)[0])
    lengths = np.repeat(np.asarray(places)[:, None], number, axis=1) * radius
    both = []
    for end in (radius, -radius):
        lengths = lengths.copy()
        lengths[:, -1] = end
        base = np.broadcast_to(centre, (*lengths.shape, *manifold.point_shape))
        both.append(manifold.exp(base, manifold.expand(lengths) * direction))
    return tuple(both)


def realised_losses(manifold, centre, radius, number, budget):
    """Largest losses found, by mechanism.

    The Laplace mechanisms' is the distance of the means over the scale, which is attained far away;
    that of the K-norm gradient mechanism is computed by quadrature on the sphere S^2.

    Returns
    -------
    dict of float
    """
    problems = [
        fitted(manifold, centre, radius, points)
        for points in diameters(manifold, centre, radius, number)
    ]
    first, second = (problem.mean for problem in problems)
    moved = manifold.dist(first, second)
    apart = np.linalg.norm(embed(manifold, first) - embed(manifold, second), axis=-1)
    one = problems[0]
    found = {
        "laplace": moved / laplace_scale(one, budget),
        "laplace_as_published": moved / published_laplace_scale(one, budget),
        "ambient_laplace": apart / ambient_scale(one, budget),
    }
    if manifold.name == "sphere S^2":
        found["kng"] = _gradient_losses(problems, budget)
    return {name: float(np.max(values)) for name, values in found.items() if name in MECHANISMS}


def _gradient_losses(problems, budget):
    """Of the densities on the support: the largest difference of their logarithms at the nodes."""
    one: MeanProblem = problems[0]
    scale = kng_scale(one, budget)
    disc = Disc(one.manifold, one.centre, support_radius(one))
    grids = [disc.nodes(each.mean, np.full(len(each.mean), scale), *NODES) for each in problems]
    values = []
    for each in problems:
        [block] = each.model.blocks
        own = []
        for states, _ in grids:
            found = each.model.energy_gradient({block: states}, None, each.points)
            own.append(-each.manifold.norm(states, found.gradient[block]) / scale)
        values.append(own)
    constants = [logsumexp(values[k][k] + grids[k][1], axis=-1, keepdims=True) for k in range(2)]
    ratios = [
        (values[0][grid] - constants[0]) - (values[1][grid] - constants[1]) for grid in range(2)
    ]
    return np.max(np.abs(np.concatenate(ratios, axis=-1)), axis=-1)
