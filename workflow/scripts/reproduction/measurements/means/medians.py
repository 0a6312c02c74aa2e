"""Means and medians of data with outliers, private and not, on one space."""

import numpy as np
import pandas as pd

from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.means.problem import fitted
from geodp.means.samples import contaminated, pole
from geodp.mechanisms.means import PrivateMedian, PrivateSteps
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance
from geodp.randomness import random_stream
from reproduction.manifolds import study_manifold


def measure(settings, space):
    """Table of distances from the centre of the records that are no outliers."""
    chosen, budget = settings["medians"], settings["budget"]
    described = chosen["spaces"][space]
    manifold, radius = study_manifold(described["manifold"]), described["radius"]
    shape = (chosen["replicates"], chosen["n"])
    streams = (settings["seed"], "means", "medians", space)
    if isinstance(manifold, KendallPlanarShapes):
        centre = manifold.random_point(random_stream(*streams, "centre"))
    else:
        centre = pole(manifold)
    # As if somebody had told the public ball a little wrong.
    rng = random_stream(*streams, "ball")
    told = manifold.exp(centre, 0.1 * radius * manifold.random_direction(rng, centre))
    parts = []
    for share in chosen["outliers"]:
        names = (*streams, f"{share:g}")
        points = contaminated(random_stream(*names, "data"), manifold, centre, radius, shape, share)
        problem = fitted(manifold, told, 1.1 * radius, points)
        found = {
            "mean": problem.mean,
            "median": GeodesicModel(manifold, 0, Distance()).fit(None, points).footpoint,
        }
        for name, mechanism in (("mean", PrivateSteps), ("median", PrivateMedian)):
            private = mechanism.of(problem).private_means(random_stream(*names, name), budget)
            found[f"private {name}"] = private
        for name, places in found.items():
            distance = manifold.dist(centre, places)
            parts.append(
                {
                    "space": space,
                    "manifold": manifold.name,
                    "estimate": name,
                    "n": chosen["n"],
                    "budget": budget if name.startswith("private") else np.nan,
                    "outliers": share,
                    "over_radius": np.mean(distance) / radius,
                    "low": np.quantile(distance, 0.1) / radius,
                    "high": np.quantile(distance, 0.9) / radius,
                    "data_sets": len(distance),
                }
            )
    return (pd.DataFrame(parts),)
