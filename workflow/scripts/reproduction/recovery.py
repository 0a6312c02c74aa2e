"""Recovery of a run from faults: one run at a time in a folder, and damaged files are made again.

Before the first job, files that are no longer as their jobs left them are marked as incomplete, as
Snakemake marks those of jobs that were killed.
"""

import fcntl
import json
import os
import platform
import shutil
import sys
from base64 import urlsafe_b64decode
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path

from reproduction.disk import digest_of, no_access
from reproduction.made import FOLDER, MADE, line, made

# Held by a run: the kernel drops the lock when the run is gone, however it ended.
LOCK = FOLDER / "run.lock"

# Most files that are named as damaged.
NAMED = 5


def guard(workflow):
    """Have a workflow's runs hold their folder, and repair it before their first job.

    Parameters
    ----------
    workflow : snakemake.workflow.Workflow
        Dry runs and calls that run nothing are left as they are.
    """
    execute = workflow.execute

    @wraps(execute)
    def guarded(*, executor_plugin, **others):
        if not workflow.is_main_process or executor_plugin.common_settings.dryrun_exec:
            return execute(executor_plugin=executor_plugin, **others)
        try:
            # With --nolock one answers for several runs oneself.
            if not workflow.execution_settings.lock:
                return execute(executor_plugin=executor_plugin, **others)
            FOLDER.mkdir(exist_ok=True)
            with held():
                mark_damaged()
                return execute(executor_plugin=executor_plugin, **others)
        except Exception as problem:
            sentence = no_access(problem)
            if not sentence:
                raise
            sys.exit(sentence)

    workflow.execute = guarded


@contextmanager
def held():
    """Context of the only run in the working directory; removes what a killed run had locked."""
    with open(LOCK, "a+", encoding="utf-8") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            lock.seek(0)
            sys.exit(
                f"Error: another run is at work in {Path.cwd()} ({lock.read().strip()}): wait for "
                "its end or stop it, or work in another folder with --directory"
            )
        except OSError:
            # Not every file system has such locks, but Snakemake's own remain.
            yield
            return
        lock.seek(0)
        if lock.read():
            # Its run did not get to its end, and it is gone.
            shutil.rmtree(FOLDER / "locks", ignore_errors=True)
        lock.truncate(0)
        print(f"process {os.getpid()} on {platform.node()}", file=lock, flush=True)
        try:
            yield
        finally:
            lock.truncate(0)


def mark_damaged():
    """Mark files as incomplete that are not as their jobs left them, or whose records are damaged.

    Outputs of jobs that are marked so are made again, and what depends on them.
    """
    from snakemake.persistence.file import FilePersistence

    kept, damaged = {}, set(_damaged_records())
    for path, (digest, size, changed) in made().items():
        try:
            found = os.stat(path)
        except FileNotFoundError:
            continue
        if (found.st_size, found.st_mtime_ns) == (size, changed):
            kept[path] = digest, size, changed
        elif digest_of(path) == digest:
            kept[path] = digest, found.st_size, found.st_mtime_ns
        else:
            damaged.add(path)
    marks = FilePersistence(nolock=True)
    for path in sorted(damaged):
        marks._mark_incomplete(path, None)
    named = ", ".join(sorted(damaged)[:NAMED])
    more = f" and {len(damaged) - NAMED} more" if len(damaged) > NAMED else ""
    if damaged:
        print(f"Damaged since they were made, and made again: {named}{more}", file=sys.stderr)
    complete = MADE.with_suffix(".new")
    complete.write_text("".join(line(path, *kept[path]) for path in sorted(kept)))
    complete.replace(MADE)


def _damaged_records():
    """Remove records of Snakemake's that it cannot read; yield the files that they are about."""
    folder = FOLDER / "metadata"
    for path in [path for path in folder.rglob("*") if path.is_file()]:
        try:
            if isinstance(json.loads(path.read_bytes()), dict):
                continue
        except ValueError:
            pass
        path.unlink()
        name = "".join(part.removeprefix("@") for part in path.relative_to(folder).parts)
        with suppress(ValueError):
            yield urlsafe_b64decode(name).decode()
