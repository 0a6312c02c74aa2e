"""Files that jobs made: what is noted of them, and what jobs that were killed left beside them."""

import os
import re
import threading
import time
from contextlib import suppress
from pathlib import Path

from reproduction.disk import digest_of

# Snakemake's files, in the working directory.
FOLDER = Path(".snakemake")
# Of each file: digest, size, time of the last change, path. The last line of a file counts.
MADE = FOLDER / "made.txt"
# In the environment of jobs on the machine of their run: the number of its process.
RUN = "GEODP_RUN"
# What the log of a job says that Ctrl-C stopped.
INTERRUPTED = "Interrupted: start the run again to go on."


def note(paths):
    """Note the digests of files that a job made."""
    found = [(path, os.stat(path)) for path in map(str, paths)]
    lines = [line(path, digest_of(path), s.st_size, s.st_mtime_ns) for path, s in found]
    _append("".join(lines))


def damaged_input(paths):
    """A sentence if one of these files is not as its job left it, else nothing.

    The next run makes such a file again, even if its size and time have not changed.
    """
    noted = made()
    for path in map(str, paths):
        if path in noted and os.path.isfile(path) and digest_of(path) != noted[path][0]:
            _append(line(path, noted[path][0], -1, -1))
            return f"Error: {path} was damaged since it was made: start the run again to make it"
    return ""


def remove_partial(paths):
    """Remove what jobs that were killed had begun to write in place of these files."""
    for folder in {Path(path).parent for path in paths}:
        names = {Path(path).name for path in paths if Path(path).parent == folder}
        for entry in os.scandir(folder) if folder.is_dir() else ():
            partial = re.fullmatch(r"\.\d+\.(.+)", entry.name)
            if partial and partial[1] in names:
                os.unlink(entry)


def end_with_the_run():
    """End this job when the run that started it was killed.

    Between a job and its run there may be a shell, which the job would outlive as a child.
    """
    parent = os.getppid()
    run = os.environ.get(RUN, "")
    # Whoever cannot see the run's process cannot watch it.
    watched = int(run) if run and is_alive(int(run)) else parent

    def watch():
        while os.getppid() == parent and is_alive(watched):
            time.sleep(0.5)
        os._exit(1)

    threading.Thread(target=watch, daemon=True).start()


def is_alive(process):
    """Whether there is a process with this number on this machine."""
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass
    return True


def _append(lines):
    """Add lines in one step, since jobs do so at the same time; none outside of a run's folder."""
    with suppress(OSError), open(MADE, "a", encoding="utf-8") as file:
        file.write(lines)


def line(path, digest, size, changed):
    """A line of the file of notes."""
    return f"{digest} {size} {changed} {path}\n"


def made():
    """What is noted of files that jobs made: digest, size and time of the last change, by path."""
    try:
        text = MADE.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return {}
    # A line may have been cut off.
    found = re.findall(r"(?m)^([0-9a-f]{16}) (-?\d+) (-?\d+) (.+)$", text)
    return {path: (digest, int(size), int(changed)) for digest, size, changed, path in found}
