"""The file of a ledger: tables of SQLite, their seal, locks, sums, and errors in sentences."""

import hashlib
import hmac
import itertools
import os
import secrets
import sqlite3
from contextlib import closing, contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import MAX_EMAX, MAX_PREC, MIN_EMIN, Decimal, localcontext
from pathlib import Path

from geodp.data.messages import parts_of
from geodp.errors import DataError

# Nothing is cancelled any more; earlier ledgers have such releases, which spent nothing.
STARTED, FINISHED, CANCELLED = "started", "finished", "cancelled"

# "gdpl", and the version of the tables.
APPLICATION, VERSION = 0x6764706C, 2


@dataclass(frozen=True)
class Entry:
    """A release in a ledger.

    Attributes
    ----------
    number : int
        Position in the ledger, from 1.
    when : str
        Time of the reservation: UTC, in ISO format.
    status : {"started", "finished", "cancelled"}
    amount : Decimal
        Spent, unless the status is "cancelled".
    key : str
    description : str
    folder : Path or None
        Where a finished release went.
    draw : Path or None
        Where that of a started release is kept; None where an earlier version reserved.
    fingerprint : str or None
        Of the data file; not of simulated data, nor where an earlier version reserved.
    """

    number: int
    when: str
    status: str
    amount: Decimal
    key: str
    description: str
    folder: Path | None = None
    fingerprint: str | None = field(default=None, repr=False)
    draw: Path | None = field(default=None, repr=False, compare=False)

    @property
    def finished(self) -> bool:
        """Whether the release is complete, in its folder."""
        return self.status == FINISHED


@dataclass(frozen=True)
class Account:
    """What a ledger's file holds."""

    unit: str
    allowed: Decimal
    entries: tuple[Entry, ...]
    # None in a file of version 1.
    secret: bytes | None = field(repr=False)
    checks: dict[tuple[str, str], bool] = field(repr=False)

    @property
    def spent(self):
        return exact_sum(each.amount for each in self.entries if each.status != CANCELLED)

    @property
    def left(self):
        return exact_sum([self.allowed, self.spent.copy_negate()])


def exact_sum(amounts):
    """Exact sum, whatever the number of digits."""
    with localcontext(prec=MAX_PREC, Emax=MAX_EMAX, Emin=MIN_EMIN):
        return sum(amounts, Decimal(0))


def keyed_digest(secret, paths):
    """HMAC-SHA256 of the bytes of files, as text; those of a folder are its `parts_of`."""
    keyed = hmac.new(secret, digestmod=hashlib.sha256)
    for path in itertools.chain.from_iterable(map(parts_of, paths)):
        with open(path, "rb") as file:
            while block := file.read(1 << 20):
                keyed.update(block)
    return keyed.hexdigest()


def moment():
    """Now, as a ledger writes it."""
    return datetime.now(UTC).isoformat(timespec="seconds")


@contextmanager
def connection_to(path, writes=False, seconds=10.0):
    """A transaction on a file that is there: committed at the end, undone by an exception.

    Other processes may hold the file for so many seconds.
    """
    if not path.is_file():
        raise DataError(
            f"{path} is not there or no file: correct its path, or make it once, for all releases "
            f"from the data, by `geodp ledger create {path} --allowed TOTAL`"
        )
    with closing(
        sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=seconds, isolation_level=None)
    ) as connection:
        # EXTRA is FULL, and the folder is synchronised too: else a power cut after the commit may
        # bring the journal back, which would undo a reservation whose draw was seen.
        connection.execute("PRAGMA synchronous = EXTRA")
        # Where synchronising alone leaves data in the drive's cache, as on macOS.
        connection.execute("PRAGMA fullfsync = ON")
        # A write lock from here on: no other process can reserve between sum and insert.
        connection.execute("BEGIN IMMEDIATE" if writes else "BEGIN")
        yield connection
        connection.execute("COMMIT")


@contextmanager
def locked(path, description):
    """A context in which a file is there and locked, also for other threads of this process."""
    with closing(sqlite3.connect(f"{path.as_uri()}?mode=rwc", uri=True, timeout=0.0)) as lock:
        try:
            # There is no journal to leave behind.
            lock.execute("PRAGMA journal_mode = MEMORY")
            lock.execute("BEGIN EXCLUSIVE")
        except sqlite3.OperationalError:
            raise DataError(
                f"{description} is being released by another run, which holds {path}: wait until "
                "that has ended; nothing was spent"
            ) from None
        try:
            yield
        finally:
            # While it is locked, since whoever gets it next makes a file of the same name.
            with suppress(OSError):
                path.unlink()


@contextmanager
def ledger_errors(path):
    """Give errors of the file at a path as a `DataError`."""
    try:
        yield
    except FileExistsError as problem:
        taken = problem.filename2 or problem.filename
        raise DataError(
            f"{taken} is there already and a ledger is never overwritten: give another path"
        ) from None
    except (sqlite3.Error, UnicodeDecodeError, OSError) as problem:
        # The low byte is the kind of error.  There is none where SQLite's words cannot be decoded,
        # since they quote a damaged file; so its words on damage are not repeated.
        kind = getattr(problem, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        if kind in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
            raise DataError(f"{path} is in use by another process: try again later") from None
        unreadable = (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_ERROR)
        if kind in unreadable and not isinstance(problem, OSError):
            raise damaged(path, "SQLite cannot read it") from None
        raise DataError(
            f"{path} cannot be used ({getattr(problem, 'strerror', problem)}): give a ledger in a "
            "folder that is there, can be written and has space"
        ) from None


def damaged(path, reason):
    return DataError(
        f"{path} is not a ledger or is damaged ({reason}): give a ledger, or put back a copy that "
        "has all releases"
    )


def read_account(connection, path):
    """Check all that the file holds, and return it."""
    if _pragma(connection, "application_id") != APPLICATION:
        raise damaged(path, "its application is another")
    version = _pragma(connection, "user_version")
    if version not in (1, VERSION):
        raise DataError(
            f"{path} is a ledger of version {version}, and this geodp reads versions 1 to "
            f"{VERSION}: use the geodp that made it"
        )
    if _pragma(connection, "integrity_check") != "ok":
        raise damaged(path, "its pages do not fit together")
    contents, checksum = _contents(connection)
    if connection.execute("SELECT checksum FROM budget").fetchall() != [(checksum,)]:
        raise damaged(path, "its sums do not agree")
    [(unit, allowed)], rows, *others = contents
    [[(secret,)], checks] = others or ([(None,)], [])
    account = Account(
        unit,
        Decimal(allowed),
        tuple(_entry(*row) for row in rows),
        secret,
        {(reading, fingerprint): bool(passed) for _, reading, fingerprint, passed in checks},
    )
    if account.left < 0:
        raise damaged(path, "more is spent than allowed")
    return account


def _pragma(connection, name):
    """The first row of a setting or a check of SQLite."""
    return connection.execute(f"PRAGMA {name}").fetchone()[0]


def make_tables(connection):
    """Tables as version 1 had them."""
    connection.execute("CREATE TABLE budget (unit TEXT, allowed TEXT, checksum TEXT)")
    connection.execute(
        'CREATE TABLE releases (number INTEGER PRIMARY KEY, "when" TEXT, status TEXT, amount TEXT, '
        '"key" TEXT, description TEXT, folder BLOB)'
    )


def upgrade(connection):
    """Bring the tables from version 1 to the present one; returns the new secret."""
    for statement in (
        "ALTER TABLE releases ADD COLUMN fingerprint TEXT",
        "CREATE TABLE secret (value BLOB)",
        'CREATE TABLE checks ("when" TEXT, reading TEXT, fingerprint TEXT, passed INTEGER)',
        f"PRAGMA user_version = {VERSION}",
    ):
        connection.execute(statement)
    secret = secrets.token_bytes(32)
    connection.execute("INSERT INTO secret VALUES (?)", (secret,))
    return secret


def _entry(number, when, status, amount, key, description, folder, fingerprint=None):
    """The entry of a row."""
    path = None if folder is None else Path(os.fsdecode(folder))
    folder, draw = (None, path) if status == STARTED else (path, None)
    return Entry(number, when, status, Decimal(amount), key, description, folder, fingerprint, draw)


def _contents(connection):
    """Rows of all tables, and their checksum: SQLite checks pages, and not what is on them."""
    queries = [
        "SELECT unit, allowed FROM budget",
        "SELECT * FROM releases ORDER BY number",
        "SELECT value FROM secret",
        "SELECT * FROM checks ORDER BY rowid",
    ]
    if _pragma(connection, "user_version") == 1:
        del queries[2:]
    rows = tuple(connection.execute(query).fetchall() for query in queries)
    return rows, hashlib.sha256(ascii(rows).encode()).hexdigest()


def seal(connection):
    """Bring the checksum up to date, at the end of a transaction that writes."""
    connection.execute("UPDATE budget SET checksum = ?", _contents(connection)[1:])
