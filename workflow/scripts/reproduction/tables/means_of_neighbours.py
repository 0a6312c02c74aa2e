"""Means of random neighbouring data sets on one space."""

import numpy as np
import pandas as pd

from geodp.means.ambient import ambient_radius, embed
from geodp.means.samples import in_ball
from geodp.means.sensitivity import moved_means
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import mean_sensitivity
from geodp.randomness import random_stream
from reproduction.manifolds import study_manifold


def tabulate(job):
    """A row a pair: how far its means are apart, of how much at most, and steps to the first."""
    chosen, parts = job.params.settings, []
    manifold, radius = study_manifold(chosen["manifold"]), chosen["radius"]
    model, ambient = GeodesicModel(manifold, 0), ambient_radius(manifold, radius)
    common = {"space": chosen["space"], "manifold": manifold.name}
    for number in sorted(chosen["n"]):
        rng = random_stream(job.params.seed, "means", chosen["space"], f"n{number}", "neighbours")
        points = in_ball(rng, manifold, radius, (chosen["pairs"], number + 1))
        moved, means = moved_means(manifold, points)
        first, second = (embed(manifold, each) for each in means)
        bound = mean_sensitivity(model, number, radius)
        columns = common | {
            "n": number,
            "pair": np.arange(len(moved)),
            "moved": moved,
            "bound": bound,
            "moved_over_bound": moved / bound,
            "iterations": iterations(model, points),
            "ambient_moved": np.linalg.norm(first - second, axis=-1),
            "ambient_bound": 2.0 * ambient / number,
        }
        parts.append(pd.DataFrame(columns))
    return pd.concat(parts, ignore_index=True)


def iterations(model, points, step=0.5, enough=1e-5, most=500):
    """Numbers of steps (data_sets,) from the first record until the gradient is short enough.

    Source: Soto et al., supplement 2.1.
    """
    manifold, [block] = model.manifold, model.blocks
    at, taken = points[:, 0], np.zeros(len(points), dtype=int)
    for _ in range(most):
        gradient = model.energy_gradient({block: at}, None, points).gradient[block]
        far = manifold.norm(at, gradient) > enough
        if not np.any(far):
            break
        at = manifold.exp(at, -step * gradient)
        taken += far
    return taken
