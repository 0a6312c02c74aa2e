"""Private linear regression on moments of data sets, and the paper's chains beside exact draws."""

import numpy as np
import pandas as pd

from geodp.linear.least_squares import (
    Exponential,
    Gradient,
    LeastSquares,
    draw,
    perturb_objective,
    walk,
)
from geodp.mechanisms.base import FALSE, NONE
from geodp.randomness import random_stream
from reproduction.diagnostics import convergence
from reproduction.measurements.linear.moments import read_moments, true_coefficients

# Densities in the ball, by the name that tables give them.
DENSITIES = {
    "exponential": Exponential.at,
    "kng_as_printed": Gradient.as_printed,
    "kng": Gradient.at,
}

# Summaries of chains: the first coordinates are those of the paper's first covariates.
SUMMARISED = 3


def compared(places, distance, non_private):
    """Columns of errors beside those without privacy."""
    return {
        **{name: places[name].to_numpy() for name in places},
        "group": [f"n{n}" for n in places["n"]],
        "distance": distance,
        "log_over_non_private": np.log(distance / non_private),
    }


def measure(settings, moments):
    """Table of errors, and table of the paper's chains by size and mechanism.

    Parameters
    ----------
    settings : dict
        ``seed``, ``budget`` and the section ``kng_linear`` of ``config/linear.yaml``.
    moments : list of str
        Tables of moments.
    """
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

    tables, chains = [errors("non_private", problem.fit)], []
    rng = random_stream(settings["seed"], "kng_linear", "objective_perturbation")
    tables.append(errors("objective_perturbation", perturb_objective(rng, problem, budget)))
    for name, at in DENSITIES.items():
        mechanism = at(budget, chosen["bound"])
        rng = random_stream(settings["seed"], "kng_linear", name)
        drawn = draw(rng, problem, mechanism, chosen["steps"])
        tables.append(errors(name, drawn.theta, exact=drawn.exact * 1, proposals=drawn.proposals))
        rng = random_stream(settings["seed"], "kng_linear", name, "chains")
        states = walk(rng, problem, mechanism, chosen["steps"], chosen["covariates"])
        chains.append(_judged(name, problem, mechanism, states, drawn, places))
    return pd.concat(tables, ignore_index=True), pd.concat(chains, ignore_index=True)


def _judged(name, problem, mechanism, states, drawn, places):
    """Effective sample sizes of chains, and how far their ends are from the fit, by size."""
    scores = mechanism.score(problem, np.swapaxes(states, 0, 1))
    rows = []
    for number, index in places.groupby("n").groups.items():
        sizes = [
            convergence(
                {"score": scores[k][None]}
                | {f"coordinate_{j}": states[None, :, k, j] for j in range(SUMMARISED)}
            )["ess_bulk"]
            for k in index
        ]
        ends, exact = (
            np.linalg.norm(theta[index] - problem.fit[index], axis=-1)
            for theta in (states[-1], drawn.theta)
        )
        rows.append(
            {
                "mechanism": name,
                "n": number,
                "steps": states.shape[0] * problem.dim,
                "data_sets": len(index),
                "least_effective_size": np.min(sizes),
                "median_effective_size": np.median(sizes),
                "noise_of_chains": np.mean(ends),
                "noise_of_exact_draws": np.mean(exact),
                "exact_share": np.mean(drawn.exact[index]),
                "most_proposals": np.max(drawn.proposals[index]),
            }
        )
    return pd.DataFrame(rows)
