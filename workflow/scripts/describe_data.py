"""What the data of a study are, and what was noticed when they were read."""

from reproduction.jobs import job, load_arrays, save_table

with job(snakemake):
    import numpy as np
    import pandas as pd

    from reproduction.inputs import load_manifold

    manifold = load_manifold(snakemake)
    rows = []
    for group, path in zip(snakemake.params.groups, snakemake.input.data, strict=True):
        data = load_arrays(path)
        subjects = data.get("subjects", np.zeros(0))
        low, high = data["covariate_range"]
        common = {
            "study": snakemake.wildcards.study,
            "group": group,
            "manifold": manifold.name,
            "data": str(data["description"]),
            "data_sets": data["covariates"].shape[0],
            "records": data["covariates"].shape[-1],
            "subjects": len(np.unique(subjects)) if subjects.size else "",
            "transformation": snakemake.params.transformation,
            "transformed_covariate_at_0": low,
            "transformed_covariate_at_1": high,
            "seed": snakemake.params.seed,
            "lock": snakemake.params.lock,
        }
        # A row a note, and one row where there is none.
        rows += [{**common, "note": note} for note in data.get("notes", [])] or [
            {**common, "note": ""}
        ]
    save_table(snakemake.output[0], pd.DataFrame(rows))
