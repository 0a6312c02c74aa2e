"""Realised privacy losses of mechanisms for means, on neighbours chosen to make them large.

The last record lies at either end of a diameter of the ball.  The others lie together on that
diameter, together at the ball's edge, or by halves at two places of the edge.  What is found is a
lower bound of the largest loss.
"""

import numpy as np
from scipy.special import logsumexp

from geodp.audit.disc import Disc
from geodp.mechanisms.mean_noise import AmbientLaplace
from geodp.mechanisms.means import (
    KNormGradient,
    Laplace,
    LaplaceAsPublished,
    LaplaceGeneral,
    MeanProblem,
    embed,
    is_nonpositive,
)


def neighbours(manifold, centre, radius, number):
    """Neighbours of each form, two ndarrays of shape (forms, number, *point_shape)."""
    first, second = np.eye(manifold.dim)[:2]
    side = np.where(np.arange(number) % 2, -1.0, 1.0)[:, None]
    places = [np.tile(share * first, (number, 1)) for share in np.linspace(0.0, 1.0, 6)]
    for angle in np.linspace(0.0, np.pi, 13):
        places.append(np.tile(np.cos(angle) * first + np.sin(angle) * second, (number, 1)))
        places.append(np.cos(angle) * first + np.sin(angle) * side * second)
    base = np.broadcast_to(centre, (len(places), number, *manifold.point_shape))
    both = []
    for end in (1.0, -1.0):
        coordinates = np.stack(places)
        coordinates[:, -1] = end * first
        both.append(manifold.exp(base, radius * manifold.tangent(base, coordinates)))
    return tuple(both)


def problems_of_neighbours(manifold, centre, radius, number):
    """The same as problems, fitted."""
    both = neighbours(manifold, centre, radius, number)
    return [MeanProblem.fitted(manifold, centre, radius, points) for points in both]


def losses_by_form(problems, budget):
    """Losses of neighbours of each form (forms,), by mechanism.

    The Laplace mechanisms' is the distance of the means over the scale, which is attained far away;
    that of the K-norm gradient mechanism is computed by quadrature on the sphere S^2.
    """
    manifold = problems[0].manifold
    first, second = (problem.mean for problem in problems)
    moved = manifold.dist(first, second)
    apart = np.linalg.norm(embed(manifold, first) - embed(manifold, second), axis=-1)
    laws = [(Laplace, moved), (LaplaceGeneral, moved), (AmbientLaplace, apart)]
    if not is_nonpositive(manifold):
        laws.append((LaplaceAsPublished, moved))
    found = {kind.name: by / kind.of(problems[0]).scale(budget) for kind, by in laws}
    if manifold.name == "sphere S^2":
        radius = KNormGradient.of(problems[0]).support_radius
        found["kng"] = gradient_losses(problems, budget, radius)
    return found


def gradient_losses(problems, budget, radius):
    """Losses (forms,) of the K-norm gradient mechanism on a ball of a radius about the centre.

    The largest difference of the logarithms of the densities at nodes of quadrature.
    """
    one = KNormGradient.of(problems[0])
    scale, number = one.scale(budget), one.number
    disc = Disc(one.manifold, one.centre, radius)
    grids = [disc.nodes(each.mean, np.full(len(each.mean), scale), 60, 64) for each in problems]
    # Of the two places of all but the last record, and of that one.
    shares = np.array([number // 2, (number - 1) // 2, 1]) / number

    def log_density(problem, states):
        [block] = problem.model.blocks
        gradient = sum(
            share
            * problem.model.energy_gradient(
                {block: states}, None, problem.points[:, [record]]
            ).gradient[block]
            for record, share in zip((0, 1, -1), shares, strict=True)
        )
        return -problem.manifold.norm(states, gradient) / scale

    values = [[log_density(each, states) for states, _ in grids] for each in problems]
    constants = [logsumexp(values[k][k] + grids[k][1], axis=-1, keepdims=True) for k in range(2)]
    ratios = [
        (first - constants[0]) - (second - constants[1])
        for first, second in zip(*values, strict=True)
    ]
    return np.max(np.abs(np.concatenate(ratios, axis=-1)), axis=-1)
