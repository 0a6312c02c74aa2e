"""Lines of all methods on one data set with several responses (Kulkarni and Soto, first version).

Red wine: standardised responses on alcohol, scaled from 0 to 1.  Without its file, scikit-learn's
diabetes data.
"""

import numpy as np
import pandas as pd

from geodp.errors import DataError
from geodp.randomness import random_stream
from reproduction.measurements.tools.methods import METHODS, versions
from reproduction.measurements.tools.problem import Budget, Problem, predictions

WINE, DIABETES = "red wine", "diabetes"


def records(settings, path=()):
    """Name of the data, covariate (n, 1) from 0 to 1 and standardised responses (n, m)."""
    if not path:
        from sklearn.datasets import load_diabetes

        name, frame = DIABETES, load_diabetes(as_frame=True).frame
    else:
        name, frame = WINE, pd.read_csv(path, sep=";")
    chosen = settings["wine" if path else "diabetes"]
    missing = {chosen["covariate"], *chosen["responses"]} - set(frame)
    if missing:
        raise DataError(f"{path}: there is no column {', '.join(sorted(missing))}")
    frame = frame[: settings["rows"]]
    x = frame[[chosen["covariate"]]].to_numpy(dtype=float)
    y = frame[chosen["responses"]].to_numpy(dtype=float)
    x = (x - x.min()) / (x.max() - x.min())
    return name, x, (y - y.mean(axis=0)) / y.std(axis=0)


def measure(settings, method, path=()):
    """Table of the draws of a method: a row a budget and draw, with its mean squared error.

    Without a ``path`` there is no table of red wine.
    """
    chosen, name = settings["comparison"], method
    method = METHODS[name]
    data, x, y = records(chosen, path)
    bound = chosen["response_bound"]
    unit = np.zeros(1), np.ones(1)
    # Without privacy nothing is clipped.
    clipped = np.clip(y, -bound, bound) if method.neighbours else y
    problem = Problem(x, clipped, *unit, norm=1.0, bound=bound, has_intercept=True, records=len(x))
    draws, tables = chosen["draws"] if method.neighbours else 1, []
    for epsilon in chosen["budgets"]:
        rng = random_stream(settings["seed"], "comparison", name, str(epsilon))
        budget = Budget(epsilon, chosen["delta"])
        lines = method.lines(problem, budget, rng, draws, chosen)
        errors = [np.mean((y - predictions(line, x)) ** 2) for line in lines]
        tables.append(
            pd.DataFrame(
                {
                    "data": data,
                    "n": len(x),
                    "responses": y.shape[1],
                    "seed": settings["seed"],
                    "method": name,
                    "title": method.title,
                    "guarantee": method.guarantee,
                    "neighbours": method.neighbours,
                    "versions": versions(method),
                    "budget": budget.epsilon,
                    "delta": budget.delta,
                    # What claims call these.
                    "group": data,
                    "cell": f"{name}, {budget.epsilon:g}",
                    "draw": np.arange(draws),
                    "mean_squared_error": errors,
                }
            )
        )
    return (pd.concat(tables, ignore_index=True),)
