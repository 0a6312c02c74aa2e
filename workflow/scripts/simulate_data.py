"""Simulate the data sets of a group: the first stands for the paper's, the rest give bands."""

from jobs import job, made_by, save_arrays

with job(snakemake):
    from inputs import configured_first_point, load_manifold

    from geodp.randomness import random_stream
    from geodp.simulate import simulate_geodesic_data

    settings, group = snakemake.params.settings, snakemake.wildcards.group
    study = snakemake.wildcards.study
    manifold = load_manifold(snakemake)
    simulation = simulate_geodesic_data(
        random_stream(snakemake.params.seed, study, group, "data"),
        manifold,
        1 + settings["data_sets"],
        int(snakemake.params.group["n"]),
        float(snakemake.params.group["noise_variance"]),
        settings["shooting_vector_length"],
        equally_spaced=settings["covariates"] == "equally_spaced",
        first_point=configured_first_point(manifold, settings, study),
        ambient_noise=settings["noise"] == "ambient",
    )
    save_arrays(
        snakemake.output[0],
        made_by(snakemake, study=study, group=group),
        covariates=simulation.covariates,
        points=simulation.points,
        true_footpoint=simulation.footpoint,
        true_shooting_vector=simulation.shooting_vector,
        covariate_range=[0.0, 1.0],
    )
