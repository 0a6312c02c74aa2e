"""`geodp init`, a release that a terminal asks for, and one of a data frame."""

import io
import os
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from cohort import FOLDER, SETTINGS, rewrite, spent, write, write_cohort

import geodp
from geodp import DataError, Ledger, Release
from geodp_release.ask.cli import main
from geodp_release.ask.interview import Interview, new_settings, stem_of
from geodp_release.ask.settings import read_settings

pytestmark = pytest.mark.usefixtures("folder", "undrawn")


CLINIC = "euclidean|sbp|age, sex||none|50, 90|a protocol|no|years|F=0, M=1|||400|a protocol|mmHg|"
CLINIC = [*(CLINIC + "125|a textbook|60||||15|a trial|a trial|2").split("|")]
HEADERS = yaml.safe_load(Path(__file__).with_name("headers.yaml").read_text())
SKULLS = ["3", "kendall", "centroid_size", "ID", "none", "6, 18", *[""] * 4, "40", *[""] * 4]


def wrote(table, text, answers, monkeypatch):
    """Settings that `geodp init` writes from answers."""
    Path(table).write_text(text)
    monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(answers) + "\n"))
    assert main(["init", table]) == 0
    return read_settings(str(Path(table).with_suffix(".yaml")))


def test_settings_are_written_from_a_header_and_public_answers(monkeypatch, capsys):
    found = wrote("clinic.csv", "id,age,sex,sbp\n", CLINIC, monkeypatch)
    assert found.data.columns == ["sbp"]
    assert found.data.categories == {"sex": {"F": 0.0, "M": 1.0}}
    assert (found.data.subject, found.names) == ("id", ["age", "sex"])
    assert found.assumptions.ranges.tolist() == [[50.0, 90.0], [0.0, 1.0]]
    assert found.assumptions.spreads == ("unknown", "two groups")
    assert (found.public.footpoint_radius, found.public.shooting_vector_length) == (60.0, 120.0)
    assert found.public.residual_scale == 15.0
    # No source is published that nobody typed.
    typed = {"covariate_range": "a protocol", "subjects": "a protocol", "centre": "a textbook"}
    assert found.sources == typed | {"residual_scale": "a trial"}
    assert found.units == {"age": "years", "sbp": "mmHg"}
    assert [each.partition(", ")[2] for each in found.contrasts()] == ["per unit", "M against F"]
    assert (found.value_words(1, 0.0), found.value_words(0, 54.5)) == ("F", "54.5")
    assert (found.ledger, found.folder) == ("clinic.ledger", "clinic-release")
    # The ends of a range, and all groups.
    rows = [[70.0, 0.0], [50.0, 0.0], [90.0, 0.0], [70.0, 1.0]]
    assert found.covariates().tolist() == rows
    # Nothing is overwritten, and answers that are missing or wrong are named.
    for answers, says in (
        ([], "clinic.yaml is there already"),
        (["sphere"], "no answer is left for: Columns of a response"),
        (["plane"], "Space of the responses: plane was given: choose from euclidean"),
        (["", "sbp", "agee"], "agee was given: choose from id, age, sex\n"),
        # A response is no covariate, and a covariate no label of subjects.
        (["", "sbp", "sbp"], "sbp was given: choose from id, age, sex\n"),
        (
            ["", "sbp", "id", "", "none", "0, 9", *[""] * 3, "1.5"],
            "Number of subjects, as publicly",
        ),
        (["spd", "id, age"], "2 numbers are neither a symmetric matrix nor its triangle"),
        (["", "sbp", "none", "", "", "100", "", "", "1, 2"], "its 2 numbers make no point"),
        (["", "sbp", "age", "", "", "90, 50"], "90, 50 was given: give two, the smaller first"),
        (["", "sbp", "none", "", "1.5"], "1.5 was given: give a whole number from 1 on"),
        (["", "sbp", "none", "", "", "100", "", "", "120", "", "0"], "give a number above zero"),
        (["", "sbp", "age", "", "F=0"], "F=0 was given: give two different words or more"),
    ):
        monkeypatch.setattr(sys, "stdin", io.StringIO("\n".join(answers)))
        output = ["--output", "b.yaml"] if answers else []
        assert main(["init", "clinic.csv", *output]) == 2
        assert says in capsys.readouterr().err


def test_landmarks_need_no_columns(monkeypatch, capsys):
    found = wrote("skulls.tps", "", SKULLS, monkeypatch)
    assert (found.data.columns, found.public.manifold.size) == (None, 3)
    # Sizes beside shapes are read of a table alone, where their columns need no names either.
    monkeypatch.setattr(sys, "stdin", io.StringIO("3\nsize_and_shape\n"))
    assert main(["init", "skulls.tps", "--output", "b.yaml"]) == 2
    assert "skulls.tps holds landmarks: set the space to kendall" in capsys.readouterr().err


def test_a_folder_is_called_by_its_name():
    assert stem_of(".") == Path.cwd()
    assert stem_of("a/b.csv") == Path("a/b")
    for table in ("", "/"):
        with pytest.raises(DataError, match="is no table: give the path of one"):
            stem_of(table)


def proposed(path, answers):
    """What `geodp init` writes for a table, if all is answered by the default or as given."""
    given = {"Number of s": "500", "Least": "0, 9", "Earliest": "2000-01-01, 2020-01-01", **answers}

    def ask(question):
        return next((given[each] for each in given if question.startswith(each)), "")

    new_settings(path, "found.yaml", Interview(ask, lambda words: None, is_patient=False))
    found = read_settings("found.yaml")
    space, data = found.public.manifold, found.data
    return [space.name, space.size, data.columns, data.coordinates, found.labels(found.names)]


@pytest.mark.parametrize("name", HEADERS)
def test_what_is_proposed_for_a_table_by_its_header(name):
    case = HEADERS[name]
    Path("table.csv").write_text(case["header"] + "\n")
    if "refused" in case:
        with pytest.raises(DataError, match=case["refused"]):
            proposed("table.csv", case.get("answers", {}))
    else:
        assert proposed("table.csv", case.get("answers", {})) == case["found"]


def test_points_in_lists_are_proposed_whole():
    pd.DataFrame({"point": [[1.0]] * 2, "age": 1.0}).to_parquet("table.parquet")
    expected = ["euclidean", 3, ["point"], "ambient", ["age"]]
    assert proposed("table.parquet", {"Length of each list": "3"}) == expected


class Terminal(io.StringIO):
    """Answers as a terminal has them typed."""

    def isatty(self):
        return True


def test_a_release_on_a_terminal_checks_and_asks_once(run, monkeypatch):
    write_cohort(Path(), "3")
    Path("mine.ledger").unlink()
    write(SETTINGS)
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True)

    def on_a_terminal(status, *answers):
        monkeypatch.setattr(sys, "stdin", Terminal("".join(f"{each}\n" for each in answers)))
        return run("release", status=status).out

    shown = on_a_terminal(1, "3", "no")
    assert spent() == "0"
    for words in (
        "The check says yes.",
        "It spends 2 of 3 epsilon left in mine.ledger. Release now (yes or no) [no]: ",
        "Not released. Nothing was spent.",
    ):
        assert words in shown
    whole = Path("mine.csv").read_text()
    rewrite(lambda lines: [*lines[:-1], lines[1]])
    shown = on_a_terminal(1, "yes")
    assert "The check says no" in shown
    assert "Release now" not in shown
    Path("mine.csv").write_text(whole)
    assert on_a_terminal(0, "yes").count("The predicted error is") == 1
    assert spent() == "2"


def test_a_data_frame_is_released_into_the_same_folder_and_ledger(capsys):
    write_cohort(Path(), "3")
    frame = pd.read_csv("mine.csv")
    data = {key: x for key, x in SETTINGS["data"].items() if key not in ("source", "path")}
    settings = SETTINGS | {"data": data}
    found = geodp.release(frame, settings)
    assert found.number == 400
    assert "The predicted error is" in capsys.readouterr().out
    assert Ledger.open("mine.ledger").spent == 2
    assert sorted(os.listdir("out/trial")) == FOLDER
    for other in ({}, frame.iloc[:, 0]):
        with pytest.raises(DataError, match=r"data are of type \w+: give a data frame"):
            geodp.release(other, settings)
    again = geodp.release(None, settings | {"data": SETTINGS["data"] | {"path": "the data frame"}})
    assert again.footpoint.tolist() == Release.load("out/trial/release.json").footpoint.tolist()
    with pytest.raises(DataError, match="folder: out/trial is there already"):
        geodp.release(
            frame, settings | {"name": "b", "budget": {"epsilon": "1"}, "allow_noise": True}
        )
    assert Ledger.open("mine.ledger").spent == 2
