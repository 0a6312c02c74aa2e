"""Private means of simulated data on one space."""

import numpy as np
import pandas as pd

from geodp.means.ambient import embed, is_outside
from geodp.means.problem import fitted, mean_of_logs
from geodp.means.samples import SAMPLES, pole
from geodp.mechanisms.registry import mechanism_class
from geodp.randomness import random_stream
from reproduction.manifolds import study_manifold


def measure(settings, space):
    """Table of private means: a row a mechanism, size and data set.

    ``distance`` is the mean over draws from the data set, or has a formula, where ``is_exact``.
    """
    chosen, budget = settings["spaces"][space], settings["budget"]
    manifold = study_manifold(chosen["manifold"])
    parts = []
    for number in settings["n"]:
        streams = (settings["seed"], "means", space, f"n{number}")
        sample = SAMPLES[chosen["data"]]
        points = sample(
            random_stream(*streams, "data"),
            manifold,
            chosen["radius"],
            (settings["replicates"], number),
        )
        problem = fitted(manifold, pole(manifold), chosen["radius"], points)
        without_noise = manifold.exp(*mean_of_logs(problem, problem.centre, problem.radius))
        bias = np.linalg.norm(
            embed(manifold, without_noise) - embed(manifold, problem.mean), axis=-1
        )
        for name in chosen["mechanisms"]:
            mechanism = mechanism_class(name).of(problem)
            draws = chosen["draws"].get(name, 1)
            drawn = mechanism.many_means(random_stream(*streams, name), budget, draws)
            away = embed(manifold, drawn) - embed(manifold, problem.mean)[:, None]
            expected = mechanism.expected_distance(budget)
            distance = np.mean(np.linalg.norm(away, axis=-1), axis=-1)
            parts.append(
                pd.DataFrame(
                    {
                        "space": space,
                        "manifold": manifold.name,
                        "mechanism": name,
                        "guarantee": mechanism.status(manifold),
                        "group": f"n{number}",
                        "cell": name,
                        "data_set": np.arange(len(drawn)),
                        "n": number,
                        "budget": budget,
                        "draws": draws,
                        "is_exact": expected is not None,
                        "distance": distance if expected is None else expected,
                        # Of the mean of logarithms at the centre from the Frechet mean.
                        "bias": bias if name.startswith("tangent") else np.nan,
                        "outside": np.mean(is_outside(manifold, drawn), axis=-1),
                    }
                )
            )
    table = pd.concat(parts, ignore_index=True)
    return (table.sort_values(["n", "mechanism", "data_set"], kind="stable"),)
