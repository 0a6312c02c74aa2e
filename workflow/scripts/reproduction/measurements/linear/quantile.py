"""Private quantile regression in the plane."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd

from geodp.linear.l1_ball import project
from geodp.linear.moments import record_chunks
from geodp.linear.pinball import GradientScore, LossScore, Pinball, smoothing_bandwidth
from geodp.linear.plane import chains
from geodp.mechanisms.base import FALSE, NONE
from geodp.randomness import random_stream
from reproduction.diagnostics import effective_size
from reproduction.measurements.linear.regression import compared


def scores(records, budget, bound, deviation):
    """Scores of the mechanisms, by the name that tables give them, for errors of a deviation."""
    bandwidth = deviation * smoothing_bandwidth(*records.covariates.shape)
    return {
        "exponential": LossScore.at(records, budget, bound),
        "exponential_sharp": LossScore.at(records, budget, bound, sharp=True),
        "kng": GradientScore.at(records, budget),
        "kng_smoothed": GradientScore.at(replace(records, bandwidth=bandwidth), budget),
    }


def smallest_size(places, values):
    """Smallest bulk effective sample size of coordinates and score, of (chains, states)."""
    coordinates = {f"coordinate_{k}": places[..., k] for k in range(places.shape[-1])}
    return effective_size({"score": values} | coordinates)


def measure(settings):
    """Table of errors: a row a mechanism and data set."""
    chosen, budget = settings["kng_quantile"], settings["budget"]
    truth, bound = np.array(chosen["coefficients"]), chosen["bound"]
    rows = []
    for number, data_set in product(chosen["n"], range(chosen["replicates"])):
        streams = (settings["seed"], "kng_quantile", f"n{number}", f"{data_set}")
        chunks = record_chunks(random_stream(*streams, "data"), truth, number)
        *covariates, responses = np.concatenate([chunk.copy() for chunk in chunks], axis=1)
        largest = np.max(np.abs(responses))
        records = Pinball(np.column_stack(covariates), responses / largest, chosen["tau"])
        fit = records.fit()
        found = {"non_private": (fit, np.nan)}
        for name, score in scores(records, budget, bound, 1.0 / largest).items():
            rng = random_stream(*streams, name)
            places, values = chains(
                rng, score, project(fit, bound), bound, chosen["chains"], chosen["states"]
            )
            found[name] = places[0, -1], smallest_size(places, values)
        for name, (theta, size) in found.items():
            rows.append(
                {
                    "mechanism": name,
                    # The divisor of the responses is read off the data.
                    "guarantee": NONE if name == "non_private" else FALSE,
                    "cell": name,
                    "n": number,
                    "data_set": data_set,
                    "distance": np.linalg.norm(largest * theta - truth),
                    "budget": budget,
                    "noise": np.linalg.norm(theta - fit),
                    "effective_size": size,
                    "states": chosen["chains"] * chosen["states"],
                }
            )
    table = pd.DataFrame(rows)
    places = table[["n", "data_set"]]
    # The first of a data set's rows is that without privacy.
    first = table.groupby(["n", "data_set"])["distance"].transform("first").to_numpy()
    table = table.assign(**compared(places, table["distance"].to_numpy(), first))
    return (table.sort_values(["n", "mechanism", "data_set"], kind="stable"),)
