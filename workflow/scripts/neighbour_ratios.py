"""Published over realised sensitivity, for pairs of neighbouring simulated data sets."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    import numpy as np
    import pandas as pd

    from geodp.errors import DataError
    from geodp.mechanisms.registry import mechanism_class
    from geodp.models.sensitivity import neighbour_ratios
    from geodp.randomness import random_stream
    from reproduction.data.simulated import simulate_data
    from reproduction.models import study_model

    study, params = snakemake.wildcards.study, snakemake.params
    settings = params.settings
    noise = str(settings["noise_variance"])
    model = study_model(params)
    tables = []
    for number in settings["n"]:
        simulation = simulate_data(
            random_stream(params.seed, study, f"n{number}", "neighbours"),
            model,
            params.data,
            study,
            settings["pairs"],
            number + 1,
            float(noise),
        )
        ratios = neighbour_ratios(
            model, simulation.covariates, simulation.points, params.data_radius
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
                    "manifold": model.manifold.name,
                    "data": "simulated",
                    "n": number,
                    "noise_variance": noise,
                    "pair": range(1, settings["pairs"] + 1),
                    # The sensitivities are the published mechanism's.
                    "guarantee": mechanism_class("kng_as_published").guarantee.line,
                    "seed": params.seed,
                    "lock": params.lock,
                    **ratios,
                }
            )
        )
    save_table(snakemake.output[0], pd.concat(tables))
