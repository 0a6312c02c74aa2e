"""Simulated releases of a cell, and what is measured of them beside the aims of the cell."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from geodp.randomness import random_stream
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.draw import run_plan
from geodp_release.planning import plan_release
from geodp_release.release import Release
from geodp_release.subjects import ONE_EACH, subject_records
from reproduction.manifolds import study_manifold
from reproduction.measurements.coverage.data import SIZE, UNLIKE, trend_p_value

COVARIATE_RANGE = (-0.5, 0.5)

# Of bands.
LEVEL = 0.9

# Samples of releases, with replacement, that tell the standard error of a ratio of errors.
RESAMPLED = 400


def assumed(space, name, seed):
    """Public assumptions of the releases on a space, without a residual scale."""
    manifold, spreads = study_manifold(space["manifold"]), tuple(space["covariate_spread"])
    return Assumptions(
        manifold,
        manifold.random_point(random_stream(seed, "coverage", name, "centre")),
        footpoint_radius=space["support"]["footpoint_radius"],
        shooting_vector_length=(space["support"]["shooting_vector_length"],) * len(spreads),
        covariate_range=(COVARIATE_RANGE,) * len(spreads),
        covariate_spread=spreads,
        subjects=space["n"],
    )


def places_of(covariates):
    """Covariates (places, k) of the predictions: the first spread out, others at their ends."""
    if not covariates:
        return np.zeros((1, 0))
    number = 11
    places = np.where(np.arange(number)[:, None] % (2 + np.arange(covariates)) == 0, -0.5, 0.5)
    places[:, 0] = np.linspace(*COVARIATE_RANGE, number)
    return places


def drawn(plan, covariates, points, rng):
    """A release of records, by seeded random bits."""
    records = subject_records(plan.assumptions, covariates, points, ONE_EACH)
    return Release.of(plan, run_plan(plan, records, generator_bits(rng)), guarantee=None)


def _away(release, truth):
    """Distances (places,) of predictions from the true ones."""
    manifold = release.plan.assumptions.manifold
    places = places_of(len(truth) - 1)
    true = manifold.ends(truth[0], truth[1:], places)
    return manifold.dist(release.predict(places), true)


# What is measured of a release, the data with their truth, and a release that knows the scale.


def _errors(release, truth, x, points, knowing):
    """Mean squared errors (2,) of predictions, also of the release that knows the scale."""
    return [np.mean(_away(each, truth) ** 2) for each in (release, knowing())]


def _bands(release, truth, x, points, knowing):
    """Whether bands hold, by place; NaN where none is drawn."""
    places = places_of(len(truth) - 1)
    radii = release.band(places, LEVEL)
    return np.where(np.isnan(radii), np.nan, _away(release, truth) <= radii)


def _more_rejections(release, truth, x, points, knowing):
    """Whether the private test finds a trend, less whether the F test does."""
    manifold = release.plan.assumptions.manifold
    without_privacy = trend_p_value(manifold, x[:, 0], points) <= SIZE
    return float(release.p_values()[0] <= SIZE) - without_privacy


# What all releases come to: by what it is, a value and its standard error.


def _share(found, rng):
    """Share of what is true, without NaN; the error is that of independent releases."""
    value = np.nanmean(found) if np.any(~np.isnan(found)) else np.nan
    rows = np.reshape(found, (len(found), -1))
    number = max(np.sum(np.any(~np.isnan(rows), axis=1)), 1)
    return {"share": (value, np.sqrt(value * (1.0 - value) / number))}


def _mean(found, rng):
    return {"difference": (np.mean(found), np.std(found) / np.sqrt(len(found)))}


def _ratios(found, rng):
    again = found[rng.integers(len(found), size=(RESAMPLED, len(found)))]
    return {
        name: (ratio(found), np.std(ratio(again)))
        for name, ratio in (("root mean square", _ratio(np.mean)), ("median", _ratio(np.median)))
    }


def _ratio(average):
    def ratio(squares):
        first, second = np.moveaxis(average(squares, axis=-2), -1, 0)
        return np.sqrt(first / second)

    return ratio


MEASURES = {
    "errors": (_errors, _ratios),
    "bands": (_bands, _share),
    "doubts": (lambda release, *_: len(release.doubts()) > 0, _share),
    "rejections": (lambda release, *_: release.p_values() <= SIZE, _share),
    "more rejections": (_more_rejections, _mean),
}


def measure(settings, cell, releases):
    """Table of a cell of ``config/utility.yaml``, a row for each of its aims.

    ``releases`` is the key of ``coverage`` that has their number.
    """
    chosen, seed = settings["coverage"], settings["seed"]
    names = [cell["space"], cell["unlike"], f"{cell['true_over_assumed']}"]
    space, number = chosen["spaces"][cell["space"]], chosen[releases]
    scale, ratio = space["residual_scale"], cell["true_over_assumed"]
    aims = {name: chosen["aims"][name] for name in cell["aims"]}
    found: dict = {aim["measure"]: [] for aim in aims.values()}
    assumptions = assumed(space, cell["space"], seed)

    def planned(scale):
        known = replace(assumptions, residual_scale=scale)
        return plan_release(known, PrivacyBudget(str(space["budget"])), work=chosen["work"])

    plan = planned(None if ratio is None else scale / ratio)
    knowing = planned(scale) if "errors" in found else None
    rng = random_stream(seed, "coverage", *names)
    for _ in range(number):
        data = UNLIKE[cell["unlike"]].draw(assumptions, scale, rng)
        release = drawn(plan, *data[1:], rng)
        for name, each in found.items():
            each.append(MEASURES[name][0](release, *data, partial(drawn, knowing, *data[1:], rng)))
    rows = []
    for name, aim in aims.items():
        each = np.array(found[aim["measure"]], dtype=float)
        least, most = (aim.get(key, np.nan) for key in ("least", "most"))
        for kind, (value, error) in MEASURES[aim["measure"]][1](each, rng).items():
            rows.append(
                {
                    "space": cell["space"],
                    "n": space["n"],
                    "budget": space["budget"],
                    "number_of_covariates": assumptions.number_of_covariates,
                    "unlike": cell["unlike"],
                    "true_over_assumed": np.nan if ratio is None else ratio,
                    "aim": name,
                    "kind": kind,
                    "value": value,
                    "standard_error": error,
                    "drawn": np.mean(~np.isnan(each)),
                    "least": least,
                    "most": most,
                    # Not below and not above, of which a missing limit says neither.
                    "is_met": not (np.isnan(value) or value < least or value > most),
                    "releases": number,
                }
            )
    return (pd.DataFrame(rows),)
