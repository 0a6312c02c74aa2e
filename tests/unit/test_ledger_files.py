"""Files of ledgers that are refused, or of an earlier version, and that nothing overwrites."""

import hashlib
import os
import signal
import sqlite3
import time
from contextlib import closing
from decimal import Decimal
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest
from cohort import REFUSALS
from test_ledger import crash_before_the_commit, ended, execute, refused, reserve

from geodp import DataError
from geodp_release.promise import ledger as module
from geodp_release.promise import ledger_file
from geodp_release.promise.ledger import Ledger


@pytest.fixture
def old(path):
    """A ledger as version 1 made them: one release of each status."""
    rows = [
        (1, "2025-01-01T00:00:00+00:00", "finished", "0.25", "a", "mean shape", b"/out"),
        (2, "2025-01-02T00:00:00+00:00", "started", "0.5", "b", "mean shape", None),
        (3, "2025-01-03T00:00:00+00:00", "cancelled", "0.9", "c", "mean shape", None),
    ]
    checksum = hashlib.sha256(ascii(([("epsilon", "1")], rows)).encode()).hexdigest()
    with closing(sqlite3.connect(path)) as connection:
        ledger_file.make_tables(connection)
        for each in (f"application_id = {module.APPLICATION}", "user_version = 1"):
            connection.execute(f"PRAGMA {each}")
        connection.executemany("INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO budget VALUES ('epsilon', '1', ?)", (checksum,))
        connection.commit()
    return path


def test_old_ledger_is_read_as_it_is(old):
    before, ledger = old.read_bytes(), Ledger.open(old)
    assert [entry.status for entry in ledger.entries()] == ["finished", "started", "cancelled"]
    assert (str(ledger.spent), str(ledger.left)) == ("0.75", "0.25")
    assert ledger.last_check("columns", "file") is None
    assert old.read_bytes() == before
    # An upgrade is whole or not there.
    assert ended(crash_before_the_commit, old) == -signal.SIGKILL
    assert len(Ledger.open(old).entries()) == 3
    assert execute(old, "PRAGMA user_version") == [(1,)]
    assert reserve(ledger, "a").folder == Path("/out")


WRITES = {
    "reserve": lambda ledger: reserve(ledger, "new"),
    "finish": lambda ledger: ledger.finish(ledger.entries()[1], "/out"),
    "note_check": lambda ledger: ledger.note_check("columns", "file", False),
    "fingerprint": lambda ledger: ledger.fingerprint(__file__),
}
READS = (Ledger.entries, Ledger.words, lambda ledger: ledger.spent, lambda x: Ledger.open(x.path))


@pytest.mark.parametrize("write", WRITES)
def test_first_write_upgrades_an_old_ledger(old, write):
    ledger = Ledger.open(old)
    before = ledger.entries()
    WRITES[write](ledger)
    assert execute(old, "PRAGMA user_version") == [(2,)]
    assert (ledger.entries()[0], ledger.entries()[2]) == (before[0], before[2])
    found = ledger.fingerprint(__file__)
    ledger.note_check("columns", found, True)
    # The secret stays.
    assert Ledger.open(old).last_check("columns", ledger.fingerprint(__file__)) is True


@pytest.mark.parametrize(
    ("taken", "kind"), [("ledger", "file"), ("ledger", "link"), ("ledger-journal", "folder")]
)
def test_nothing_is_overwritten(path, taken, kind):
    place = path.with_name(taken)
    if kind == "file":
        place.write_text("data")
    elif kind == "folder":
        place.mkdir()
    else:
        place.symlink_to("nowhere")
    with refused(f"^{place} is there already and a ledger is never overwritten"):
        Ledger.create(path, "1", "epsilon")
    assert os.listdir(path.parent) == [taken]
    assert kind != "file" or place.read_text() == "data"


def test_ledger_that_appears_meanwhile_is_not_overwritten(path, monkeypatch):
    move = module.move_to_new

    def late(partial, target):
        monkeypatch.setattr(module, "move_to_new", move)
        reserve(Ledger.create(path, "1", "epsilon"))
        move(partial, target)

    monkeypatch.setattr(module, "move_to_new", late)
    with refused(f"^{path} is there already"):
        Ledger.create(path, "100", "epsilon")
    assert Ledger.open(path).spent == Decimal("0.1")
    assert os.listdir(path.parent) == ["ledger"]


@pytest.mark.parametrize("step", ["seal", "move_to_new"])
@pytest.mark.parametrize("problem", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_failed_creation_leaves_nothing(path, monkeypatch, step, problem):
    monkeypatch.setattr(module, step, Mock(side_effect=problem))
    with pytest.raises((DataError, KeyboardInterrupt)):
        Ledger.create(path, "1", "epsilon")
    assert os.listdir(path.parent) == []


def all_refused(path, pattern):
    """Expect every use to be refused, and the folder and the file to be as before."""
    before = {each: each.is_file() and each.read_bytes() for each in path.parent.iterdir()}
    for use in (*WRITES.values(), *READS):
        with refused(pattern):
            use(Ledger(path))
    assert before == {each: each.is_file() and each.read_bytes() for each in path.parent.iterdir()}


def test_missing_file_is_not_made(path, monkeypatch):
    all_refused(path, f"^{path} is not there or no file")
    path.symlink_to("nowhere")
    all_refused(path, f"^{path.with_name('nowhere')} is not there or no file")
    path.unlink()
    path.mkdir()
    all_refused(path, f"^{path} is not there or no file")
    path.rmdir()
    with refused(f"^{path}/ledger cannot be used .*: give a ledger in a folder that is there"):
        Ledger.create(path / "ledger", "1", "epsilon")
    # It vanishes after it was looked for.
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    with refused(f"^{path} cannot be used"):
        reserve(Ledger(path))
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize("content", [b"", b"epsilon 1\n" * 500, bytes(8192), b"SQLite format 3\0"])
def test_file_that_is_no_database(path, content):
    path.write_bytes(content)
    all_refused(path, "is not a ledger or is damaged")


def test_foreign_database(path):
    with closing(sqlite3.connect(path)) as connection:
        ledger_file.make_tables(connection)
    all_refused(path, "is not a ledger or is damaged")
    execute(path, f"PRAGMA application_id = {module.APPLICATION}")
    for number in (0, 3, -1):
        execute(path, f"PRAGMA user_version = {number}")
        all_refused(path, f"is a ledger of version {number}, and this geodp reads versions 1 to 2")
    for number in (2, 1):
        execute(path, f"PRAGMA user_version = {number}")
        all_refused(path, "is not a ledger or is damaged")


@pytest.mark.parametrize("change", REFUSALS["ledgers"])
def test_changed_rows_are_refused(ledger, path, change):
    reserve(ledger, "first")
    reserve(ledger, "second")
    ledger.note_check("columns", "file", False)
    execute(path, change)
    all_refused(path, "is not a ledger or is damaged")


def test_more_spent_than_allowed_is_refused_where_the_checksum_is_right(ledger, path):
    reserve(ledger, amount="0.5")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE budget SET allowed = '0.49'")
        module.seal(connection)
        connection.commit()
    all_refused(path, "more is spent than allowed")


def test_damaged_file_is_refused(ledger, path):
    for number in range(3):
        reserve(ledger, f"key {number}", description="mean shape " * 200)
    whole, damaged = path.read_bytes(), path.with_name("damaged")
    contents = [whole[:length] for length in (*range(0, len(whole), 4096), len(whole) - 1)]
    # A letter of a description.
    contents.append(whole.replace(b"mean shape", b"mean shade", 1))
    # Of free pages, in the header, another number: further writing could harm rows.
    contents.append(whole[:36] + (1).to_bytes(4, "big") + whole[40:])
    for content in contents:
        damaged.write_bytes(content)
        with refused("is not a ledger or is damaged"):
            Ledger.open(damaged)
        assert damaged.read_bytes() == content


@pytest.mark.parametrize("lock", ["IMMEDIATE", "reads"])
def test_busy_file(ledger, path, monkeypatch, lock):
    """Of a reader that stays the commit is refused, and what was refused is not spent."""
    connect = ledger_file.connection_to
    monkeypatch.setattr(module, "connection_to", partial(connect, seconds=0.2))
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("BEGIN" if lock == "reads" else f"BEGIN {lock}")
        other.execute("SELECT * FROM releases").fetchall()
        start = time.monotonic()
        with refused(f"^{path} is in use by another process: try again later"):
            reserve(ledger)
        assert time.monotonic() - start >= 0.2
    # The other's transaction ended.
    assert reserve(ledger).number == 1
