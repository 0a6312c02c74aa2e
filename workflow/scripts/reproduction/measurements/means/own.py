"""Mean, median and private means of a table of one's own.

What is written shows the data, too: it is no release.
"""

import numpy as np
import pandas as pd

from geodp.data.records import FEWEST_RECORDS
from geodp.errors import DataError
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.means.problem import fitted, repeated
from geodp.mechanisms.means import ROUNDING
from geodp.mechanisms.registry import mechanism_class, named_in
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance
from geodp.models.sensitivity import largest_radius
from geodp.randomness import random_stream
from geodp.settings.sections import public_centre
from reproduction.data.table import read_settings
from reproduction.manifolds import study_manifold
from reproduction.measurements.means.subjects import subject_means

# By mechanism whose sensitivity needs convexity: that of a ball how much wider.  Draws of the
# K-norm gradient mechanism are up to three radii from the data.
RADIUS_SHARES = {"laplace": 1.0, "kng": 1.5}


def measure(settings, table):
    """Table of estimates and table of draws.

    Mechanisms that the space or the data do not allow have a reason in place of numbers, and those
    whose budget is known not to hold are left out.
    """
    chosen, budget = settings["own"], settings["budget"]
    manifold = study_manifold(chosen["manifold"])
    points = _points(manifold, table, chosen)[None]
    centre = public_centre(manifold, chosen["centre"], "configuration key own.centre")
    radius = chosen["radius"]
    problem = fitted(manifold, centre, radius, points)
    outside = int(np.sum(manifold.dist(centre, points) > radius * (1.0 + ROUNDING)))
    common = {"manifold": manifold.name, "n": problem.number, "outside": outside}
    median = GeodesicModel(manifold, 0, Distance()).fit(None, points).footpoint
    many = repeated(problem, chosen["draws"])
    estimates, kept = [], []
    for name, place in (("mean", problem.mean), ("median", median)):
        estimates.append(common | {"estimate": name, "refused": ""})
        kept.append(_places(manifold, problem.mean, place, common | {"estimate": name}))
    for name in named_in("own"):
        mechanism = mechanism_class(name)
        if name == "landmarkwise_laplace" and not isinstance(manifold, KendallPlanarShapes):
            continue
        row = common | {"estimate": name, "budget": budget}
        rng = random_stream(settings["seed"], "means", "own", name)
        try:
            guarantee = mechanism.status(manifold)
            _check_radius(manifold, name, radius)
            if outside and not mechanism.anywhere:
                raise DataError(
                    f"{outside} of {problem.number} subjects are outside of the ball, and its "
                    "budget is for data within: take a larger radius"
                )
            drawn = mechanism.of(many).private_means(rng, budget)
            if not np.all(np.isfinite(drawn)):
                raise DataError(
                    "draws are not finite numbers: take a larger budget, or more subjects"
                )
        except DataError as problem_of_it:
            estimates.append(row | {"refused": str(problem_of_it)})
            continue
        row["guarantee"] = guarantee
        away = manifold.dist(problem.mean, drawn)
        quantiles = {f"q{percent}": np.quantile(away, percent / 100) for percent in (10, 50, 90)}
        estimates.append(
            row | {"refused": "", "draws": len(drawn), "distance": np.mean(away)} | quantiles
        )
        kept.append(_places(manifold, problem.mean, drawn, row))
    return pd.DataFrame(estimates), pd.concat(kept, ignore_index=True)


def _points(manifold, table, chosen):
    """A point for each subject; errors name the key of the configuration."""
    try:
        records = read_settings(table, chosen["manifold"], chosen["data"], "own.data")
    except DataError as problem:
        if problem.argument is not None or "configuration key" in str(problem):
            raise
        raise DataError(f"{problem} (configuration key own.data)") from problem
    points = subject_means(manifold, records)
    if len(points) < FEWEST_RECORDS:
        raise DataError(
            f"{table}: a private mean needs at least {FEWEST_RECORDS} subjects and there are "
            f"{len(points)}: name another column (configuration key own.data.subject)"
        )
    return points


def _check_radius(manifold, name, radius):
    """Refuse balls in which nothing is known of a mechanism's sensitivity."""
    if name not in RADIUS_SHARES:
        return
    limit = largest_radius(manifold) / RADIUS_SHARES[name]
    if not radius < limit:
        raise DataError(
            f"the radius is {radius:g}, and on {manifold.name} nothing is known of its budget "
            f"from {limit:.4g} on: give a smaller one (configuration key own.radius)"
        )


def _places(manifold, mean, points, common):
    """Coordinates of points, a row each; of shapes turned to the mean, real and imaginary parts."""
    if isinstance(manifold, KendallPlanarShapes):
        points = manifold.to_landmarks(manifold.align(mean, points))
        flat = np.stack([points.real, points.imag], axis=-1).reshape(len(points), -1)
    else:
        flat = points.reshape(len(points), -1)
    columns = {f"coordinate_{k + 1}": column for k, column in enumerate(flat.T)}
    return pd.DataFrame(common | {"draw": np.arange(len(points))} | columns)
