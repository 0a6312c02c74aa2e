"""The workflow on a real Slurm of one node: the tables of a local run, whatever is killed.

./run --with slurm pytest -m slurm
"""

import re
import subprocess
import time

import one_node_slurm
import psutil
import pytest
from beside import read

pytestmark = [
    pytest.mark.slurm,
    pytest.mark.slow,
    pytest.mark.skipif(bool(one_node_slurm.missing()), reason=f"needs {one_node_slurm.missing()}"),
]

# Blocks of cells that take some seconds.
FEW = read("slurm")

PROFILE = ("--profile", "profiles/slurm")

# Jobs of the cluster: all fits, three blocks of cells, and a table of errors of each study.
SUBMITTED = 1 + 3 + 2

# Seconds until something is seen that has to come.
PATIENCE = 240.0


@pytest.fixture(scope="module")
def slurm():
    with one_node_slurm.one_node_slurm():
        yield


@pytest.fixture(scope="module")
def wanted(made):
    """Tables of a local run, by path."""
    run = made(FEW)
    run.run()
    return tables(run)


@pytest.fixture
def cluster(slurm, checkout):
    """A checkout without results, and a node for its jobs."""
    checkout.configure(FEW)
    return checkout


def tables(run):
    """Contents of all tables, by path."""
    return {name: path.read_bytes() for name, path in run.files("*.csv").items()}


def sampling(run, but=()):
    """A process of a script that draws for a checkout, as soon as there is one but these."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        for process in psutil.process_iter():
            try:
                mine = process.cwd() == str(run.root) and process not in but
                if mine and process.cmdline()[-1].endswith(".sample.py"):
                    return process
            except (psutil.Error, IndexError):
                continue
        time.sleep(0.05)
    raise TimeoutError("no job samples")


def test_killed_jobs_are_run_again_and_tables_are_those_of_a_local_run(cluster, wanted):
    driver = cluster.start(*PROFILE)
    killed = sampling(cluster)
    killed.kill()
    cancelled = sampling(cluster, but=[killed])
    subprocess.run(["scancel", cancelled.environ()["SLURM_JOB_ID"]], check=True)
    printed, _ = driver.communicate()
    assert driver.returncode == 0, printed
    assert tables(cluster) == wanted
    assert len(re.findall("has been submitted with SLURM jobid", printed)) == SUBMITTED + 2
    assert cluster.planned() == {}
