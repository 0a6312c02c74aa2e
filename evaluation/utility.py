"""Errors of simulated releases and of the published mechanism about a known true geodesic.

The public centre is half a footpoint radius from the truth, and stages are planned without data.
"""

from dataclasses import replace

import numpy as np
import pandas as pd

import script
from geodp import Assumptions, GeodesicModel, PrivacyBudget, PublicSettings, plan_release
from geodp.data.stand_in import simulate_outlines
from geodp.data.tables import landmark_columns, read_table
from geodp.evaluation import from_the_middle, geodesic_errors
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.randomness import random_stream
from geodp.samplers import matched
from geodp.samplers.integer_choice import generator_bits
from geodp_release.draw import run_plan
from geodp_release.simulation import CURVE, EVENLY
from geodp_release.subjects import ONE_EACH, subject_records

AGES = (50.0, 90.0)  # Of the simulated outlines.
BLOCK = 20000  # Records simulated at once.

RELEASED, PUBLISHED = "release", "as published"
NOT_PRIVATE, WITHOUT_DATA = "no privacy", "without data"
BESIDE = [PUBLISHED, NOT_PRIVATE, WITHOUT_DATA]

# Of chains of the published mechanism: pilots that evaluate so many records, at least and at most
# so many; total variation distance wanted; fewest and most steps.
PILOTS, CHAINS = (100000, 24, 64), (0.01, 4, 500)


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
    covariates = np.empty((data_sets, number))
    points = np.empty((data_sets, number, *manifold.point_shape), dtype=manifold.dtype)
    step = max(1, BLOCK // data_sets)
    for start in range(0, number, step):
        block = slice(start, min(start + step, number))
        if data == "outlines":
            found = simulate_outlines(rng, data_sets, block.stop - start, manifold.landmarks, AGES)
            covariates[:, block] = (found.ages - AGES[0]) / (AGES[1] - AGES[0])
            points[:, block] = manifold.from_landmarks(found.outlines)
            continue
        covariates[:, block] = np.linspace(0.0, 1.0, number)[block]
        clean = manifold.exp(truth[0], manifold.expand(covariates[:, block] - 0.5) * truth[1])
        points[:, block] = manifold.exp(clean, scale * manifold.random_tangent(rng, clean))
    return covariates, points


def draw_releases(rng, plan, covariates, points, draws):
    """Geodesics as a release draws them, with seeded random bits."""
    bits, found = generator_bits(rng), []
    for x, y in zip(covariates, points, strict=True):
        records = subject_records(plan.assumptions, x, y, ONE_EACH)
        shared: dict = {}
        found.append([run_plan(plan, records, bits, shared).state for _ in range(draws)])
    return np.moveaxis(np.array(found), 2, 0)


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
    mechanism = replace(mechanism, searched=number <= 100)
    pilots = int(np.clip(PILOTS[0] // number, *PILOTS[1:]))
    drawn = mechanism.draw(
        rng,
        dict.fromkeys(model.blocks, str(0.5 * budget)),
        dict(zip(model.blocks, (draws, 1), strict=True)),
        lambda rng, target, draws: matched.plan(rng, target, pilots, *CHAINS),
    )
    footpoints, vectors = (drawn.parameters[block] for block in model.blocks)
    vectors = np.squeeze(vectors, axis=-manifold.point_ndim - 1)
    distance = sum(each.total_variation for each in drawn.reports.values())
    return *from_the_middle(manifold, footpoints, vectors), distance


def measure(space, given, number, budgets, released, records, draws, seed, rats):
    """Table of all budgets on one space at one n, with releases at some of them."""
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
    without_data = known.support.radii**2 * manifold.dim / (manifold.dim + 2.0) @ CURVE
    rows = []

    def add(mechanism, geodesics, **about):
        error = np.mean(geodesic_errors(manifold, geodesics, truth)["curve"])
        row = {"space": space, "dimension": manifold.dim, "n": number, "mechanism": mechanism}
        row |= {"budget": np.nan, "curve_error": np.sqrt(error), "predicted": np.nan}
        rows.append(row | {"is_noise": error > 0.1 * without_data, "total_variation": 0.0} | about)

    add(NOT_PRIVATE, [np.expand_dims(each, 1) for each in fitted])
    add(WITHOUT_DATA, known.support.parts(blind))
    for budget in budgets:
        stream = (*names, f"budget{budget:g}")
        rng = random_stream(seed, *stream, PUBLISHED)
        *drawn, distance = draw_published(rng, known, found, fit, budget, draws)
        add(PUBLISHED, drawn, budget=budget, total_variation=distance)
        if budget in released and number in given["released"]:
            plan = plan_release(known, PrivacyBudget(str(budget)))
            rng, few = random_stream(seed, *stream, RELEASED), [each[:6] for each in found]
            add(RELEASED, draw_releases(rng, plan, *few, 2), budget=budget, predicted=plan.error)
    return pd.DataFrame(rows)


def summarise(table, shown):
    """The table of the page, releases beside others; and the figure."""
    rows = []
    for case in table[table["mechanism"] == RELEASED].itertuples():
        same = table[(table["space"] == case.space) & (table["n"] == case.n)]
        same = same[same["budget"].isna() | (same["budget"] == case.budget)]
        row = {"space": case.space, "n": f"{case.n:,}", "epsilon": f"{case.budget:g}"}
        row["release"] = script.number(case.curve_error) + " (noise)" * bool(case.is_noise)
        row["predicted"] = case.predicted
        rows.append(row | same.set_index("mechanism")["curve_error"][BESIDE].to_dict())
    return {"utility": pd.DataFrame(rows)}, draw(table, sorted(shown, reverse=True))


def draw(table, shown):
    """Error against the number of subjects, a panel a space: larger budgets are darker."""
    figure, axes = script.new_figure(2, 2, width=7.0, height=6.1, sharex=True)
    grey = {"color": "0.55", "linestyle": ":", "label": "as published: its budget does not hold"}
    blind = {"color": "0.1", "linestyle": (0, (1, 4)), "label": "without the data"}
    noise = {"color": "0.3", "markerfacecolor": "white", "label": "ring: noise"}
    for panel, (space, part) in zip(axes.flat, table.groupby("space", sort=False), strict=False):
        parts = dict(iter(part.groupby("mechanism")))
        for budget, curve in zip(shown, script.CURVES, strict=False):
            some = parts[PUBLISHED].query("budget == @budget")
            panel.plot(some["n"], some["curve_error"], **grey)
            some = part.query("budget == @budget and mechanism == @RELEASED")
            look = {"color": curve["color"], "marker": "x", "linewidth": 0.6}
            if len(some):
                look["label"] = rf"release, $\epsilon$ = {budget:g}"
                panel.plot(some["n"], some["curve_error"], **look)
                some = some[some["is_noise"].astype(bool)]
                panel.plot(some["n"], some["curve_error"], "o", **noise)
        some = parts[NOT_PRIVATE]
        panel.plot(some["n"], some["curve_error"], color="0.1", label="least squares, not private")
        panel.axhline(np.sqrt(np.mean(parts[WITHOUT_DATA]["curve_error"] ** 2)), **blind)
        title = f"{f'${space}$' if '^' in space else space}, {part['dimension'].iloc[0]} dimensions"
        panel.set(xscale="log", yscale="log", title=title, xlabel="number of subjects $n$")
        panel.set_ylabel("error of the geodesic\n(root mean square, unit of length)")
    found = dict(zip(*axes[0, 0].get_legend_handles_labels()[::-1], strict=True))
    figure.legend(found.values(), found.keys(), loc="outside upper center", ncols=3, fontsize=7.5)
    return figure


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
