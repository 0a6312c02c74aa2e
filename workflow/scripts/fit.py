"""Fit of every data set of a group, without privacy."""

from reproduction.jobs import job, load_arrays, made_by, save_json

with job() as snakemake:
    import numpy as np

    from geodp.errors import DataError
    from geodp.models.fitting import CutLocusError, FitError
    from reproduction.fits import fit_values
    from reproduction.models import study_model

    data = load_arrays(snakemake.input.data)
    try:
        found = study_model(snakemake.params).fit(data["covariates"], data["points"])
    except CutLocusError as problem:
        if "rows" not in data:
            raise
        place = f"{data['table']}, {data['row_word']} {data['rows'][problem.record]}"
        raise DataError(f"{place}: {problem.reason}") from problem
    if not np.all(found.converged):
        worst = int(np.argmax(found.gradient_norm))
        raise FitError(
            f"{snakemake.input.data}: the fit of data set {worst + 1} stopped at a relative "
            f"gradient norm of {found.gradient_norm[worst]:.2g} after {found.iterations} "
            "iterations: look for outlying records, or lower the noise"
        )
    save_json(
        snakemake.output[0],
        made_by(snakemake, study=snakemake.wildcards.study, group=snakemake.wildcards.group),
        **fit_values(found),
    )
