"""The Frechet mean of many points on the sphere, ours and that of geomstats."""

import os

import numpy as np

from geodp.manifolds.registry import make_manifold
from geodp.means.samples import polar_in_ball
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from reproduction.measurements.benchmark.geomstats_walk import geomstats_space
from reproduction.measurements.benchmark.harness import attempted, row, tabulated, times_of
from reproduction.measurements.benchmark.spaces import SPACES

OUR_MEAN, THEIRS = "mean of the library", "geomstats: FrechetMean"

# Of geomstats by name: squared length of a step at which it stops, and most steps.  Left to its own
# it stops far from the mean.
TO_THE_END = f"{THEIRS} to the end"
SETTINGS = {THEIRS: {}, TO_THE_END: {"epsilon": 1e-20, "max_iter": 200}}

SPACE, RADIUS = "S^2", np.pi / 8


def measure(settings, spaces, rats):
    """Table of times of means, and of the gradients at them."""
    # Before geomstats reads it, which is when it is first used.
    os.environ["GEOMSTATS_BACKEND"] = "numpy"
    model = GeodesicModel(make_manifold(*SPACES[SPACE].manifold), 0)
    rows = []

    def add(points, method, mean, spent, stopped=False):
        place = (SPACE, len(points), method)
        rows.append(row("Frechet mean", *place, spent, "s", is_bound=stopped))
        if mean is not None:
            gradient = model.energy_gradient({FOOTPOINT: mean}, None, points).gradient[FOOTPOINT]
            length = float(model.manifold.norm(mean, gradient))
            rows.append(row("gradient at a Frechet mean", *place, length, "1"))

    for number in settings["means"]["n"]:
        rng = random_stream(settings["seed"], "benchmark", "means", f"n{number}")
        points = polar_in_ball(rng, model.manifold, RADIUS, (number,))
        spent = min(times_of(lambda points=points: model.fit(None, points), 0.0))
        add(points, OUR_MEAN, model.fit(None, points).footpoint, spent)
        for name, chosen in SETTINGS.items():
            tried = _theirs(model.manifold, points, chosen, settings["seconds"]["mean"])
            add(points, name, tried.found, tried.seconds, tried.is_stopped)
    return tabulated(rows)


def _theirs(manifold, points, chosen, limit):
    """The attempt of geomstats at the mean."""
    from geomstats.learning.frechet_mean import FrechetMean

    estimator = FrechetMean(geomstats_space(manifold)).set(**chosen)
    # Once with few points, so that all is loaded.
    estimator.fit(points[:10])
    return attempted(lambda: np.asarray(estimator.fit(points).estimate_), limit)
