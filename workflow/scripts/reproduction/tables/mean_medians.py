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


def tabulate(job):
    """A row a share of outliers and estimate: distances from the centre of the other records."""
    chosen, rows = job.params.settings, []
    manifold = study_manifold(chosen["manifold"])
    radius, budget = chosen["radius"], chosen["budget"]
    streams = (job.params.seed, "means", "medians", chosen["space"])
    if isinstance(manifold, KendallPlanarShapes):
        centre = manifold.random_point(random_stream(*streams, "centre"))
    else:
        centre = pole(manifold)
    # As if somebody had told the public ball a little wrong.
    direction = manifold.random_direction(random_stream(*streams, "ball"), centre)
    told = manifold.exp(centre, 0.1 * radius * direction)
    median, shape = GeodesicModel(manifold, 0, Distance()), (chosen["replicates"], chosen["n"])
    for share in chosen["outliers"]:
        streamed = [random_stream(*streams, f"{share:g}", k) for k in ("data", "mean", "median")]
        points = contaminated(streamed[0], manifold, centre, radius, shape, share)
        problem = fitted(manifold, told, 1.1 * radius, points)
        found = {
            "mean": problem.mean,
            "median": median.fit(None, points).footpoint,
            "private mean": PrivateSteps.of(problem).private_means(streamed[1], budget),
            "private median": PrivateMedian.of(problem).private_means(streamed[2], budget),
        }
        for name, places in found.items():
            away = manifold.dist(centre, places)
            row = {"estimate": name, "n": chosen["n"]}
            row |= {"budget": budget if name.startswith("private") else np.nan, "outliers": share}
            low, high = np.quantile(away, (0.1, 0.9)) / radius
            row |= {"over_radius": np.mean(away) / radius, "low": low, "high": high}
            rows.append(row | {"data_sets": len(away)})
    common = {"space": chosen["space"], "manifold": manifold.name}
    return pd.DataFrame([common | row for row in rows])
