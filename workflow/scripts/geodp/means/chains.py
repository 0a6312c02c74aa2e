"""Random walks as papers describe them, and two mistakes, against exact Laplace draws on spheres.

A walk steps by a vector of random direction and fixed length in the ambient space, projected on the
tangent space of where it is, so that steps are no longer than that length (Reimherr, Bharath and
Soto, A.5).
"""

from dataclasses import dataclass

import numpy as np

from geodp.randomness import random_directions

# What is done otherwise than in a correct walk.
CORRECT = "every step counts"
ACCEPTED = "accepted steps count"
FIXED_AXIS = "steps across a fixed axis"
VARIANTS = (CORRECT, ACCEPTED, FIXED_AXIS)

# Proposals over which a chance of acceptance is averaged.
PROPOSALS = 40_000


@dataclass(frozen=True)
class WalkLengths:
    """Lengths of walks.

    Attributes
    ----------
    chains : int
    burn_in : int
        Steps before the first draw.
    jump : int
        Steps from one draw to the next.
    draws : int
        Of each chain.
    """

    chains: int
    burn_in: int
    jump: int
    draws: int


def _propose(rng, manifold, position, scale, axis):
    step = np.expand_dims(scale, -1) * random_directions(rng, position.shape)
    if axis is None:
        return manifold.exp(position, manifold.project_tangent(position, step))
    return manifold.project(position + manifold.project_tangent(axis, step))


def walk_draws(rng, manifold, footpoint, scale, variant, lengths):
    """Draws of walks whose aim is the Laplace distribution about a footpoint.

    Parameters
    ----------
    rng : numpy.random.Generator
    manifold : Sphere
    footpoint : ndarray, shape (d + 1,)
    scale : ndarray, shape (scales, 1)
        Of the distribution, and of the steps.
    variant : str
        `CORRECT`; `ACCEPTED`, in which a rejected candidate is replaced by another until one is
        accepted, and only then a step is counted; or `FIXED_AXIS`, in which steps lie in the
        tangent space of the footpoint, wherever the walk is.
    lengths : WalkLengths

    Returns
    -------
    ndarray, shape (draws, scales, chains, d + 1)
    """
    axis = footpoint if variant == FIXED_AXIS else None
    shape = (len(scale), lengths.chains)
    position = np.broadcast_to(footpoint, (*shape, manifold.dim + 1)).copy()
    away = np.zeros(shape)
    counted, taken = np.zeros((2, *shape), dtype=int)
    drawn = np.empty((lengths.draws, *position.shape))
    while np.any(taken < lengths.draws):
        proposed = _propose(rng, manifold, position, scale, axis)
        distance = manifold.dist(footpoint, proposed)
        accepted = np.log(rng.random(shape)) < (away - distance) / scale
        position = np.where(accepted[..., None], proposed, position)
        away = np.where(accepted, distance, away)
        moved = accepted if variant == ACCEPTED else np.ones(shape, dtype=bool)
        counted += moved
        due = moved & (taken < lengths.draws)
        due &= counted == lengths.burn_in + taken * lengths.jump
        drawn[(taken[due], *np.nonzero(due))] = position[due]
        taken += due
    return drawn


def loss_of_counting_accepted(rng, manifold, scale):
    """Realised over stated loss of walks that count accepted steps alone, for close footpoints.

    The distribution of such a walk is the one aimed at times the chance a(r) that a step from the
    distance r is accepted.  So the logarithm of its density falls with the distance at the rate
    ``1 / scale - a' / a``, and the loss of footpoints that are close is its largest size times how
    far they are apart.

    Returns
    -------
    float
    """
    footpoint = np.eye(manifold.dim + 1)[-1]
    distances = scale * np.linspace(0.0, 6.0, 61)
    distances = distances[distances < 0.9 * manifold.injectivity_radius]
    along = np.zeros(manifold.dim + 1)
    along[0] = 1.0
    chances = np.empty(len(distances))
    seed = rng.integers(2**63)
    for index, distance in enumerate(distances):
        # The same proposals from everywhere, so that their noise has no slope.
        again = np.random.default_rng(seed)
        place = manifold.exp(footpoint, distance * along)
        places = np.broadcast_to(place, (PROPOSALS, len(place)))
        proposed = manifold.dist(footpoint, _propose(again, manifold, places, scale, None))
        chances[index] = np.mean(np.minimum(1.0, np.exp((distance - proposed) / scale)))
    slope = np.gradient(np.log(chances), distances)
    return float(np.max(np.abs(-1.0 / scale + slope)) * scale)
