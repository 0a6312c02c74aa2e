"""The chain of rules on a small configuration: files, their numbers, and what made them."""

import json
from itertools import product
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from beside import read

from geodp import GeodesicModel, Sphere
from geodp.evaluation import mean_squared_errors
from reproduction.jobs import load_arrays, load_cells
from reproduction.places import digest_of

GUARANTEE = "Mechanism as published: the stated budgets do not hold."


def made_of(groups, cells, data_sets, point_shape, data, support, walked=0):
    """What a study of the small configuration has: records by group, and data sets.

    Of all draws these are by group, cell and sampler, in the order of tables: ``walked`` are those
    of the first cell of the first group that the random walk is compared on.
    """
    sampled = {(group, cell, "default"): data_sets for group in groups for cell in cells}
    if walked:
        sampled[next(iter(groups)), cells[0], "random_walk"] = walked
    return SimpleNamespace(**locals())


BUDGETS, ONE = ("p0.5_v0.5", "p1.01_v1.01", "p0.02_v2.00"), ("p0.3_v0.3",)
SIZES, STAND_IN = {"n5_noise0.001": 5, "n6_noise0.001": 6}, {"stand_in": 20}
ANYWHERE, LONGEST, RATS = "p anywhere, |v| <= ", "2 (tau_m + tau)", "observed, vilmann_rats.csv"
OUTLINES = "simulated stand-in", f"distance of p to its centre <= tau_m + tau, |v| <= {LONGEST}"
STUDIES = {
    "sphere": made_of(SIZES, BUDGETS, 3, (3,), "simulated", ANYWHERE + "3.1416", walked=2),
    "spd": made_of({"n5_noise0.0001": 5}, BUDGETS[:1], 3, (2, 2), "simulated", ANYWHERE + LONGEST),
    "corpus_callosum": made_of(STAND_IN, ONE, 2, (12,), *OUTLINES, walked=1),
    # Harmonics 1, -1, 2 and -2.
    "reduced": made_of(STAND_IN, ONE, 2, (4,), *OUTLINES),
    "rats": made_of({"observed": 144}, ONE, 1, (8,), RATS, ANYWHERE + "1.5708"),
}
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
    number = 0 if sampler == "random_walk" else STUDIES[study].cells.index(cell) // 2
    return f"{study}/cells/{group}/{sampler}_{number}.npz"


def draws_of(run, study, group, cell, sampler="default"):
    """Arrays of a cell."""
    return load_cells(run.files()[block_of(study, group, cell, sampler)])[cell]


def fit_of(run, study, group):
    return json.loads(run.files()[f"{study}/groups/{group}/fit.json"].read_text())


def test_every_file_is_made_and_no_other(finished):
    expected = {"claims/kulkarni_soto.csv", "claims/kulkarni_soto.html", "report.html"}
    expected |= {f"sphere/tables/{table}.csv" for table in ("losses", "neighbours")}
    for name, study in STUDIES.items():
        files = ("data.npz", "fit.json", "sensitivity.npz")
        expected |= {f"{name}/groups/{group}/{file}" for group in study.groups for file in files}
        expected |= {block_of(name, *cell) for cell in study.sampled}
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
    study, files = STUDIES[name], finished.files()
    for group, number in study.groups.items():
        data = load_arrays(files[f"{name}/groups/{group}/data.npz"])
        assert data["covariates"].shape == (study.data_sets, number, 1)
        assert data["points"].shape == (study.data_sets, number, *study.point_shape)
        assert 0.0 <= data["covariates"].min() < data["covariates"].max() <= 1.0
        fit = fit_of(finished, name, group)
        assert fit["converged"] == [True] * study.data_sets
        bounds = load_arrays(files[f"{name}/groups/{group}/sensitivity.npz"])
        np.testing.assert_array_equal(bounds["tau"], fit["largest_residual"])
        said = [str(bounds[key]) for key in ("description", "status", "guarantee")]
        assert said == [study.support, "stated but false", GUARANTEE]


@EACH
def test_tables_are_complete_and_agree(finished, name):
    study = STUDIES[name]
    errors, diagnostics = finished.table(name, "errors"), finished.table(name, "diagnostics")
    cells = study.sampled.items()
    expected = [(*cell, data_set) for cell, sets in cells for data_set in range(sets)]
    assert list(errors[[*KEY, "data_set"]].itertuples(index=False, name=None)) == expected
    expected = [(*cell, part) for cell, _ in cells for part in ("footpoint", "shooting_vector")]
    assert list(diagnostics[[*KEY, "parameter"]].itertuples(index=False, name=None)) == expected
    # Observed data and stand-ins have no known noise; only chains of proposals have weights, and
    # random walks no estimate of their distance; exact draws have no chains to diagnose.
    optional = [] if study.data == "simulated" else ["noise_variance"]
    # Releases alone have a public centre.
    of_releases = "squared_error_without_data"
    assert errors[of_releases].isna().all()
    assert not errors.drop(columns=[*optional, of_releases]).isna().any(axis=None)
    of_plan, of_chains = ["largest_weight", "estimated_total_variation"], ["ess_bulk", "rhat"]
    told = diagnostics.drop(columns=[*optional, *of_plan, *of_chains])
    assert not told.isna().any(axis=None)
    judged = diagnostics[of_chains].notna()
    chains = diagnostics["trace_chains"]
    assert all((judged[each] == (chains > 0)).all() for each in of_chains)
    assert (chains == 0)[diagnostics["exact_share"] == 1.0].all()
    # Each data set's row says what its cell's diagnostics say.
    rows = errors.set_index(KEY)
    for stage, part in diagnostics.set_index(KEY).groupby("parameter"):
        for column in ("drawn_by", "proposals", "certificate"):
            assert (rows[f"{stage}_{column}"] == part[column].reindex(rows.index)).all()
    failed = ~diagnostics.groupby(KEY)["passed"].all()
    assert (rows["flagged"] == failed.reindex(rows.index)).all()
    if study.walked:
        # A short random walk cannot pass, so that both values have been seen.
        assert failed.xs("random_walk", level="sampler").all()
        assert not failed.all()
    for table in (errors, diagnostics):
        assert set(table["guarantee"]) == {GUARANTEE}
        assert (table["n"] == table["group"].map(study.groups)).all()
        budgets = "p" + table["budget_footpoint"].map("{:g}".format)
        assert all(c.startswith(b) for c, b in zip(table["cell"], budgets, strict=True))


def test_errors_are_those_of_the_draws(finished):
    errors, model = finished.table("sphere", "errors"), GeodesicModel(Sphere(2))
    for group, cell in product(STUDIES["sphere"].groups, STUDIES["sphere"].cells):
        data = load_arrays(finished.files()[f"sphere/groups/{group}/data.npz"])
        found = draws_of(finished, "sphere", group, cell)
        draws = {block: found[block] for block in model.blocks}
        squares = mean_squared_errors(model, draws, data["covariates"], data["points"])
        rows = errors[(errors[KEY] == [group, cell, "default"]).all(axis=1)]
        np.testing.assert_allclose(rows["mean_squared_error"], np.mean(squares, axis=(1, 2)))


@EACH
def test_table_of_data_says_what_they_are(finished, name):
    study, table = STUDIES[name], finished.table(name, "data")
    assert dict(zip(table["group"], table["records"], strict=True)) == study.groups
    assert set(table["data"]) == {study.data}
    assert set(table["data_sets"]) == {study.data_sets}
    assert list(table["subjects"].dropna()) == ([18] if name == "rats" else [])


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
    numbers, group = finished.table("spd", "figure_8_predictions"), "n5_noise0.0001"
    matrices = numbers.set_index(["kind", "draw", "covariate"])[coordinates]
    drawn = draws_of(finished, "spd", group, "p0.5_v0.5")["footpoint"]
    for draw in (1, 2):
        np.testing.assert_allclose(matrices.loc["private", draw, 0.0], drawn[0, draw - 1].ravel())
    expected = np.ravel(fit_of(finished, "spd", group)["footpoint"][0])
    np.testing.assert_allclose(matrices.loc["without privacy", 1, 0.0], expected)


def test_vectors_carried_along_two_ways_differ_by_the_area_between_them(finished):
    numbers = finished.table("sphere", "figure_4_transport")
    places, kinds = ([f"{kind}_{axis}" for axis in (1, 2, 3)] for kind in ("point", "vector"))
    areas = {}
    for name, loop in numbers.groupby("loop"):
        ends = [way.iloc[-1] for _, way in loop.groupby("way")]
        one, other = (end[kinds].to_numpy(float) for end in ends)
        np.testing.assert_allclose(*(end[places].to_numpy(float) for end in ends), atol=1e-12)
        apart = np.arccos(one @ other / 0.35**2)
        areas[name] = loop["enclosed_area"].iloc[0]
        np.testing.assert_allclose([apart, loop["angle_between"].iloc[0]], areas[name])
    # A triangle of three right angles is an eighth of the sphere.
    assert areas["large"] == pytest.approx(np.pi / 2)
    assert 0.0 < areas["small"] < areas["large"]


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
        quantiles = ["distance_low", "distance_median", "distance_high", "greatest_distance"]
        assert np.all(np.diff(part[quantiles]) >= 0.0)
        assert part["greatest_distance"].max() <= radii[name] + 1e-9
        walks = part[part["kind"] == "random_walk"]
        # The walk starts at the fit, far from where draws lie.
        assert walks["difference"].iloc[0] > 0.9
    # The distribution on a wider support lies farther out.
    medians = numbers[numbers["kind"] == "default"].set_index("distribution")["distance_median"]
    assert medians["wider"] > medians["as configured"] > medians["reduced"]


def test_the_stated_budgets_do_not_hold(finished):
    path = finished.files()["claims/kulkarni_soto.csv"]
    found = pd.read_csv(path, dtype=str).set_index("claim")
    assert found.loc["privacy.footpoint", "sentence_verdict"] == "does not hold"
    losses = finished.table("sphere", "losses")
    assert list(losses["step"]) == 3 * ["footpoint", "shooting vector"]
    assert (losses["stated"] == 1.0).all()
    assert (losses["loss_over_stated"] == losses["realised"] / losses["stated"]).all()
    assert float(found.loc["privacy.footpoint", "value"]) == losses["loss_over_stated"][0]


def test_every_file_says_what_made_it(finished):
    lock = digest_of(str(finished.root / "envs" / "requirements.txt"))[:16]
    for name, path in {**finished.files("*.npz"), **finished.files("*.json")}.items():
        study, folder, group, file = name.split("/")
        if path.suffix == ".json":
            origin = json.loads(path.read_text())["made_by"]
        else:
            origin = json.loads(str(load_arrays(path)["made_by"]))
        assert (origin["study"], origin["group"]) == (study, group)
        assert origin["lock"] == lock
        assert origin["versions"]["numpy"] == np.__version__
        assert set(origin["versions"]) == {"python", "numpy", "scipy"}
        if folder == "cells":
            assert file.startswith(f"{origin['sampler']}_")
        assert origin["rule"] == ("sample" if folder == "cells" else "fit")
        # What is not random has no seed.
        random = folder == "cells" or study != "rats"
        assert origin["seed"] == (7 if random else None)
