"""Draw the pairs (footpoint, shooting vector) of a budget cell, and traces to judge the chains."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from geodp.samplers.base import Plan, run, trace

STAGES = ("footpoint", "shooting_vector")


@dataclass(frozen=True)
class Draws:
    """Draws of one cell; each is the last state of a chain of its own.

    Attributes
    ----------
    footpoint : ndarray, shape (data_sets, footpoints, *point_shape)
    shooting_vector : ndarray, shape (data_sets, footpoints, shooting_vectors, *point_shape)
    plans : dict of Plan, by stage
    accepted : dict of float, by stage
        Share of accepted steps.
    """

    footpoint: np.ndarray
    shooting_vector: np.ndarray
    plans: dict
    accepted: dict

    def arrays(self):
        """What a file keeps of the draws, by name."""
        kept = {"footpoint": self.footpoint, "shooting_vector": self.shooting_vector}
        for stage in STAGES:
            kept[f"{stage}_steps"] = np.array(self.plans[stage].steps)
            kept[f"{stage}_largest_weight"] = np.array(self.plans[stage].largest_weight)
            kept[f"{stage}_accepted"] = np.array(self.accepted[stage])
        return kept


def draw_pairs(rng, mechanism, budgets, footpoints, shooting_vectors, planner):
    """Draw footpoints, then shooting vectors at each (Kulkarni and Soto, section 4).

    Parameters
    ----------
    rng : numpy.random.Generator
    mechanism : AsPublished
    budgets : tuple of float
        For the footpoint and for the shooting vector.
    footpoints, shooting_vectors : int
        Footpoints per data set, and shooting vectors per footpoint.
    planner : callable
        From a generator and a `Target` to a `Plan`.

    Returns
    -------
    Draws
    """
    target = mechanism.footpoint_target(budgets[0])
    first_plan = planner(rng, target)
    first, first_accepted = run(rng, first_plan.sampler, target, footpoints, first_plan.steps)
    target, frame = mechanism.shooting_vector_target(first.position, budgets[1])
    second_plan = planner(rng, target)
    second, second_accepted = run(
        rng, second_plan.sampler, target, shooting_vectors, second_plan.steps
    )
    manifold = mechanism.manifold
    vectors = manifold.vector(np.expand_dims(frame, -manifold.point_ndim - 2), second.position)
    return Draws(
        first.position,
        vectors,
        {"footpoint": first_plan, "shooting_vector": second_plan},
        {
            "footpoint": float(np.mean(first_accepted)),
            "shooting_vector": float(np.mean(second_accepted)),
        },
    )


def trace_chains(
    rng,
    mechanism,
    budgets,
    draws,
    planner: Callable[..., Plan],
    chains,
    states,
    warm_up=0,
):
    """Traces of scalar summaries for the first data set, footpoint and shooting vector apart.

    The shooting vector is traced at the drawn footpoint farthest from the fit, where its
    density is the least like the proposal.

    Returns
    -------
    dict of ndarray, shape (chains, states)
        By name, such as ``"trace_footpoint.log_density"``.
    """
    manifold = mechanism.manifold
    one = mechanism.take(slice(0, 1))
    target = one.footpoint_target(budgets[0])
    sampler = planner(rng, target).sampler
    traces = {"footpoint": trace(rng, sampler, target, chains, states, warm_up)}
    drawn = draws.footpoint[:1]
    away = manifold.dist(np.expand_dims(one.fit.footpoint, 1), drawn)
    farthest = np.argmax(away[0])
    target, _ = one.shooting_vector_target(drawn[:, farthest : farthest + 1], budgets[1])
    sampler = planner(rng, target).sampler
    traces["shooting_vector"] = trace(rng, sampler, target, chains, states, warm_up)
    return {
        f"trace_{stage}.{name}": np.reshape(values, (chains, states))
        for stage, part in traces.items()
        for name, values in part.items()
    }
