"""Noise of private means, medians and geometric medians, on simulated data sets."""

import numpy as np
import pandas as pd

from geodp.linear.least_squares import cube_noise
from geodp.linear.pinball import MedianScore
from geodp.linear.quantiles import draw_quantiles
from geodp.manifolds.euclidean import Euclidean
from geodp.mechanisms.base import PROVED
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance
from geodp.randomness import random_stream
from reproduction.tables.quantile_errors import draw

# Deviation of each coordinate of the records, which are clipped to the unit square.
DEVIATION = 0.3


def tabulate(job):
    """A row a mechanism and data set."""
    chosen, tables = job.params.settings, []
    for number in chosen["n"]:
        key = (job.params.seed, job.params.study, f"n{number}")
        shape = (chosen["replicates"], number, 2)
        points = DEVIATION * random_stream(*key, "data").standard_normal(shape)
        found = _drawn(key, np.clip(points, -1.0, 1.0), chosen["budget"])
        for name, (estimate, private, size) in found.items():
            columns = {
                **{"mechanism": name, "cell": name, "guarantee": PROVED, "n": number},
                **{"group": f"n{number}", "data_set": np.arange(len(points))},
                "budget": chosen["budget"],
                "noise": np.linalg.norm(private - estimate, axis=-1),
                # The distributions are symmetric about the origin.
                "distance": np.linalg.norm(private, axis=-1),
                "non_private_distance": np.linalg.norm(estimate, axis=-1),
                "effective_size": size,
            }
            tables.append(pd.DataFrame(columns))
    return pd.concat(tables, ignore_index=True)


def _drawn(key, points, budget):
    """Estimates, private ones (data_sets, d) and effective sample sizes, by mechanism."""
    mean, first, number = np.mean(points, axis=1), points[..., 0], points.shape[1]
    # The sum of squares has the gradient 2 n (theta - mean), of sensitivity 4.
    noise = cube_noise(random_stream(*key, "mean"), mean.shape, 0.25 * number * budget)
    # Of a median the sensitivity is 1, as published.
    median = draw_quantiles(random_stream(*key, "median"), first, 0.5, budget, 1.0, 1.0)
    fit = GeodesicModel(Euclidean(2), 0, Distance()).fit(None, points).footpoint
    rng, private, sizes = random_stream(*key, "geometric_median"), [], []
    for records, centre in zip(points, fit, strict=True):
        # The square of the records lies in the ball of this bound.
        drawn, size = draw(rng, MedianScore(records, 0.25 * budget), centre, 2.0)
        private.append(drawn)
        sizes.append(size)
    return {
        "mean": (mean, mean + noise, np.nan),
        "median": (np.median(first, axis=-1)[:, None], median[:, None], np.nan),
        "geometric_median": (fit, np.array(private), np.array(sizes)),
    }
