"""Ledgers of privacy budgets: exact sums, processes at once, crashes, and files refused."""

import hashlib
import multiprocessing
import os
import pickle
import random
import resource
import shutil
import signal
import sqlite3
import stat
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from datetime import UTC, datetime, timedelta
from decimal import ROUND_UP, Decimal, localcontext
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from geodp.errors import DataError
from geodp_release import ledger as module
from geodp_release.ledger import Entry, Ledger

# A fork would carry the threads and locks of the tests along.
PROCESSES = multiprocessing.get_context("spawn")
WAIT = 60


@pytest.fixture
def path(tmp_path):
    return tmp_path / "ledger"


@pytest.fixture
def ledger(path):
    return Ledger.create(path, "1", "epsilon")


def reserve(ledger, key="key", amount="0.1", description="mean shape", unit="epsilon"):
    return ledger.reserve(key, amount, description, unit=unit)


def execute(path, *statements):
    """Change a file without the ledger's knowledge."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            connection.execute(statement)
        connection.commit()


@contextmanager
def refused(pattern):
    """Expect a `DataError` of one sentence, with no other error shown."""
    with pytest.raises(DataError, match=pattern) as caught:
        yield caught
    message = str(caught.value)
    assert "\n" not in message
    assert not message.endswith(".")
    assert ": " in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# The life of a release


def test_new_ledger(path):
    ledger = Ledger.create(str(path), "1.50", "rho")
    assert isinstance(ledger, Ledger)
    for each in (ledger, Ledger.open(str(path))):
        assert (each.unit, each.entries()) == ("rho", ())
        assert [str(value) for value in (each.allowed, each.spent, each.left)] == [
            *("1.50", "0", "1.50")
        ]
    assert [file.name for file in path.parent.iterdir()] == ["ledger"]


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_only_the_owner_has_access(path, umask):
    before = os.umask(umask)
    try:
        reserve(Ledger.create(path, "1", "epsilon"))
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600


def test_release_is_reserved_and_finished(ledger, path, tmp_path):
    before = datetime.now(UTC) - timedelta(seconds=1)
    entry = reserve(ledger, "first", "0.30", "mean of S²")
    assert entry == Entry(1, entry.when, "started", Decimal("0.30"), "first", "mean of S²")
    assert not entry.finished
    assert before <= datetime.fromisoformat(entry.when) <= datetime.now(UTC)
    assert entry.when.endswith("+00:00")
    assert Ledger.open(path).entries() == (entry,)
    assert (str(ledger.spent), str(ledger.left)) == ("0.30", "0.70")
    found = ledger.finish(entry, tmp_path / "out")
    assert found == Entry(
        1, entry.when, "finished", Decimal("0.30"), "first", "mean of S²", tmp_path / "out"
    )
    assert found.finished
    assert Ledger.open(path).entries() == (found,)
    assert (str(ledger.spent), str(ledger.left)) == ("0.30", "0.70")


def test_finished_release_is_returned_and_spends_nothing(ledger, path, tmp_path):
    done = ledger.finish(reserve(ledger, amount="1"), tmp_path / "out")
    before = path.read_bytes()
    for each in (ledger, Ledger.open(path)):
        # Nothing is left, and nothing is needed.
        assert reserve(each, amount="1") == done
    assert path.read_bytes() == before
    with refused("while 0 is left"):
        reserve(ledger, key="other")


def test_release_that_did_not_finish_spends_again(ledger, tmp_path):
    first = reserve(ledger, amount="0.4")
    second = reserve(ledger, amount="0.4")
    assert (first.number, second.number) == (1, 2)
    assert ledger.spent == Decimal("0.8")
    with refused("while 0.2 is left"):
        reserve(ledger, amount="0.4")
    done = ledger.finish(second, tmp_path)
    assert reserve(ledger, amount="0.4") == done
    assert [entry.status for entry in ledger.entries()] == ["started", "finished"]
    assert ledger.spent == Decimal("0.8")


def test_ended_release_stays_as_it_ended(ledger, tmp_path):
    done = reserve(ledger, "done")
    finished = ledger.finish(done, tmp_path)
    before = ledger.entries()
    for entry in (done, finished):
        with refused("is not a started one of this ledger"):
            ledger.finish(entry, tmp_path / "elsewhere")
    assert ledger.entries() == before


def test_entry_of_another_ledger_is_refused(ledger, tmp_path):
    other = Ledger.create(tmp_path / "other", "1", "epsilon")
    entry = reserve(other, "other")
    reserve(ledger)
    with refused("is not a started one of this ledger"):
        ledger.finish(entry, tmp_path)


def test_another_process_may_finish(ledger, path, tmp_path):
    assert Ledger.open(path).finish(reserve(ledger), tmp_path).finished


@pytest.mark.parametrize("linked", ["file", "folder"])
def test_ledger_has_one_path(ledger, path, tmp_path, linked):
    """What is kept beside it is found by whatever name it is opened."""
    other = tmp_path / "elsewhere"
    if linked == "file":
        other.mkdir()
        (other / "link").symlink_to(path)
        name = other / "link"
    else:
        other.symlink_to(path.parent)
        name = other / path.name
    assert Ledger.open(name).path == path
    assert reserve(Ledger.open(name)).number == 1
    assert len(ledger.entries()) == 1


# Fingerprints and checks


def test_fingerprints_tell_files_apart_and_ledgers_too(ledger, path, tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"records" * 300_000)
    first = ledger.fingerprint(data)
    assert first == Ledger.open(path).fingerprint(data)
    # Whoever has the data and not the ledger cannot make it.
    assert Ledger.create(tmp_path / "other", "1", "epsilon").fingerprint(data) != first
    entry = ledger.reserve("key", "0.1", "mean shape", unit="epsilon", fingerprint=first)
    done = ledger.finish(entry, tmp_path)
    assert (done.fingerprint, Ledger.open(path).entries()) == (first, (done,))
    assert first not in repr(done) + ledger.words()
    data.write_bytes(b"records" * 300_000 + b"!")
    assert ledger.fingerprint(data) != first


def test_the_last_check_of_a_file_counts(ledger, path):
    assert ledger.last_check("columns", "file") is None
    for passed in (False, True, False):
        ledger.note_check("columns", "file", passed)
        ledger.note_check("other columns", "file", not passed)
        assert Ledger.open(path).last_check("columns", "file") is passed
        assert ledger.last_check("other columns", "file") is not passed
        assert ledger.last_check("columns", "other file") is None
    with closing(sqlite3.connect(path)) as connection:
        assert connection.execute("SELECT count(*) FROM checks").fetchone() == (2,)


# Ledgers of version 1


@pytest.fixture
def old(path):
    """A ledger as version 1 made them: one release of each status."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in module.TABLES:
            connection.execute(statement)
        connection.execute(f"PRAGMA application_id = {module.APPLICATION}")
        connection.execute("PRAGMA user_version = 1")
        rows = [
            (1, "2025-01-01T00:00:00+00:00", "finished", "0.25", "a", "mean shape", b"/out"),
            (2, "2025-01-02T00:00:00+00:00", "started", "0.5", "b", "mean shape", None),
            (3, "2025-01-03T00:00:00+00:00", "cancelled", "0.9", "c", "mean shape", None),
        ]
        connection.executemany("INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        checksum = hashlib.sha256(ascii(([("epsilon", "1")], rows)).encode()).hexdigest()
        connection.execute("INSERT INTO budget VALUES ('epsilon', '1', ?)", (checksum,))
        connection.commit()
    return path


def version(path):
    with closing(sqlite3.connect(path)) as connection:
        return connection.execute("PRAGMA user_version").fetchone()[0]


def test_old_ledger_is_read_as_it_is(old):
    before = old.read_bytes()
    ledger = Ledger.open(old)
    assert [entry.status for entry in ledger.entries()] == ["finished", "started", "cancelled"]
    assert (str(ledger.spent), str(ledger.left)) == ("0.75", "0.25")
    assert "cancelled" in ledger.words()
    assert ledger.last_check("columns", "file") is None
    assert reserve(Ledger.open(old), "a").folder == Path("/out")
    assert ledger.finish(ledger.entries()[1], "/out").number == 2
    assert before != old.read_bytes()


WRITES = {
    "reserve": lambda ledger: reserve(ledger, "new"),
    "finish": lambda ledger: ledger.finish(ledger.entries()[1], "/out"),
    "note_check": lambda ledger: ledger.note_check("columns", "file", False),
    "fingerprint": lambda ledger: ledger.fingerprint(__file__),
}


@pytest.mark.parametrize("write", WRITES)
def test_first_write_upgrades_an_old_ledger(old, write):
    ledger = Ledger.open(old)
    before = ledger.entries()
    assert version(old) == 1
    WRITES[write](ledger)
    assert version(old) == 2
    assert ledger.entries()[0] == before[0]
    assert ledger.entries()[2] == before[2]
    found = ledger.fingerprint(__file__)
    ledger.note_check("columns", found, True)
    # The secret stays.
    assert Ledger.open(old).last_check("columns", ledger.fingerprint(__file__)) is True


def upgrade_and_crash(path):
    module._seal = kill
    reserve(Ledger.open(path), "lost")


def test_upgrade_is_whole_or_not_at_all(old):
    before = Ledger.open(old).entries()
    assert ended(upgrade_and_crash, old) == -signal.SIGKILL
    assert Ledger.open(old).entries() == before
    assert version(old) == 1


# Contexts


def test_context_finishes_once(ledger, tmp_path):
    for repetition in range(2):
        with ledger.spending("key", "0.5", "mean shape", unit="epsilon") as entry:
            assert entry.finished == (repetition == 1)
            if not entry.finished:
                assert ledger.spent == Decimal("0.5")
                entry = ledger.finish(entry, tmp_path / "out")
        assert entry.folder == tmp_path / "out"
    assert (len(ledger.entries()), ledger.spent) == (1, Decimal("0.5"))


@pytest.mark.parametrize("problem", [OSError, KeyboardInterrupt, DataError])
def test_exception_leaves_the_amount_spent(ledger, problem):
    mistake = problem("the body")
    with (
        pytest.raises(problem, match="the body") as caught,
        ledger.spending("key", "0.5", "mean shape", unit="epsilon"),
    ):
        raise mistake
    assert caught.value is mistake
    assert [entry.status for entry in ledger.entries()] == ["started"]
    assert ledger.spent == Decimal("0.5")


def test_context_without_a_folder_is_a_mistake(ledger):
    with (
        refused(r"release 1 ended without a folder and stays spent: call finish\("),
        ledger.spending("key", "0.5", "mean shape", unit="epsilon"),
    ):
        pass
    assert ledger.spent == Decimal("0.5")


def test_context_refuses_before_the_body(ledger):
    with (
        refused("the release asks for 1.1 while 1 is left"),
        ledger.spending("key", "1.1", "mean shape", unit="epsilon"),
    ):
        pytest.fail("the body ran")
    assert ledger.entries() == ()


# Amounts


def test_more_than_is_left_is_refused(ledger, path):
    reserve(ledger, "first", "0.70")
    with refused("^") as caught:
        reserve(ledger, "second", "0.300000000000000000000000000000001")
    assert str(caught.value) == (
        f"{path} allows 1 epsilon, of which 0.70 is spent, and the release asks for "
        "0.300000000000000000000000000000001 while 0.30 is left: ask for no more than that; "
        "nothing was spent"
    )
    assert caught.value.argument == "amount"
    assert len(ledger.entries()) == 1
    reserve(ledger, "second", "0.3")
    assert (ledger.spent, ledger.left) == (1, 0)
    with refused("while 0.00 is left"):
        reserve(ledger, "third", "1e-9")


def test_sums_are_exact(path):
    """Floats, and decimals of the usual 28 digits, would let one of these pass or fail."""
    ledger = Ledger.create(path, "0.3", "epsilon")
    for number in range(3):
        reserve(ledger, f"tenth {number}", "0.1")
    assert ledger.left == 0
    fine = "0.1" + "0" * 60 + "1"
    ledger = Ledger.create(path.with_name("fine"), "999999.2" + "0" * 60 + "1", "epsilon")
    reserve(ledger, "large", "999999")
    with refused("while 0.20*1 is left"):
        reserve(ledger, "more", "0.2" + "0" * 60 + "2")
    reserve(ledger, "fine", fine)
    assert str(ledger.spent) == "999999.1" + "0" * 60 + "1"
    assert str(ledger.left) == "0.1" + "0" * 61
    assert ledger.words().splitlines()[-1] == (
        f"allowed 999999.2{'0' * 60}1, spent 999999.1{'0' * 60}1, left 0.1{'0' * 61} (epsilon)"
    )
    # Also where the caller computes with few digits.
    with localcontext(prec=3, rounding=ROUND_UP):
        assert str(ledger.left) == "0.1" + "0" * 61
        reserve(ledger, "rest", "0.1")
    assert ledger.left == 0


@given(
    st.lists(st.decimals("1e-9", "1000", places=30), max_size=8),
    st.decimals("1", "2000", places=9),
)
def test_ledger_agrees_with_fractions(amounts, allowed):
    with tempfile.TemporaryDirectory() as folder:
        ledger = Ledger.create(Path(folder, "ledger"), str(allowed), "rho")
        spent = Fraction(0)
        for number, amount in enumerate(amounts):
            if spent + Fraction(amount) <= Fraction(allowed):
                reserve(ledger, f"key {number}", amount, unit="rho")
                spent += Fraction(amount)
            else:
                with refused(" is left"):
                    reserve(ledger, f"key {number}", amount, unit="rho")
        assert Fraction(ledger.spent) == spent
        assert Fraction(ledger.left) == Fraction(allowed) - spent


def test_budgets_are_kept_as_text(ledger, path):
    reserve(ledger, amount="0.10")
    with closing(sqlite3.connect(path)) as connection:
        found = connection.execute(
            "SELECT allowed, typeof(allowed), amount, typeof(amount) FROM budget, releases"
        ).fetchall()
    assert found == [("1", "text", "0.10", "text")]


@pytest.mark.parametrize(
    "amount",
    ["0", "-0.1", "nan", "inf", "much", "", "1e7", "1e-10", "1e-999999999", f"0.1{'0' * 98}"],
)
def test_amount_that_is_no_budget(ledger, path, amount):
    with refused("^amount: "):
        reserve(ledger, amount=amount)
    assert ledger.entries() == ()
    with refused("^allowed: "):
        Ledger.create(path.with_name("other"), amount, "epsilon")
    assert [file.name for file in path.parent.iterdir()] == ["ledger"]


@pytest.mark.parametrize("amount", [0.1, 1, True, None, Fraction(1, 10)])
def test_amount_that_is_no_text(ledger, path, amount):
    with refused("^amount: .* is not decimal text"):
        reserve(ledger, amount=amount)
    with refused("^allowed: .* is not decimal text"):
        Ledger.create(path.with_name("other"), amount, "epsilon")


@pytest.mark.parametrize(("own", "other"), [("epsilon", "rho"), ("rho", "epsilon")])
def test_units_do_not_mix(path, own, other):
    ledger = Ledger.create(path, "1", own)
    with refused(f"accounts in {own} and the release in {other}") as caught:
        reserve(ledger, unit=other)
    assert caught.value.argument == "unit"
    assert ledger.entries() == ()
    ledger.finish(reserve(ledger, unit=own), path.parent)
    # Nor is a finished release of that key taken for one of the other unit.
    with refused(f"accounts in {own} and the release in {other}"):
        reserve(ledger, unit=other)


@pytest.mark.parametrize("unit", ["delta", "Epsilon", "", None])
def test_unknown_unit(ledger, path, unit):
    with refused("^unit: .* is no unit of a budget") as caught:
        Ledger.create(path.with_name("other"), "1", unit)
    assert caught.value.argument == "unit"
    assert not path.with_name("other").exists()
    with refused("accounts in epsilon"):
        reserve(ledger, unit=unit)


# Words

ODD = ["", "  ", "two\nlines", "\x1b[2J", "tab\t", "\0", "\ud800", None, b"bytes"]


@pytest.mark.parametrize("text", ODD)
@pytest.mark.parametrize("name", ["key", "description"])
def test_text_is_one_line(ledger, name, text):
    with refused(f"^{name}: .* is not one line of printable text"):
        reserve(ledger, **{name: text})
    assert ledger.entries() == ()


def test_table(ledger, tmp_path):
    assert ledger.words() == (
        "when  status  epsilon  description  folder\nallowed 1, spent 0, left 1 (epsilon)"
    )
    ledger.finish(reserve(ledger, "a", "0.25", "mean shape"), "out")
    reserve(ledger, "b", "1e-7", "ångström")
    times = [entry.when for entry in ledger.entries()]
    assert ledger.words() == (
        f"when                       status    epsilon    description  folder\n"
        f"{times[0]}  finished  0.25       mean shape   {Path('out').absolute()}\n"
        f"{times[1]}  started   0.0000001  ångström\n"
        "allowed 1, spent 0.2500001, left 0.7499999 (epsilon)"
    )


@pytest.mark.parametrize(
    "name", ["out", "two\nlines", "\x1b[2J", "\u3000", os.fsdecode(b"\xff"), "a'b?c#d%20"]
)
def test_any_path_will_do(name, tmp_path):
    """A draw must not be lost since the name of its folder is odd."""
    (tmp_path / name).mkdir()
    ledger = Ledger.create(tmp_path / name / name, "1", "epsilon")
    done = ledger.finish(reserve(ledger), tmp_path / name)
    assert reserve(Ledger.open(ledger.path)) == done
    assert done.folder == tmp_path / name
    assert ledger.words().isascii()
    assert len(ledger.words().splitlines()) == 3
    assert os.listdir(tmp_path / name) == [name]


def test_folder_is_kept_as_an_absolute_path(ledger, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    relative = Ledger.open("ledger")
    done = ledger.finish(reserve(ledger), "out")
    monkeypatch.chdir("/")
    assert done.folder == tmp_path / "out"
    assert relative.entries() == (done,)


# Files that are refused


@pytest.mark.parametrize("taken", ["ledger", "ledger-journal"])
@pytest.mark.parametrize("kind", ["file", "folder", "link"])
def test_nothing_is_overwritten(path, taken, kind):
    place = path.with_name(taken)
    if kind == "file":
        place.write_text("data")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    with refused(f"^{place} is there already"):
        Ledger.create(path, "1", "epsilon")
    assert os.listdir(path.parent) == [taken]
    assert kind != "file" or place.read_text() == "data"


def test_ledger_is_never_reset(ledger, path):
    reserve(ledger)
    with refused("is there already and a ledger is never overwritten"):
        Ledger.create(path, "100", "epsilon")
    assert (ledger.allowed, ledger.spent) == (1, Decimal("0.1"))


def test_ledger_that_appears_meanwhile_is_not_overwritten(path, monkeypatch):
    """Another process finished to create it after this one looked."""
    move = module._move_to_new

    def late(partial, target):
        monkeypatch.setattr(module, "_move_to_new", move)
        reserve(Ledger.create(path, "1", "epsilon"))
        move(partial, target)

    monkeypatch.setattr(module, "_move_to_new", late)
    with refused("is there already"):
        Ledger.create(path, "100", "epsilon")
    assert Ledger.open(path).spent == Decimal("0.1")
    assert os.listdir(path.parent) == ["ledger"]


@pytest.mark.parametrize("step", ["_seal", "_claim", "_move_to_new", "os.replace"])
@pytest.mark.parametrize("problem", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_failed_creation_leaves_nothing(path, monkeypatch, step, problem):
    def fail(*_):
        raise problem

    monkeypatch.setattr(f"{module.__name__}.{step}", fail)
    expected = DataError if isinstance(problem, OSError) else KeyboardInterrupt
    with pytest.raises(expected):
        Ledger.create(path, "1", "epsilon")
    monkeypatch.undo()
    assert os.listdir(path.parent) == []
    assert Ledger.create(path, "1", "epsilon").left == 1


def uses(path):
    """Every use of a ledger that is there."""
    ledger = Ledger(path)
    entry = Entry(1, "", "started", Decimal(1), "key", "mean shape")
    return {
        "open": lambda: Ledger.open(path),
        "entries": ledger.entries,
        "spent": lambda: ledger.spent,
        "words": ledger.words,
        "reserve": lambda: reserve(ledger),
        "finish": lambda: ledger.finish(entry, "out"),
        "fingerprint": lambda: ledger.fingerprint(__file__),
        "note_check": lambda: ledger.note_check("columns", "file", True),
        "spending": lambda: ledger.spending("a", "1", "b", unit="epsilon").__enter__(),
    }


USES = tuple(uses("nowhere"))


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("kind", ["missing", "folder", "link", "no folder"])
def test_missing_file_is_not_made(path, use, kind):
    place = named = path / "ledger" if kind == "no folder" else path
    if kind == "folder":
        path.mkdir()
    elif kind == "link":
        path.symlink_to("nowhere")
        named = path.with_name("nowhere")
    before = os.listdir(path.parent)
    with refused(f"^{named} is not there or no file"):
        uses(place)[use]()
    assert os.listdir(path.parent) == before


def test_file_that_vanishes_meanwhile_is_not_made(path, monkeypatch):
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    with refused(f"^{path} cannot be used"):
        reserve(Ledger(path))
    assert os.listdir(path.parent) == []


FOREIGN = {
    "empty": b"",
    "text": b"epsilon 1\n" * 500,
    "zeros": bytes(8192),
    "header alone": b"SQLite format 3\0",
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("content", FOREIGN)
def test_file_that_is_no_database(path, use, content):
    path.write_bytes(FOREIGN[content])
    with refused("is not a ledger or is damaged"):
        uses(path)[use]()
    assert path.read_bytes() == FOREIGN[content]
    assert os.listdir(path.parent) == ["ledger"]


def test_foreign_database(path):
    execute(path, *module.TABLES)
    before = path.read_bytes()
    for use in uses(path).values():
        with refused("is not a ledger or is damaged"):
            use()
    execute(path, f"PRAGMA application_id = {module.APPLICATION}")
    with refused("is a ledger of version 0, and this geodp reads versions 1 to 2"):
        Ledger.open(path)
    for version in (2, 1):
        execute(path, f"PRAGMA user_version = {version}")
        with refused("is not a ledger or is damaged"):
            Ledger.open(path)
    execute(path, "DROP TABLE budget")
    with refused("is not a ledger or is damaged"):
        Ledger.open(path)
    assert before != path.read_bytes()


@pytest.mark.parametrize("version", [0, 3, -1])
def test_other_version(ledger, path, version):
    execute(path, f"PRAGMA user_version = {version}")
    for use in uses(path).values():
        with refused(f"is a ledger of version {version}, and this geodp reads versions 1 to 2"):
            use()


CHANGES = {
    "larger total": "UPDATE budget SET allowed = '9'",
    "other unit": "UPDATE budget SET unit = 'rho'",
    "no total": "DELETE FROM budget",
    "two totals": "INSERT INTO budget SELECT * FROM budget",
    "checksum": "UPDATE budget SET checksum = NULL",
    "smaller amount": "UPDATE releases SET amount = '0.01' WHERE number = 1",
    "same amount, other text": "UPDATE releases SET amount = '0.10' WHERE number = 1",
    "no text": "UPDATE releases SET amount = x'ff' WHERE number = 1",
    "no UTF-8": "UPDATE releases SET amount = CAST(x'ff' AS TEXT) WHERE number = 1",
    "status": "UPDATE releases SET status = 'cancelled' WHERE number = 1",
    "key": "UPDATE releases SET key = 'second' WHERE number = 1",
    "folder": "UPDATE releases SET folder = 'elsewhere' WHERE number = 1",
    "description": "UPDATE releases SET description = 'other' WHERE number = 1",
    "fingerprint": "UPDATE releases SET fingerprint = 'other' WHERE number = 1",
    "secret": "UPDATE secret SET value = x'ff'",
    "no secret": "DELETE FROM secret",
    "check": "UPDATE checks SET passed = 1",
    "version": "PRAGMA user_version = 1",
    "one row less": "DELETE FROM releases WHERE number = 1",
    "no rows": "DELETE FROM releases",
    "no table": "DROP TABLE releases",
    "another column": "ALTER TABLE releases ADD COLUMN note TEXT",
}


@pytest.mark.parametrize("change", CHANGES)
def test_changed_rows_are_refused(ledger, path, change):
    reserve(ledger, "first")
    reserve(ledger, "second")
    ledger.note_check("columns", "file", False)
    execute(path, CHANGES[change])
    before = path.read_bytes()
    for use in uses(path).values():
        with refused("is not a ledger or is damaged"):
            use()
    assert path.read_bytes() == before


def test_more_spent_than_allowed_is_refused(ledger, path):
    """Even where the checksum is right."""
    reserve(ledger, amount="0.5")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE budget SET allowed = '0.49'")
        module._seal(connection)
        connection.commit()
    for use in uses(path).values():
        with refused("more is spent than allowed"):
            use()


def test_truncated_file_is_refused(ledger, path):
    for number in range(5):
        reserve(ledger, f"key {number}", description="mean shape " * 200)
    whole = path.read_bytes()
    assert len(whole) > 5 * 4096
    short = path.with_name("short")
    for length in (*range(0, len(whole), 512), len(whole) - 1):
        short.write_bytes(whole[:length])
        with refused("is not a ledger or is damaged"):
            Ledger.open(short)
        assert short.read_bytes() == whole[:length]


def test_damaged_structure_is_refused(ledger, path):
    """Even where all rows can be read: further writing could harm them."""
    content = bytearray(path.read_bytes())
    # The number of free pages, in the header.
    content[36:40] = (1).to_bytes(4, "big")
    path.write_bytes(content)
    with refused("its pages do not fit together"):
        Ledger.open(path)


def test_damaged_file_is_refused_or_unchanged(ledger, path):
    """A wrong byte may fall where nothing is, but never changes what a ledger says."""
    for number in range(3):
        reserve(ledger, f"key {number}")
    whole, expected = path.read_bytes(), ledger.entries()
    used = [place for place, byte in enumerate(whole) if byte]
    rng = random.Random(1)
    damaged = path.with_name("damaged")
    refusals = 0
    for place in rng.sample(used, 300):
        content = bytearray(whole)
        content[place] ^= 1 << rng.randrange(8)
        damaged.write_bytes(content)
        try:
            found = Ledger.open(damaged)
            assert (found.entries(), found.allowed, found.unit) == (expected, 1, "epsilon")
        except DataError:
            refusals += 1
        for left in path.parent.glob("damaged-*"):
            left.unlink()
    assert refusals > 200


# Files that cannot be used now


@contextmanager
def unprivileged(*paths):
    """A user that owns the paths; file permissions do not bind root."""
    if os.geteuid() != 0:
        yield
        return
    nobody = 65534
    for each in paths:
        os.chown(each, nobody, nobody)
    try:
        os.seteuid(nobody)
    except PermissionError:
        pytest.skip("root that cannot be another user")
    try:
        yield
    finally:
        os.seteuid(0)


@pytest.fixture
def open_folder():
    """A folder that any user can reach, which those of pytest are not."""
    folder = Path(tempfile.mkdtemp())
    folder.chmod(0o755)
    yield folder
    folder.chmod(0o755)
    shutil.rmtree(folder)


def test_folder_that_cannot_be_written(open_folder):
    path = open_folder / "ledger"
    ledger = Ledger.create(path, "1", "epsilon")
    entry = reserve(ledger)
    with unprivileged(path, open_folder):
        open_folder.chmod(0o555)
        with refused(r"other cannot be used \(Permission denied\): give a ledger in a folder"):
            Ledger.create(open_folder / "other", "1", "epsilon")
        for use in (
            lambda: reserve(ledger, "other"),
            lambda: ledger.finish(entry, "out"),
        ):
            with refused(f"^{path} cannot be used .*: give a ledger in a folder"):
                use()
        # It can be read.
        assert Ledger.open(path).entries() == (entry,)
        open_folder.chmod(0o000)
        with refused("cannot be used|is not there"):
            Ledger.open(path)
    open_folder.chmod(0o755)
    assert os.listdir(open_folder) == ["ledger"]


def test_file_that_cannot_be_written_or_read(open_folder):
    path = open_folder / "ledger"
    ledger = Ledger.create(path, "1", "epsilon")
    with unprivileged(path, open_folder):
        path.chmod(0o400)
        with refused(f"^{path} cannot be used"):
            reserve(ledger)
        assert ledger.entries() == ()
        path.chmod(0o000)
        with refused(f"^{path} cannot be used"):
            Ledger.open(path)


def test_ledger_in_no_folder(tmp_path):
    for place in (tmp_path / "none" / "ledger", Path("/proc/ledger")):
        with refused(f"^{place} cannot be used"):
            Ledger.create(place, "1", "epsilon")
    assert os.listdir(tmp_path) == []


@contextmanager
def space(size):
    """No file can grow beyond a size."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


@pytest.mark.parametrize("size", [0, 1000, 5000])
def test_no_space_for_a_new_ledger(path, size):
    with space(size), refused(f"^{path} cannot be used"):
        Ledger.create(path, "1", "epsilon")
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("size", [0, 1000, 20_000])
def test_no_space_for_a_release(ledger, path, size):
    first = reserve(ledger, "first")
    with space(size), refused(f"^{path} cannot be used"):
        reserve(ledger, "second", description="mean shape " * 5000)
    assert Ledger.open(path).entries() == (first,)
    reserve(ledger, "second", description="mean shape " * 5000)


def test_full_disk(ledger, path, monkeypatch):
    pages = path.stat().st_size // 4096
    monkeypatch.setattr(module, "SETTINGS", (*module.SETTINGS, f"PRAGMA max_page_count = {pages}"))
    with refused(r"cannot be used \(database or disk is full\): give .* has space"):
        reserve(ledger, description="mean shape " * 5000)
    assert ledger.entries() == ()


@pytest.mark.parametrize("lock", ["IMMEDIATE", "EXCLUSIVE"])
def test_busy_file(ledger, path, monkeypatch, lock):
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute(f"BEGIN {lock}")
        start = time.monotonic()
        with refused(f"^{path} has been in use by another process for 0.2 s: try again later"):
            reserve(ledger)
        assert 0.2 <= time.monotonic() - start < module.BUSY_SECONDS + WAIT
    # The other's transaction ended.
    assert reserve(ledger).number == 1


def test_busy_file_is_waited_for(ledger, path):
    assert module.BUSY_SECONDS >= 5
    with (
        ThreadPoolExecutor(1) as pool,
        closing(sqlite3.connect(path, isolation_level=None, check_same_thread=False)) as other,
    ):
        other.execute("BEGIN EXCLUSIVE")
        found = pool.submit(reserve, ledger)
        time.sleep(0.5)
        assert not found.done()
        other.execute("COMMIT")
        assert found.result(WAIT).number == 1


def test_reader_that_stays_stops_the_commit(ledger, path, monkeypatch):
    """What was refused is not spent."""
    monkeypatch.setattr(module, "BUSY_SECONDS", 0.2)
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN")
        other.execute("SELECT * FROM releases").fetchall()
        with refused("in use by another process"):
            reserve(ledger)
    assert ledger.entries() == ()


# Processes


def in_process(function, *arguments):
    """Call a function of this module in another process; the result, or an error's message."""
    queue = PROCESSES.Queue()
    process = PROCESSES.Process(target=report, args=(queue, function, *arguments))
    process.start()
    found = queue.get(timeout=WAIT)
    process.join(WAIT)
    assert process.exitcode == 0
    return found


def report(queue, function, *arguments):
    try:
        queue.put(function(*arguments))
    except DataError as problem:
        queue.put(str(problem))


def reserve_at_once(barrier, queue, path, numbers, same_key):
    """Reserve several parts, at the same moment as other processes."""
    ledger = Ledger.open(path)
    barrier.wait(WAIT)
    for number in numbers:
        try:
            queue.put(reserve(ledger, "key" if same_key else f"key {number}", "0.1").number)
        except DataError as problem:
            queue.put(str(problem))


@pytest.mark.parametrize(
    ("processes", "each", "room", "same_key"),
    [(2, 1, 1, False), (2, 1, 1, True), (2, 1, 2, True), (5, 4, 9, False)],
)
def test_processes_at_once(path, processes, each, room, same_key):
    Ledger.create(path, str(Decimal(room) / 10), "epsilon")
    barrier, queue = PROCESSES.Barrier(processes), PROCESSES.Queue()
    started = [
        PROCESSES.Process(
            target=reserve_at_once,
            args=(barrier, queue, path, range(each * index, each * (index + 1)), same_key),
        )
        for index in range(processes)
    ]
    for process in started:
        process.start()
    found = [queue.get(timeout=WAIT) for _ in range(processes * each)]
    for process in started:
        process.join(WAIT)
        assert process.exitcode == 0
    numbers = [value for value in found if isinstance(value, int)]
    messages = [value for value in found if isinstance(value, str)]
    assert sorted(numbers) == list(range(1, room + 1))
    assert len(messages) == processes * each - room
    assert all("while 0.0 is left" in message for message in messages)
    ledger = Ledger.open(path)
    assert (len(ledger.entries()), ledger.left) == (room, 0)


def create_at_once(barrier, queue, path, allowed):
    barrier.wait(WAIT)
    report(queue, create, path, allowed)


def create(path, allowed):
    return str(Ledger.create(path, allowed, "epsilon").allowed)


def test_one_of_many_processes_creates(path):
    barrier, queue = PROCESSES.Barrier(4), PROCESSES.Queue()
    started = [
        PROCESSES.Process(target=create_at_once, args=(barrier, queue, path, str(index + 1)))
        for index in range(4)
    ]
    for process in started:
        process.start()
    found = [queue.get(timeout=WAIT) for _ in started]
    for process in started:
        process.join(WAIT)
    [allowed] = [value for value in found if value.isdigit()]
    assert sum("is there already" in value for value in found) == 3
    assert str(Ledger.open(path).allowed) == allowed
    assert os.listdir(path.parent) == ["ledger"]


def test_threads_at_once(ledger):
    def attempt(number):
        try:
            return reserve(ledger, f"key {number}", "0.2").number
        except DataError:
            return None

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(attempt, range(16)))
    assert sorted(number for number in found if number) == [1, 2, 3, 4, 5]
    assert ledger.left == 0


def test_ledger_can_be_sent_to_another_process(ledger):
    reserve(ledger)
    assert pickle.loads(pickle.dumps(ledger)).entries() == ledger.entries()


# Crashes


def ended(function, *arguments):
    """Exit code of a process that calls a function of this module."""
    process = PROCESSES.Process(target=function, args=arguments)
    process.start()
    process.join(WAIT)
    return process.exitcode


def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def leave(*_):
    os._exit(7)


CRASHES = {kill: -signal.SIGKILL, leave: 7}


def crash_after_reserving(path, crash):
    reserve(Ledger.open(path), amount="0.4")
    crash()


def crash_while_spending(path, crash):
    with Ledger.open(path).spending("key", "0.4", "mean shape", unit="epsilon"):
        crash()


@pytest.mark.parametrize("crash", CRASHES)
@pytest.mark.parametrize("function", [crash_after_reserving, crash_while_spending])
def test_crash_after_the_reservation_leaves_it_spent(ledger, path, function, crash):
    assert ended(function, path, crash) == CRASHES[crash]
    [entry] = Ledger.open(path).entries()
    assert (entry.status, ledger.left) == ("started", Decimal("0.6"))
    # The next attempt spends again.
    assert reserve(ledger, amount="0.4").number == 2
    assert ledger.left == Decimal("0.2")


def crash_before_the_commit(path, crash):
    module._seal = crash
    reserve(Ledger.open(path), "lost")


@pytest.mark.parametrize("crash", CRASHES)
def test_crash_before_the_commit_leaves_no_reservation(ledger, path, crash):
    entry = reserve(ledger)
    assert ended(crash_before_the_commit, path, crash) == CRASHES[crash]
    assert Ledger.open(path).entries() == (entry,)
    assert reserve(ledger, "next").number == 2


def crash_while_writing(path):
    """Pages reach the file before the commit, since few are kept in memory."""
    module.SETTINGS = (*module.SETTINGS, "PRAGMA cache_size = 1", "PRAGMA cache_spill = 1")
    module._seal = kill
    reserve(Ledger.open(path), "lost", description="mean shape " * 50_000)


def test_crash_while_writing_leaves_no_reservation(ledger, path):
    entry = reserve(ledger)
    before = path.read_bytes()
    assert ended(crash_while_writing, path) == -signal.SIGKILL
    # Part of the transaction is in the file, and the journal that undoes it beside it.
    assert path.read_bytes() != before
    journal = path.with_name("ledger-journal")
    assert journal.stat().st_size > 0
    assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert Ledger.open(path).entries() == (entry,)
    assert path.read_bytes() == before
    assert os.listdir(path.parent) == ["ledger"]
    assert reserve(ledger, "next").number == 2


def test_journal_of_a_lost_ledger_stops_a_new_one(ledger, path):
    """It would undo what the new one holds."""
    assert ended(crash_while_writing, path) == -signal.SIGKILL
    path.unlink()
    with refused(f"^{path}-journal is there already"):
        Ledger.create(path, "1", "epsilon")


def reserve_for_ever(path, connection):
    ledger = Ledger.open(path)
    while True:
        connection.send(reserve(ledger, amount="0.001").number)


def test_kill_at_any_time_forgets_nothing(path):
    """At most one reservation more than was reported, and each is spent in full."""
    ledger = Ledger.create(path, "1000", "epsilon")
    rng = random.Random(1)
    for _ in range(4):
        receiver, sender = PROCESSES.Pipe(duplex=False)
        process = PROCESSES.Process(target=reserve_for_ever, args=(path, sender))
        process.start()
        sender.close()
        last = receiver.recv()
        time.sleep(rng.uniform(0.0, 0.1))
        process.kill()
        process.join(WAIT)
        assert process.exitcode == -signal.SIGKILL
        try:
            while True:
                last = receiver.recv()
        except EOFError:
            pass
        count = len(Ledger.open(path).entries())
        assert count in (last, last + 1)
        assert ledger.spent == count * Decimal("0.001")


def test_commits_reach_the_disk(ledger, path):
    """The durability that SQLite is asked for, which no test of a process can see."""
    with module._connection(path, module.READ) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
