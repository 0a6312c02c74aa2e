"""Private means, medians and geometric medians, and realised losses of private quantiles."""

import numpy as np
import pandas as pd

from geodp.linear.least_squares import cube_noise
from geodp.linear.pinball import MedianScore
from geodp.linear.plane import chains
from geodp.linear.quantiles import draw_quantiles, realised_loss, stated_sensitivity
from geodp.manifolds.euclidean import Euclidean
from geodp.mechanisms.base import FALSE, PROVED
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance
from geodp.randomness import random_stream
from reproduction.measurements.linear.quantile import smallest_size

# Deviation of each coordinate of the records, which are clipped to the unit square.
DEVIATION = 0.3

PLANE = 2


def measure(settings):
    """Table of errors, and table of realised losses of private quantiles by tau."""
    chosen, budget = settings["kng_location"], settings["budget"]
    tables = []
    for number in chosen["n"]:
        streams = (settings["seed"], "kng_location", f"n{number}")
        shape = (chosen["replicates"], number, PLANE)
        points = DEVIATION * random_stream(*streams, "data").standard_normal(shape)
        points = np.clip(points, -1.0, 1.0)
        for name, (estimate, private, size) in _draws(streams, points, budget, chosen).items():
            tables.append(
                pd.DataFrame(
                    {
                        "mechanism": name,
                        "guarantee": PROVED,
                        "group": f"n{number}",
                        "cell": name,
                        "n": number,
                        "data_set": np.arange(len(points)),
                        "budget": budget,
                        "noise": np.linalg.norm(private - estimate, axis=-1),
                        # The distributions are symmetric about the origin.
                        "distance": np.linalg.norm(private, axis=-1),
                        "non_private_distance": np.linalg.norm(estimate, axis=-1),
                        "effective_size": size,
                    }
                )
            )
    return pd.concat(tables, ignore_index=True), _losses(chosen, budget)


def _draws(streams, points, budget, chosen):
    """Estimates, private ones (data_sets, d) and effective sample sizes, by mechanism."""
    data_sets, number, dim = points.shape
    mean = np.mean(points, axis=1)
    # The sum of squares has the gradient 2 n (theta - mean), of sensitivity 4.
    noise = cube_noise(random_stream(*streams, "mean"), mean.shape, 0.25 * number * budget)
    first = points[..., 0]
    median = draw_quantiles(
        random_stream(*streams, "median"), first, 0.5, budget, 1.0, stated_sensitivity(0.5)
    )
    fit = GeodesicModel(Euclidean(dim), 0, Distance()).fit(None, points).footpoint
    drawn, sizes = np.empty_like(fit), np.empty(data_sets)
    rng = random_stream(*streams, "geometric_median")
    for k in range(data_sets):
        score = MedianScore(points[k], 0.25 * budget)
        # The square of the records lies in this ball.
        places, values = chains(rng, score, fit[k], 2.0, chosen["chains"], chosen["states"])
        drawn[k], sizes[k] = places[0, -1], smallest_size(places, values)
    return {
        "mean": (mean, mean + noise, np.nan),
        "median": (np.median(first, axis=-1)[:, None], median[:, None], np.nan),
        "geometric_median": (fit, drawn, sizes),
    }


def _losses(chosen, budget):
    """Realised over stated losses: at the published sensitivity and at one."""
    number, rows = chosen["neighbours"], []
    for tau in chosen["tau"]:
        for name, scale in (
            ("private_quantile", stated_sensitivity(tau)),
            ("private_quantile_proved", 1.0),
        ):
            loss = realised_loss(tau, budget, number, scale)
            rows.append(
                {
                    "mechanism": name,
                    "guarantee": PROVED if scale >= 1.0 else FALSE,
                    "tau": tau,
                    "n": number,
                    "budget": budget,
                    "loss": loss,
                    "loss_over_stated": loss / budget,
                }
            )
    return pd.DataFrame(rows)
