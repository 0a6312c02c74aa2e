"""What a release tells and spends when something goes wrong, and what goes to its holder alone."""

import json
import logging
import os
import re
import stat
import sys
import threading
import warnings
from pathlib import Path
from unittest.mock import Mock

import numpy as np
import pandas as pd
import pytest
from cohort import COLUMNS, FOLDER, NUMBER, changed, rewrite, spent, write_cohort

from geodp import DataError, Ledger
from geodp_release.ask import checking, planning
from geodp_release.ask import publish as publish_module
from geodp_release.ask.cli import main
from geodp_release.ask.settings import read_settings
from geodp_release.run.subjects import record_array
from geodp_release.show import folder as folder_module


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


@pytest.mark.parametrize("place", ["read_data", "release_records"])
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
        assert (f"{problem.__name__} in test_publish.py" in Path(seen).read_text()) != quotes
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


def test_a_check_of_data_that_change_while_they_are_read_is_not_noted(holder, run, monkeypatch):
    """The fingerprint would be of other bytes than were read."""

    def changing(settings):
        found = read(settings)
        rewrite(lambda lines: [*lines[:-1], lines[-1].replace("patient", "subject")])
        return found

    read = checking.read_data
    monkeypatch.setattr(checking, "read_data", changing)
    assert "Nothing was noted, since the data changed during the check" in run("check").out


def test_a_fault_of_a_check_is_told_its_holder(holder, run, monkeypatch):
    Path("mine.ledger").unlink()
    monkeypatch.setattr(checking, "inspect_inputs", noisy_fault(ValueError("x")))
    with pytest.warns(UserWarning, match="record"):
        shown = run("check", status=1).out
    assert "no: ValueError in test_publish.py, line " in shown
    assert "The ledger cannot note it: " in shown
    assert not Path("mine.ledger").exists()


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


@pytest.mark.parametrize("taken", ["mine.csv", "link", "nowhere/seen.txt"])
def test_the_holders_file_is_never_overwritten(holder, refused, taken):
    Path("link").symlink_to("elsewhere")
    before = Path("mine.csv").read_bytes()
    said = refused(None, "--for-holder", taken)
    assert f"the file for the holder {taken} cannot be made" in said
    assert (spent(), Path("elsewhere").exists()) == ("0", False)
    assert Path("mine.csv").read_bytes() == before


def test_the_holders_file_is_never_in_a_published_folder(few_points, released, refused):
    """Neither in that of the settings nor in that of the release, by whatever path."""
    Path("link").symlink_to("out/trial")
    before = sorted(Path("out").rglob("*"))
    second = {"budget": {"epsilon": "1"}, "allow_noise": True, "name": "second"}
    for settings, path in (
        ({"folder": "out/other"}, "link/../trial/seen.txt"),
        (second | {"folder": "out/second"}, os.path.abspath("out/second")),
    ):
        said = refused(changed(settings), "--for-holder", path)
        assert f"the file for the holder {path} is in " in said
        assert said.endswith("which is published: give a path elsewhere; nothing was spent")
    assert (sorted(Path("out").rglob("*")), spent()) == (before, "2")


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


def test_public_inputs_read_off_the_data_are_told_to_the_holder_alone(holder, run, few_designs):
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
        "covariate_range is the range, perhaps rounded outward, of the covariate of the data",
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


def test_misuse_that_no_setting_shows_is_told_to_the_holder_alone(holder, run, few_designs):
    table = pd.read_csv("mine.csv").assign(who=[f"p{index // 4}" for index in range(NUMBER)])
    table.to_csv("mine.csv", index=False)
    for name in ("first", "second"):
        ledger = Ledger.create(f"{name}.ledger", "3", "epsilon")
        ledger.reserve(name, "1", name, unit="epsilon")
    Ledger.create("unused.ledger", "3", "epsilon")
    shown = run("check", changed({"data.subject": "one record each"})).out
    assert "warning: column who has 100 labels in 400 rows, and data.subject says that" in shown
    assert "warning: releases were made from 2 other ledgers here (" in shown
    assert "first.ledger" in shown
    assert "unused.ledger" not in shown
    table.assign(c0="?").to_csv("mine.csv", index=False)
    shown = run("check", status=1).out
    assert "no record is valid" in shown
    assert "Without noise the release" not in shown


interrupt = Mock(side_effect=KeyboardInterrupt)
# What is said where a release was drawn and has no folder.
STAYS = r"2 epsilon of \S+mine.ledger stays spent"
KEPT = r", and (\S+mine\.ledger-1-\d+\.json) keeps the draw: the same settings again make .*"
INTERRUPTED = {
    "planned": ("nothing was spent", "0"),
    "read_data": (r"nothing of \S+mine.ledger was spent", "0"),
    "release_records": (STAYS, "2"),
    "check_data": (r"2 epsilon .* is spent, and the release is complete in \S+/out/trial", "2"),
}


@pytest.mark.parametrize("place", INTERRUPTED)
def test_ctrl_c_says_what_is_spent(holder, run, monkeypatch, place):
    words, amount = INTERRUPTED[place]
    monkeypatch.setattr(planning if place == "planned" else publish_module, place, interrupt)
    shown = run("release", None, "--for-holder", "seen.txt", status=130)
    assert re.fullmatch(f"geodp: interrupted: {words}\n", shown.err)
    assert (spent(), Path("out/trial/index.html").is_file()) == (amount, place == "check_data")


def test_a_picture_that_cannot_be_drawn_is_refused_before_anything_is_spent(
    holder, run, refused, monkeypatch
):
    def fails(release, *_):
        assert np.isfinite(release.band(release.usual[None])).all()
        raise ValueError("two names for one number")

    monkeypatch.setattr(folder_module, "picture", fails)
    for said in (refused(), run("plan", status=2).err):
        assert "(ValueError: two names for one number)" in said
    assert spent() == "0"


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
        patch.setattr(planning, "rehearse", lambda *_: None)
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
    assert "has paid for a draw: geodp release" in run("plan", changed(ledger="elsewhere/link")).out
    assert "The release is of the data as they were when it was drawn" in run("release").out
    found = json.loads(Path("out/trial/release.json").read_text())
    assert found | {"key": drawn["key"], "about": None} == drawn
    assert sorted(os.listdir("out/trial")) == FOLDER
    [entry] = Ledger.open("mine.ledger").entries()
    assert (entry.finished, entry.folder, spent()) == (True, Path("out/trial").absolute(), "2")
    assert not Path(kept).exists()
    assert os.listdir("elsewhere") == ["link"]


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


def test_the_same_data_by_another_path_are_not_paid_for_again(released, monkeypatch, run, refused):
    holder, _ = released
    Path("elsewhere").mkdir()
    Path("elsewhere/link.csv").symlink_to(holder / "mine.csv")
    ledger = {"ledger": str(holder / "mine.ledger")}
    monkeypatch.chdir("elsewhere")
    for path in (str(holder / "mine.csv"), "link.csv", "../mine.csv"):
        shown = run("release", changed(ledger | {"data.path": path})).out
        assert f"The folder out/trial is not made: the release is in {holder}/out/trial." in shown
    assert not Path("out").exists()
    assert str(Ledger.open(holder / "mine.ledger").spent) == "2"
    # The same settings here are of other data.
    write_cohort(Path(), "3")
    assert "from data at another path" in refused(changed(ledger))


@pytest.mark.parametrize("is_finished", [True, False])
def test_a_name_is_of_one_release(holder, run, refused, monkeypatch, is_finished):
    """Else other data would get the release of the first, or a changed key pay again unseen."""
    with monkeypatch.context() as patch:
        if not is_finished:
            patch.setattr(planning, "rehearse", lambda *_: None)
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
    assert "geodp release would refuse it: trial was" in run("plan").out
    said = run("check").out
    assert "trial was not released from " in said
    assert "mine.ledger as it is here, but from other data or settings." in said
