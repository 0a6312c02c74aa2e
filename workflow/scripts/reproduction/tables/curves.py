"""Observed points, the fitted geodesic and one private geodesic for each budget of a grid."""

import numpy as np
import pandas as pd

from geodp.mechanisms.mechanism import sampled_by
from reproduction.jobs import load_arrays, load_cells
from reproduction.models import load_fit, study_model
from reproduction.tables.evaluation import budget_columns, is_refused, stated


def tabulate(job):
    """Points along every curve, a row each."""
    params, files = job.params, job.input
    model = study_model(params)
    x = np.linspace(0.0, 1.0, 61)
    tables = []

    def add(kind, group, data, covariates, points, **drawn_by):
        flat = points.reshape(len(covariates), -1)
        columns = {
            **{"kind": kind, "manifold": model.manifold.name, "data": str(data["description"])},
            **{"group": group["group"], "noise_variance": group["noise_variance"]},
            **{"n": data["points"].shape[1], "seed": params.seed, "lock": params.lock},
            **drawn_by,
            "covariate": covariates,
            **{f"coordinate_{k + 1}": flat[:, k] for k in range(flat.shape[1])},
        }
        tables.append(pd.DataFrame(columns))

    cells = iter(files.cells)
    for group, data, fit in zip(params.groups, files.data, files.fit, strict=True):
        data, found = load_arrays(data), load_fit(fit, model).take(0)
        of_group = (group, data)
        add("observed", *of_group, data["covariates"][0, :, 0], data["points"][0])
        add("without privacy", *of_group, x, model.predict(found.parameters, x))
        for cell, budgets in group["cells"].items():
            draws = load_cells(next(cells))[cell]
            footpoint, vector = (draws[block][0, 0] for block in model.blocks)
            drawn = model.predict(model.parameters(footpoint, vector[0]), x)
            add(
                *("private", *of_group, x, drawn),
                **budget_columns(budgets),
                **sampled_by(draws, budgets),
                refused=is_refused(draws),
                **stated(draws, "mechanism", "guarantee"),
            )
    return pd.concat(tables)
