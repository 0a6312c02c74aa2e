"""Places of files: the project's own in its checkout, a user's in the working directory."""

import hashlib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]


def shipped(path):
    """Path of a file of the project, from the working directory of the run.

    Parameters
    ----------
    path : str
        From the folder of the checkout.

    Returns
    -------
    str
        The same path if the checkout is the working directory, so that a checkout with its results
        can be moved; else absolute.
    """
    return path if Path.cwd() == CHECKOUT else str(CHECKOUT / path)


def find(paths):
    """Files that a configuration names, in the working directory or else in the checkout.

    Parameters
    ----------
    paths : list of str

    Returns
    -------
    list of str
        Those of the first of the two folders that has any.
    """
    there = [path for path in paths if Path(path).is_file()]
    return there or [shipped(path) for path in paths if (CHECKOUT / path).is_file()]


def folders(path):
    """The folders that a path was looked for in, in words for an error; none if it is absolute."""
    if Path(path).is_absolute():
        return ""
    here = Path.cwd()
    return f" in {here}" if here == CHECKOUT else f" in {here} or in {CHECKOUT}"


def digest_of(path):
    """Digest of the content of a file, so that a changed one runs jobs again; None without one."""
    if not path:
        return None
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()[:16]
