"""Measurements from their settings to their pages, by the workflow, on few records."""

import csv
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml

from reproduction.papers import PAPERS

pytestmark = pytest.mark.slow

FIGURE = ("pdf", "svg", "png")
AUDIT = {
    "seed": 1,
    "sphere": {
        **{"ball_radius": 0.3927, "geodesic_length": 0.6, "noise_variance": 0.001, "tau": 0.1},
        **{"budgets": [0.5, 1.0, 2.0], "n": [6, 8]},
        "search": {"candidates": 8, "rounds": 2, "work": 1000},
    },
    "two_points": {"angle": 0.1, "tau": 0.01},
    "black_box": {
        **{"stated": 1.0, "times": 2.0, "confidence": 0.95},
        **{"published_draws": 200, "joint_draws": 2000, "power": 8},
        "two_points": {"angle": 3.0, "tau": 1.8},
        "one_far": {"n": 5, "footpoint_radius": 1.0, "place": 0.8, "far": 0.8, "tau": 1.1},
    },
    "releases": {"confidence": 0.95, "stated": 2.0, "draws": 40},
    "times": {"draws": 300, "n": 8, "repeats": 3, "spaces": [{"name": "sphere", "size": 2}]},
    "replay": {"blocks": 2, "pairs": 20},
}
BENCHMARK = {
    "seed": 1,
    "spaces": {name: {"n": [8, 9], "budgets": [1.0, 2.0, 4.0]} for name in ("S^2", "outlines")},
    "draws": [5, 10],
    "seconds": {"default_sampler": 60, "chain": 0.2, "rate": 0.02, "fit": 0.3, "mean": 5},
    **{"fits": {"n": [8]}, "means": {"n": [40]}, "sizes": {"n": [10, 20]}},
}


def utility(settings):
    settings["spaces"] = {name: settings["spaces"][name] for name in ("S^2", "rats", "outlines")}
    settings["utility"] = {
        **{"n": [20, 40], "budgets": [0.5, 8.0], "shown": [8.0], "draws": 2},
        "data_sets": {"records": 80, "least": 2, "most": 3},
        "releases": {"S^2": {"n": [20], "budgets": [8.0], "data_sets": 2, "draws": 2}},
    }
    settings["chains"] |= {"pilots": {"records": 400, "least": 10, "most": 20}, "most_steps": 8}
    spaces = settings["coverage"]["spaces"]
    settings["coverage"] |= {"releases": 2, "spaces": {"R^3": spaces["R^3"]}}
    return settings


def tools(settings):
    settings["comparison"] |= {"draws": 3, "path": "wine.csv", "budgets": [1.0, 2.0]}
    chosen = settings["benchmark"]
    chosen |= {"budgets": [0.1, 10.0], "folds": 3, "repeats": 1}
    chosen["sets"] = {name: chosen["sets"][name] for name in ("engel", "computers")}
    chosen["held_out"]["sets"] = {"ais": chosen["held_out"]["sets"]["ais"]}
    return settings


def means(settings):
    settings |= {"replicates": 6, "n": [20, 25, 30, 40, 50, 75, 400], "losses": [25]}
    settings["neighbours"] |= {"pairs": 3, "last": 40}
    settings["medians"] |= {"n": 20, "replicates": 3, "outliers": [0.0, 0.4]}
    settings["audit"] |= {"draws": 1000, "walks": 1000, "steps": 20}
    settings["walks"]["scales"] = [0.05, 0.5]
    for space in settings["walks"]["spaces"].values():
        space |= {"chains": 4, "burn_in": 20, "jump": 5, "draws": 2}
    # A table of a user's own, and outlines of a file: here both are the rats.
    rats = {"source": "table", "path": "resources/vilmann_rats.csv", "covariate": "age_days"}
    rats["subject"] = "rat"
    with (Path(__file__).parents[2] / rats["path"]).open(newline="") as text:
        first = next(csv.DictReader(text))
    places = [float(first[f"{axis}{k}"]) for k in range(1, 9) for axis in "xy"]
    space = {"name": "kendall", "size": 8}
    settings["own"] = {"manifold": space, "data": rats, "centre": places, "radius": 0.3, "draws": 3}
    settings["shapes"]["draws"] = 4
    settings["shapes"]["spaces"]["outlines"] |= {"n": 30, "manifold": space, "file": rats}
    return settings


def linear(settings):
    settings["kng_linear"] |= {"replicates": 5, "steps": 240}
    settings["kng_linear"]["n"] = [100, 1000, 100_000, 1_000_000, 10_000_000]
    settings["kng_quantile"] |= {"replicates": 5, "n": [10, 1000, 3000], "states": 10}
    settings["kng_location"] |= {"replicates": 4, "n": [10, 100, 200], "states": 10}
    cell = {"n": 20, "noise_variance": 0.001, "budget": 1.0}
    settings["geodesic_vs_notebook"] |= {
        **{"data_sets": 3, "footpoints": 6, "shooting_vectors": 4},
        "cells": [
            cell,
            cell | {"budget": 0.5},
            cell | {"noise_variance": 0.0001},
            cell | {"n": 50},
        ],
        "neighbours": {"pairs": 30, "n": 20},
    }
    return settings


# Settings, cut down; targets; and files besides parts and logs, or figures of papers.
STAGES = {
    "audit": (
        lambda _: AUDIT,
        ["audit"],
        [
            *("neighbours.csv", "sensitivity.csv", "black_box.csv", "draw_times.csv"),
            *("release_times.csv", *(f"audit.{suffix}" for suffix in ("csv", "html", *FIGURE))),
        ],
    ),
    "benchmark": (
        lambda _: BENCHMARK,
        ["benchmark"],
        [
            *("sampling_s2.csv", "sampling_outlines.csv", "fits_numpy.csv", "fits_autograd.csv"),
            *("means.csv", "sizes.csv", *(f"benchmark.{each}" for each in ("csv", "md", *FIGURE))),
        ],
    ),
    "utility": (
        utility,
        ["utility", "coverage"],
        [
            *(f"utility.{suffix}" for suffix in ("csv", "md", *FIGURE)),
            *("coverage.csv", "coverage.md"),
        ],
    ),
    "tools": (
        tools,
        ["linear_tools"],
        [
            *(
                "sets.csv",
                "shares.csv",
                "medians.csv",
                "against.csv",
                "comparison.csv",
                "draws.csv",
            ),
            *(f"tools.{suffix}" for suffix in ("md", *FIGURE)),
        ],
    ),
    "means": (
        means,
        ["reimherr_bharath_soto", "soto"],
        [
            f"figures/{name}.{suffix}"
            for name in (*PAPERS["reimherr_bharath_soto"].figures, *PAPERS["soto"].figures)
            for suffix in ("csv", *FIGURE)
        ],
    ),
    "linear": (
        linear,
        ["reimherr_awan", "kulkarni_soto_first_version"],
        [
            f"figures/{name}.{suffix}"
            for name in ("kng_linear", "kng_quantile", "kng_location", "notebook", "notebook_sizes")
            for suffix in ("csv", *FIGURE)
        ],
    ),
}
MARKS = {"benchmark": pytest.mark.geomstats, "tools": pytest.mark.competitors}


@pytest.fixture(scope="module")
def measured(apart):
    """What gives a checkout with the targets of a stage run to their end, and its results."""
    made = {}

    def measure(stage):
        if stage not in made:
            change, targets, _ = STAGES[stage]
            checkout = apart(stage, change)
            if stage == "tools":
                # Public figures of no wine.
                columns = ["alcohol", "fixed acidity", "density", "pH", "residual sugar"]
                wine = {
                    name: [(7 * i * (j + 2)) % 11 for i in range(40)]
                    for j, name in enumerate(columns)
                }
                pd.DataFrame(wine).to_csv(checkout.root / "wine.csv", sep=";", index=False)
            checkout.run(*targets, cores=1 if stage == "benchmark" else 2)
            made[stage] = checkout
        return made[stage], made[stage].root / "results" / stage

    return measure


@pytest.fixture
def rewritten():
    """What writes other text to a file until the test ends."""
    before = {}

    def write(path, text):
        before.setdefault(path, path.read_text())
        path.write_text(text)

    yield write
    for path, text in before.items():
        path.write_text(text)


@pytest.mark.parametrize(
    "stage", [pytest.param(stage, marks=MARKS.get(stage, ())) for stage in STAGES]
)
def test_files_are_those_promised_and_nothing_is_left_to_do(measured, rewritten, stage):
    checkout, folder = measured(stage)
    _, targets, files = STAGES[stage]
    if stage in ("means", "linear"):
        assert all((folder / name).stat().st_size for name in files)
    else:
        assert {path.name for path in folder.iterdir() if path.is_file()} == set(files)
        assert [path.name for path in folder.parent.iterdir()] == [stage]
    assert not any(log.read_text() for log in (folder / "logs").iterdir())
    assert "Nothing to be done" in checkout.run("--dry-run", *targets)
    # No other configuration matters.
    other = yaml.safe_load(checkout.configuration.read_text()) | {"name": "another", "seed": 2}
    rewritten(checkout.configuration, yaml.safe_dump(other))
    assert "Nothing to be done" in checkout.run("--dry-run", *targets)


# The audit


def test_a_changed_setting_or_module_runs_again_what_reads_it(measured, rewritten):
    checkout, _ = measured("audit")
    changed = json.loads(json.dumps(AUDIT))
    changed["black_box"]["power"] = 9
    place = checkout.root / "config" / "audit.yaml"
    before = place.read_text()
    rewritten(place, yaml.safe_dump(changed))
    again = {"audit_black_box": 1, "audit": 1}
    assert checkout.planned("audit") == again
    place.write_text(before)
    module = checkout.root / "workflow/scripts/reproduction/measurements/audit/black_box.py"
    rewritten(module, f"{module.read_text()}CHANGED = True\n")
    assert checkout.planned("audit") == again


def test_wrong_settings_are_refused_in_a_sentence(measured, rewritten):
    checkout, _ = measured("audit")
    rewritten(checkout.root / "config" / "audit.yaml", yaml.safe_dump(AUDIT | {"sead": 1}))
    result = checkout.snakemake("--dry-run", "audit")
    assert result.returncode != 0
    sentence = "config/audit.yaml: configuration key sead is unknown: did you mean seed?"
    assert f"Error: {sentence}\n" in result.stdout
    assert "Traceback" not in result.stdout


def test_wrong_settings_of_other_targets_stop_nothing(measured, rewritten):
    checkout, _ = measured("audit")
    for stage in ("audit", "benchmark", "linear", "means", "utility"):
        rewritten(checkout.root / "config" / f"{stage}.yaml", "seed: [")
    assert "make_data" in checkout.planned()
    checkout.run("--lint")


def test_losses_are_of_every_mechanism(measured):
    _, folder = measured("audit")
    losses = pd.read_csv(folder / "audit.csv")
    assert losses["pair"].is_unique
    counts = losses.groupby(["n", "stated"])["mechanism"].nunique()
    assert counts.to_dict() == {
        **{(2, budget): 2 for budget in (0.5, 1.0, 2.0)},
        **{(6, budget): 11 for budget in (0.5, 1.0, 2.0)},
        (8, 1.0): 11,
    }
    published = losses["mechanism"].str.startswith("as published")
    assert (losses.loc[published, "verdict"] == "exceeded").all()
    draws = pd.read_csv(folder / "black_box.csv")
    assert draws.loc[draws["mechanism"] == "footpoint as published", "caught"].all()
    honest = (draws["mechanism"] == "release by one choice") & (draws["run_at"] == 1.0)
    assert not draws.loc[honest, "caught"].any()


def test_a_loss_can_be_computed_again_from_its_neighbours(measured):
    checkout, folder = measured("audit")
    table = pd.read_csv(folder / "audit.csv").set_index("pair")

    def recomputed(name):
        script = "workflow/scripts/recompute_audit.py"
        call = [sys.executable, script, "results/audit", name]
        return subprocess.run(call, cwd=checkout.root, capture_output=True, text=True)

    for mechanism in ("tau shared", "two points, residuals clipped"):
        [name] = [each for each in table.index if re.match(rf"{mechanism} \|.*\| 1$", each)][:1]
        found = recomputed(name).stdout
        again, written = re.search(r"realised (\S+), the table has (\S+)", found).groups()
        error = 2.0 * table.loc[name, "error"]
        assert float(again) == pytest.approx(float(written), rel=0.01, abs=error)
        assert f"the table has {table.loc[name, 'verdict']}\n" in found
    result = recomputed("nobody")
    assert result.returncode != 0
    assert "has no pair 'nobody'" in result.stderr


def test_record_and_replay_has_a_target_of_its_own(measured):
    checkout, folder = measured("audit")
    planned = checkout.planned("replay")
    assert planned == {"replay_block": 2, "replay_planted": 1, "replay": 1}
    page = (folder / "audit.html").read_text()
    assert "./run snakemake replay --cores 8" in page
    shown = re.findall(r'<span class="(\w+)">((?:not )?exceeded|undecided)</span>', page)
    assert {("fails", "exceeded"), ("holds", "not exceeded")} <= set(shown)


# The benchmark


@pytest.mark.geomstats
def test_every_cell_of_the_benchmark_has_every_sampler(measured):
    _, folder = measured("benchmark")
    table = pd.read_csv(folder / "benchmark.csv")
    methods = ["default sampler", "random walk", "random walk with geomstats"]
    draws = table[table["what"] == "effective draws"]
    assert (draws["value"] > 0.0).all()
    # Of the larger n the least and the greatest budget only.
    cells = {(8, 1.0), (8, 2.0), (8, 4.0), (9, 1.0), (9, 4.0)}
    for _, part in draws.groupby(["space", "method"]):
        assert set(zip(part["n"], part["budget"], strict=True)) == cells
    assert len(draws.groupby(["space", "method"])) == 6
    keys = ["space", "n", "budget"]
    times = table[table["what"] == "autocorrelation time"].set_index(keys)
    assert (times["note"].str.contains("cut off") == times["is_bound"]).all()
    # So short that none can converge in 96 dimensions.
    assert times.loc["outlines", "is_bound"].all()
    for method in methods[1:]:
        part = table[table["method"] == method].set_index(keys)
        found = part[part["what"] == "effective draws"]
        steps = part.loc[part["what"] == "steps", "value"]
        at = times.loc[found.index]
        np.testing.assert_allclose(found["value"], steps / at["value"], rtol=1e-6)
        assert (found["is_bound"] == at["is_bound"]).all()
    for what in ("time against n", "memory beyond the data"):
        part = table[(table["what"] == what) & (table["method"] == "fit")]
        assert sorted(part["n"]) == [10, 10, 20, 20]
    for method in ("fit of the library", "geomstats (autograd)", "geomstats (numpy)"):
        fits = table[(table["what"] == "fit") & table["method"].str.startswith(method)]
        assert (fits["value"] > 0.0).all()
        assert len(fits)
    text = (folder / "benchmark.md").read_text()
    assert text.count("**met**") + text.count("**missed**") >= 6
    assert f"NumPy {np.__version__}" in text
    assert "nan" not in text


# Simulated releases


def test_every_cell_has_every_mechanism(measured):
    checkout, folder = measured("utility")
    table = pd.read_csv(folder / "utility.csv")
    assert set(table["mechanism"]) == {"release", "as published", "no privacy", "without data"}
    for _, part in table[table["mechanism"] == "as published"].groupby("space"):
        # Of the largest n the budgets shown only.
        assert set(zip(part["n"], part["budget"], strict=True)) == {(20, 0.5), (20, 8.0), (40, 8.0)}
    errors = table.pivot_table(index=["space", "n"], columns="mechanism", values="curve_error")
    assert (errors["without data"] > errors["no privacy"]).all()
    assert "nan" not in (folder / "utility.md").read_text()
    # The number of cores does not matter.
    cell = "results/utility/cells/s2_n20.csv"
    before = (checkout.root / cell).read_bytes()
    checkout.run("--force", cell, cores=1)
    assert (checkout.root / cell).read_bytes() == before


# Other tools


@pytest.mark.competitors
def test_every_method_has_its_rows(measured):
    _, folder = measured("tools")
    shares = pd.read_csv(folder / "shares.csv")
    ours = {"adassp", "matrix_laplace", "matrix_gaussian"}
    assert set(shares["method"]) == {"diffprivlib", "diffprivlib_corrected"} | ours
    assert set(shares["data_set"]) == {"engel", "computers", "ais"}
    assert set(shares[shares["held_out"]]["method"]) == ours
    assert (shares["draws"] == 3).all()
    draws = pd.read_csv(folder / "draws.csv")
    assert set(draws["data"]) == {"red wine"}
    counts = draws.groupby(["method", "budget"]).size()
    assert (counts["least_squares"] == 1).all()
    assert (counts.drop("least_squares") == 3).all()
    assert set(draws["budget"]) == {1.0, 2.0}
    page = (folder / "tools.md").read_text()
    assert all(f"{each} " in page for each in ("diffprivlib", "opendp", "scikit-learn", "numpy"))
    assert "nan" not in page


@pytest.mark.competitors
def test_another_table_of_wine_or_none_makes_lines_anew(measured):
    checkout, _ = measured("tools")
    target = "results/tools/comparison/least_squares.csv"
    wine, kept = checkout.root / "wine.csv", checkout.root / "kept.csv"
    wine.rename(kept)
    checkout.run(target)
    assert set(pd.read_csv(checkout.root / target)["data"]) == {"diabetes"}
    kept.rename(wine)
    checkout.run(target)
    wine.rename(kept)
    # An older one.
    wine.write_text(kept.read_text() + kept.read_text().splitlines()[-1] + "\n")
    os.utime(wine, (0, 0))
    planned = checkout.planned("--", target)
    kept.replace(wine)
    assert planned == {"tools_draws": 1}


# Papers with settings of their own


@pytest.mark.parametrize(
    ("stage", "sentences"),
    [
        ("means", {"reimherr_bharath_soto": 10, "soto": 3}),
        ("linear", {"reimherr_awan": 16, "kulkarni_soto_first_version": 17}),
    ],
)
def test_every_claim_gets_a_verdict(measured, stage, sentences):
    _, folder = measured(stage)
    for paper, number in sentences.items():
        claims = pd.read_csv(folder / f"{paper}_claims.csv")
        assert set(claims["paper"]) == {PAPERS[paper].name}
        assert claims["claim"].str.partition(".")[0].nunique() == number
        assert PAPERS[paper].name in (folder / f"{paper}_claims.html").read_text()
        # The table of tools is made in another environment.
        elsewhere = claims["study"] == "tools"
        assert elsewhere.any() == (paper == "kulkarni_soto_first_version")
        assert (claims["verdict"].isna() == elsewhere).all()
        made_by = "not evaluated: ./run --with competitors snakemake linear_tools makes"
        assert claims.loc[elsewhere, "why"].str.startswith(made_by).all()


def test_tables_of_means(measured):
    _, folder = measured("means")
    for space, mechanisms in (("spd2", 9), ("s2", 7)):
        table = pd.read_csv(folder / space / "errors.csv")
        assert len(table) == mechanisms * 7 * 6
        assert np.all(np.isfinite(table["distance"]) & (table["distance"] > 0.0))
        assert table["bias"].notna().equals(table["mechanism"].str.startswith("tangent"))
        bounds = pd.read_csv(folder / space / "audit.csv")
        assert len(bounds) == 2 * (mechanisms + 3)
        assert np.all(np.isfinite(bounds["bound"]) & (bounds["bound"] >= 0.0))
    # Outlines of a file take the place of simulated ones.
    drawn = pd.read_csv(folder / "outlines" / "draws.csv")
    assert set(drawn["n"]) == {18}
    assert not drawn["simulated"].any()


def test_a_table_of_ones_own_has_its_mean_its_median_and_private_means(measured):
    _, folder = measured("means")
    estimates = pd.read_csv(folder / "own" / "estimates.csv").set_index("estimate")
    assert set(estimates["n"]) == {18}
    ran = set(estimates.index[estimates["refused"].isna()])
    expected = ("mean", "median", "tangent_laplace", "private_median", "landmarkwise_laplace")
    assert ran.issuperset(expected)
    assert "positive curvature" in estimates.loc["wrapped_laplace", "refused"]
    draws = pd.read_csv(folder / "own" / "draws.csv")
    assert set(draws.groupby("estimate").size()[lambda n: n > 1]) == {3}


def test_tables_of_regression(measured):
    _, folder = measured("linear")
    for study, rows in (
        ("kng_linear", 5 * 5 * 5),
        ("kng_quantile", 5 * 3 * 5),
        ("kng_location", 3 * 3 * 4),
        ("geodesic_vs_notebook", 4 * 3),
    ):
        table = pd.read_csv(folder / study / "errors.csv")
        assert len(table) == rows
        assert not table.duplicated(["group", "cell", "data_set"]).any()
    linear = pd.read_csv(folder / "kng_linear" / "errors.csv")
    assert np.all(np.isfinite(linear["distance"]) & (linear["distance"] > 0.0))
    assert np.all(linear.loc[linear["mechanism"] == "kng", "exact"] == 1)


def test_draws_beside_other_tools_are_judged_where_they_are(measured):
    checkout, folder = measured("linear")
    errors = {"least_squares": 0.8731, "geodesic_as_published": 0.9, "diffprivlib": 9.0}
    draws = pd.DataFrame(
        [
            {"method": name, "budget": budget, "draw": draw, "mean_squared_error": error + draw}
            for name, error in errors.items()
            for budget in (1, 2, 4)
            for draw in range(1 if name == "least_squares" else 2)
        ]
    ).assign(n=100, group="wine", cell="one", excess=0.1, times_published=10.0)
    verdicts, paper = {}, "kulkarni_soto_first_version"
    place = checkout.root / "results" / "tools" / "draws.csv"
    place.parent.mkdir(exist_ok=True)
    for data in ("red wine", "diabetes"):
        draws.assign(data=data).to_csv(place, index=False)
        checkout.run(f"results/linear/{paper}_claims.csv")
        claims = pd.read_csv(folder / f"{paper}_claims.csv").set_index("claim")
        verdicts[data] = claims[claims["study"] == "tools"]["verdict"].fillna("")
    place.unlink()
    assert verdicts["red wine"]["wine_least_squares"] == "holds"
    assert verdicts["red wine"]["wine_factor.nearer"] == "holds"
    assert verdicts["red wine"]["wine_factor.number"] == "does not hold"
    # Without draws of Opacus.
    assert verdicts["red wine"]["wine_opacus"] == ""
    assert (verdicts["diabetes"] == "").all()
