"""Records of an observed study, read from its file."""

import sys
from pathlib import Path

import numpy as np

from geodp.data.cells import TableReading
from geodp.data.columns import has_landmarks
from geodp.data.dates import Dates
from geodp.data.records import read_table
from geodp.errors import DataError
from reproduction.models import study_manifold

CHOICES = ("transformation", "subject", "keep", "covariate_range", "outline")


def make(job):
    """Arrays of the one data set, by name; notes on the file are printed."""
    study, path = job.wildcards.study, job.input.table
    records = read_settings(path, job.params.manifold, job.params.settings, f"studies.{study}.data")
    for note in records.notes:
        print(f"{study}: {note}", file=sys.stderr)
    return {
        "covariates": records.covariates.reshape((1, len(records.points), -1)),
        "points": records.points[None],
        "covariate_range": np.array(records.covariate_range),
        # Numbers in place of names of subjects.
        "subjects": np.unique(records.subjects, return_inverse=True)[1],
        "table": np.array(path),
        "rows": np.array(records.rows),
        "row_word": np.array(records.row_word),
        "notes": np.array(records.notes, dtype=str),
        "description": np.array(f"observed, {Path(path).name}"),
    }


def read_settings(path, space, settings, key):
    """`Records` of a study from its sections ``manifold`` and ``data``.

    ``key`` is the path of the latter, which the `DataError` of a file that is otherwise names.
    """
    try:
        return _read(path, study_manifold(space), settings)
    except DataError as problem:
        if problem.argument is None:
            raise
        # Arguments of the reader have the names of keys.
        raise DataError(f"{problem} (configuration key {key}.{problem.argument})") from problem


def _read(path, manifold, settings):
    columns = settings["columns"]
    if columns is None and not has_landmarks(manifold):
        raise DataError(
            f"the columns of a point are not given: name those of a point of {manifold.name}",
            argument="columns",
        )
    if columns is None and Path(path).suffix.lower() == ".mat":
        columns = [settings["landmarks"]]
    dates = {name: Dates(**each) for name, each in settings["dates"].items()}
    decimal, categories, sheet = (settings[key] for key in ("decimal", "categories", "sheet"))
    return read_table(
        path,
        manifold,
        settings["covariate"],
        columns,
        settings["coordinates"],
        reading=TableReading(decimal, categories, dates, sheet),
        **{key: settings[key] for key in CHOICES},
    )
