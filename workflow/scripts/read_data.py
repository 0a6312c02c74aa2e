"""Read the records of an observed study from its table."""

from jobs import job, made_by, save_arrays

with job(snakemake):
    import numpy as np
    from inputs import load_manifold

    from geodp.errors import DataError
    from geodp.records import landmark_columns, read_records

    settings, path = snakemake.params.settings, snakemake.input.table
    manifold = load_manifold(snakemake)
    columns = settings["columns"]
    if columns is None:
        if snakemake.params.manifold["name"] != "kendall":
            raise DataError(
                f"configuration key studies.{snakemake.wildcards.study}.data.columns is missing: "
                f"name the columns of a point of {manifold.name}"
            )
        columns = landmark_columns(manifold.landmarks)
    with open(path, newline="", encoding="utf-8-sig") as text:
        records = read_records(
            text,
            path,
            manifold,
            settings["covariate"],
            columns,
            settings["transformation"],
            settings["subject"],
        )
    save_arrays(
        snakemake.output[0],
        made_by(snakemake, study=snakemake.wildcards.study, group="observed"),
        covariates=records.covariates[None],
        points=records.points[None],
        covariate_range=np.array(records.covariate_range),
        subjects=np.array(records.subjects, dtype=str),
        table=np.array(path),
        rows=np.array(records.rows),
    )
