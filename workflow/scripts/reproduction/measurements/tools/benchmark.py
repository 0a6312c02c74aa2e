"""Shares of the explainable error that private lines recover, on one data set.

As in the field's benchmark: each draw is fitted to nine of ten parts of the records and judged by
its mean squared error on the tenth.  The share is 0 for the line that is zero and 1 for that of
least squares with one added to the normal matrix.
"""

from functools import partial
from itertools import product

import numpy as np
import pandas as pd
from scipy.stats import sem

from geodp.randomness import random_stream
from reproduction.measurements.tools import data_sets, geodesic
from reproduction.measurements.tools.methods import METHODS, versions
from reproduction.measurements.tools.own import least_squares
from reproduction.measurements.tools.problem import Budget, folds, predictions

# Other methods are set against these, data set by data set and draw by draw.
RIVALS = ("adassp", "ihm")


def measure(settings, data_set):
    """Tables of a data set: one row about it, and a row a method and budget."""
    chosen, seed = settings["benchmark"], settings["seed"]
    held_out, part, problem, parts = opened(settings, data_set)
    described = part["sets"][data_set]
    n, k = problem.covariates.shape
    trivial = np.mean([np.mean(problem.responses[part] ** 2) for part in parts])
    best = errors_of(problem, parts, lambda rest: [least_squares(rest, ridge=1.0)]).mean()
    about = {"data_set": data_set, "held_out": held_out, "n": n, "k": k}
    judged = {"trivial": trivial, "not_private": best}
    rows, errors = [], {}
    for name, epsilon in product(part["methods"], chosen["budgets"]):
        method, budget = METHODS[name], Budget(epsilon, chosen["delta"])
        rng = random_stream(seed, "benchmark", data_set, name, str(epsilon))
        lines = partial(method.lines, budget=budget, rng=rng, draws=chosen["repeats"])
        found = errors[name, epsilon] = errors_of(problem, parts, lines)
        rows.append(
            {
                **about,
                "method": name,
                "title": method.title,
                "guarantee": method.through_origin or method.guarantee,
                "neighbours": method.neighbours,
                "versions": versions(method),
                "budget": epsilon,
                "delta": budget.delta,
                "draws": len(found),
                "error": found.mean(),
                "standard_error": sem(found),
                **judged,
                "share": (trivial - found.mean()) / (trivial - best),
            }
        )
    # Draws of two methods are of the same part.
    for row, rival in product(rows, [name for name in RIVALS if name in part["methods"]]):
        lead = errors[rival, row["budget"]] - errors[row["method"], row["budget"]]
        lead /= trivial - best
        row |= {f"lead_{rival}": lead.mean(), f"deviation_{rival}": sem(lead)}
    shipped = {key: described[key] for key in ("package", "item", "response")}
    shipped["logarithm"] = described["log"]
    shipped["licence"] = data_sets.LICENCES[described["package"]]
    return pd.DataFrame([about | judged | shipped]), pd.DataFrame(rows)


def opened(settings, data_set):
    """Number and settings of the round of a data set, its problem, and parts to leave out."""
    chosen = settings["benchmark"]
    # The first round is that with which choices were made, others are held out.
    rounds = chosen, *chosen["held_out"].values()
    held_out = [data_set in part["sets"] for part in rounds].index(True)
    problem = data_sets.load(rounds[held_out]["sets"][data_set])
    rng = random_stream(settings["seed"], "benchmark", data_set)
    return held_out, rounds[held_out], problem, folds(rng, problem.records, chosen["folds"])


def releases(settings, about):
    """Table of root mean squared errors of releases over those of matrix Laplace."""
    chosen, method, rows = settings["benchmark"]["releases"], METHODS["matrix_laplace"], []
    # Responses are within 1 of zero, and covariates from -1 to 1.
    public = {"footpoint_radius": 1.0, "smallest_radius": 0.1, "shooting_vector_length": 2.0}
    public["neighbours"] = f"{method.neighbours} subject"
    sets = pd.concat(map(pd.read_csv, about)).query(f"k == {chosen['covariates']}")
    for of, epsilon in product(sets.to_dict("records"), chosen["budgets"]):
        *_, problem, parts = opened(settings, of["data_set"])
        plan = geodesic.planned(problem, epsilon, 1 << 18, **public)
        rng = random_stream(settings["seed"], "releases", of["data_set"], str(epsilon))
        drawn = {"rng": rng, "draws": settings["benchmark"]["repeats"]}
        both = partial(geodesic.released, plan), partial(method.lines, budget=Budget(epsilon, 0.0))
        found = [errors_of(problem, parts, partial(lines, **drawn)) for lines in both]
        # Parts are what is independent.
        release, matrix = np.reshape(found, (2, len(parts), -1)).mean(axis=2)
        ratio = np.sqrt(release.mean() / matrix.mean())
        deviation = 0.5 * ratio * sem(release / release.mean() - matrix / matrix.mean())
        row = of | {"budget": epsilon, "ratio": ratio, "standard_error": deviation}
        rows.append(row | {"aim": chosen["aim"], "is_noise": plan.is_noise})
    return (pd.DataFrame(rows),)


def errors_of(problem, parts, lines):
    """Mean squared errors of lines on parts that they have not seen, part by part."""
    errors = []
    for part in parts:
        x, y = problem.covariates[part], problem.responses[part]
        rest = problem.without(part)
        errors += [np.mean((y - predictions(line, x)) ** 2) for line in lines(rest)]
    return np.array(errors)
