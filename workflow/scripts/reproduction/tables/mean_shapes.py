"""Private mean shapes of one data set: distances of draws, and landmarks."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from geodp.data.stand_in import simulate_outlines
from geodp.errors import DataError
from geodp.means.problem import MeanProblem
from geodp.mechanisms.base import NONE, PublicSettings
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.mechanisms.means import LandmarkwiseLaplace, Laplace, PrivateSteps
from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers.choice import plan
from reproduction.manifolds import study_manifold
from reproduction.tables.subject_means import coordinates, read_means

# Of the mean from the centre of the ball of private steps, as a share of the data's radius, and
# that ball's radius: as if another study had told them.  A budget is proved for a public ball.
DISPLACEMENT, WIDER = 0.5, 1.5


def tabulate(job):
    """A row the mean, and one each draw, with landmarks turned to the mean."""
    chosen = job.params.settings
    manifold, budget = study_manifold(chosen["manifold"]), chosen["budget"]
    stream = partial(random_stream, job.params.seed, "means", chosen["space"])
    if job.input.table:
        points = read_means(job, manifold)[None]
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
        columns |= coordinates(manifold, problem.mean, points)
        tables.append(pd.DataFrame(common | columns))
    return pd.concat(tables, ignore_index=True)


def _drawn(stream, problem, fit, budget, draws):
    """Draws of each mechanism, by name."""
    [block], [mean], within = problem.model.blocks, problem.mean, 2.0 * problem.radius
    public = PublicSettings(data_radius=problem.radius, centre=mean, footpoint_radius=within)
    kng = KNGAsPublished.prepare(problem.model, None, problem.points, public, fit)
    drawn = kng.draw(stream("kng"), {block: budget}, {block: draws}, plan).parameters[block][0]
    found = {"kng": drawn}
    found["laplace"] = laplace_within(stream("laplace"), problem, budget, within, draws)
    rng, manifold = stream("private_steps"), problem.manifold
    step = DISPLACEMENT * problem.radius * manifold.random_direction(rng, mean)
    moved = replace(problem, centre=manifold.exp(mean, step), radius=WIDER * problem.radius)
    by_landmark = LandmarkwiseLaplace.of(problem), stream("landmarkwise_laplace")
    for each, random in (by_landmark, (PrivateSteps.of(moved), rng)):
        one = (each.private_means(random, budget) for _ in range(draws))
        found[each.name] = np.concatenate(list(one))
    return found


def laplace_within(rng, problem, budget, radius, draws):
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
