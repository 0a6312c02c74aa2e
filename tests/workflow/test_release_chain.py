"""A private release by the workflow: as the command makes it, and nothing of the data in logs."""

import re

import pytest
from cohort import SETTINGS, write_cohort

from geodp_release.promise.ledger import Ledger
from geodp_release.show.release import Release

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def released(made):
    """A checkout with data, a ledger and a release; and what the run printed."""
    checkout = made(SETTINGS)
    write_cohort(checkout.root, "5")
    return checkout, checkout.run("release")


def numbers(text, decimals):
    """Numbers of so many decimals or more in a text, with so many."""
    return set(re.findall(rf"\d+\.\d{{{decimals}}}", text))


def spent(checkout):
    return str(Ledger.open(checkout.root / "mine.ledger").spent)


def test_the_target_makes_the_release_once(released):
    checkout, shown = released
    assert "Released: out/trial" in shown
    folder = checkout.root / "out" / "trial"
    release = Release.load(folder / "release.json")
    assert release.guarantee.holds
    assert (folder / "index.html").is_file()
    assert set(checkout.files()) == {"logs/release.log"}
    assert checkout.files()["logs/release.log"].read_text() == ""
    # Nothing of the data is in what the run leaves: no number in full and, since one of eight
    # decimals is met by chance among thousands, no two of a record that are cut to eight.
    table = (checkout.root / "mine.csv").read_text()
    records = [numbers(line, 8) for line in table.splitlines()]
    folders = [checkout.root / name for name in ("out", "results", ".snakemake")]
    files = [path for each in folders for path in each.rglob("*") if path.is_file()]
    assert any("log" in path.name for path in files)
    for text in [shown, *(path.read_text(errors="ignore") for path in files)]:
        assert not numbers(table, 12) & numbers(text, 12)
        met = numbers(text, 8)
        found = [len(record & met) for record in records]
        assert max(found) < 2
        assert sum(found) < 5
    # It is the default target of its configuration.
    before = (folder / "release.json").read_bytes()
    assert "Released before, and nothing was spent" in checkout.run()
    assert spent(checkout) == "2"
    assert (folder / "release.json").read_bytes() == before


def test_what_is_wrong_with_data_is_not_in_the_log(released):
    checkout, _ = released
    text = (checkout.root / "mine.csv").read_text()
    (checkout.root / "broken.csv").write_text(text + "secret,61\n")
    checkout.configure(
        SETTINGS
        | {
            "name": "broken",
            # Another number of records than the public one.
            "data": SETTINGS["data"] | {"path": "broken.csv", "subject": "one record each"},
            "folder": "out/broken",
        }
    )
    printed = checkout.refused("release")
    [log] = checkout.files().values()
    sentence = log.read_text()
    assert "the data of broken cannot be used as its settings say, and nothing is" in sentence
    assert "stays spent" in sentence
    assert sentence.strip() in printed
    for shown in (sentence, printed):
        assert "secret" not in shown
        assert "row " not in shown
    assert not (checkout.root / "out" / "broken").exists()
    assert spent(checkout) == "4"


def test_what_describes_no_release_is_refused_in_a_sentence(released, small):
    checkout, _ = released
    checkout.configure({"name": "other", "seed": 1, "studies": {"rats": small["studies"]["rats"]}})
    sentence = "Error: no release is described: give its settings with --configfile"
    assert sentence in checkout.refused("release")
