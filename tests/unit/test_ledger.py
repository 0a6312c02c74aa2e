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
    message = str(caught.value)
    assert "\n" not in message
    assert not message.endswith(".")
    assert ": " in message
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__ or caught.value.__context__ is None


# The life of a release


def test_new_ledger(path):
    before = os.umask(0)
    try:
        ledger = Ledger.create(str(path), "1.50", "rho")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    for each in (ledger, Ledger.open(str(path))):
        assert (each.unit, each.entries()) == ("rho", ())
        assert [str(value) for value in (each.allowed, each.spent, each.left)] == [
            *("1.50", "0", "1.50")
        ]
    assert [file.name for file in path.parent.iterdir()] == ["ledger"]


def test_release_is_reserved_and_finished(ledger, path, tmp_path, monkeypatch):
    before = datetime.now(UTC) - timedelta(seconds=1)
    entry = reserve(ledger, "first", "0.30", "mean of S²")
    assert entry == Entry(1, entry.when, "started", Decimal("0.30"), "first", "mean of S²")
    assert not entry.finished
    assert before <= datetime.fromisoformat(entry.when) <= datetime.now(UTC)
    assert entry.when.endswith("+00:00")
    assert Ledger.open(path).entries() == (entry,)
    # Another process may finish it, and the path is kept as an absolute one.
    monkeypatch.chdir(tmp_path)
    found = Ledger.open("ledger").finish(entry, "out")
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
    with refused("while 0.2 is left"):
        reserve(ledger, amount="0.4")
    done = ledger.finish(second, tmp_path)
    assert reserve(ledger, amount="0.4") == done
    assert [entry.status for entry in ledger.entries()] == ["started", "finished"]
    assert ledger.spent == Decimal("0.8")


def test_only_a_started_release_of_this_ledger_is_finished(ledger, tmp_path):
    done = reserve(ledger, "done")
    finished = ledger.finish(done, tmp_path)
    foreign = reserve(Ledger.create(tmp_path / "other", "1", "epsilon"), "other")
    before = ledger.entries()
    for entry in (done, finished, foreign):
        with refused("is not a started one of this ledger"):
            ledger.finish(entry, tmp_path / "elsewhere")
    assert ledger.entries() == before


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
    assert reserve(Ledger.open(name)) in ledger.entries()


# Fingerprints and checks


def test_fingerprints_tell_files_apart_and_ledgers_too(ledger, path, tmp_path):
    data = tmp_path / "data"
    data.write_bytes(b"records" * 300_000)
    first = ledger.fingerprint(data)
    assert first == Ledger.open(path).fingerprint(data)
    # Whoever has the data and not the ledger cannot make it.
    assert Ledger.create(tmp_path / "other", "1", "epsilon").fingerprint(data) != first
    assert first != hashlib.sha256(data.read_bytes()).hexdigest()
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


# Ledgers of version 1


@pytest.fixture
def old(path):
    """A ledger as version 1 made them: one release of each status."""
    rows = [
        (1, "2025-01-01T00:00:00+00:00", "finished", "0.25", "a", "mean shape", b"/out"),
        (2, "2025-01-02T00:00:00+00:00", "started", "0.5", "b", "mean shape", None),
        (3, "2025-01-03T00:00:00+00:00", "cancelled", "0.9", "c", "mean shape", None),
    ]
    checksum = hashlib.sha256(ascii(([("epsilon", "1")], rows)).encode()).hexdigest()
    pragmas = (f"application_id = {module.APPLICATION}", "user_version = 1")
    execute(path, *module.TABLES, *(f"PRAGMA {each}" for each in pragmas))
    with closing(sqlite3.connect(path)) as connection:
        connection.executemany("INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?)", rows)
        connection.execute("INSERT INTO budget VALUES ('epsilon', '1', ?)", (checksum,))
        connection.commit()
    return path


def version(path):
    return execute(path, "PRAGMA user_version")[0][0]


def test_old_ledger_is_read_as_it_is(old):
    before, ledger = old.read_bytes(), Ledger.open(old)
    assert [entry.status for entry in ledger.entries()] == ["finished", "started", "cancelled"]
    assert (str(ledger.spent), str(ledger.left)) == ("0.75", "0.25")
    assert "cancelled" in ledger.words()
    assert ledger.last_check("columns", "file") is None
    assert old.read_bytes() == before
    assert reserve(ledger, "a").folder == Path("/out")


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
    assert (ledger.entries()[0], ledger.entries()[2]) == (before[0], before[2])
    found = ledger.fingerprint(__file__)
    ledger.note_check("columns", found, True)
    # The secret stays.
    assert Ledger.open(old).last_check("columns", ledger.fingerprint(__file__)) is True


def crash_before_the_commit(path):
    module._seal = kill
    reserve(Ledger.open(path), "lost")


def test_upgrade_is_whole_or_not_at_all(old):
    before = Ledger.open(old).entries()
    assert ended(crash_before_the_commit, old) == -signal.SIGKILL
    assert (Ledger.open(old).entries(), version(old)) == (before, 1)


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
    zeros = "0" * 60
    ledger = Ledger.create(path.with_name("fine"), f"999999.2{zeros}1", "epsilon")
    reserve(ledger, "large", "999999")
    with refused("while 0.20*1 is left"):
        reserve(ledger, "more", f"0.2{zeros}2")
    reserve(ledger, "fine", f"0.1{zeros}1")
    assert (str(ledger.spent), str(ledger.left)) == (f"999999.1{zeros}1", f"0.1{zeros}0")
    assert ledger.words().splitlines()[-1] == (
        f"allowed 999999.2{zeros}1, spent 999999.1{zeros}1, left 0.1{zeros}0 (epsilon)"
    )
    # Also where the caller computes with few digits.
    with localcontext(prec=3, rounding=ROUND_UP):
        assert str(ledger.left) == f"0.1{zeros}0"
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


ODD = ["", "  ", "two\nlines", "\x1b[2J", "tab\t", "\0", "\ud800", None, b"bytes"]
BAD_ARGUMENTS = [
    *(("amount", each, "^amount: .* is not decimal text") for each in (0.1, 1, True, None)),
    ("amount", Fraction(1, 10), "^amount: .* is not decimal text"),
    *(("amount", each, "^amount: ") for each in ("0", "-0.1", "nan", "inf", "much", "", "1e7")),
    *(("amount", each, "^amount: ") for each in ("1e-10", "1e-999999999", f"0.1{'0' * 98}")),
    *(("unit", each, "accounts in epsilon and the") for each in ("rho", "Epsilon", "", None)),
    *(("key", each, "^key: .* is not one line of printable text") for each in ODD),
    *(("description", each, "^description: .* is not one line of printable") for each in ODD),
]


@pytest.mark.parametrize(("name", "value", "pattern"), BAD_ARGUMENTS)
def test_bad_arguments_spend_nothing(ledger, path, name, value, pattern):
    with refused(pattern):
        reserve(ledger, **{name: value})
    assert ledger.entries() == ()
    if name == "amount":
        with refused(pattern.replace("amount", "allowed")):
            Ledger.create(path.with_name("other"), value, "epsilon")
    if name == "unit" and value != "rho":
        with refused("^unit: .* is no unit of a budget"):
            Ledger.create(path.with_name("other"), "1", value)
    assert os.listdir(path.parent) == ["ledger"]


def test_units_do_not_mix(path):
    ledger = Ledger.create(path, "1", "rho")
    ledger.finish(reserve(ledger, unit="rho"), path.parent)
    # Nor is a finished release of that key taken for one of the other unit.
    with refused("accounts in rho and the release in epsilon") as caught:
        reserve(ledger)
    assert caught.value.argument == "unit"


# Words


def test_table(ledger, path):
    assert ledger.words() == (
        "when  status  epsilon  description  folder\nallowed 1, spent 0, left 1 (epsilon)"
    )
    ledger.finish(reserve(ledger, "a", "0.250", "mean shape"), "out")
    reserve(ledger, "b", "1e-7", "ångström")
    times = [entry.when for entry in ledger.entries()]
    assert ledger.words() == (
        f"when                       status    epsilon    description  folder\n"
        f"{times[0]}  finished  0.250      mean shape   {Path('out').absolute()}\n"
        f"{times[1]}  started   0.0000001  ångström\n"
        "allowed 1, spent 0.2500001, left 0.7499999 (epsilon)"
    )
    # Floats would lose digits.
    assert execute(path, "SELECT DISTINCT typeof(amount) FROM releases") == [("text",)]


@pytest.mark.parametrize(
    "name", ["two\nlines", "\x1b[2J", "\u3000", os.fsdecode(b"\xff"), "a'b?c#d%20"]
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
    with refused(f"^{place} is there already and a ledger is never overwritten"):
        Ledger.create(path, "1", "epsilon")
    assert os.listdir(path.parent) == [taken]
    assert kind != "file" or place.read_text() == "data"


@pytest.mark.parametrize("links", [True, False])
def test_ledger_that_appears_meanwhile_is_not_overwritten(path, monkeypatch, links):
    """Another process finished to create it after this one looked."""
    move = module.move_to_new

    def no_links(*_):
        raise OSError(1, "Operation not permitted")

    def late(partial, target):
        monkeypatch.setattr(module, "move_to_new", move)
        reserve(Ledger.create(path, "1", "epsilon"))
        if not links:
            monkeypatch.setattr(os, "link", no_links)
        move(partial, target)

    monkeypatch.setattr(module, "move_to_new", late)
    with refused(f"^{path} is there already"):
        Ledger.create(path, "100", "epsilon")
    assert Ledger.open(path).spent == Decimal("0.1")
    assert os.listdir(path.parent) == ["ledger"]


@pytest.mark.parametrize(
    "steps", [("_seal",), ("claim",), ("move_to_new",), ("os.link", "os.replace")]
)
@pytest.mark.parametrize("problem", [OSError(5, "Input/output error"), KeyboardInterrupt()])
def test_failed_creation_leaves_nothing(path, monkeypatch, steps, problem):
    def fail(*_):
        raise problem

    for step in steps:
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
    return [
        lambda: Ledger.open(path),
        ledger.entries,
        lambda: ledger.spent,
        ledger.words,
        lambda: reserve(ledger),
        lambda: ledger.finish(entry, "out"),
        lambda: ledger.fingerprint(__file__),
        lambda: ledger.note_check("columns", "file", True),
    ]


def all_refused(path, pattern):
    """Expect every use to be refused, and the folder and the file to be as before."""
    folder = path.parent if path.parent.is_dir() else path.parent.parent
    before = sorted(os.listdir(folder)), path.read_bytes() if path.is_file() else None
    for use in uses(path):
        with refused(pattern):
            use()
    after = sorted(os.listdir(folder)), path.read_bytes() if path.is_file() else None
    assert after == before


def test_missing_file_is_not_made(path, monkeypatch):
    all_refused(path / "ledger", "is not there or no file")
    all_refused(path, f"^{path} is not there or no file")
    path.symlink_to("nowhere")
    all_refused(path, f"^{path.with_name('nowhere')} is not there or no file")
    path.unlink()
    path.mkdir()
    all_refused(path, f"^{path} is not there or no file")
    path.rmdir()
    # It vanishes after it was looked for.
    monkeypatch.setattr(Path, "is_file", lambda _: True)
    with refused(f"^{path} cannot be used"):
        reserve(Ledger(path))
    assert os.listdir(path.parent) == []


@pytest.mark.parametrize(
    "content",
    [b"", b"epsilon 1\n" * 500, bytes(8192), b"SQLite format 3\0"],
    ids=["empty", "text", "zeros", "header alone"],
)
def test_file_that_is_no_database(path, content):
    path.write_bytes(content)
    all_refused(path, "is not a ledger or is damaged")


def test_foreign_database(path):
    execute(path, *module.TABLES)
    all_refused(path, "is not a ledger or is damaged")
    execute(path, f"PRAGMA application_id = {module.APPLICATION}")
    all_refused(path, "is a ledger of version 0, and this geodp reads versions 1 to 2")
    for number in (2, 1):
        execute(path, f"PRAGMA user_version = {number}")
        all_refused(path, "is not a ledger or is damaged")
    execute(path, "DROP TABLE budget")
    all_refused(path, "is not a ledger or is damaged")


@pytest.mark.parametrize("number", [0, 3, -1])
def test_other_version(ledger, path, number):
    execute(path, f"PRAGMA user_version = {number}")
    all_refused(path, f"is a ledger of version {number}, and this geodp reads versions 1 to 2")


@pytest.mark.parametrize(
    "change",
    [
        "UPDATE budget SET allowed = '9'",
        "UPDATE budget SET unit = 'rho'",
        "DELETE FROM budget",
        "INSERT INTO budget SELECT * FROM budget",
        "UPDATE budget SET checksum = NULL",
        "UPDATE releases SET amount = '0.01' WHERE number = 1",
        "UPDATE releases SET amount = '0.10' WHERE number = 1",
        "UPDATE releases SET amount = x'ff' WHERE number = 1",
        "UPDATE releases SET amount = CAST(x'ff' AS TEXT) WHERE number = 1",
        "UPDATE releases SET status = 'cancelled' WHERE number = 1",
        "UPDATE releases SET key = 'second' WHERE number = 1",
        "UPDATE releases SET folder = 'elsewhere' WHERE number = 1",
        "UPDATE releases SET description = 'other' WHERE number = 1",
        "UPDATE releases SET fingerprint = 'other' WHERE number = 1",
        "UPDATE secret SET value = x'ff'",
        "DELETE FROM secret",
        "UPDATE checks SET passed = 1",
        "PRAGMA user_version = 1",
        "DELETE FROM releases WHERE number = 1",
        "DELETE FROM releases",
        "DROP TABLE releases",
        "ALTER TABLE releases ADD COLUMN note TEXT",
    ],
)
def test_changed_rows_are_refused(ledger, path, change):
    reserve(ledger, "first")
    reserve(ledger, "second")
    ledger.note_check("columns", "file", False)
    execute(path, change)
    all_refused(path, "is not a ledger or is damaged")


def test_more_spent_than_allowed_is_refused(ledger, path):
    """Even where the checksum is right."""
    reserve(ledger, amount="0.5")
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("UPDATE budget SET allowed = '0.49'")
        module._seal(connection)
        connection.commit()
    all_refused(path, "more is spent than allowed")


def test_damaged_file_is_refused_or_unchanged(ledger, path):
    """A wrong byte may fall where nothing is, but never changes what a ledger says."""
    for number in range(3):
        reserve(ledger, f"key {number}", description="mean shape " * 200)
    whole, expected = path.read_bytes(), ledger.entries()
    used = [place for place, byte in enumerate(whole) if byte]
    rng, refusals = random.Random(1), 0
    damaged = path.with_name("damaged")
    for length in (*range(0, len(whole), 2048), len(whole) - 1):
        damaged.write_bytes(whole[:length])
        with refused("is not a ledger or is damaged"):
            Ledger.open(damaged)
        assert damaged.read_bytes() == whole[:length]
    for place in rng.sample(used, 200):
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
    assert refusals > 133
    # Further writing could harm rows that can be read: the number of free pages, in the header.
    damaged.write_bytes(whole[:36] + (1).to_bytes(4, "big") + whole[40:])
    with refused("its pages do not fit together"):
        Ledger.open(damaged)


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


def test_what_cannot_be_written_or_read(open_folder):
    path = open_folder / "ledger"
    ledger = Ledger.create(path, "1", "epsilon")
    entry = reserve(ledger)
    with unprivileged(path, open_folder):
        open_folder.chmod(0o555)
        with refused(r"other cannot be used \(Permission denied\): give a ledger in a folder"):
            Ledger.create(open_folder / "other", "1", "epsilon")
        for use in (lambda: reserve(ledger, "other"), lambda: ledger.finish(entry, "out")):
            with refused(f"^{path} cannot be used .*: give a ledger in a folder"):
                use()
        # It can be read.
        assert Ledger.open(path).entries() == (entry,)
        open_folder.chmod(0o000)
        with refused("cannot be used|is not there"):
            Ledger.open(path)
        open_folder.chmod(0o755)
        path.chmod(0o400)
        with refused(f"^{path} cannot be used"):
            reserve(ledger)
        assert ledger.entries() == (entry,)
        path.chmod(0o000)
        with refused(f"^{path} cannot be used"):
            Ledger.open(path)
    assert os.listdir(open_folder) == ["ledger"]


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


@pytest.mark.parametrize("size", [0, 1000, 20_000])
def test_no_space(path, size):
    long = "mean shape " * 5000
    if size < 20_000:
        with space(size), refused(f"^{path} cannot be used"):
            Ledger.create(path, "1", "epsilon")
        assert os.listdir(path.parent) == []
    ledger = Ledger.create(path, "1", "epsilon")
    first = reserve(ledger, "first")
    with space(size), refused(f"^{path} cannot be used"):
        reserve(ledger, "second", description=long)
    assert Ledger.open(path).entries() == (first,)
    reserve(ledger, "second", description=long)


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


def attempts(barrier, queue, path, keys):
    """Reserve for several keys at the same moment as other processes; numbers, or messages."""
    ledger = Ledger.open(path)
    barrier.wait(WAIT)
    for key in keys:
        try:
            queue.put(reserve(ledger, key).number)
        except DataError as problem:
            queue.put(str(problem))


@pytest.mark.parametrize(
    ("keys", "room"),
    [([["key"], ["key"]], 1), ([["key"], ["key"]], 2), ([[*"abcd"], [*"efgh"], [*"ijkl"]], 7)],
)
def test_processes_at_once(path, keys, room):
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
    assert len(messages) == len(found) - room
    assert all("while 0.0 is left" in message for message in messages)
    ledger = Ledger.open(path)
    assert (len(ledger.entries()), ledger.left) == (room, 0)


def test_threads_at_once(ledger):
    def attempt(number):
        try:
            return reserve(ledger, f"key {number}", "0.2").number
        except DataError:
            return 0

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(attempt, range(16)))
    assert sorted(found) == [0] * 11 + [1, 2, 3, 4, 5]
    assert ledger.left == 0
    # Nor is one process its only user.
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


def crash_after_reserving(path):
    reserve(Ledger.open(path), amount="0.4")
    kill()


def test_crash_after_the_reservation_leaves_it_spent(ledger, path):
    assert ended(crash_after_reserving, path) == -signal.SIGKILL
    [entry] = Ledger.open(path).entries()
    assert (entry.status, ledger.left) == ("started", Decimal("0.6"))
    # The next attempt spends again.
    assert reserve(ledger, amount="0.4").number == 2
    assert ledger.left == Decimal("0.2")


def crash_while_writing(path):
    """Pages reach the file before the commit, since few are kept in memory."""
    module.SETTINGS = (*module.SETTINGS, "PRAGMA cache_size = 1", "PRAGMA cache_spill = 1")
    module._seal = kill
    reserve(Ledger.open(path), "lost", description="mean shape " * 50_000)


@pytest.mark.parametrize("crash", [crash_before_the_commit, crash_while_writing])
def test_crash_before_the_commit_leaves_no_reservation(ledger, path, crash):
    entry = reserve(ledger)
    before = path.read_bytes()
    assert ended(crash, path) == -signal.SIGKILL
    if crash is crash_while_writing:
        # Part of the transaction is in the file, and the journal that undoes it beside it.
        assert path.read_bytes() != before
        journal = path.with_name("ledger-journal")
        assert journal.stat().st_size > 0
        assert stat.S_IMODE(journal.stat().st_mode) == 0o600
    assert Ledger.open(path).entries() == (entry,)
    assert path.read_bytes() == before
    assert reserve(ledger, "next").number == 2
    assert os.listdir(path.parent) == ["ledger"]


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
