"""Simulated releases, and whether their bands hold the true predictions."""

import numpy as np
import pandas as pd

from geodp.randomness import random_stream
from geodp.release.accounting import PrivacyBudget
from geodp.release.assumptions import Assumptions
from geodp.release.bands import LEVELS, band_radii, simulated_errors
from geodp.release.draw import run_plan
from geodp.release.planning import plan_release
from geodp.release.subjects import ONE_EACH, subject_records
from geodp.samplers.integer_choice import generator_bits
from reproduction.manifolds import study_manifold

# Covariates of the predictions, over the whole of the range.
COVARIATE_RANGE = (-0.5, 0.5)
PLACES = np.linspace(*COVARIATE_RANGE, 5)


def planned(settings, space, seed):
    """The plan of a space's releases.

    Parameters
    ----------
    settings : dict
        The section ``coverage`` of ``config/utility.yaml``.
    space : str
    seed : int
    """
    chosen = settings["spaces"][space]
    manifold = study_manifold(chosen["manifold"])
    assumptions = Assumptions(
        manifold,
        manifold.random_point(random_stream(seed, "coverage", space, "centre")),
        **chosen["support"],
        covariate_range=COVARIATE_RANGE,
        residual_scale=chosen["residual_scale"],
        subjects=chosen["n"],
    )
    budget = PrivacyBudget(str(chosen["budget"]))
    return plan_release(assumptions, budget, work=settings["work"])


def covered(plan, releases, rng):
    """Distances of true predictions from released ones, and the radii of the bands there.

    True geodesics are as the planner assumes, of uniform directions and uniform lengths; data are
    as assumed, too.

    Parameters
    ----------
    plan : ReleasePlan
    releases : int
    rng : numpy.random.Generator

    Returns
    -------
    away : ndarray, shape (releases, places)
    radii : ndarray, shape (releases, levels, places)
    """
    errors = simulated_errors(plan)
    found = [_one_release(plan, errors, rng) for _ in range(releases)]
    return tuple(np.array(part) for part in zip(*found, strict=True))


def _one_release(plan, errors, rng):
    assumptions = plan.assumptions
    manifold, number = assumptions.manifold, assumptions.subjects
    lengths = rng.random(2) * [assumptions.footpoint_radius, assumptions.shooting_vector_length]
    start = manifold.random_direction(rng, assumptions.centre)
    start = manifold.exp(assumptions.centre, lengths[0] * start)
    velocity = lengths[1] * manifold.random_direction(rng, start)
    x = rng.uniform(*COVARIATE_RANGE, number)
    means = manifold.exp(start, manifold.expand(x) * velocity)
    noise = assumptions.residual_scale * manifold.random_tangent(rng, means)
    records = subject_records(assumptions, x, manifold.exp(means, noise), ONE_EACH)
    p, v = state = run_plan(plan, records, generator_bits(rng)).state
    times = manifold.expand(PLACES)
    true, released = manifold.exp(start, times * velocity), manifold.exp(p, times * v)
    return manifold.dist(released, true), band_radii(
        manifold, errors, state, np.reshape(PLACES, (-1, 1))
    )


def measure(settings, space):
    """Table of the coverage on one space, by covariate and level.

    Parameters
    ----------
    settings : dict
        Of ``config/utility.yaml``.
    space : str
    """
    chosen, seed = settings["coverage"], settings["seed"]
    plan = planned(chosen, space, seed)
    rng = random_stream(seed, "coverage", space, "releases")
    away, radii = covered(plan, chosen["releases"], rng)
    rows = [
        {
            "space": space,
            "dimension": plan.assumptions.manifold.dim,
            "n": plan.assumptions.subjects,
            "budget": float(plan.budget.amount),
            "covariate": place,
            "level": level,
            "coverage": np.mean(away[:, at] <= radii[:, index, at]),
            "error": np.sqrt(np.mean(away[:, at] ** 2)),
            "radius": np.mean(radii[:, index, at]),
            "releases": chosen["releases"],
            "stages": "; ".join(stage.describe() for stage in plan.stages),
        }
        for index, level in enumerate(LEVELS)
        for at, place in enumerate(PLACES)
    ]
    return (pd.DataFrame(rows),)
