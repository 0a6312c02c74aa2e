"""Faults: killed processes, full and read-only disks, damaged files, two runs at once.

Whatever happened, the next run ends with the files of a run that nothing disturbed, byte for byte,
and nothing half-written is left.
"""

import os
import platform
import re
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import psutil
import pytest
import yaml

pytestmark = pytest.mark.slow

# A table of measurements, besides the study's own files.
MEASURED = "results/linear/geodesic_vs_notebook/neighbours.csv"
SCRIPTS = Path(__file__).resolve().parents[2] / "workflow" / "scripts"
STUDY = "results/small/sphere"
GROUP = "n5_noise0.001"
CELLS = [f"{STUDY}/cells/{GROUP}/default_{block}.npz" for block in (0, 1)]

# A file of each stage in the order in which a run makes them; of two blocks of draws the second.
STAGES = (
    MEASURED,
    f"{STUDY}/groups/{GROUP}/data.npz",
    f"{STUDY}/groups/{GROUP}/fit.json",
    CELLS[1],
    f"{STUDY}/tables/errors.csv",
    f"{STUDY}/figures/error.png",
)

FULL = r"Error: the disk at \S+ is full: free some space, then start the run again"


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


@pytest.fixture(scope="module")
def undisturbed(apart):
    """A finished run of a study and of a few measurements, not to be modified."""

    def few(settings):
        settings["geodesic_vs_notebook"]["neighbours"] = {"pairs": 5, "n": 10}
        return settings

    done = apart("linear", few)
    done.configure(yaml.safe_load(CONFIGURATION))
    done.run("all", MEASURED)
    return done


@pytest.fixture
def finished_run(undisturbed, copied, tmp_path):
    return copied(undisturbed.root, tmp_path / "finished")


@pytest.fixture
def fresh(finished_run):
    """The same without results."""
    for folder in ("results", ".snakemake"):
        shutil.rmtree(finished_run.root / folder)
    return finished_run


# What the report says of the times of jobs, which no two runs share.
TIMES = re.compile(rb"<h2>How this was made</h2>.*?</table>", re.DOTALL)


def contents(checkout):
    """Bytes of all results but the logs, and but the times in the report."""
    return {
        str(path.relative_to(checkout.root)): (
            TIMES.sub(b"", path.read_bytes(), count=1)
            if path.name == "report.html"
            else path.read_bytes()
        )
        for path in (checkout.root / "results").rglob("*")
        if path.is_file() and "logs" not in path.parts
    }


def ends_well(checkout, undisturbed):
    """The output of the next run, which leaves the same files and no other."""
    output = checkout.run("all", MEASURED)
    found, expected = contents(checkout), contents(undisturbed)
    assert set(found) == set(expected)
    assert [name for name in found if found[name] != expected[name]] == []
    return output


def sentences(output):
    """The errors that a run printed."""
    return [line for line in output.splitlines() if re.search(r"Error|Exception", line)]


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


def end(process, who):
    """Kill the run, its jobs or all of them, or interrupt all as a terminal does; its output."""
    jobs = psutil.Process(process.pid).children(recursive=True)
    if who == "terminal":
        os.killpg(process.pid, signal.SIGINT)
    if who in ("run", "both"):
        process.kill()
    if who in ("jobs", "both"):
        for job in jobs:
            job.kill()
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    # No job outlives its run.
    assert psutil.wait_procs(jobs, timeout=20)[1] == []
    return output


# Killed processes


@pytest.mark.parametrize(
    ("who", "stages"),
    [("run", STAGES), ("jobs", STAGES), ("both", STAGES[3:5]), ("terminal", STAGES[3:5])],
    ids=lambda value: value if isinstance(value, str) else len(value),
)
def test_killed_at_every_stage(fresh, undisturbed, who, stages):
    for file in stages:
        output = end(stalled(fresh, file), who)
        assert not (fresh.root / file).exists()
        assert "Traceback" not in output
        if who == "jobs":
            assert "A job was killed or could not begin." in output
        if who == "terminal":
            assert fresh.temporaries() == []
            assert ": failed" not in output
            assert ": stopped" in output
    ends_well(fresh, undisturbed)
    assert fresh.planned(MEASURED) == {}


# Two runs at once


def test_the_second_of_two_runs_says_so_until_the_first_is_gone(fresh, undisturbed):
    first = stalled(fresh, STAGES[1])
    second = fresh.snakemake("all", MEASURED)
    assert second.returncode == 1
    [sentence] = sentences(second.stdout)
    assert re.fullmatch(
        rf"Error: another run is at work in {re.escape(str(fresh.root))} \(process {first.pid} on "
        r"\S+\): wait for its end or stop it, or work in another folder with --directory",
        sentence,
    )
    assert first.poll() is None
    assert fresh.planned()["make_data"] == 1
    end(first, "run")
    ends_well(fresh, undisturbed)


def left(checkout, run):
    """Leave the locks of a run that was killed."""
    folder = checkout.root / ".snakemake"
    (folder / "locks").mkdir(parents=True, exist_ok=True)
    (folder / "run.lock").write_text(f"{run}\n")
    outputs = [str(checkout.root / STAGES[1]), STAGES[1]]
    (folder / "locks" / "0.output.lock").write_text("\n".join(outputs))


def gone():
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.mark.parametrize(
    "where", ["on another.node", f"on {platform.node()}, jobs elsewhere"], ids=["node", "cluster"]
)
def test_what_may_still_be_at_work_is_not_unlocked(fresh, where):
    run = f"process {gone()} {where}"
    left(fresh, run)
    refused = fresh.snakemake(STAGES[1])
    assert refused.returncode == 1
    [sentence] = sentences(refused.stdout)
    assert f"({run})" in sentence
    assert "--unlock" in sentence
    assert (fresh.root / ".snakemake" / "run.lock").read_text() == f"{run}\n"
    fresh.run("--unlock")
    fresh.run(STAGES[1])


def test_what_is_gone_is_unlocked(fresh):
    left(fresh, f"process {gone()} on {platform.node()}")
    fresh.run(STAGES[1])


def test_a_job_ends_with_its_run_though_a_shell_between_them_lives():
    """As with bash before 5.1, which does not give way to its last command."""
    run = subprocess.Popen(["sleep", "600"])
    code = "import time; from reproduction.made import *; end_with_the_run(); time.sleep(600)"
    shell = subprocess.Popen(
        ["sh", "-c", '"$@"; exit 7', "sh", sys.executable, "-c", code],
        env=os.environ | {"GEODP_RUN": str(run.pid), "PYTHONPATH": str(SCRIPTS)},
    )
    with pytest.raises(subprocess.TimeoutExpired):
        shell.wait(timeout=5)
    run.kill()
    run.wait()
    assert shell.wait(timeout=20) == 7


# Damaged files


def truncate(path):
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def halve(path):
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[: len(lines) // 2 + 1]))


def empty(path):
    path.write_bytes(b"")


def overwrite(path):
    """Other bytes in the middle."""
    text = bytearray(path.read_bytes())
    middle = len(text) // 2
    text[middle : middle + 8] = bytes(255 - byte for byte in text[middle : middle + 8])
    path.write_bytes(text)


@pytest.mark.parametrize(
    ("damage", "file"),
    [
        (truncate, CELLS[0]),
        (empty, f"{STUDY}/groups/{GROUP}/fit.json"),
        (halve, f"{STUDY}/tables/errors.csv"),
        (overwrite, f"{STUDY}/figures/error.png"),
        (halve, MEASURED),
    ],
)
def test_a_damaged_file_is_made_again(finished_run, undisturbed, damage, file):
    damage(finished_run.root / file)
    output = ends_well(finished_run, undisturbed)
    assert f"Changed since they were made; made again when needed: {file}\n" in output


def test_a_changed_file_stays_noted_until_it_is_made_again(finished_run, undisturbed):
    file = f"{STUDY}/tables/errors.csv"
    halve(finished_run.root / file)
    # Of what this target needs nothing has changed.
    for _ in range(2):
        output = finished_run.run(STAGES[1])
        assert f"made again when needed: {file}\n" in output
        assert "Nothing to be done" in output
    finished_run.run("--workflow-profile", "none", file)
    assert (finished_run.root / file).read_bytes() == (undisturbed.root / file).read_bytes()
    assert "Changed" not in finished_run.run(STAGES[1])


def test_deleted_files_are_made_again_when_they_are_needed(finished_run, undisturbed):
    for file in (STAGES[2], f"{STUDY}/tables/errors.csv"):
        (finished_run.root / file).unlink()
    ends_well(finished_run, undisturbed)


def test_damage_that_only_a_job_sees_is_one_sentence(finished_run, undisturbed):
    """Of a disk that loses bits: neither size nor time of the file have changed."""
    # This run notes the times that Snakemake gave to the files of the last one.
    finished_run.run()
    cell = finished_run.root / CELLS[0]
    times = cell.stat()
    overwrite(cell)
    os.utime(cell, ns=(times.st_atime_ns, times.st_mtime_ns))
    (finished_run.root / STUDY / "tables" / "errors.csv").unlink()
    failed = finished_run.snakemake()
    assert failed.returncode == 1
    [sentence] = sentences(failed.stdout)
    assert sentence == (
        f"Error: {CELLS[0]} was damaged since it was made: start the run again to make it"
    )
    ends_well(finished_run, undisturbed)


@pytest.mark.parametrize("content", [b"\xff\xfe\x00", b'{"rule": "fi'])
def test_damaged_records_of_snakemake(finished_run, undisturbed, content):
    records = (finished_run.root / ".snakemake" / "metadata").iterdir()
    record = next(path for path in records if b'"rule": "evaluate"' in path.read_bytes())
    record.write_bytes(content)
    (finished_run.root / ".snakemake" / "made.txt").write_bytes(content)
    output = ends_well(finished_run, undisturbed)
    assert "Changed since they were made; made again when needed: " in output
    assert "Ignore corrupted" not in output


def test_copies_with_new_times_are_not_damaged(finished_run):
    for path in (finished_run.root / "results").rglob("*.csv"):
        path.write_bytes(path.read_bytes())
    assert "Changed" not in finished_run.run("all", MEASURED)


# Disks that are full or closed


@pytest.mark.parametrize("kilobytes", [3, 12], ids=["Snakemake's files", "files of a job"])
def test_a_full_disk_is_one_sentence(fresh, undisturbed, kilobytes):
    """As a limit of the size of files, which fails in the same places with another error."""
    process = fresh.start()
    resource.prlimit(process.pid, resource.RLIMIT_FSIZE, (kilobytes * 1024, -1))
    output, _ = process.communicate(timeout=600)
    assert process.returncode == 1
    lines = output.splitlines()
    assert len([line for line in lines if re.fullmatch(FULL, line)]) == 1, output
    assert "Traceback" not in output
    assert lines[-1 if re.fullmatch(FULL, lines[-1]) else -2].startswith("Error: the disk")
    ends_well(fresh, undisturbed)


# What root may do that others may not.
POWERS = "-dac_override,-dac_read_search"


@pytest.mark.parametrize("closed", [".", "results", f"{STUDY}/tables"])
def test_a_folder_that_cannot_be_written_is_one_sentence(finished_run, undisturbed, closed):
    without_powers = []
    if os.geteuid() == 0:
        if shutil.which("setpriv") is None:
            pytest.skip("root may write everywhere, and there is no setpriv to drop that right")
        without_powers = ["setpriv", "--bounding-set", POWERS, "--inh-caps", POWERS]
    folder = finished_run.root / closed
    if closed.endswith("tables"):
        # A job comes upon it, for Snakemake has nothing to delete.
        for file in ("errors", "diagnostics"):
            (folder / f"{file}.csv").unlink()
    else:
        for made in ("results/small", ".snakemake"):
            shutil.rmtree(finished_run.root / made)
    folder.chmod(0o555)
    process = finished_run.start("all", MEASURED, before=without_powers)
    output, _ = process.communicate(timeout=600)
    folder.chmod(0o755)
    assert process.returncode == 1
    assert "Traceback" not in output
    [sentence] = sentences(output)
    assert re.fullmatch(
        r"Error: permission denied: \S+: let this user write there, or work in another folder with "
        "--directory",
        sentence,
    )
    ends_well(finished_run, undisturbed)
