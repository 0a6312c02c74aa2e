"""Ledger of a privacy budget: every release from one holder's data, and what all of them spent.

A ledger is one SQLite file beside the data.  Its total is set once.  A release reserves its part
before it draws, and a part that is reserved stays spent, whatever happens to the release.  A draw
is kept beside the ledger until its folder is there, at a place that the ledger has: so it is found
by whatever link the ledger is opened.

The file holds keys, budgets, descriptions and folders, keyed fingerprints of data files and what
checks said of them.  It is for the holder of the data alone: with its secret a fingerprint tells
which file it is of.  It guards against mistakes, crashes and processes at the same time.  It does
not guard against whoever can change the file or put an older copy in its place, nor on a file
system without locks; nor is a commit that a crash cut short undone by another hard link than its
own.
"""

import errno
import json
import os
import secrets
import tempfile
from contextlib import ExitStack, contextmanager
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

from geodp.errors import DataError
from geodp.mechanisms.budgets import parse_budget
from geodp_release.promise.budget import UNITS
from geodp_release.promise.ledger_file import (
    APPLICATION,
    FINISHED,
    STARTED,
    Entry,
    connection_to,
    exact_sum,
    keyed_digest,
    ledger_errors,
    locked,
    make_tables,
    moment,
    read_account,
    seal,
    upgrade,
)
from geodp_release.promise.new_files import claim, move_to_new


class Ledger:
    """Privacy budget of one holder's data: `Ledger.create` it once, then `Ledger.open` it.

    Each call opens the file, checks it and closes it, so that a ledger may be used in several
    threads and processes.  A `DataError` says that the file is missing, damaged, no ledger or in
    use; it is left as it is.
    """

    def __init__(self, path: str | Path):
        # Without symbolic links, since draws are kept beside the file.
        self.path = Path(os.path.realpath(path))
        self._locks: ExitStack | None = None

    @classmethod
    def create(cls, path: str | Path, allowed: str | Decimal, unit) -> "Ledger":
        """Make a new ledger, which is complete or not there at all; only its owner can read it.

        The total budget of all releases is decimal text, in "epsilon" or "rho": of pure or of
        zero-concentrated differential privacy.  A `DataError` says that the file is there already
        or cannot be written, or that an argument is wrong.
        """
        total = _budget(allowed, "allowed")
        if unit not in UNITS:
            raise DataError(f"unit: {unit!r} is no unit of a budget: give epsilon or rho", "unit")
        ledger, named = cls(path), Path(path).absolute()
        with ledger_errors(named):
            # SQLite would play the journal of an earlier ledger back into this one.
            for taken in (str(named), f"{named}-journal"):
                if os.path.lexists(taken):
                    raise FileExistsError(errno.EEXIST, os.strerror(errno.EEXIST), taken)
            with tempfile.TemporaryDirectory(
                prefix=f".{ledger.path.name}.", dir=ledger.path.parent, ignore_cleanup_errors=True
            ) as folder:
                partial = Path(folder, "ledger")
                claim(partial)
                with connection_to(partial, writes=True) as connection:
                    connection.execute(f"PRAGMA application_id = {APPLICATION}")
                    make_tables(connection)
                    connection.execute("INSERT INTO budget VALUES (?, ?, '')", (unit, str(total)))
                    upgrade(connection)
                    seal(connection)
                move_to_new(partial, ledger.path)
        return ledger

    @classmethod
    def open(cls, path: str | Path) -> "Ledger":
        """Open a ledger that `Ledger.create` made."""
        ledger = cls(path)
        ledger._account()
        return ledger

    def reserve(self, key, amount, description, *, unit, fingerprint=None) -> Entry:
        """Spend a part of the budget on a release, before it draws.

        The part stays spent even if the process ends in the next moment, since the draw may have
        been seen.  So a second attempt at a release that started and left no draw is a new
        reservation, which spends again: nobody knows whether the first draw was seen.

        Key and description are a line of text each, which the caller knows to be public; the key
        identifies the release.  The amount is decimal text, in the unit of the ledger; the
        fingerprint is of the data file.

        Returns
        -------
        Entry
            A new one with status "started"; or, if a release of that key has finished or its draw
            is kept, its entry, and nothing is spent.

        Raises
        ------
        DataError
            Less than the amount is left, a draw of that description is under way, the ledger has
            another unit, or an argument is wrong.
        """
        amount = _budget(amount, "amount")
        for name, text in (("key", key), ("description", description)):
            if not isinstance(text, str) or not text.strip() or not text.isprintable():
                raise DataError(
                    f"{name}: {text!r} is not one line of printable text: give that", name
                )
        with self._writing() as (connection, account):
            found = self._found(account, key, amount, description, unit)
            if found is not None:
                return found
            number, now = len(account.entries) + 1, moment()
            # By chance, since an older copy of the ledger would give the number again.
            name = f"{self.path.name}-{number}-{secrets.randbelow(10**18):018}.json"
            draw = self.path.with_name(name)
            entry = Entry(number, now, STARTED, amount, key, description, None, fingerprint, draw)
            self._hold(entry)
            row = number, now, STARTED, str(amount), key, description
            connection.execute(
                "INSERT INTO releases VALUES (?, ?, ?, ?, ?, ?, ?, ?)",
                (*row, os.fsencode(draw), fingerprint),
            )
        return entry

    def resume(self, key, amount, description, *, unit) -> Entry | None:
        """As `reserve`, and with its refusals; ``None`` where that would make a new entry."""
        # In a transaction that could write: of two processes at once one gets a draw that is kept.
        with self._writing() as (_, account):
            return self._found(account, key, _budget(amount, "amount"), description, unit)

    @contextmanager
    def alone(self):
        """A context in which draws that are reserved or resumed are locked for other runs."""
        try:
            with ExitStack() as self._locks:
                yield
        finally:
            self._locks = None

    def paid(self, key, entries=None) -> Entry | None:
        """Entry of a release that is finished or has its draw kept, if there is one."""
        found = [each for each in entries or self.entries() if each.key == key]
        drawn = (each for each in found if self.kept(each) is not None)
        return next((each for each in found if each.finished), None) or next(drawn, None)

    def place(self, entry) -> Path:
        """Where the draw of a started release is kept."""
        when = "".join(filter(str.isdigit, entry.when))
        place = entry.draw or self.path.with_name(f"{self.path.name}-{entry.number}-{when}.json")
        # The ledger may have been moved with what is beside it, or be mounted elsewhere.
        beside = self.path.with_name(place.name)
        return beside if beside.is_file() or not place.parent.is_dir() else place

    def kept(self, entry) -> Path | None:
        """The file with the draw of a started release, if it is there; of no other release."""
        place = self.place(entry)
        if entry.status != STARTED or not place.is_file():
            return None
        try:
            key = json.loads(place.read_text(encoding="utf-8")).get("key")
        except (OSError, ValueError, AttributeError, RecursionError):
            # Who damaged it can mend it, which is told where it is loaded.
            return place
        # Earlier versions wrote no key.
        return place if key == entry.key or (key is None and entry.draw is None) else None

    def _found(self, account, key, amount, description, unit):
        """The entry of `paid`, its draw locked; ``None`` if a new one may be reserved."""
        if unit != account.unit:
            raise DataError(
                f"{self.path} accounts in {account.unit} and the release in {unit}, which do "
                "not add up: give a ledger of the release's unit",
                "unit",
            )
        for entry in account.entries:
            lock, named = self._lock(entry), (entry.status, entry.description)
            if named == (STARTED, description) and lock.exists():
                # That of a process that was killed is free, and is removed.
                with locked(lock, description):
                    pass
        # After that, since a run that ends may leave its draw.
        paid = self.paid(key, account.entries)
        if paid is not None and paid.finished:
            return paid
        if paid is not None:
            self._hold(paid)
        elif exact_sum([account.spent, amount]) > account.allowed:
            raise DataError(
                f"{self.path} allows {account.allowed:f} {unit}, of which {account.spent:f} is "
                f"spent, and the release asks for {amount:f} while {account.left:f} is left: "
                "ask for no more than that; nothing was spent",
                "amount",
            )
        return paid

    def _lock(self, entry):
        return self.place(entry).with_suffix(".lock")

    def _hold(self, entry):
        if self._locks is not None:
            self._locks.enter_context(locked(self._lock(entry), entry.description))

    def finish(self, entry, folder: str | Path) -> Entry:
        """Mark a started release as finished, completely in a folder."""
        with self._writing() as (connection, account):
            if entry.status != STARTED or entry not in account.entries:
                raise DataError(
                    f"{self.path}: release {entry.number} is not a started one of this ledger: "
                    "give the entry that reserve returned, once"
                )
            ended = replace(entry, status=FINISHED, folder=Path(folder).absolute(), draw=None)
            connection.execute(
                "UPDATE releases SET status = ?, folder = ? WHERE number = ?",
                # As bytes, since the name of a folder need not be text.
                (ended.status, os.fsencode(ended.folder), entry.number),
            )
        return ended

    def fingerprint(self, *paths: str | Path) -> str:
        """HMAC-SHA256 of the bytes of files with the ledger's secret; for the holder alone."""
        secret = self._account().secret
        if secret is None:
            with self._writing() as (_, account):
                secret = account.secret
        return keyed_digest(secret, paths)

    def note_check(self, reading, fingerprint, passed):
        """Keep what the last check of a file said of one of `ReleaseSettings.checked`."""
        with self._writing() as (connection, _):
            connection.execute(
                "DELETE FROM checks WHERE reading = ? AND fingerprint = ?", (reading, fingerprint)
            )
            connection.execute(
                "INSERT INTO checks VALUES (?, ?, ?, ?)",
                (moment(), reading, fingerprint, int(passed)),
            )

    def last_check(self, reading, fingerprint) -> bool | None:
        """What that check said, or ``None``; for the holder alone."""
        return self._account().checks.get((reading, fingerprint))

    def entries(self) -> tuple[Entry, ...]:
        """All releases, in the order of their reservations."""
        return self._account().entries

    @property
    def unit(self) -> str:
        """Unit of all budgets: "epsilon" or "rho"."""
        return self._account().unit

    @property
    def allowed(self) -> Decimal:
        """Total budget of all releases."""
        return self._account().allowed

    @property
    def spent(self) -> Decimal:
        """Sum of the started and the finished releases."""
        return self._account().spent

    @property
    def left(self) -> Decimal:
        """What further releases may spend."""
        return self._account().left

    def after(self, budget, key) -> str:
        """What a release of a budget and a key would leave, in a sentence."""
        account = self._account()
        if budget.unit != account.unit:
            return (
                f"{self.path} accounts in {account.unit} and the release in {budget.unit}: it "
                "would be refused."
            )
        now = f"{self.path} has {account.left:f} {account.unit} left"
        if any(each.key == key and each.finished for each in account.entries):
            return f"{now}; this release is in it already, and the same again spends nothing."
        if budget.amount > account.left:
            return f"{now}, less than the {budget.amount:f} of the release: it would be refused."
        left = exact_sum([account.left, budget.amount.copy_negate()])
        return f"{now}, and {left:f} after the release."

    def words(self) -> str:
        """A table with one line a release, and the totals."""
        account = self._account()
        rows = [("when", "status", account.unit, "description", "folder")]
        for each in account.entries:
            folder = "" if each.folder is None else str(each.folder)
            # Names of folders may have any character, and a terminal obeys some.
            shown = folder if folder.isprintable() else ascii(folder)
            rows.append((each.when, each.status, f"{each.amount:f}", each.description, shown))
        widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
        lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
        totals = f"allowed {account.allowed:f}, spent {account.spent:f}, left {account.left:f}"
        return "\n".join([*lines, f"{totals} ({account.unit})"])

    def _account(self):
        """What the file holds, from one moment."""
        with ledger_errors(self.path), connection_to(self.path) as connection:
            return read_account(connection, self.path)

    @contextmanager
    def _writing(self):
        """A transaction, with what the file holds before it; sealed if it changed anything."""
        with ledger_errors(self.path), connection_to(self.path, writes=True) as connection:
            account, before = read_account(connection, self.path), connection.total_changes
            if account.secret is None:
                account = replace(account, secret=upgrade(connection))
            yield connection, account
            if connection.total_changes > before:
                seal(connection)


def _budget(amount, key):
    """A budget from decimal text, which is not that of a rounded float."""
    if not isinstance(amount, str | Decimal):
        raise DataError(f'{key}: {amount!r} is not decimal text: give a budget such as "0.5"', key)
    return parse_budget(amount, key)
