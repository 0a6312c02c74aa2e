"""Faults: data that cannot be used, killed and interrupted runs, two runs at once.

Whatever happened, the next run ends with the files of a run that nothing disturbed, byte for byte.
"""

import os
import signal
import time
from pathlib import Path

import numpy as np
import pytest

pytestmark = pytest.mark.slow

# A file of each stage in the order in which a run makes them.
STAGES = (
    "sphere/groups/n5_noise0.001/data.npz",
    "sphere/cells/n5_noise0.001/default_0.npz",
    "sphere/tables/figure_5_curves.csv",
)


def stalled(checkout, name):
    """A run of a job that stops when it has written its file, not yet moved to its place."""
    file = checkout.root / "results" / "small" / name
    stall = str(Path(__file__).with_name("stall"))
    process = checkout.start(f"results/small/{name}", PYTHONPATH=stall, STALL=file.name)
    while not list(file.parent.glob(f".*.{file.name}")):
        assert process.poll() is None, process.communicate()[0]
        time.sleep(0.02)
    assert not file.exists()
    return process


def end(process, signal_number):
    """Send a signal to a run and its jobs, as a terminal or the end of a machine does."""
    os.killpg(process.pid, signal_number)
    output, _ = process.communicate(timeout=60)
    assert process.returncode != 0
    return output


def test_a_killed_or_interrupted_run_goes_on_by_the_same_command(finished, checkout):
    data, draws, table = STAGES
    first = stalled(checkout, data)
    assert "Directory cannot be locked" in checkout.refused()
    assert first.poll() is None
    end(first, signal.SIGKILL)
    checkout.run("--unlock")

    left = checkout.temporaries()
    output = end(stalled(checkout, draws), signal.SIGINT)
    assert "Traceback" not in output
    assert "Interrupted: start the run again to go on." in output
    assert checkout.temporaries() == left

    checkout.run(f"results/small/{table}")
    undisturbed, made = finished.files(), checkout.files()
    for name in STAGES:
        assert made[name].read_bytes() == undisturbed[name].read_bytes(), name
    assert checkout.planned(f"results/small/{table}") == {}


def test_a_run_names_a_record_that_cannot_be_fitted_and_leaves_nothing(checkout):
    """Once, in the end, with the place of its log."""
    turns = np.arange(20) / 190.0
    points = np.stack([np.cos(turns), np.sin(turns), np.zeros(20)], axis=-1)
    points[9] = -points[9]
    rows = [f"{x},{a!r},{b!r},{c!r}" for x, (a, b, c) in enumerate(points.tolist())]
    (checkout.root / "far.csv").write_text("\n".join(["x,a,b,c", *rows]) + "\n")
    data = {"source": "table", "path": "far.csv", "covariate": "x", "columns": ["a", "b", "c"]}
    study = {"manifold": {"name": "sphere", "size": 2}, "data": data, "data_radius": 5.0}
    study |= {"budgets": {"equal": {"totals": ["1.0"]}}, "cells": [{"budgets": ["equal"]}]}
    checkout.configure({"name": "bad", "seed": 1, "studies": {"far": study}})
    scripts = str(checkout.root / "workflow" / "scripts")
    target = "results/bad/far/groups/observed/fit.json"
    lines = checkout.refused("--logger=geodp", target, PYTHONPATH=scripts).splitlines()
    [found] = [k for k, line in enumerate(lines) if line.startswith("Error in study far: ")]
    assert lines[found].startswith("Error in study far: far.csv, row 11: it lies ")
    assert "near the cut locus at 3.142" in lines[found]
    assert lines[found + 1].startswith("    (while: far, observed")
    assert "/fit" in lines[found + 1].partition("log: ")[2]
    logs = checkout.files("*.log")
    assert set(checkout.files()) == set(logs)
    assert [log.read_text() for log in logs.values()] == [f"{lines[found]}\n"]
    assert checkout.temporaries() == []
