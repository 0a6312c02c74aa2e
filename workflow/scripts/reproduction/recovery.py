"""Recovery of a run from faults: one run at a time in a folder, and changed files are made again.

Before the first job, files that are no longer as their jobs left them are marked as incomplete, as
Snakemake marks those of jobs that were killed.
"""

import fcntl
import json
import os
import platform
import re
import shutil
import sys
from base64 import urlsafe_b64decode
from contextlib import contextmanager, suppress
from functools import wraps
from pathlib import Path

from reproduction.disk import digest_of, no_access
from reproduction.made import FOLDER, MADE, RUN, is_alive, line, made

# Held by a run: the kernel drops the lock when the run is gone, however it ended.
LOCK = FOLDER / "run.lock"

# Most files that are named as changed.
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
        has_jobs_elsewhere = executor_plugin.common_settings.non_local_exec
        os.environ.pop(RUN, None)
        if not has_jobs_elsewhere:
            os.environ[RUN] = str(os.getpid())
        try:
            # With --nolock one answers for several runs oneself.
            if not workflow.execution_settings.lock:
                return execute(executor_plugin=executor_plugin, **others)
            FOLDER.mkdir(exist_ok=True)
            with held(has_jobs_elsewhere):
                if mark_changed():
                    # Without a profile too.
                    workflow.dag_settings.force_incomplete = True
                return execute(executor_plugin=executor_plugin, **others)
        except Exception as problem:
            sentence = no_access(problem)
            if not sentence:
                raise
            sys.exit(sentence)

    workflow.execute = guarded


@contextmanager
def held(has_jobs_elsewhere=False):
    """Context of the only run in the working directory; removes what a killed run had locked.

    Parameters
    ----------
    has_jobs_elsewhere : bool
        Whether jobs of this run live on if it is killed, as those of a cluster do.
    """
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
        last = lock.read().strip()
        locked = FOLDER / "locks"
        if last and is_gone(last):
            shutil.rmtree(locked, ignore_errors=True)
        elif last and locked.is_dir() and any(locked.iterdir()):
            sys.exit(
                f"Error: another run was at work in {Path.cwd()} ({last}), and from here it cannot "
                "be told whether it and its jobs have ended: when they have, unlock with "
                "--unlock, then start again"
            )
        lock.truncate(0)
        where = ", jobs elsewhere" if has_jobs_elsewhere else ""
        print(f"process {os.getpid()} on {platform.node()}{where}", file=lock, flush=True)
        try:
            yield
        finally:
            lock.truncate(0)


def is_gone(run):
    """Whether a run that did not get to its end, and its jobs, are gone for sure.

    That the lock could be had does not tell: with some file systems it is of one node only.
    """
    found = re.fullmatch(r"process (\d+) on (.*)", run)
    if not found or found[2] != platform.node():
        return False
    process = int(found[1])
    # In containers numbers come again.
    return process == os.getpid() or not is_alive(process)


def mark_changed():
    """Mark files as incomplete that are not as their jobs left them, or whose records are damaged.

    Outputs of jobs that are marked so are made again when a target needs them, and what depends on
    them.  Until then what is noted of them stays.

    Returns
    -------
    bool
        Whether any file is marked.
    """
    from snakemake.persistence.file import FilePersistence

    kept, changed_files = {}, set(_damaged_records())
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
            kept[path] = digest, size, changed
            changed_files.add(path)
    marks = FilePersistence(nolock=True)
    for path in sorted(changed_files):
        marks._mark_incomplete(path, None)
    named = ", ".join(sorted(changed_files)[:NAMED])
    more = f" and {len(changed_files) - NAMED} more" if len(changed_files) > NAMED else ""
    if changed_files:
        print(
            f"Changed since they were made; made again when needed: {named}{more}", file=sys.stderr
        )
    complete = MADE.with_suffix(".new")
    complete.write_text("".join(line(path, *kept[path]) for path in sorted(kept)))
    complete.replace(MADE)
    return bool(changed_files)


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
