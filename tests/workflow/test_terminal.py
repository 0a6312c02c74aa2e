"""What a run prints: what is missing, where results are, and data errors."""

import shutil

import pytest

from reproduction.configuration import ConfigurationError, validate


@pytest.fixture
def rats(small):
    """The configuration of one study that reads a table."""
    small["studies"] = {"rats": small["studies"]["rats"]}
    return small


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

LOGGER = "--logger=geodp"


@pytest.fixture
def checkout(checkout):
    """A checkout whose runs print as those that ./run starts."""
    checkout.environment["PYTHONPATH"] = str(checkout.root / "workflow" / "scripts")
    return checkout


def test_a_data_error_is_said_once_and_last(checkout, rats):
    table = checkout.root / "bad.csv"
    shutil.copy(checkout.root / "resources" / "vilmann_rats.csv", table)
    table.write_text(table.read_text().replace(",-450,", ",oops,", 1))
    rats["studies"]["rats"]["data"]["path"] = "bad.csv"
    checkout.configure(rats)
    result = checkout.snakemake(LOGGER)
    assert result.returncode == 1
    assert result.stdout.count("oops") == 1
    *_, sentence, place = result.stdout.splitlines()
    assert sentence.startswith("Error in study rats: bad.csv, row 2, column x1: 'oops' is not a ")
    assert place.startswith("    (while: rats, observed: make data (table); log: results/small/")


def test_a_target_says_which_file_to_open(checkout, rats):
    checkout.configure(rats)
    *_, done, last = checkout.run(LOGGER, "results/small/rats/tables/data.csv").splitlines()
    assert done.startswith("Done in ")
    assert last == "Open results/small/rats/tables/data.csv"
