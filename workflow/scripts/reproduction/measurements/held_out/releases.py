"""Releases of cohorts by five public inputs alone, beside what counts as right."""

import numpy as np
import pandas as pd

from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.settings.sections import public_centre
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.planning import plan_release
from reproduction.measurements.coverage.data import SIZE
from reproduction.measurements.coverage.releases import (
    LEVEL,
    bands_hold,
    beside,
    drawn,
    places_of,
    share,
)
from reproduction.measurements.held_out import cohorts


def measure(settings, cohort):
    """Table of a cohort of `COHORTS`, a row for each share of its tables; some have a criterion."""
    chosen, given = settings["held_out"], cohorts.COHORTS[cohort]
    criteria, number = chosen["criteria"], chosen["tables"]
    manifold = make_manifold(**given.manifold)
    assumptions = Assumptions(
        manifold,
        public_centre(manifold, given.centre),
        covariate_range=given.covariate_range,
        subjects=given.subjects,
    )
    plan = plan_release(assumptions, PrivacyBudget(str(given.epsilon)))
    low, high = assumptions.ranges.T
    places = low + (places_of(len(low), chosen["places"]) + 0.5) * (high - low)
    rng = random_stream(settings["seed"], "held_out", cohort)
    found = []
    for _ in range(number):
        covariates, points, truth = given.draw(rng)
        release = drawn(plan, covariates, points, rng)
        found.append(
            (
                bands_hold(release, places, truth.predict(places)),
                release.p_values() <= SIZE,
                _is_inside(truth.residual_scale, release.residual_scale(LEVEL)),
                _is_inside(truth.r_squared, release.r_squared(LEVEL)),
                len(release.doubts()) > 0,
            )
        )
    bands, trends, scales, explained, doubts = (
        np.array(each, dtype=float) for each in zip(*found, strict=True)
    )
    rows = [
        ("bands hold", bands, "bands"),
        ("bands are drawn", ~np.isnan(bands), None),
        *(
            (f"bands hold at {', '.join(f'{x:g}' for x in place)}", each, None)
            for place, each in zip(places, bands.T, strict=True)
        ),
        *(
            (
                f"{'a' if is_there else 'no'} trend on covariate {index}: found",
                each,
                "trend" if is_there else "no_trend",
            )
            for index, (is_there, each) in enumerate(zip(given.trends, trends.T, strict=True), 1)
        ),
        ("interval of the residual scale holds", scales, "residual_scale"),
        ("interval of R^2 holds", explained, "r_squared"),
        ("there are doubts", doubts, "doubts"),
    ]
    table = []
    for what, each, key in rows:
        value, _ = share(each)
        limits = beside(value, criteria[key]) if key else {}
        table.append({"cohort": cohort, "what": what, "value": value, "tables": number, **limits})
    return (pd.DataFrame(table),)


def _is_inside(value, estimate):
    return estimate.low <= value <= estimate.high
