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
    plain = checkout.environment
    checkout.environment = plain | {
        "PYTHONPATH": str(Path(__file__).with_name("stall")),
        "STALL": file.name,
    }
    process = checkout.start(f"results/small/{name}")
    checkout.environment = plain
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


# --- Data that cannot be used ---


def study(manifold, path, covariate, **more):
    return {
        "manifold": manifold,
        "data": {"source": "table", "path": path, "covariate": covariate} | more,
        "data_radius": 5.0,
        "budgets": {"equal": {"totals": ["1.0"]}},
        "cells": [{"budgets": ["equal"]}],
    }


def test_a_run_names_every_mistake_and_leaves_nothing(checkout):
    """Several studies at once, each with a mistake of its own."""
    rats = (checkout.root / "resources" / "vilmann_rats.csv").read_text()
    (checkout.root / "code.csv").write_text(rats.replace(",-450,", ",oops,", 1))
    turns = np.arange(20) / 190.0
    points = np.stack([np.cos(turns), np.sin(turns), np.zeros(20)], axis=-1)
    points[9] = -points[9]
    rows = [f"{x},{a!r},{b!r},{c!r}" for x, (a, b, c) in enumerate(points.tolist())]
    (checkout.root / "cut_locus.csv").write_text("\n".join(["x,a,b,c", *rows]) + "\n")
    sphere, shapes = {"name": "sphere", "size": 2}, {"name": "kendall", "size": 8}
    studies = {
        "code": study(shapes, "code.csv", "age_days"),
        "cut_locus": study(sphere, "cut_locus.csv", "x", columns=["a", "b", "c"]),
    }
    checkout.configure({"name": "bad", "seed": 1, "studies": studies})
    checkout.environment["PYTHONPATH"] = str(checkout.root / "workflow" / "scripts")
    targets = [f"results/bad/{name}/groups/observed/fit.json" for name in studies]
    printed = checkout.refused("--logger=geodp", "--keep-going", *targets)

    lines = printed.splitlines()
    logs = {name: path.read_text() for name, path in checkout.files("*.log").items()}
    for name, start, remedy in (
        ("code", "code.csv, row 2, column x1: 'oops' is not a ", ""),
        ("cut_locus", "cut_locus.csv, row 11: it lies ", "correct or remove it"),
    ):
        # Said once, in the end, with the place of its log.
        [found] = [k for k, line in enumerate(lines) if line.startswith(f"Error in study {name}: ")]
        assert lines[found].startswith(f"Error in study {name}: {start}")
        assert lines[found].endswith(remedy)
        assert lines[found + 1].startswith(f"    (while: {name}, observed")
        [log] = [text for file, text in logs.items() if file.startswith(f"{name}/") and text]
        assert log == f"{lines[found]}\n"
        assert "/fit" in lines[found + 1].partition("log: ")[2]
    assert "near the cut locus at 3.142" in printed
    assert set(checkout.files()) == set(logs)
    assert checkout.temporaries() == []
