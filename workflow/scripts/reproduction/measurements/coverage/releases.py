"""Simulated releases of a cell, and what is measured of them beside the aims of the cell."""

from dataclasses import replace
from functools import partial

import numpy as np
import pandas as pd

from geodp.models.geodesic import GeodesicModel
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


def places_of(covariates, number=11):
    """Covariates (places, k) of the predictions: the first spread out, others at their ends."""
    if not covariates:
        return np.zeros((1, 0))
    places = np.where(np.arange(number)[:, None] % (2 + np.arange(covariates)) == 0, -0.5, 0.5)
    places[:, 0] = np.linspace(*COVARIATE_RANGE, number)
    return places


def drawn(plan, covariates, points, rng):
    """A release of records, by seeded random bits."""
    records = subject_records(plan.assumptions, covariates, points, ONE_EACH)
    return Release.of(plan, run_plan(plan, records, generator_bits(rng)), guarantee=None)


def bands_hold(release, places, true):
    """Whether bands hold true predictions, by place; NaN where none is drawn."""
    radii = release.band(places, LEVEL)
    away = release.plan.assumptions.manifold.dist(release.predict(places), true)
    return np.where(np.isnan(radii), np.nan, away <= radii)


def beside(value, limits):
    """The limits, and whether a value is neither below nor above; a missing one says neither."""
    least, most = (limits.get(key, np.nan) for key in ("least", "most"))
    is_met = not (np.isnan(value) or value < least or value > most)
    return {"least": least, "most": most, "is_met": is_met}


def _true(manifold, truth):
    """Places of predictions, and the true ones there."""
    places = places_of(len(truth) - 1)
    return places, manifold.ends(truth[0], truth[1:], places)


def _squares(truth, manifold, *fits):
    """Mean squared errors of predictions."""
    places, true = _true(manifold, truth)
    return [np.mean(manifold.dist(fit.predict(places), true) ** 2) for fit in fits]


# What is measured of a release, the data with their truth, and a release that knows more.


def _errors(release, truth, x, points, knowing):
    """Mean squared errors (2,) of predictions, also of the release that knows more."""
    return _squares(truth, release.plan.assumptions.manifold, release, knowing())


def _errors_without_privacy(release, truth, x, points, knowing):
    """Mean squared errors (2,) of predictions, also of the geodesic of least squares."""
    manifold = release.plan.assumptions.manifold
    return _squares(truth, manifold, release, GeodesicModel(manifold, x.shape[1]).fit(x, points))


def _bands(release, truth, x, points, knowing):
    """Whether bands hold, by place; NaN where none is drawn."""
    return bands_hold(release, *_true(release.plan.assumptions.manifold, truth))


def _intervals(release, truth, x, points, knowing):
    """Whether intervals hold coefficients of a plane; NaN where none is given."""
    true = release.plan.assumptions.coefficients @ truth
    _, low, high, _ = release.coefficients(LEVEL)
    return np.where(np.isnan(low), np.nan, (low <= true) & (true <= high))


def _more_rejections(release, truth, x, points, knowing):
    """Whether the private test finds a trend, less whether the F test does."""
    manifold = release.plan.assumptions.manifold
    without_privacy = trend_p_value(manifold, x[:, 0], points) <= SIZE
    return float(release.p_values()[0] <= SIZE) - without_privacy


# What all releases come to: by what it is, a value and its standard error.


def share(found):
    """Share of what is true, without NaN; the error is that of independent releases."""
    value = np.nanmean(found) if np.any(~np.isnan(found)) else np.nan
    rows = np.reshape(found, (len(found), -1))
    number = max(np.sum(np.any(~np.isnan(rows), axis=1)), 1)
    return value, np.sqrt(value * (1.0 - value) / number)


def _share(found, rng):
    return {"share": share(found)}


def _mean(found, rng):
    return {"difference": (np.mean(found), np.std(found) / np.sqrt(len(found)))}


def _ratios(found, rng):
    again = found[rng.integers(len(found), size=(RESAMPLED, len(found)))]
    averages = {"root mean square": np.mean, "median": np.median}
    return {
        name: (_ratio(average, found), np.std(_ratio(average, again)))
        for name, average in averages.items()
    }


def _ratio(average, squares):
    first, second = np.moveaxis(average(squares, axis=-2), -1, 0)
    return np.sqrt(first / second)


MEASURES = {
    "errors": (_errors, _ratios),
    "errors over least squares": (_errors_without_privacy, _ratios),
    "bands": (_bands, _share),
    "intervals": (_intervals, _share),
    "doubts": (lambda release, *_: len(release.doubts()) > 0, _share),
    "rejections": (lambda release, *_: release.p_values() <= SIZE, _share),
    "more rejections": (_more_rejections, _mean),
}


def measure(settings, cell, releases):
    """Table of a cell of ``config/utility.yaml``, a row for each of its aims.

    ``releases`` is the key of ``coverage`` that has their number.
    """
    chosen, seed = settings["coverage"], settings["seed"]
    names = [f"{cell[key]}" for key in ("space", "unlike", "true_over_assumed", "radii_left_out")]
    space, number = chosen["spaces"][cell["space"]], chosen[releases]
    scale, ratio = space["residual_scale"], cell["true_over_assumed"]
    aims = {name: chosen["aims"][name] for name in cell["aims"]}
    found: dict = {aim["measure"]: [] for aim in aims.values()}
    assumptions = assumed(space, cell["space"], seed)

    def planned(scale, **known):
        known = replace(assumptions, residual_scale=scale, **known)
        return plan_release(known, PrivacyBudget(str(space["budget"])), work=chosen["work"])

    left_out = space["support"] if cell["radii_left_out"] else ()
    plan = planned(None if ratio is None else scale / ratio, **dict.fromkeys(left_out))
    knowing = planned(None if left_out else scale) if "errors" in found else None
    rng = random_stream(seed, "coverage", *names)
    for _ in range(number):
        data = UNLIKE[cell["unlike"]].draw(assumptions, scale, rng)
        release = drawn(plan, *data[1:], rng)
        for name, each in found.items():
            each.append(MEASURES[name][0](release, *data, partial(drawn, knowing, *data[1:], rng)))
    rows = []
    for name, aim in aims.items():
        each = np.array(found[aim["measure"]], dtype=float)
        for kind, (value, error) in MEASURES[aim["measure"]][1](each, rng).items():
            rows.append(
                {
                    "space": cell["space"],
                    "n": space["n"],
                    "budget": space["budget"],
                    "number_of_covariates": assumptions.number_of_covariates,
                    "unlike": cell["unlike"],
                    "true_over_assumed": np.nan if ratio is None else ratio,
                    "radii_left_out": cell["radii_left_out"],
                    "aim": name,
                    "kind": kind,
                    "value": value,
                    "standard_error": error,
                    "drawn": np.mean(~np.isnan(each)),
                    **beside(value, aim),
                    "releases": number,
                }
            )
    return (pd.DataFrame(rows),)
