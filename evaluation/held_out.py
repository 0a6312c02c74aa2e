"""Releases of cohorts by five public inputs alone, beside what counts as right."""

import numpy as np
import pandas as pd

import interval_coverage as coverage
import script
from cohorts import COHORTS
from geodp.manifolds.registry import make_manifold
from geodp.randomness import random_stream
from geodp.settings.sections import public_centre
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.planning import plan_release


def measure(cohort, tables, places, criteria, seed):
    """Table of a cohort of `COHORTS`, a row for each share of its tables; some have a criterion."""
    given = COHORTS[cohort]
    manifold = make_manifold(**given.manifold)
    centre, ranges = public_centre(manifold, given.centre), given.covariate_range
    known = Assumptions(manifold, centre, covariate_range=ranges, subjects=given.subjects)
    plan = plan_release(known, PrivacyBudget(str(given.epsilon)))
    low, high = known.ranges.T
    places = low + (coverage.places_of(len(low), places) + 0.5) * (high - low)
    trends = enumerate(given.trends, start=1)
    names = [
        *(f"bands at {', '.join(f'{x:g}' for x in place)}" for place in places),
        *(f"{'' if is_there else 'no '}trend on covariate {index}" for index, is_there in trends),
        *("residual scale", "R^2", "doubts"),
    ]
    rng = random_stream(seed, "held_out", cohort)
    rows = []
    for _ in range(tables):
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
        rows.append(np.concatenate([held, release.p_values() <= coverage.SIZE, others]))
    found = np.array(rows)
    bands = found[:, : len(places)]
    whole = {"bands": bands, "bands drawn": ~np.isnan(bands)}
    table = []
    for what, each in (whole | dict(zip(names, found.T, strict=True))).items():
        value, _ = coverage.share(each)
        row = {"cohort": cohort, "what": what, "value": value, "tables": tables}
        criterion = criteria.get(what.partition(" on ")[0])
        table.append(row | (coverage.beside(value, criterion) if criterion else {}))
    return pd.DataFrame(table)


def summarise(table):
    """The table of the page, and the figure: values beside their criteria, a panel a cohort."""
    met = {True: "yes", False: "**no**"}
    shown = pd.DataFrame(
        {
            "cohort": row.cohort,
            "measure": row.what,
            "value": f"{row.value:.2f}" if row.value == row.value else "none drawn",
            "criterion": coverage.limits(row),
            "met": met.get(row.is_met, ""),
        }
        for row in table.itertuples()
    )
    cohorts = list(table.groupby("cohort", sort=False))
    figure, [panels] = script.new_figure(1, len(cohorts), width=3.2 * len(cohorts), height=3.2)
    for panel, (cohort, part) in zip(panels, cohorts, strict=True):
        places = np.arange(len(part))[::-1]
        panel.plot(part["value"], places, "o", color=script.CURVES[0]["color"], label="share")
        for limit, mark in (("least", ">"), ("most", "<")):
            look = {"color": script.CURVES[1]["color"], "linestyle": "", "marker": mark}
            panel.plot(part[limit], places, **look, label=f"right: at {limit}")
        panel.set_yticks(places, part["what"], fontsize=6)
        panel.set(title=f"{cohort}: {COHORTS[cohort].about}", xlim=(-0.05, 1.05))
        panel.title.set(fontsize=6, wrap=True)
        panel.set_xlabel(f"share of {part['tables'].iloc[0]} tables")
    handles, labels = panels[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="outside upper center", ncols=3, fontsize=8)
    return {"held_out": shown}, figure


if __name__ == "__main__":
    script.run(snakemake, measure, summarise)
