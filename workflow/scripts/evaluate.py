"""Tidy tables of a study: errors of every draw's geodesic, and diagnostics of every cell."""

from reproduction.jobs import job, load_arrays, load_json, save_table

with job(snakemake):
    import sys

    import numpy as np
    import pandas as pd
    from scipy.stats import sem

    from geodp.evaluation import (
        LARGEST_FLAGGED_SHARE,
        convergence,
        mean_prediction_distances,
        mean_squared_errors,
    )
    from geodp.mechanisms.draws import STAGES, sampled_by
    from reproduction.inputs import load_manifold

    manifold = load_manifold(snakemake)
    params = snakemake.params
    errors, diagnostics = [], []
    groups = {}
    for name, data, fit, bound in zip(
        params.groups,
        snakemake.input.data,
        snakemake.input.fit,
        snakemake.input.sensitivity,
        strict=True,
    ):
        groups[name] = (load_arrays(data), load_json(fit), load_arrays(bound))
    for entry, path in zip(params.cells, snakemake.input.cells, strict=True):
        data, found, bound = groups[entry["group"]]
        draws = load_arrays(path)
        count = draws["footpoint"].shape[0]
        common = {
            "study": snakemake.wildcards.study,
            "manifold": manifold.name,
            "data": str(data["description"]),
            "group": entry["group"],
            "n": data["covariates"].shape[-1],
            "noise_variance": params.groups[entry["group"]]["noise_variance"],
            "cell": entry["cell"],
            "footpoint_budget": entry["budgets"]["footpoint"],
            "shooting_vector_budget": entry["budgets"]["shooting_vector"],
            "mechanism": params.mechanism,
            "sampler": entry["sampler"],
            "support": str(bound["description"]),
            "seed": params.seed,
            "lock": params.lock,
        }
        passed = True
        for stage in STAGES:
            prefix = f"trace_{stage}."
            traces = {k.removeprefix(prefix): v for k, v in draws.items() if k.startswith(prefix)}
            judged = convergence(traces)
            cut_short = bool(draws[f"{stage}_cut_short"])
            judged["passed"] = judged["passed"] and not cut_short
            passed = passed and judged["passed"]
            chains, states = next(iter(traces.values())).shape
            diagnostics.append(
                {
                    **common,
                    "parameter": stage,
                    "drawn_by": str(draws[f"{stage}_drawn_by"]),
                    "exact_share": float(draws[f"{stage}_exact_share"]),
                    "certificate": str(draws[f"{stage}_certificate"]),
                    "proposals": int(draws[f"{stage}_proposals"]),
                    "steps": int(draws[f"{stage}_steps"]),
                    "cut_short": cut_short,
                    "accepted": float(draws[f"{stage}_accepted"]),
                    "largest_weight": float(draws[f"{stage}_largest_weight"]),
                    "estimated_total_variation": float(draws[f"{stage}_total_variation"]),
                    "trace_chains": chains,
                    "trace_states": states,
                    "trace_thin": int(draws[f"{stage}_thin"]),
                    **judged,
                }
            )
        squared = mean_squared_errors(
            manifold,
            draws["footpoint"],
            draws["shooting_vector"],
            data["covariates"][:count],
            data["points"][:count],
        )
        away = manifold.dist(np.expand_dims(found["footpoint"][:count], 1), draws["footpoint"])
        apart = mean_prediction_distances(
            manifold,
            draws["footpoint"],
            draws["shooting_vector"],
            found["footpoint"][:count],
            found["shooting_vector"][:count],
            data["covariates"][:count],
        )
        for index in range(count):
            by_footpoint = np.mean(squared[index], axis=-1)
            # Draws at one footpoint are alike, so footpoints are the independent units.
            relative = (
                sem(by_footpoint) / np.mean(by_footpoint) if len(by_footpoint) > 1 else np.nan
            )
            errors.append(
                {
                    **common,
                    "data_set": index,
                    **sampled_by(draws),
                    "draws": squared[index].size,
                    "footpoints": len(by_footpoint),
                    "mean_squared_error": np.mean(squared[index]),
                    "log_error_standard_error": relative,
                    "non_private_mean_squared_error": 2.0 * found["energy"][index],
                    "median_squared_error": np.median(squared[index]),
                    "mean_footpoint_distance": np.mean(away[index]),
                    "mean_prediction_distance": np.mean(apart[index]),
                    "tau": bound["tau"][index],
                    "flagged": not passed,
                }
            )
    save_table(snakemake.output.errors, pd.DataFrame(errors))
    judged = pd.DataFrame(diagnostics)
    save_table(snakemake.output.diagnostics, judged)
    by_cell = judged[judged["sampler"] == "default"].groupby(["group", "cell"])["passed"].all()
    message = f"{(~by_cell).sum()} of {len(by_cell)} cells are flagged"
    if np.mean(~by_cell) > LARGEST_FLAGGED_SHARE:
        message += f", more than the {LARGEST_FLAGGED_SHARE:.0%} that this project accepts"
    print(f"{snakemake.wildcards.study}: {message}", file=sys.stderr)
