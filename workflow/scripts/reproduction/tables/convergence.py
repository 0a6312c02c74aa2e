"""Distances of footpoints from the estimate: along random walks, and of independent draws."""

from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
from scipy.stats import ks_2samp

from geodp.randomness import random_stream
from geodp.samplers.choice import plan
from geodp.samplers.kernel import SamplerPlan, run
from geodp.samplers.random_walk import RandomWalk
from reproduction.jobs import load_arrays
from reproduction.models import load_mechanism, study_model


def tabulate(job):
    """Distances of random walks at some steps, and of independent draws, a row each."""
    params, radius, rows = job.params, job.params.settings.get("footpoint_radius"), []
    for name, chosen, data, fit in zip(
        ("as configured", "reduced"), params.studies, job.input.data, job.input.fit, strict=False
    ):
        chosen, origin = SimpleNamespace(**chosen), load_arrays(data)
        mechanism = load_mechanism(study_model(chosen), chosen, chosen.study, data, fit)
        mechanism = mechanism.take(slice(0, 1))
        rows += _compared(params, name, mechanism, origin)
        if radius is not None and name == "as configured":
            wide = replace(
                mechanism.support,
                footpoint_centre=mechanism.fit.footpoint,
                footpoint_radius=np.array([radius]),
            )
            rows += _compared(params, "wider", replace(mechanism, support=wide), origin)
    return pd.DataFrame(rows)


def _compared(params, name, mechanism, data, checkpoints=60):
    """Rows of independent draws of the default sampler, then of walks that start at the estimate.

    Of walks, at so many steps, also how the distribution of their distances differs from that of
    the draws.
    """
    settings, budget = params.settings, float(params.cell_budgets["footpoint"])
    steps, chains, draws = (settings[key] for key in ("steps", "chains", "draws"))
    target = mechanism.footpoint_target(budget)
    common = {
        **{"manifold": mechanism.manifold.name, "data": str(data["description"])},
        **{"n": data["points"].shape[1], "mechanism": mechanism.name},
        **{"guarantee": mechanism.guarantee.line, "support": mechanism.support_description},
        "footpoint_radius": mechanism.support.footpoint_radius[0],
        **{"budget_footpoint": budget, "cell": settings["cell"]},
        "root_mean_squared_residual": np.sqrt(2.0 * mechanism.fit.energy[0]),
        **{"seed": params.seed, "lock": params.lock},
    }

    def row(kind, planned, step, state, drawn=None):
        """Distances of states from the estimate, and these in a row."""
        away = mechanism.manifold.dist(mechanism.fit.footpoint[:, None], state.position)[0]
        low, middle, high = np.quantile(away, [0.1, 0.5, 0.9])
        # The p-value is not used, so that the quickest one does.
        test = None if drawn is None else ks_2samp(away, drawn, method="asymp")
        return away, {
            **{"distribution": name, "kind": kind},
            **common,
            **{"drawn_by": planned.drawn_by, "proposals": planned.proposals},
            **{"certificate": planned.certificate, "largest_weight": planned.largest_weight},
            "estimated_total_variation": planned.total_variation,
            **{"step": step, "states": len(away)},
            **{"distance_low": low, "distance_median": middle, "distance_high": high},
            "greatest_distance": np.max(away),
            "difference": np.nan if test is None else test.statistic,
        }

    rng = random_stream(params.seed, params.study, name, "draws")
    planned = plan(rng, target, draws, **params.sampler["plan"])
    state, _ = run(rng, planned.sampler, target, draws, planned.steps)
    drawn, first = row("default", planned, planned.steps, state)
    yield first
    # Among them the number after which the study's own random walks end.
    recorded = {*np.geomspace(1, steps, checkpoints).astype(int), params.steps_of_draws}
    rng = random_stream(params.seed, params.study, name, "walks")
    kernel = RandomWalk(params.step_scale)
    walked = kernel.walk(rng, target, kernel.init(rng, target, chains), steps, 1)
    for step, (reached, _) in enumerate(walked, start=1):
        if step in recorded:
            planned = SamplerPlan(kernel, step, proposals=step)
            yield row("random_walk", planned, step, reached, drawn)[1]
