"""Published over realised sensitivities of neighbouring data sets on the sphere."""

import numpy as np
import pandas as pd

from geodp.models.sensitivity import neighbour_ratios
from geodp.randomness import random_stream
from reproduction.measurements.linear.geodesics import MODEL, simulated, skewness


def measure(settings):
    """Table of published over realised sensitivities, a row a pair; and their skewness."""
    chosen = settings["geodesic_vs_notebook"]
    pairs = chosen["neighbours"]
    variance = chosen["cells"][0]["noise_variance"]
    rng = random_stream(settings["seed"], "geodesic_vs_notebook", "neighbours")
    data = simulated(rng, chosen, pairs["pairs"], pairs["n"] + 1, variance)
    ratios = neighbour_ratios(MODEL, data.covariates, data.points)
    table = pd.DataFrame(
        {
            "manifold": MODEL.manifold.name,
            "n": pairs["n"],
            "noise_variance": variance,
            "pair": np.arange(pairs["pairs"]),
            **ratios,
        }
    )
    bounds = {"manifold": MODEL.manifold.name, "n": pairs["n"]}
    for block in MODEL.blocks:
        bounds[f"mean_{block}"] = np.mean(ratios[f"ratio_{block}"])
        bounds[f"skewness_{block}"] = skewness(ratios[f"ratio_{block}"])
    return table, pd.DataFrame([bounds])
