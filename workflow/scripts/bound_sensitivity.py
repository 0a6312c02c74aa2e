"""Sensitivities, support and guarantee of a group's mechanism."""

from reproduction.jobs import job, made_by, save_arrays

with job() as snakemake:
    import numpy as np

    from reproduction.mechanism import load_mechanism
    from reproduction.models import study_model

    study, group = snakemake.wildcards.study, snakemake.wildcards.group
    files, params = snakemake.input, snakemake.params
    mechanism = load_mechanism(study_model(params), params, study, files.data, files.fit)
    save_arrays(
        snakemake.output[0],
        made_by(snakemake, study=study, group=group),
        **mechanism.bounds(),
        description=np.array(mechanism.support_description),
        status=np.array(mechanism.guarantee.status),
        guarantee=np.array(mechanism.guarantee.line),
    )
