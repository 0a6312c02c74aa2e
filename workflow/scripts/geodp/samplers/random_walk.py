"""Riemannian random walk Metropolis: the papers' sampler, and the same with a tuned step.

The papers fix the step size in units of the density's scale.  `tune` finds a step size for each
density in a warm-up and then fixes it.  A kernel that went on adapting would depend on its past,
and the density need not be its stationary distribution.
"""

from dataclasses import dataclass

import numpy as np

from geodp.randomness import random_directions
from geodp.samplers.base import Info, Kernel, State, choose

# The log step size changes by ``GAIN * step^-GAIN_DECAY`` times the error of the acceptance rate.
# A decay between one half and one lets it cross any distance and still converge.
GAIN = 2.0
GAIN_DECAY = 0.6

# Smallest step size, in units of the scale.
SMALLEST_STEP = 1e-9

# Rounds of draws in search of positive density, where the density at the centre is zero.
START_REDRAWS = 30


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
        """See `Kernel.step`; proposals are symmetric (Metropolis)."""
        space = target.space
        shape = state.log_density.shape
        directions = random_directions(rng, (*shape, space.dim))
        radius = np.minimum(self.step_scale * target.scale, space.injectivity_radius)
        length = radius[..., None] * rng.random(shape) ** (1.0 / space.dim)
        vector = space.tangent(state.position, length[..., None] * directions)
        position = space.exp(state.position, vector)
        proposed = State(position, target.log_density(position))
        # Between two states of density zero the difference is not a number, and the chain stays.
        with np.errstate(invalid="ignore"):
            change = proposed.log_density - state.log_density
        accepted = np.log(rng.random(shape)) < change
        return choose(space, accepted, proposed, state), Info(accepted)


def acceptance_goal(dim):
    """Acceptance rate to tune to: 0.44 on a line, falling to 0.234 in many dimensions.

    These rates are optimal for normal distributions.  In between, the formula is within 0.02 of
    the rates of Gelman, Roberts and Gilks (1996, table 1).  Efficiency varies little about the
    optimum, so the same rates serve for Laplace densities.
    """
    return 0.234 + (0.44 - 0.234) / dim


def tune(rng, target, chains, steps, step_scale=RandomWalk.step_scale):
    """Choose the step size of each batch member in a warm-up.

    The log step size is adapted to the acceptance rate by stochastic approximation (Robbins and
    Monro), and the mean of the later half of its values is taken (Polyak and Ruppert).  States of
    the warm-up must not be kept, since its steps depend on earlier states.  The last one can start
    a chain of the tuned kernel.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    chains : int
        Number of chains, which share the step size and are averaged for the acceptance rate.
    steps : int
        Steps of the warm-up, one or more.
    step_scale : float
        Initial step size, in units of the target's scale.

    Returns
    -------
    tuple
        A `RandomWalk` with a step size for each batch member, and the last `State`.
    """
    goal = acceptance_goal(target.space.dim)
    # On a flat density every step is accepted: none need be longer than the support is wide.
    widest = np.minimum(target.space.injectivity_radius, target.support.widest)
    limits = np.log(SMALLEST_STEP), np.log(np.maximum(widest / target.scale, SMALLEST_STEP))
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
        log_step = np.clip(log_step + GAIN * number**-GAIN_DECAY * off, *limits)
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
    space = target.space
    for _ in range(START_REDRAWS):
        nowhere = ~np.isfinite(state.log_density)
        if not np.any(nowhere):
            break
        position = target.support.draw(rng, state.log_density.shape)
        elsewhere = State(position, target.log_density(position))
        state = choose(space, nowhere, elsewhere, state)
    return state
