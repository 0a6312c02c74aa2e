"""A release as a folder: the release itself, a page and a table that show it.

All of it is computed from the release and from public settings.  The folder is written beside its
place and moved there when it is complete.
"""

import csv
import json
import os
import platform
import re
import shutil
import tempfile
from dataclasses import replace
from datetime import UTC, datetime
from html import escape
from importlib import metadata
from pathlib import Path

import numpy as np
from markupsafe import Markup

import geodp
from geodp.data.columns import has_landmarks, landmark_columns
from geodp.data.shares import percent_limits
from geodp.errors import DataError
from geodp_release.plan.bands import LEVELS
from geodp_release.promise.new_files import umask
from geodp_release.show.document import schema
from geodp_release.show.doubts import WITHHELD
from geodp_release.show.picture_style import NOBODY
from geodp_release.show.pictures import picture
from geodp_release.show.shape_pictures import landmarks_of
from geodp_release.show.templates import render
from geodp_release.stages import LastStep

RELEASE, PAGE, TABLE = "release.json", "index.html", "predictions.csv"
SCHEMA = "release.schema.json"


def refuse_taken(folder):
    """Refuse a folder that is there already, or that has no place to be."""
    if os.path.lexists(folder):
        raise DataError(
            f"key folder: {folder} is there already and a release is never overwritten: give "
            "another"
        )
    try:
        folder.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=folder.parent):
            pass
    except OSError as problem:
        raise _unwritable(folder, problem) from None


def write_folder(release, settings, folder):
    """Write the folder of a release, which is complete or not there at all.

    A `DataError` says that it is there already or cannot be written.
    """
    refuse_taken(folder)
    release = replace(release, about=settings.about)
    # For its owner alone until it is complete.
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        rows = predictions(release, settings, settings.covariates(release))
        release.save(partial / RELEASE)
        (partial / SCHEMA).write_text(json.dumps(schema(), indent=1) + "\n", encoding="utf-8")
        with open(partial / TABLE, "w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, list(rows[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(_with_words(settings, rows))
        (partial / PAGE).write_text(page(release, settings, rows), encoding="utf-8")
        partial.chmod(0o777 & ~umask())
        refuse_taken(folder)
        partial.rename(folder)
    except OSError as problem:
        raise _unwritable(folder, problem) from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _unwritable(folder, problem):
    return DataError(
        f"key folder: {folder} cannot be written ({problem.strerror}): give one whose place can be "
        "written and has space"
    )


def predictions(release, settings, covariates):
    """Predictions as a table: a dictionary for each row of covariates (m, k).

    Its numbers are NaN where there are no subjects, and its note says so.
    """
    assumptions = release.plan.assumptions
    manifold = assumptions.manifold
    points = release.predict(covariates)
    values = _values(settings, manifold, points)
    there = release.has_subjects(covariates)
    values = np.where(there[:, None], values, np.nan)
    bands = {_band(level): release.band(covariates, level) for level in LEVELS}
    notes = _jumps(settings, values)
    factor, unit = settings.turn
    if factor != 1.0:
        bands |= {f"{name}_{unit}": factor * radii for name, radii in bands.items()}
    known, names = columns(settings, values.shape[-1])
    if settings.view.is_shares:
        # The last band's limits, of each share.
        limits = percent_limits(points, bands[_band(LEVELS[-1])])
        values = np.concatenate([values, *np.where(there[:, None], limits, np.nan)], axis=1)
        names = [f"{name}_{end}" for end in ("percent", "low", "high") for name in names]
    return [
        {
            # Without the rounding of places between the ends of a range.
            **{name: float(f"{value:.12g}") for name, value in zip(known, row, strict=True)},
            **dict(zip(names, map(float, values[index]), strict=True)),
            **{name: float(radii[index]) for name, radii in bands.items()},
            "note": notes[index] if there[index] else NOBODY,
        }
        for index, row in enumerate(covariates)
    ]


def _jumps(settings, values):
    """A note for each row of numbers (m, c): which came round since the row before."""
    notes = [""] * len(values)
    turns = zip(values.T, settings.view.periods, settings.responses, strict=True)
    for column, period, name in turns if settings.responses else ():
        for row in np.flatnonzero(np.abs(np.diff(column)) > 0.5 * period) + 1:
            more = f"{notes[row]}; " if notes[row] else ""
            notes[row] = f"{more}{name} came round by {period:g} since the row before"
    return notes


def _values(settings, manifold, points):
    """Coordinates or landmarks (m, c) of points, in the order of their columns."""
    if has_landmarks(manifold):
        landmarks = landmarks_of(manifold, settings.assumptions.centre, points)
        return np.stack([landmarks.real, landmarks.imag], axis=-1).reshape(len(points), -1)
    return settings.view.values(points)


def columns(settings, number):
    """Columns of the covariates and of so many coordinates in the table of predictions."""
    known = [f"covariate_{name}" for name in settings.names]
    names = [re.sub(r"\W+", "_", name) for name in settings.responses]
    if len(known) == 1:
        known = ["covariate"]
    # Names are the holder's, and two may be the same, or those of other columns.
    if len({*known}) < len(known):
        known = [f"covariate_{index + 1}" for index in range(len(known))]
    if len({*names, *known, "note", *map(_band, LEVELS)}) < len(known) + len(names) + 3:
        names = [f"coordinate_{index + 1}" for index in range(number)]
    return known, names or landmark_columns(number // 2)


def _band(level):
    return f"band_{100 * level:g}"


def _with_words(settings, rows):
    """Rows of the table with listed words in place of their numbers."""
    listed = [index for index in range(len(settings.names)) if settings.is_listed(index)]
    keys = {list(rows[0])[index]: index for index in listed}
    return [
        row | {key: settings.value_words(index, row[key]) for key, index in keys.items()}
        for row in rows
    ]


def page(release, settings, rows):
    """The page of a release, as HTML that needs no other file."""
    plan, manifold = release.plan, release.plan.assumptions.manifold
    svg, caption = picture(release, settings, settings.covariates(release), LEVELS[-1])

    def length_of(number):
        factor, unit = settings.turn
        turned = f" ({factor * number:.3g} {unit})" if factor != 1.0 else ""
        return f"{number:.3g} {settings.length_unit}".strip() + turned

    return render(
        "index.html.j2",
        _escaped,
        {"length_of": length_of},
        RELEASE=RELEASE,
        TABLE=TABLE,
        SCHEMA=SCHEMA,
        WITHHELD=WITHHELD,
        NOBODY=NOBODY,
        LEVELS=LEVELS,
        settings=settings,
        release=release,
        meaning=_meaning(plan),
        is_clipped=any(isinstance(each, LastStep) and each.share for each in plan.stages),
        svg=svg,
        caption=caption,
        rows=rows,
        centre=_values(settings, manifold, plan.assumptions.centre[None])[0],
        date=datetime.now(UTC).date().isoformat(),
        versions=_versions(),
    )


def _escaped(value):
    """A value of a template with the entities of Python's standard library."""
    return value if hasattr(value, "__html__") else Markup(escape(str(value)))


def _meaning(plan):
    """A guarantee as a statement about probabilities."""
    budget, is_replaced = plan.budget, plan.assumptions.changes == 2
    # Rounded up: a smaller factor would be another claim.
    factor = np.ceil(100.0 * np.exp(min(budget.epsilon, 100.0))) / 100.0
    rest = "" if budget.delta is None else f", apart from a probability of {budget.delta}"
    change = "Other data of one subject make" if is_replaced else "One subject more or less makes"
    return f"{change} no outcome more than {factor:.6g} times as probable{rest}."


def _versions():
    names = "NumPy", "SciPy", "python-flint"
    own = f"geodp {geodp.__version__}, Python {platform.python_version()}"
    return ", ".join([own, *(f"{name} {metadata.version(name)}" for name in names)])
