"""What every sampler shares: states, what is reported of a step, and the loop over steps.

A sampler is a `Kernel` with two methods, ``init(rng, target, chains)`` and
``step(rng, target, state)``, batched over the target's batch and over chains.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np


@dataclass(frozen=True)
class State:
    """Where the chains stand.

    Attributes
    ----------
    position : ndarray, shape (*batch, chains, *point_shape)
    log_density : ndarray, shape (*batch, chains)
        Of the target, unnormalised.
    memory : dict of ndarray, shape (*batch, chains)
        What else the kernel keeps of a state.
    """

    position: np.ndarray
    log_density: np.ndarray
    memory: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Info:
    """What one step did: ``accepted``, of shape (*batch, chains)."""

    accepted: np.ndarray


@dataclass(frozen=True)
class SamplerPlan:
    """How a batch of densities is to be sampled.

    Attributes
    ----------
    sampler : kernel
    steps : int
        Steps of each chain; its last state is the draw.
    largest_weight : float
        Largest importance weight of pilot proposals, relative to the mean of its batch member;
        NaN for kernels that have no weights.
    total_variation : float
        Stated distance of the worst batch member to its density after those steps; NaN where
        there is no estimate.  Of pilot proposals it is ``extrapolated``, but never less than their
        resolution (`geodp.samplers.matched.resolution`).
    cut_short : bool
        Whether more steps were wanted than are allowed.
    proposals : int
        Most proposals of a draw.  A chain has one a step, and one for its start if that is drawn.
    exact_share : float
        Share of the batch whose draws have exactly the density's distribution.
    certificate : str
        What certifies the distribution of the draws, or why nothing does.
    extrapolated : float
        The bound on the total variation distance, taken at the weights of the pilots, from which
        the number of steps was chosen.  It may be far below what so many pilots can see.  NaN where
        there is no such estimate.
    """

    sampler: Any
    steps: int
    largest_weight: float = float("nan")
    total_variation: float = float("nan")
    cut_short: bool = False
    proposals: int = 0
    exact_share: float = 0.0
    certificate: str = "none"
    extrapolated: float = float("nan")

    @property
    def drawn_by(self):
        """Names of the samplers that the draws are from."""
        if 0.0 < self.exact_share < 1.0:
            return "exact or matched"
        return self.sampler.name


def choose(space, accepted, proposed, current):
    """State that is ``proposed`` where accepted and ``current`` elsewhere."""
    return State(
        np.where(space.expand(accepted), proposed.position, current.position),
        np.where(accepted, proposed.log_density, current.log_density),
        {
            key: np.where(accepted, proposed.memory[key], current.memory[key])
            for key in current.memory
        },
    )


class Kernel:
    """A Markov kernel; a sampler gives ``init`` and ``step`` and inherits the loop over steps."""

    name: str

    def init(self, rng, target, chains):
        """State of chains before their first step."""
        raise NotImplementedError

    def step(self, rng, target, state):
        """State after one step, and its `Info`."""
        raise NotImplementedError

    def member(self, index):
        """The same kernel for one part of the batch, given as a tuple of slices."""
        return self

    def walk(self, rng, target, state, steps, every):
        """Yield ``(state, accepted)`` after each ``every`` of ``steps`` steps.

        ``accepted`` is the share of accepted steps since the last, shape (*batch).
        """
        accepted = np.zeros(target.batch)
        for step in range(1, steps + 1):
            state, info = self.step(rng, target, state)
            accepted = accepted + np.mean(info.accepted, axis=-1)
            if step % every == 0:
                yield state, accepted / every
                accepted = np.zeros(target.batch)


def run(rng, sampler, target, chains, steps):
    """Run chains and keep their last states.

    Parameters
    ----------
    rng : numpy.random.Generator
    sampler : Kernel
    target : Target
    chains, steps : int

    Returns
    -------
    tuple
        The last `State`, and the share of accepted steps as ndarray (*batch).
    """
    state = sampler.init(rng, target, chains)
    if not steps:
        return state, np.ones(target.batch)
    return next(sampler.walk(rng, target, state, steps, steps))


def trace(rng, sampler, target, chains, states, thin=1, warm_up=0):
    """Run chains and keep scalar summaries of every ``thin``-th state, for diagnostics.

    Returns
    -------
    dict of ndarray, shape (*batch, chains, states)
        ``log_density``; ``distance`` to the centre; and the first coordinates of the state in
        the frame at the centre, ``coordinate_1`` and so on, three at most.
    """
    state = sampler.init(rng, target, chains)
    if warm_up:
        state, _ = next(sampler.walk(rng, target, state, warm_up, warm_up))
    kept = [state for state, _ in sampler.walk(rng, target, state, states * thin, thin)]
    space = target.space
    axis = -space.point_ndim - 1
    positions = np.stack([state.position for state in kept], axis=axis)
    centre = np.expand_dims(target.centre, (axis, axis - 1))
    frame = np.expand_dims(space.frame(target.centre), (axis - 1, axis - 2))
    place = space.coordinates(centre, space.log(centre, positions), frame)
    return {
        "log_density": np.stack([state.log_density for state in kept], axis=-1),
        "distance": np.sqrt(np.sum(place**2, axis=-1)),
        **{f"coordinate_{k + 1}": place[..., k] for k in range(min(3, space.dim))},
    }
