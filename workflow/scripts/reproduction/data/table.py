"""Records of an observed study, read from its file."""

import sys
from pathlib import Path

import numpy as np

from geodp.data.columns import has_landmark_columns, has_landmarks
from geodp.data.records import read_table
from geodp.errors import DataError
from geodp.models.terms import Terms
from reproduction.configuration.study_sections import TableData
from reproduction.models import study_manifold


def make(job):
    """Arrays of the one data set, by name; notes on the file are printed."""
    study, path = job.wildcards.study, job.input.table
    records = read_settings(path, job.params.manifold, job.params.settings, f"studies.{study}.data")
    for note in records.notes:
        print(f"{study}: {note}", file=sys.stderr)
    columns = records.covariates.reshape((1, len(records.points), -1))
    terms = study_terms(job.params.settings)
    return {
        # Columns from 0 to 1, and where there is a basis covariates from -1/2 to 1/2.
        "columns": columns,
        "covariates": columns if terms.is_plain else terms.expand(columns - 0.5),
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


def study_terms(settings):
    """The `Terms` of a study's section ``data``."""
    if settings.get("source") != "table":
        return Terms([], [])
    section = TableData.model_validate(settings)
    ranges = section.ranges or [(0.0, 1.0)] * len(section.covariates)
    return Terms(section.bases(), [high - low for low, high in ranges], section.pairs)


def read_settings(path, space, settings, key):
    """`Records` of a study from its sections ``manifold`` and ``data``.

    ``key`` is the path of the latter, which the `DataError` of a file that is otherwise names.
    """
    # Checked before; means have no covariate.
    section, columns = TableData.model_construct(**settings), settings["columns"]
    limits = section.ranges[0] if len(section.ranges) == 1 else section.ranges or None
    same = ("transformation", "subject", "keep", "outline")
    try:
        manifold = study_manifold(space)
        if columns is None and not has_landmark_columns(manifold):
            raise DataError(
                f"the columns of a point are not given: name those of a point of {manifold.name}",
                argument="columns",
            )
        if columns is None and has_landmarks(manifold) and Path(path).suffix.lower() == ".mat":
            columns = ["landmarks"]
        return read_table(
            *(path, manifold, settings["covariate"], columns, settings["coordinates"]),
            reading=section.reading,
            covariate_range=limits,
            **{key: settings[key] for key in same},
        )
    except DataError as problem:
        if problem.argument is None:
            raise
        # Arguments of the reader have the names of keys.
        raise DataError(f"{problem} (configuration key {key}.{problem.argument})") from problem
