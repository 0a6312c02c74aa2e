"""The command `geodp`: a release from its settings to its folder, once, and nothing private."""

import json
import logging
import os
import re
import stat
import subprocess
import sys
import threading
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import yaml
from cohort import COLUMNS, DIM, NUMBER, REFUSALS, SETTINGS, changed, write_cohort

from geodp import SPD, DataError, Ledger, Release
from geodp.manifolds.landmark_maps import fourier_harmonics
from geodp.manifolds.registry import make_manifold
from geodp_release import checking
from geodp_release import folder as folder_module
from geodp_release import publish as publish_module
from geodp_release.cli import main
from geodp_release.pictures import ellipse_factors, ellipse_radii, entry_limits, landmark_radii
from geodp_release.publish import plan_of
from geodp_release.settings import read_settings
from geodp_release.stages import LastStep
from geodp_release.subjects import record_array

ROOT = Path(__file__).resolve().parents[2]


# The page is drawn where it is looked at.
PICTURE = folder_module.picture


@pytest.fixture
def holder(folder, monkeypatch):
    """A holder's folder with data and a ledger, as the working directory."""
    monkeypatch.setattr(folder_module, "picture", lambda *_: ("<svg/>", "Points."))
    write_cohort(folder, "3")
    write(SETTINGS)
    return folder


def write(settings, path="mine.yaml"):
    Path(path).write_text(yaml.safe_dump(settings, sort_keys=False))
    return path


def spent():
    return str(Ledger.open("mine.ledger").spent)


@pytest.fixture
def run(capsys):
    """A function that runs a command, by default on the settings that are there: what it shows."""

    def running(command, settings=None, *options, status=0):
        capsys.readouterr()
        if settings is not None:
            write(settings)
        assert main([command, "mine.yaml", *options]) == status
        shown = capsys.readouterr()
        assert "Traceback" not in shown.out + shown.err
        return shown

    return running


@pytest.fixture
def refused(run):
    """A function that returns the one sentence that a release ends with."""

    def refusing(settings=None, *options, status=2):
        *_, last = run("release", settings, *options, status=status).err.splitlines()
        assert last.startswith("geodp: ")
        return last.removeprefix("geodp: ")

    return refusing


# --- Plans ---


def test_a_plan_needs_no_data_and_no_ledger(holder, run):
    Path("mine.csv").unlink()
    Path("mine.ledger").unlink()
    shown = run("plan")
    for words in ("The predicted error is", "The ledger mine.ledger is not there"):
        assert words in shown.out
    assert shown.out.endswith("No data were read and nothing was spent.\n")
    assert shown.err == ""
    assert os.listdir() == ["mine.yaml"]


def test_plans_of_other_numbers_and_budgets_are_a_table(holder, run):
    said, _, heads, *rows, _ = run("plan", None, "--table").out.splitlines()
    assert re.fullmatch(r"Plans in about \d+ s, without reading data\.", said)
    assert re.sub(" +", " ", heads) == "subjects epsilon 1 epsilon 2 epsilon 4"
    numbers, *errors = zip(*(row.replace(" (noise)", "").split() for row in rows), strict=True)
    assert list(map(int, numbers)) == [NUMBER // 2, NUMBER, 2 * NUMBER, 4 * NUMBER]
    assert errors[1][1] == f"{plan_of(read_settings('mine.yaml')).error:.3g}"
    assert np.all(np.diff(np.array(errors, dtype=float)) < 0.0)


def test_rats_are_refused_with_the_number_of_subjects_that_would_do(holder, run, refused):
    settings = yaml.safe_load((ROOT / "config" / "release.rats.yaml").read_text())
    settings["data"]["path"] = str(ROOT / settings["data"]["path"])
    settings["ledger"] = "mine.ledger"
    sentence = refused(settings)
    assert sentence.startswith("The release would be noise, since its predicted error is")
    [needed] = re.findall(r"(\d+) subjects would do with this budget", sentence)
    assert 100 < int(needed) < 1000
    assert sentence.endswith("Nothing was spent")
    assert spent() == "0"
    # A plan says the same by its status.
    run("plan", status=1)
    run("plan", settings | {"allow_noise": True})


# --- Releases ---


@pytest.fixture
def released(holder, run):
    return holder, run("release")


@pytest.fixture
def drawn(monkeypatch):
    monkeypatch.setattr(folder_module, "picture", PICTURE)


def test_a_release_is_a_folder_with_a_release_a_page_and_a_table(holder, drawn, run):
    """Nothing of the data is in it: neither as written nor to as many digits as a page shows."""
    shown = run("release", SETTINGS | {"units": {"age": "years", "c0": "mm"}})
    out = holder / "out" / "trial"
    assert sorted(os.listdir(out)) == ["index.html", "predictions.csv", "release.json"]
    assert os.listdir(out.parent) == ["trial"]
    assert "Released: out/trial/index.html (2 epsilon of mine.ledger)" in shown.out
    assert shown.err == ""
    release, ages = Release.load(out / "release.json"), [50.0, 60.0, 70.0, 80.0, 90.0]
    table, there = pd.read_csv(out / "predictions.csv", dtype=str), release.has_subjects(ages)
    assert list(table.pop("note").isna()) == list(there)
    table = table.astype(float)
    assert list(table["covariate"]) == ages
    found = table[COLUMNS].to_numpy()
    np.testing.assert_array_equal(found[there], release.predict(ages)[there])
    assert np.all(np.isnan(found[~there]))
    np.testing.assert_array_equal(table["band_90"], release.band(ages, 0.9))
    np.testing.assert_array_equal(table["band_95"], release.band(ages, 0.95))
    page = (out / "index.html").read_text()
    cells = re.findall('<td class="number">(.*?)</td>', page)
    fitted = release.coefficients()
    slope = [f"{each[1, 0]:#.4g}" for each in (fitted.value, fitted.low, fitted.high)]
    assert cells[3:6] == [slope[0], " to ".join(slope[1:]), *release.p_words()]
    bands = [f"{table[name][2]:.3g}" for name in ("band_90", "band_95")]
    row = [">70<", f">{found[2, 0]:.5g}<", *(f">{each}<" for each in bands)]
    assert re.search(".*?".join(map(re.escape, row)), page, re.DOTALL)
    for words in (
        release.guarantee.words(),
        # exp(2), rounded up.
        "make no outcome more than 7.39 times as probable.",
        "age (years)",
        *(f"<td>R{number}</td>" for number in range(1, 8)),
    ):
        assert words in page
    is_clipped = any(isinstance(each, LastStep) and each.share for each in release.plan.stages)
    assert ("thin out as those of an exponential" in page) == is_clipped
    # It needs no other file, and no network.
    assert not re.search(r'src=|url\((?!#)|<link|<script|href="http', page)
    rows = Path("mine.csv").read_text().splitlines()[1:]
    cells = {cell for row in rows for cell in row.split(",")}
    texts = [path.read_text() for path in Path("out/trial").iterdir()]
    numbers = re.findall(r"patient\d+|-?\d+\.\d+", "\n".join([*texts, shown.out]))
    assert not set(numbers) & (cells | {cell[:-2] for cell in cells if "." in cell})
    assert all("mine.csv" not in text and str(holder) not in text for text in texts)


def test_an_entry_of_the_registry_says_what_the_release_says(released, capsys):
    assert main(["registry", "out/trial/release.json"]) == 0
    release = Release.load("out/trial/release.json")
    said = capsys.readouterr().out
    privacy = yaml.safe_load(said)["deployment"]["privacy_loss"]
    assert privacy["privacy_parameters"] == {"epsilon": 2}
    assert release.guarantee.words() in privacy["privacy_parameters_details"]
    assert "a point (an earlier study)\n" in said


def test_a_release_is_made_once(released, run):
    """Again it is the same folder, which is never overwritten, and what is spent stays spent."""
    before = {path: path.read_bytes() for path in Path("out/trial").iterdir()}
    # Not even the data are needed.
    Path("mine.csv").rename("moved.csv")
    shown = run("release").out
    assert "Released before: out/trial/index.html (nothing was spent)" in shown
    assert "The release is of the data as they were when it was drawn" in shown
    assert spent() == "2"
    assert {path: path.read_bytes() for path in Path("out/trial").iterdir()} == before


MEAN = dict.fromkeys(
    ("covariate", "data.covariate", "public.covariate_range", "public.shooting_vector_length")
)
SEVERAL = {
    "covariate": ["age", "sex"],
    "data.covariate": ["age", "sex"],
    "public.covariate_range": [[50, 90], [0, 1]],
    "public.covariate_spread": ["evenly", "two groups"],
}


@pytest.mark.parametrize("covariates", [0, 2])
def test_the_command_releases_means_and_several_covariates(
    covariates, holder, drawn, run, few_points
):
    Path("mine.ledger").unlink()
    write_cohort(holder, "3", with_sex=True)
    shown = run("check", changed(SEVERAL if covariates else MEAN, budget={"epsilon": "3"}))
    assert f"All {NUMBER} records would be used as they are." in shown.out
    run("release")
    release = Release.load("out/trial/release.json")
    table = pd.read_csv("out/trial/predictions.csv", dtype=str)
    predicted = table[COLUMNS].to_numpy(dtype=float)
    if covariates == 0:
        # Without a covariate nothing is said of one.
        assert "covariate" not in " ".join(table.columns)
        assert "range of the covariate" not in Path("out/trial/index.html").read_text()
        # The mean of ages and sexes: 0.2 + 0.1.
        np.testing.assert_allclose(predicted, 0.3, atol=0.1)
        np.testing.assert_array_equal(release.predict(), predicted)
        return
    at = table[["covariate_age", "covariate_sex"]].to_numpy(dtype=float)
    # The first of the two groups and the noisy mean; then the ends of where there are subjects.
    (mean, low, high, again), (usual, _) = at[:, 0], release.usual
    assert at[:, 1].tolist() == [0, 0, 0, 1]
    assert 50 <= low < mean == again == usual < high <= 90
    there = release.has_subjects(at)[:, None]
    np.testing.assert_array_equal(np.where(there, release.predict(at), np.nan), predicted)
    # From one group to the other coordinates grow by 0.2.
    assert np.mean(predicted[-1] - predicted[0]) == pytest.approx(0.2, abs=0.1)


# --- What is refused before anything is spent ---


MISTAKES = [
    *(({}, *each) for each in REFUSALS["settings"]),
    ({}, "budget", {"epsilon": f"0.{'1' * 99}"}, "budget.epsilon: it has more than 100 characters"),
    ({}, "budget", {"epsilon": 10**99}, "budget.epsilon: a budget of 1e+99 is not between"),
    (
        {"public.subjects": 10**9},
        *("public.records_per_subject", 100),
        "1000000000 subjects of up to 100 records take 14616 GB of memory and this machine has",
    ),
    *((SEVERAL, *each) for each in REFUSALS["covariates"]),
    *(
        (MEAN, key, value, f"key {key}: a mean has no covariate: remove it")
        for key, value in REFUSALS["means"]
    ),
]


@pytest.mark.parametrize(("given", "key", "value", "sentence"), MISTAKES)
def test_mistakes_are_refused_in_a_sentence_and_spend_nothing(
    holder, refused, given, key, value, sentence
):
    assert sentence in refused(changed(given | {key: value}))
    assert spent() == "0"
    assert not list(Path().rglob("release.json"))


DEEP = ", line 1: more than 10 lists or mappings lie in each other"
NO_SETTINGS = dict(REFUSALS["texts"]) | {
    "[" * 10**5: DEEP,
    "a: " + "{a: " * 5000: DEEP,
    "a: " + "9" * 5000: ", line 1: a number has more than 100 characters: round it",
    "a: 1" + ":59" * 5000: ", line 1: a text has more than 10000 characters: shorten it",
    "# " + "x" * 10**6: " has more than 1000000 characters: give a smaller file",
}


@pytest.mark.parametrize("text", NO_SETTINGS, ids=lambda text: ascii(text)[1:20])
def test_files_that_are_no_settings_are_refused(tmp_path, text):
    path = tmp_path / "mine.yaml"
    path.write_text(text)
    with pytest.raises(DataError, match=re.escape(f"mine.yaml{NO_SETTINGS[text]}")):
        read_settings(str(path))


@pytest.mark.parametrize("key", ["data.path", "data.covariate", "folder", "ledger", "\x1b[2J"])
@pytest.mark.parametrize("command", ["plan", "check", "release"])
def test_a_terminal_obeys_no_text_of_the_settings(holder, capsys, command, key):
    write(changed({key: "out/\x1b[2J\u202e\n"}))
    main([command, "mine.yaml"])
    shown = "".join(capsys.readouterr())
    assert all(line.isprintable() for line in shown.split("\n"))
    assert command != "release" or "x1b[2J" in shown


# --- Data ---


def rewrite(change):
    """Change the lines of the table."""
    lines = Path("mine.csv").read_text().splitlines()
    Path("mine.csv").write_text("\n".join(change(lines)) + "\n")


def test_another_number_of_records_is_refused_and_stays_spent(holder, refused):
    rewrite(lambda lines: lines[:-1])
    said = refused(changed({"data.subject": "one record each"}))
    assert said.startswith("the data of trial cannot be used as its settings say, and nothing is")
    assert (said.endswith("mine.ledger stays spent"), spent()) == (True, "2")


def test_a_covariate_may_be_called_anything(holder, drawn, run):
    """After the draw a figure that could not be drawn would have cost the budget."""
    run("release", SETTINGS | {"covariate": r"dose $_$ in $\mug <b>", "description": "a & b"})
    page = Path("out/trial/index.html").read_text()
    assert r"dose $_$ in $\mug &lt;b&gt;" in page
    assert "<b>" not in page
    assert "Data: a &amp; b." in page


def no_numbers(lines):
    return [lines[0], *(line.replace(".", ";") for line in lines[1:])]


BAD_RECORDS = [
    no_numbers,
    lambda lines: [*lines[:-1], "patient00399,1e9,a,1e300,,-5,0,0,0,0"],
    lambda lines: [lines[0], *[lines[1]] * NUMBER],
    lambda lines: [lines[0], *(re.sub("^[^,]*,[^,]*", "x,60", each) for each in lines[1:])],
]


def test_what_a_release_prints_does_not_depend_on_its_records(released, run):
    """That it was not made, or a word of why, would tell of them."""
    _, sound = released
    whole = Path("mine.csv").read_bytes()
    for index, change in enumerate(BAD_RECORDS):
        Path("mine.csv").write_bytes(whole)
        rewrite(change)
        Path("mine.ledger").unlink()
        Ledger.create("mine.ledger", "3", "epsilon")
        Path("out").rename(f"before {index}")
        assert run("release") == sound


def noisy_fault(problem):
    """A function that fails and quotes a record wherever it can."""

    def fails(*arguments):
        warnings.warn("record 0.123456789", stacklevel=1)
        logging.getLogger("other").error("record 0.123456789")
        for file in (sys.stdout, sys.stderr):
            print("record 0.123456789", file=file)
        try:
            raise ValueError("record 0.123456789")
        except ValueError:
            raise problem from None

    return fails


@pytest.mark.parametrize("place", ["read_data", "release_geodesic"])
def test_a_fault_after_the_data_were_read_is_public_in_one_sentence(
    holder, run, caplog, monkeypatch, place
):
    Path("mine.ledger").unlink()
    Ledger.create("mine.ledger", "100", "epsilon")
    for problem in (DataError, ValueError, RecursionError, OSError):
        monkeypatch.setattr(publish_module, place, noisy_fault(problem("record 0.123456789")))
        seen = f"{problem.__name__}.txt"
        shown = run("release", None, "--for-holder", seen, status=2)
        assert "123456789" not in shown.out + shown.err + caplog.text
        assert shown.err == (
            "geodp: the data of trial cannot be used as its settings say, and nothing is released; "
            f"`geodp check` tells the holder why; 2 epsilon of {holder}/mine.ledger stays spent\n"
        )
        # The words of a fault that is not ours may quote records.
        quotes = problem is DataError
        assert ("record 0.123456789; 2 epsilon of" in Path(seen).read_text()) == quotes
        assert (f"{problem.__name__} in test_cli.py" in Path(seen).read_text()) != quotes
    assert (spent(), os.listdir("out")) == ("8", [])


def test_data_that_do_not_fit_into_memory_spend_nothing(holder, refused, monkeypatch):
    """Of a file of several formats readers say that it cannot be read."""

    def fails(*arguments):
        try:
            raise MemoryError
        except MemoryError:
            raise DataError("mine.csv: it cannot be read") from None

    for reader in (fails, noisy_fault(MemoryError())):
        monkeypatch.setattr(publish_module, "read_data", reader)
        assert "the data of trial do not fit into memory: end" in refused()
    assert spent() == "0"


def test_data_that_change_while_they_are_read_are_neither_released_nor_noted(
    holder, run, refused, monkeypatch
):
    """The fingerprint would be of other bytes than were read."""

    def changing(settings):
        found = read(settings)
        rewrite(lambda lines: [*lines[:-1], lines[-1].replace("patient", "subject")])
        return found

    read, whole = publish_module.read_data, Path("mine.csv").read_bytes()
    monkeypatch.setattr(publish_module, "read_data", changing)
    said = refused()
    assert said.startswith("mine.csv changed while it was read: run it again")
    assert (said.endswith("nothing was spent"), spent()) == (True, "0")
    Path("mine.csv").write_bytes(whole)
    monkeypatch.setattr(checking, "read_data", changing)
    assert "Nothing was noted, since the data changed during the check" in run("check").out


@pytest.mark.parametrize(
    "problem", [ValueError, KeyboardInterrupt, type("P", (BaseException,), {})]
)
def test_a_fault_after_the_data_were_read_is_raised_without_its_cause(holder, monkeypatch, problem):
    """Whatever shows a traceback would show the cause with it."""
    monkeypatch.setattr(publish_module, "read_data", noisy_fault(problem("record")))
    expected = KeyboardInterrupt if problem is KeyboardInterrupt else DataError
    with pytest.raises(expected) as caught:
        publish_module.publish(read_settings("mine.yaml"))
    assert (caught.value.__cause__, caught.value.__context__) == (None, None)


def test_a_release_prints_no_traceback(holder, capsys, monkeypatch):
    """It may quote a record, as where an interruption is interrupted."""
    hooks = (sys, "excepthook"), (sys, "unraisablehook"), (threading, "excepthook")
    for owner, name in hooks:
        monkeypatch.setattr(owner, name, getattr(owner, name))
    monkeypatch.setattr(sys, "argv", ["geodp", "release", "mine.yaml"])
    assert main() == 0
    capsys.readouterr()
    for owner, name in hooks[1:]:
        getattr(owner, name)(ValueError("record"))
    sys.excepthook(ValueError, ValueError("record"), None)
    said = "geodp: ValueError: `geodp ledger show` tells what was spent\n"
    assert capsys.readouterr() == ("", said)


def test_a_command_whose_output_nobody_reads_goes_on(holder):
    reader, writer = os.pipe()
    os.close(reader)
    found = subprocess.run(
        [sys.executable, "-m", "geodp_release.cli", "ledger", "show", "mine.ledger"],
        stdout=writer,
        stderr=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": str(ROOT / "workflow" / "scripts")},
    )
    os.close(writer)
    assert (found.returncode, found.stderr) == (0, b"")


# --- The holder's file ---


@pytest.mark.parametrize("taken", ["mine.csv", "link", "nowhere/seen.txt"])
def test_the_holders_file_is_never_overwritten(holder, refused, taken):
    Path("link").symlink_to("elsewhere")
    before = Path("mine.csv").read_bytes()
    said = refused(None, "--for-holder", taken)
    assert f"the file for the holder {taken} cannot be made" in said
    assert (spent(), Path("elsewhere").exists()) == ("0", False)
    assert Path("mine.csv").read_bytes() == before


def test_the_holders_file_is_never_in_a_published_folder(released, refused):
    """Neither in that of the settings nor in that of the release, by whatever path."""
    Path("link").symlink_to("out/trial")
    before = sorted(Path("out").rglob("*"))
    second = changed(
        {"budget": {"epsilon": "1"}, "allow_noise": True}, name="second", folder="out/second"
    )
    moved = changed(folder="out/other")
    for settings, path in (
        *((moved, each) for each in ("out/trial/seen.txt", "link/seen.txt", "link/../trial/a")),
        (second, os.path.abspath("out/second")),
    ):
        said = refused(settings, "--for-holder", path)
        assert f"the file for the holder {path} is in " in said
        assert said.endswith("which is published: give a path elsewhere; nothing was spent")
    assert (sorted(Path("out").rglob("*")), spent()) == (before, "2")


# --- Checks ---


FEW = "no: the data have 399 subjects, and public.subjects says"
NO = [
    (no_numbers, {}, "400 of 400 records are no records of the manifold and would not count"),
    (no_numbers, {}, "no: no record is valid"),
    (no_numbers, {}, "mine.csv, row 2, column "),
    (lambda lines: [*lines[:9], '"' + lines[9], *lines[10:]], {}, "no: mine.csv: the quote in"),
    (lambda lines: [*lines, lines[1].replace("patient", "p")], {}, "no: the data have 401 sub"),
    (lambda lines: [*lines[:-1], lines[1]], {}, FEW),
    (lambda lines: lines[:-1], {"data.subject": "one record each"}, FEW),
    (lambda lines: [*lines[:-1], lines[-1][12:]], {}, FEW),
    (lambda lines: lines[:1], {}, "no: the data have 0 subjects"),
]


@pytest.mark.parametrize(("change", "parts", "says"), NO)
def test_a_check_that_says_no_has_a_status_that_says_no(holder, run, change, parts, says):
    rewrite(change)
    shown = run("check", changed(parts), status=1)
    assert says in shown.out
    assert "The check says no: do not release before the data are mended." in shown.out
    assert shown.out.endswith("mine.ledger.\nNothing was spent.\n")
    assert (shown.err, spent()) == ("", "0")


def test_a_check_tells_the_holder_and_spends_nothing(holder, run, monkeypatch):
    rewrite(lambda lines: [lines[0], "patient00000,x,0,0,0,0,0,0,0,0", *lines[2:]])
    before, shown = sorted(Path().rglob("*")), run("check").out
    assert "1 of 400 records are no records of the manifold" in shown
    assert "There are 400 records of 400 subjects." in shown
    assert "The check says yes." in shown
    assert (spent(), sorted(Path().rglob("*"))) == ("0", before)
    Path("mine.ledger").unlink()
    # A fault of ours is told too.
    monkeypatch.setattr(checking, "inspect_inputs", noisy_fault(ValueError("x")))
    with pytest.warns(UserWarning, match="record"):
        shown = run("check", status=1).out
    assert "no: ValueError in test_cli.py, line " in shown
    assert "The ledger cannot note it: " in shown
    assert not Path("mine.ledger").exists()


def test_a_file_of_which_the_check_said_no_is_not_released(holder, run, refused):
    far, other = {"public.centre": [9.0] * DIM}, {"name": "other", "folder": "out/other"}
    run("check", changed(far), status=1)
    refusal = "the last check of this file said no: run `geodp check`, mend the data, or give"
    Path("copy.csv").write_bytes(Path("mine.csv").read_bytes())
    # Neither another name of the release nor of the file helps, nor other public inputs.
    for parts in (far, far | other, far | other | {"data.path": "copy.csv"}, {}):
        assert refused(changed(parts)).startswith(refusal)
    assert (spent(), Path("out/trial").exists()) == ("0", False)
    # What failed its own check is not released since another passed.
    run("check", SETTINGS)
    assert refused(changed(far)).startswith(refusal)
    run("release", SETTINGS)
    cheap = changed(far | other | {"budget": {"epsilon": "1"}, "allow_noise": True})
    assert refused(cheap).startswith(refusal)
    run("release", cheap, "--despite-check")
    assert spent() == "3"
    # Another file was not checked.
    rewrite(lambda lines: lines[:-1])
    assert "said no" not in refused(changed(far, name="third", folder="out/third"))


def test_the_holder_is_told_whether_the_data_changed_since(released, run):
    def told(name):
        shown = run("release", None, "--for-holder", name).out
        return shown.replace(name, ""), Path(name).read_text()

    before = Path("mine.csv").read_bytes()
    public, seen = told("same.txt")
    assert "The data are those of the release that " in seen
    Path("mine.csv").write_bytes(before.replace(b"patient00007", b"patient00777"))
    shown, seen = told("other.txt")
    assert "The data changed since the release that " in seen
    assert shown == public
    assert "The data changed since the release that " in run("check").out
    Path("mine.csv").unlink()
    assert "cannot be said: key data.path: mine.csv" in told("none.txt")[1]


def test_a_check_warns_of_covariates_that_cluster(holder, run):
    assert "spread as these are" not in run("check").out
    ages = iter(50.0 + 40.0 * np.random.default_rng(2).beta(2.0, 8.0, NUMBER))

    def crowded(line):
        who, _, *others = line.split(",")
        return ",".join([who, f"{next(ages):.3f}", *others])

    rewrite(lambda lines: [lines[0], *map(crowded, lines[1:])])
    found = re.search(r"error over their whole range is ([\d.]+), and ([\d.]+)", run("check").out)
    assert float(found[1]) > 1.5 * float(found[2])


def test_public_inputs_that_were_read_off_the_data_are_told_to_the_holder_alone(holder, run):
    table = pd.read_csv("mine.csv")
    ages, points = table["age"].to_numpy(), table[COLUMNS].to_numpy()
    x = np.stack([np.ones(NUMBER), ages], axis=-1)
    residuals = points - x @ np.linalg.lstsq(x, points)[0]
    read_off = {
        "public.covariate_range": [float(np.min(ages)), float(np.max(ages))],
        "public.centre": np.mean(points, axis=0).round(5).tolist(),
        "public.residual_scale": float(f"{np.sqrt(np.mean(residuals**2)):.4g}"),
    }
    warnings_ = [
        "covariate_range is the least and the greatest covariate of the data",
        "centre is the Frechet mean of the data",
        "residual_scale is the residual of the least-squares fit of the data",
    ]
    shown = "".join(run("release", changed(read_off), "--for-holder", "seen.txt"))
    seen = Path("seen.txt").read_text()
    assert shown.endswith("For the holder of the data alone: seen.txt\n")
    assert "All 400 records were used as they are." in seen
    assert stat.S_IMODE(Path("seen.txt").stat().st_mode) == 0o600
    shown += "".join(path.read_text() for path in Path("out/trial").iterdir())
    for words in warnings_:
        assert f"warning: {words}" in seen
        assert words not in shown
    shown = run("check", changed({"public.centre": points[7].tolist()})).out
    assert "centre is a record of the data" in shown


# --- Interruptions ---


def interrupt(*arguments):
    raise KeyboardInterrupt


# What is said where a release was drawn and has no folder.
STAYS = r"2 epsilon of \S+mine.ledger stays spent"
KEPT = r", and (\S+mine\.ledger-1-\d+\.json) keeps the draw: the same settings again make .*"
INTERRUPTED = {
    "planned": ("nothing was spent", "0"),
    "read_data": (r"nothing of \S+mine.ledger was spent", "0"),
    "release_geodesic": (STAYS, "2"),
    "write_folder": (STAYS + KEPT, "2"),
    "check_data": (r"2 epsilon .* is spent, and the release is complete in \S+/out/trial", "2"),
}


@pytest.mark.parametrize("place", INTERRUPTED)
def test_ctrl_c_says_what_is_spent(holder, run, refused, monkeypatch, place):
    words, amount = INTERRUPTED[place]
    with monkeypatch.context() as patch:
        patch.setattr(publish_module, place, interrupt)
        shown = run("release", None, "--for-holder", "seen.txt", status=130)
    assert re.fullmatch(f"geodp: interrupted: {words}\n", shown.err)
    assert (spent(), Path("out/trial/index.html").is_file()) == (amount, place == "check_data")
    if place == "write_folder":
        # A draw whose file is gone is paid for again.
        [kept] = Path().glob("mine.ledger-*.json")
        kept.unlink()
        assert "while 1 is left" in refused()


FULL = OSError(28, "No space left on device")


@pytest.mark.parametrize("problem", [ValueError(), KeyboardInterrupt(), FULL])
def test_a_draw_outlives_a_fault_in_its_picture(holder, run, refused, monkeypatch, problem):
    """It was paid for: the same command makes the folder from it, without data or budget.

    A folder is complete or absent.
    """

    def fails(*arguments):
        # Everything is for its owner alone as long as it is not complete.
        [partial] = Path("out").iterdir()
        assert partial.name.startswith(".trial.")
        assert stat.S_IMODE(partial.stat().st_mode) == 0o700
        raise problem

    with monkeypatch.context() as patch:
        patch.setattr(folder_module, "picture", fails)
        said = refused(status=130 if isinstance(problem, KeyboardInterrupt) else 2)
    assert problem is not FULL or said.startswith(
        f"key folder: out/trial cannot be written ({FULL.strerror})"
    )
    [kept] = re.search(STAYS + KEPT, said).groups()
    assert stat.S_IMODE(Path(kept).stat().st_mode) == 0o600
    drawn = json.loads(Path(kept).read_text())
    assert (os.listdir("out"), spent()) == ([], "2")
    Path("mine.csv").rename("moved.csv")
    # By whatever name of its ledger.
    Path("elsewhere").mkdir()
    link = Path.symlink_to if problem is FULL else Path.hardlink_to
    link(Path("elsewhere/link"), holder / "mine.ledger")
    assert "has paid for a draw of it" in run("plan", changed(ledger="elsewhere/link")).out
    assert "The release is of the data as they were when it was drawn" in run("release").out
    found = json.loads(Path("out/trial/release.json").read_text())
    assert found | {"key": drawn["key"]} == drawn
    assert sorted(os.listdir("out/trial")) == ["index.html", "predictions.csv", "release.json"]
    [entry] = Ledger.open("mine.ledger").entries()
    assert (entry.finished, entry.folder, spent()) == (True, Path("out/trial").absolute(), "2")
    assert not Path(kept).exists()
    assert os.listdir("elsewhere") == ["link"]


# --- Threads ---


def of_process():
    """What silence changes for a process as a whole."""
    return sys.stdout, sys.stderr, logging.root.manager.disable, [*warnings.filters]


def test_records_that_are_converted_in_threads_leave_warnings_as_they_were():
    before, inside, ended = of_process(), threading.Event(), threading.Event()

    class Record:
        def __init__(self, act):
            self.act = act

        def __float__(self):
            return float(self.act())

    late = [Record(lambda: inside.set() or ended.wait(5.0))]
    other = threading.Thread(target=record_array, args=(late, (1,), float))
    record_array([Record(lambda: other.start() or inside.wait(0.2))], (1,), float)
    ended.set()
    other.join()
    assert of_process() == before


# --- One release, by whatever path ---


def test_the_same_data_by_another_path_are_not_paid_for_again(released, monkeypatch, run, refused):
    holder, _ = released
    Path("elsewhere").mkdir()
    Path("elsewhere/link.csv").symlink_to(holder / "mine.csv")
    ledger = {"ledger": str(holder / "mine.ledger")}
    monkeypatch.chdir("elsewhere")
    for path in (str(holder / "mine.csv"), "link.csv", "../mine.csv"):
        run("release", changed(ledger | {"data.path": path}))
    assert str(Ledger.open(holder / "mine.ledger").spent) == "2"
    # The same settings here are of other data.
    write_cohort(Path(), "3")
    assert "from data at another path" in refused(changed(ledger))


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_name_is_of_one_release(holder, run, refused, monkeypatch, is_finished):
    """Else other data would get the release of the first, or a changed key pay again unseen."""
    with monkeypatch.context() as patch:
        if not is_finished:
            patch.setattr(folder_module, "picture", interrupt)
        run("release", status=0 if is_finished else 130)
    Path("other.csv").write_bytes(Path("mine.csv").read_bytes())
    start = "trial was released into" if is_finished else "trial was drawn, whi"
    end = "or another name for a release of its own, which spends; nothing was spent"
    for parts in (
        {"data.path": "other.csv"},
        {"budget": {"epsilon": "1"}, "allow_noise": True},
        {"public.residual_scale": 0.2},
    ):
        said = refused(changed({"folder": "out/next"} | parts))
        assert (said.startswith(start), said.endswith(end)) == (True, True)
    assert spent() == "2"
    assert "It would be refused: trial was" in run("plan").out


# --- Ledgers ---


def test_a_ledger_is_created_and_shown(holder, capsys):
    assert main(["ledger", "create", "new.ledger", "--allowed", "0.5", "--unit", "rho"]) == 0
    assert "allows 0.5 rho in all" in capsys.readouterr().out
    assert main(["ledger", "show", "new.ledger"]) == 0
    assert "allowed 0.5, spent 0, left 0.5 (rho)" in capsys.readouterr().out
    assert main(["plan", "nowhere.yaml"]) == 2
    assert "nowhere.yaml cannot be read" in capsys.readouterr().err


# --- Bands in figures ---


@pytest.mark.parametrize("harmonics", [None, 2])
def test_landmarks_of_shapes_in_a_ball_are_in_their_discs(harmonics):
    manifold = make_manifold("kendall", 12, harmonics and fourier_harmonics(12, harmonics))
    point, radius = manifold.random_point(np.random.default_rng(3)), 0.01
    [radii] = landmark_radii(manifold, point[None], [radius])
    ends = ends_of_steps(manifold, point, radius, 20000)
    away = np.max(np.abs(manifold.to_landmarks(ends) - manifold.to_landmarks(point)), axis=0)
    # No larger than they have to be.
    assert np.all((away <= 1.01 * radii) & (away >= 0.7 * radii))


def ends_of_steps(manifold, point, radius, number):
    starts = np.broadcast_to(point, (number, *point.shape))
    directions = manifold.random_direction(np.random.default_rng(3), starts)
    return manifold.exp(starts, radius * directions)


def test_entries_of_matrices_in_a_ball_are_within_their_limits():
    manifold = SPD(3)
    matrix = np.array([[2.0, 0.3, -0.9], [0.3, 0.5, 0.0], [-0.9, 0.0, 1.0]])
    ends = manifold.entries(ends_of_steps(manifold, matrix, 0.4, 100000))
    [low], [high] = entry_limits(manifold, matrix[None], np.array([0.4]))
    within = (low <= ends) & (ends <= high)
    assert np.all(within)
    # No wider than they have to be.
    np.testing.assert_allclose(np.ptp(ends, axis=0), high - low, rtol=0.06)


def test_ellipses_of_matrices_in_a_ball_are_in_their_ring():
    matrix, direction, radius = np.array([[2.0, 0.3], [0.3, 0.5]]), np.array([[0.6], [0.8]]), 0.3
    ends = ends_of_steps(SPD(2), matrix, radius, 5000)
    ratios = [ellipse_radii(end, direction) for end in ends] / ellipse_radii(matrix, direction)
    factor = ellipse_factors(radius)
    assert np.max(ratios) == pytest.approx(factor, rel=0.01)
    assert np.min(ratios) == pytest.approx(1.0 / factor, rel=0.01)
