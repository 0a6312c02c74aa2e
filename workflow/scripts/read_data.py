"""Read the records of an observed study from its file."""

from reproduction.jobs import job, made_by, save_arrays

with job(snakemake):
    import sys
    from pathlib import Path

    import numpy as np

    from geodp.data.matlab import read_mat_records
    from geodp.data.tables import landmark_columns, read_records
    from geodp.errors import DataError
    from reproduction.inputs import load_manifold

    settings, path = snakemake.params.settings, snakemake.input.table
    study = snakemake.wildcards.study
    manifold = load_manifold(snakemake)
    choices = {
        key: settings[key]
        for key in ("transformation", "subject", "keep", "covariate_range", "outline")
    }
    try:
        if Path(path).suffix.lower() == ".mat":
            with open(path, "rb") as file:
                records = read_mat_records(
                    file, path, manifold, settings["covariate"], settings["landmarks"], **choices
                )
        else:
            columns = settings["columns"]
            if columns is None and not settings["outline"]:
                if snakemake.params.manifold["name"] != "kendall":
                    raise DataError(
                        "the columns of a point are not given: name those of a point of "
                        f"{manifold.name}",
                        argument="columns",
                    )
                columns = landmark_columns(manifold.landmarks)
            with open(path, newline="", encoding="utf-8-sig") as text:
                records = read_records(
                    text, path, manifold, settings["covariate"], columns, **choices
                )
    except DataError as problem:
        if problem.argument is None:
            raise
        # The reader's arguments are called as the keys they come from.
        key = f"studies.{study}.data.{problem.argument}"
        raise DataError(f"{problem} (configuration key {key})") from problem
    for note in records.notes:
        print(f"{study}: {note}", file=sys.stderr)
    save_arrays(
        snakemake.output[0],
        made_by(snakemake, study=study, group=snakemake.wildcards.group),
        covariates=records.covariates[None],
        points=records.points[None],
        covariate_range=np.array(records.covariate_range),
        # Which records share a subject, without saying who that is.
        subjects=np.unique(records.subjects, return_inverse=True)[1],
        table=np.array(path),
        rows=np.array(records.rows),
        row_word=np.array(records.row_word),
        notes=np.array(records.notes, dtype=str),
        description=np.array(f"observed, {Path(path).name}"),
    )
