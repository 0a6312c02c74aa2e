"""Riemannian random walk Metropolis, the papers' sampler: steps in units of the scale."""

from dataclasses import dataclass

import numpy as np

from geodp.randomness import random_directions
from geodp.samplers.base import Kernel, State, metropolis


@dataclass(frozen=True)
class RandomWalk(Kernel):
    """Proposals uniform in a tangent ball (Kulkarni and Soto, appendix A).

    Parameters
    ----------
    step_scale : float
        Radius of the ball in units of the target's scale.
    """

    step_scale: float = 2.0

    name = "random_walk"

    def init(self, rng, target, chains):
        """See `Kernel.init`; every chain starts at the target's centre, as in the papers."""
        space = target.space
        axis = -space.point_ndim - 1
        shape = (*target.batch, chains)
        position = np.broadcast_to(np.expand_dims(target.centre, axis), shape + space.point_shape)
        return State(position, target.log_density(position))

    def step(self, rng, target, state):
        """See `Kernel.step`; proposals are symmetric."""
        space = target.space
        shape = state.log_density.shape
        directions = random_directions(rng, (*shape, space.dim))
        radius = np.minimum(self.step_scale * target.scale, space.injectivity_radius)
        length = radius[..., None] * rng.random(shape) ** (1.0 / space.dim)
        vector = space.tangent(state.position, length[..., None] * directions)
        position = space.exp(state.position, vector)
        proposed = State(position, target.log_density(position))
        return metropolis(rng, space, state, proposed, state.log_density, proposed.log_density)
