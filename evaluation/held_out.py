"""Coverage of bands and intervals, size and power of tests: releases of simulated cohorts."""

import numpy as np
import pandas as pd

import cohorts
import script
from geodp import Assumptions, PrivacyBudget, plan_release
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.settings.shared_sections import public_centre
from simulated import places_of


def bands_hold(release, places, true, level):
    """Whether bands hold true predictions, by place; NaN where none is drawn."""
    radii = release.band(places, level)
    away = release.plan.assumptions.manifold.dist(release.predict(places), true)
    return np.where(np.isnan(radii), np.nan, away <= radii)


def share(found):
    """Share of what is true, without NaN, and its standard error over independent releases."""
    value = np.nanmean(found) if np.any(~np.isnan(found)) else np.nan
    number = max(np.sum(np.any(~np.isnan(found.reshape(len(found), -1)), axis=1)), 1)
    return value, np.sqrt(value * (1.0 - value) / number)


def measure(cohort, public, tables, places, criteria, seed, level=0.9, size=0.05):
    """Table of a cohort, a row for each share of its tables; some have a criterion.

    Bands and intervals have the level, tests the size.
    """
    manifold = make_manifold(*public["manifold"])
    centre, ranges = public_centre(manifold, public["centre"]), public["covariate_range"]
    known = Assumptions(manifold, centre, covariate_range=ranges, subjects=public["subjects"])
    plan = plan_release(known, PrivacyBudget(str(public["epsilon"])))
    low, high = known.ranges.T
    places = low + (places_of(len(low), places) + 0.5) * (high - low)
    trends = [
        f"{'' if is_there else 'no '}trend on covariate {index}"
        for index, is_there in enumerate(public["trends"], start=1)
    ]
    rng, rows = random_stream(seed, "held_out", cohort), []
    for _ in range(tables):
        covariates, points, truth = getattr(cohorts, cohort)(known.subjects, rng)
        predict, residual_scale, r_squared = truth
        release = script.release(plan, covariates, points, rng)
        held = bands_hold(release, places, predict(places), level)
        row = {"bands": held, "bands drawn": ~np.isnan(held)}
        row |= dict(zip(trends, release.p_values() <= size, strict=True))
        scale, explained = release.residual_scale(level), release.r_squared(level)
        row["residual scale"] = scale.low <= residual_scale <= scale.high
        row["R^2"] = explained.low <= r_squared <= explained.high
        rows.append(row | {"doubts": len(release.doubts()) > 0})
    table = []
    for what in rows[0]:
        value, error = share(np.array([row[what] for row in rows], dtype=float))
        row = {"cohort": cohort, "what": what, "value": value, "standard_error": error}
        row |= {"least": np.nan, "most": np.nan}
        table.append(row | criteria.get(what.partition(" on ")[0], {}))
    return pd.DataFrame(table)


def judged(row):
    """A row's value, what it should be, and whether it is, in words; no value is not right."""
    value, least, most = row["value"], row["least"], row["most"]
    limits = [f"at least {least:g}"] * (least == least) + [f"at most {most:g}"] * (most == most)
    met = "**no**" if value != value or value < least or value > most else "yes"
    words = f"{value:.3f} ± {row['standard_error']:.3f}" if value == value else "none drawn"
    return {"value": words, "aim": ", ".join(limits), "met": met if limits else ""}


def summarise(table):
    """The table of the page, columns before ``value`` and what is judged; and the figure."""
    about = table.loc[:, :"what"].rename(columns={"what": "measure"})
    shown = about.join(pd.DataFrame(map(judged, table.to_dict("records"))))
    columns = (table[name] for name in ("value", "standard_error", "least", "most"))
    axis = {"xlabel": "share of tables", "title": "Releases, two standard errors"}
    figure = script.dots(about.agg(", ".join, axis=1), *columns, **axis)
    return {"held_out": shown}, figure
