"""Number of subjects that a release needs to be more than noise, and plans kept between calls."""

import json
import os
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field, fields, replace
from decimal import Decimal
from functools import lru_cache
from itertools import product

import numpy as np

from geodp.errors import DataError
from geodp.manifolds.registry import manifold_settings
from geodp.plain import plain
from geodp_release.plan.release_plan import NOISE, ReleasePlan
from geodp_release.plan.stage_search import plan_release
from geodp_release.promise.assumptions import Assumptions
from geodp_release.promise.budget import PrivacyBudget


def planned(assumptions: Assumptions, budget: PrivacyBudget) -> ReleasePlan:
    """The plan of `plan_release`, which takes seconds, kept for the next call with these inputs."""
    try:
        settings = manifold_settings(assumptions.manifold)
    except DataError:
        # Only manifolds with a name can be told apart.
        return plan_release(assumptions, budget)
    others = {"manifold": settings, "centre": plain(assumptions.centre), "sources": None}
    given = {each.name: getattr(assumptions, each.name) for each in fields(assumptions)}
    key = json.dumps(given | others)
    return replace(_kept_plan(_Inputs(key, budget, assumptions)), assumptions=assumptions)


def subjects_needed(assumptions: Assumptions, budget: PrivacyBudget) -> int | None:
    """The smallest number of subjects for which a release is more than noise, to 10 %.

    ``None`` if 10 million are not enough.  It is computed from public assumptions alone, whose
    number of subjects is where the search starts, and costs no budget.  It takes a plan for each
    number that is tried: about 5, and up to 15 if the number given is far off.  A plan takes 2 to 7
    seconds, and this up to a minute.
    """
    # Largest number of subjects that is looked for.
    most_needed = 10**7

    def share(number):
        """Squared error, as a share of that without data; and whether the plan is noise."""
        plan = planned(replace(assumptions, subjects=number), budget)
        return (plan.error / plan.error_without_data) ** 2, plan.is_noise

    number = min(assumptions.subjects, most_needed)
    shares, low, high = {}, 0, most_needed + 1
    limit, within = NOISE**2, 0.1
    # Double, or take as many as the error suggests, until numbers on both sides are known.
    while (low == 0 and high > 1) or high > most_needed:
        shares[number], is_noise = share(number)
        if is_noise:
            if number == most_needed:
                return None
            low = number
            # Noise falls with the square of the number.  From half of the error without data on a
            # plan knows nothing of the data.
            squares = shares[number] / limit
            factor = 8.0 if shares[number] > 0.5 else np.clip(np.sqrt(squares), 2.0, 8.0)
            number = min(int(np.ceil(number * factor)), most_needed)
        else:
            high = number
            factor = np.clip(np.sqrt(limit / shares[number]), 2.0, 32.0)
            number = max(int(number / factor), 1)
    turn = 0
    while high > low + 1 and high > (1.0 + within) * low:
        if turn % 3 == 0:
            # Where a power of the number would be at the limit, and a little on the safe side.
            steep = np.log(shares[low] / shares[high]) / np.log(high / low)
            tried = low * (shares[low] / limit) ** (1.0 / steep) * (1.0 + 0.4 * within)
        elif turn % 3 == 1:
            # On the other side of the last.
            tried = low * (1.0 + within) if is_noise else high / (1.0 + within)
        else:
            tried = np.sqrt(low * high)
        number = int(np.clip(tried, low + 1, high - 1))
        shares[number], is_noise = share(number)
        low, high = (number, high) if is_noise else (low, number)
        turn += 1
    return high


def plans_about(assumptions: Assumptions, budget: PrivacyBudget) -> list[ReleasePlan]:
    """Plans for half to four times as many subjects, each for half to twice the budget."""
    subjects, budgets = (0.5, 1, 2, 4), (Decimal("0.5"), 1, 2)
    inputs = [
        (
            replace(assumptions, subjects=max(1, int(share * assumptions.subjects))),
            replace(budget, amount=part * budget.amount),
        )
        for share, part in product(subjects, budgets)
    ]
    with ProcessPoolExecutor(os.cpu_count()) as pool:
        return list(pool.map(planned, *zip(*inputs, strict=True)))


@dataclass(frozen=True)
class _Inputs:
    """Inputs of a plan, the same if their key and budget are."""

    key: str
    budget: PrivacyBudget
    assumptions: Assumptions = field(compare=False)


@lru_cache(64)
def _kept_plan(inputs):
    return plan_release(inputs.assumptions, inputs.budget)
