"""Private and other means of records of a file, for studies; what is written shows the data.

What is written shows the data, too: it is no release.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from geodp.data.columns import landmark_columns
from geodp.data.records import FEWEST_RECORDS
from geodp.data.stand_in import simulate_outlines
from geodp.errors import DataError
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.mechanisms.mean_noise import LandmarkwiseLaplace, PrivateSteps
from geodp.mechanisms.means import Laplace, MeanProblem
from geodp.mechanisms.mechanism import FALSE, NONE, PublicSettings
from geodp.mechanisms.registry import mechanism_class, named_in
from geodp.models.geodesic import GeodesicModel
from geodp.models.losses import Distance, SquaredDistance
from geodp.randomness import random_stream
from geodp.samplers.choice import plan
from geodp.settings.shared_sections import public_centre
from reproduction.data.table import read_settings
from reproduction.models import study_manifold


def _place(job):
    """Configuration key of a table."""
    return f"studies.{job.params.study}.tables.{job.wildcards.table}"


def _read_means(job, manifold):
    """Frechet means of subjects' records (subjects, *point_shape); all records if none is named."""
    chosen = job.params.settings
    about = (chosen["manifold"], chosen["data"], f"{_place(job)}.data")
    records = read_settings(job.input.table, *about)
    if not records.subjects:
        return records.points
    model, subjects = GeodesicModel(manifold, 0), np.array(records.subjects)
    own = (records.points[subjects == subject] for subject in dict.fromkeys(records.subjects))
    return np.stack([model.fit(None, points).footpoint for points in own])


def _coordinates(manifold, mean, points):
    """Columns of points, by name; of shapes turned to the mean their landmarks."""
    if not isinstance(manifold, KendallPlanarShapes):
        flat = points.reshape(len(points), -1)
        return {f"coordinate_{k}": column for k, column in enumerate(flat.T, 1)}
    places = np.ascontiguousarray(manifold.to_landmarks(manifold.align(mean, points))).view(float)
    return dict(zip(landmark_columns(places.shape[1] // 2), places.T, strict=True))


def own_means(job):
    """Mean, median and private means: a row an estimate, of kind ``estimate``, then its draws.

    Mechanisms that the space or the data do not allow have a reason in place of numbers, and those
    whose budget is known not to hold are left out.
    """
    chosen, budget = job.params.settings, job.params.settings["budget"]
    manifold, key = study_manifold(chosen["manifold"]), _place(job)
    points = _read_means(job, manifold)[None]
    number = points.shape[1]
    if number < FEWEST_RECORDS:
        raise DataError(
            f"{job.input.table}: a private mean needs at least {FEWEST_RECORDS} subjects and there "
            f"are {number}: name another column (configuration key {key}.data.subject)"
        )
    model, at_median = (
        GeodesicModel(manifold, 0, loss) for loss in (SquaredDistance(), Distance())
    )
    fit = model.fit(None, points)
    centre = public_centre(manifold, chosen["centre"], f"{key}.centre")
    public = PublicSettings(data_radius=chosen["radius"], centre=centre)

    def rows(kind, name, places=None, **columns):
        """One row, or one for each of some points."""
        columns |= {} if places is None else _coordinates(manifold, fit.footpoint, places)
        common = {"manifold": manifold.name, "n": number, "kind": kind, "estimate": name}
        return pd.DataFrame(common | columns, range(1 if places is None else len(places)))

    estimates, draws = [rows("estimate", "mean", fit.footpoint)], []
    estimates.append(rows("estimate", "median", at_median.fit(None, points).footpoint))
    # Others with a proved budget are better.
    left_out = ("laplace_as_published", "laplace_general")
    for name in named_in("means"):
        kind = mechanism_class(name)
        if name in left_out or kind.status(manifold) == FALSE:
            continue
        rng = random_stream(job.params.seed, "means", "own", name)
        try:
            mechanism = kind.prepare(model, None, points, public, fit)
            [drawn] = mechanism.many_means(rng, budget, chosen["draws"])
            if not np.all(np.isfinite(drawn)):
                raise DataError(
                    "draws are no finite numbers: take a larger budget or more subjects"
                )
        except DataError as problem:
            estimates.append(rows("estimate", name, budget=budget, refused=str(problem)))
            continue
        told = {"budget": budget, "guarantee": kind.status(manifold)}
        away = manifold.dist(fit.footpoint, drawn)
        found = {f"q{percent}": np.quantile(away, percent / 100) for percent in (10, 50, 90)}
        estimates.append(rows("estimate", name, distance=np.mean(away), **found, **told))
        draws.append(rows("draw", name, drawn, distance=away, draw=np.arange(len(away)), **told))
    return pd.concat([*estimates, *draws], ignore_index=True)


def mean_shapes(job):
    """Private mean shapes: a row the mean, and one each draw, with landmarks turned to the mean."""
    chosen = job.params.settings
    manifold, budget = study_manifold(chosen["manifold"]), chosen["budget"]
    stream = partial(random_stream, job.params.seed, "means", chosen["space"])
    if job.input.table:
        points = _read_means(job, manifold)[None]
    else:
        number, _, trend = chosen["data"]["stand_in"].values()
        size = (1, number, manifold.landmarks)
        outlines = simulate_outlines(stream("data"), *size, trend_length=trend).outlines
        points = manifold.from_landmarks(outlines)
    fit = GeodesicModel(manifold, 0).fit(None, points)
    # As published: the radius is read off the data.
    radius = float(fit.largest_residual[0])
    problem = MeanProblem(fit.model, fit.footpoint[0], radius, points, fit.footpoint)
    common = {"space": chosen["space"], "manifold": manifold.name, "n": problem.number}
    common |= {"budget": budget, "simulated": not job.input.table, "guarantee": NONE}
    common |= {"radius": radius, "group": f"n{problem.number}"}
    drawn = {"mean": problem.mean} | _drawn(stream, problem, fit, budget, chosen["draws"])
    tables = []
    for name, points in drawn.items():
        away = manifold.dist(problem.mean, points)
        columns = {"mechanism": name, "cell": name, "draw": np.arange(len(points))}
        columns |= {"distance": away, "over_radius": away / radius}
        columns |= _coordinates(manifold, problem.mean, points)
        tables.append(pd.DataFrame(common | columns))
    return pd.concat(tables, ignore_index=True)


def _drawn(stream, problem, fit, budget, draws, displacement=0.5, wider=1.5):
    """Draws of each mechanism, by name.

    The ball of private steps is wider, and its centre displaced from the mean, in radii of the
    data: as if another study had told them.  A budget is proved for a public ball.
    """
    [block], [mean], within = problem.model.blocks, problem.mean, 2.0 * problem.radius
    public = PublicSettings(data_radius=problem.radius, centre=mean, footpoint_radius=within)
    kng = KNGAsPublished.prepare(problem.model, None, problem.points, public, fit)
    drawn = kng.draw(stream("kng"), {block: budget}, {block: draws}, plan).parameters[block][0]
    found = {"kng": drawn}
    found["laplace"] = _laplace_within(stream("laplace"), problem, budget, within, draws)
    rng, manifold = stream("private_steps"), problem.manifold
    step = displacement * problem.radius * manifold.random_direction(rng, mean)
    moved = replace(problem, centre=manifold.exp(mean, step), radius=wider * problem.radius)
    by_landmark = LandmarkwiseLaplace.of(problem), stream("landmarkwise_laplace")
    for each, random in (by_landmark, (PrivateSteps.of(moved), rng)):
        one = (each.private_means(random, budget) for _ in range(draws))
        found[each.name] = np.concatenate(list(one))
    return found


def _laplace_within(rng, problem, budget, radius, draws):
    """Draws of the Laplace mechanism within a radius of the mean, as the others are."""
    mechanism, kept = Laplace.of(problem), problem.mean[:0]
    for _ in range(1000):
        if len(kept) >= draws:
            return kept[:draws]
        [drawn] = mechanism.many_means(rng, budget, draws)
        near = problem.manifold.dist(problem.mean[0], drawn) <= radius
        kept = np.concatenate([kept, drawn[near]])
    raise DataError(
        f"of {1000 * draws} Laplace draws {len(kept)} are within {radius:.3g} of the mean: take a "
        "larger budget"
    )
