"""The chain of rules on a small configuration: files, their numbers, and what made them."""

import hashlib
import html.parser
import json
import re

import numpy as np
import pandas as pd
import pytest
import yaml

GROUPS = {
    "sphere": ["n5_noise0.001", "n6_noise0.001"],
    "spd": ["n5_noise0.0001"],
    "corpus_callosum": ["stand_in"],
    "reduced": ["stand_in"],
    "rats": ["observed"],
}
NUMBERS = {
    **{"n5_noise0.001": 5, "n6_noise0.001": 6, "n5_noise0.0001": 5},
    **{"stand_in": 20, "observed": 144},
}
CELLS = {
    "sphere": ["p0.5_v0.5", "p1.01_v1.01", "p0.02_v2.00"],
    "spd": ["p0.5_v0.5"],
    "corpus_callosum": ["p0.3_v0.3"],
    "reduced": ["p0.3_v0.3"],
    "rats": ["p0.3_v0.3"],
}
FIGURES = {
    "sphere": ["figure_1", "figure_4", "figure_5", "figure_9", "samplers"],
    "spd": ["figure_8", "figure_10"],
    "corpus_callosum": ["figure_2", "figure_3", "figure_3_convergence"],
    "reduced": [],
    "rats": ["shapes"],
}
SUFFIXES = ("pdf", "svg", "png", "csv")
# Cells that the random walk is compared on.
COMPARED = {
    "sphere": ("n5_noise0.001", "p0.5_v0.5"),
    "corpus_callosum": ("stand_in", "p0.3_v0.3"),
}
# Data sets of these cells that it samples.
WALKED_DATA_SETS = {"sphere": 2, "corpus_callosum": 1}
DATA_SETS = {"sphere": 3, "spd": 3, "corpus_callosum": 2, "reduced": 2, "rats": 1}
POINT_SHAPES = {
    "sphere": (3,),
    "spd": (2, 2),
    "corpus_callosum": (12,),
    # Harmonics 1, -1, 2 and -2.
    "reduced": (4,),
    "rats": (8,),
}
# What tables say of the data, and of the space.
DESCRIPTIONS = {
    "sphere": "simulated",
    "spd": "simulated",
    "corpus_callosum": "simulated stand-in",
    "reduced": "simulated stand-in",
    "rats": "observed, vilmann_rats.csv",
}
MANIFOLDS = {
    "sphere": "sphere S^2",
    "spd": "SPD(2)",
    "corpus_callosum": "planar shapes of 12 landmarks",
    "reduced": "planar shapes of 12 landmarks, Fourier harmonics up to 2",
    "rats": "planar shapes of 8 landmarks",
}
IN_BALL = "distance of p to its centre <= tau_m + tau, |v| <= 2 (tau_m + tau)"
SUPPORTS = {
    "sphere": "p anywhere, |v| <= 3.1416",
    "spd": "p anywhere, |v| <= 2 (tau_m + tau)",
    "corpus_callosum": IN_BALL,
    "reduced": IN_BALL,
    "rats": "p anywhere, |v| <= 1.5708",
}
# Tables that a figure has of its own, by what they are called.
OWN_TABLES = {
    ("sphere", "figure_4"): "transport",
    ("sphere", "figure_5"): "curves",
    ("spd", "figure_8"): "predictions",
    ("corpus_callosum", "figure_3"): "predictions",
    ("corpus_callosum", "figure_3_convergence"): "convergence",
    ("rats", "shapes"): "predictions",
}

GUARANTEE = "Mechanism as published: the stated budgets do not hold."

KEY = ["group", "cell", "sampler"]
COMMON = [
    *("study", "manifold", "data", "group", "n", "noise_variance", "cell", "budget"),
    *("budget_footpoint", "budget_shooting_vector", "mechanism", "guarantee", "sampler"),
    *("support", "seed", "lock"),
]
SAMPLED_BY = [
    f"{stage}_{name}"
    for stage in ("footpoint", "shooting_vector")
    for name in ("drawn_by", "proposals", "certificate")
]
ERRORS = [
    *(*COMMON, "data_set", *SAMPLED_BY, "draws", "footpoints", "mean_squared_error"),
    "log_error_standard_error",
    *("non_private_mean_squared_error", "low_squared_error", "median_squared_error"),
    *("high_squared_error", "mean_footpoint_distance", "mean_shooting_vector_distance"),
    *("mean_prediction_distance", "tau", "least_curvature", "greatest_curvature", "flagged"),
]
NEIGHBOURS = [
    *("study", "manifold", "data", "n", "noise_variance", "pair", "guarantee", "seed", "lock"),
    *("ratio_footpoint", "ratio_shooting_vector", "tau", "converged"),
]
DIAGNOSTICS = [
    *(*COMMON, "parameter", "drawn_by", "exact_share", "certificate", "proposals"),
    *("steps", "cut_short", "accepted", "largest_weight"),
    *("estimated_total_variation", "trace_chains"),
    *("trace_states", "trace_thin", "ess_bulk", "rhat", "passed"),
]


def sampled_cells(study):
    """Group, cell and sampler of every file of draws, in the order of tables."""
    cells = [(group, cell, "default") for group in GROUPS[study] for cell in CELLS[study]]
    return cells + ([(*COMPARED[study], "random_walk")] if study in COMPARED else [])


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


def block_of(group, cell, sampler="default"):
    """Place of a cell's draws: two cells share a file."""
    order = CELLS["sphere"].index(cell) if group in GROUPS["sphere"] else 0
    return f"{group}/{sampler}_{0 if sampler == 'random_walk' else order // 2}"


def draws_of(run, study, *cell):
    """Arrays of a cell."""
    prefix = f"{cell[1]}/"
    block = arrays(run.files()[f"{study}/cells/{block_of(*cell)}.npz"])
    return {name.removeprefix(prefix): a for name, a in block.items() if name.startswith(prefix)}


def sampled_arrays(run):
    """Bytes of the arrays of all cells, by study, group, sampler, cell and name."""
    return {
        (name.rpartition("_")[0], key): values.tobytes()
        for name, path in run.files("*.npz").items()
        for key, values in arrays(path).items()
        if "/" in key
    }


def digest(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def same_bytes(first, second):
    return first.read_bytes() == second.read_bytes()


def same_arrays(first, second):
    """Whether two files hold the same numbers, whatever made them."""
    left, right = arrays(first), arrays(second)
    return left.keys() == right.keys() and all(
        (left[name].dtype, left[name].shape, left[name].tobytes())
        == (right[name].dtype, right[name].shape, right[name].tobytes())
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
        expected |= {f"{study}/cells/{block_of(*cell)}.npz" for cell in sampled_cells(study)}
        expected |= {f"{study}/tables/{name}.csv" for name in ("data", "errors", "diagnostics")}
        expected |= {
            f"{study}/figures/{figure}.{suffix}" for figure in FIGURES[study] for suffix in SUFFIXES
        }
    expected |= {f"{study}/tables/{f}_{name}.csv" for (study, f), name in OWN_TABLES.items()}
    expected |= {f"{study}/tables/neighbours.csv" for study in ("sphere", "spd")}
    expected |= {"sphere/tables/losses.csv"}
    expected |= {"claims.csv", "claims.html", "report.html"}
    assert set(finished.files()) - set(finished.files("*.log")) == expected
    assert finished.temporaries() == []


def test_logs_are_there_and_empty(finished):
    logs = finished.files("*.log")
    assert len(logs) == len(finished.jobs)
    assert {name: path.read_text() for name, path in logs.items() if path.stat().st_size} == {}


@pytest.mark.parametrize("study", GROUPS)
def test_groups_hold_points_fits_and_bounds(finished, study):
    for group in GROUPS[study]:
        files = {
            name: finished.files()[f"{study}/groups/{group}/{name}"]
            for name in ("data.npz", "fit.json", "sensitivity.npz")
        }
        data = arrays(files["data.npz"])
        sets, number = DATA_SETS[study], NUMBERS[group]
        assert data["covariates"].shape == (sets, number, 1)
        assert data["points"].shape == (sets, number, *POINT_SHAPES[study])
        if group == "stand_in":
            # Ages of a range that is given, which no subject needs to reach.
            assert 0.0 <= data["covariates"].min() < data["covariates"].max() <= 1.0
            np.testing.assert_array_equal(data["covariate_range"], [50.0, 90.0])
        else:
            assert data["covariates"].min() == 0.0
            assert data["covariates"].max() == 1.0
        if study == "spd":
            assert np.all(np.linalg.eigvalsh(data["points"]) > 0)
        else:
            lengths = np.sum(np.abs(data["points"]) ** 2, axis=-1)
            np.testing.assert_allclose(lengths, 1.0, atol=1e-12)
        fit = json.loads(files["fit.json"].read_text())
        assert fit["converged"] == [True] * sets
        assert np.all(np.array(fit["energy"]) > 0)
        bounds = arrays(files["sensitivity.npz"])
        np.testing.assert_array_equal(bounds["tau"], fit["largest_residual"])
        assert np.all(bounds["footpoint"] > 0)
        assert np.all(bounds["shooting_vector"] > 0)
        assert str(bounds["description"]) == SUPPORTS[study]
        assert str(bounds["status"]) == "stated but false"
        assert str(bounds["guarantee"]) == GUARANTEE


@pytest.mark.parametrize("study", GROUPS)
def test_draws_have_their_shapes(finished, study):
    for group, cell, sampler in sampled_cells(study):
        draws = draws_of(finished, study, group, cell, sampler)
        sets = (WALKED_DATA_SETS if sampler == "random_walk" else DATA_SETS)[study]
        assert draws["footpoint"].shape == (sets, 2, *POINT_SHAPES[study])
        assert draws["shooting_vector"].shape == (sets, 2, 2, *POINT_SHAPES[study])
        traces = [
            values
            for name, values in draws.items()
            if name.startswith("trace_") and not name.endswith(".thin")
        ]
        assert len(traces) >= 2 * 3
        assert {values.shape for values in traces} == {(4, 250)}
        for name, values in draws.items():
            of_plan = name.endswith(("largest_weight", "_total_variation"))
            if values.dtype.kind in "fc" and not of_plan:
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
        for data_set in range((WALKED_DATA_SETS if entry[2] == "random_walk" else DATA_SETS)[study])
    ]
    assert list(errors[[*KEY, "data_set"]].itertuples(index=False, name=None)) == expected
    expected = [
        (*entry, stage)
        for entry in sampled_cells(study)
        for stage in ("footpoint", "shooting_vector")
    ]
    assert list(diagnostics[[*KEY, "parameter"]].itertuples(index=False, name=None)) == expected
    # Observed data and stand-ins have no known noise; only chains of proposals have weights, and
    # random walks no estimate of their distance.
    optional = [] if study in ("sphere", "spd") else ["noise_variance"]
    assert not errors.drop(columns=optional).isna().any(axis=None)
    of_plan = ["largest_weight", "estimated_total_variation"]
    assert not diagnostics.drop(columns=[*optional, *of_plan]).isna().any(axis=None)
    walked = diagnostics["sampler"] != "default"
    exact = diagnostics["drawn_by"] == "exact"
    assert (diagnostics["estimated_total_variation"].isna() == walked).all()
    assert (diagnostics["largest_weight"].isna() == (walked | exact)).all()
    assert set(diagnostics.loc[walked, "drawn_by"]) <= {"random_walk"}
    assert (exact == (diagnostics["exact_share"] == 1.0)).all()
    without = diagnostics["certificate"].str.startswith("none")
    assert (without == (diagnostics["exact_share"] == 0.0)).all()
    assert (diagnostics["proposals"] >= diagnostics["steps"].clip(lower=1)).all()
    # Each data set's row says what its cell's diagnostics say.
    for stage, part in diagnostics.set_index(KEY).groupby("parameter"):
        rows = errors.set_index(KEY)
        for name in ("drawn_by", "proposals", "certificate"):
            assert (rows[f"{stage}_{name}"] == part[name].reindex(rows.index)).all()
    # Draws of chains state no distance that ten times the 96 pilots could not see.
    chained = diagnostics["drawn_by"].str.contains("matched")
    assert diagnostics.loc[chained, "estimated_total_variation"].between(0.003, 1.0).all()
    for table in (errors, diagnostics):
        assert set(table["study"]) == {study}
        assert set(table["manifold"]) == {MANIFOLDS[study]}
        assert set(table["data"]) == {DESCRIPTIONS[study]}
        assert set(table["mechanism"]) == {"kng_as_published"}
        assert set(table["guarantee"]) == {GUARANTEE}
        assert set(table["support"]) == {SUPPORTS[study]}
        assert set(table["n"]) == {NUMBERS[group] for group in GROUPS[study]}
        budgets = "p" + table["budget_footpoint"].map("{:g}".format)
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
    if study in COMPARED:
        # A short random walk cannot pass, so that both values have been seen.
        assert failed.loc[(*COMPARED[study], "random_walk")]
        assert not failed.all()


def test_errors_are_those_of_the_draws(finished):
    """Mean squared errors anew, with the formulas of the sphere written out."""
    errors = read(finished, "sphere", "errors")
    group, cell = "n6_noise0.001", "p0.02_v2.00"
    files = finished.files()
    data = arrays(files[f"sphere/groups/{group}/data.npz"])
    draws = draws_of(finished, "sphere", group, cell)
    fit = json.loads(files[f"sphere/groups/{group}/fit.json"].read_text())
    rows = errors[(errors["group"] == group) & (errors["cell"] == cell)]

    def curve(p, v, x):
        length = np.linalg.norm(v)
        return np.cos(length * x)[:, None] * p + np.sin(length * x)[:, None] * v / length

    for index, row in rows.set_index("data_set").iterrows():
        x, points = data["covariates"][index, :, 0], data["points"][index]

        def mean_squared_error(p, v, x=x, points=points):
            return np.mean(np.arccos(np.sum(curve(p, v, x) * points, axis=1)) ** 2)

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
        fitted_vector = np.array(fit["shooting_vector"][index])
        expected = mean_squared_error(fitted, fitted_vector)
        assert row["non_private_mean_squared_error"] == pytest.approx(expected, rel=1e-9)
        away = np.mean(np.arccos(footpoints @ fitted))
        assert row["mean_footpoint_distance"] == pytest.approx(away, rel=1e-9)
        apart = [
            np.arccos(np.sum(curve(p, v, x) * curve(fitted, fitted_vector, x), axis=1))
            for p, part in zip(footpoints, vectors, strict=True)
            for v in part
        ]
        assert row["mean_prediction_distance"] == pytest.approx(np.mean(apart), rel=1e-9)
        assert row["tau"] == fit["largest_residual"][index]


@pytest.mark.parametrize("study", ["sphere", "spd"])
def test_table_of_neighbours(finished, study):
    table = read(finished, study, "neighbours")
    assert list(table) == NEIGHBOURS
    assert list(table["pair"]) == [1, 2, 3]
    assert set(table["n"]) == {5}
    assert set(table["noise_variance"]) == {"0.001" if study == "sphere" else "0.0001"}
    assert set(table["manifold"]) == {MANIFOLDS[study]}
    assert set(table["data"]) == {"simulated"}
    assert not table.isna().any(axis=None)
    # A published sensitivity bounds what it stands for.
    assert (table[["ratio_footpoint", "ratio_shooting_vector"]] >= 1.0).all(axis=None)


@pytest.mark.parametrize("study", GROUPS)
def test_table_of_data_says_what_they_are(finished, study):
    table = read(finished, study, "data")
    assert list(table["group"]) == GROUPS[study]
    assert set(table["study"]) == {study}
    assert set(table["manifold"]) == {MANIFOLDS[study]}
    assert set(table["data"]) == {DESCRIPTIONS[study]}
    assert set(table["data_sets"]) == {DATA_SETS[study]}
    assert list(table["records"]) == [NUMBERS[group] for group in GROUPS[study]]
    if study == "rats":
        assert list(table["subjects"]) == [18]
        assert table["note"].str.contains("144 records of 18 subjects").all()
    else:
        assert table["subjects"].isna().all()
        assert table["note"].isna().all()


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
        errors[errors["sampler"] == "default"].set_index(["group", "cell", "data_set"]).sort_index()
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
        assert (row.n, row.sampler, row.draws) == (of_cell.loc[0, "n"], "default", 4)
        assert row.budget == pytest.approx(row.budget_footpoint + row.budget_shooting_vector)
        logs = np.log(of_cell["mean_squared_error"])
        assert row.data_sets == 3
        assert row.middle == pytest.approx(logs.median())
        assert row.band_low == pytest.approx(np.quantile(logs, 0.1))
        assert row.band_high == pytest.approx(np.quantile(logs, 0.9))
        assert row.non_private_median == pytest.approx(
            np.log(of_cell["non_private_mean_squared_error"]).median()
        )


def test_numbers_of_the_other_figures_are_those_of_their_tables(finished):
    added_columns = {
        ("sphere", "samplers"): ["effective_draws_per_state"],
    }
    tables = {place: f"{place[1]}_{name}" for place, name in OWN_TABLES.items()} | {
        ("sphere", "figure_9"): "neighbours",
        ("sphere", "samplers"): "diagnostics",
        ("spd", "figure_10"): "neighbours",
    }
    figures = {(study, figure) for study in FIGURES for figure in FIGURES[study]}
    assert figures - set(tables) == {("sphere", "figure_1"), ("corpus_callosum", "figure_2")}
    for (study, figure), table in tables.items():
        added = added_columns.get((study, figure), [])
        numbers = figure_numbers(finished, study, figure)
        pd.testing.assert_frame_equal(
            numbers.drop(columns=added), read(finished, study, table), check_exact=True
        )
    numbers = figure_numbers(finished, "sphere", "samplers")
    steps = numbers["trace_chains"] * numbers["trace_states"]
    np.testing.assert_allclose(numbers["effective_draws_per_state"], numbers["ess_bulk"] / steps)


def test_predicted_curves_are_draws_fits_and_records(finished):
    numbers = read(finished, "sphere", "figure_5_curves")
    group = "n5_noise0.001"
    coordinates = ["coordinate_1", "coordinate_2", "coordinate_3"]
    assert set(numbers["group"]) == {group}
    assert set(numbers["kind"]) == {"observed", "without privacy", "private"}
    data = arrays(finished.files()[f"sphere/groups/{group}/data.npz"])
    observed = numbers[numbers["kind"] == "observed"]
    np.testing.assert_array_equal(observed[coordinates], data["points"][0])
    released = numbers[numbers["kind"] == "private"]
    starts = released[released["covariate"] == 0.0].set_index("budget_footpoint")
    for cell, budget in (("p0.5_v0.5", 0.5), ("p1.01_v1.01", 1.01)):
        draws = draws_of(finished, "sphere", group, cell)
        np.testing.assert_allclose(
            starts.loc[budget, coordinates].tolist(), draws["footpoint"][0, 0]
        )
    assert len(released) == 2 * 61
    assert released[SAMPLED_BY].notna().all(axis=None)
    assert numbers.loc[numbers["kind"] != "private", SAMPLED_BY].isna().all(axis=None)


@pytest.mark.parametrize(
    ("study", "figure", "landmarks", "samplers"),
    [
        ("rats", "shapes", 8, ["default"]),
        ("corpus_callosum", "figure_3", 12, ["default", "random_walk"]),
    ],
)
def test_predicted_shapes_are_centred_and_of_unit_size(
    finished, study, figure, landmarks, samplers
):
    numbers = read(finished, study, f"{figure}_predictions")
    assert set(numbers["data"]) == {DESCRIPTIONS[study]}
    assert set(numbers["manifold"]) == {MANIFOLDS[study]}
    assert list(dict.fromkeys(numbers["sampler"].dropna())) == samplers
    assert (numbers["sampler"].isna() == (numbers["kind"] == "without privacy")).all()
    drawn = numbers["sampler"].notna()
    for name in SAMPLED_BY:
        assert (numbers[name].notna() == drawn).all()
    walked = numbers["sampler"] == "random_walk"
    assert (walked == (numbers["footpoint_drawn_by"] == "random_walk")).all()
    numbers = numbers.fillna({"sampler": ""})
    shapes = numbers.groupby(["sampler", "draw", "covariate"])[["x", "y"]]
    assert len(shapes) == 2 + len(samplers) * 2 * 2
    assert (shapes.size() == landmarks).all()
    np.testing.assert_allclose(shapes.mean(), 0.0, atol=1e-12)
    sizes = shapes.apply(lambda shape: np.sum(shape.to_numpy() ** 2))
    np.testing.assert_allclose(sizes, 1.0, rtol=1e-9)


def test_predicted_matrices_are_draws_and_fits(finished):
    numbers = read(finished, "spd", "figure_8_predictions").set_index(["kind", "draw", "covariate"])
    assert len(numbers) == 2 + 2 * 2
    assert set(numbers["manifold"]) == {"SPD(2)"}
    matrices = numbers[[f"coordinate_{k}" for k in range(1, 5)]]
    group = "n5_noise0.0001"
    draws = draws_of(finished, "spd", group, "p0.5_v0.5")
    fit = json.loads(finished.files()[f"spd/groups/{group}/fit.json"].read_text())
    # A geodesic starts at its footpoint.
    for draw in (1, 2):
        expected = draws["footpoint"][0, draw - 1].ravel()
        np.testing.assert_allclose(matrices.loc["private", draw, 0.0], expected)
    expected = np.ravel(fit["footpoint"][0])
    np.testing.assert_allclose(matrices.loc["without privacy", 1, 0.0], expected)
    for values in matrices.to_numpy():
        assert values[1] == pytest.approx(values[2], rel=1e-9)
        assert np.all(np.linalg.eigvalsh(values.reshape(2, 2)) > 0)
    # The affine-invariant distance of a private matrix from the one without privacy.
    for covariate in (0.0, 1.0):
        first, second = (
            matrices.loc[kind, 1, covariate].to_numpy().reshape(2, 2)
            for kind in ("without privacy", "private")
        )
        ratios = np.linalg.eigvals(np.linalg.solve(first, second))
        away = numbers.loc[("private", 1, covariate), "distance"]
        assert away == pytest.approx(np.linalg.norm(np.log(ratios)), rel=1e-6)
        assert numbers.loc[("without privacy", 1, covariate), "distance"] == 0.0


def test_transported_vector_comes_back_turned_by_the_area(finished):
    numbers = read(finished, "sphere", "figure_4_transport")
    # A triangle of three right angles is an eighth of the sphere.
    np.testing.assert_allclose(numbers["enclosed_area"], np.pi / 2)
    np.testing.assert_allclose(numbers["angle_after_loop"], np.pi / 2)
    points = numbers[[f"point_{axis}" for axis in (1, 2, 3)]].to_numpy()
    vectors = numbers[[f"vector_{axis}" for axis in (1, 2, 3)]].to_numpy()
    np.testing.assert_allclose(points[0], points[-1], atol=1e-12)
    np.testing.assert_allclose(np.cross(points[0], vectors[0]), vectors[-1], atol=1e-12)
    np.testing.assert_allclose(np.sum(points * vectors, axis=1), 0.0, atol=1e-12)
    lengths = np.linalg.norm(vectors, axis=1)
    np.testing.assert_allclose(lengths, lengths[0])


def test_convergence_has_walks_and_draws_inside_their_supports(finished, small):
    numbers = read(finished, "corpus_callosum", "figure_3_convergence_convergence")
    assert list(dict.fromkeys(numbers["distribution"])) == ["as configured", "wider", "reduced"]
    bounds = {
        study: arrays(finished.files()[f"{study}/groups/stand_in/sensitivity.npz"])
        for study in ("corpus_callosum", "reduced")
    }
    data_radius = small["studies"]["corpus_callosum"]["data_radius"]
    radii = {
        "as configured": data_radius + bounds["corpus_callosum"]["tau"][0],
        "wider": 0.785,
        "reduced": data_radius + bounds["reduced"]["tau"][0],
    }
    fits = {
        study: json.loads(finished.files()[f"{study}/groups/stand_in/fit.json"].read_text())
        for study in ("corpus_callosum", "reduced")
    }
    for name, part in numbers.groupby("distribution"):
        study = "reduced" if name == "reduced" else "corpus_callosum"
        assert set(part["manifold"]) == {MANIFOLDS[study]}
        assert set(part["data"]) == {"simulated stand-in"}
        # Of the one data set shown.
        expected = np.sqrt(2 * fits[study]["energy"][0])
        np.testing.assert_allclose(part["root_mean_squared_residual"], expected)
        np.testing.assert_allclose(part["footpoint_radius"], radii[name])
        quantiles = ["distance_low", "distance_median", "distance_high", "greatest_distance"]
        assert np.all(np.diff(part[quantiles]) >= 0.0)
        assert part["distance_low"].min() >= 0.0
        assert part["greatest_distance"].max() <= radii[name] + 1e-9
        drawn = part[part["kind"] == "default"]
        assert drawn["states"].tolist() == [200]
        assert drawn["estimated_total_variation"].between(0.0, 1.0).all()
        assert part[["drawn_by", "proposals", "certificate"]].notna().all(axis=None)
        walks = part[part["kind"] == "random_walk"]
        assert set(walks["states"]) == {2}
        assert walks["difference"].between(0.0, 1.0).all()
        assert walks["step"].min() == 1
        assert walks["step"].max() == 50
        assert (walks["proposals"] == walks["step"]).all()
        assert walks["step"].is_unique
        # The walk starts at the fit, far from where draws lie.
        assert walks["difference"].iloc[0] > 0.9
    # The distribution on a wider support lies farther out.
    medians = numbers[numbers["kind"] == "default"].set_index("distribution")["distance_median"]
    assert medians["wider"] > medians["as configured"] > medians["reduced"]


# --- Claims ---

VERDICTS = {"holds", "holds in part", "does not hold", "undecided"}


def claims_of(run):
    return pd.read_csv(run.files()["claims.csv"], dtype=str, keep_default_na=False)


def test_every_claim_about_a_study_has_a_row_and_a_verdict_or_a_reason(finished):
    found = claims_of(finished)
    stated = pd.read_csv(
        finished.root / "resources" / "published" / "kulkarni_soto_claims.csv",
        dtype=str,
        keep_default_na=False,
    )
    # The study of reduced outlines has another name here.
    assert set(stated["study"]) - set(found["study"]) == {"corpus_callosum_reduced"}
    stated = stated[stated["study"].isin(GROUPS)].reset_index(drop=True)
    repeated = ["claim", "part", "reading", "section", "figure", "study", "mechanism", "quantity"]
    assert set(found["paper"]) == {"Kulkarni and Soto"}
    pd.testing.assert_frame_equal(found[repeated], stated[repeated])
    sentence = found["claim"].str.partition(".")[0]
    assert (found.groupby(sentence)["statement"].nunique() == 1).all()
    assert (found.groupby(sentence)["sentence_verdict"].nunique() == 1).all()
    # Of the small run not all can be judged, and not all hold.
    assert {"holds", "does not hold", "undecided", ""} <= set(found["verdict"]) <= {*VERDICTS, ""}
    judged = found[found["verdict"] != ""]
    numbers = judged[["value", "low", "high"]].astype(float)
    assert numbers["low"].le(numbers["value"]).all()
    assert numbers["high"].ge(numbers["value"]).all()
    assert judged[["why", "criterion", "interval_over", "data"]].ne("").all(axis=None)
    others = found[found["verdict"] == ""]
    assert others["why"].str.match(r"not evaluated: \w").all()
    assert others[["value", "low", "high", "interval_over"]].eq("").all(axis=None)
    for study, part in found.groupby("study"):
        assert set(part["data"]) == {DESCRIPTIONS[study]}
    assert set(found["seed"]) == {"7"}
    assert set(found["lock"]) == {digest(finished.root / "envs" / "requirements.txt")[:16]}


def test_the_stated_budgets_do_not_hold(finished):
    found = claims_of(finished).set_index("claim")
    assert found.loc["privacy.footpoint", "sentence_verdict"] == "does not hold"
    losses = read(finished, "sphere", "losses")
    assert list(losses["step"]) == 2 * ["footpoint", "both", "shooting vector"]
    assert (losses["stated"] == np.where(losses["step"] == "both", 2.0, 1.0)).all()
    assert (losses["loss_over_stated"] == losses["realised"] / losses["stated"]).all()
    assert float(found.loc["privacy.footpoint", "value"]) == losses["loss_over_stated"][0]


class Page(html.parser.HTMLParser):
    """Texts and identifiers of a page."""

    def __init__(self, source):
        super().__init__()
        self.texts, self.ids = [], []
        self.feed(source)

    def handle_starttag(self, tag, attributes):
        self.ids.append(dict(attributes).get("id"))

    def handle_data(self, data):
        self.texts.append(" ".join(data.split()))


def test_page_of_claims_shows_every_row(finished):
    page = Page(finished.files()["claims.html"].read_text(encoding="utf-8"))
    found = claims_of(finished)
    assert {f"Kulkarni-and-Soto-row-{claim}" for claim in found["claim"]} <= set(page.ids)
    assert "Kulkarni and Soto" in page.texts
    for column in ("statement", "quantity", "why", "criterion"):
        assert set(found[column]) <= set(page.texts), column
    sentence = found["claim"].str.partition(".")[0]
    sentences = found.groupby(sentence)["sentence_verdict"].first()
    several = found[found.groupby(sentence)["claim"].transform("size") > 1]
    # With each sentence, with each row of one that has several, and where they are counted.
    shown = pd.concat([sentences, several["verdict"], found["shown_verdict"].replace("", "none")])
    counts = shown.replace("", "not evaluated").value_counts()
    for verdict in (*VERDICTS, "not evaluated"):
        assert page.texts.count(verdict) == counts.get(verdict, 0) + 1
    assert {"simulated stand-in", "simulated", "observed, vilmann_rats.csv"} <= set(page.texts)


# --- What made a file ---


def origin_of(path):
    if path.suffix == ".json":
        return json.loads(path.read_text())["made_by"]
    return json.loads(str(arrays(path)["made_by"]))


def test_every_file_says_what_made_it(finished):
    lock = finished.root / "envs" / "requirements.txt"
    rules = {"fit.json": "fit", "sensitivity.npz": "bound_sensitivity", "data.npz": "make_data"}
    files = {**finished.files("*.npz"), **finished.files("*.json")}
    blocks = {(s, block_of(*cell)) for s in GROUPS for cell in sampled_cells(s)}
    assert len(files) == sum(3 * len(GROUPS[s]) for s in GROUPS) + len(blocks)
    for name, path in files.items():
        origin = origin_of(path)
        study, folder, group, file = name.split("/")
        assert (origin["study"], origin["group"]) == (study, group)
        assert origin["lock"] == digest(lock)[:16]
        assert origin["versions"]["numpy"] == np.__version__
        assert set(origin["versions"]) == {"python", "numpy", "scipy"}
        if folder == "cells":
            assert file.startswith(f"{origin['sampler']}_")
            assert origin["rule"] == "sample"
        else:
            assert origin["rule"] == rules[file]
        # What is not random has no seed.
        random = folder == "cells" or (file == "data.npz" and study != "rats")
        assert origin["seed"] == (7 if random else None)


# --- The same again, and parts of it ---


def test_cores_and_blocks_change_no_number(finished, checkout, small):
    """Nor the other studies of a configuration."""
    names = ("sphere", "rats")
    small["cells_per_job"], small["papers"] = 3, []
    small["studies"] = {name: small["studies"][name] for name in names}
    checkout.configure(small)
    files = {
        name: path
        for name, path in finished.files().items()
        if name.startswith(names) and path.suffix != ".log" and "/cells/" not in name
    }
    shown = ("sphere/figures/figure_1.", "rats/figures/shapes.")
    compared = [name for name in files if "/figures/" not in name or name.startswith(shown)]
    checkout.run(*(f"results/small/{name}" for name in compared), cores=1)
    again = checkout.files()
    for name in compared:
        # Pictures have the same bytes too.
        same = same_arrays if name.endswith(".npz") else same_bytes
        assert same(files[name], again[name]), name
    expected = sampled_arrays(finished)
    assert sampled_arrays(checkout) == {
        key: values for key, values in expected.items() if key[0].startswith(names)
    }


def test_block_by_file_name_with_another_seed(finished, checkout, small):
    small["seed"] = 8
    checkout.configure(small)
    block = "sphere/cells/n5_noise0.001/default_0.npz"
    checkout.run(f"results/small/{block}")
    made = set(checkout.files()) - set(checkout.files("*.log"))
    group = {f"sphere/groups/n5_noise0.001/{n}" for n in ("data.npz", "fit.json")}
    assert made == group | {block}
    before, after = finished.files(), checkout.files()
    for name in (block, "sphere/groups/n5_noise0.001/data.npz"):
        assert not same_arrays(before[name], after[name])
        assert origin_of(after[name])["seed"] == 8
    cells = [f"{cell}/footpoint" for cell in CELLS["sphere"][:2]]
    for key in (*cells, "p0.5_v0.5/shooting_vector"):
        first, second = (arrays(files[block])[key] for files in (before, after))
        assert first.shape == second.shape
        assert not np.any(first == second)
    # Cells have streams of their own.
    one, other = (arrays(after[block])[key] for key in cells)
    assert not np.any(one == other)


def test_figure_by_rule_name(finished_copy):
    kept = {}
    for name, path in finished_copy.files().items():
        if name.startswith("sphere/figures/"):
            kept[name] = digest(path)
            path.unlink()
    finished_copy.run("figure_sphere_figure_1")
    assert {
        name: digest(path)
        for name, path in finished_copy.files().items()
        if name.startswith("sphere/figures/")
    } == {name: kept[name] for name in (f"sphere/figures/figure_1.{suffix}" for suffix in SUFFIXES)}


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
  matrices3:
    manifold: {name: spd, size: 3}
    data_radius: 1.0
    data: {source: simulated, data_sets: 1, last_point: random, noise: tangent}
  table_of_points:
    manifold: {name: sphere, size: 2}
    data: {source: table, path: points.csv, covariate: x, columns: [a, b, c]}
  table_of_matrices:
    manifold: {name: spd, size: 2}
    data_radius: 2.0
    data: {source: table, path: matrices.csv, covariate: x, columns: [a11, a12, a21, a22]}
  mapped:
    manifold: {name: kendall, size: 8, landmark_map: {matrix: map.csv}}
    data:
      source: table
      path: resources/vilmann_rats.csv
      covariate: age_days
      keep: {rat: [1, 2]}
"""
OTHER_STUDIES = yaml.safe_load(OTHERS)["studies"]
OBSERVED = {name for name, part in OTHER_STUDIES.items() if part["data"]["source"] == "table"}
X = np.array([3.0, 1.0, 4.0, 1.5, 9.0, 2.6])
WIGGLE = 0.05 * (-1.0) ** np.arange(6)
POINTS = np.stack([np.cos(X / 9), np.sin(X / 9), WIGGLE], axis=-1)
POINTS /= np.linalg.norm(POINTS, axis=-1, keepdims=True)
MATRICES = np.stack([1 + X / 9, WIGGLE, WIGGLE, 2 - X / 9], axis=-1)
# Keeps the first five of eight landmarks.
MAP = "\n".join(",".join("1" if k == row else "0" for k in range(8)) for row in range(5))


@pytest.fixture(scope="module")
def others(copied, source, tmp_path_factory):
    """A run on other spaces and tables, without claims; not to be modified."""
    run = copied(source, tmp_path_factory.mktemp("others"))
    configuration = yaml.safe_load(OTHERS)
    for name, study in configuration["studies"].items():
        study["budgets"] = {"equal": {"totals": ["2.0"]}}
        study["cells"] = [
            {"budgets": ["equal"]}
            | ({} if name in OBSERVED else {"n": [6], "noise_variance": [0.001]})
        ]
        study["draws"] = {"footpoint": 2, "shooting_vector": 2}
        study["sampler"] = {"states": 250}
    run.configure(configuration)
    for name, columns, values in (
        ("points", ["a", "b", "c"], POINTS),
        ("matrices", ["a11", "a12", "a21", "a22"], MATRICES),
    ):
        table = pd.DataFrame(values, columns=columns).assign(x=X)
        table.to_csv(run.root / f"{name}.csv", index=False)
    (run.root / "map.csv").write_text(MAP)
    run.run()
    return run


@pytest.mark.slow
@pytest.mark.parametrize("study", OTHER_STUDIES)
def test_other_spaces_and_tables_run_to_the_end(others, study):
    errors, diagnostics = read(others, study, "errors"), read(others, study, "diagnostics")
    assert len(errors) == (1 if study in OBSERVED else 2)
    assert len(diagnostics) == 2
    # Two rats at eight ages.
    assert set(errors["n"]) == {16 if study == "mapped" else 6}
    assert set(errors["cell"]) == {"p1.0_v1.0"}
    numbers = errors[["mean_squared_error", "non_private_mean_squared_error", "tau"]]
    assert np.all(np.isfinite(numbers))
    assert (errors["mean_squared_error"] > errors["non_private_mean_squared_error"]).all()
    if study not in OBSERVED:
        assert set(errors["noise_variance"]) == {"0.001"}


def data_of(run, study):
    group = "observed" if study in OBSERVED else "n6_noise0.001"
    return arrays(run.files()[f"{study}/groups/{group}/data.npz"])


@pytest.mark.parametrize(
    ("study", "points"),
    [("table_of_points", POINTS), ("table_of_matrices", MATRICES.reshape(6, 2, 2))],
)
@pytest.mark.slow
def test_table_is_read_as_it_stands(others, study, points):
    data = data_of(others, study)
    np.testing.assert_allclose(data["covariates"][0, :, 0], (X - 1.0) / 8.0)
    np.testing.assert_array_equal(data["covariate_range"], [1.0, 9.0])
    np.testing.assert_allclose(data["points"][0], points)
    assert data["rows"].tolist() == [2, 3, 4, 5, 6, 7]


@pytest.mark.slow
def test_geodesics_start_and_end_where_they_should(others):
    start = data_of(others, "sphere3")["true_footpoint"]
    np.testing.assert_array_equal(start, [[1.0, 0.0, 0.0, 0.0]] * 2)
    # Ends within 0.9 of the identity by the affine-invariant distance, not all at one place.
    data = data_of(others, "matrices3")
    assert data["points"].shape == (2, 6, 3, 3)
    start = data["true_footpoint"]
    logarithms = np.log(np.linalg.eigvalsh(start))
    assert np.all(np.linalg.norm(logarithms, axis=-1) <= 0.9)
    assert not np.allclose(start[0], start[1])
    assert np.all(np.linalg.eigvalsh(data["points"]) > 0)


@pytest.mark.slow
def test_supports_of_other_spaces(others):
    supports = {study: read(others, study, "errors")["support"][0] for study in OTHER_STUDIES}
    assert supports["plane"] == "p anywhere, |v| unbounded"
    assert supports["sphere3"] == "p anywhere, |v| <= 3.1416"
    assert "tau" in supports["matrices3"]
    # A run without claims makes no files of them.
    assert [name for name in others.files() if "claims" in name] == []


@pytest.mark.slow
def test_changed_matrix_of_a_map_reruns_its_study_alone(others, copied, tmp_path):
    changed = copied(others.root, tmp_path / "others")
    assert changed.planned() == {}
    (changed.root / "map.csv").write_text(MAP.replace("1", "2"))
    rules = ["make_data", "fit", "bound_sensitivity", "evaluate", "describe_data"]
    expected = dict.fromkeys([*rules, "sample", "report"], 1)
    assert changed.planned() == expected
    # The same numbers anew, whenever they were written.
    (changed.root / "map.csv").write_text(MAP)
    assert changed.planned() == {}


# --- What is printed ---


def test_run_prints_a_line_a_job_and_where_to_look(finished):
    lines = finished.printed.splitlines()
    number = len(finished.jobs) + 1
    counted = [line for line in lines if re.match(rf"\d+/{number} ", line)]
    assert [int(line.split("/")[0]) for line in counted] == list(range(1, number + 1))
    assert all(re.search(r" \((\d+ s|\d+ min)\)$", line) for line in counted)
    assert sum("sphere, n5_noise0.001: fit without privacy" in line for line in counted) == 1
    assert lines[-1] == "Open results/small/report.html"
    assert lines[-2].startswith("Done in ")
    # What is not of a job: remarks on the data and on the draws, and what Snakemake has to say.
    assert len(lines) < number + 15
    assert len(finished.printed) < 10_000
