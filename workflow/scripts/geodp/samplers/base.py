"""The protocol of a sampler: state, kernel, information about a step, and the loop over steps.

A sampler is a `Kernel` with two methods, ``init(rng, target, chains)`` and
``step(rng, target, state)``, batched over the target's batch and over chains.  Two formulas that
several samplers need are at the end.
"""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy.special import gammaln


@dataclass(frozen=True)
class State:
    """State of chains.

    Attributes
    ----------
    position : ndarray, shape (*batch, chains, *point_shape)
    log_density : ndarray, shape (*batch, chains)
        Of the target, unnormalised.
    memory : dict of ndarray, shape (*batch, chains)
        Further quantities that a kernel keeps, such as log weights.
    """

    position: np.ndarray
    log_density: np.ndarray
    memory: dict = field(default_factory=dict)


@dataclass(frozen=True)
class Info:
    """Information about one step.

    Attributes
    ----------
    accepted : ndarray of bool, shape (*batch, chains)
    """

    accepted: np.ndarray


@dataclass(frozen=True)
class SamplerPlan:
    """A sampler with a number of steps for a batch of densities, and what is known of its error.

    Attributes
    ----------
    sampler : Kernel
    steps : int
        Steps of each chain; its last state is the draw.
    largest_weight : float
        Largest importance weight of pilot proposals, relative to the mean of its batch member;
        NaN for kernels that have no weights.
    total_variation : float
        Stated total variation distance of the worst batch member to its target after those steps;
        NaN without an estimate.  Estimated from pilots it is ``extrapolated``, but never less than
        the resolution of the pilots (`geodp.samplers.matched.resolution`).
    cut_short : bool
        Whether the target distance needs more steps than are allowed.
    proposals : int
        Largest number of proposals of a draw.  A chain has one a step, and one for its start if
        that is drawn.
    exact_share : float
        Share of the batch whose draws have exactly the target distribution.
    certificate : str
        What certifies the distribution of the draws, or why nothing does.
    extrapolated : float
        The total variation bound of `geodp.samplers.matched.total_variation_bounds`, estimated from
        the pilots' importance weights.  The number of steps was chosen by it.  It may be far below
        the resolution of the pilots.  NaN without an estimate.
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
        """Name of the sampler, or of both samplers of a batch, for tables."""
        if 0.0 < self.exact_share < 1.0:
            return "exact or matched"
        return self.sampler.name


def choose(space, accepted, proposed, current):
    """State that equals ``proposed`` where accepted and ``current`` elsewhere."""
    return State(
        np.where(space.expand(accepted), proposed.position, current.position),
        np.where(accepted, proposed.log_density, current.log_density),
        {
            key: np.where(accepted, proposed.memory[key], current.memory[key])
            for key in current.memory
        },
    )


class Kernel:
    """A Markov kernel: subclasses define ``init`` and ``step`` and inherit the loop over steps."""

    name: str

    def init(self, rng, target, chains):
        """Initial state of chains.

        Parameters
        ----------
        rng : numpy.random.Generator
        target : Target
        chains : int
            For each member of the batch.

        Returns
        -------
        State
        """
        raise NotImplementedError

    def step(self, rng, target, state):
        """One step.

        Returns
        -------
        tuple
            The new `State`, and the `Info` about the step.
        """
        raise NotImplementedError

    def member(self, index):
        """The kernel for a part of the batch, given as a tuple of slices."""
        return self

    def walk(self, rng, target, state, steps, every):
        """Yield ``(state, accepted)`` after each ``every`` of ``steps`` steps.

        ``accepted`` is the acceptance rate since the last yield, shape (*batch).
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
        The last `State`, and the acceptance rate, ndarray of shape (*batch).
    """
    state = sampler.init(rng, target, chains)
    if not steps:
        return state, np.ones(target.batch)
    return next(sampler.walk(rng, target, state, steps, steps))


def visited(log_weight, proposed, thresholds):
    """Places of independence Metropolis chains, whose proposals do not depend on their states.

    Parameters
    ----------
    log_weight : ndarray, shape (*chains)
        Log density of the target over that of proposals, at the first state of each chain.
    proposed : ndarray, shape (*chains, steps)
        The same at proposals.
    thresholds : ndarray, shape (*chains, steps)
        Logarithms of uniform variables.

    Returns
    -------
    ndarray of int, shape (*chains, steps)
        Index of the proposal at which a chain is after each step; -1 for its first state.
    """
    place = np.full(proposed.shape, -1)
    for step in range(proposed.shape[-1]):
        # Between two states of weight zero the difference is not a number, and a chain stays.
        with np.errstate(invalid="ignore"):
            accepted = thresholds[..., step] < proposed[..., step] - log_weight
        log_weight = np.where(accepted, proposed[..., step], log_weight)
        # At the first step the place before, [-1], is the last column, which is still -1.
        place[..., step] = np.where(accepted, step, place[..., step - 1])
    return place


def trace(rng, sampler, target, chains, states, thin=1, warm_up=0):
    """Run chains and keep scalar summaries of every ``thin``-th state, for diagnostics.

    Parameters
    ----------
    rng : numpy.random.Generator
    sampler : Kernel
    target : Target
    chains, states : int
        States to keep of each chain.
    thin, warm_up : int
        Steps from one kept state to the next, and before the first.

    Returns
    -------
    dict of ndarray, shape (*batch, chains, states)
        ``log_density``; ``distance`` to the centre; and ``coordinate_1`` to at most
        ``coordinate_3``, the first coordinates of the state in the frame at the centre.
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


def inverted(cumulative, thresholds, side="left"):
    """Indices at which cumulative sums reach thresholds: `numpy.searchsorted` by row.

    Parameters
    ----------
    cumulative : ndarray, shape (*batch, k)
    thresholds : ndarray, shape (*batch, draws)
    side : {"left", "right"}

    Returns
    -------
    ndarray of int, shape (*batch, draws)
        From 0 to k.
    """
    found = np.empty(thresholds.shape, dtype=int)
    for row in np.ndindex(found.shape[:-1]):
        found[row] = np.searchsorted(cumulative[row], thresholds[row], side)
    return found


def log_sphere_area(dim):
    """Log area of the unit sphere in R^dim, of dimension dim - 1."""
    return np.log(2.0) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim)
