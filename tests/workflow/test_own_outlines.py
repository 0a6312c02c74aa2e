"""Outlines of a stand-in are told from those of a file wherever they are shown."""

import pandas as pd

# The study with the stand-in, and the one that keeps less of the same outlines.
STUDIES = ("corpus_callosum", "reduced")


def of_the_studies(run, pattern):
    """Files of the studies of outlines by name."""
    files = run.files(pattern)
    return {name: path for name, path in files.items() if name.split("/")[0] in STUDIES}


def test_whatever_is_of_a_stand_in_says_so(finished):
    tables, figures = of_the_studies(finished, "*.csv"), of_the_studies(finished, "*.svg")
    assert len(tables) == 2 * 3 + 2 + 2
    assert len(figures) == 2
    for name, path in {**tables, **figures}.items():
        assert "simulated stand-in" in path.read_text().lower(), name
        if "/tables/" in name:
            assert set(pd.read_csv(path)["data"]) == {"simulated stand-in"}, name
    files = {**finished.files("*.csv"), **finished.files("*.svg")}
    others = {name: path for name, path in files.items() if name.split("/")[0] not in STUDIES}
    said = [name for name, path in others.items() if "stand-in" in path.read_text().lower()]
    assert said == ["claims/kulkarni_soto.csv"]


def test_a_table_in_its_place_takes_over(finished_copy):
    """The study and the one that shows it run anew, on the table."""
    rats = (finished_copy.root / "resources" / "vilmann_rats.csv").read_text()
    path = finished_copy.root / "data" / "corpus_callosum.csv"
    path.parent.mkdir(exist_ok=True)
    path.write_text(rats.replace("rat,age_days", "subject,age", 1))
    planned = finished_copy.planned()
    assert planned["fit"] == planned["evaluate"] == 2
    assert (planned["sample"], planned["figure"], planned["evaluate_claims"]) == (3, 2, 1)
    # Nothing of the other studies.
    assert "neighbour_ratios" not in planned
    path.unlink()
    assert finished_copy.planned() == {}
