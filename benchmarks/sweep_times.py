"""Time the plan of a sweep of many cells, and its run: what a run costs besides sampling.

    ./run python benchmarks/sweep_times.py [--groups 100] [--cells 100] [--run [--cores 2]]

The study is small: each of the groups of five points on the sphere has a noise variance of its own,
and each of its cells a budget.  Results go to a temporary folder.  Times are of the processor, of
all processes, and of the clock.
"""

import argparse
import os
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import yaml

CHECKOUT = Path(__file__).resolve().parents[1]


def sweep(groups, cells):
    """Configuration of so many groups with so many cells each."""
    study = {
        "manifold": {"name": "sphere", "size": 2},
        "data": {"source": "simulated", "data_sets": 1, "shooting_vector_length": 0.6},
        "budgets": {"equal": {"totals": [f"{2 * (k + 1) / 100:.2f}" for k in range(cells)]}},
        "cells": [
            {
                "n": [5],
                "noise_variance": [f"{(k + 1) / 10000:.4f}" for k in range(groups)],
                "budgets": ["equal"],
            }
        ],
        "draws": {"footpoint": 2, "shooting_vector": 2},
        "sampler": {"states": 250},
    }
    return {"name": "sweep", "seed": 1, "studies": {"sphere": study}}


def timed(folder, *arguments):
    """Seconds of the processor and of the clock that a call of Snakemake takes."""
    command = [
        sys.executable,
        "-m",
        "snakemake",
        "-s",
        CHECKOUT / "workflow/Snakefile",
        "-d",
        folder,
    ]
    before, start = os.times(), time.monotonic()
    subprocess.run([*command, "--configfile", folder / "sweep.yaml", *arguments], check=True)
    after = os.times()
    spent = after.children_user + after.children_system
    return spent - before.children_user - before.children_system, time.monotonic() - start


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--cells", type=int, default=100, help="of each group")
    parser.add_argument("--cells-per-job", type=int)
    parser.add_argument("--run", action="store_true")
    parser.add_argument("--cores", type=int, default=2)
    given = parser.parse_args()
    configuration = sweep(given.groups, given.cells) | {"cells_per_job": given.cells_per_job}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        (folder / "sweep.yaml").write_text(yaml.safe_dump(configuration))
        quiet = ("--dry-run", "--quiet", "all")
        times = {"reading the configuration": timed(folder, "--list-rules", "--quiet", "all")}
        times["plan"] = timed(folder, *quiet)
        if given.run:
            times["run"] = timed(folder, f"--cores={given.cores}", "--quiet", "all")
            times["plan with all results there"] = timed(folder, *quiet)
    print(f"{given.groups * given.cells} cells in {given.groups} groups")
    for what, (processor, clock) in times.items():
        print(f"{what}: {processor:.1f} s of the processor, {clock:.1f} s")


if __name__ == "__main__":
    main()
