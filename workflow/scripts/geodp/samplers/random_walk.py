"""Riemannian random walk Metropolis: the papers' sampler, and the same with a tuned step.

The papers fix the step in units of the density's scale.  `tune` finds one for each density in a
warm-up and then leaves it alone: a kernel that went on adapting would depend on its past, and its
states need not follow the density.
"""

from dataclasses import dataclass

import numpy as np

from geodp.randomness import random_directions
from geodp.samplers.base import Info, Kernel, State, choose

# Step sizes move by this much times what the acceptance rate is off, less and less with time; the
# exponent lets them cross any distance and still settle.
GAIN = 2.0
GAIN_DECAY = 0.6

# Smallest step, in units of the scale: below it a density is zero all around the chains.
SMALLEST_STEP = 1e-9

# Most rounds of draws in search of positive density, where there is none at the centre.
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
        """The same kernel for one part of the batch, given as a tuple of slices."""
        steps = np.asarray(self.step_scale)
        return RandomWalk(steps[index]) if steps.ndim else self

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
        directions = random_directions(rng, (*shape, space.dim))
        radius = np.minimum(self.step_scale * target.scale, space.injectivity_radius)
        length = radius[..., None] * rng.random(shape) ** (1.0 / space.dim)
        vector = space.vector(space.frame(state.position), length[..., None] * directions)
        position = space.exp(state.position, vector)
        proposed = State(position, target.log_density(position))
        # Between two places without density a chain stays.
        with np.errstate(invalid="ignore"):
            change = proposed.log_density - state.log_density
        accepted = np.log(rng.random(shape)) < change
        return choose(space, accepted, proposed, state), Info(accepted)


def acceptance_goal(dim):
    """Acceptance rate to tune to: 0.44 on a line, falling to 0.234 in many dimensions.

    These are the rates at which a random walk moves through a normal distribution the fastest.  In
    between, the formula is within 0.02 of those of Gelman, Roberts and Gilks (1996, table 1).
    Efficiency is flat about the best rate, so a Laplace distribution's can be taken for the same.
    """
    return 0.234 + (0.44 - 0.234) / dim


def tune(rng, target, chains, steps, step_scale=RandomWalk.step_scale):
    """Choose the step of each batch member in a warm-up, then freeze it.

    The logarithm of the step follows the acceptance rate by stochastic approximation (Robbins and
    Monro), and the kernel gets the mean of the later half of its values (Polyak and Ruppert).
    During the warm-up the step depends on where the chains have been, so none of its states may be
    kept; from the last a chain of the frozen kernel can go on.

    Parameters
    ----------
    rng : numpy.random.Generator
    target : Target
    chains : int
        Their mean acceptance rate moves the step they share.
    steps : int
        Of the warm-up, one at least.
    step_scale : float
        Where the step starts, in units of the target's scale.

    Returns
    -------
    tuple
        A `RandomWalk` with a step for each batch member, and the `State` at the end.
    """
    goal = acceptance_goal(target.space.dim)
    # A flat density accepts everything, and no step need be longer than its support is wide.
    widest = np.minimum(target.space.injectivity_radius, target.support.widest)
    limits = np.log(SMALLEST_STEP), np.log(np.maximum(widest / target.scale, SMALLEST_STEP))
    log_step = np.clip(np.full(target.batch, np.log(step_scale)), *limits)
    state = _start(rng, target, chains)
    later = []
    for number in range(1, steps + 1):
        somewhere = np.isfinite(state.log_density)
        state, info = RandomWalk(np.exp(log_step)).step(rng, target, state)
        # Chains that stand where there is no density say nothing of the step.
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
    """The papers' walk with its fixed step, or one tuned in ``warm_up`` steps if there are any."""
    if warm_up == 0:
        return RandomWalk(step_scale)
    return tune(rng, target, chains, warm_up, step_scale)[0]


def _start(rng, target, chains):
    """At the centre, or in the support where the density at the centre is zero."""
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
