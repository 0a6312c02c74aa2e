"""The benchmark from its settings to its words, on a few records and in no time."""

import numpy as np
import pandas as pd
import pytest
import yaml

pytestmark = [pytest.mark.slow, pytest.mark.geomstats]

SPACES = {"S^2": ("s2", 2), "outlines": ("outlines", 96)}
TINY = {
    "seed": 1,
    "spaces": {name: {"n": [8, 9], "budgets": [1.0, 2.0, 4.0]} for name in SPACES},
    "draws": [5, 10],
    "seconds": {
        **{"default_sampler": 60, "chain": 0.2, "rate": 0.02},
        **{"fit": 0.3, "mean": 5},
    },
    "fits": {"n": [8]},
    "means": {"n": [40]},
    "sizes": {"n": [10, 20]},
}
COLUMNS = [
    *("what", "space", "dimension", "n", "budget", "draws", "method", "value", "unit"),
    *("is_bound", "note"),
]
METHODS = ["default sampler", "random walk", "random walk with geomstats"]


@pytest.fixture(scope="module")
def measured(apart):
    """A checkout with the benchmark of a few records run to its end."""
    checkout = apart("benchmark", lambda _: TINY)
    checkout.run("benchmark", cores=1)
    return checkout


@pytest.fixture(scope="module")
def folder(measured):
    return measured.root / "results" / "benchmark"


@pytest.fixture(scope="module")
def table(folder):
    return pd.read_csv(folder / "benchmark.csv")


def test_files_are_those_promised(measured, folder):
    parts = [f"sampling_{name}" for name, _ in SPACES.values()]
    parts += ["fits_numpy", "fits_autograd", "means", "sizes", "benchmark"]
    expected = {f"{part}.csv" for part in parts}
    expected |= {f"benchmark.{suffix}" for suffix in ("md", "pdf", "svg", "png")}
    assert {path.name for path in folder.iterdir() if path.is_file()} == expected
    # Nothing else was made, and no data were left behind.
    assert {path.name for path in folder.iterdir() if path.is_dir()} == {"logs"}
    assert [path.name for path in folder.parent.iterdir()] == ["benchmark"]
    for log in (folder / "logs").iterdir():
        assert log.read_text() == ""


def test_nothing_is_left_to_do_and_no_configuration_matters(measured):
    assert "Nothing to be done" in measured.run("--dry-run", "benchmark")
    other = yaml.safe_load(measured.configuration.read_text()) | {"name": "another", "seed": 2}
    before = measured.configuration.read_text()
    measured.configure(other)
    assert "Nothing to be done" in measured.run("--dry-run", "benchmark")
    measured.configuration.write_text(before)


def test_columns_and_dimensions(table):
    assert list(table.columns) == COLUMNS
    assert dict(zip(table["space"], table["dimension"], strict=True)) == {
        name: dimension for name, (_, dimension) in SPACES.items()
    }
    assert table[["what", "n", "value", "unit", "is_bound"]].notna().all(axis=None) or set(
        # What fails has no energy.
        table.loc[table["value"].isna(), "what"]
    ) <= {"excess energy of a fit", "excess energy of a fit from a plain start"}


def test_every_cell_has_every_sampler(table):
    draws = table[table["what"] == "effective draws"]
    assert (draws["value"] > 0.0).all()
    # Of the larger n the least and the greatest budget only.
    cells = {(8, 1.0), (8, 2.0), (8, 4.0), (9, 1.0), (9, 4.0)}
    for space in SPACES:
        for method in METHODS:
            part = draws[(draws["space"] == space) & (draws["method"] == method)]
            assert set(zip(part["n"], part["budget"], strict=True)) == cells
            numbers = [5.0, 10.0] if method == METHODS[0] else []
            assert sorted(part["draws"].dropna().unique()) == numbers


def test_chains_cut_off_are_said_to_be_bounds(table):
    times = table[table["what"] == "autocorrelation time"]
    assert (times["note"].str.contains("cut off") == times["is_bound"]).all()
    # So short that none can converge in 96 dimensions.
    assert times.loc[times["space"] == "outlines", "is_bound"].all()
    keys = ["space", "n", "budget"]
    walks = table[table["what"].eq("effective draws") & table["method"].isin(METHODS[1:])]
    merged = walks.merge(times[[*keys, "is_bound"]], on=keys, suffixes=("", "_of_time"))
    assert (merged["is_bound"] == merged["is_bound_of_time"]).all()


def test_walks_are_rated_by_the_same_autocorrelation(table):
    keys = ["space", "n", "budget"]
    times = table[table["what"] == "autocorrelation time"].set_index(keys)["value"]
    for method in METHODS[1:]:
        part = table[table["method"] == method].set_index(keys)
        draws = part.loc[part["what"] == "effective draws", "value"]
        steps = part.loc[part["what"] == "steps", "value"]
        np.testing.assert_allclose(draws, steps / times.loc[draws.index], rtol=1e-6)


def test_sizes_and_fits_are_there(table):
    for what in ("time against n", "memory beyond the data"):
        part = table[(table["what"] == what) & (table["method"] == "fit")]
        assert sorted(part["n"]) == sorted([10, 20] * len(SPACES))
    fits = table[(table["what"] == "fit") & (table["method"] == "fit of the library")]
    assert (fits["value"] > 0.0).all()
    assert table["method"].str.startswith("geomstats (autograd)", na=False).any()
    assert table["method"].str.startswith("geomstats (numpy)", na=False).any()


def test_words_give_every_aim_a_verdict(folder):
    text = (folder / "benchmark.md").read_text()
    assert text.count("**met**") + text.count("**missed**") >= 6
    assert f"NumPy {np.__version__}" in text
    assert "nan" not in text


def test_text_of_the_figure_is_text(folder):
    picture = (folder / "benchmark.svg").read_text()
    for label in ("effective draws per second (1/s)", "number of records n", "time of a fit (s)"):
        assert label in picture
