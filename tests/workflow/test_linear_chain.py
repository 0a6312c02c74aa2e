"""Linear and quantile regression, and the notebook's sphere, on few data sets."""

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.slow


def tiny(settings):
    """The settings of linear regression, cut down; files without them stay as they are."""
    settings["kng_linear"] |= {"replicates": 5, "steps": 240}
    settings["kng_linear"]["n"] = [100, 1000, 100_000, 1_000_000, 10_000_000]
    settings["kng_quantile"] |= {"replicates": 5, "n": [10, 1000, 3000], "states": 10}
    settings["kng_location"] |= {"replicates": 4, "n": [10, 100, 200], "states": 10}
    cell = {"noise_variance": 0.001, "budget": 1.0}
    settings["geodesic_vs_notebook"] |= {
        "data_sets": 3,
        "footpoints": 6,
        "shooting_vectors": 4,
        "cells": [
            {"n": 20} | cell,
            {"n": 20} | cell | {"budget": 0.5},
            {"n": 20} | cell | {"noise_variance": 0.0001},
            {"n": 50} | cell,
        ],
        "neighbours": {"pairs": 30, "n": 20},
    }
    return settings


@pytest.fixture(scope="module")
def folder(apart):
    checkout = apart("linear", tiny)
    checkout.run("papers_000_002")
    return checkout.root / "results" / "linear"


def test_every_claim_gets_a_verdict(folder):
    claims = pd.read_csv(folder / "claims.csv")
    assert set(claims["paper"]) == {"Reimherr and Awan", "Kulkarni and Soto, first version"}
    assert claims["verdict"].notna().all()
    assert "not evaluated:" not in (folder / "claims.html").read_text()


def test_tables_have_a_row_a_mechanism_size_and_data_set(folder):
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


def test_every_figure_is_there(folder):
    for name in ("kng_linear", "kng_quantile", "kng_location", "notebook", "notebook_sizes"):
        for suffix in ("pdf", "svg", "png", "csv"):
            assert (folder / "figures" / f"{name}.{suffix}").stat().st_size
    for log in (folder / "logs").iterdir():
        assert log.read_text() == ""
