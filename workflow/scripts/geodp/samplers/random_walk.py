"""Riemannian random walk Metropolis, the papers' sampler; steps in units of the target's scale."""

from dataclasses import dataclass

import numpy as np

from geodp.randomness import random_directions
from geodp.samplers.kernel import Kernel, State, choose


@dataclass(frozen=True)
class RandomWalk(Kernel):
    """Proposals uniform in a tangent ball (Kulkarni and Soto, appendix A)."""

    step_scale: float = 2.0  # Radius of the ball in units of the target's scale.

    name = "random_walk"

    def init(self, rng, target, chains):
        """See `Kernel.init`; every chain starts at the target's centre, as in the papers."""
        space = target.space
        axis = -space.point_ndim - 1
        shape = (*target.batch, chains)
        position = np.broadcast_to(np.expand_dims(target.centre, axis), shape + space.point_shape)
        return State(position, target.log_density(position))

    def walk(self, rng, target, state, steps, every):
        """See `Kernel.walk`; proposals are symmetric."""
        space, shape, accepted = target.space, state.log_density.shape, np.zeros(target.batch)
        radius = np.minimum(self.step_scale * target.scale, space.injectivity_radius)
        for step in range(1, steps + 1):
            directions = random_directions(rng, (*shape, space.dim))
            length = radius[..., None] * rng.random(shape) ** (1.0 / space.dim)
            vector = space.tangent(state.position, length[..., None] * directions)
            position = space.exp(state.position, vector)
            proposed = State(position, target.log_density(position))
            # Between two states of density zero the difference is not a number, and a chain stays.
            with np.errstate(invalid="ignore"):
                change = proposed.log_density - state.log_density
            moved = np.log(rng.random(change.shape)) < change
            state = choose(space, moved, proposed, state)
            accepted = accepted + np.mean(moved, axis=-1)
            if step % every == 0:
                yield state, accepted / every
                accepted = np.zeros(target.batch)
