"""Errors of simulated releases and of the published mechanism about a known true geodesic.

The public centre is half a footpoint radius from the truth, and stages are planned without data.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

import script
from geodp import Assumptions, GeodesicModel, PrivacyBudget, PublicSettings, plan_release
from geodp.data.columns import landmark_columns
from geodp.data.records import read_table
from geodp.data.stand_in import simulate_outlines
from geodp.evaluation import from_the_middle
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.randomness import random_stream
from geodp.samplers import matched
from geodp_release.promise.public_inputs import EVENLY, SQUARES

AGES = (50.0, 90.0)  # Of the simulated outlines.

RELEASED, PUBLISHED = "release", "as published"
NOT_PRIVATE, WITHOUT_DATA = "no privacy", "without data"
BESIDE = [PUBLISHED, NOT_PRIVATE, WITHOUT_DATA]


def true_geodesic(rng, manifold, data, rats):
    """Footpoint, in the middle of the covariate's range, and shooting vector."""
    if data == "outlines":
        found = simulate_outlines(rng, 1, 1, manifold.landmarks, AGES)
        start, end = map(manifold.from_landmarks, (found.first_outline, found.last_outline))
        return from_the_middle(manifold, start, manifold.log(start, end))
    if data == "rats":
        columns, how = landmark_columns(manifold.landmarks), {"transformation": "log"}
        records = read_table(rats, manifold, "age_days", columns, subject="rat", **how)
        found = GeodesicModel(manifold).fit(records.covariates, records.points)
        return from_the_middle(manifold, found.footpoint, found.shooting_vector)
    p = manifold.random_point(rng)
    return p, data * manifold.random_direction(rng, p)


def simulate(rng, manifold, data, truth, scale, data_sets, number):
    """Covariates (data_sets, n), from 0 to 1, and points (data_sets, n, *point_shape)."""
    if data == "outlines":
        found = simulate_outlines(rng, data_sets, number, manifold.landmarks, AGES)
        return (found.ages - AGES[0]) / np.ptp(AGES), manifold.from_landmarks(found.outlines)
    covariates = np.tile(np.linspace(0.0, 1.0, number), (data_sets, 1))
    clean = manifold.exp(truth[0], manifold.expand(covariates - 0.5) * truth[1])
    return covariates, manifold.exp(clean, scale * manifold.random_tangent(rng, clean))


def draw_published(rng, known, data, fit, budget, draws):
    """Geodesics of the published densities by matched chains, and their total variation distance.

    Each block has half of the budget, and the support is that of releases, seen from the start.
    """
    manifold, length, number = known.manifold, known.shooting_vector_length, known.subjects
    reach = known.footpoint_radius + 0.5 * length
    support = {"footpoint_radius": reach, "shooting_vector_length": length}
    public = PublicSettings(data_radius=reach, centre=known.centre, **support)
    model = GeodesicModel(manifold)
    mechanism = KNGAsPublished.prepare(model, *data, public, fit)
    # Other modes have next to no mass where records are many and residuals small.
    mechanism = replace(mechanism, searched_records=2000 if number <= 100 else 0)
    # Pilots evaluate so many records; chains want a total variation distance in 4 to 500 steps.
    pilots = int(np.clip(100000 // number, 24, 64))
    drawn = mechanism.draw(
        rng,
        dict.fromkeys(model.blocks, str(0.5 * budget)),
        dict(zip(model.blocks, (draws, 1), strict=True)),
        lambda rng, target, draws: matched.plan(rng, target, pilots, 0.01, 4, 500),
    )
    footpoints, vectors = (drawn.parameters[block] for block in model.blocks)
    vectors = np.squeeze(vectors, axis=-manifold.point_ndim - 1)
    distance = sum(each.total_variation for each in drawn.reports.values())
    return *from_the_middle(manifold, footpoints, vectors), distance


def curve_errors(manifold, geodesics, truths):
    """Mean over covariates from -1/2 to 1/2 of the squared distance of geodesics, (*batch).

    Geodesics and truths are footpoints, in the middle of the range, and shooting vectors.
    """
    (p, v), (q, w) = geodesics, truths
    squares = 0.0
    for x, weight in zip(*np.polynomial.legendre.leggauss(8), strict=True):
        ends = manifold.exp(p, 0.5 * x * v), manifold.exp(q, 0.5 * x * w)
        squares = squares + 0.5 * weight * manifold.dist(*ends) ** 2
    return squares


def measure(space, given, number, budgets, records, draws, seed, rats):
    """Table of errors on one space at one n: of each mechanism, at all budgets if it has one."""
    scale, data, names = given["residual_scale"], given["data"], ("utility", space, f"n{number}")
    maps = [fourier_harmonics(given["manifold"][1], 4)] if data == "outlines" else []
    manifold = make_manifold(*given["manifold"], *maps)
    rng, radius = random_stream(seed, "utility", space), given["footpoint_radius"]
    truth = true_geodesic(rng, manifold, data, rats)
    centre = manifold.exp(truth[0], 0.5 * radius * manifold.random_direction(rng, truth[0]))
    public = radius, given["shooting_vector_length"], (0.0, 1.0), number
    known = Assumptions(manifold, centre, *public, covariate_spread=EVENLY, residual_scale=scale)
    count = int(np.clip(records // number, 2, 15))
    stream = random_stream(seed, *names, "data")
    found = simulate(stream, manifold, data, truth, scale, count, number)
    fit = GeodesicModel(manifold).fit(*found)
    fitted = from_the_middle(manifold, fit.footpoint, fit.shooting_vector)
    blind = known.support.draw(random_stream(seed, *names, WITHOUT_DATA), (1, 2000))
    # Squared error, in flat space, of a geodesic drawn uniformly from the support.
    squares = known.support.radii**2 * manifold.dim / (manifold.dim + 2.0)
    without_data = squares @ [1.0, SQUARES[EVENLY]]

    def row(mechanism, geodesics, budget=np.nan, **about):
        error = np.mean(curve_errors(manifold, geodesics, truth))
        row = {"space": space, "n": number, "mechanism": mechanism, "budget": budget}
        return row | {"error": np.sqrt(error), "is_noise": error > 0.1 * without_data} | about

    rows = [row(NOT_PRIVATE, [np.expand_dims(each, 1) for each in fitted])]
    rows.append(row(WITHOUT_DATA, known.support.parts(blind)))
    for budget in budgets:
        stream = (*names, f"budget{budget:g}")
        rng = random_stream(seed, *stream, PUBLISHED)
        *drawn, distance = draw_published(rng, known, found, fit, budget, draws)
        rows.append(row(PUBLISHED, drawn, budget, total_variation=distance))
        plan = plan_release(known, PrivacyBudget(str(budget)))
        rng = random_stream(seed, *stream, RELEASED)
        few = zip(*(each[:6] for each in found), strict=True)
        released = [[each.state for each in script.releases(plan, *xy, rng, 2)] for xy in few]
        rows.append(row(RELEASED, np.moveaxis(released, 2, 0), budget, predicted=plan.error))
    return pd.DataFrame(rows)


def summarise(table):
    """The table of the page, releases beside others; and errors, a panel a space and budget."""
    cases, cell, budgets = table[table["mechanism"] == RELEASED], ["space", "n"], table["budget"]
    for mechanism in BESIDE:
        keys = [*cell, "budget"] if mechanism == PUBLISHED else cell
        errors = table[table["mechanism"] == mechanism].set_index(keys)["error"]
        cases = cases.join(errors.rename(mechanism), keys)
    words = cases["error"].map(script.number) + np.where(cases["is_noise"], " (noise)", "")
    cases = cases.assign(release=words, n=cases["n"].map("{:,}".format))
    cases["epsilon"] = cases["budget"].map("{:g}".format)
    shown = cases[["space", "n", "epsilon", "release", "predicted", *BESIDE]]
    parts = [
        table[budgets.isna() | (budgets == budget)].assign(
            panel=table["space"].map(script.title) + rf", $\epsilon$ = {budget:g}"
        )
        for budget in sorted(budgets.dropna().unique())
    ]
    axis = {"xscale": "log", "yscale": "log", "xlabel": "number of subjects $n$"}
    axis |= {"rows": len(parts), "size": (2.4, 2.3), "ylabel": "error of the geodesic"}
    names = [RELEASED, *BESIDE]
    figure = script.panels(pd.concat(parts), "n", "error", "mechanism", "panel", names, **axis)
    return {"utility": shown}, figure
