"""Tidy tables of a study: errors of every draw's geodesic, and diagnostics of every cell."""

import numpy as np
import pandas as pd
from scipy.stats import sem

from geodp.evaluation import mean_prediction_distances, mean_squared_errors
from geodp.mechanisms.draws import STAGES, sampled_by
from reproduction.diagnostics import LARGEST_FLAGGED_SHARE, convergence
from reproduction.jobs import load_arrays, load_json
from reproduction.manifolds import study_manifold


def evaluate(job):
    """Both tables of a study.

    Returns
    -------
    errors : DataFrame
        A row for each data set of each cell.
    diagnostics : DataFrame
        A row for each parameter of each cell.
    """
    params, files = job.params, job.input
    manifold = study_manifold(params.manifold)
    groups = {
        name: (load_arrays(data), load_json(fit), load_arrays(bound))
        for name, data, fit, bound in zip(
            params.groups, files.data, files.fit, files.sensitivity, strict=True
        )
    }
    errors, diagnostics = [], []
    for entry, path in zip(params.cells, files.cells, strict=True):
        data, found, bound = groups[entry["group"]]
        draws = load_arrays(path)
        common = {
            "study": job.wildcards.study,
            "manifold": manifold.name,
            "data": str(data["description"]),
            "group": entry["group"],
            "n": data["covariates"].shape[-1],
            "noise_variance": params.groups[entry["group"]]["noise_variance"],
            "cell": entry["cell"],
            "footpoint_budget": entry["budgets"][0],
            "shooting_vector_budget": entry["budgets"][1],
            "mechanism": params.mechanism,
            "sampler": entry["sampler"],
            "support": str(bound["description"]),
            "seed": params.seed,
            "lock": params.lock,
        }
        judged = [_diagnose(draws, stage) for stage in STAGES]
        diagnostics += [common | row for row in judged]
        flagged = not all(row["passed"] for row in judged)
        errors += [
            common | row | {"flagged": flagged}
            for row in _errors(manifold, draws, data, found, bound)
        ]
    return pd.DataFrame(errors), pd.DataFrame(diagnostics)


def flagged_cells(diagnostics):
    """A clause on how many cells of the default sampler did not pass."""
    default = diagnostics[diagnostics["sampler"] == "default"]
    passed = default.groupby(["group", "cell"])["passed"].all()
    message = f"{(~passed).sum()} of {len(passed)} cells are flagged"
    if np.mean(~passed) > LARGEST_FLAGGED_SHARE:
        message += f", more than the {LARGEST_FLAGGED_SHARE:.0%} that this project accepts"
    return message


def _diagnose(draws, stage):
    """How one parameter of a cell was drawn, and whether its chains can be believed."""
    prefix = f"trace_{stage}."
    traces = {
        name.removeprefix(prefix): values
        for name, values in draws.items()
        if name.startswith(prefix)
    }
    chains, states = next(iter(traces.values())).shape
    cut_short = bool(draws[f"{stage}_cut_short"])
    judged = convergence(traces)
    judged["passed"] = judged["passed"] and not cut_short
    return {
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


def _errors(manifold, draws, data, found, bound):
    """A row for each data set that the draws of a cell are of."""
    count = draws["footpoint"].shape[0]
    covariates = data["covariates"][:count]
    squared = mean_squared_errors(
        manifold, draws["footpoint"], draws["shooting_vector"], covariates, data["points"][:count]
    )
    away = manifold.dist(np.expand_dims(found["footpoint"][:count], 1), draws["footpoint"])
    apart = mean_prediction_distances(
        manifold,
        draws["footpoint"],
        draws["shooting_vector"],
        found["footpoint"][:count],
        found["shooting_vector"][:count],
        covariates,
    )
    for index in range(count):
        by_footpoint = np.mean(squared[index], axis=-1)
        # Draws at one footpoint are alike, so footpoints are the independent units.
        relative = sem(by_footpoint) / np.mean(by_footpoint) if len(by_footpoint) > 1 else np.nan
        yield {
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
        }
