"""Releases of cohorts by five public inputs alone, beside what counts as right."""

from functools import partial

import numpy as np
import pandas as pd

import interval_coverage as coverage
import script
from cohorts import COHORTS
from geodp import Assumptions, PrivacyBudget, plan_release
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.settings.sections import public_centre


def measure(cohort, tables, places, criteria, seed):
    """Table of a cohort of `COHORTS`, a row for each share of its tables; some have a criterion."""
    given = COHORTS[cohort]
    manifold = make_manifold(*given.manifold)
    centre, ranges = public_centre(manifold, given.centre), given.covariate_range
    known = Assumptions(manifold, centre, covariate_range=ranges, subjects=given.subjects)
    plan = plan_release(known, PrivacyBudget(str(given.epsilon)))
    low, high = known.ranges.T
    places = low + (coverage.places_of(len(low), places) + 0.5) * (high - low)
    trends = [
        f"{'' if is_there else 'no '}trend on covariate {index}"
        for index, is_there in enumerate(given.trends, start=1)
    ]
    rng, rows = random_stream(seed, "held_out", cohort), []
    for _ in range(tables):
        covariates, points, truth = given.draw(given.subjects, rng)
        release = script.release(plan, covariates, points, rng)
        held = coverage.bands_hold(release, places, truth.predict(places))
        row = {"bands": held, "bands drawn": ~np.isnan(held)}
        row |= dict(zip(trends, release.p_values() <= coverage.SIZE, strict=True))
        scale, explained = release.residual_scale(coverage.LEVEL), release.r_squared(coverage.LEVEL)
        row["residual scale"] = scale.low <= truth.residual_scale <= scale.high
        row["R^2"] = explained.low <= truth.r_squared <= explained.high
        rows.append(row | {"doubts": len(release.doubts()) > 0})
    table = []
    for what in rows[0]:
        value, error = coverage.share(np.array([row[what] for row in rows], dtype=float))
        row = {"cohort": cohort, "what": what, "value": value, "standard_error": error}
        row |= {"least": np.nan, "most": np.nan}
        table.append(row | criteria.get(what.partition(" on ")[0], {}))
    return pd.DataFrame(table)


if __name__ == "__main__":
    script.run(snakemake, measure, partial(coverage.summarise, mark="held_out"))
