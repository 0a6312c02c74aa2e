"""How far one record moves the gradients of the published densities on the sphere."""

import pandas as pd

from geodp.audit.published import SPHERE, VARIANTS, search_change
from geodp.audit.search import worst_neighbour
from geodp.randomness import random_stream
from reproduction.measurements.audit.setting import record_domain, sphere_data, sphere_setting

# Published densities whose gradient's change is compared with what it is said to be.
MOVED = (
    "tau shared, v fixed",
    "tau shared, v fixed, any footpoint",
    "residuals clipped",
    "shooting vector, tau shared",
    "shooting vector, residuals clipped",
)


def measure(settings):
    """Table of how far a record moves each gradient, as a fraction of its sensitivity."""
    sphere, seed = settings["sphere"], settings["seed"]
    number, rounds = sphere["n"][0], sphere["search"]["rounds"]
    first, rows = sphere_data(sphere, seed, number), []
    for name in MOVED:
        change = search_change(VARIANTS[name], sphere_setting(sphere), first)
        rng = random_stream(seed, "audit", "sensitivity", name)
        _, found = worst_neighbour(rng, *first, record_domain(sphere), change, rounds=rounds)
        rows.append(
            {
                "mechanism": name,
                "space": SPHERE.name,
                "dimension": SPHERE.dim,
                "score": "norm of a gradient",
                "n": number,
                "largest_fraction": found,
                "at_most_one": bool(found <= 1.0),
            }
        )
    return (pd.DataFrame(rows),)
