"""How often bands and intervals of releases hold the truth, beside aims; doubts, errors and tests.

Data are simulated, as a release assumes them or unlike that.
"""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd
from scipy.special import fdtrc

import script
from geodp import GeodesicModel, PrivacyBudget, plan_release
from geodp.randomness import random_stream
from simulated import RADII_LEFT_OUT, SIZE, UNLIKE, assumed

# Of bands and intervals.
LEVEL = 0.9


def trend_p_value(manifold, covariates, points):
    """Of the F test, without privacy, of no trend on one covariate (n,), in the mean's tangents."""
    mean = GeodesicModel(manifold, 0).fit(None, points).footpoint
    y = manifold.coordinates(mean, manifold.log(np.broadcast_to(mean, points.shape), points))
    y, x = y - np.mean(y, axis=0), covariates - np.mean(covariates)
    explained = np.sum((x @ y) ** 2) / (x @ x)
    dim, left = y.shape[1], len(x) - 2
    return fdtrc(dim, dim * left, explained / (np.sum(y**2) - explained) * left)


def places_of(covariates, number=11):
    """Covariates (places, k) of the predictions: the first spread out, others at their ends."""
    if not covariates:
        return np.zeros((1, 0))
    places = np.where(np.arange(number)[:, None] % (2 + np.arange(covariates)) == 0, -0.5, 0.5)
    places[:, 0] = np.linspace(-0.5, 0.5, number)
    return places


def bands_hold(release, places, true):
    """Whether bands hold true predictions, by place; NaN where none is drawn."""
    radii = release.band(places, LEVEL)
    away = release.plan.assumptions.manifold.dist(release.predict(places), true)
    return np.where(np.isnan(radii), np.nan, away <= radii)


def found_in(measure, release, truth, x, points, knowing):
    """What a release comes to; ``knowing`` draws one from the same data that knows more."""
    manifold, places = release.plan.assumptions.manifold, places_of(x.shape[1])
    true = manifold.ends(truth[0], truth[1:], places)
    if measure == "bands":
        return bands_hold(release, places, true)
    if measure == "intervals":
        _, low, high, _ = release.coefficients(LEVEL)
        true = release.plan.assumptions.coefficients @ truth
        return np.where(np.isnan(low), np.nan, (low <= true) & (true <= high))
    if measure == "doubts":
        return len(release.doubts()) > 0
    if measure == "rejections":
        return release.p_values() <= SIZE
    if measure == "more rejections":
        without_privacy = trend_p_value(manifold, x[:, 0], points) <= SIZE
        return float(release.p_values()[0] <= SIZE) - without_privacy
    # Mean squared errors of predictions, also of the release or the fit beside it.
    model = GeodesicModel(manifold, x.shape[1])
    fits = release, knowing() if measure == "errors" else model.fit(x, points)
    return [np.mean(manifold.dist(fit.predict(places), true) ** 2) for fit in fits]


def share(found):
    """Share of what is true, without NaN, and its standard error over independent releases."""
    value = np.nanmean(found) if np.any(~np.isnan(found)) else np.nan
    number = max(np.sum(np.any(~np.isnan(found.reshape(len(found), -1)), axis=1)), 1)
    return value, np.sqrt(value * (1.0 - value) / number)


def come_to(measure, found, rng, resampled=400):
    """By its kind, what all releases come to, and its standard error; of ratios the bootstrap's."""
    if measure == "more rejections":
        return {"difference": (np.mean(found), np.std(found) / np.sqrt(len(found)))}
    if not measure.startswith("errors"):
        return {"share": share(found)}
    again, kinds = found[rng.integers(len(found), size=(resampled, len(found)))], {}
    for kind, average in (("root mean square", np.mean), ("median", np.median)):
        value, others = (np.sqrt(np.divide(*average(each, axis=-2).T)) for each in (found, again))
        kinds[kind] = value, np.std(others)
    return kinds


def measure(cell, space, aims, releases, work, seed):
    """Table of a cell, a row for each of its aims: what its releases come to, and the limits."""
    name, unlike, chosen = cell["space"], cell["unlike"], cell["aims"].split("; ")
    ratio, left_out = cell["true_over_assumed"], unlike == RADII_LEFT_OUT
    scale, known = space["residual_scale"], assumed(space, seed, "coverage", name)
    planned = partial(plan_release, budget=PrivacyBudget(str(space["budget"])), work=work)
    told = {"residual_scale": scale / float(ratio) if ratio else None}
    told |= {"footpoint_radius": None, "shooting_vector_length": None} if left_out else {}
    plan, found = planned(replace(known, **told)), {aims[aim]["measure"]: [] for aim in chosen}
    # The release beside it has the radii that are left out, or else the residual scale.
    knows = replace(known, residual_scale=None if left_out else scale)
    knowing = planned(knows) if "errors" in found else None
    how = "nothing" if left_out else unlike, ratio or "None", f"{left_out}"
    rng = random_stream(seed, "coverage", name, *how)
    for _ in range(releases):
        data = UNLIKE[unlike].draw(known, scale, rng)
        release = script.release(plan, *data[1:], rng)
        again = partial(script.release, knowing, *data[1:], rng)
        for each, values in found.items():
            values.append(found_in(each, release, *data, again))
    about = {
        "space": name,
        "n": space["n"],
        "epsilon": space["budget"],
        "covariates": known.number_of_covariates,
    }
    about["not as assumed"] = f"residual scale {ratio} times the assumed" if ratio else unlike
    rows = []
    for aim in chosen:
        values = np.array(found[aims[aim]["measure"]], dtype=float)
        for kind, (value, error) in come_to(aims[aim]["measure"], values, rng).items():
            row = {"what": f"{aim}, {kind}", "value": value, "standard_error": error}
            rows.append(about | row | {"least": np.nan, "most": np.nan} | aims[aim])
    return pd.DataFrame(rows)


def judged(row):
    """A row's value, what it should be, and whether it is, in words; no value is not right."""
    value, least, most = row["value"], row["least"], row["most"]
    limits = [f"at least {least:g}"] * (least == least) + [f"at most {most:g}"] * (most == most)
    met = "**no**" if value != value or value < least or value > most else "yes"
    words = f"{value:.3f} ± {row['standard_error']:.3f}" if value == value else "none drawn"
    return {"value": words, "aim": ", ".join(limits), "met": met if limits else ""}


def summarise(table, mark="coverage"):
    """The table of the page, columns before ``value`` and what is judged; and the figure."""
    about = table.loc[:, :"what"].rename(columns={"what": "measure"})
    shown = about.join(pd.DataFrame(map(judged, table.to_dict("records"))))
    labels = about.fillna("").astype(str).agg(", ".join, axis=1).str.replace(", , ", ", ")
    columns = (table[name] for name in ("value", "standard_error", "least", "most"))
    axis = {"xlabel": "share, or ratio of errors", "title": "Releases, two standard errors"}
    return {mark: shown}, script.dots(labels, *columns, **axis)


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
