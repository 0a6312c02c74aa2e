"""Private linear regression beside other tools, on few data sets, budgets and draws."""

import os

import pandas as pd
import pytest

pytestmark = [pytest.mark.slow, pytest.mark.competitors]

SETS = ["engel", "computers"]
HELD_OUT = "ais"


def tiny(settings):
    """The settings of the tools, cut down; files of settings without them stay as they are."""
    settings["comparison"] |= {"draws": 3, "path": "wine.csv", "budgets": [1.0, 2.0]}
    sets = settings["benchmark"]["sets"]
    settings["benchmark"] |= {
        "budgets": [0.1, 10.0],
        "folds": 3,
        "repeats": 1,
        "sets": {name: sets[name] for name in SETS},
    }
    held_out = settings["benchmark"]["held_out"]
    held_out["sets"] = {HELD_OUT: held_out["sets"][HELD_OUT]}
    return settings


@pytest.fixture(scope="module")
def checkout(apart):
    checkout = apart("tools", tiny)
    # Public figures of no wine.
    columns = ["alcohol", "fixed acidity", "density", "pH", "residual sugar"]
    rows = {name: [(7 * i * (j + 2)) % 11 for i in range(40)] for j, name in enumerate(columns)}
    pd.DataFrame(rows).to_csv(checkout.root / "wine.csv", sep=";", index=False)
    checkout.run("linear_tools")
    return checkout


@pytest.fixture(scope="module")
def folder(checkout):
    return checkout.root / "results" / "tools"


def test_every_method_has_its_rows(folder):
    shares = pd.read_csv(folder / "shares.csv")
    ours = {"adassp", "matrix_laplace", "matrix_gaussian"}
    methods = {"diffprivlib", "diffprivlib_corrected"} | ours
    assert set(shares["method"]) == methods
    assert set(shares["data_set"]) == {*SETS, HELD_OUT}
    assert set(shares[shares["held_out"]]["method"]) == ours
    assert (shares["draws"] == 3).all()
    draws = pd.read_csv(folder / "draws.csv")
    assert set(draws["data"]) == {"red wine"}
    counts = draws.groupby(["method", "budget"]).size()
    assert (counts["least_squares"] == 1).all()
    assert (counts.drop("least_squares") == 3).all()
    assert set(draws["budget"]) == {1.0, 2.0}


def test_versions_are_told(folder):
    page = (folder / "tools.md").read_text()
    for package in ("diffprivlib", "opendp", "scikit-learn", "numpy"):
        assert f"{package} " in page
    assert "nan" not in page


def test_figure_and_tables_are_there(folder):
    for suffix in ("pdf", "svg", "png", "md"):
        assert (folder / f"tools.{suffix}").stat().st_size
    for name in ("sets", "shares", "medians", "against", "comparison", "draws"):
        assert len(pd.read_csv(folder / f"{name}.csv"))
    for log in (folder / "logs").iterdir():
        assert log.read_text() == ""


def test_nothing_is_left_to_do(checkout):
    assert "Nothing to be done" in checkout.run("--dry-run", "linear_tools")


def test_without_the_table_of_wine_data_are_others(checkout, folder):
    (checkout.root / "wine.csv").rename(checkout.root / "other.csv")
    checkout.run("results/tools/comparison/least_squares.csv")
    found = pd.read_csv(folder / "comparison" / "least_squares.csv")
    (checkout.root / "other.csv").rename(checkout.root / "wine.csv")
    assert set(found["data"]) == {"diabetes"}


def test_an_older_table_of_wine_makes_lines_anew(checkout):
    target = "results/tools/comparison/least_squares.csv"
    wine, kept = checkout.root / "wine.csv", checkout.root / "kept.csv"
    checkout.run(target)
    wine.rename(kept)
    wine.write_text(kept.read_text() + kept.read_text().splitlines()[-1] + "\n")
    os.utime(wine, (0, 0))
    planned = checkout.planned("--", target)
    kept.replace(wine)
    assert planned == {"tools_draws": 1}
