"""A cohort in flat space and settings of its release, for the command and for the workflow."""

import csv
from pathlib import Path

import numpy as np
import yaml

from geodp_release.ledger import Ledger

# More dimensions than 6 are planned in a second.
DIM, NUMBER = 8, 400
COLUMNS = [f"c{index}" for index in range(DIM)]

SETTINGS = {
    "name": "trial",
    "description": "points that were simulated",
    "covariate": "age",
    "data": {
        "source": "table",
        "path": "mine.csv",
        "covariate": "age",
        "subject": "who",
        "columns": COLUMNS,
    },
    "public": {
        "manifold": {"name": "euclidean", "size": DIM},
        "centre": "origin",
        "footpoint_radius": 1.0,
        "shooting_vector_length": 1.0,
        "covariate_range": [50, 90],
        "residual_scale": 0.1,
        "subjects": NUMBER,
    },
    "sources": {"centre": "an earlier study"},
    "budget": {"epsilon": "2"},
    "ledger": "mine.ledger",
    "folder": "out/trial",
}

# Mistakes in settings and in files of releases, with what is said of them.
REFUSALS = yaml.safe_load((Path(__file__).parent / "unit" / "refusals.yaml").read_text())


def write_cohort(folder, allowed):
    """Write the table of records, and a ledger that allows a budget."""
    rng = np.random.default_rng(11)
    ages = rng.uniform(51.0, 89.0, NUMBER)
    points = 0.2 + np.outer((ages - 70.0) / 40.0, np.full(DIM, 0.1))
    points += 0.1 * rng.normal(size=points.shape)
    with open(folder / "mine.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["who", "age", *COLUMNS])
        for index, (age, point) in enumerate(zip(ages, points, strict=True)):
            writer.writerow([f"patient{index:05d}", f"{age:.12f}", *(f"{x:.12f}" for x in point)])
    Ledger.create(folder / "mine.ledger", allowed, "epsilon")
