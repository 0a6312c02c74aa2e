"""Errors of median regression, private and not (Reimherr and Awan, section 4.5.1)."""

from dataclasses import replace
from itertools import product

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from geodp.linear.l1_ball import project
from geodp.linear.moments import record_chunks
from geodp.linear.pinball import GradientScore, LossScore, Pinball, smoothing_bandwidth
from geodp.linear.plane import chains
from geodp.randomness import random_stream
from reproduction.diagnostics import effective_size
from reproduction.tables.linear_errors import BOUND, beside_non_private

# Coefficients, of the constant and of the covariate.
TRUTH = np.array([0.0, -1.0])

# The last state of the first chain is a draw; the others say how well chains mix.
CHAINS, STATES = 4, 100


def draw(rng, score, centre, bound):
    """A draw in the plane, and the smallest effective sample size of its chains."""
    places, values = chains(rng, score, centre, bound, CHAINS, STATES)
    traces = {"score": values, "first": places[..., 0], "second": places[..., 1]}
    return places[0, -1], effective_size(traces)


def tabulate(job):
    """A row a mechanism and data set."""
    chosen, key = job.params.settings, (job.params.seed, job.params.study)
    made = Parallel(job.threads)(
        delayed(_errors)(key, chosen["budget"], *place)
        for place in product(chosen["n"], range(chosen["replicates"]))
    )
    table = beside_non_private(pd.concat(made, ignore_index=True))
    return table.sort_values(["n", "mechanism", "data_set"], kind="stable")


def _errors(key, budget, number, data_set):
    """Rows of a data set."""
    key = (*key, f"n{number}", f"{data_set}")
    chunks = record_chunks(random_stream(*key, "data"), TRUTH, number)
    *covariates, responses = np.concatenate([chunk.copy() for chunk in chunks], axis=1)
    largest = np.max(np.abs(responses))
    records = Pinball(np.column_stack(covariates), responses / largest, tau=0.5)
    smoothed = replace(records, bandwidth=smoothing_bandwidth(number, len(TRUTH)) / largest)
    scores = {
        "exponential": LossScore.at(records, budget, BOUND),
        "exponential_sharp": LossScore.at(records, budget, BOUND, sharp=True),
        "kng": GradientScore.at(records, budget),
        "kng_smoothed": GradientScore.at(smoothed, budget),
    }
    fit = records.fit()
    found = {"non_private": (fit, np.nan)}
    for name, score in scores.items():
        found[name] = draw(random_stream(*key, name), score, project(fit, BOUND), BOUND)
    thetas, sizes = (np.array(each) for each in zip(*found.values(), strict=True))
    columns = {
        "mechanism": list(found),
        "distance": np.linalg.norm(largest * thetas - TRUTH, axis=-1),
        "noise": np.linalg.norm(thetas - fit, axis=-1),
        "effective_size": sizes,
    }
    return pd.DataFrame(columns).assign(n=number, data_set=data_set, budget=budget)
