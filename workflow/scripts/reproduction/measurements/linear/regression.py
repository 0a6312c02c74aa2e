"""Private linear regression on moments of data sets."""

import numpy as np
import pandas as pd

from geodp.linear.least_squares import Exponential, Gradient, LeastSquares, draw, perturb_objective
from geodp.mechanisms.base import FALSE, NONE
from geodp.randomness import random_stream
from reproduction.measurements.linear.moments import read_moments, true_coefficients

# Densities in the ball, by the name that tables give them.
DENSITIES = {
    "exponential": Exponential.at,
    "kng_as_printed": Gradient.as_printed,
    "kng": Gradient.at,
}


def compared(places, distance, non_private):
    """Columns of errors beside those without privacy."""
    return {
        **{name: places[name].to_numpy() for name in places},
        "group": [f"n{n}" for n in places["n"]],
        "distance": distance,
        "log_over_non_private": np.log(distance / non_private),
    }


def measure(settings, moments):
    """Table of errors: a row a mechanism and data set."""
    chosen, budget = settings["kng_linear"], settings["budget"]
    found, places = read_moments(moments)
    problem = LeastSquares(found.scaled(), chosen["bound"])
    truth = true_coefficients(chosen["covariates"])

    def errors(name, theta, **columns):
        distance, non_private = (
            np.linalg.norm(found.largest[:, None] * each - truth, axis=-1)
            for each in (theta, problem.fit)
        )
        return pd.DataFrame(
            {
                "mechanism": name,
                # The divisor of the responses is read off the data.
                "guarantee": NONE if name == "non_private" else FALSE,
                "cell": name,
                **compared(places, distance, non_private),
                "budget": budget,
                "noise": np.linalg.norm(theta - problem.fit, axis=-1),
                # Truth and fit lie outside of the ball where the largest response is small.
                "truth_in_ball": (np.sum(np.abs(truth)) <= chosen["bound"] * found.largest) * 1,
                **columns,
            }
        )

    tables = [errors("non_private", problem.fit)]
    rng = random_stream(settings["seed"], "kng_linear", "objective_perturbation")
    tables.append(errors("objective_perturbation", perturb_objective(rng, problem, budget)))
    for name, at in DENSITIES.items():
        mechanism = at(budget, chosen["bound"])
        rng = random_stream(settings["seed"], "kng_linear", name)
        drawn = draw(rng, problem, mechanism, chosen["steps"])
        tables.append(errors(name, drawn.theta, exact=drawn.exact * 1, proposals=drawn.proposals))
    return (pd.concat(tables, ignore_index=True),)
