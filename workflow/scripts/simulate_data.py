"""Simulate the data sets of a group: the first stands for the paper's, the rest give bands."""

from jobs import job, made_by, save_arrays

with job(snakemake):
    import numpy as np
    from inputs import load_manifold
    from simulated import simulate_data

    from geodp.randomness import random_stream

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
