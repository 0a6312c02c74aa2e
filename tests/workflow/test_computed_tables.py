"""A study of computed tables by the workflow, from its settings to verdicts and the report."""

import pandas as pd
import pytest

pytestmark = pytest.mark.slow

GEODESICS = {
    "kind": "geodesics",
    "cells": [{"n": 20, "noise_variance": 0.001, "budget": 1.0}],
    **{"data_sets": 2, "pairs": 30, "shooting_vector_length": 0.6},
    **{"footpoints": 5, "shooting_vectors": 5},
}
FIRST_VERSION = "kulkarni_soto_first_version"
SMALL = {
    "name": "computed",
    "seed": 1,
    "papers": [{"name": "A paper", "claims": f"resources/published/{FIRST_VERSION}_claims.csv"}],
    "studies": {
        "geodesic_vs_notebook": {
            "paper": FIRST_VERSION,
            "seed": 2,
            "tables": {
                "errors": GEODESICS | {"rows": "data_sets"},
                "draws": GEODESICS | {"rows": "draws"},
                "neighbours": GEODESICS | {"rows": "neighbours"},
            },
            "figures": {"notebook": {"kind": "notebook", "number": "2, 3 and 5"}},
        },
        # Its figure shows the table of the other.
        "sizes": {
            "tables": {
                "errors": {
                    **{"kind": "location_errors", "n": [10], "replicates": 2, "budget": 1.0},
                },
                "bounds": {"kind": "errors_by_size"},
            },
            "figures": {
                "sizes": {
                    "kind": "lines",
                    "studies": ["geodesic_vs_notebook"],
                    "panels": [
                        {
                            "table": "errors",
                            "x": "n",
                            "y": "error_mean",
                            "xlabel": "n",
                            "ylabel": "e",
                        }
                    ],
                    "labels": {"error_mean": "mean"},
                    "caption": "Errors.",
                },
            },
        },
    },
}


@pytest.fixture
def computed(checkout):
    checkout.configure(SMALL)
    checkout.run()
    return checkout


def test_tables_figures_and_verdicts_are_made_and_follow_what_they_read(computed):
    tables = {
        "geodesic_vs_notebook": ("errors", "draws", "neighbours"),
        "sizes": ("errors", "bounds"),
    }
    made = {f"{study}/tables/{name}.csv" for study, names in tables.items() for name in names}
    made |= {f"claims/{FIRST_VERSION}.{suffix}" for suffix in ("csv", "html")} | {"report.html"}
    for figure in ("geodesic_vs_notebook/figures/notebook", "sizes/figures/sizes"):
        made |= {f"{figure}.{suffix}" for suffix in ("pdf", "svg", "png", "csv")}
    assert set(computed.files()) - set(computed.files("*.log")) == made
    found = pd.read_csv(computed.files()[f"claims/{FIRST_VERSION}.csv"])
    judged = found[found["study"] == "geodesic_vs_notebook"]
    assert judged["verdict"].notna().any()
    assert set(found["seed"]) == {2}
    page = computed.files()["report.html"].read_text()
    assert "Figures 2, 3 and 5 of the paper" in page
    assert computed.planned() == {}
    # A setting reaches the table that has it, and what shows that.
    changed = SMALL["studies"]["geodesic_vs_notebook"]["tables"]["neighbours"]
    before, changed["pairs"] = changed["pairs"], 31
    computed.configure(SMALL)
    behind = {"evaluate_claims": 1, "report": 1}
    assert computed.planned() == {"table": 1, "figure": 1} | behind
    changed["pairs"] = before
    computed.configure(SMALL)
    # A module reaches the tables of its kind, and those that are made of them.
    module = computed.root / "workflow/scripts/reproduction/tables/linear.py"
    module.write_text(f"{module.read_text()}CHANGED = True\n")
    assert computed.planned() == {"table": 2}
