"""A release from its settings to its folder: plan, read, reserve, draw, keep, write, finish.

Data are read before anything is spent, so that a lack of memory or an interruption costs nothing;
what else is wrong with them tells of records, and is told after it was paid for.  A draw is kept
beside the ledger until its folder is there, so that no error after it loses what was paid for: the
same settings again make the folder.  One release at a time is made in a process, and of a name.

What is said and raised here is public.  What tells of records goes to a file that their holder
names, or nowhere.
"""

import logging
import os
import sys
import warnings
from contextlib import contextmanager, redirect_stderr, redirect_stdout, suppress
from pathlib import Path
from threading import Lock
from typing import Any

from geodp.errors import DataError
from geodp.settings.settings_files import PlainLoader, check, load_keys
from geodp_release.ask import planning
from geodp_release.ask.checking import check_data, words_of
from geodp_release.ask.release_records import read_data, refuse_missing
from geodp_release.ask.settings import FRAME, ReleaseSettings
from geodp_release.promise.ledger import Ledger
from geodp_release.promise.ledger_file import CANCELLED
from geodp_release.run.subjects import QUIET, subject_records
from geodp_release.show.document import write_release
from geodp_release.show.folder import refuse_taken, write_folder
from geodp_release.show.release import Release, release_records

# Held by the release that is made in this process.
_ALONE = Lock()


def publish(settings, tell=lambda words: None, *, plan=None, despite_check=False, for_holder=None):
    """Make a release once; its folder, relative if below the working directory, and if it is new.

    A second call returns the folder of the first and spends nothing.  ``tell`` takes sentences that
    do not depend on the data.  ``plan`` is that of the settings, where it was made before.
    ``despite_check`` releases even if the last check of the file said no.  ``for_holder`` is the
    path of a new file for what tells of records; by default none of it is computed.  A `DataError`
    does not tell of records; a `KeyboardInterrupt` says what was spent.
    """
    plan = plan or planning.plan_of(settings)
    verdict = planning.verdict(settings, plan)
    if plan.is_noise and not settings.allow_noise:
        raise DataError(f"{verdict} Set allow_noise to true to release it. Nothing was spent")
    tell(verdict)
    # What is tabulated is public: whatever is wrong with it shows before anything is spent.
    _ = settings.covariates()
    ledger = Ledger.open(settings.ledger)
    key, before = settings.key(plan), ledger.entries()
    is_interrupted = False
    try:
        with _one_at_once(), ledger.alone():
            made, is_new = _made(settings, plan, ledger, key, tell, despite_check, for_holder)
    except KeyboardInterrupt:
        is_interrupted = True
    # Outside the handler, so that no traceback can show what was being handled in turn.
    if is_interrupted:
        raise KeyboardInterrupt(f"interrupted: {_left_by(ledger, key, plan.budget, before)}")
    # The ledger keeps absolute paths, and settings what was written.
    made, here = made.absolute(), Path.cwd()
    return made.relative_to(here) if made.is_relative_to(here) else made, is_new


def release(data, settings, *, tell=None, despite_check=False) -> Release:
    """Make the release of a data frame, once: with the folder and the ledger of `geodp release`.

    Parameters
    ----------
    data : pandas.DataFrame or None
        A record a row; None where the settings name a file.
    settings : str, Path or dict
        File of settings, as `geodp init` writes it, or its keys and values; without
        ``data.source`` and ``data.path`` where data are given.
    tell : callable, optional
        Takes sentences that do not depend on the data; by default `print`.
    despite_check : bool
        Release even if the last check of the file said no.

    Returns
    -------
    Release
        Of the first call, if its name was released before from the ledger.

    Raises
    ------
    DataError
        One sentence, which does not tell of records.
    """
    # Others lack what reads a column, which would show when it is paid for. None is imported here.
    pandas = sys.modules.get("pandas")
    if data is not None and not (pandas and isinstance(data, pandas.DataFrame)):
        raise DataError(
            f"data are of type {type(data).__name__}: give a data frame of pandas, such as "
            "pandas.DataFrame(data)"
        )
    given = settings if isinstance(settings, dict) else load_keys(settings, loader=PlainLoader)
    if data is not None:
        given = given | {"data": {**(given.get("data") or {}), "source": "table", "path": FRAME}}
    checked = check(ReleaseSettings, given)
    if data is not None:
        checked.data.set_frame(data)
    folder, _ = publish(checked, tell or print, despite_check=despite_check)
    return Release.load(folder / "release.json")


def _left_by(ledger, key, budget, before):
    """What an interrupted release spent, in words."""
    found = [each for each in ledger.entries()[len(before) :] if each.key == key]
    if not found:
        return f"nothing of {ledger.path} was spent"
    amount = f"{budget.amount} {budget.unit} of {ledger.path}"
    if found[-1].finished:
        return f"{amount} is spent, and the release is complete in {found[-1].folder}"
    return f"{amount} stays spent{_kept_words(ledger, found[-1])}"


def refuse_other(settings, ledger, key):
    """Refuse the name of a release that was made of other data or with other settings.

    Else a key of the settings that changed, or a new version of geodp, would pay again unseen.
    """
    entries = ledger.entries()
    if any(entry.key == key and entry.finished for entry in entries):
        return
    for entry in entries:
        if entry.description != settings.name or entry.key == key:
            continue
        kept = None if entry.finished else ledger.kept(entry)
        if entry.finished or kept is not None:
            what = f"drawn, which {kept} keeps" if kept else f"released into {entry.folder}"
            raise DataError(
                f"{settings.name} was {what}, from data at another path, with other settings or by "
                "another version of geodp: give what was given then, or another name for a release "
                "of its own, which spends; nothing was spent"
            )


def fingerprint_of(settings, ledger):
    """Fingerprint of the data file, or ``None`` for simulated data; for the holder alone."""
    if settings.data.source != "table" or settings.data.path == FRAME:
        return None
    try:
        return ledger.fingerprint(*settings.data.paths)
    except OSError as problem:
        joined = settings.data.join and settings.data.join.path
        key = "data.join.path" if problem.filename == joined else "data.path"
        raise DataError(
            f"key {key}: {problem.filename} cannot be read ({problem.strerror}): correct the path"
        ) from None


def since(settings, ledger, key):
    """Whether the data changed since their release, in a sentence for the holder alone."""
    begun = [each for each in ledger.entries() if each.status != CANCELLED]
    entries = [each for each in begun if each.key == key]
    if not entries:
        others = any(each.description == settings.name for each in begun)
        what = f"{settings.name} was not released from {ledger.path}"
        return f"{what} as it is here, but from other data or settings." if others else f"{what}."
    entry = next((each for each in entries if each.finished), entries[-1])
    what = f"the release that {ledger.path} began on {entry.when}"
    if entry.fingerprint is None:
        return f"There is no fingerprint of the data of {what}, which may have changed since."
    try:
        if fingerprint_of(settings, ledger) == entry.fingerprint:
            return f"The data are those of {what}."
        return f"The data changed since {what}."
    except DataError as problem:
        return f"Whether the data of {what} changed cannot be said: {problem}."


def _holders_file(path):
    """A function that adds lines to a new file for the holder alone; ``None`` without a path."""
    if path is None:
        return None
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))
    except OSError as problem:
        raise DataError(
            f"the file for the holder {path} cannot be made ({problem.strerror}): give a new one; "
            "nothing was spent"
        ) from None

    def note(lines):
        # Whether they fit on the disk would tell of them, and the release is paid for.
        with suppress(OSError), open(path, "a", encoding="utf-8", errors="backslashreplace") as out:
            out.writelines(f"{line}\n" for line in lines)

    note(["For the holder of the data alone: this tells of records."])
    return note


@contextmanager
def _one_at_once():
    """A context for one release in this process, since silence is of the process as a whole."""
    if not _ALONE.acquire(blocking=False):
        raise DataError(
            "another release is being made in this process: wait until it has ended, or make "
            "this one in a process of its own; nothing was spent"
        )
    try:
        yield
    finally:
        _ALONE.release()


def _silently(function, *given):
    """What a function returns, and in words what prevented it, and whether that was its size.

    Nothing else is said: warnings and logs of whatever is called may quote records.
    """
    disabled = logging.root.manager.disable
    try:
        with (
            QUIET,
            warnings.catch_warnings(),
            open(os.devnull, "w") as nowhere,
            redirect_stdout(nowhere),
            redirect_stderr(nowhere),
        ):
            warnings.simplefilter("ignore")
            logging.disable()
            return function(*given), None, False
    except KeyboardInterrupt:
        raise
    except BaseException as problem:  # a panic of compiled code is no Exception
        # Of a file that cannot be read readers say so, whatever the reason.
        is_full = any(isinstance(each, MemoryError) for each in (problem, problem.__context__))
        return None, words_of(problem), is_full
    finally:
        logging.disable(disabled)


def _made(settings, plan, ledger, key, tell, despite_check, for_holder):
    """Find or make the folder of a release; the folder, and whether it is new."""
    name, budget, folder = settings.name, plan.budget, Path(settings.folder)
    spent = f"{budget.amount} {budget.unit} of {ledger.path} stays spent"
    paid = ledger.paid(key)
    if paid is None or not paid.finished:
        refuse_taken(folder)
    refuse_other(settings, ledger, key)
    entry = ledger.resume(key, budget.amount, name, unit=budget.unit)
    _refuse_published(for_holder, folder, entry)
    fingerprint = fault = release = None
    found: Any = None
    if entry is None:
        is_told = for_holder is not None
        fingerprint, found, fault = _read(settings, plan, ledger, despite_check, is_told)
        # Another run may have ended meanwhile.
        refuse_other(settings, ledger, key)
    note = _holders_file(for_holder)
    if entry is None:
        entry = ledger.reserve(key, budget.amount, name, unit=budget.unit, fingerprint=fingerprint)
    kept = ledger.kept(entry)
    if entry.finished or kept is not None:
        made = entry.folder, False
        if kept is not None:
            release, fault, _ = _silently(Release.load, kept)
            if fault is not None:
                raise DataError(
                    f"{kept} keeps a draw and is damaged: put a copy back, or remove it, after "
                    "which the same settings draw anew and spend again; nothing was spent"
                )
            made = _written(release, settings, ledger, entry, folder, spent)
        elif not (entry.folder / "release.json").is_file():
            raise DataError(
                f"{name} was released into {entry.folder}, which is not there, and the ledger "
                "keeps no copy of a finished release: move the folder back there, or give another "
                "name for another draw, which spends again; nothing was spent"
            )
        if entry.finished and os.path.realpath(folder) != os.path.realpath(entry.folder):
            tell(f"The folder {folder} is not made: the release is in {entry.folder}.")
        # Said whether the data changed or not.
        tell(
            "The release is of the data as they were when it was drawn; `geodp check` tells their "
            "holder whether the file is still the same."
        )
        if note is not None:
            note([since(settings, ledger, key)])
        return made
    if fault is None:
        data, records = found
        release, fault, _ = _silently(_drawn, plan, records, ledger.place(entry), key)
    if fault is not None:
        words = _kept_words(ledger, entry)
        if note is not None:
            note([f"{fault}; {spent}{words}"])
        what = "the folder is not written" if words else "nothing is released"
        raise DataError(
            f"the data of {name} cannot be used as its settings say, and {what}; `geodp check` "
            f"tells the holder why; {spent}{words}"
        )
    made = _written(release, settings, ledger, entry, folder, spent)
    if note is not None:
        check, fault, _ = _silently(check_data, settings, plan, data)
        note([fault] if check is None else check.words(released=True))
    return made


def _read(settings, plan, ledger, despite_check, is_told):
    """Fingerprint, `_records`, and in words what is wrong with the data as a whole."""
    refuse_missing(settings)
    fingerprint = fingerprint_of(settings, ledger)
    answers = [ledger.last_check(each, fingerprint) for each in settings.checked]
    if False in answers and not despite_check:
        raise DataError(
            "the last check of this file said no: run `geodp check`, mend the data, or give "
            "--despite-check; nothing was spent"
        )
    # As the draw will have them, when it is too late for want of memory.
    found, fault, is_full = _silently(_records, settings, plan, is_told)
    if is_full:
        raise DataError(
            f"the data of {settings.name} do not fit into memory: end other programs, or take a "
            "machine with more of it and of space for temporary files; nothing was spent"
        )
    if fingerprint_of(settings, ledger) != fingerprint:
        raise DataError(
            f"{' or '.join(settings.data.paths)} changed while it was read: run it again when "
            "nothing writes there; nothing was spent"
        )
    return fingerprint, found, fault


def _records(settings, plan, is_told):
    """What `read_data` reads, if their holder is told of it, and `SubjectRecords` of it."""
    data = read_data(settings)
    return data if is_told else None, subject_records(plan.assumptions, *data)


def _refuse_published(path, folder, entry):
    """Refuse a file for the holder in the folder of the release, which others will see."""
    for place in () if path is None else (folder, entry and entry.folder):
        found = Path(os.path.realpath(path))
        if place is not None and Path(os.path.realpath(place)) in (found, *found.parents):
            raise DataError(
                f"the file for the holder {path} is in {place}, which is published: give a path "
                "elsewhere; nothing was spent"
            )


def _drawn(plan, records, place, key):
    """A release that is also kept at a place."""
    # Whatever is found, the release is made: that it was not would tell of records.
    release = release_records(plan, records)
    # Without space for it here there may still be some for the folder.
    with suppress(DataError):
        write_release(release, place, key=key)
        place.chmod(0o600)
    return release


def _written(release, settings, ledger, entry, folder, spent):
    """Write the folder of a release that was drawn, and finish."""
    try:
        write_folder(release, settings, folder)
    except Exception as problem:
        raise DataError(f"{words_of(problem)}; {spent}{_kept_words(ledger, entry)}") from None
    ledger.finish(entry, folder)
    if (kept := ledger.kept(entry)) is not None:
        kept.unlink(missing_ok=True)
    return folder, True


def _kept_words(ledger, entry):
    """What follows for a release that is not finished, where its draw was kept."""
    kept = ledger.kept(entry)
    if kept is None:
        return ""
    return f", and {kept} keeps the draw: the same settings again make the folder from it"
