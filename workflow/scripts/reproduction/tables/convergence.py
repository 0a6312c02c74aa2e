"""Distances of footpoints from the estimate: along random walks, and of independent draws."""

from reproduction.tables import Needs

# Number of steps of a walk that are recorded.
CHECKPOINTS = 60


def needs(study, figure, studies):
    """See `Needs`: the group of the figure, and the first one of the study with reduced shapes."""
    chosen, group = study.settings["figures"][figure], study.shown_group(figure)
    reduced = studies[chosen["reduced"]] if chosen.get("reduced") else None
    walk = study.settings["random_walk"]
    return Needs(
        groups=((study.name, group), *([(reduced.name, reduced.first_group)] if reduced else [])),
        files=("data.npz", "fit.json"),
        modules=(study.mechanism_module,),
        params={
            "studies": [
                each.mechanism_settings | {"study": each.name} for each in (study, reduced) if each
            ],
            "cell_budgets": study.cells[group][chosen["cell"]],
            "sampler": study.sampler_settings("default"),
            "steps_of_draws": walk["steps"],
            "step_scale": walk["step_scale"],
        },
    )


def tabulate(job):
    """Distances of random walks at some steps, and of independent draws, a row each."""
    from dataclasses import replace
    from types import SimpleNamespace

    import numpy as np
    import pandas as pd
    from scipy.stats import ks_2samp

    from geodp.randomness import random_stream
    from geodp.samplers.base import SamplerPlan, run
    from geodp.samplers.choice import plan
    from geodp.samplers.random_walk import RandomWalk
    from reproduction.jobs import load_arrays
    from reproduction.mechanism import load_mechanism
    from reproduction.models import study_model

    params = job.params
    settings = params.figure
    budget = float(params.cell_budgets["footpoint"])
    steps, chains, draws = (settings[key] for key in ("steps", "chains", "draws"))
    # Among them the number after which the study's own random walks end.
    checkpoints = {*np.geomspace(1, steps, CHECKPOINTS).astype(int), params.steps_of_draws}
    rows = []

    def add(name, kind, mechanism, data, planned, **places):
        rows.append(
            {
                "distribution": name,
                "kind": kind,
                "manifold": mechanism.manifold.name,
                "data": str(data["description"]),
                "n": data["points"].shape[1],
                "mechanism": mechanism.name,
                "guarantee": mechanism.guarantee.line,
                "support": mechanism.support_description,
                "footpoint_radius": mechanism.support.footpoint_radius[0],
                "budget_footpoint": budget,
                "cell": settings["cell"],
                "root_mean_squared_residual": np.sqrt(2.0 * mechanism.fit.energy[0]),
                "seed": params.seed,
                "lock": params.lock,
                "drawn_by": planned.drawn_by,
                "proposals": planned.proposals,
                "certificate": planned.certificate,
                "largest_weight": planned.largest_weight,
                "estimated_total_variation": planned.total_variation,
                **places,
            }
        )

    def described(mechanism, state, drawn):
        """Distances of states from the estimate; how their distribution differs from that drawn."""
        away = mechanism.manifold.dist(mechanism.fit.footpoint[:, None], state.position)[0]
        low, middle, high = np.quantile(away, [0.1, 0.5, 0.9])
        # Its p-value is not used, so that the quickest one does.
        test = None if drawn is None else ks_2samp(away, drawn, method="asymp")
        return away, {
            "states": len(away),
            "distance_low": low,
            "distance_median": middle,
            "distance_high": high,
            "greatest_distance": np.max(away),
            "difference": np.nan if test is None else test.statistic,
        }

    def walk(name, mechanism, data, drawn):
        """Distances along random walks that start at the estimate."""
        target = mechanism.footpoint_target(budget)
        rng = random_stream(params.seed, params.study, name, "walks")
        kernel = RandomWalk(params.step_scale)
        state = kernel.init(rng, target, chains)
        walked = kernel.walk(rng, target, state, steps, 1)
        for step, (reached, _) in enumerate(walked, start=1):
            if step in checkpoints:
                _, places = described(mechanism, reached, drawn)
                planned = SamplerPlan(kernel, step, proposals=step)
                add(name, "random_walk", mechanism, data, planned, step=step, **places)

    def compare(name, mechanism, data):
        """Distances of independent draws of the default sampler, and those of walks."""
        target = mechanism.footpoint_target(budget)
        rng = random_stream(params.seed, params.study, name, "draws")
        planned = plan(rng, target, draws, **params.sampler["plan"])
        state, _ = run(rng, planned.sampler, target, draws, planned.steps)
        drawn, places = described(mechanism, state, None)
        add(name, "default", mechanism, data, planned, step=planned.steps, **places)
        walk(name, mechanism, data, drawn)

    names = ["as configured", "reduced"]
    for name, chosen, data, fit in zip(
        names, params.studies, job.input.data, job.input.fit, strict=False
    ):
        origin = load_arrays(data)
        chosen = SimpleNamespace(**chosen)
        mechanism = load_mechanism(study_model(chosen), chosen, chosen.study, data, fit)
        mechanism = mechanism.take(slice(0, 1))
        compare(name, mechanism, origin)
        radius = settings.get("footpoint_radius")
        if radius is not None and name == "as configured":
            wide = replace(
                mechanism.support,
                footpoint_centre=mechanism.fit.footpoint,
                footpoint_radius=np.array([radius]),
            )
            compare("wider", replace(mechanism, support=wide), origin)
    return pd.DataFrame(rows)
