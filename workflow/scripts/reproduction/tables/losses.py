"""Realised privacy losses of the published densities on the sphere, step by step."""

import pandas as pd

from geodp.audit.published import VARIANTS
from geodp.mechanisms.registry import mechanism_class
from reproduction.measurements.audit.losses import search_published

# By step of the mechanism, the variants whose losses are searched for.  The last is what an
# inflated tau would be: one that bounds the residuals of both data sets.
STEPS = {
    ("footpoint", "as published"): "as published",
    ("shooting vector", "as published"): "shooting vector as published",
    ("footpoint", "tau shared"): "tau shared",
    ("shooting vector", "tau shared"): "shooting vector, tau shared",
}


def tabulate(job):
    """A row for each step, and one for both together: the largest loss that was found."""
    params, rows = job.params, []
    settings = params.settings
    number, budget = settings["n"], settings["budget"]
    for (step, tau), name in STEPS.items():
        found, _ = search_published(
            settings | {"tau": None},
            params.seed,
            number,
            budget,
            VARIANTS[name],
            settings["candidates"],
            settings["rounds"],
        )
        row = {"step": step, "tau": tau, "stated": budget, "realised": found.loss}
        rows.append(row | {"error": found.error})
        if step == "footpoint":
            # What is released of both steps is no less than what is released of the first.
            rows.append(rows[-1] | {"step": "both", "stated": 2.0 * budget})
    mechanism = mechanism_class("kng_as_published")
    common = {
        "study": job.wildcards.study,
        "data": "simulated",
        "n": number,
        "mechanism": mechanism.name,
        "guarantee": mechanism.guarantee.line,
        "seed": params.seed,
        "lock": params.lock,
    }
    table = pd.DataFrame([common | row for row in rows])
    table["loss_over_stated"] = table["realised"] / table["stated"]
    return table
