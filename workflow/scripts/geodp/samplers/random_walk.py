"""Riemannian random walk Metropolis, the papers' sampler."""

from dataclasses import dataclass

import numpy as np

from geodp.samplers.base import Info, Kernel, State, choose


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
        """Every chain starts at the target's centre, as the papers' do."""
        space = target.space
        axis = -space.point_ndim - 1
        shape = (*target.batch, chains)
        position = np.broadcast_to(np.expand_dims(target.centre, axis), shape + space.point_shape)
        return State(position, target.log_density(position))

    def step(self, rng, target, state):
        """One Metropolis step; a proposal and its reverse are equally likely."""
        space = target.space
        shape = state.log_density.shape
        directions = rng.standard_normal((*shape, space.dim))
        directions /= np.sqrt(np.sum(directions**2, axis=-1, keepdims=True))
        radius = np.minimum(self.step_scale * target.scale, space.injectivity_radius)
        length = radius[..., None] * rng.random(shape) ** (1.0 / space.dim)
        vector = space.vector(space.frame(state.position), length[..., None] * directions)
        position = space.exp(state.position, vector)
        proposed = State(position, target.log_density(position))
        accepted = np.log(rng.random(shape)) < proposed.log_density - state.log_density
        return choose(space, accepted, proposed, state), Info(accepted)
