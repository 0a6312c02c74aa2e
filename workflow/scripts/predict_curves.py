"""Observed points, the fitted geodesic and one released geodesic for each budget of a grid."""

from reproduction.jobs import job, load_arrays, load_json, save_table

with job(snakemake):
    import numpy as np
    import pandas as pd

    from geodp.mechanisms.draws import sampled_by
    from geodp.models.regression import predict
    from reproduction.inputs import load_manifold

    manifold = load_manifold(snakemake)
    x = np.linspace(0.0, 1.0, 61)
    rows = []

    def add(kind, group, budgets, covariates, points, **drawn_by):
        flat = points.reshape(len(covariates), -1)
        rows.append(
            pd.DataFrame(
                {
                    "kind": kind,
                    "manifold": manifold.name,
                    "data": str(data["description"]),
                    "group": group["group"],
                    "noise_variance": group["noise_variance"],
                    "n": number,
                    "seed": snakemake.params.seed,
                    "lock": snakemake.params.lock,
                    "footpoint_budget": budgets.get("footpoint", ""),
                    "shooting_vector_budget": budgets.get("shooting_vector", ""),
                    **drawn_by,
                    "covariate": covariates,
                    **{f"coordinate_{k + 1}": flat[:, k] for k in range(flat.shape[1])},
                }
            )
        )

    cells = iter(snakemake.input.cells)
    for group, data_path, fit_path in zip(
        snakemake.params.groups, snakemake.input.data, snakemake.input.fit, strict=True
    ):
        data, found = load_arrays(data_path), load_json(fit_path)
        number = data["covariates"].shape[-1]
        add("observed", group, {}, data["covariates"][0], data["points"][0])
        curve = predict(manifold, found["footpoint"][0], found["shooting_vector"][0], x)
        add("without privacy", group, {}, x, curve)
        for budgets in group["cells"].values():
            draws = load_arrays(next(cells))
            curve = predict(
                manifold, draws["footpoint"][0, 0], draws["shooting_vector"][0, 0, 0], x
            )
            add("as published", group, budgets, x, curve, **sampled_by(draws))
    save_table(snakemake.output[0], pd.concat(rows))
