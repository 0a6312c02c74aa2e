"""Places of files: the project's own in its checkout, a user's in the working directory."""

import hashlib
from pathlib import Path

CHECKOUT = Path(__file__).resolve().parents[3]


def shipped(path):
    """Path of a file of the checkout, from the working directory of the run.

    Relative if that is the checkout, so that a checkout with its results can be moved.
    """
    return path if Path.cwd() == CHECKOUT else str(CHECKOUT / path)


def find(paths):
    """Files of a configuration, in the working directory or, if it has none, in the checkout."""
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
