"""Outlines of one's own in the documented place: the study leaves its stand-in."""

import numpy as np
import pandas as pd

from geodp.data.landmarks import signed_area

# The study with the stand-in, and the one that keeps less of the same outlines.
STUDIES = ("corpus_callosum", "reduced")

# Records, subjects and landmarks: more records than subjects, and more landmarks than the study's.
RECORDS, SUBJECTS, LANDMARKS = 24, 16, 30
AGES = np.round(np.linspace(52.0, 88.0, RECORDS), 1)


def write_table(run):
    """A table of outlines, two of which run clockwise."""
    rng = np.random.default_rng(12)
    turns = np.exp(2j * np.pi * np.arange(LANDMARKS) / LANDMARKS)
    thin = 0.5 - 0.004 * (AGES[:, None] - 70.0) + 0.02 * rng.standard_normal((RECORDS, 1))
    bent = 0.2 + 0.02 * rng.standard_normal((RECORDS, 1))
    outlines = 40.0 * (turns.real + 1j * (thin * turns.imag + bent * turns.real**2)) + (60 + 35j)
    for index in (1, 6):
        outlines[index] = np.roll(outlines[index][::-1], 1)
    subjects = [f"s{number % SUBJECTS:02d}" for number in range(RECORDS)]
    table = {"subject": subjects, "age": AGES, "diagnosis": "CN"}
    for k, column in enumerate(outlines.T, start=1):
        table |= {f"x{k}": column.real, f"y{k}": column.imag}
    path = run.root / "data" / "corpus_callosum.csv"
    path.parent.mkdir(exist_ok=True)
    pd.DataFrame(table).to_csv(path, index=False)
    return path


def of_the_studies(run, pattern):
    """Files of the studies of outlines by name."""
    files = run.files(pattern)
    return {name: path for name, path in files.items() if name.split("/")[0] in STUDIES}


def says_stand_in(path):
    return "stand-in" in path.read_text().lower()


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
    assert [name for name, path in others.items() if says_stand_in(path)] == [
        "claims/kulkarni_soto.csv"
    ]


def test_table_in_its_place_takes_over_and_its_end_brings_the_stand_in_back(finished_copy):
    run = finished_copy
    path = write_table(run)
    planned = run.planned()
    assert planned["fit"] == planned["evaluate"] == 2
    assert planned["evaluate_claims"] == 1
    # Nothing of the other studies.
    assert "neighbour_ratios" not in planned
    assert planned["sample"] == 3
    # Shapes, and a convergence that shows both.
    assert planned["figure"] == planned["figure_table"] == 2
    run.run()

    for study in STUDIES:
        with np.load(run.files()[f"{study}/groups/observed/data.npz"]) as file:
            covariates, points = file["covariates"], file["points"]
        assert covariates.shape == (1, RECORDS, 1)
        np.testing.assert_allclose(covariates[0, :, 0], (AGES - 50.0) / 40.0)
        if study == "corpus_callosum":
            assert points.shape == (1, RECORDS, 12)
            assert np.all(signed_area(points) > 0)
        notes = pd.read_csv(run.files()[f"{study}/tables/data.csv"])
        assert set(notes["records"]) == {RECORDS}
        assert set(notes["subjects"]) == {SUBJECTS}
        # The header is row 1.
        assert notes["note"].str.contains("2 outlines .* [(]rows 3, 8[)]").sum() == 1
    for name, table in of_the_studies(run, "*.csv").items():
        assert not says_stand_in(table), name
        if "/tables/" in name:
            assert set(pd.read_csv(table)["data"]) == {"observed, corpus_callosum.csv"}, name
    for name, figure in of_the_studies(run, "*.svg").items():
        assert not says_stand_in(figure), name
    for page in ("claims/kulkarni_soto.html", "report.html"):
        assert "simulated stand-in" not in run.files()[page].read_text().lower()

    path.unlink()
    back = run.planned()
    # The draws on the stand-in are still there.
    assert "fit" not in back
    assert back["evaluate"] == 2
    assert back["figure"] == back["figure_table"] == 2
