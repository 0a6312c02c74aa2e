"""A cohort in flat space and settings of its release, for the command and for the workflow."""

import copy
from pathlib import Path

import numpy as np
import pandas as pd
import yaml

from geodp_release.promise.ledger import Ledger

ROOT = Path(__file__).resolve().parents[1]

# More dimensions than 6 are planned in a second.
DIM, NUMBER = 8, 400
COLUMNS = [f"c{index}" for index in range(DIM)]

SETTINGS = {
    "name": "trial",
    "description": "points that were simulated",
    "covariate": "age",
    "data": {
        **{"source": "table", "path": "mine.csv", "covariate": "age", "subject": "who"},
        "columns": COLUMNS,
    },
    "public": {
        **{"manifold": {"name": "euclidean", "size": DIM}, "centre": "origin"},
        **{"footpoint_radius": 1.0, "shooting_vector_length": 1.0, "covariate_range": [50, 90]},
        **{"residual_scale": 0.1, "subjects": NUMBER},
    },
    "sources": {"centre": "an earlier study"},
    "budget": {"epsilon": "2"},
    "ledger": "mine.ledger",
    "folder": "out/trial",
}

# Files of the folder of a release.
FOLDER = ["index.html", "predictions.csv", "release.json", "release.schema.json"]

# Mistakes in settings and in files of releases, with what is said of them.
REFUSALS = yaml.safe_load((ROOT / "tests" / "unit" / "refusals.yaml").read_text())


def changed(parts=None, **more):
    """Settings with other values of keys, such as "public.subjects"; ``None`` removes a key."""
    settings = copy.deepcopy(SETTINGS)
    for key, value in {**(parts or {}), **more}.items():
        *section, name = key.split(".")
        part = settings.setdefault(section[0], {}) if section else settings
        part[name] = value
        if value is None:
            del part[name]
    return settings


def write_cohort(folder, allowed):
    """Write the table of records, and a ledger of a budget."""
    rng = np.random.default_rng(11)
    ages = rng.uniform(51.0, 89.0, NUMBER)
    points = 0.2 + np.outer((ages - 70.0) / 40.0, np.full(DIM, 0.1))
    points += 0.1 * rng.normal(size=points.shape)
    table = pd.DataFrame({"who": [f"patient{index:05d}" for index in range(NUMBER)], "age": ages})
    table[COLUMNS] = points
    table.to_csv(folder / "mine.csv", index=False, float_format="%.12f")
    Ledger.create(folder / "mine.ledger", allowed, "epsilon")


def write(settings, path="mine.yaml"):
    Path(path).write_text(yaml.safe_dump(settings, sort_keys=False))


def rewrite(change):
    """Change the lines of the table."""
    lines = Path("mine.csv").read_text().splitlines()
    Path("mine.csv").write_text("\n".join(change(lines)) + "\n")


def spent():
    return str(Ledger.open("mine.ledger").spent)
