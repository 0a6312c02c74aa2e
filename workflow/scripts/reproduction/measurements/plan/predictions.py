"""Predicted errors of a private release over numbers of subjects and budgets."""

from itertools import product

import numpy as np
import pandas as pd
from joblib import Parallel, delayed

from geodp_release.accounting import PrivacyBudget
from geodp_release.assumptions import Assumptions
from geodp_release.planning import SEED, plan_release, simulated
from geodp_release.simulation import EVENLY
from reproduction.manifolds import study_manifold
from reproduction.measurements.plan.figure import draw

# Covariates are fractions of their range, whatever it is.
UNIT = (0.0, 1.0)


def summarise(plan, threads=1, **_):
    """Tables and figure of a plan, by their output.

    Parameters
    ----------
    plan : dict
        The key ``plan`` of a configuration.
    threads : int
        Cells that are planned side by side.

    Returns
    -------
    dict
        ``table`` has a row for each number of subjects and budget; ``needed`` the subjects or
        budget needed for the wanted error, and no rows where none is wanted.
    """
    manifold = study_manifold(plan["manifold"])
    assumed = {
        "manifold": manifold.name,
        "dim": manifold.dim,
        **plan["support"],
        "residual_scale": plan["residual_scale"],
    }
    # A plan depends on the dimension of the space, not on the place.
    centre = manifold.random_point(np.random.default_rng(SEED))
    cells = list(product(sorted(plan["n"]), sorted(plan["budgets"])))
    found = Parallel(threads)(
        delayed(plan_release)(
            Assumptions(
                manifold,
                centre,
                **plan["support"],
                covariate_range=UNIT,
                covariate_spread=EVENLY,
                residual_scale=plan["residual_scale"],
                subjects=number,
            ),
            PrivacyBudget(str(budget)),
        )
        for number, budget in cells
    )
    table = pd.DataFrame(
        assumed | {"n": number, "budget": budget} | _row(each)
        for (number, budget), each in zip(cells, found, strict=True)
    )
    wanted = plan["wanted"]
    needed = pd.DataFrame(
        [] if wanted is None else list(_needs(table, wanted)),
        columns=["budget", "n", "found", "needed"],
    )
    for place, (name, value) in enumerate({"wanted_curve_error": wanted, **assumed}.items()):
        needed.insert(place, name, value)
    return {"table": table, "needed": needed, "figure": draw(table, wanted)}


def _row(release):
    """Errors of a release by its plan, those of its blocks in the plan's own simulation."""
    found = simulated(release.assumptions, release.stages)
    footpoint, shooting_vector = np.sqrt(found.squares + found.estimate_squares).tolist()
    return {
        "stages": len(release.stages),
        "footpoint_error": footpoint,
        "shooting_vector_error": shooting_vector,
        "curve_error": release.error,
        "curve_error_without_privacy": release.error_without_privacy,
        "curve_error_without_data": release.error_without_data,
        "is_noise": release.is_noise,
    }


def _needs(table, wanted):
    """Rows of the subjects that each budget needs, and of the budget that each number needs."""
    for budget, part in table.groupby("budget"):
        found, how = _first_within(part, "n", wanted)
        # Of a whole number no more than rounding is cut off.
        number = np.ceil(found * (1.0 - 1e-9))
        yield {"budget": budget, "n": number, "found": "n", "needed": how}
    for number, part in table.groupby("n"):
        found, how = _first_within(part, "budget", wanted)
        yield {"budget": found, "n": number, "found": "budget", "needed": how}


def _first_within(part, key, wanted):
    """Where the error comes down to the one wanted, and how that is beside what is needed."""
    errors = part["curve_error"].cummin().to_numpy()
    values = part[key].to_numpy()
    if errors[-1] > wanted:
        return values[-1], "more than"
    if errors[0] <= wanted:
        return values[0], "at most"
    # Between the cells that there are.
    found = np.exp(np.interp(-np.log(wanted), -np.log(errors), np.log(values)))
    return found, "about"
