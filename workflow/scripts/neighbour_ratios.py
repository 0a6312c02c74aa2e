"""Published over realised sensitivity, for pairs of neighbouring simulated data sets."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    import numpy as np
    import pandas as pd

    from geodp.errors import DataError
    from geodp.models.sensitivity import neighbour_ratios
    from geodp.randomness import random_stream
    from reproduction.data.simulated import simulate_data
    from reproduction.manifolds import study_manifold

    study, settings = snakemake.wildcards.study, snakemake.params.settings
    noise = str(settings["noise_variance"])
    manifold = study_manifold(snakemake.params.manifold)
    tables = []
    for number in settings["n"]:
        simulation = simulate_data(
            random_stream(snakemake.params.seed, study, f"n{number}", "neighbours"),
            manifold,
            snakemake.params.data,
            study,
            settings["pairs"],
            number + 1,
            float(noise),
        )
        ratios = neighbour_ratios(
            manifold, simulation.covariates, simulation.points, snakemake.params.data_radius
        )
        if not np.all(ratios["converged"]):
            raise DataError(
                f"{np.sum(~ratios['converged'])} of {settings['pairs']} fits of pairs of "
                f"neighbours at n = {number} did not converge: lower neighbours.noise_variance"
            )
        tables.append(
            pd.DataFrame(
                {
                    "study": study,
                    "manifold": manifold.name,
                    "data": "simulated",
                    "n": number,
                    "noise_variance": noise,
                    "pair": range(1, settings["pairs"] + 1),
                    "seed": snakemake.params.seed,
                    "lock": snakemake.params.lock,
                    **ratios,
                }
            )
        )
    save_table(snakemake.output[0], pd.concat(tables))
