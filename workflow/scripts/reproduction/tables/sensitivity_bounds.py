"""How far the logarithm of a record moves on the sphere, by the radius of the ball."""

import numpy as np
import pandas as pd

from geodp.means.sensitivity import largest_change_of_logs
from geodp.models.sensitivity import convexity
from reproduction.manifolds import study_manifold


def tabulate(job):
    """A row a radius: without curvature, the largest on a grid, and the bound of theorem 2."""
    manifold, number = study_manifold(job.params.settings["manifold"]), job.params.settings["radii"]
    radii = 0.25 * np.pi * np.arange(1, number + 1) / (number + 1)
    largest = np.array([largest_change_of_logs(manifold, radius) for radius in radii])
    flat, bound = 2.0 * radii, [2.0 * r * (2.0 - convexity(manifold, r)) for r in radii]
    columns = {"without_curvature": flat, "largest_on_grid": largest, "bound": bound}
    ratios = {"over_flat": largest / flat, "over_bound": largest / bound}
    return pd.DataFrame({"manifold": manifold.name, "radius": radii} | columns | ratios)
