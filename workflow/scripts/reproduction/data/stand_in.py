"""Simulated outlines in place of landmarks that cannot be redistributed."""

import numpy as np

from geodp.data.records import TRANSFORMATIONS
from geodp.data.stand_in import simulate_outlines
from geodp.randomness import random_stream
from reproduction.models import study_manifold


def make(job):
    """Simulated data sets of a group, by name, in the form of data read from a file."""
    params, settings = job.params, job.params.settings
    chosen = settings["stand_in"]
    first, last = settings["covariate_range"] or (50.0, 90.0)
    manifold = study_manifold(params.manifold)
    number = params.group["n"]
    simulation = simulate_outlines(
        # Studies with different landmark maps share the outlines.
        random_stream(params.seed, "stand_in", *([f"n{number}"] if number else []), "data"),
        chosen["data_sets"],
        number or chosen["n"],
        params.manifold["size"],
        (first, last),
        chosen["trend_length"],
    )
    # As ages read from a file: transformed, then the limits become 0 and 1.
    transformation = TRANSFORMATIONS[settings["transformation"]]
    low, high = transformation(first), transformation(last)
    ages = np.vectorize(transformation)(simulation.ages)
    start = manifold.from_landmarks(simulation.first_outline)
    return {
        "covariates": ((ages - low) / (high - low))[..., None],
        "points": manifold.from_landmarks(simulation.outlines),
        "true_footpoint": np.broadcast_to(start, (chosen["data_sets"], *start.shape)),
        "covariate_range": [low, high],
        "description": np.array("simulated stand-in"),
    }
