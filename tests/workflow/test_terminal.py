"""What a run prints: where results are, and data errors."""

import shutil

import pytest


@pytest.fixture
def rats(small):
    """The configuration of one study that reads a table."""
    small["studies"] = {"rats": small["studies"]["rats"]}
    return small


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
