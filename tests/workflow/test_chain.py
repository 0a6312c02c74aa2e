"""The chain of rules on a small configuration: files, their numbers, and what made them."""

import hashlib
import json
import os
import signal
import time

import numpy as np
import pandas as pd
import pytest
import yaml

GROUPS = {"sphere": ["n5_noise0.001", "n6_noise0.001"], "rats": ["observed"]}
CELLS = {
    "sphere": ["p0.5_v0.5", "p1.01_v1.01", "p0.02_v2.00"],
    "rats": ["p0.3_v0.3"],
}
FIGURES = {"sphere": ["figure_1", "figure_5", "figure_9", "samplers"], "rats": ["shapes"]}
SUFFIXES = ("pdf", "svg", "png", "csv")
COMPARED = ("n5_noise0.001", "p0.5_v0.5")
DATA_SETS = {"sphere": 3, "rats": 1}

KEY = ["group", "cell", "sampler"]
COMMON = [
    *("study", "group", "n", "noise_variance", "cell", "footpoint_budget"),
    *("shooting_vector_budget", "mechanism", "sampler", "support", "seed", "lock"),
]
ERRORS = [
    *(*COMMON, "data_set", "draws", "footpoints", "mean_squared_error"),
    "log_error_standard_error",
    *("non_private_mean_squared_error", "median_squared_error", "mean_footpoint_distance"),
    *("tau", "flagged"),
]
DIAGNOSTICS = [
    *(*COMMON, "parameter", "steps", "cut_short", "accepted", "largest_weight", "trace_chains"),
    *("trace_states", "trace_thin", "ess_bulk", "rhat", "passed"),
]


def sampled_cells(study):
    """Group, cell and sampler of every file of draws, in the order of tables."""
    cells = [(group, cell, "matched") for group in GROUPS[study] for cell in CELLS[study]]
    return cells + ([(*COMPARED, "random_walk")] if study == "sphere" else [])


def read(run, study, name):
    table = run.files()[f"{study}/tables/{name}.csv"]
    return pd.read_csv(table, dtype={"noise_variance": str, "cell": str})


def figure_numbers(run, study, figure):
    return pd.read_csv(
        run.files()[f"{study}/figures/{figure}.csv"], dtype={"noise_variance": str, "cell": str}
    )


def arrays(path):
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def same_arrays(first, second):
    """Whether two files hold the same numbers, whatever made them."""
    left, right = arrays(first), arrays(second)
    return left.keys() == right.keys() and all(
        left[name].dtype == right[name].dtype
        and left[name].shape == right[name].shape
        and left[name].tobytes() == right[name].tobytes()
        for name in left
        if name != "made_by"
    )


# --- Files ---


def test_every_file_is_made_and_no_other(finished):
    expected = set()
    for study in GROUPS:
        for group in GROUPS[study]:
            names = ("data.npz", "fit.json", "sensitivity.npz")
            expected |= {f"{study}/groups/{group}/{name}" for name in names}
        expected |= {
            f"{study}/cells/{group}/{cell}.{sampler}.npz"
            for group, cell, sampler in sampled_cells(study)
        }
        expected |= {f"{study}/tables/{name}.csv" for name in ("errors", "diagnostics")}
        expected |= {
            f"{study}/figures/{figure}.{suffix}" for figure in FIGURES[study] for suffix in SUFFIXES
        }
    expected |= {
        "sphere/tables/neighbours.csv",
        "sphere/tables/figure_5_predictions.csv",
        "rats/tables/shapes_predictions.csv",
    }
    assert set(finished.files()) - set(finished.files("*.log")) == expected
    assert finished.temporaries() == []


def test_logs_are_there_and_empty(finished):
    logs = finished.files("*.log")
    assert len(logs) == sum(finished.planned("--forceall").values())
    assert {name: path.read_text() for name, path in logs.items() if path.stat().st_size} == {}


@pytest.mark.parametrize("study", GROUPS)
def test_groups_hold_points_fits_and_bounds(finished, study):
    for group in GROUPS[study]:
        files = {
            name: finished.files()[f"{study}/groups/{group}/{name}"]
            for name in ("data.npz", "fit.json", "sensitivity.npz")
        }
        data = arrays(files["data.npz"])
        sets, number = data["covariates"].shape
        assert sets == DATA_SETS[study]
        assert number == {"n5_noise0.001": 5, "n6_noise0.001": 6, "observed": 144}[group]
        assert data["covariates"].min() == 0.0
        assert data["covariates"].max() == 1.0
        lengths = np.sum(np.abs(data["points"]) ** 2, axis=-1)
        np.testing.assert_allclose(lengths, 1.0, atol=1e-12)
        fit = json.loads(files["fit.json"].read_text())
        assert fit["converged"] == [True] * sets
        assert np.all(np.array(fit["energy"]) > 0)
        bounds = arrays(files["sensitivity.npz"])
        np.testing.assert_array_equal(bounds["tau"], fit["largest_residual"])
        assert np.all(bounds["footpoint"] > 0)
        assert np.all(bounds["shooting_vector"] > 0)


@pytest.mark.parametrize("study", GROUPS)
def test_draws_have_their_shapes(finished, study):
    for group, cell, sampler in sampled_cells(study):
        draws = arrays(finished.files()[f"{study}/cells/{group}/{cell}.{sampler}.npz"])
        # The random walk is run on the first data set alone.
        sets = 1 if sampler == "random_walk" else DATA_SETS[study]
        size = draws["footpoint"].shape[-1]
        assert size == {"sphere": 3, "rats": 8}[study]
        assert draws["footpoint"].shape == (sets, 2, size)
        assert draws["shooting_vector"].shape == (sets, 2, 2, size)
        traces = [values for name, values in draws.items() if name.startswith("trace_")]
        assert len(traces) >= 2 * 3
        assert {values.shape for values in traces} == {(4, 250)}
        for name, values in draws.items():
            if values.dtype.kind in "fc" and not name.endswith("largest_weight"):
                assert np.all(np.isfinite(values)), name


# --- Tables ---


@pytest.mark.parametrize("study", GROUPS)
def test_tables_are_complete(finished, study):
    errors, diagnostics = read(finished, study, "errors"), read(finished, study, "diagnostics")
    assert list(errors) == ERRORS
    assert list(diagnostics) == DIAGNOSTICS
    expected = [
        (*entry, data_set)
        for entry in sampled_cells(study)
        for data_set in range(1 if entry[2] == "random_walk" else DATA_SETS[study])
    ]
    assert list(errors[[*KEY, "data_set"]].itertuples(index=False, name=None)) == expected
    expected = [
        (*entry, stage)
        for entry in sampled_cells(study)
        for stage in ("footpoint", "shooting_vector")
    ]
    assert list(diagnostics[[*KEY, "parameter"]].itertuples(index=False, name=None)) == expected
    # Observed data have no known noise, and random walks no weights.
    optional = ["noise_variance"] if study == "rats" else []
    assert not errors.drop(columns=optional).isna().any(axis=None)
    assert not diagnostics.drop(columns=[*optional, "largest_weight"]).isna().any(axis=None)
    assert (diagnostics["largest_weight"].isna() == (diagnostics["sampler"] != "matched")).all()
    for table in (errors, diagnostics):
        assert set(table["study"]) == {study}
        assert set(table["mechanism"]) == {"as_published"}
        assert table["support"].str.startswith("p anywhere, |v| <= ").all()
        assert set(table["n"]) == ({5, 6} if study == "sphere" else {144})
        budgets = "p" + table["footpoint_budget"].map("{:g}".format)
        assert [c.startswith(b) for c, b in zip(table["cell"], budgets, strict=True)].count(
            False
        ) == 0


@pytest.mark.parametrize("study", GROUPS)
def test_flags_agree_with_diagnostics(finished, study):
    errors, diagnostics = read(finished, study, "errors"), read(finished, study, "diagnostics")
    judged = (diagnostics["ess_bulk"] > 400) & (diagnostics["rhat"] < 1.01)
    judged &= ~diagnostics["cut_short"]
    assert (judged == diagnostics["passed"]).all()
    failed = ~diagnostics.groupby(KEY)["passed"].all()
    flagged = errors.groupby(KEY)["flagged"]
    assert (flagged.nunique() == 1).all()
    pd.testing.assert_series_equal(flagged.first(), failed, check_names=False)
    if study == "sphere":
        # A short random walk cannot pass, so that both values have been seen.
        assert failed.loc[(*COMPARED, "random_walk")]
        assert not failed.all()


def test_errors_are_those_of_the_draws(finished):
    """Mean squared errors anew, with the formulas of the sphere written out."""
    errors = read(finished, "sphere", "errors")
    group, cell = "n6_noise0.001", "p0.02_v2.00"
    files = finished.files()
    data = arrays(files[f"sphere/groups/{group}/data.npz"])
    draws = arrays(files[f"sphere/cells/{group}/{cell}.matched.npz"])
    fit = json.loads(files[f"sphere/groups/{group}/fit.json"].read_text())
    rows = errors[(errors["group"] == group) & (errors["cell"] == cell)]
    for index, row in rows.set_index("data_set").iterrows():
        x, points = data["covariates"][index], data["points"][index]

        def mean_squared_error(p, v, x=x, points=points):
            length = np.linalg.norm(v)
            curve = np.cos(length * x)[:, None] * p + np.sin(length * x)[:, None] * v / length
            return np.mean(np.arccos(np.sum(curve * points, axis=1)) ** 2)

        footpoints, vectors = draws["footpoint"][index], draws["shooting_vector"][index]
        squared = [
            [mean_squared_error(p, v) for v in part]
            for p, part in zip(footpoints, vectors, strict=True)
        ]
        assert row["draws"] == 4
        assert row["mean_squared_error"] == pytest.approx(np.mean(squared), rel=1e-9)
        assert row["median_squared_error"] == pytest.approx(np.median(squared), rel=1e-9)
        means = np.mean(squared, axis=1)
        spread = abs(means[0] - means[1]) / 2 / np.mean(means)
        assert row["log_error_standard_error"] == pytest.approx(spread, rel=1e-9)
        fitted = np.array(fit["footpoint"][index])
        expected = mean_squared_error(fitted, np.array(fit["shooting_vector"][index]))
        assert row["non_private_mean_squared_error"] == pytest.approx(expected, rel=1e-9)
        away = np.mean(np.arccos(footpoints @ fitted))
        assert row["mean_footpoint_distance"] == pytest.approx(away, rel=1e-9)
        assert row["tau"] == fit["largest_residual"][index]


def test_table_of_neighbours(finished):
    table = read(finished, "sphere", "neighbours")
    assert list(table["pair"]) == [1, 2, 3]
    assert set(table["n"]) == {5}
    assert not table.isna().any(axis=None)
    # A published sensitivity bounds what it stands for.
    assert (table[["ratio_footpoint", "ratio_shooting_vector"]] >= 1.0).all(axis=None)


# --- Figures ---

BEGINNINGS = {"pdf": b"%PDF-", "svg": b"<?xml", "png": b"\x89PNG\r\n"}


@pytest.mark.parametrize(
    ("study", "figure"),
    [(study, figure) for study in FIGURES for figure in FIGURES[study]],
)
def test_figure_is_there_in_every_format(finished, study, figure):
    files = finished.files()
    for suffix, beginning in BEGINNINGS.items():
        content = files[f"{study}/figures/{figure}.{suffix}"].read_bytes()
        assert content.startswith(beginning)
        assert len(content) > 2000
    assert len(figure_numbers(finished, study, figure)) > 0


def test_numbers_of_the_error_figure(finished):
    numbers = figure_numbers(finished, "sphere", "figure_1")
    grids = {
        "equal": ["p0.5_v0.5", "p1.01_v1.01"],
        "split": ["p0.02_v2.00", "p1.01_v1.01"],
    }
    expected = {(grid, g, c) for grid in grids for g in GROUPS["sphere"] for c in grids[grid]}
    shown = list(numbers[["grid", "group", "cell"]].itertuples(index=False, name=None))
    assert len(shown) == len(expected)
    assert set(shown) == expected
    errors = read(finished, "sphere", "errors")
    errors = (
        errors[errors["sampler"] == "matched"].set_index(["group", "cell", "data_set"]).sort_index()
    )
    for row in numbers.itertuples():
        of_cell = errors.loc[row.group, row.cell]
        assert row.log_error == pytest.approx(np.log(of_cell.loc[0, "mean_squared_error"]))
        assert row.log_non_private == pytest.approx(
            np.log(of_cell.loc[0, "non_private_mean_squared_error"])
        )
        assert row.log_error_standard_error == of_cell.loc[0, "log_error_standard_error"]
        assert row.flagged == of_cell.loc[0, "flagged"]
        assert row.support == of_cell.loc[0, "support"]
        assert (row.n, row.sampler, row.draws) == (of_cell.loc[0, "n"], "matched", 4)
        assert row.total_budget == row.footpoint_budget + row.shooting_vector_budget
        others = np.log(of_cell.loc[[1, 2], "mean_squared_error"])
        assert row.band_data_sets == 2
        assert row.band_median == pytest.approx(others.mean())
        assert row.band_low == pytest.approx(np.quantile(others, 0.1))
        assert row.band_high == pytest.approx(np.quantile(others, 0.9))


def test_numbers_of_the_other_figures_are_those_of_their_tables(finished):
    for study, figure, table, added in (
        ("sphere", "figure_5", "figure_5_predictions", ["total_budget"]),
        ("sphere", "figure_9", "neighbours", []),
        ("sphere", "samplers", "diagnostics", ["effective_draws_per_state"]),
        ("rats", "shapes", "shapes_predictions", []),
    ):
        numbers = figure_numbers(finished, study, figure)
        pd.testing.assert_frame_equal(
            numbers.drop(columns=added), read(finished, study, table), check_exact=True
        )
    numbers = figure_numbers(finished, "sphere", "samplers")
    steps = numbers["trace_chains"] * numbers["trace_states"]
    np.testing.assert_allclose(numbers["effective_draws_per_state"], numbers["ess_bulk"] / steps)


def test_predicted_curves_are_draws_fits_and_records(finished):
    numbers = read(finished, "sphere", "figure_5_predictions")
    group = "n5_noise0.001"
    coordinates = ["coordinate_1", "coordinate_2", "coordinate_3"]
    assert set(numbers["group"]) == {group}
    assert set(numbers["kind"]) == {"observed", "without privacy", "as published"}
    data = arrays(finished.files()[f"sphere/groups/{group}/data.npz"])
    observed = numbers[numbers["kind"] == "observed"]
    np.testing.assert_array_equal(observed[coordinates], data["points"][0])
    released = numbers[numbers["kind"] == "as published"]
    starts = released[released["covariate"] == 0.0].set_index("footpoint_budget")
    for cell, budget in (("p0.5_v0.5", 0.5), ("p1.01_v1.01", 1.01)):
        draws = arrays(finished.files()[f"sphere/cells/{group}/{cell}.matched.npz"])
        np.testing.assert_allclose(
            starts.loc[budget, coordinates].tolist(), draws["footpoint"][0, 0]
        )
    assert len(released) == 2 * 61


def test_predicted_shapes_are_centred_and_of_unit_size(finished):
    numbers = read(finished, "rats", "shapes_predictions")
    shapes = numbers.groupby(["kind", "draw", "covariate"])[["x", "y"]]
    assert len(shapes) == 2 + 2 * 2
    assert (shapes.size() == 8).all()
    np.testing.assert_allclose(shapes.mean(), 0.0, atol=1e-12)
    sizes = shapes.apply(lambda shape: np.sum(shape.to_numpy() ** 2))
    np.testing.assert_allclose(sizes, 1.0, rtol=1e-9)


# --- What made a file ---


def origin_of(path):
    if path.suffix == ".json":
        return json.loads(path.read_text())["made_by"]
    return json.loads(str(arrays(path)["made_by"]))


def test_every_file_says_what_made_it(finished):
    lock = finished.root / "envs" / "requirements.txt"
    rules = {
        "fit.json": "fit_geodesics",
        "sensitivity.npz": "bound_sensitivity",
        "data.npz": {"sphere": "simulate_data", "rats": "read_data"},
    }
    files = {**finished.files("*.npz"), **finished.files("*.json")}
    assert len(files) == 3 * 3 + len(sampled_cells("sphere")) + len(sampled_cells("rats"))
    for name, path in files.items():
        origin = origin_of(path)
        study, folder, group, file = name.split("/")
        assert (origin["study"], origin["group"]) == (study, group)
        assert origin["lock"] == digest(lock)[:16]
        assert origin["versions"]["numpy"] == np.__version__
        assert set(origin["versions"]) == {"python", "numpy", "scipy"}
        if folder == "cells":
            assert f"{origin['cell']}.{origin['sampler']}.npz" == file
            assert origin["rule"].startswith(f"sample_{study}_")
        else:
            rule = rules[file]
            assert origin["rule"] == (rule if isinstance(rule, str) else rule[study])
        # What is not random has no seed.
        random = folder == "cells" or origin["rule"] == "simulate_data"
        assert origin["seed"] == (7 if random else None)


# --- The same again, and parts of it ---


def test_cores_and_blocks_change_no_number(finished, checkout, small):
    small["cells_per_job"] = 3
    checkout.configure(small)
    files = {**finished.files("*.npz"), **finished.files("*.json"), **finished.files("*.csv")}
    tables = [name for name in files if "/tables/" in name]
    figures = ["figure_sphere_figure_1", "figure_rats_shapes"]
    checkout.run(*(f"results/small/{name}" for name in tables), *figures, cores=1)
    again = checkout.files()
    compared = set(files) & set(again)
    assert len(compared) == len(files) - 3
    for name in compared:
        if name.endswith(".npz"):
            assert same_arrays(files[name], again[name]), name
        else:
            assert digest(files[name]) == digest(again[name]), name
    # Pictures have the same bytes too.
    for suffix in BEGINNINGS:
        for name in (f"sphere/figures/figure_1.{suffix}", f"rats/figures/shapes.{suffix}"):
            assert digest(finished.files()[name]) == digest(again[name]), name


def test_cell_by_file_name_with_another_seed(finished, checkout, small):
    small["seed"] = 8
    checkout.configure(small)
    folder = "sphere/cells/n5_noise0.001"
    checkout.run(f"results/small/{folder}/p0.5_v0.5.matched.npz")
    made = set(checkout.files()) - set(checkout.files("*.log"))
    group = {
        f"sphere/groups/n5_noise0.001/{n}" for n in ("data.npz", "fit.json", "sensitivity.npz")
    }
    # The other cell of its block comes with it.
    block = {f"{folder}/p0.5_v0.5.matched.npz", f"{folder}/p1.01_v1.01.matched.npz"}
    assert made == group | block
    before, after = finished.files(), checkout.files()
    for name in block | {"sphere/groups/n5_noise0.001/data.npz"}:
        assert not same_arrays(before[name], after[name])
        assert origin_of(after[name])["seed"] == 8
    for key in ("footpoint", "shooting_vector"):
        first, second = (arrays(files[min(block)])[key] for files in (before, after))
        assert first.shape == second.shape
        assert not np.any(first == second)
    # Cells have streams of their own.
    one, other = (arrays(after[name])["footpoint"] for name in sorted(block))
    assert not np.any(one == other)


def test_figure_by_rule_name(finished_copy):
    kept = {}
    for name, path in finished_copy.files().items():
        if name.startswith("sphere/figures/"):
            kept[name] = digest(path)
            path.unlink()
    finished_copy.run("figure_sphere_figure_1")
    made = {name for name in finished_copy.files() if name.startswith("sphere/figures/")}
    assert made == {f"sphere/figures/figure_1.{suffix}" for suffix in SUFFIXES}
    assert {name: digest(finished_copy.files()[name]) for name in made} == {
        name: kept[name] for name in made
    }


def test_interrupted_run_leaves_nothing_partial_and_is_finished_by_the_next(checkout, small):
    sphere = small["studies"]["sphere"]
    sphere["cells"][0] |= {"n": [6], "budgets": ["equal"]}
    sphere["budgets"]["equal"]["totals"] = ["1.0", "1.2", "1.4", "1.6"]
    # Long enough for the first cell of a job to be written well before the last.
    sphere["sampler"]["states"] = 1000
    sphere |= {"random_walk": {}, "neighbours": {}, "figures": {}}
    checkout.configure(small | {"studies": {"sphere": sphere}, "cells_per_job": 4})
    folder = checkout.root / "results" / "small" / "sphere" / "cells"
    process = checkout.start()
    deadline = time.monotonic() + 120
    while not list(folder.rglob("p*.npz")):
        assert process.poll() is None
        assert time.monotonic() < deadline
        time.sleep(0.01)
    # A terminal sends it to every process.
    os.killpg(process.pid, signal.SIGINT)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0, output

    cells = list(folder.rglob("*.npz"))
    assert len(cells) < 4
    for path in checkout.files("*.npz").values():
        assert "made_by" in arrays(path)
    assert checkout.temporaries() == []
    assert not checkout.files("*.csv")

    checkout.run()
    assert len(list(folder.rglob("*.npz"))) == 4
    errors = read(checkout, "sphere", "errors")
    assert len(errors) == 4 * DATA_SETS["sphere"]
    assert checkout.planned() == {}


# --- Other spaces ---

OTHERS = """
name: others
seed: 3
studies:
  plane:
    manifold: {name: euclidean, size: 2}
    data: {source: simulated, data_sets: 1, shooting_vector_length: 1.0}
  sphere3:
    manifold: {name: sphere, size: 3}
    data:
      source: simulated
      data_sets: 1
      shooting_vector_length: 0.5
      covariates: uniform
      first_point: [2, 0, 0, 0]
  matrices:
    manifold: {name: spd, size: 2}
    data_radius: 2.0
    data:
      source: simulated
      data_sets: 1
      shooting_vector_length: 0.5
      noise: tangent
  table_of_points:
    manifold: {name: sphere, size: 2}
    data: {source: table, path: points.csv, covariate: x, columns: [a, b, c]}
  table_of_matrices:
    manifold: {name: spd, size: 2}
    data_radius: 2.0
    data: {source: table, path: matrices.csv, covariate: x, columns: [a11, a12, a21, a22]}
"""


def test_other_spaces_and_tables_run_to_the_end(checkout):
    configuration = yaml.safe_load(OTHERS)
    for study in configuration["studies"].values():
        simulated = study["data"]["source"] == "simulated"
        study["budgets"] = {"equal": {"totals": ["2.0"]}}
        study["cells"] = [
            {"budgets": ["equal"]} | ({"n": [6], "noise_variance": [0.001]} if simulated else {})
        ]
        study["draws"] = {"footpoints": 2, "shooting_vectors": 2}
        study["sampler"] = {"states": 250}
    checkout.configure(configuration)
    x = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])
    wiggle = 0.05 * (-1.0) ** np.arange(6)
    points = np.stack([np.cos(x / 9), np.sin(x / 9), wiggle], axis=-1)
    points /= np.linalg.norm(points, axis=-1, keepdims=True)
    matrices = np.stack([1 + x / 9, wiggle, wiggle, 2 - x / 9], axis=-1)
    for name, columns, values in (
        ("points", ["a", "b", "c"], points),
        ("matrices", ["a11", "a12", "a21", "a22"], matrices),
    ):
        table = pd.DataFrame(values, columns=columns).assign(x=x)
        table.to_csv(checkout.root / f"{name}.csv", index=False)
    checkout.run()

    files = checkout.files()
    for study, settings in configuration["studies"].items():
        simulated = settings["data"]["source"] == "simulated"
        errors, diagnostics = read(checkout, study, "errors"), read(checkout, study, "diagnostics")
        assert len(errors) == (2 if simulated else 1)
        assert len(diagnostics) == 2
        assert set(errors["n"]) == {6}
        assert set(errors["cell"]) == {"p1.0_v1.0"}
        numbers = errors[["mean_squared_error", "non_private_mean_squared_error", "tau"]]
        assert np.all(np.isfinite(numbers))
        assert (errors["mean_squared_error"] > errors["non_private_mean_squared_error"]).all()
        group = "n6_noise0.001" if simulated else "observed"
        data = arrays(files[f"{study}/groups/{group}/data.npz"])
        if simulated:
            assert set(errors["noise_variance"]) == {"0.001"}
        else:
            np.testing.assert_allclose(data["covariates"][0], (x - 1.0) / 8.0)
            np.testing.assert_array_equal(data["covariate_range"], [1.0, 9.0])
    np.testing.assert_allclose(
        arrays(files["table_of_points/groups/observed/data.npz"])["points"][0], points
    )
    np.testing.assert_allclose(
        arrays(files["table_of_matrices/groups/observed/data.npz"])["points"][0].reshape(6, 4),
        matrices,
    )
    start = arrays(files["sphere3/groups/n6_noise0.001/data.npz"])["true_footpoint"]
    np.testing.assert_array_equal(start, [[1.0, 0.0, 0.0, 0.0]] * 2)
    supports = {study: read(checkout, study, "errors")["support"][0] for study in GROUPS_OF_OTHERS}
    assert supports["plane"] == "p anywhere, v unbounded"
    assert supports["sphere3"] == "p anywhere, |v| <= 3.1416"
    assert "tau" in supports["matrices"]


GROUPS_OF_OTHERS = list(yaml.safe_load(OTHERS)["studies"])


def test_report_holds_figures_and_captions(finished):
    finished.run("--report", "report.html")
    report = (finished.root / "report.html").read_text()
    assert "figure_1.svg" in report
    assert "Natural logarithm of the mean squared error" in report
