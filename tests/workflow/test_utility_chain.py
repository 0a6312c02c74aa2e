"""Simulated releases, mechanisms side by side, coverage and aims, on few subjects."""

import shutil

import numpy as np
import pandas as pd
import pytest
import yaml

from reproduction.configuration import ConfigurationError, load_settings

pytestmark = pytest.mark.slow

SPACES = {"S^2": "s2", "rats": "rats", "outlines": "outlines"}
BUDGETS = [0.5, 8.0]
CELLS = {"S^2": [[20, 8.0], [30, 8.0]], "rats": [[20, 8.0]]}
MECHANISMS = {
    *("certified distribution", "certified release", "as published", "no privacy", "without data"),
}
TARGETS = ("utility", "comparison", "coverage", "aims")
FORMATS = ("csv", "md", "pdf", "svg", "png")


def tiny(settings):
    """The settings, cut down to few subjects."""
    settings["spaces"] = {name: settings["spaces"][name] for name in SPACES}
    settings["utility"] = {
        "n": [20, 40],
        "budgets": BUDGETS,
        "shown": BUDGETS[1:],
        "data_sets": {"records": 80, "least": 2, "most": 3},
        "draws": 2,
        "releases": {"S^2": {"n": [20], "budgets": [8.0], "data_sets": 2, "draws": 2}},
    }
    for name in ("pilots", "weighted"):
        settings["chains"][name] = {"records": 400, "least": 10, "most": 20}
    settings["chains"]["most_steps"] = 8
    settings["comparison"] = {"cells": CELLS, "data_sets": 2, "draws": 2}
    spaces = settings["coverage"]["spaces"]
    settings["coverage"] |= {"releases": 2, "spaces": {"R^3": spaces["R^3"]}}
    settings["aims"]["data_sets"] = {"records": 80, "least": 2, "most": 3}
    settings["aims"]["cells"] = {
        "S^2": [{"n": 20, "budget": {"epsilon": "8"}, "error": 1e-9}],
        "rats": [{"n": 20, "budget": {"rho": "1", "delta": "1e-6"}, "error": 3.0}],
    }
    return settings


@pytest.fixture(scope="module")
def simulated(apart):
    """A checkout with all three targets run to their end."""
    checkout = apart("utility", tiny)
    checkout.run(*TARGETS)
    return checkout


@pytest.fixture(scope="module")
def folder(simulated):
    return simulated.root / "results" / "utility"


@pytest.fixture(scope="module")
def table(folder):
    return pd.read_csv(folder / "utility.csv")


@pytest.fixture(scope="module")
def compared(folder):
    return pd.read_csv(folder / "comparison.csv")


def test_files_are_those_promised(folder):
    expected = {f"utility.{suffix}" for suffix in FORMATS}
    expected |= {f"{name}.{suffix}" for name in TARGETS[1:] for suffix in FORMATS[:2]}
    assert {path.name for path in folder.iterdir() if path.is_file()} == expected
    assert [path.name for path in folder.parent.iterdir()] == ["utility"]
    for log in (folder / "logs").iterdir():
        assert log.read_text() == ""


def test_nothing_is_left_to_do(simulated):
    assert "Nothing to be done" in simulated.run("--dry-run", *TARGETS)


@pytest.mark.parametrize(
    ("place", "value", "sentence"),
    [
        (["utility", "budget"], [1.0], "utility.budget is unknown: did you mean budgets?"),
        (["chains", "pilots", "least"], 0, "chains.pilots.least: 0 is too small: give 1 or more"),
        (["spaces", "S^2", "data"], {"kind": "geodesic"}, "spaces.S^2.data.length is missing: add"),
        (
            ["spaces", "S^2", "manifold", "name"],
            "torus",
            "spaces.S^2.manifold.name: 'torus' is not",
        ),
        (["utility", "n"], [20.5], "utility.n[0]: 20.5 has the wrong type: give an integer"),
        (["comparison", "data_sets"], 1, "comparison.data_sets: 1 is too small: give 2 or more"),
        (
            ["comparison", "cells", "S^2"],
            [[20, 8.0, 1.0]],
            "comparison.cells.S^2[0]: [20, 8.0, 1.0] is too long a list: give 2 entries at most",
        ),
        (
            ["comparison", "cells", "S2"],
            [[20, 8.0]],
            "comparison.cells.S2 is unknown: known keys are S^2, outlines, rats",
        ),
        (
            ["utility", "releases", "rat"],
            {"n": [20], "budgets": [8.0], "data_sets": 2, "draws": 2},
            "utility.releases.rat is unknown: known keys are S^2, outlines, rats",
        ),
    ],
)
def test_wrong_settings_are_refused_in_a_sentence(simulated, tmp_path, place, value, sentence):
    shutil.copytree(simulated.root / "config", tmp_path, dirs_exist_ok=True)
    file = tmp_path / "utility.yaml"
    settings = yaml.safe_load(file.read_text())
    part = settings
    for key in place[:-1]:
        part = part[key]
    part[place[-1]] = value
    file.write_text(yaml.safe_dump(settings))
    with pytest.raises(ConfigurationError) as problem:
        load_settings(file)
    assert str(problem.value).startswith(f"config/utility.yaml: configuration key {sentence}")


def test_a_run_with_wrong_settings_ends_with_the_sentence(simulated):
    file = simulated.root / "config" / "utility.yaml"
    before = file.read_text()
    file.write_text(yaml.safe_dump(yaml.safe_load(before) | {"sead": 1}))
    result = simulated.snakemake("--dry-run", "utility")
    assert result.returncode != 0
    assert (
        "Error: config/utility.yaml: configuration key sead is unknown: did you mean seed?\n"
        in result.stdout
    )
    file.write_text(before)


def test_number_of_cores_does_not_matter(simulated, folder):
    before = (folder / "cells" / "s2_n20.csv").read_bytes()
    simulated.run("--force", "results/utility/cells/s2_n20.csv", cores=1)
    assert (folder / "cells" / "s2_n20.csv").read_bytes() == before


def test_every_cell_has_every_mechanism(table):
    assert set(table["mechanism"]) == MECHANISMS
    for space in SPACES:
        part = table[(table["space"] == space) & (table["mechanism"] == "certified distribution")]
        # Of the largest n the budgets shown only.
        assert set(zip(part["n"], part["budget"], strict=True)) == {(20, 0.5), (20, 8.0), (40, 8.0)}
    assert (table["curve_error"] > 0.0).all()


def test_only_the_certified_mechanism_is_said_to_hold_its_budget(table, compared):
    said = dict(zip(table["mechanism"], table["budget_holds"], strict=True))
    assert said["certified distribution"] == "proved of the distribution, not of draws by chains"
    assert said["certified release"] == "proved"
    assert said["as published"] == "does not hold"
    assert said["no privacy"] == "no privacy"
    said = compared.set_index("mechanism")["budget_holds"]
    assert set(said["as published"]) == {"does not hold"}
    assert set(said["combined score"]) == {"proved of the distribution"}


def test_public_inputs_are_in_every_row_of_a_certified_mechanism(table):
    public = ["footpoint_radius", "shooting_vector_length", "residual_scale"]
    scales = ["gradient_scale", "loss_scale", "loss_offset"]
    for name, more in (("certified distribution", scales), ("certified release", ["stages"])):
        part = table[table["mechanism"] == name]
        assert part[[*public, *more, "predicted", "sampler"]].notna().all(axis=None)
    released = table[table["mechanism"] == "certified release"]
    # As many stages as they are described.
    counts = [released[name].str.count(mark) for name, mark in (("stages", ";"), ("sampler", ","))]
    assert (counts[0] == counts[1]).all()
    assert (released["total_variation"] == 0.0).all()


def test_what_was_drawn_blindly_is_not_better_than_what_was_fitted(table):
    errors = table.pivot_table(index=["space", "n"], columns="mechanism", values="curve_error")
    assert (errors["without data"] > errors["no privacy"]).all()


def test_comparison_has_every_mechanism_in_every_cell(compared):
    cells = {(name, *pair) for name, pairs in CELLS.items() for pair in pairs}
    for _, part in compared.groupby("mechanism"):
        assert set(part[["space", "n", "budget"]].itertuples(index=False, name=None)) == cells
    assert compared["mechanism"].nunique() == 9
    assert np.isfinite(compared["log_mean_squared_error"]).all()


def test_budgets_of_stages_add_up(compared):
    staged = compared.dropna(subset="budgets")
    totals = [sum(map(float, str(each).split())) for each in staged["budgets"]]
    np.testing.assert_allclose(totals, staged["budget"], rtol=1e-3)


def test_words_and_figures_say_what_holds(folder):
    for name in ("utility", "comparison"):
        text = (folder / f"{name}.md").read_text()
        assert "nan" not in text
        assert "not hold" in text
    picture = (folder / "utility.svg").read_text()
    assert "as published: its budget does not hold" in picture


def test_aims_have_verdicts(folder):
    found = pd.read_csv(folder / "aims.csv").set_index(["aim", "space"])["verdict"]
    # What nothing reaches, and what everything does.
    assert found["error", "S^2"].startswith("missed by ")
    assert found["error", "rats"] == "reached"
    assert "| rats | 20 | rho 1 | even | 3 |" in (folder / "aims.md").read_text()
