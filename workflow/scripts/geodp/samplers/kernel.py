"""Targets, and the protocol of samplers: a `Kernel` with ``init`` and ``walk``.

Everything is batched over the target's batch and over chains.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
from scipy.special import gammaln

from geodp.manifolds.manifold import Manifold
from geodp.manifolds.supports import Ball


@dataclass(frozen=True)
class Modes:
    """Modes of a target away from its centre; unused places have no mass."""

    position: np.ndarray  # (*batch, modes, *point_shape)
    hessian: np.ndarray  # (*batch, modes, dim, dim), in the frame at the position.
    log_mass: np.ndarray  # (*batch, modes), relative to the main mode's; minus infinity for none.


# Compared by identity, so that results about a target can be cached.
@dataclass(frozen=True, eq=False)
class Target:
    """A batch of unnormalised densities with respect to the Riemannian volume of one space."""

    space: Manifold  # Of the states.
    # From states (*batch, chains, *point_shape) to the log density (*batch, chains) without the
    # restriction to the support, up to a constant for each member of the batch.
    unrestricted: Callable[[np.ndarray], np.ndarray]
    centre: np.ndarray  # Mode of the density, (*batch, *point_shape).
    # Derivative (*batch, dim, dim) of the gradient at the centre, in the frame there.
    hessian: np.ndarray
    # (*batch): near the centre the density is about ``exp(-norm(hessian @ step) / scale)``.
    scale: np.ndarray
    support: Ball
    # Searches for `Modes` away from the centre; ``None`` where there are none or no search is made.
    find_other_modes: Callable[[], Modes | None] = lambda: None
    # The same `GradientDensity` with bounds on cells, for samplers that certify an envelope.
    density: Any = None

    @cached_property
    def other_modes(self):
        """`Modes` away from the centre or ``None``; the search is slow and made once, on demand."""
        return self.find_other_modes()

    @property
    def batch(self):
        return self.space.batch_shape(self.centre)

    def log_density(self, states):
        """Log density (*batch, chains) of states, minus infinity outside the support."""
        return np.where(self.support.contains(states), self.unrestricted(states), -np.inf)


@dataclass(frozen=True)
class State:
    """State of chains."""

    position: np.ndarray  # (*batch, chains, *point_shape)
    log_density: np.ndarray  # (*batch, chains), of the target, unnormalised.
    # Further quantities (*batch, chains) that a kernel keeps, such as log weights.
    memory: dict = field(default_factory=dict)

    def combined(self, space, function, *others):
        """State whose arrays are a function of those of this state and of others.

        The function's first argument expands an array over chains to the axes of its others.
        """
        states = (self, *others)
        return State(
            function(space.expand, *(state.position for state in states)),
            function(np.asarray, *(state.log_density for state in states)),
            {
                key: function(np.asarray, *(state.memory[key] for state in states))
                for key in self.memory
            },
        )


@dataclass(frozen=True)
class SamplerPlan:
    """A sampler with a number of steps for a batch of densities, and what is known of its error."""

    sampler: Any
    steps: int  # Of each chain; its last state is the draw.
    # Largest importance weight of pilot proposals, relative to the mean of its batch member.
    largest_weight: float = float("nan")
    # Stated total variation distance of the worst batch member to its target, of chains never less
    # than the resolution of the pilots (`geodp.samplers.matched.resolution`).
    total_variation: float = float("nan")
    cut_short: bool = False  # Whether the target distance needs more steps than are allowed.
    proposals: int = 0  # Largest number of proposals of a draw, with that for the start of a chain.
    exact_share: float = 0.0  # Of the batch: draws have exactly the target distribution.
    certificate: str = "none"  # What certifies the distribution of the draws, or why nothing does.

    @property
    def drawn_by(self):
        """Name of the sampler, or of both samplers of a batch, for tables."""
        if 0.0 < self.exact_share < 1.0:
            return "exact or matched"
        return self.sampler.name


class Kernel:
    """A Markov kernel, or independent draws."""

    name: str

    def init(self, rng, target, chains):
        """Initial `State`, of this many chains for each member of the target's batch."""
        raise NotImplementedError

    def walk(self, rng, target, state, steps, every):
        """Yield ``(state, accepted)`` after each ``every`` of ``steps`` steps.

        ``accepted`` is the acceptance rate since the last yield, shape (*batch).
        """
        raise NotImplementedError

    def member(self, index):
        """The kernel that drew a member of the batch, given as a tuple of slices."""
        return self


def run(rng, sampler, target, chains, steps):
    """Run chains and keep their last states.

    The last `State`, and the acceptance rate, ndarray of shape (*batch).
    """
    state = sampler.init(rng, target, chains)
    if not steps:
        return state, np.ones(target.batch)
    return next(sampler.walk(rng, target, state, steps, steps))


def trace(rng, sampler, target, chains, states, thin=1, warm_up=0):
    """Run chains and keep scalar summaries of every ``thin``-th of ``states * thin`` states.

    By name, (*batch, chains, states): ``log_density``; ``distance`` to the centre; and
    ``coordinate_1`` to at most ``coordinate_3``, the first coordinates of the state in the frame at
    the centre.
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


def choose(space, accepted, proposed, current):
    """State that equals ``proposed`` where accepted and ``current`` elsewhere."""
    return current.combined(
        space, lambda expand, now, then: np.where(expand(accepted), then, now), proposed
    )


def visited(log_weight, proposed, thresholds):
    """Places of independence Metropolis chains, whose proposals do not depend on their states.

    From log ratios of target to proposal, at first states (*chains) and at proposals (*chains,
    steps), and logarithms of uniform variables (*chains, steps): the index of the proposal at which
    a chain is after each step, -1 for its first state.
    """
    place = np.full(proposed.shape, -1)
    # Between two states of weight zero the difference is not a number, and a chain stays.
    with np.errstate(invalid="ignore"):
        for step in range(proposed.shape[-1]):
            accepted = thresholds[..., step] < proposed[..., step] - log_weight
            log_weight = np.where(accepted, proposed[..., step], log_weight)
            # At the first step the place before, [-1], is the last column, which is still -1.
            place[..., step] = np.where(accepted, step, place[..., step - 1])
    return place


def by_rejection(shape, propose, rounds=np.inf):
    """Fill an array with accepted proposals, each for an entry of its first axis.

    ``propose`` takes the indices that are left to which proposals are accepted, an array of bool,
    and to the proposals; ``rounds`` is the most proposals for each.  Returns the array, and the
    indices of entries without an accepted proposal.
    """
    drawn, left = np.empty(shape), np.arange(shape[0])
    while len(left) and rounds > 0:
        accepted, proposed = propose(left)
        # Of complex spaces complex.
        drawn = drawn.astype(np.result_type(drawn, proposed), copy=False)
        drawn[left[accepted]] = proposed[accepted]
        left, rounds = left[~accepted], rounds - 1
    return drawn, left


def inverted(cumulative, members, thresholds):
    """Indices at which the sums (k, cells) of members, the same ones together, pass thresholds."""
    found = np.empty(len(members), dtype=int)
    first = np.flatnonzero(np.append(True, members[1:] != members[:-1])[: len(members)])
    for start, end in zip(first, np.append(first[1:], len(members)), strict=True):
        rows = slice(start, end)
        found[rows] = np.searchsorted(cumulative[members[start]], thresholds[rows], "right")
    return found


def log_sphere_area(dim):
    """Log area of the unit sphere in R^dim, of dimension dim - 1."""
    return np.log(2.0) + 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim)
