"""Riemannian random walk Metropolis: the papers' sampler, and the same with a tuned step.

The papers fix the step size in units of the density's scale.  `tune` finds a step size for each
density in a warm-up and then fixes it: the density need not be the stationary distribution of a
kernel that goes on adapting.
"""

from dataclasses import dataclass

import numpy as np

from geodp.randomness import random_directions
from geodp.samplers.base import Kernel, State, metropolis, redrawn


@dataclass(frozen=True)
class RandomWalk(Kernel):
    """Proposals uniform in a tangent ball (Kulkarni and Soto, appendix A).

    Parameters
    ----------
    step_scale : float or ndarray, shape (*batch)
        Radius of the ball in units of the target's scale.
    """

    step_scale: float | np.ndarray = 2.0

    name = "random_walk"

    def member(self, index):
        steps = np.asarray(self.step_scale)
        return RandomWalk(steps[index]) if steps.ndim else self

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


def acceptance_goal(dim):
    """Acceptance rate to tune to: 0.44 on a line, falling to 0.234 in many dimensions.

    These rates are optimal for normal distributions (Gelman, Roberts and Gilks 1996, table 1, to
    0.02).  Efficiency varies little about the optimum, so they serve for Laplace densities as well.
    """
    return 0.234 + (0.44 - 0.234) / dim


def tune(rng, target, chains, steps, step_scale=2.0):
    """Choose the step size of each batch member in a warm-up: a `RandomWalk`, and the last `State`.

    The log step size, at first that of ``step_scale`` in units of the target's scale, changes by
    ``2 number**-0.6`` times the error of the acceptance rate, over all chains of a member (Robbins
    and Monro), and the mean of the later half of its values is taken (Polyak and Ruppert).  With a
    power between one half and one it can cross any distance and still converges.  States of the
    warm-up must not be kept, since its steps depend on earlier states; the last one can start a
    chain of the walk.
    """
    goal = acceptance_goal(target.space.dim)
    # On a flat density every step is accepted: none need be longer than the support is wide.
    widest = np.minimum(target.space.injectivity_radius, target.support.widest)
    limits = np.log(1e-9), np.log(np.maximum(widest / target.scale, 1e-9))
    log_step = np.clip(np.full(target.batch, np.log(step_scale)), *limits)
    state = _start(rng, target, chains)
    later = []
    for number in range(1, steps + 1):
        somewhere = np.isfinite(state.log_density)
        state, info = RandomWalk(np.exp(log_step)).step(rng, target, state)
        # Chains at states of density zero carry no information about the step size.
        counted = np.sum(somewhere, axis=-1)
        rate = np.sum(info.accepted & somewhere, axis=-1) / np.maximum(counted, 1)
        off = np.where(counted > 0, rate - goal, 0.0)
        log_step = np.clip(log_step + 2.0 * number**-0.6 * off, *limits)
        if number > steps // 2:
            later.append(log_step)
    frozen = np.exp(np.mean(later, axis=0))
    frozen.flags.writeable = False
    return RandomWalk(frozen), state


def fixed_or_tuned(rng, target, chains, step_scale, warm_up):
    """Random walk with the papers' fixed step size, or tuned in ``warm_up`` steps if not zero."""
    if warm_up == 0:
        return RandomWalk(step_scale)
    return tune(rng, target, chains, warm_up, step_scale)[0]


def _start(rng, target, chains):
    """Initial state: the centre, or random states of the support if its density is zero."""
    state = RandomWalk().init(rng, target, chains)
    if not target.support.bounded:
        return state

    def draw():
        position = target.support.draw(rng, state.log_density.shape)
        return State(position, target.log_density(position))

    return redrawn(target.space, state, draw)
