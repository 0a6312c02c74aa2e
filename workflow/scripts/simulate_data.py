"""Simulate the data sets of a group: the first stands for the paper's, the rest give bands."""

from reproduction.jobs import job, made_by, save_arrays

with job(snakemake):
    import numpy as np

    from geodp.randomness import random_stream
    from reproduction.inputs import load_manifold
    from reproduction.simulated import simulate_data

    settings, group = snakemake.params.settings, snakemake.wildcards.group
    study = snakemake.wildcards.study
    simulation = simulate_data(
        random_stream(snakemake.params.seed, study, group, "data"),
        load_manifold(snakemake),
        settings,
        study,
        1 + settings["data_sets"],
        int(snakemake.params.group["n"]),
        float(snakemake.params.group["noise_variance"]),
    )
    save_arrays(
        snakemake.output[0],
        made_by(snakemake, study=study, group=group),
        covariates=simulation.covariates,
        points=simulation.points,
        true_footpoint=simulation.footpoint,
        true_shooting_vector=simulation.shooting_vector,
        covariate_range=[0.0, 1.0],
        description=np.array("simulated"),
    )
