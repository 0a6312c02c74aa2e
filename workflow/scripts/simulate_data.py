"""Simulate the data sets of a group: the first stands for the paper's, the rest give bands."""

from jobs import job, made_by, save_arrays

with job(snakemake):
    import numpy as np
    from inputs import load_manifold

    from geodp.errors import DataError
    from geodp.randomness import random_stream
    from geodp.simulate import simulate_geodesic_data

    settings, group = snakemake.params.settings, snakemake.wildcards.group
    study = snakemake.wildcards.study
    manifold = load_manifold(snakemake)
    first_point = None
    if settings["first_point"] != "random":
        first_point = np.array(settings["first_point"], dtype=float)
        key = f"configuration key studies.{study}.data.first_point"
        if first_point.size != np.prod(manifold.point_shape):
            raise DataError(
                f"{key}: it has {first_point.size} coordinates and a point of {manifold.name} "
                f"has {np.prod(manifold.point_shape)}"
            )
        first_point = manifold.project(first_point.reshape(manifold.point_shape))
        reason = manifold.invalid_reason(first_point)
        if reason is not None:
            raise DataError(f"{key}: not a point of {manifold.name}, since {reason}")
    simulation = simulate_geodesic_data(
        random_stream(snakemake.params.seed, study, group, "data"),
        manifold,
        1 + settings["data_sets"],
        int(snakemake.params.group["n"]),
        float(snakemake.params.group["noise_variance"]),
        settings["shooting_vector_length"],
        equally_spaced=settings["covariates"] == "equally_spaced",
        first_point=first_point,
        ambient_noise=settings["noise"] == "ambient",
    )
    save_arrays(
        snakemake.output[0],
        made_by(snakemake, study=study, group=group),
        covariates=simulation.covariates,
        points=simulation.points,
        true_footpoint=simulation.footpoint,
        true_shooting_vector=simulation.shooting_vector,
        covariate_range=np.array([0.0, 1.0]),
    )
