"""How far one record moves the scores, space by space."""

import numpy as np
import pandas as pd

from geodp.audit.change import largest_change
from geodp.audit.published import SPHERE, VARIANTS, search_change
from geodp.audit.search import worst_neighbour
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.certified import SCORES, PublicInputs
from geodp.randomness import random_stream
from reproduction.measurements.audit.setting import (
    CERTIFIED,
    UNIT,
    record_domain,
    sphere_data,
    sphere_setting,
)

# Published densities whose gradient's change is compared with what it is said to be.
MOVED = (
    "tau shared, v fixed",
    "tau shared, v fixed, any footpoint",
    "residuals clipped",
    "shooting vector, tau shared",
    "shooting vector, residuals clipped",
)


def sensitivity_inputs(manifold, number):
    """Public inputs of a search on any space; those of lengths in its own unit."""
    centre = manifold.random_point(np.random.default_rng(0))
    return PublicInputs(
        manifold,
        centre,
        footpoint_radius=0.6,
        shooting_vector_length=1.2,
        covariate_range=UNIT,
        gradient_scale=0.3,
        loss_scale=0.4,
        number=number,
        loss_offset=0.2,
    )


def measure(settings):
    """Table of how far a record moves each score, as a fraction of its sensitivity, by space."""
    chosen, rows = settings["sensitivity"], []

    def keep(mechanism, manifold, score, number, found):
        rows.append(
            {
                "mechanism": mechanism,
                "space": manifold.name,
                "dimension": manifold.dim,
                "score": score,
                "n": number,
                "largest_fraction": np.max(found),
                "median_fraction": np.median(found),
                "searches": len(found),
                "rounds": chosen["rounds"],
                "at_most_one": bool(np.max(found) <= 1.0),
            }
        )

    for space in chosen["spaces"]:
        manifold = make_manifold(space["name"], space["size"])
        public = sensitivity_inputs(manifold, chosen["n"])
        for score in SCORES:
            rng = random_stream(settings["seed"], "audit", "sensitivity", manifold.name, score)
            effort = {name: chosen[name] for name in ("searches", "rounds")}
            found = largest_change(rng, public, score, **effort)
            keep(CERTIFIED, manifold, score, chosen["n"], found)
    sphere, seed = settings["sphere"], settings["seed"]
    number = sphere["n"][0]
    first = sphere_data(sphere, seed, number)
    for name in MOVED:
        change = search_change(VARIANTS[name], sphere_setting(sphere), first)
        rng = random_stream(seed, "audit", "sensitivity", name)
        _, found = worst_neighbour(
            rng, *first, record_domain(sphere), change, rounds=sphere["search"]["rounds"]
        )
        keep(name, SPHERE, "norm of a gradient", number, np.array([found]))
    return (pd.DataFrame(rows),)
