"""Private Frechet means, on few data sets."""

import numpy as np
import pandas as pd
import pytest

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
    settings["audit"] |= {"draws": 1000, "walks": 1000, "steps": 20}
    return settings


@pytest.fixture(scope="module")
def folder(apart):
    checkout = apart("means", tiny)
    checkout.run("papers_003_004")
    return checkout.root / "results" / "means"


def test_every_claim_gets_a_verdict(folder):
    claims = pd.read_csv(folder / "claims.csv")
    assert set(claims["paper"]) == {"Reimherr, Bharath and Soto", "Soto et al."}
    assert claims["verdict"].notna().all()
    page = (folder / "claims.html").read_text()
    assert "Reimherr" in page
    assert "not evaluated:" not in page


def test_tables_have_a_row_a_mechanism_size_and_data_set(folder):
    for space, mechanisms in (("spd2", 10), ("s2", 8)):
        table = pd.read_csv(folder / space / "errors.csv")
        assert len(table) == mechanisms * 7 * 6
        assert np.all(np.isfinite(table["distance"]) & (table["distance"] > 0.0))
        bounds = pd.read_csv(folder / space / "audit.csv")
        assert len(bounds) == 2 * (mechanisms + 3)
        assert np.all(np.isfinite(bounds["bound"]) & (bounds["bound"] >= 0.0))


def test_every_figure_is_there(folder):
    names = ("laplace_means", "sensitivities", "kng_means", "audit", "mean_shapes")
    for name in (*names, "walks", "medians"):
        for suffix in ("pdf", "svg", "png", "csv"):
            assert (folder / "figures" / f"{name}.{suffix}").stat().st_size
    for log in (folder / "logs").iterdir():
        assert log.read_text() == ""
