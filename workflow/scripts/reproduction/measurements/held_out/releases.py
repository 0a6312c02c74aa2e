"""Releases of cohorts by five public inputs alone, beside what counts as right."""

import numpy as np
import pandas as pd

from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.settings.sections import public_centre
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.planning import plan_release
from reproduction.measurements.coverage import releases as coverage
from reproduction.measurements.coverage.data import SIZE
from reproduction.measurements.held_out import cohorts


def measure(settings, cohort):
    """Table of a cohort of `COHORTS`, a row for each share of its tables; some have a criterion."""
    chosen, given = settings["held_out"], cohorts.COHORTS[cohort]
    manifold, number = make_manifold(**given.manifold), chosen["tables"]
    centre, ranges = public_centre(manifold, given.centre), given.covariate_range
    known = Assumptions(manifold, centre, covariate_range=ranges, subjects=given.subjects)
    plan = plan_release(known, PrivacyBudget(str(given.epsilon)))
    low, high = known.ranges.T
    places = low + (coverage.places_of(len(low), chosen["places"]) + 0.5) * (high - low)
    trends = enumerate(given.trends, start=1)
    names = [
        *(f"bands at {', '.join(f'{x:g}' for x in place)}" for place in places),
        *(f"{'' if is_there else 'no '}trend on covariate {index}" for index, is_there in trends),
        *("residual scale", "R^2", "doubts"),
    ]
    rng = random_stream(settings["seed"], "held_out", cohort)
    rows = []
    for _ in range(number):
        covariates, points, truth = given.draw(rng)
        release = coverage.drawn(plan, covariates, points, rng)
        held = coverage.bands_hold(release, places, truth.predict(places))
        scale, explained = (
            each(coverage.LEVEL) for each in (release.residual_scale, release.r_squared)
        )
        others = [
            scale.low <= truth.residual_scale <= scale.high,
            explained.low <= truth.r_squared <= explained.high,
            len(release.doubts()) > 0,
        ]
        rows.append(np.concatenate([held, release.p_values() <= SIZE, others]))
    found = np.array(rows)
    bands = found[:, : len(places)]
    whole = {"bands": bands, "bands drawn": ~np.isnan(bands)}
    table = []
    for what, each in (whole | dict(zip(names, found.T, strict=True))).items():
        value, _ = coverage.share(each)
        row = {"cohort": cohort, "what": what, "value": value, "tables": number}
        criterion = chosen["criteria"].get(what.partition(" on ")[0])
        table.append(row | (coverage.beside(value, criterion) if criterion else {}))
    return (pd.DataFrame(table),)
