"""Private mean shapes of one data set: distances of draws, and landmarks of the first of them."""

from dataclasses import replace

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
from reproduction.data.table import read_settings
from reproduction.manifolds import study_manifold
from reproduction.measurements.means.subjects import subject_means
from reproduction.measurements.rats import observed_rats

# Of the mean from the centre of the ball of private steps, as a share of the data's radius, and
# that ball's radius: as if another study had told them.  A budget is proved for a public ball.
DISPLACEMENT, WIDER = 0.5, 1.5

# Draws whose landmarks are kept.
SHOWN = 6


def _data(rng, manifold, chosen, rats, table, key):
    """Points (n, *point_shape), one for each subject, and whether they are simulated."""
    if chosen["data"] == "rats":
        # A rat is measured at several ages, and the unit of privacy is a rat.
        return subject_means(manifold, observed_rats(manifold, rats)), False
    if table:
        records = read_settings(table, chosen["manifold"], chosen["file"], key)
        return subject_means(manifold, records), False
    found = simulate_outlines(rng, 1, chosen["n"], manifold.landmarks)
    return manifold.from_landmarks(found.outlines)[0], True


def _drawn(settings, space, problem, fit):
    """Draws of each mechanism, and whether its budget is proved, by name."""
    budget, draws = settings["budget"], settings["shapes"]["draws"]
    manifold, streams = problem.manifold, (settings["seed"], "means", space)
    [block] = problem.model.blocks
    public = PublicSettings(
        data_radius=problem.radius, centre=problem.mean[0], footpoint_radius=2.0 * problem.radius
    )
    kng = KNGAsPublished.prepare(problem.model, None, problem.points, public, fit)
    found = kng.draw(random_stream(*streams, "kng"), {block: budget}, {block: draws}, plan)
    yield "kng", NONE, found.parameters[block][0]
    rng = random_stream(*streams, "laplace")
    yield "laplace", NONE, _laplace_within(rng, problem, budget, public.footpoint_radius, draws)
    rng = random_stream(*streams, "landmarkwise_laplace")
    by_landmark = LandmarkwiseLaplace.of(problem)
    each = [by_landmark.private_means(rng, budget)[0] for _ in range(draws)]
    yield "landmarkwise_laplace", NONE, np.stack(each)
    rng = random_stream(*streams, "private_steps")
    centre = manifold.exp(
        problem.mean[0],
        DISPLACEMENT * problem.radius * manifold.random_direction(rng, problem.mean[0]),
    )
    steps = PrivateSteps.of(replace(problem, centre=centre, radius=WIDER * problem.radius))
    each = [steps.private_means(rng, budget)[0] for _ in range(draws)]
    yield "private_steps", NONE, np.stack(each)


def _laplace_within(rng, problem, budget, radius, draws):
    """Draws of the Laplace mechanism within a radius of the mean, as the others are."""
    mechanism, kept = Laplace.of(problem), []
    for _ in range(1000):
        if sum(map(len, kept)) >= draws:
            break
        [drawn] = mechanism.many_means(rng, budget, draws)
        kept.append(drawn[problem.manifold.dist(problem.mean[0], drawn) <= radius])
    if sum(map(len, kept)) < draws:
        raise DataError(
            f"of {1000 * draws} Laplace draws {sum(map(len, kept))} are within {radius:.3g} of the "
            "mean: take a larger budget"
        )
    return np.concatenate(kept)[:draws]


def measure(settings, space, rats=None, table=None):
    """Table of draws and table of landmarks; of outlines in ``table`` if there is one."""
    chosen = settings["shapes"]["spaces"][space]
    manifold = study_manifold(chosen["manifold"])
    rng = random_stream(settings["seed"], "means", space, "data")
    key = f"shapes.spaces.{space}.file"
    points, simulated = _data(rng, manifold, chosen, rats, table, key)
    points = points[None]
    fit = GeodesicModel(manifold, 0).fit(None, points)
    # As published: the radius is read off the data.
    radius = float(fit.largest_residual[0])
    problem = MeanProblem(fit.model, fit.footpoint[0], radius, points, fit.footpoint)
    number = points.shape[1]
    common = {"space": space, "manifold": manifold.name, "n": number, "budget": settings["budget"]}
    common["simulated"] = simulated
    rows, kept = [], [_landmarks(manifold, problem.mean, common | {"mechanism": "mean"})]
    for name, status, drawn in _drawn(settings, space, problem, fit):
        distance = manifold.dist(problem.mean, drawn)
        described = common | {"mechanism": name, "guarantee": status, "radius": radius}
        rows.append(
            pd.DataFrame(
                described
                | {"group": f"n{number}", "cell": name, "draw": np.arange(len(drawn))}
                | {"distance": distance, "over_radius": distance / radius}
            )
        )
        turned = manifold.align(problem.mean, drawn[:SHOWN])
        kept.append(_landmarks(manifold, turned, described))
    return pd.concat(rows, ignore_index=True), pd.concat(kept, ignore_index=True)


def _landmarks(manifold, points, common):
    """Landmarks of shapes (m, *point_shape), a row each."""
    places = manifold.to_landmarks(points)
    draw, landmark = np.indices(places.shape)
    return pd.DataFrame(
        common
        | {"draw": draw.ravel(), "landmark": landmark.ravel() + 1}
        | {"x": places.real.ravel(), "y": places.imag.ravel()}
    )
