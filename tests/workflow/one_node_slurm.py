"""A Slurm of one node on this machine, started and stopped by process id.

It takes root, and Debian's slurm-wlm and munge: apt-get install --no-install-recommends
slurm-wlm munge.  All its files are in a temporary folder, but for /etc/slurm/slurm.conf: jobs
look for it there alone.
"""

import ctypes
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from contextlib import ExitStack, contextmanager
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "sinfo")
CONFIGURATION = Path("/etc/slurm/slurm.conf")

# Seconds that the daemons have to start or to stop, each.
PATIENCE = 30.0

# There is no accounting, so that squeue has to tell the state of jobs.
SETTINGS = Path(__file__).with_name("slurm.conf.txt").read_text()


def missing():
    """What this machine lacks to run a Slurm of its own, or an empty text."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "root on Linux, to start the daemons of Slurm"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)}: apt-get install --no-install-recommends slurm-wlm munge"
    if CONFIGURATION.exists() and not _is_left_behind():
        return f"no {CONFIGURATION}: this machine has a Slurm already"
    try:
        socket.gethostbyname(_host())
    except OSError:
        return f"an address of the host {_host()} in /etc/hosts"
    return ""


def _is_left_behind():
    """Whether a process that was killed left the configuration."""
    found = re.match(r"# Of one_node_slurm.py, process (\d+)\n", CONFIGURATION.read_text())
    return found is not None and not Path("/proc", found[1]).exists()


def _host():
    return socket.gethostname().split(".")[0]


def _end_with_parent():
    """Have this process ended when the one that started it ends, however that does."""
    ctypes.CDLL(None).prctl(1, signal.SIGTERM)  # PR_SET_PDEATHSIG


@contextmanager
def _daemon(*command):
    """A process in the foreground, in a session of its own, that is ended with the context."""
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    with subprocess.Popen(
        command, **silent, start_new_session=True, preexec_fn=_end_with_parent
    ) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(PATIENCE)
            except subprocess.TimeoutExpired:
                process.kill()


def _wait(what, ready):
    end = time.monotonic() + PATIENCE
    while not ready():
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {PATIENCE:.0f} s")
        time.sleep(0.2)


def output(*command):
    """Standard output of a command of Slurm."""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


@contextmanager
def one_node_slurm():
    """Context in which this machine is a Slurm of one node, idle at first."""
    folder = Path(tempfile.mkdtemp(prefix="slurm."))
    with ExitStack() as stack:
        stack.callback(shutil.rmtree, folder)
        folder.chmod(0o755)
        for name in ("state", "spool"):
            (folder / name).mkdir()
        key = folder / "munge.key"
        key.touch(0o600)
        key.write_bytes(os.urandom(128))
        [found] = re.findall(r"RealMemory=(\d+)", output("slurmd", "-C"))
        text = SETTINGS.format(
            **{"process": os.getpid(), "host": _host(), "folder": folder},
            **{"cpus": os.cpu_count(), "memory": found},
        )
        if CONFIGURATION.exists() and _is_left_behind():
            CONFIGURATION.unlink()
        # Never that of someone else.
        with open(CONFIGURATION, "x") as file:
            stack.callback(CONFIGURATION.unlink)
            file.write(text)
        stack.enter_context(
            _daemon(
                *("munged", "--foreground", "--force", f"--key-file={key}"),
                *(f"--{name}-file={folder}/munged.{name}" for name in ("log", "pid", "seed")),
                f"--socket={folder}/munge.socket",
            )
        )
        _wait("munged", (folder / "munge.socket").exists)
        stack.enter_context(_daemon("slurmctld", "-D", "-c"))
        stack.enter_context(_daemon("slurmd", "-D"))
        _wait("an idle node", lambda: output("sinfo", "--noheader", "--format=%T") == "idle")
        try:
            yield
        finally:
            # Jobs are no children of the daemons that end here.
            subprocess.run(["scancel", "--user", "root"], check=True)
            _wait("the end of all jobs", lambda: not output("squeue", "--noheader"))
