"""Numbers of subjects that would do, and plans that are kept by their inputs."""

from dataclasses import replace

import numpy as np
import pytest
from test_estimator import DIM, PUBLIC, SMALL, dummy_plan, estimator

from geodp import Assumptions, Euclidean, PrivacyBudget, Sphere
from geodp_release.plan import sample_size as needed
from geodp_release.plan.release_plan import NOISE
from geodp_release.plan.sample_size import planned, subjects_needed
from geodp_release.promise.public_inputs import ADD_OR_REMOVE


# One plan that would do, if any, and numbers of subjects to start from.
@pytest.mark.parametrize("enough", [1, 57, 4000, 9_999_999, 10**12])
@pytest.mark.parametrize("start", [1, 20, 5000, 10**7, 10**9])
def test_search_for_the_number_of_subjects(monkeypatch, enough, start):
    tried = []

    def plan(assumptions, budget):
        tried.append(assumptions.subjects)
        # Reaches the limit at the number that is enough, and levels off on both sides of it.
        share = min(NOISE**2 * (enough / assumptions.subjects) ** 2, 0.9) + 1e-9
        if assumptions.subjects >= enough:
            share = min(share, 0.999 * NOISE**2)
        return dummy_plan(assumptions, budget, np.sqrt(share))

    monkeypatch.setattr(needed, "planned", plan)
    assumptions = replace(estimator()._assumptions(), subjects=start)
    found = subjects_needed(assumptions, PrivacyBudget("1"))
    if enough > 10**7:
        assert found is None
        assert 10**7 in tried
    else:
        assert enough <= found <= max(np.ceil(1.1 * enough), enough)
    assert len(set(tried)) == len(tried) <= 14


OTHERS = [
    {"centre": np.full(DIM, 1e-300)},
    {"footpoint_radius": 9.0},
    {"shooting_vector_length": 9.0},
    {"covariate_range": (0.0, 1.0)},
    {"residual_scale": 2.0},
    {"subjects": 3},
    {"records_per_subject": 2},
    {"neighbours": ADD_OR_REMOVE},
    {"covariate_spread": "evenly"},
    {"manifold": Sphere(6), "centre": np.eye(7)[0], **SMALL},
    # A space that files do not know.
    *[{"manifold": type("Unnamed", (Euclidean,), {})(DIM)}] * 2,
]


def test_plans_are_kept_by_their_inputs(monkeypatch):
    made = []

    def plan(*inputs):
        made.append(inputs)
        return dummy_plan(*inputs)

    monkeypatch.setattr(needed, "plan_release", plan)
    needed._kept_plan.cache_clear()
    first = Assumptions(**PUBLIC)
    same = Assumptions(**PUBLIC | {"manifold": Euclidean(DIM), "sources": {"centre": "zero"}})
    for each in (first, same):
        assert planned(each, PrivacyBudget("1")).assumptions is each
    assert len(made) == 1
    for change in OTHERS:
        planned(Assumptions(**PUBLIC | change), PrivacyBudget("1"))
    for other in (PrivacyBudget("2"), PrivacyBudget("1", "rho", "1e-6")):
        planned(first, other)
    assert len(made) == 1 + len(OTHERS) + 2
    needed._kept_plan.cache_clear()
