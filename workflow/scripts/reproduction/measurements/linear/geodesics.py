"""The published mechanism on the sphere: footpoints, angles and mean absolute errors of draws."""

import numpy as np
import pandas as pd

from geodp.data.simulate import simulate_geodesic_data
from geodp.evaluation import mean_absolute_errors
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.base import PublicSettings
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.models.blocks import FOOTPOINT
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers import choice
from reproduction.measurements.words import joined

MODEL = GeodesicModel(Sphere(2), 1)


def signed_angles(manifold, fit, footpoints, vectors):
    """Angles in degrees from the fitted shooting vector, carried to each footpoint, to drawn ones.

    On S^2, counterclockwise as seen from outside, for footpoints (data_sets, F, 3) and vectors
    (data_sets, F, V, 3): an array (data_sets, F, V).
    """
    first, second = (value[:, None] for value in fit.values())
    carried = manifold.transport_to(first, footpoints, second)
    aside = np.cross(footpoints, carried)
    ahead, left = (np.einsum("kfi,kfvi->kfv", each, vectors) for each in (carried, aside))
    return np.degrees(np.arctan2(left, ahead))


def skewness(values):
    """Third central moment over the power 3/2 of the variance."""
    centred = values - np.mean(values)
    return np.mean(centred**3) / np.mean(centred**2) ** 1.5


def simulated(rng, settings, data_sets, number, noise_variance):
    """Data sets about geodesics of the study's length."""
    return simulate_geodesic_data(
        rng, MODEL, data_sets, number, noise_variance, settings["shooting_vector_length"]
    )


def _streams(settings, cell):
    """Group of a cell, and the key of its random streams."""
    number, variance, budget = (cell[key] for key in ("n", "noise_variance", "budget"))
    group = f"n{number}_noise{variance:g}"
    return group, (settings["seed"], "geodesic_vs_notebook", group, f"budget{budget:g}")


def data_of_cell(settings, cell):
    """Data sets of a cell."""
    chosen, (_, streams) = settings["geodesic_vs_notebook"], _streams(settings, cell)
    rng = random_stream(*streams, "data")
    return simulated(rng, chosen, chosen["data_sets"], cell["n"], cell["noise_variance"])


def measure(settings, part, parts):
    """Table of data sets of every ``parts``-th cell, and table of draws of the first of them."""
    cells = settings["geodesic_vs_notebook"]["cells"][part::parts]
    tables, shown = zip(*(_of_cell(settings, cell) for cell in cells), strict=True)
    return pd.concat(tables), shown[0]


def _of_cell(settings, setting):
    """Table of data sets of one cell, and table of the draws of its first data set."""
    chosen = settings["geodesic_vs_notebook"]
    number, variance, budget = (setting[key] for key in ("n", "noise_variance", "budget"))
    group, streams = _streams(settings, setting)
    data = data_of_cell(settings, setting)
    fit = MODEL.fit(data.covariates, data.points)
    mechanism = KNGAsPublished.prepare(MODEL, data.covariates, data.points, PublicSettings(), fit)
    block = MODEL.blocks[1]
    budgets = {FOOTPOINT: f"{budget}", block: f"{budget}"}
    draws = {FOOTPOINT: chosen["footpoints"], block: chosen["shooting_vectors"]}
    rows, shown = [], None
    for data_set in range(chosen["data_sets"]):
        # One at a time: the cells of an envelope are shared out among those drawn together.
        part = mechanism.take(slice(data_set, data_set + 1))
        rng = random_stream(*streams, "draws", f"{data_set}")
        drawn = part.draw(rng, budgets, draws, choice.plan)
        footpoints, vectors = drawn.parameters.values()
        [away] = MODEL.manifold.dist(part.fit.footpoint[:, None], footpoints)
        [angles] = signed_angles(MODEL.manifold, part.fit.parameters, footpoints, vectors)
        [errors] = mean_absolute_errors(MODEL, drawn.parameters, part.covariates, part.points)
        by_footpoint = np.mean(errors, axis=-1)
        residuals = MODEL.residual_distances(part.fit.parameters, part.covariates, part.points)
        mean, least = np.mean(by_footpoint), np.mean(residuals)
        rows.append(
            {
                "data_set": data_set,
                "footpoint_mean": np.mean(away),
                "footpoint_deviation": np.std(away, ddof=1),
                "footpoint_skewness": skewness(away),
                "angle_mean": np.mean(angles),
                "angle_deviation": np.std(angles, ddof=1),
                "log_absolute_error": np.log(mean),
                "log_non_private_absolute_error": np.log(least),
                "log_absolute_gap": np.log(mean / least),
                "error_deviation": np.std(by_footpoint, ddof=1),
                "error_variation": np.std(by_footpoint, ddof=1) / mean,
                "error_skewness": skewness(by_footpoint),
                **{f"{name}_drawn_by": each.drawn_by for name, each in drawn.reports.items()},
            }
        )
        if shown is None:
            shown = pd.DataFrame(
                {
                    "footpoint": np.arange(len(away)),
                    "distance": away,
                    "absolute_error": by_footpoint,
                    # One angle a footpoint: others at it share the footpoint.
                    "angle": angles[:, 0],
                    "non_private_absolute_error": least,
                }
            )
    columns = {
        "manifold": MODEL.manifold.name,
        "mechanism": mechanism.name,
        "guarantee": mechanism.guarantee.status,
        "group": group,
        "cell": f"p{budget}_v{budget}",
        "n": number,
        "noise_variance": variance,
        # In all, by composition.
        "budget": 2.0 * budget,
    }
    return tuple(
        table.assign(**columns)[[*columns, *table]] for table in (pd.DataFrame(rows), shown)
    )


def summarise(tables, **_):
    """One table of all cells, sizes in order."""
    return {"csv": joined(tables).sort_values(["n", "mechanism", "data_set"], kind="stable")}
