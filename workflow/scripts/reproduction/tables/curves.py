"""Observed points, the fitted geodesic and one released geodesic for each budget of a grid."""

from geodp.mechanisms.budgets import cell_name
from reproduction.tables import Needs


def needs(study, figure, studies):
    """Groups of the figure, and the cells of its grids."""
    groups = study.curve_groups(figure)
    return Needs(
        groups=tuple((study.name, group["group"]) for group in groups),
        files=("data.npz", "fit.json"),
        cells=tuple(
            (group["group"], cell_name(*pair), "default")
            for group in groups
            for pair in group["budgets"]
        ),
        params={"groups": groups},
    )


def tabulate(job):
    """Points along every curve, a row each."""
    import numpy as np
    import pandas as pd

    from geodp.mechanisms.draws import sampled_by
    from geodp.models.regression import predict
    from reproduction.jobs import load_arrays, load_json
    from reproduction.manifolds import study_manifold

    params = job.params
    manifold = study_manifold(params.manifold)
    x = np.linspace(0.0, 1.0, 61)
    tables = []

    def add(kind, group, data, budgets, covariates, points, **drawn_by):
        flat = points.reshape(len(covariates), -1)
        columns = {
            "kind": kind,
            "manifold": manifold.name,
            "data": str(data["description"]),
            "group": group["group"],
            "noise_variance": group["noise_variance"],
            "n": data["covariates"].shape[-1],
            "seed": params.seed,
            "lock": params.lock,
            "footpoint_budget": budgets[0],
            "shooting_vector_budget": budgets[1],
            **drawn_by,
            "covariate": covariates,
            **{f"coordinate_{k + 1}": flat[:, k] for k in range(flat.shape[1])},
        }
        tables.append(pd.DataFrame(columns))

    cells = iter(job.input.cells)
    for group, data_path, fit_path in zip(
        params.groups, job.input.data, job.input.fit, strict=True
    ):
        data, found = load_arrays(data_path), load_json(fit_path)
        add("observed", group, data, ("", ""), data["covariates"][0], data["points"][0])
        curve = predict(manifold, found["footpoint"][0], found["shooting_vector"][0], x)
        add("without privacy", group, data, ("", ""), x, curve)
        for budgets in group["budgets"]:
            draws = load_arrays(next(cells))
            curve = predict(
                manifold, draws["footpoint"][0, 0], draws["shooting_vector"][0, 0, 0], x
            )
            add("as published", group, data, budgets, x, curve, **sampled_by(draws))
    return pd.concat(tables)
