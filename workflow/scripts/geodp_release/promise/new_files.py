"""Files that are complete or not there at all, and that never take another's place."""

import os
from threading import Lock

# Held while permissions are others: two threads at once would keep these.
_UMASK = Lock()


def umask():
    """Permissions that new files are denied."""
    with _UMASK:
        # Reading them sets them.
        found = os.umask(0o077)
        os.umask(found)
    return found


def claim(path):
    os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600))


def move_to_new(partial, path):
    """Give a file a path that is not taken; its old path may stay, for the caller to remove."""
    try:
        os.link(partial, path)
    except FileExistsError:
        raise
    except OSError:
        # A file system without hard links, or an error that the next line meets again.
        claim(path)
        try:
            os.replace(partial, path)
        except BaseException:
            os.unlink(path)
            raise
