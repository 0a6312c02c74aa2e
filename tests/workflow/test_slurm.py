"""The workflow on a real Slurm of one node: the tables of a local run, whatever is killed.

./run --with slurm pytest -m slurm

Its daemons are started here and stopped by process id.  It takes root, and Debian's slurm-wlm and
munge: apt-get install --no-install-recommends slurm-wlm munge.  All its files are in a temporary
folder, but for /etc/slurm/slurm.conf: jobs look for it there alone.
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
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

import psutil
import pytest
from beside import read

PROGRAMS = ("munged", "slurmctld", "slurmd", "sbatch", "srun", "squeue", "scancel", "sinfo")
CONFIGURATION = Path("/etc/slurm/slurm.conf")

# There is no accounting, so that squeue has to tell the state of jobs.
SETTINGS = Path(__file__).with_name("slurm.conf.txt").read_text()

# Blocks of cells that take some seconds.
FEW = read("slurm")

# Jobs of the cluster: all fits, three blocks of cells, and a table of errors of each study.
SUBMITTED = 1 + 3 + 2

# Seconds until something is seen that has to come.
PATIENCE = 240.0


def missing():
    """What this machine lacks to run a Slurm of its own, or an empty text."""
    if not sys.platform.startswith("linux") or os.geteuid() != 0:
        return "root on Linux, to start the daemons of Slurm"
    absent = [name for name in PROGRAMS if shutil.which(name) is None]
    if absent:
        return f"{', '.join(absent)}: apt-get install --no-install-recommends slurm-wlm munge"
    return f"no {CONFIGURATION}: remove it" if CONFIGURATION.exists() else ""


pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.skipif(bool(missing()), reason=f"needs {missing()}"),
]


@contextmanager
def daemon(*command):
    """A process in the foreground, in a session of its own, that is ended with the context."""
    silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
    # PR_SET_PDEATHSIG: it is ended when the one that started it ends, however that does.
    silent["preexec_fn"] = lambda: ctypes.CDLL(None).prctl(1, signal.SIGTERM)
    with subprocess.Popen(command, **silent, start_new_session=True) as process:
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(30.0)
            except subprocess.TimeoutExpired:
                process.kill()


def await_seen(what, seen, pause=0.2):
    """What a function sees, as soon as that is something."""
    end = time.monotonic() + PATIENCE
    while not (found := seen()):
        if time.monotonic() > end:
            raise TimeoutError(f"{what} did not come within {PATIENCE:.0f} s")
        time.sleep(pause)
    return found


def output(*command):
    """Standard output of a command of Slurm."""
    return subprocess.run(command, capture_output=True, text=True).stdout.strip()


@pytest.fixture(scope="module")
def slurm():
    """This machine as a Slurm of one node, idle at first."""
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
        host = socket.gethostname().split(".")[0]
        place = {"host": host, "folder": folder, "cpus": os.cpu_count(), "memory": found}
        # Never that of someone else.
        with open(CONFIGURATION, "x") as file:
            stack.callback(CONFIGURATION.unlink)
            file.write(SETTINGS.format(process=os.getpid(), **place))
        stack.enter_context(
            daemon(
                *("munged", "--foreground", "--force", f"--key-file={key}"),
                *(f"--{name}-file={folder}/munged.{name}" for name in ("log", "pid", "seed")),
                f"--socket={folder}/munge.socket",
            )
        )
        await_seen("munged", (folder / "munge.socket").exists)
        stack.enter_context(daemon("slurmctld", "-D", "-c"))
        stack.enter_context(daemon("slurmd", "-D"))
        await_seen("an idle node", lambda: output("sinfo", "--noheader", "--format=%T") == "idle")
        try:
            yield
        finally:
            # Jobs are no children of the daemons that end here.
            subprocess.run(["scancel", "--user", "root"], check=True)
            await_seen("the end of all jobs", lambda: not output("squeue", "--noheader"))


def tables(run):
    """Contents of all tables, by path."""
    return {name: path.read_bytes() for name, path in run.files("*.csv").items()}


def sampling(run, but=()):
    """A process of a script that draws for a checkout, as soon as there is one but these."""

    def seen():
        for process in psutil.process_iter():
            with suppress(psutil.Error, IndexError):
                mine = process.cwd() == str(run.root) and process not in but
                if mine and process.cmdline()[-1].endswith(".sample.py"):
                    return process
        return None

    return await_seen("a job that samples", seen, pause=0.05)


def test_killed_jobs_are_run_again_and_tables_are_those_of_a_local_run(slurm, made, checkout):
    local = made(FEW)
    local.run()
    checkout.configure(FEW)
    driver = checkout.start("--profile", "profiles/slurm")
    killed = sampling(checkout)
    killed.kill()
    cancelled = sampling(checkout, but=[killed])
    subprocess.run(["scancel", cancelled.environ()["SLURM_JOB_ID"]], check=True)
    printed, _ = driver.communicate()
    assert driver.returncode == 0, printed
    assert tables(checkout) == tables(local)
    assert len(re.findall("has been submitted with SLURM jobid", printed)) == SUBMITTED + 2
    assert checkout.planned() == {}
