"""Published over realised sensitivity, for pairs of neighbouring simulated data sets."""

import numpy as np
import pandas as pd

from geodp.errors import DataError
from geodp.mechanisms.registry import mechanism_class
from geodp.models.sensitivity import neighbour_ratios
from geodp.randomness import random_stream
from reproduction.data.simulated import simulate_data
from reproduction.models import study_model


def tabulate(job):
    """A row for each pair of each size."""
    params, settings, tables = job.params, job.params.settings, []
    study, model, noise = params.study, study_model(params), str(settings["noise_variance"])
    for number in settings["n"]:
        rng = random_stream(params.seed, study, f"n{number}", "neighbours")
        of = params.data, study, settings["pairs"], number + 1, float(noise)
        made = simulate_data(rng, model, *of)
        ratios = neighbour_ratios(model, made.covariates, made.points, params.data_radius)
        if not np.all(ratios["converged"]):
            raise DataError(
                f"{np.sum(~ratios['converged'])} of {settings['pairs']} fits of pairs of "
                f"neighbours at n = {number} did not converge: lower neighbours.noise_variance"
            )
        columns = {
            **{"study": study, "manifold": model.manifold.name, "data": "simulated"},
            **{"n": number, "noise_variance": noise, "pair": range(1, settings["pairs"] + 1)},
            # The sensitivities are the published mechanism's.
            "guarantee": mechanism_class("kng_as_published").guarantee.line,
            **{"seed": params.seed, "lock": params.lock},
            **ratios,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables)
