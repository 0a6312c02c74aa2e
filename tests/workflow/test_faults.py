"""Faults: killed runs, two runs at once.

Whatever happened, the next run ends with the files of a run that nothing disturbed, byte for byte.
"""

import os
import signal
import time
from pathlib import Path

import pytest
import yaml

pytestmark = pytest.mark.slow

STUDY = "results/small/sphere"
GROUP = "n5_noise0.001"

# A file of each stage in the order in which a run makes them; of two blocks of draws the second.
STAGES = (
    f"{STUDY}/groups/{GROUP}/data.npz",
    f"{STUDY}/cells/{GROUP}/default_1.npz",
    f"{STUDY}/tables/errors.csv",
)

CONFIGURATION = """
name: small
seed: 7
cells_per_job: 1
studies:
  sphere:
    manifold: {name: sphere, size: 2}
    data: {source: simulated, data_sets: 2, shooting_vector_length: 0.6}
    budgets: {equal: {totals: ["1.0", "2.02"]}}
    cells: [{n: [5], noise_variance: ["0.001"], budgets: [equal]}]
    draws: {footpoint: 2, shooting_vector: 2}
    sampler: {states: 250}
    figures: {error: {kind: error, grids: [equal]}}
"""


@pytest.fixture
def fresh(checkout):
    checkout.configure(yaml.safe_load(CONFIGURATION))
    return checkout


@pytest.fixture(scope="module")
def undisturbed(source, copied, tmp_path_factory):
    """Files of a run, by path."""
    done = copied(source, tmp_path_factory.mktemp("undisturbed"))
    done.configure(yaml.safe_load(CONFIGURATION))
    done.run()
    return contents(done)


def contents(checkout):
    """Bytes of all results but the logs, and but what killed jobs had begun to write."""
    return {
        name: path.read_bytes()
        for name, path in checkout.files().items()
        if "logs" not in path.parts and not path.name.startswith(".")
    }


def stalled(checkout, file):
    """A run of a job that stops when it has written its file, not yet moved to its place."""
    plain = checkout.environment
    checkout.environment = plain | {
        "PYTHONPATH": str(Path(__file__).with_name("stall")),
        "STALL": Path(file).name,
    }
    process = checkout.start(file)
    checkout.environment = plain
    folder = (checkout.root / file).parent
    while not list(folder.glob(f".*.{Path(file).name}")):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    return process


def end(process, signal_number):
    """Send a signal to a run and its jobs, as a terminal or the end of a machine does."""
    os.killpg(process.pid, signal_number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    return output


def test_a_killed_run_is_unlocked_and_goes_on_by_the_same_command(fresh, undisturbed):
    for file in STAGES:
        end(stalled(fresh, file), signal.SIGKILL)
        assert not (fresh.root / file).exists()
        fresh.run("--unlock")
    fresh.run()
    assert contents(fresh) == undisturbed
    assert fresh.planned() == {}


def test_an_interrupted_run_goes_on_by_the_same_command(fresh, undisturbed):
    output = end(stalled(fresh, STAGES[1]), signal.SIGINT)
    assert "Traceback" not in output
    assert "Interrupted: start the run again to go on." in output
    assert fresh.temporaries() == []
    fresh.run()
    assert contents(fresh) == undisturbed


def test_the_second_of_two_runs_is_refused(fresh):
    first = stalled(fresh, STAGES[0])
    second = fresh.snakemake()
    assert second.returncode != 0
    assert "Directory cannot be locked" in second.stdout
    assert first.poll() is None
    assert fresh.planned()["make_data"] == 1
    end(first, signal.SIGKILL)
