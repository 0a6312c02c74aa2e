"""What every sampler shares: states, what is reported of a step, and the loop over steps.

A sampler is a kernel with two methods, ``init(rng, target, chains)`` and
``step(rng, target, state)``, batched over the target's batch and over chains.
"""

from dataclasses import dataclass, field

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
class Plan:
    """How a batch of densities is to be sampled.

    Attributes
    ----------
    sampler : kernel
    steps : int
        Steps of each chain; its last state is the draw.
    largest_weight : float
        Largest importance weight of pilot proposals, relative to the mean of its batch member;
        NaN for kernels that have no weights.
    """

    sampler: object
    steps: int
    largest_weight: float = float("nan")


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


def run(rng, sampler, target, chains, steps):
    """Run chains and keep their last states.

    Parameters
    ----------
    rng : numpy.random.Generator
    sampler : kernel
    target : Target
    chains, steps : int

    Returns
    -------
    tuple
        The last `State`, and the share of accepted steps as ndarray (*batch).
    """
    state = sampler.init(rng, target, chains)
    accepted = np.zeros(target.batch)
    for _ in range(steps):
        state, info = sampler.step(rng, target, state)
        accepted += np.mean(info.accepted, axis=-1)
    return state, accepted / max(steps, 1)


def trace(rng, sampler, target, chains, states, warm_up=0):
    """Run chains and keep scalar summaries of every state, for convergence diagnostics.

    Returns
    -------
    dict of ndarray, shape (*batch, chains, states)
        ``log_density``; ``distance`` to the centre; and the first coordinates of the state in
        the frame at the centre, ``coordinate_1`` and so on, three at most.
    """
    state = sampler.init(rng, target, chains)
    for _ in range(warm_up):
        state, _ = sampler.step(rng, target, state)
    space = target.space
    axis = -space.point_ndim - 1
    centre = np.expand_dims(target.centre, axis)
    frame = np.expand_dims(space.frame(target.centre), axis - 1)
    kept = {}
    for _ in range(states):
        state, _ = sampler.step(rng, target, state)
        place = space.coordinates(centre, space.log(centre, state.position), frame)
        summaries = {
            "log_density": state.log_density,
            "distance": np.sqrt(np.sum(place**2, axis=-1)),
            **{f"coordinate_{k + 1}": place[..., k] for k in range(min(3, space.dim))},
        }
        for key, value in summaries.items():
            kept.setdefault(key, []).append(value)
    return {key: np.stack(values, axis=-1) for key, values in kept.items()}
