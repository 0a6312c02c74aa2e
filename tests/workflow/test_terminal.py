"""What a run prints: where results are, data errors, and values out of range."""

import shutil
from pathlib import Path

import pytest

from reproduction.configuration import ConfigurationError, validate
from reproduction.ranges import check_ranges
from reproduction.studies import expand

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def rats(small):
    """The configuration of one study that reads a table."""
    small["studies"] = {"rats": small["studies"]["rats"]}
    return small


def said(output):
    """Lines of a run that are not Snakemake's own at its start."""
    return [line for line in output.splitlines() if not line.startswith(("Using", "Assuming"))]


# Values of figures


def check(configuration, **figure):
    study = configuration["studies"]["rats"]
    study["figures"]["shapes"] |= figure
    check_ranges(expand(validate(configuration)))


def test_values_are_held_to_the_range_of_the_table(rats, monkeypatch, tmp_path):
    monkeypatch.chdir(ROOT)
    check(rats, values=[7, 30, 150])
    with pytest.raises(ConfigurationError) as raised:
        check(rats, values=[7, 150.1])
    assert str(raised.value) == (
        "configuration key studies.rats.figures.shapes.values[1]: 150.1 lies outside the "
        "covariate's range in resources/vilmann_rats.csv, 7 to 150: choose a value within it"
    )
    # Records that are not kept do not count.
    rats["studies"]["rats"]["data"]["keep"] = {"rat": [1, 2, 3], "age_days": [7, 14, 21]}
    with pytest.raises(ConfigurationError, match=r"30 lies .*, 7 to 21: choose"):
        check(rats, values=[7, 30])


def test_an_error_of_the_table_is_left_to_the_job_that_reads_it(rats, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    rats["papers"] = []
    rats["studies"]["rats"]["data"]["path"] = "bad.csv"
    (tmp_path / "bad.csv").write_text("rat,age_days\n1,x\n")
    check(rats, values=[1000])


@pytest.mark.parametrize(
    ("target", "remedy"),
    [
        ("evaluate_claim", "did you mean evaluate_claims?"),
        ("results/small/report.htm", "did you mean results/small/report.html?"),
        ("xyzxyzxyz", "./run snakemake --list names the targets"),
    ],
)
def test_a_mistyped_target(checkout, rats, target, remedy):
    checkout.configure(rats)
    result = checkout.snakemake(target)
    assert result.returncode == 1
    *_, line = said(result.stdout)
    assert line == f"Error: there is no target or result {target}: {remedy}"
    assert not (checkout.root / "results").exists()


def test_the_run_ends_before_its_first_job(checkout, rats):
    rats["studies"]["rats"]["figures"]["shapes"]["values"] = [7, 300]
    checkout.configure(rats)
    result = checkout.snakemake()
    assert result.returncode == 1
    [line] = said(result.stdout)
    assert line.startswith("Error: configuration key studies.rats.figures.shapes.values[1]: 300")
    assert not (checkout.root / "results").exists()
    # Nothing is locked.
    rats["studies"]["rats"]["figures"] = {}
    checkout.configure(rats)
    assert "results/small/rats" in checkout.run("results/small/rats/groups/observed/data.npz")


# A configuration without anything to do


@pytest.mark.parametrize(
    ("given", "missing"),
    [
        ({}, "name, seed and studies"),
        ({"name": "mine"}, "seed and studies"),
        ({"name": "mine", "seed": 1, "studies": None}, "studies"),
        ({"name": "mine", "seed": 1, "studies": {}}, "studies"),
        ({"name": "mine", "seed": 1, "studies": []}, "studies"),
    ],
)
def test_a_configuration_without_studies_says_what_to_add(given, missing):
    with pytest.raises(ConfigurationError) as raised:
        validate(given, files=["mine.yaml"])
    assert str(raised.value) == (
        f"mine.yaml: configuration key studies is missing or empty: add {missing} as in README's "
        "example, or a plan"
    )


def test_a_list_of_studies_names_the_file():
    with pytest.raises(ConfigurationError, match=r"^a.yaml, b.yaml: .*studies.* give a mapping"):
        validate({"name": "mine", "seed": 1, "studies": ["sphere"]}, files=["a.yaml", "b.yaml"])
    with pytest.raises(ConfigurationError, match=r"^configuration key studies is missing"):
        validate({})


# Ends of runs


def test_a_data_error_is_said_once_and_last(checkout, rats):
    table = checkout.root / "bad.csv"
    shutil.copy(checkout.root / "resources" / "vilmann_rats.csv", table)
    table.write_text(table.read_text().replace(",-450,", ",oops,", 1))
    rats["studies"]["rats"]["data"]["path"] = "bad.csv"
    checkout.configure(rats)
    result = checkout.snakemake()
    assert result.returncode == 1
    assert result.stdout.count("oops") == 1
    *_, sentence, place = result.stdout.splitlines()
    assert sentence.startswith("Error in study rats: bad.csv, row 2, column x1: 'oops' is not a ")
    assert place.startswith("    (while: rats, observed: make data (table); log: results/small/")


def test_a_target_says_which_file_to_open(checkout, rats):
    checkout.configure(rats)
    lines = said(checkout.run("results/small/rats/tables/data.csv"))
    assert lines[-2].startswith("Done in ")
    assert lines[-1] == "Open results/small/rats/tables/data.csv"
