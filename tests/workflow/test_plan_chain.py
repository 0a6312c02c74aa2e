"""A plan from its configuration to its figure; it looks at no data."""

import numpy as np
import pandas as pd
import pytest
from beside import read

pytestmark = pytest.mark.slow

# No studies: a name, a seed and a plan are a configuration.
PLANNED = read("planned")
NUMBERS, BUDGETS, WANTED, SUPPORT = (
    PLANNED["plan"][key] for key in ("n", "budgets", "wanted", "support")
)


@pytest.fixture(scope="module")
def planned(made):
    """A checkout with the plan run to its end, by the default target."""
    checkout = made(PLANNED)
    checkout.run()
    return checkout


@pytest.fixture(scope="module")
def tables(planned):
    folder = planned.root / "results" / "planned" / "plan"
    return {name: pd.read_csv(folder / f"{name}.csv") for name in ("plan", "needed")}


def test_files_are_those_promised_and_nothing_is_left_to_do(planned):
    expected = {f"plan/plan.{suffix}" for suffix in ("csv", "pdf", "svg", "png")}
    assert set(planned.files()) == expected | {"plan/needed.csv", "plan/logs/plan.log"}
    assert planned.files()["plan/logs/plan.log"].read_text() == ""
    assert planned.planned() == {}


def test_another_assumption_plans_again_and_with_studies_only_on_demand(planned, small):
    try:
        planned.configure(PLANNED | {"plan": PLANNED["plan"] | {"residual_scale": 0.06}})
        assert planned.planned("plan") == {"plan": 1}
        studies = {"rats": small["studies"]["rats"]}
        planned.configure(PLANNED | {"studies": studies})
        assert "plan" not in planned.planned()
        planned.configure({"name": "without", "seed": 1, "studies": studies})
        printed = planned.refused("--dry-run", "plan")
    finally:
        planned.configure(PLANNED)
    said = "Error: configuration key plan is missing: add it, as config/config.yaml explains"
    assert said in printed


def test_what_runs_nothing_needs_no_number_of_cores(planned):
    # Nor do settings of a profile.
    planned.run("--workflow-profile", "none", "--summary", "plan", cores=None)
    # Where there is one, a plan takes them all.
    output = planned.run("--dry-run", "--force", "plan", cores=3)
    assert "predict errors of private releases, 3 at once" in output


def test_predictions_are_errors_that_more_data_and_more_budget_make_smaller(tables):
    table = tables["plan"]
    assert all((table[name] == value).all() for name, value in SUPPORT.items())
    table = table.set_index(["n", "budget"])
    assert list(table.index) == [(number, budget) for number in NUMBERS for budget in BUDGETS]
    error = table["curve_error"].unstack()
    assert np.all(np.diff(error, axis=0) < 0.0)
    assert np.all(np.diff(error, axis=1) < 0.0)
    assert table.loc[(20, 0.5), "is_noise"]
    assert not table.loc[(2000, 5.0), "is_noise"]


def test_what_a_wanted_error_needs_is_found_both_ways(tables):
    needed = tables["needed"]
    assert (needed["wanted_curve_error"] == WANTED).all()
    both = ("n", "budget", BUDGETS, NUMBERS), ("budget", "n", NUMBERS, BUDGETS)
    for found, given, values, cells in both:
        part = needed[needed["found"] == found]
        assert part[given].tolist() == values
        # The more there is of one, the less is needed of the other.
        assert np.all(np.diff(part[found]) < 0.0)
        for value, how in part[[found, "needed"]].itertuples(index=False, name=None):
            if how == "about":
                assert cells[0] < value <= cells[-1]
            else:
                assert value == cells[{"at most": 0, "more than": -1}[how]]
    assert (needed.loc[needed["found"] == "n", "n"] % 1.0 == 0.0).all()
