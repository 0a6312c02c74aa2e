"""Data sets of a group, their fit without privacy, and sensitivities of the group's mechanism."""

from reproduction.jobs import job, load_arrays, made_by, save_arrays, save_json

with job() as snakemake:
    from importlib import import_module

    import numpy as np

    from geodp.errors import DataError
    from geodp.models.fitting import CutLocusError, FitError
    from reproduction.models import fit_values, load_mechanism, study_model

    study, group = snakemake.wildcards.study, snakemake.wildcards.group
    params, output = snakemake.params, snakemake.output
    origin = made_by(snakemake, study=study, group=group)
    source = import_module(f"reproduction.data.{params.source}")
    save_arrays(output.data, origin, **source.make(snakemake))
    data, model = load_arrays(output.data), study_model(params)
    try:
        found = model.fit(data["covariates"], data["points"])
    except CutLocusError as problem:
        if "rows" not in data:
            raise
        place = f"{data['table']}, {data['row_word']} {data['rows'][problem.record]}"
        raise DataError(f"{place}: {problem.reason}") from problem
    if not np.all(found.is_reached):
        worst = int(np.argmax(np.where(found.is_reached, 0.0, found.gradient_norm)))
        raise FitError(
            f"{output.data}: the fit of data set {worst + 1} stopped at a relative "
            f"gradient norm of {found.gradient_norm[worst]:.2g} after {found.iterations} "
            "iterations: look for outlying records, or lower the noise"
        )
    save_json(output.fit, origin, **fit_values(found))
    bounds = {}
    if params.mechanism is not None:
        mechanism = load_mechanism(model, params, study, output.data, output.fit)
        bounds = mechanism.bounds() | {
            "description": np.array(mechanism.support_description),
            "status": np.array(mechanism.guarantee.status),
            "guarantee": np.array(mechanism.guarantee.line),
        }
    save_arrays(output.sensitivity, origin, **bounds)
