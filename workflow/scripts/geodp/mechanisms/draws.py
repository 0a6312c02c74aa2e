"""Draw the pairs (footpoint, shooting vector) of a budget cell, and traces to judge the chains."""

from dataclasses import dataclass

import numpy as np

from geodp.samplers.base import run, trace

STAGES = ("footpoint", "shooting_vector")

# What a table says of how each stage of a cell was drawn.
SAMPLED_BY = ("drawn_by", "proposals", "certificate")

# What is kept of a plan.
PLANNED = (
    "drawn_by",
    "steps",
    "largest_weight",
    "total_variation",
    "cut_short",
    "proposals",
    "exact_share",
    "certificate",
)


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
            for name in PLANNED:
                kept[f"{stage}_{name}"] = np.array(getattr(self.plans[stage], name))
            kept[f"{stage}_accepted"] = np.array(self.accepted[stage])
        return kept


def sampled_by(arrays):
    """By which sampler a file's draws are, from how many proposals at most, and with what proof.

    Parameters
    ----------
    arrays : dict of ndarray
        As `Draws.arrays` gives them.

    Returns
    -------
    dict of str
        Columns of a table, such as ``"footpoint_drawn_by"``.
    """
    return {
        f"{stage}_{name}": str(arrays[f"{stage}_{name}"]) for stage in STAGES for name in SAMPLED_BY
    }


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
        From a generator, a `Target` and the number of draws of each member to a `Plan`.

    Returns
    -------
    Draws
    """
    target = mechanism.footpoint_target(budgets[0])
    first_plan = planner(rng, target, footpoints)
    first, first_accepted = run(rng, first_plan.sampler, target, footpoints, first_plan.steps)
    target, frame = mechanism.shooting_vector_target(first.position, budgets[1])
    second_plan = planner(rng, target, shooting_vectors)
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


def trace_chains(rng, mechanism, budgets, draws, planner, chains, states, warm_up=0, thin=None):
    """Traces of scalar summaries for the first data set, footpoint and shooting vector apart.

    The kernels are those that drew; exact draws are planned anew for their number.  The shooting
    vector is traced at the drawn footpoint farthest from the fit, where its density is the least
    like the proposal.

    Parameters
    ----------
    rng : numpy.random.Generator
    mechanism : AsPublished
    budgets : tuple of float
    draws : Draws
    planner : callable
        As in `draw_pairs`.
    chains, states : int
    warm_up : int
        Steps before the first traced state.
    thin : int, optional
        Steps from one traced state to the next; as many as a draw takes if not given, so that
        traced states are independent only if a draw's chain has forgotten its start.

    Returns
    -------
    dict of ndarray
        By name, such as ``"trace_footpoint.log_density"``, each of shape (chains, states); and
        ``"footpoint_thin"``, ``"shooting_vector_thin"``.
    """
    manifold = mechanism.manifold
    one = mechanism.take(slice(0, 1))
    drawn = draws.footpoint[:1]
    away = manifold.dist(np.expand_dims(one.fit.footpoint, 1), drawn)
    farthest = int(np.argmax(away[0]))
    place = slice(farthest, farthest + 1)
    targets = {
        "footpoint": (one.footpoint_target(budgets[0]), (slice(0, 1),)),
        "shooting_vector": (
            one.shooting_vector_target(drawn[:, place], budgets[1])[0],
            (slice(0, 1), place),
        ),
    }
    traces = {}
    for stage, (target, member) in targets.items():
        drew = draws.plans[stage]
        # An exact draw is a step by itself.
        gap = thin or max(1, drew.steps)
        kernel = drew.sampler.member(member)
        if kernel.name == "exact":
            kernel = planner(rng, target, chains * states).sampler
        found = trace(rng, kernel, target, chains, states, gap, warm_up)
        for name, values in found.items():
            traces[f"trace_{stage}.{name}"] = np.reshape(values, (chains, states))
        traces[f"{stage}_thin"] = np.array(gap)
    return traces
