"""Disks that are full: how to tell, and what to say."""

import errno
import shutil
from pathlib import Path

# Errors of writing that mean it: no space, a quota that is used up, a limit of the size of files.
ERRORS = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG)

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
    if not _caused(problem) and shutil.disk_usage(folder).free >= LEAST:
        return ""
    disk = next(each for each in (folder, *folder.parents) if each.is_mount())
    return f"Error: the disk at {disk} is full: free some space, then start the run again"


def says_full(text):
    """Whether a text repeats the error of a full disk."""
    return any(f"[Errno {number}]" in text for number in ERRORS)


def _caused(problem):
    """Whether an exception, or one that it followed, is an error of a full disk."""
    seen = []
    while problem is not None and problem not in seen:
        if isinstance(problem, OSError) and problem.errno in ERRORS:
            return True
        seen.append(problem)
        problem = problem.__cause__ or problem.__context__
    return False
