"""Simulated releases and coverage, on few subjects."""

import shutil

import pandas as pd
import pytest
import yaml

from reproduction.configuration import ConfigurationError, load_settings

pytestmark = pytest.mark.slow

SPACES = {"S^2": "s2", "rats": "rats", "outlines": "outlines"}
BUDGETS = [0.5, 8.0]
MECHANISMS = {"release", "as published", "no privacy", "without data"}
TARGETS = ("utility", "coverage")
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
    settings["chains"]["pilots"] = {"records": 400, "least": 10, "most": 20}
    settings["chains"]["most_steps"] = 8
    spaces = settings["coverage"]["spaces"]
    settings["coverage"] |= {"releases": 2, "spaces": {"R^3": spaces["R^3"]}}
    return settings


@pytest.fixture(scope="module")
def simulated(apart):
    """A checkout with both targets run to their end."""
    checkout = apart("utility", tiny)
    checkout.run(*TARGETS)
    return checkout


@pytest.fixture(scope="module")
def folder(simulated):
    return simulated.root / "results" / "utility"


@pytest.fixture(scope="module")
def table(folder):
    return pd.read_csv(folder / "utility.csv")


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
        part = table[(table["space"] == space) & (table["mechanism"] == "as published")]
        # Of the largest n the budgets shown only.
        assert set(zip(part["n"], part["budget"], strict=True)) == {(20, 0.5), (20, 8.0), (40, 8.0)}
    assert (table["curve_error"] > 0.0).all()


def test_only_releases_are_said_to_hold_their_budget(table):
    said = dict(zip(table["mechanism"], table["budget_holds"], strict=True))
    assert said["release"] == "proved"
    assert said["as published"] == "does not hold"
    assert said["no privacy"] == "no privacy"


def test_public_inputs_are_in_every_row_of_a_release(table):
    public = ["footpoint_radius", "shooting_vector_length", "residual_scale"]
    released = table[table["mechanism"] == "release"]
    assert released[[*public, "stages", "predicted", "sampler"]].notna().all(axis=None)
    # As many stages as they are described.
    counts = [released[name].str.count(mark) for name, mark in (("stages", ";"), ("sampler", ","))]
    assert (counts[0] == counts[1]).all()
    assert (released["total_variation"] == 0.0).all()


def test_what_was_drawn_blindly_is_not_better_than_what_was_fitted(table):
    errors = table.pivot_table(index=["space", "n"], columns="mechanism", values="curve_error")
    assert (errors["without data"] > errors["no privacy"]).all()


def test_words_and_figures_say_what_holds(folder):
    text = (folder / "utility.md").read_text()
    assert "nan" not in text
    assert "not hold" in text
    picture = (folder / "utility.svg").read_text()
    assert "as published: its budget does not hold" in picture
