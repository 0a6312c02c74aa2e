"""Private means of simulated data on one space."""

import numpy as np
import pandas as pd

import geodp.mechanisms.means  # noqa: F401  (what is loaded by name is code of this table, too)
from geodp.means.ambient import embed, is_outside
from geodp.means.problem import fitted, mean_of_logs
from geodp.means.samples import in_ball, pole
from geodp.mechanisms.registry import mechanism_class
from geodp.randomness import random_stream
from reproduction.manifolds import study_manifold


def tabulate(job):
    """A row a mechanism, size and data set.

    ``distance`` is the mean over draws from the data set, or has a formula, where ``is_exact``.
    """
    chosen, parts = job.params.settings, []
    manifold, budget = study_manifold(chosen["manifold"]), chosen["budget"]
    common = {"space": chosen["space"], "manifold": manifold.name}
    for number in sorted(chosen["n"]):
        streams = (job.params.seed, "means", chosen["space"], f"n{number}")
        shape = (chosen["replicates"], number)
        points = in_ball(random_stream(*streams, "data"), manifold, chosen["radius"], shape)
        problem = fitted(manifold, pole(manifold), chosen["radius"], points)
        at_mean = embed(manifold, problem.mean)
        mean_at_centre = manifold.exp(*mean_of_logs(problem, problem.centre, problem.radius))
        bias = np.linalg.norm(embed(manifold, mean_at_centre) - at_mean, axis=-1)
        for name, draws in sorted(chosen["mechanisms"].items()):
            mechanism = mechanism_class(name).of(problem)
            drawn = mechanism.many_means(random_stream(*streams, name), budget, draws)
            away = np.linalg.norm(embed(manifold, drawn) - at_mean[:, None], axis=-1)
            expected = mechanism.expected_distance(budget)
            columns = common | {
                "mechanism": name,
                "guarantee": mechanism.status(manifold),
                "group": f"n{number}",
                "cell": name,
                "data_set": np.arange(len(drawn)),
                "n": number,
                "budget": budget,
                "draws": draws,
                "is_exact": expected is not None,
                "distance": np.mean(away, axis=-1) if expected is None else expected,
                # Of the mean of logarithms at the centre from the Frechet mean.
                "bias": bias if name.startswith("tangent") else np.nan,
                "outside": np.mean(is_outside(manifold, drawn), axis=-1),
            }
            parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)
