"""Errors of linear regression, private and not (Reimherr and Awan, section 4.3)."""

from itertools import product

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from geodp.linear.least_squares import Exponential, Gradient, LeastSquares, draw, perturb_objective
from geodp.linear.moments import Moments, simulate_moments
from geodp.mechanisms.base import FALSE, NONE
from geodp.randomness import random_stream

# Coefficients, the first that of the constant, and the l1 norm B that those of fits may have.
TRUTH = np.append(0.0, -1.0 + 2.0 * np.arange(11) / 11)
BOUND = 1.0


def beside_non_private(table):
    """Errors beside those without privacy, which come first for each size and data set."""
    first = table.groupby(["n", "data_set"])["distance"].transform("first")
    # The divisor of the responses is read off the data.
    return table.assign(
        guarantee=np.where(table["mechanism"] == "non_private", NONE, FALSE),
        group="n" + table["n"].astype(str),
        cell=table["mechanism"],
        log_over_non_private=np.log(table["distance"] / first),
    )


def tabulate(job):
    """A row a mechanism and data set."""
    chosen, key = job.params.settings, (job.params.seed, job.params.study)
    budget = chosen["budget"]
    places = list(product(sorted(chosen["n"]), range(chosen["replicates"])))
    made = Parallel(job.threads)(
        delayed(simulate_moments)(random_stream(*key, f"n{n}", f"{data_set}"), TRUTH, n)
        for n, data_set in places
    )
    found = Moments(*map(np.concatenate, zip(*(vars(each).values() for each in made), strict=True)))
    problem = LeastSquares(found.scaled(), BOUND)
    rng = random_stream(*key, "objective_perturbation")
    perturbed = perturb_objective(rng, problem, budget)
    estimates = {"non_private": problem.fit, "objective_perturbation": perturbed}
    mechanisms = {
        "exponential": Exponential.at(budget, BOUND),
        "kng_as_printed": Gradient.as_printed(budget, BOUND),
        "kng": Gradient.at(budget, BOUND),
    }
    for name, mechanism in mechanisms.items():
        estimates[name] = draw(random_stream(*key, name), problem, mechanism)
    # Truth and fit lie outside of the ball where the largest response is small.
    in_ball = (np.sum(np.abs(TRUTH)) <= BOUND * found.largest) * 1
    rows = pd.DataFrame(places, columns=["n", "data_set"]).assign(truth_in_ball=in_ball)
    tables = {}
    for name, theta in estimates.items():
        distance = np.linalg.norm(found.largest[:, None] * theta - TRUTH, axis=-1)
        noise = np.linalg.norm(theta - problem.fit, axis=-1)
        tables[name] = rows.assign(distance=distance, noise=noise, budget=budget)
    table = pd.concat(tables, names=["mechanism", "row"])
    return beside_non_private(table.reset_index("mechanism"))
