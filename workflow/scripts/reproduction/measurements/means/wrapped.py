"""What exact Laplace draws cost and gain over wrapped ones, on one space.

Lengths are integrated by quadrature and directions by a mean over random ones.
"""

import numpy as np
import pandas as pd
from scipy import stats
from scipy.special import roots_genlaguerre

from geodp.errors import DataError
from geodp.means.gaussian import wrapped_gaussian_deviation
from geodp.means.mechanisms import DELTA
from geodp.means.samples import pole
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import mean_sensitivity
from geodp.randomness import random_stream
from geodp.samplers.riemannian_laplace import check_laplace_scale
from reproduction.manifolds import study_manifold

# Lengths of vectors at which volumes are computed, and directions, in which volumes vary little.
NODES, DIRECTIONS = 48, 4000


def measure(settings, space):
    """Table of mean distances by size: exact, wrapped Laplace and wrapped Gaussian.

    Parameters
    ----------
    settings : dict
        ``seed``, ``budget``, ``n`` and the section ``spaces`` of ``config/means.yaml``.
    space : str
        Without positive curvature.
    """
    chosen, budget = settings["spaces"][space], settings["budget"]
    manifold = study_manifold(chosen["manifold"])
    rng = random_stream(settings["seed"], "means", "wrapped", space)
    rows = []
    for number in settings["n"]:
        sensitivity = mean_sensitivity(GeodesicModel(manifold, 0), number, chosen["radius"])
        growth, size = manifold.volume_growth, manifold.dim
        row = {"space": space, "manifold": manifold.name, "n": number, "budget": budget}
        try:
            check_laplace_scale(manifold, sensitivity / budget)
            row["exact"], row["proposals"] = _exact(rng, manifold, sensitivity / budget)
            row["wrapped_laplace"] = size / (budget / sensitivity - growth)
            deviation = wrapped_gaussian_deviation(manifold, sensitivity, budget, DELTA)
            # The mean of a chi variable.
            row["wrapped_gaussian"] = deviation * stats.chi(size).mean()
            row["saved"] = 1.0 - row["exact"] / row["wrapped_laplace"]
            row["refused"] = ""
        except DataError as problem:
            row["refused"] = str(problem)
        rows.append(row)
    return (pd.DataFrame(rows),)


def _exact(rng, manifold, scale):
    """Mean distance of exact Laplace draws, and proposals of a draw.

    Both are means over the Euclidean Laplace distribution from which draws are rejected, whose
    lengths are gamma variables; a proposal is accepted at the chance ``J exp(-growth length)``.
    """
    rate = 1.0 / scale - manifold.volume_growth
    nodes, weights = roots_genlaguerre(NODES, manifold.dim - 1)
    lengths = nodes / rate
    start = np.broadcast_to(pole(manifold), (DIRECTIONS, *manifold.point_shape))
    direction = manifold.random_direction(rng, start)
    chance = np.stack(
        [np.mean(manifold.exp_volume(start, length * direction)) for length in lengths]
    ) * np.exp(-manifold.volume_growth * lengths)
    accepted = weights @ chance
    return (weights * lengths) @ chance / accepted, np.sum(weights) / accepted
