"""Ledgers of privacy budgets: exact sums, processes at once, crashes, and files refused."""

import json
import multiprocessing
import os
import re
import signal
import sqlite3
import stat
from contextlib import closing, contextmanager
from decimal import ROUND_UP, Decimal, localcontext
from pathlib import Path

import pytest

from geodp import DataError, PrivacyBudget
from geodp_release.promise import ledger as module
from geodp_release.promise.ledger import Ledger

# A fork would carry the threads and locks of the tests along.
PROCESSES = multiprocessing.get_context("spawn")
WAIT = 60


def reserve(ledger, key="key", amount="0.1", description="mean shape", unit="epsilon"):
    return ledger.reserve(key, amount, description, unit=unit)


def execute(path, *statements):
    """Change a file without the ledger's knowledge; the rows of the last statement."""
    with closing(sqlite3.connect(path)) as connection:
        for statement in statements:
            rows = connection.execute(statement).fetchall()
        connection.commit()
    return rows


@contextmanager
def refused(pattern):
    """Expect a `DataError` of one sentence, with no other error shown."""
    with pytest.raises(DataError, match=pattern) as caught:
        yield caught
    assert re.fullmatch("[^\n]*: [^\n]*[^.\n]", str(caught.value))
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


def test_new_ledger(path):
    before = os.umask(0)
    try:
        Ledger.create(str(path), "1.50", "rho")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    ledger = Ledger.open(str(path))
    assert (ledger.unit, ledger.entries()) == ("rho", ())
    assert ledger.words().endswith("\nallowed 1.50, spent 0, left 1.50 (rho)")
    assert os.listdir(path.parent) == ["ledger"]


def test_a_release_spends_until_it_is_finished(ledger, path, tmp_path):
    first, second = (reserve(ledger, amount="0.4") for _ in range(2))
    assert (first.number, second.number) == (1, 2)
    with refused("while 0.2 is left"):
        reserve(ledger, amount="0.4")
    done = ledger.finish(second, tmp_path)
    before = path.read_bytes()
    assert reserve(Ledger.open(path), amount="0.4") == done
    assert path.read_bytes() == before
    assert [entry.status for entry in ledger.entries()] == ["started", "finished"]
    with refused("while 0.2 is left"):
        reserve(ledger, key="other", amount="0.4")
    with refused("accounts in epsilon and the release in rho"):
        reserve(ledger, amount="0.4", unit="rho")


def test_only_a_started_release_of_this_ledger_is_finished(ledger, tmp_path):
    done = reserve(ledger, "done")
    finished = ledger.finish(done, tmp_path)
    foreign = reserve(Ledger.create(tmp_path / "other", "1", "epsilon"), "other")
    for entry in (done, finished, foreign):
        with refused("is not a started one of this ledger"):
            ledger.finish(entry, tmp_path / "elsewhere")
    assert ledger.entries() == (finished,)


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
    assert execute(path, "SELECT count(*) FROM checks") == [(2,)]


def test_sums_are_exact(path):
    """Floats, and decimals of the usual 28 digits, would let one of these pass or fail."""
    ledger = Ledger.create(path, "0.3", "epsilon")
    for number in range(3):
        reserve(ledger, f"tenth {number}", "0.1")
    assert ledger.left == 0
    zeros = "0" * 60
    ledger = Ledger.create(path.with_name("fine"), f"999999.2{zeros}1", "epsilon")
    reserve(ledger, "large", "999999")
    with refused("while 0.20*1 is left"):
        reserve(ledger, "more", f"0.2{zeros}2")
    # Also where the caller computes with few digits.
    with localcontext(prec=3, rounding=ROUND_UP):
        reserve(ledger, "fine", f"0.1{zeros}1")
        assert ledger.words().splitlines()[-1] == (
            f"allowed 999999.2{zeros}1, spent 999999.1{zeros}1, left 0.1{zeros}0 (epsilon)"
        )
        reserve(ledger, "rest", "0.1")
    assert ledger.left == 0


BAD_ARGUMENTS = [
    *(("amount", each, "^amount: .* is not decimal text") for each in (0.1, True, None)),
    *(("amount", each, "^amount: ") for each in ("0", "nan", "1e7", "1e-999999999")),
    *(("unit", each, "accounts in epsilon and the") for each in ("rho", None)),
    *(("key", each, "^key: .* is not one line of") for each in ("  ", "\x1b[2J", "\ud800", None)),
    ("description", "two\nlines", "^description: .* is not one line of printable text"),
]


@pytest.mark.parametrize(("name", "value", "pattern"), BAD_ARGUMENTS)
def test_bad_arguments_spend_nothing(ledger, path, name, value, pattern):
    with refused(pattern):
        reserve(ledger, **{name: value})
    assert ledger.entries() == ()
    if name == "amount":
        with refused(pattern.replace("amount", "allowed")):
            Ledger.create(path.with_name("other"), value, "epsilon")
    with refused("^unit: .* is no unit of a budget"):
        Ledger.create(path.with_name("other"), "1", "Epsilon")
    assert os.listdir(path.parent) == ["ledger"]


def test_table(ledger, path):
    ledger.finish(reserve(ledger, "a", "0.250", "mean shape"), "out")
    reserve(ledger, "b", "1e-7", "ångström")
    times = [entry.when for entry in ledger.entries()]
    assert ledger.words() == (
        f"when                       status    epsilon    description  folder\n"
        f"{times[0]}  finished  0.250      mean shape   {Path('out').absolute()}\n"
        f"{times[1]}  started   0.0000001  ångström\n"
        "allowed 1, spent 0.2500001, left 0.7499999 (epsilon)"
    )


def test_what_a_release_would_leave(ledger, path):
    def left(*budget):
        return ledger.after(PrivacyBudget(*budget), "key").removeprefix(f"{path} ")

    assert left("0.75") == "has 1 epsilon left, and 0.25 after the release."
    assert "has 1 epsilon left, less than the 2 of the release: it would be refused" in left("2")
    assert "accounts in epsilon and the release in rho" in left("0.5", "rho", "1e-6")
    ledger.finish(reserve(ledger, amount="1"), "out")
    assert "has 0 epsilon left; this release is in it already" in left("1")


@pytest.mark.parametrize("name", ["two\nlines\x1b[2J", os.fsdecode(b"\xff"), "a'b?c#d%20"])
def test_any_path_will_do(name, tmp_path):
    """A draw must not be lost since the name of its folder is odd."""
    (tmp_path / name).mkdir()
    ledger = Ledger.create(tmp_path / name / name, "1", "epsilon")
    done = ledger.finish(reserve(ledger), tmp_path / name)
    assert reserve(Ledger.open(ledger.path)) == done
    assert done.folder == tmp_path / name
    assert ledger.words().isascii()
    assert len(ledger.words().splitlines()) == 3


def attempts(barrier, queue, path, keys):
    """Reserve for several keys at the same moment as other processes; numbers, or messages."""
    ledger = Ledger.open(path)
    barrier.wait(WAIT)
    for key in keys:
        try:
            queue.put(reserve(ledger, key).number)
        except DataError as problem:
            queue.put(str(problem))


def test_processes_at_once(path):
    keys, room = [[*"abcd"], [*"efgh"], [*"ijkl"]], 7
    Ledger.create(path, str(Decimal(room) / 10), "epsilon")
    barrier, queue = PROCESSES.Barrier(len(keys)), PROCESSES.Queue()
    started = [PROCESSES.Process(target=attempts, args=(barrier, queue, path, k)) for k in keys]
    for process in started:
        process.start()
    found = [queue.get(timeout=WAIT) for each in keys for _ in each]
    for process in started:
        process.join(WAIT)
        assert process.exitcode == 0
    messages = [value for value in found if isinstance(value, str)]
    assert sorted(value for value in found if isinstance(value, int)) == [*range(1, room + 1)]
    assert all("while 0.0 is left" in message for message in messages)
    assert len(Ledger.open(path).entries()) == room


def ended(function, *arguments):
    """Exit code of a process that calls a function of this module."""
    process = PROCESSES.Process(target=function, args=arguments)
    process.start()
    process.join(WAIT)
    return process.exitcode


def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)


def crash_after_reserving(path):
    ledger = Ledger.open(path)
    with ledger.alone():
        reserve(ledger, "kept")
        kill()


def crash_before_the_commit(path):
    module.seal = kill
    reserve(Ledger.open(path), "lost")


def find_locked(path):
    with refused("mean shape is being released by another run"):
        reserve(Ledger.open(path))


def crash_while_writing(path):
    """Pages reach the file before the commit, since few are kept in memory."""

    @contextmanager
    def with_little_memory(*given, connect=module.connection_to, **named):
        with connect(*given, **named) as connection:
            connection.execute("PRAGMA cache_size = 1")
            connection.execute("PRAGMA cache_spill = 1")
            yield connection

    module.connection_to, module.seal = with_little_memory, kill
    reserve(Ledger.open(path), "lost", description="mean shape " * 50_000)


CRASHES = [crash_after_reserving, crash_before_the_commit, crash_while_writing]


@pytest.mark.parametrize("crash", CRASHES)
def test_a_reservation_is_whole_or_not_there(ledger, path, crash):
    first, before = reserve(ledger), path.read_bytes()
    assert ended(crash, path) == -signal.SIGKILL
    if crash is crash_while_writing:
        # Part of the transaction is in the file, and the journal that undoes it beside it.
        assert path.read_bytes() != before
        assert stat.S_IMODE(path.with_name("ledger-journal").stat().st_mode) == 0o600
    found = Ledger.open(path).entries()
    if crash is crash_after_reserving:
        assert (found[0], found[1].key, found[1].status) == (first, "kept", "started")
    else:
        assert (found, path.read_bytes()) == ((first,), before)
    assert reserve(ledger, "next").number == len(found) + 1
    assert os.listdir(path.parent) == ["ledger"]


def test_a_name_is_of_one_run_at_a_time(ledger, path):
    """In this process and in others, by any link; until it ends or is killed."""
    link = path.with_name("link")
    link.hardlink_to(path)
    with ledger.alone():
        reserve(ledger)
        for name in (path, link):
            find_locked(name)
            assert ended(find_locked, name) == 0
        reserve(Ledger.open(link), description="another name")
    assert ended(crash_after_reserving, link) == -signal.SIGKILL
    assert len(os.listdir(path.parent)) == 3
    reserve(ledger)
    assert sorted(os.listdir(path.parent)) == ["ledger", "link"]


def test_a_draw_that_is_kept_is_found_by_its_key(ledger, path):
    entry = reserve(ledger)
    assert ledger.resume("key", "0.1", "mean shape", unit="epsilon") is None
    entry.draw.write_text(json.dumps({"key": "other"}))
    assert (ledger.kept(entry), ledger.paid("key")) == (None, None)
    for text in (json.dumps({"key": "key"}), "{"):
        entry.draw.write_text(text)
        assert ledger.kept(entry) == entry.draw
        assert ledger.paid("key") == reserve(ledger) == entry
    # By another link, and where it was moved with its ledger.
    folder = path.with_name("folder")
    folder.mkdir()
    (folder / "link").hardlink_to(path)
    assert Ledger.open(folder / "link").kept(entry) == entry.draw
    moved = entry.draw.rename(folder / entry.draw.name)
    assert Ledger.open(folder / "link").kept(entry) == moved
    assert ledger.kept(entry) is None


def test_commits_reach_the_disk_and_writers_wait_for_each_other(ledger, path):
    """What SQLite is asked for, which processes show by chance alone."""
    with module.connection_to(path) as connection:
        assert connection.execute("PRAGMA synchronous").fetchone() == (3,)
        assert connection.execute("PRAGMA journal_mode").fetchone() == ("delete",)
    with module.connection_to(path, writes=True), pytest.raises(sqlite3.OperationalError):
        module.connection_to(path, writes=True, seconds=0.0).__enter__()
