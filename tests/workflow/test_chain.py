"""The chain of rules on a small configuration: files, their numbers, and what made them."""

import json
from itertools import product

import numpy as np
import pandas as pd
import pytest
from beside import read

from geodp import GeodesicModel, Sphere
from geodp.evaluation import mean_squared_errors
from reproduction.jobs import load_arrays, load_cells
from reproduction.places import digest_of

GUARANTEE = "Mechanism as published: the stated budgets do not hold."


BUDGETS, ONE = ("p0.5_v0.5", "p1.01_v1.01", "p0.02_v2.00"), ("p0.3_v0.3",)
ANYWHERE, LONGEST, STAND_IN = "p anywhere, |v| <= ", "2 (tau_m + tau)", {"stand_in": 20}
OUTLINES = "simulated stand-in", f"distance of p to its centre <= tau_m + tau, |v| <= {LONGEST}"
# Records by group, cells, data sets, shape of a point, data, support; and data sets of the first
# cell of the first group that the random walk is compared on.
STUDIES = {
    "sphere": (
        *({"n5_noise0.001": 5, "n6_noise0.001": 6}, BUDGETS, 3, (3,)),
        *("simulated", ANYWHERE + "3.1416", 2),
    ),
    "spd": (*({"n5_noise0.0001": 5}, BUDGETS[:1], 3, (2, 2), "simulated", ANYWHERE + LONGEST, 0),),
    "corpus_callosum": (STAND_IN, ONE, 2, (12,), *OUTLINES, 1),
    # Harmonics 1, -1, 2 and -2.
    "reduced": (STAND_IN, ONE, 2, (4,), *OUTLINES, 0),
    "rats": (
        *({"observed": 144}, ONE, 1, (8,), "observed, vilmann_rats.csv", ANYWHERE + "1.5708", 0),
    ),
}


def sampled(name):
    """Numbers of data sets by group, cell and sampler, in the order of tables."""
    groups, cells, data_sets, *_, walked = STUDIES[name]
    found = {(group, cell, "default"): data_sets for group in groups for cell in cells}
    return found | ({(next(iter(groups)), cells[0], "random_walk"): walked} if walked else {})


FIGURES = {
    (study, figure)
    for study, settings in read("small")["studies"].items()
    for figure in settings.get("figures", ())
}
EACH = pytest.mark.parametrize("name", STUDIES)
# Tables that a figure has of its own, by what they are called.
OWN_TABLES = {
    ("sphere", "figure_4"): "transport",
    ("sphere", "figure_5"): "curves",
    ("spd", "figure_8"): "predictions",
    ("corpus_callosum", "figure_3"): "predictions",
    ("corpus_callosum", "figure_3_convergence"): "convergence",
    ("rats", "shapes"): "predictions",
}
BEGINNINGS = {"pdf": b"%PDF-", "svg": b"<?xml", "png": b"\x89PNG\r\n", "csv": b""}

KEY = ["group", "cell", "sampler"]


def block_of(study, group, cell, sampler="default"):
    """Place of a cell's draws: two cells share a file."""
    number = 0 if sampler == "random_walk" else STUDIES[study][1].index(cell) // 2
    return f"{study}/cells/{group}/{sampler}_{number}.npz"


def draws_of(run, study, group, cell, sampler="default"):
    """Arrays of a cell."""
    return load_cells(run.files()[block_of(study, group, cell, sampler)])[cell]


def test_every_file_is_made_and_no_other(finished):
    expected = {"claims/kulkarni_soto.csv", "claims/kulkarni_soto.html", "report.html"}
    expected |= {f"sphere/tables/{table}.csv" for table in ("losses", "neighbours")}
    for name, (groups, *_) in STUDIES.items():
        files = ("data.npz", "fit.json", "sensitivity.npz")
        expected |= {f"{name}/groups/{group}/{file}" for group in groups for file in files}
        expected |= {block_of(name, *cell) for cell in sampled(name)}
        expected |= {f"{name}/tables/{table}.csv" for table in ("data", "errors", "diagnostics")}
    expected |= {f"{study}/figures/{f}.{end}" for study, f in FIGURES for end in BEGINNINGS}
    expected |= {f"{study}/tables/{f}_{name}.csv" for (study, f), name in OWN_TABLES.items()}
    logs = finished.files("*.log")
    assert set(finished.files()) - set(logs) == expected
    assert finished.temporaries() == []
    assert len(logs) == len(finished.jobs)
    assert {name: path.read_text() for name, path in logs.items() if path.stat().st_size} == {}
    for name, path in finished.files("*/figures/*").items():
        content = path.read_bytes()
        assert content.startswith(BEGINNINGS[name.rpartition(".")[2]]), name
        assert len(content) > (200 if name.endswith("csv") else 2000), name


@EACH
def test_groups_hold_points_fits_and_bounds(finished, name):
    groups, _, data_sets, point_shape, source, support, _ = STUDIES[name]
    files, table = finished.files(), finished.table(name, "data")
    assert dict(zip(table["group"], table["records"], strict=True)) == groups
    assert set(table["data"]) == {source}
    assert list(table["subjects"].dropna()) == ([18] if name == "rats" else [])
    for group, number in groups.items():
        data = load_arrays(files[f"{name}/groups/{group}/data.npz"])
        assert data["covariates"].shape == (data_sets, number, 1)
        assert data["points"].shape == (data_sets, number, *point_shape)
        assert 0.0 <= data["covariates"].min() < data["covariates"].max() <= 1.0
        fit = json.loads(files[f"{name}/groups/{group}/fit.json"].read_text())
        assert fit["converged"] == [True] * data_sets
        bounds = load_arrays(files[f"{name}/groups/{group}/sensitivity.npz"])
        np.testing.assert_array_equal(bounds["tau"], fit["largest_residual"])
        said = [str(bounds[key]) for key in ("description", "status", "guarantee")]
        assert said == [support, "stated but false", GUARANTEE]


@EACH
def test_tables_are_complete_and_agree(finished, name):
    errors, diagnostics = finished.table(name, "errors"), finished.table(name, "diagnostics")
    cells = sampled(name).items()
    expected = [(*cell, data_set) for cell, sets in cells for data_set in range(sets)]
    assert list(errors[[*KEY, "data_set"]].itertuples(index=False, name=None)) == expected
    expected = [(*cell, part) for cell, _ in cells for part in ("footpoint", "shooting_vector")]
    assert list(diagnostics[[*KEY, "parameter"]].itertuples(index=False, name=None)) == expected
    assert not errors[["mean_squared_error", "tau"]].isna().any(axis=None)
    # Exact draws have no chains to diagnose.
    chains = diagnostics["trace_chains"] > 0
    assert all((diagnostics[each].notna() == chains).all() for each in ("ess_bulk", "rhat"))
    assert not chains[diagnostics["exact_share"] == 1.0].any()
    # Each data set's row says what its cell's diagnostics say.
    rows = errors.set_index(KEY)
    for stage, part in diagnostics.set_index(KEY).groupby("parameter"):
        for column in ("drawn_by", "proposals", "certificate"):
            assert (rows[f"{stage}_{column}"] == part[column].reindex(rows.index)).all()
    failed = ~diagnostics.groupby(KEY)["passed"].all()
    assert (rows["flagged"] == failed.reindex(rows.index)).all()
    if STUDIES[name][-1]:
        # A short random walk cannot pass, so that both values have been seen.
        assert failed.xs("random_walk", level="sampler").all()
        assert not failed.all()
    for table in (errors, diagnostics):
        assert set(table["guarantee"]) == {GUARANTEE}
        assert (table["n"] == table["group"].map(STUDIES[name][0])).all()
        budgets = "p" + table["budget_footpoint"].map("{:g}".format)
        assert all(c.startswith(b) for c, b in zip(table["cell"], budgets, strict=True))


def test_errors_are_those_of_the_draws(finished):
    errors, model = finished.table("sphere", "errors"), GeodesicModel(Sphere(2))
    for group, cell in product(*STUDIES["sphere"][:2]):
        data = load_arrays(finished.files()[f"sphere/groups/{group}/data.npz"])
        found = draws_of(finished, "sphere", group, cell)
        draws = {block: found[block] for block in model.blocks}
        squares = mean_squared_errors(model, draws, data["covariates"], data["points"])
        rows = errors[(errors[KEY] == [group, cell, "default"]).all(axis=1)]
        np.testing.assert_allclose(rows["mean_squared_error"], np.mean(squares, axis=(1, 2)))


def test_numbers_of_figures_are_those_of_their_tables(finished):
    tables = {place: f"{place[1]}_{name}" for place, name in OWN_TABLES.items()} | {
        ("sphere", "figure_9"): "neighbours",
        ("sphere", "samplers"): "diagnostics",
    }
    assert FIGURES - set(tables) == {("sphere", "figure_1")}
    for (study, figure), table in tables.items():
        numbers = finished.table(study, figure, "figures")
        if figure == "samplers":
            states = numbers["trace_chains"] * numbers["trace_states"]
            share = numbers.pop("effective_draws_per_state")
            expected = (numbers["ess_bulk"] / states).where(states > 0, 1.0)
            np.testing.assert_allclose(share, expected)
        pd.testing.assert_frame_equal(numbers, finished.table(study, table), check_exact=True)


def test_predictions_are_records_and_start_at_footpoints_of_draws_and_fits(finished):
    coordinates = [f"coordinate_{k}" for k in range(1, 5)]
    numbers, group = finished.table("sphere", "figure_5_curves"), "n5_noise0.001"
    data = load_arrays(finished.files()[f"sphere/groups/{group}/data.npz"])
    observed = numbers[numbers["kind"] == "observed"]
    np.testing.assert_array_equal(observed[coordinates[:3]], data["points"][0])
    released = numbers[numbers["kind"] == "private"]
    starts = released[released["covariate"] == 0.0].set_index("budget_footpoint")[coordinates[:3]]
    for cell, budget in (("p0.5_v0.5", 0.5), ("p1.01_v1.01", 1.01)):
        drawn = draws_of(finished, "sphere", group, cell)["footpoint"]
        np.testing.assert_allclose(starts.loc[budget].tolist(), drawn[0, 0])


def test_vectors_carried_along_two_ways_differ_by_the_area_between_them(finished):
    numbers = finished.table("sphere", "figure_4_transport")
    vector = [f"vector_{axis}" for axis in (1, 2, 3)]
    for name, loop in numbers.groupby("loop"):
        one, other = (way[vector].iloc[-1].to_numpy(float) for _, way in loop.groupby("way"))
        turned, area = loop[["angle_between", "enclosed_area"]].iloc[0]
        assert [np.arccos(one @ other / 0.35**2), turned] == pytest.approx([area, area])
        # A triangle of three right angles is an eighth of the sphere.
        assert (area == pytest.approx(np.pi / 2)) == (name == "large")


def test_convergence_has_walks_and_draws_inside_their_supports(finished, small):
    numbers = finished.table("corpus_callosum", "figure_3_convergence_convergence")
    assert list(dict.fromkeys(numbers["distribution"])) == ["as configured", "wider", "reduced"]
    tau = {
        study: load_arrays(finished.files()[f"{study}/groups/stand_in/sensitivity.npz"])["tau"][0]
        for study in ("corpus_callosum", "reduced")
    }
    data_radius = small["studies"]["corpus_callosum"]["data_radius"]
    radii = {"wider": 0.785, "reduced": data_radius + tau["reduced"]}
    radii["as configured"] = data_radius + tau["corpus_callosum"]
    for name, part in numbers.groupby("distribution"):
        np.testing.assert_allclose(part["footpoint_radius"], radii[name])
        assert part["greatest_distance"].max() <= radii[name] + 1e-9
    # The distribution on a wider support lies farther out.
    medians = numbers[numbers["kind"] == "default"].set_index("distribution")["distance_median"]
    assert medians["wider"] > medians["as configured"] > medians["reduced"]


def test_the_stated_budgets_do_not_hold(finished):
    path = finished.files()["claims/kulkarni_soto.csv"]
    found = pd.read_csv(path, dtype=str).set_index("claim")
    assert found.loc["privacy.footpoint", "sentence_verdict"] == "does not hold"
    losses = finished.table("sphere", "losses")
    assert float(found.loc["privacy.footpoint", "value"]) == losses["loss_over_stated"][0] > 1.0


def test_every_file_says_what_made_it(finished):
    lock = digest_of(str(finished.root / "envs" / "requirements.txt"))[:16]
    for name, path in {**finished.files("*.npz"), **finished.files("*.json")}.items():
        study, folder, group, _ = name.split("/")
        is_text = path.suffix == ".json"
        made_by = json.loads(path.read_text()) if is_text else load_arrays(path)
        origin = made_by["made_by"] if is_text else json.loads(str(made_by["made_by"]))
        # What is not random has no seed.
        seed = 7 if folder == "cells" or study != "rats" else None
        found = [origin[key] for key in ("study", "group", "lock", "rule", "seed")]
        assert found == [study, group, lock, "sample" if folder == "cells" else "fit", seed]
        assert origin["versions"]["numpy"] == np.__version__
