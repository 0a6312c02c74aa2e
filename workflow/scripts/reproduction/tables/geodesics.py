"""The published mechanism on the sphere: records, draws, and errors of many data sets."""

import numpy as np
import pandas as pd
from joblib import Parallel, delayed
from scipy.stats import skew

from geodp.data.simulate import simulate_geodesic_data
from geodp.evaluation import mean_absolute_errors
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.mechanisms.mechanism import PublicSettings
from geodp.models.geodesic import GeodesicModel
from geodp.models.sensitivity import neighbour_ratios
from geodp.randomness import random_stream
from geodp.samplers import choice

MODEL = GeodesicModel(Sphere(2), 1)


def geodesics(job):
    """Rows of all cells, or of the kind that is asked for of the first."""
    params, cells = job.params, job.params.settings["cells"]
    of_the_first = {"draws": _draws, "records": _records, "neighbours": _neighbours}
    if table := of_the_first.get(params.settings["rows"]):
        return table(params, cells[0])
    made = pd.concat(Parallel(job.threads)(delayed(_data_sets)(params, cell) for cell in cells))
    return made.sort_values(["n", "mechanism", "data_set"], kind="stable")


def _simulated(params, cell):
    """Columns that describe a cell, the key of its random streams, and its data sets."""
    number, variance, budget = (cell[name] for name in ("n", "noise_variance", "budget"))
    group = f"n{number}_noise{variance:g}"
    columns = {
        **{"manifold": MODEL.manifold.name, "mechanism": KNGAsPublished.name, "group": group},
        **{"guarantee": KNGAsPublished.guarantee.status, "cell": f"p{budget}_v{budget}"},
        # In all, by composition.
        **{"n": number, "noise_variance": variance, "budget": 2.0 * budget},
    }
    key = (params.seed, params.study, group, f"budget{budget:g}")
    chosen = params.settings
    shape = chosen["data_sets"], number, variance, chosen["shooting_vector_length"]
    return columns, key, simulate_geodesic_data(random_stream(*key, "data"), MODEL, *shape)


def _neighbours(params, cell):
    """Published over realised sensitivity of pairs, and the skewness of the ratios of all."""
    rng = random_stream(params.seed, params.study, "neighbours")
    number, variance, chosen = cell["n"], cell["noise_variance"], params.settings
    shape = chosen["pairs"], number + 1, variance, chosen["shooting_vector_length"]
    data = simulate_geodesic_data(rng, MODEL, *shape)
    table = pd.DataFrame(neighbour_ratios(MODEL, data.covariates, data.points))
    skewed = {f"skewness_{block}": skew(table[f"ratio_{block}"]) for block in MODEL.blocks}
    table = table.rename_axis("pair").reset_index()
    return table.assign(manifold=MODEL.manifold.name, n=number, noise_variance=variance, **skewed)


def _records(params, cell):
    """Records, and places of the geodesic that is fitted to them."""
    columns, _, data = _simulated(params, cell)
    fit = MODEL.fit(data.covariates[:1], data.points[:1]).take(0)
    fitted = MODEL.predict(fit.parameters, np.linspace(0.0, 1.0, 61))
    names = [f"coordinate_{k}" for k in (1, 2, 3)]
    return pd.concat(
        pd.DataFrame(points, columns=names).assign(kind=kind, **columns)
        for kind, points in {"observed": data.points[0], "without privacy": fitted}.items()
    )


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


def _drawn(params, cell, key, data, data_sets):
    """By data set: distances of footpoints and the fit, angles, mean absolute errors by footpoint.

    Then the error of the fit, and how each parameter was drawn.
    """
    x, points = data.covariates, data.points
    mechanism = KNGAsPublished.prepare(MODEL, x, points, PublicSettings(), MODEL.fit(x, points))
    budgets = dict.fromkeys(MODEL.blocks, f"{cell['budget']}")
    numbers = (params.settings[name] for name in ("footpoints", "shooting_vectors"))
    draws = dict(zip(MODEL.blocks, numbers, strict=True))
    for data_set in range(data_sets):
        # One at a time: the cells of an envelope are shared out among those drawn together.
        part = mechanism.take(slice(data_set, data_set + 1))
        rng = random_stream(*key, "draws", f"{data_set}")
        drawn = part.draw(rng, budgets, draws, choice.plan)
        footpoints, vectors = drawn.parameters.values()
        [away] = MODEL.manifold.dist(part.fit.footpoint[:, None], footpoints)
        [angles] = signed_angles(MODEL.manifold, part.fit.parameters, footpoints, vectors)
        [errors] = mean_absolute_errors(MODEL, drawn.parameters, part.covariates, part.points)
        residuals = MODEL.residual_distances(part.fit.parameters, part.covariates, part.points)
        by = {f"{name}_drawn_by": report.drawn_by for name, report in drawn.reports.items()}
        yield away, angles, np.mean(errors, axis=-1), np.mean(residuals), by


def _draws(params, cell):
    columns, key, data = _simulated(params, cell)
    [(away, angles, errors, least, _)] = _drawn(params, cell, key, data, 1)
    # One angle a footpoint: others at it share the footpoint.
    shown = {"distance": away, "absolute_error": errors, "angle": angles[:, 0]}
    table = pd.DataFrame(shown).rename_axis("footpoint").reset_index()
    return table.assign(non_private_absolute_error=least, **columns)


def _moments(name, values):
    moments = {"mean": np.mean(values), "deviation": np.std(values, ddof=1)}
    moments["skewness"] = skew(values, axis=None)
    return {f"{name}_{moment}": value for moment, value in moments.items()}


def _data_sets(params, cell):
    """Moments of draws, a row a data set."""
    (columns, key, data), rows = _simulated(params, cell), []
    for drawn in _drawn(params, cell, key, data, params.settings["data_sets"]):
        away, angles, errors, least, by = drawn
        row = {"data_set": len(rows), **_moments("footpoint", away), **_moments("angle", angles)}
        row |= _moments("error", errors)
        mean = row["error_mean"]
        rows.append(
            {
                **row,
                "error_variation": row["error_deviation"] / mean,
                "log_absolute_error": np.log(mean),
                "log_non_private_absolute_error": np.log(least),
                "log_absolute_gap": np.log(mean / least),
                **by,
            }
        )
    return pd.DataFrame(rows).assign(**columns)
