"""A private release by the workflow: as the command makes it, and nothing of the data in logs."""

import re
import shutil
from pathlib import Path

import pytest
from cohort import SETTINGS, write_cohort

from geodp_release.ledger import Ledger
from geodp_release.release import Release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(source, copied, tmp_path_factory):
    """A checkout with data, a ledger and a release; and what the run printed."""
    checkout = copied(source, tmp_path_factory.mktemp("release"))
    write_cohort(checkout.root, "5")
    checkout.configure(SETTINGS)
    return checkout, checkout.run("release")


@pytest.fixture
def reconfigured(released):
    """What gives the checkout another configuration until the test ends."""
    checkout, _ = released
    yield checkout.configure
    checkout.configure(SETTINGS)


def numbers(text):
    """Numbers of eight decimals or more in a text, with eight."""
    return set(re.findall(r"\d+\.\d{8}", text))


def spent(checkout):
    return str(Ledger.open(checkout.root / "mine.ledger").spent)


def test_the_target_makes_the_release(released):
    checkout, shown = released
    assert "Released: out/trial" in shown
    release = Release.load(checkout.root / "out" / "trial" / "release.json")
    assert release.guarantee.holds
    assert (checkout.root / "out" / "trial" / "index.html").is_file()
    assert set(checkout.files()) == {"logs/release.log"}
    assert checkout.files()["logs/release.log"].read_text() == ""


def test_nothing_of_the_data_is_in_what_a_run_leaves(released):
    checkout, shown = released
    cells = numbers((checkout.root / "mine.csv").read_text())
    folders = [checkout.root / name for name in ("out", "results", ".snakemake")]
    files = [path for folder in folders for path in folder.rglob("*") if path.is_file()]
    assert any("log" in path.name for path in files)
    for text in [shown, *(path.read_text(errors="ignore") for path in files)]:
        assert not cells & numbers(text)


def test_another_run_is_the_same_release_and_spends_nothing(released):
    checkout, _ = released
    before = (checkout.root / "out" / "trial" / "release.json").read_bytes()
    # It is the default target of its configuration.
    shown = checkout.run()
    assert "Released before, and nothing was spent" in shown
    assert spent(checkout) == "2"
    assert (checkout.root / "out" / "trial" / "release.json").read_bytes() == before


def test_what_is_wrong_with_data_is_not_in_the_log(released, reconfigured):
    checkout, _ = released
    broken = checkout.root / "broken.csv"
    shutil.copy(checkout.root / "mine.csv", broken)
    text = broken.read_text()
    broken.write_text(text + "secret,61\n")
    reconfigured(
        SETTINGS
        | {
            "name": "broken",
            # Another number of records than the public one.
            "data": SETTINGS["data"] | {"path": "broken.csv", "subject": "one record each"},
            "folder": "out/broken",
        }
    )
    result = checkout.snakemake("release")
    assert result.returncode != 0
    [log] = checkout.files().values()
    sentence = log.read_text()
    assert "the data of broken cannot be used as its settings say, and nothing is" in sentence
    assert "stays spent" in sentence
    assert sentence.strip() in result.stdout
    for shown in (sentence, result.stdout):
        assert "secret" not in shown
        assert "row " not in shown
        assert "Traceback" not in shown
    assert not (checkout.root / "out" / "broken").exists()
    assert spent(checkout) == "4"


def test_a_seed_is_refused_in_a_sentence(released, reconfigured):
    checkout, _ = released
    reconfigured(SETTINGS | {"seed": 1})
    result = checkout.snakemake("release", "--dry-run")
    assert result.returncode != 0
    assert "key seed is refused: a release draws its random bits from" in result.stdout
    assert "Traceback" not in result.stdout


def test_a_configuration_of_studies_describes_no_release(released, reconfigured, small):
    checkout, _ = released
    reconfigured({"name": "other", "seed": 1, "studies": {"rats": small["studies"]["rats"]}})
    result = checkout.snakemake("release")
    assert result.returncode != 0
    assert "Error: no release is described: give its settings with --configfile" in result.stdout
    assert not Path(checkout.root, "results", "other", "release").exists()
