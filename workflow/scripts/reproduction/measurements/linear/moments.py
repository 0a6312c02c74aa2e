"""Moments of simulated data sets, a row each: all that linear regression needs of the records."""

import numpy as np
import pandas as pd

from geodp.linear.moments import Moments, simulate_moments
from geodp.randomness import random_stream


def true_coefficients(covariates):
    """Coefficients ``(0, -1, -1 + 2/11, ..., 1 - 2/11)`` of the paper, where there are twelve."""
    others = covariates - 1
    return np.append(0.0, -1.0 + 2.0 * np.arange(others) / others)


def measure(settings, part, parts):
    """Table of moments of the data sets of each size whose number is ``part`` modulo ``parts``."""
    chosen = settings["kng_linear"]
    coefficients = true_coefficients(chosen["covariates"])
    rows = []
    for number in chosen["n"]:
        for data_set in range(part, chosen["replicates"], parts):
            rng = random_stream(settings["seed"], "kng_linear", f"n{number}", f"{data_set}")
            found = simulate_moments(rng, coefficients, number)
            row = {"n": number, "data_set": data_set, "largest": found.largest[0]}
            row |= {f"gram_{k}": value for k, value in enumerate(found.gram.ravel())}
            row |= {f"cross_{k}": value for k, value in enumerate(found.cross.ravel())}
            rows.append(row)
    return (pd.DataFrame(rows),)


def read_moments(paths):
    """`Moments` of all data sets, and a table of their ``n`` and ``data_set`` in the same order."""
    table = pd.concat(map(pd.read_csv, paths)).sort_values(["n", "data_set"], ignore_index=True)
    cross = table.filter(regex="^cross_").to_numpy()
    d = cross.shape[-1]
    gram = table.filter(regex="^gram_").to_numpy().reshape((-1, d, d))
    places = table[["n", "data_set"]]
    return Moments(table["n"].to_numpy(), gram, cross, table["largest"].to_numpy()), places
