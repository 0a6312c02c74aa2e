"""Realised privacy losses and sensitivities of the published mechanism, of simulated neighbours."""

import numpy as np
import pandas as pd

from geodp.audit.published import VARIANTS, Variant, worst_published_loss
from geodp.errors import DataError
from geodp.mechanisms.registry import mechanism_class
from geodp.models.sensitivity import neighbour_ratios
from geodp.randomness import random_stream
from reproduction.data.simulated import simulate_data
from reproduction.models import study_model


def losses(job):
    """Realised privacy losses on the sphere: the largest that was found, a row a step."""
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


def neighbours(job):
    """Published over realised sensitivity of the gradient, a row a pair of neighbours."""
    params, settings, tables = job.params, job.params.settings, []
    study, model, noise = params.study, study_model(params), str(settings["noise_variance"])
    for number in settings["n"]:
        rng = random_stream(params.seed, study, f"n{number}", "neighbours")
        of = params.data, study, settings["pairs"], number + 1, float(noise)
        made = simulate_data(rng, model, *of)
        ratios = neighbour_ratios(model, made.covariates, made.points, params.data_radius)
        if not np.all(ratios["converged"]):
            raise DataError(
                f"{np.sum(~ratios['converged'])} of {settings['pairs']} fits of pairs of "
                f"neighbours at n = {number} did not converge: lower neighbours.noise_variance"
            )
        columns = {
            **{"study": study, "manifold": model.manifold.name, "data": "simulated"},
            **{"n": number, "noise_variance": noise, "pair": range(1, settings["pairs"] + 1)},
            # The sensitivities are the published mechanism's.
            "guarantee": mechanism_class("kng_as_published").guarantee.line,
            **{"seed": params.seed, "lock": params.lock},
            **ratios,
        }
        tables.append(pd.DataFrame(columns))
    return pd.concat(tables)
