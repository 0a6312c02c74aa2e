"""Tidy tables of a study: its data, errors of drawn parameters, and diagnostics of every cell."""

from decimal import Decimal

import numpy as np
import pandas as pd

from geodp.evaluation import (
    mean_prediction_distances,
    mean_shooting_vector_distances,
    mean_squared_errors,
)
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.mechanisms.mechanism import sampled_by
from geodp.models.blocks import ALL, FOOTPOINT
from reproduction.diagnostics import JUDGED
from reproduction.jobs import load_arrays, load_cells
from reproduction.models import load_fit, study_manifold, study_model


def describe(job):
    """A row for each note on a group's data, and one for a group without notes."""
    params = job.params
    manifold = study_manifold(params.manifold)
    rows = []
    for group, path in zip(params.groups, job.input.data, strict=True):
        data = load_arrays(path)
        subjects = data.get("subjects", np.zeros(0))
        low, high = data["covariate_range"].T.tolist()
        common = {
            **{"study": job.wildcards.study, "group": group, "manifold": manifold.name},
            **{"data": str(data["description"]), "data_sets": data["covariates"].shape[0]},
            "records": data["points"].shape[1],
            "subjects": len(np.unique(subjects)) if subjects.size else "",
            "transformation": params.transformation,
            **{"transformed_covariate_at_0": low, "transformed_covariate_at_1": high},
            **{"seed": params.seed, "lock": params.lock},
        }
        rows += [{**common, "note": note} for note in list(data.get("notes", [])) or [""]]
    return pd.DataFrame(rows)


def evaluate(job):
    """Tables of errors, a row a data set and cell, and diagnostics, a row a cell's parameter."""
    params, files = job.params, job.input
    model = study_model(params)
    groups = {
        name: (load_arrays(data), load_fit(fit, model))
        for name, data, fit in zip(params.groups, files.data, files.fit, strict=True)
    }
    errors, diagnostics = [], []
    cells = (
        (*block, cell, budgets, path)
        for (block, cells), path in zip(params.blocks, files.blocks, strict=True)
        for cell, budgets in cells.items()
    )
    for group, sampler, _, cell, budgets, path in cells:
        data, found = groups[group]
        draws = load_cells(path)[cell]
        common = {
            **{"study": job.wildcards.study, "manifold": model.manifold.name},
            **{"data": str(data["description"]), "group": group, "n": data["points"].shape[1]},
            **{"noise_variance": params.groups[group]["noise_variance"], "cell": cell},
            **budget_columns(budgets),
            **stated(draws, "mechanism", "guarantee"),
            **{"sampler": sampler, **stated(draws, "support")},
            **{"seed": params.seed, "lock": params.lock},
        }
        judged = [_diagnose(draws, name) for name in budgets]
        diagnostics += [common | row for row in judged]
        flagged = not all(row["passed"] for row in judged)
        errors += [
            common | row | {"flagged": flagged, "refused": is_refused(draws)}
            for row in _errors(model, draws, data, found, budgets)
        ]
    return pd.DataFrame(errors), pd.DataFrame(diagnostics)


def stated(draws, *names):
    """Columns of what a file of draws says of its mechanism."""
    return {name: str(draws[name]) for name in names}


def is_refused(draws):
    """Whether `geodp plan` would refuse a release with the budget of a cell as noise."""
    return bool(draws.get("refused", False))


def flagged_cells(diagnostics, accepted=0.05):
    """Text on how many cells of the default sampler their diagnostics doubt, and if too many."""
    default = diagnostics[diagnostics["sampler"] == "default"]
    passed = default.groupby(["group", "cell"])["passed"].all()
    message = f"diagnostics doubt the draws of {(~passed).sum()} of {len(passed)} cells"
    if np.mean(~passed) > accepted:
        message += f", more than the {accepted:.0%} that this project accepts"
    return message


def budget_columns(budgets):
    """Columns of a cell's budgets, texts by name: ``budget``, the total, and of each block."""
    columns = {f"budget_{name}": text for name, text in budgets.items() if name != ALL}
    return {"budget": str(sum(map(Decimal, budgets.values()))), **columns}


def _diagnose(draws, name):
    """Row of diagnostics of one budget: how its draws were made, and convergence of chains."""
    # Of a `SamplingReport`.
    reported = ("drawn_by", "exact_share", "certificate", "proposals", "steps", "cut_short")
    reported += ("accepted", "largest_weight")
    told = {key: draws[f"{name}_{key}"].item() for key in (*reported, *JUDGED)}
    return {
        "parameter": name,
        **told,
        "estimated_total_variation": float(draws[f"{name}_total_variation"]),
        "passed": told["passed"] and not told["cut_short"],
    }


def _errors(model, draws, data, found, names):
    """Rows of errors of a cell, one for each data set."""
    manifold = model.manifold
    parameters = {block: draws[block] for block in model.blocks}
    count = len(parameters[FOOTPOINT])
    covariates, points = data["covariates"][:count], data["points"][:count]
    squared = mean_squared_errors(model, parameters, covariates, points)
    away = manifold.dist(np.expand_dims(found.footpoint[:count], 1), parameters[FOOTPOINT])
    fitted = found.take(slice(0, count))
    least = np.mean(model.residual_distances(fitted.parameters, covariates, points) ** 2, axis=-1)
    apart = mean_prediction_distances(model, parameters, fitted.parameters, covariates)
    vectors_apart, *curvatures = np.full((3, count), np.nan)
    without_data = draws.get("error_without_data", np.full(count, np.nan))
    if model.number_of_covariates == 1:
        vectors_apart = mean_shooting_vector_distances(model, parameters, fitted.parameters)
        if isinstance(manifold, SymmetricSpace):
            curvatures = manifold.sectional_curvatures(fitted.footpoint, fitted.shooting_vector)
    for index in range(count):
        # Draws at one footpoint are dependent, so footpoints are the independent units.
        by_footpoint = np.mean(squared[index].reshape((len(squared[index]), -1)), axis=-1)
        relative = np.nan
        if (footpoints := len(by_footpoint)) > 1:
            error = np.std(by_footpoint, ddof=1) / np.sqrt(footpoints)
            relative = error / np.mean(by_footpoint)
        yield {
            "data_set": index,
            **sampled_by(draws, names),
            "draws": squared[index].size,
            "footpoints": footpoints,
            "mean_squared_error": np.mean(squared[index]),
            "log_error_standard_error": relative,
            "non_private_mean_squared_error": least[index],
            # Of a release that the public centre takes the place of.
            "squared_error_without_data": without_data[index],
            "low_squared_error": np.quantile(squared[index], 0.1),
            "median_squared_error": np.median(squared[index]),
            "high_squared_error": np.quantile(squared[index], 0.9),
            "mean_footpoint_distance": np.mean(away[index]),
            "mean_shooting_vector_distance": vectors_apart[index],
            "mean_prediction_distance": np.mean(apart[index]),
            "tau": found.largest_residual[index],
            # Of planes that hold the fitted shooting vector.
            "least_curvature": curvatures[0][index],
            "greatest_curvature": curvatures[1][index],
        }
