"""Realised privacy losses of the published densities on the sphere, step by step."""

import pandas as pd

from geodp.audit.published import VARIANTS, Variant, worst_published_loss
from geodp.mechanisms.registry import mechanism_class


def tabulate(job):
    """A row for each step: the largest loss that was found."""
    # What is searched, footpoints anywhere: with a tau (and a footpoint's shooting vector) that
    # both data sets share, as if they were public; as published; and with a public tau, the
    # diameter of the ball that holds the records.
    steps = {
        ("footpoint", "both data sets"): VARIANTS["tau shared, v fixed, any footpoint"],
        ("shooting vector", "both data sets"): VARIANTS["shooting vector, tau shared"],
        ("footpoint", "each data set"): VARIANTS["as published, any footpoint"],
        ("shooting vector", "each data set"): VARIANTS["shooting vector as published"],
        ("footpoint", "public bound"): Variant("public tau", tau="public", whole=True),
        ("shooting vector", "public bound"): Variant(
            "shooting vector, public tau", block="shooting_vector", tau="public"
        ),
    }
    params, rows = job.params, []
    settings = dict(params.settings)
    number, budget = settings.pop("n"), settings.pop("budget")
    bound = 2.0 * settings["ball_radius"]
    for (step, source), variant in steps.items():
        found = worst_published_loss(params.seed, number, budget, variant, tau=bound, **settings)
        row = {"step": step, "tau_from": source, "stated": budget, "realised": found.loss}
        rows.append(row | {"error": found.error})
    mechanism = mechanism_class("kng_as_published")
    common = {
        **{"study": job.params.study, "data": "simulated", "n": number},
        **{"mechanism": mechanism.name, "guarantee": mechanism.guarantee.line},
        "support": f"p anywhere, |v| <= {bound:g}, records in a ball of radius {0.5 * bound:g}",
        **{"seed": params.seed, "lock": params.lock},
    }
    table = pd.DataFrame([common | row for row in rows])
    table["loss_over_stated"] = table["realised"] / table["stated"]
    return table
