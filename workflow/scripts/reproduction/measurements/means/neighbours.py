"""Means of neighbours on one space, and realised losses of mechanisms there."""

import numpy as np
import pandas as pd

from geodp.means.ambient import ambient_radius, embed
from geodp.means.losses import gradient_losses, losses_by_form, problems_of_neighbours
from geodp.means.samples import SAMPLES, pole
from geodp.means.sensitivity import moved_means
from geodp.mechanisms.registry import mechanism_class
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import mean_sensitivity
from geodp.randomness import random_stream
from reproduction.manifolds import study_manifold


def _losses(manifold, radius, number, budget):
    """Mechanism, support and largest loss found; of gradients the paper states no support."""
    problems = problems_of_neighbours(manifold, pole(manifold), radius, number)
    found = [(name, "", each) for name, each in losses_by_form(problems, budget).items()]
    if found[-1][0] == "kng":
        found[-1] = ("kng", "twice the ball", found[-1][-1])
        for words, ball in (("the ball", radius), ("anywhere", np.pi)):
            found.append(("kng", words, gradient_losses(problems, budget, ball)))
    return [(name, support, float(np.max(each))) for name, support, each in found]


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


def measure(settings, space):
    """Table of neighbours' means, and table of realised losses by mechanism and size."""
    chosen, sizes = settings["spaces"][space], settings["neighbours"]
    manifold, radius = study_manifold(chosen["manifold"]), chosen["radius"]
    model, ambient = GeodesicModel(manifold, 0), ambient_radius(manifold, radius)
    rows = []
    for number in range(sizes["first"], sizes["last"] + 1, sizes["step"]):
        rng = random_stream(settings["seed"], "means", space, f"n{number}", "neighbours")
        shape = (sizes["pairs"], number + 1)
        points = SAMPLES[chosen["data"]](rng, manifold, radius, shape)
        moved, means = moved_means(manifold, points)
        first, second = (embed(manifold, each) for each in means)
        bound = mean_sensitivity(model, number, radius)
        rows.append(
            pd.DataFrame(
                {
                    "space": space,
                    "manifold": manifold.name,
                    "n": number,
                    "pair": np.arange(len(moved)),
                    "moved": moved,
                    "bound": bound,
                    "moved_over_bound": moved / bound,
                    "iterations": iterations(model, points),
                    "ambient_moved": np.linalg.norm(first - second, axis=-1),
                    "ambient_bound": 2.0 * ambient / number,
                }
            )
        )
    budget = settings["budget"]
    losses = [
        {
            "space": space,
            "manifold": manifold.name,
            "mechanism": name,
            "guarantee": mechanism_class(name).status(manifold),
            "support": support,
            "n": number,
            "budget": budget,
            "loss": loss,
            "loss_over_stated": loss / budget,
        }
        for number in settings["losses"]
        for name, support, loss in _losses(manifold, radius, number, budget)
    ]
    return pd.concat(rows, ignore_index=True), pd.DataFrame(losses)
