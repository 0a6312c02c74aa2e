"""Simulated releases, and whether their bands hold the true predictions."""

import numpy as np
import pandas as pd
from scipy.special import betaincinv

from geodp.models.geodesic import GeodesicModel
from geodp.randomness import random_stream
from geodp.samplers.integer_choice import generator_bits
from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.bands import LEVELS, band_radii, moments_stage, simulated_errors
from geodp_release.draw import run_plan
from geodp_release.planning import plan_release
from geodp_release.simulation import TWO_GROUPS
from geodp_release.subjects import ONE_EACH, subject_records
from reproduction.manifolds import study_manifold

COVARIATE_RANGE = (-0.5, 0.5)

# Share of the first of two groups that plans assume.
AS_ASSUMED = 0.5


def planned(settings, space, seed):
    """Plan of a space's releases, from the section ``coverage`` of ``config/utility.yaml``."""
    chosen = settings["spaces"][space]
    manifold, spreads = study_manifold(chosen["manifold"]), tuple(chosen["covariate_spread"])
    assumptions = Assumptions(
        manifold,
        manifold.random_point(random_stream(seed, "coverage", space, "centre")),
        footpoint_radius=chosen["support"]["footpoint_radius"],
        shooting_vector_length=(chosen["support"]["shooting_vector_length"],) * len(spreads),
        covariate_range=(COVARIATE_RANGE,) * len(spreads),
        covariate_spread=spreads,
        residual_scale=chosen["residual_scale"],
        subjects=chosen["n"],
    )
    return plan_release(assumptions, PrivacyBudget(str(chosen["budget"])), work=settings["work"])


def places_of(covariates):
    """Covariates (places, k) of the predictions: the first spread out, others at their ends."""
    if not covariates:
        return np.zeros((1, 0))
    first = np.linspace(*COVARIATE_RANGE, 5)
    places = np.where(np.arange(5)[:, None] % (2 + np.arange(covariates)) == 0, -0.5, 0.5)
    places[:, 0] = first
    return places


def covered(plan, releases, rng, first_group=AS_ASSUMED, beta=None):
    """Distances of true predictions from released ones and from fits, and the bands' radii there.

    Directions and lengths of true geodesics are uniform.  Data are as assumed, but for the share
    ``first_group`` of subjects in the first of two groups and for covariates with a Beta
    distribution of parameters ``beta``.

    Returns
    -------
    away, away_from_fit : ndarray, shape (releases, places)
    radii : ndarray, shape (releases, levels, places)
    """
    errors = simulated_errors(plan)
    found = [
        _one_release(plan, errors, rng, first_group, beta or (1.0, 1.0)) for _ in range(releases)
    ]
    return tuple(np.array(part) for part in zip(*found, strict=True))


def _one_release(plan, errors, rng, first_group, beta):
    assumptions = plan.assumptions
    manifold, number = assumptions.manifold, assumptions.subjects
    covariates = assumptions.number_of_covariates
    places = places_of(covariates)
    lengths = rng.random(1 + covariates) * np.append(
        assumptions.footpoint_radius, assumptions.shooting_vector_length
    )
    start = manifold.random_direction(rng, assumptions.centre)
    start = manifold.exp(assumptions.centre, lengths[0] * start)
    vectors = [length * manifold.random_direction(rng, start) for length in lengths[1:]]
    level = rng.random((number, covariates))
    is_group = np.array(assumptions.spreads) == TWO_GROUPS
    x = np.where(is_group, level > first_group, betaincinv(*beta, level)) - 0.5
    means = manifold.ends(start, vectors, x)
    noise = assumptions.residual_scale * manifold.random_tangent(rng, means)
    points = manifold.exp(means, noise)
    records = subject_records(assumptions, x, points, ONE_EACH)
    found = run_plan(plan, records, generator_bits(rng))
    if moments_stage(plan) is not None:
        errors = simulated_errors(plan, found.moments)
    true = manifold.ends(start, vectors, places)
    released = manifold.ends(found.state[0], found.state[1:], places)
    fitted = GeodesicModel(manifold, covariates).fit(x, points).predict(places)
    radii = band_radii(manifold, errors, found.state, places)
    return manifold.dist(released, true), manifold.dist(fitted, true), radii


def measure(settings, space):
    """Table of the coverage on one space of ``config/utility.yaml``, by covariate and level."""
    chosen, seed = settings["coverage"], settings["seed"]
    plan = planned(chosen, space, seed)
    rng = random_stream(seed, "coverage", space, "releases")
    first_group, beta = (chosen["spaces"][space].get(key) for key in ("first_group", "covariates"))
    away, away_from_fit, radii = covered(plan, chosen["releases"], rng, first_group, beta)
    assumptions = plan.assumptions
    rows = [
        {
            "space": space,
            "dimension": assumptions.manifold.dim,
            "number_of_covariates": assumptions.number_of_covariates,
            "n": assumptions.subjects,
            "budget": float(plan.budget.amount),
            "as_assumed": first_group == AS_ASSUMED and beta is None,
            "place": at + 1,
            "covariates": " ".join(f"{each:g}" for each in place) or "none",
            "level": level,
            "coverage": np.mean(away[:, at] <= radii[:, index, at]),
            "error": np.sqrt(np.mean(away[:, at] ** 2)),
            "error_without_privacy": np.sqrt(np.mean(away_from_fit[:, at] ** 2)),
            "predicted_error": plan.error,
            "radius": np.mean(radii[:, index, at]),
            "releases": chosen["releases"],
            "stages": "; ".join(stage.describe() for stage in plan.stages),
        }
        for index, level in enumerate(LEVELS)
        for at, place in enumerate(places_of(assumptions.number_of_covariates))
    ]
    return (pd.DataFrame(rows),)
