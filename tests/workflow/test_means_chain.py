"""Private Frechet means, on few data sets."""

import csv
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from reproduction.papers import PAPERS

pytestmark = pytest.mark.slow


def tiny(settings):
    """The settings of the means, cut down; files of settings without them stay as they are."""
    settings["replicates"] = 6
    settings["n"] = [20, 25, 30, 40, 50, 75, 400]
    settings["neighbours"] |= {"pairs": 3, "last": 40}
    settings["losses"] = [25]
    settings["shapes"]["draws"] = 4
    settings["shapes"]["spaces"]["outlines"]["n"] = 30
    settings["medians"] |= {"n": 20, "replicates": 3, "outliers": [0.0, 0.4]}
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
    settings["shapes"]["spaces"]["outlines"] |= {"manifold": space, "file": rats}
    settings["audit"] |= {"draws": 1000, "walks": 1000, "steps": 20}
    return settings


@pytest.fixture(scope="module")
def folder(apart):
    checkout = apart("means", tiny)
    checkout.run("reimherr_bharath_soto", "soto")
    assert (checkout.root / "results" / "means" / "soto_claims.html").is_file()
    return checkout.root / "results" / "means"


def test_every_claim_gets_a_verdict(folder):
    for paper, sentences in (("reimherr_bharath_soto", 10), ("soto", 3)):
        claims = pd.read_csv(folder / f"{paper}_claims.csv")
        assert set(claims["paper"]) == {PAPERS[paper].name}
        assert claims["claim"].str.partition(".")[0].nunique() == sentences
        assert claims["verdict"].notna().all()
        page = (folder / f"{paper}_claims.html").read_text()
        assert PAPERS[paper].name in page
        assert "not evaluated:" not in page


def test_tables_have_a_row_a_mechanism_size_and_data_set(folder):
    for space, mechanisms in (("spd2", 9), ("s2", 7)):
        table = pd.read_csv(folder / space / "errors.csv")
        assert len(table) == mechanisms * 7 * 6
        assert np.all(np.isfinite(table["distance"]) & (table["distance"] > 0.0))
        assert table["bias"].notna().equals(table["mechanism"].str.startswith("tangent"))
        bounds = pd.read_csv(folder / space / "audit.csv")
        assert len(bounds) == 2 * (mechanisms + 3)
        assert np.all(np.isfinite(bounds["bound"]) & (bounds["bound"] >= 0.0))


def test_outlines_of_a_file_take_the_place_of_simulated_ones(folder):
    drawn = pd.read_csv(folder / "outlines" / "draws.csv")
    assert set(drawn["n"]) == {18}
    assert not drawn["simulated"].any()


def test_a_table_of_ones_own_has_its_mean_its_median_and_private_means(folder):
    estimates = pd.read_csv(folder / "own" / "estimates.csv").set_index("estimate")
    assert set(estimates["n"]) == {18}
    ran = set(estimates.index[estimates["refused"].isna()])
    expected = ("mean", "median", "tangent_laplace", "private_median", "landmarkwise_laplace")
    assert ran.issuperset(expected)
    assert "positive curvature" in estimates.loc["wrapped_laplace", "refused"]
    draws = pd.read_csv(folder / "own" / "draws.csv")
    assert set(draws.groupby("estimate").size()[lambda n: n > 1]) == {3}


def test_every_figure_is_there(folder):
    names = ("laplace_means", "sensitivities", "kng_means", "audit", "mean_shapes")
    for name in (*names, "walks", "medians"):
        for suffix in ("pdf", "svg", "png", "csv"):
            assert (folder / "figures" / f"{name}.{suffix}").stat().st_size
    for log in (folder / "logs").iterdir():
        assert log.read_text() == ""
