"""Disks that are full or closed to a user: how to tell, and what to say. Digests of files."""

import errno
import hashlib
import os
import shutil
from pathlib import Path

# Errors of writing that mean it: no space, a quota that is used up, a limit of the size of files.
ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

# Errors of access to a file or its folder.
CLOSED = (errno.EACCES, errno.EPERM, errno.EROFS)

# Bytes below which a disk counts as full.
LEAST = 1 << 14


def full_disk(path, problem=None):
    """A sentence if the disk of a path is full, else nothing.

    Parameters
    ----------
    path : str or Path
        A file that may not be there.
    problem : BaseException, optional
        That the disk may have been the cause of.  What failed may have been deleted since.

    Returns
    -------
    str
    """
    path = Path(path).resolve()
    folder = next(each for each in (path, *path.parents) if each.is_dir())
    if not _cause(problem, ERRORS) and shutil.disk_usage(folder).free >= LEAST:
        return ""
    disk = next(each for each in (folder, *folder.parents) if each.is_mount())
    return f"Error: the disk at {disk} is full: free some space, then start the run again"


def says_full(text):
    """Whether a text repeats the error of a full disk."""
    return any(f"[Errno {number}]" in text for number in ERRORS)


def no_access(problem):
    """A sentence if an exception came from a file that may not be written or read, else nothing."""
    cause = _cause(problem, CLOSED)
    if not cause:
        return ""
    return (
        f"Error: {os.strerror(cause.errno).lower()}: {cause.filename}: let this user write there, "
        "or work in another folder with --directory"
    )


def digest_of(path):
    """Digest of the content of a file, so that a changed one runs jobs again; None without one."""
    if not path:
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]


def with_causes(problem):
    """An exception and those that it followed, the last first."""
    seen: list = []
    while problem is not None and problem not in seen:
        seen.append(problem)
        problem = problem.__cause__ or problem.__context__
    return seen


def _cause(problem, errors):
    """An exception, or one that it followed, that is one of these errors; else nothing."""
    found = (each for each in with_causes(problem) if isinstance(each, OSError))
    return next((each for each in found if each.errno in errors), None)
