"""Studies of other models and mechanisms than geodesic regression as published, run to their end.

A configuration alone chooses them.
"""

import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml

from geodp.manifolds.registry import make_manifold
from reproduction.jobs import load_cells

STUDIES = """
laplace:
  manifold: {name: spd, size: 2}
  model: {covariates: 0}
  mechanism: laplace
  data: {source: simulated, data_sets: 2, noise: tangent}
  data_radius: 0.6
  support: {footpoint_centre: truth}
  budgets: {equal: {totals: ["1.0", "4.0"]}}
  cells: [{n: [12], noise_variance: ["0.01"], budgets: [equal]}]
  draws: {footpoint: 3}
  figures:
    error: {kind: error, grids: [equal]}
    samplers: {kind: samplers}
mean:
  manifold: {name: sphere, size: 2}
  model: {covariates: 0}
  data: {source: simulated, data_sets: 2}
  data_radius: 0.6
  budgets: {equal: {totals: ["1.0", "4.0"]}}
  cells: [{n: [12], noise_variance: ["0.01"], budgets: [equal]}]
  draws: {footpoint: 3}
  sampler: {states: 250}
  neighbours: {pairs: 2, n: [5]}
  figures:
    error: {kind: error, grids: [equal]}
    samplers: {kind: samplers}
    ratios: {kind: ratios}
released:
  manifold: {name: sphere, size: 2}
  mechanism: {name: release, options: {residual_scale: 0.05}}
  data:
    source: simulated
    data_sets: 2
    first_point: [0, 0, 1]
    shooting_vector_length: 0.4
  support:
    footpoint_centre: [0, 0, 1]
    footpoint_radius: 0.3
    shooting_vector_length: 0.6
  budgets: {equal: {totals: ["3.0"]}}
  cells: [{n: [60], noise_variance: ["0.001"], budgets: [equal]}]
  draws: {all: 3}
  figures:
    error: {kind: error, grids: [equal]}
    samplers: {kind: samplers}
    curves: {kind: curves, grids: [equal], groups: [n60_noise0.001]}
"""

# Group, cells and their budgets, budgets by name, blocks, status and guarantee of each study.
IN_BALL = "one record replaced within the public ball of radius 0.6"
MEANING = {
    "laplace": (
        "n12_noise0.01",
        {"p1.0": 1.0, "p4.0": 4.0},
        ["footpoint"],
        "proved",
        f"Laplace mechanism: in exact arithmetic each draw's budget holds for {IN_BALL}.",
    ),
    "mean": (
        "n12_noise0.01",
        {"p1.0": 1.0, "p4.0": 4.0},
        ["footpoint"],
        "stated but false",
        "Mechanism as published: the stated budgets do not hold.",
    ),
    "released": (
        "n60_noise0.001",
        {"all3.0": 3.0},
        ["all"],
        "proved",
        "Releases: each draw's budget holds for one record replaced, by proof, under "
        "the hypotheses of docs/guarantee.md.",
    ),
}

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def run(copied, source, tmp_path_factory):
    """A checkout after the run of all three."""
    made = copied(source, tmp_path_factory.mktemp("three"))
    made.configure({"name": "three", "seed": 5, "studies": yaml.safe_load(STUDIES)})
    made.run()
    return made


def read(run, study, name):
    table = run.files()[f"{study}/tables/{name}.csv"]
    return pd.read_csv(table, dtype={"noise_variance": str, "cell": str})


@pytest.mark.parametrize("study", MEANING)
def test_files_of_a_study_of_another_model_or_mechanism(run, study):
    group, cells, _, status, guarantee = MEANING[study]
    files = run.files()
    bounds = np.load(files[f"{study}/groups/{group}/sensitivity.npz"])
    assert (str(bounds["status"]), str(bounds["guarantee"])) == (status, guarantee)
    fit = json.loads(files[f"{study}/groups/{group}/fit.json"].read_text())
    assert fit["converged"] == [True] * 3
    covariates = int(study == "released")
    data = np.load(files[f"{study}/groups/{group}/data.npz"])
    assert data["covariates"].shape == (*data["points"].shape[:2], covariates)
    vectors = {f"{prefix}shooting_vector" for prefix in ("", "true_") if covariates}
    for cell in cells:
        draws = load_cells(files[f"{study}/cells/{group}/default_0.npz"])[cell]
        manifold = make_manifold(**yaml.safe_load(STUDIES)[study]["manifold"])
        assert draws["footpoint"].shape == (3, 3, *manifold.point_shape)
        assert manifold.are_points(draws["footpoint"].reshape(9, *manifold.point_shape)).all()
        assert vectors == {name for name in (*draws, *data) if name.endswith("shooting_vector")}
        if covariates:
            assert draws["shooting_vector"].shape == (3, 3, 1, 3)


@pytest.mark.parametrize("study", MEANING)
def test_tables_of_a_study_of_another_model_or_mechanism(run, study):
    group, cells, budgets, _, guarantee = MEANING[study]
    errors, diagnostics = read(run, study, "errors"), read(run, study, "diagnostics")
    for table in (errors, diagnostics):
        assert set(table["guarantee"]) == {guarantee}
        assert set(table["group"]) == {group}
        assert (table["budget"] == table["cell"].map(cells)).all()
        divided = {f"budget_{name}" for name in budgets if name != "all"}
        assert {name for name in table if name.startswith("budget_")} == divided
    assert list(errors["cell"]) == [cell for cell in cells for _ in range(3)]
    assert set(errors["draws"]) == {3}
    # No draw fits better than the fit.
    assert (errors["mean_squared_error"] > errors["non_private_mean_squared_error"]).all()
    assert list(diagnostics["parameter"]) == budgets * len(cells)
    assert diagnostics["passed"].all()
    if study != "mean":
        # Independent draws have no chains.
        assert set(diagnostics["trace_chains"]) == {0}
        assert set(diagnostics["exact_share"]) == {1.0}


def test_figures_of_studies_of_other_models_or_mechanisms(run):
    configured = yaml.safe_load(STUDIES)
    figures = run.files("*.svg")
    assert set(figures) == {
        f"{study}/figures/{name}.svg"
        for study in configured
        for name in configured[study]["figures"]
    }
    for name, path in figures.items():
        # The words stand in the picture as text, in a line or several.
        words = " ".join(re.sub("<[^>]*>", " ", path.read_text()).split())
        assert MEANING[name.partition("/")[0]][-1] in words, name
    assert run.planned() == {}
