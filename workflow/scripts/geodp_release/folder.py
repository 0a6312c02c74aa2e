"""A release as a folder: the release itself, a page and a table that show it.

All of it is computed from the release and from public settings.  The folder is written beside its
place and moved there when it is complete.
"""

import csv
import io
import os
import platform
import shutil
import tempfile
from datetime import UTC, datetime
from html import escape
from pathlib import Path

import numpy as np
from markupsafe import Markup

import geodp
from geodp.data.records import has_landmarks
from geodp.data.tables import landmark_columns
from geodp.errors import DataError
from geodp_release.bands import LEVELS
from geodp_release.doubts import WITHHELD
from geodp_release.new_files import umask
from geodp_release.pictures import NOBODY, landmarks_of, picture

RELEASE, PAGE, TABLE = "release.json", "index.html", "predictions.csv"

# Column of the table that says where there are no subjects.
NOTE = "note"

# Of what the error is, without a covariate, with one, and with more.
ERROR_OF = ("the mean", "the geodesic where subjects are", "predictions where subjects are")

# Digits of a number on the page; the files have all.
DIGITS = 5


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

    Parameters
    ----------
    release : Release
    settings : ReleaseSettings
    folder : Path

    Raises
    ------
    DataError
        It is there already or cannot be written.
    """
    refuse_taken(folder)
    # For its owner alone until it is complete.
    partial = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", dir=folder.parent))
    try:
        rows = predictions(release, settings.covariates, settings.names)
        release.save(partial / RELEASE)
        (partial / TABLE).write_text(_csv(rows), encoding="utf-8")
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


def predictions(release, covariates, names_of_covariates):
    """Predictions as a table: a dictionary for each row of covariates (m, k).

    Its numbers are NaN where there are no subjects, and its note says so.
    """
    assumptions = release.plan.assumptions
    manifold = assumptions.manifold
    points = release.predict(covariates)
    if has_landmarks(manifold):
        landmarks = landmarks_of(manifold, assumptions.centre, points)
        names = landmark_columns(manifold.landmarks)
        values = np.stack([landmarks.real, landmarks.imag], axis=-1).reshape(len(points), -1)
    else:
        values = points.reshape(len(points), -1)
        names = [f"coordinate_{index + 1}" for index in range(values.shape[-1])]
    there = release.has_subjects(covariates)
    values = np.where(there[:, None], values, np.nan)
    bands = {_band(level): release.band(covariates, level) for level in LEVELS}
    keys = covariate_columns(names_of_covariates)
    return [
        {
            **dict(zip(keys, row.tolist(), strict=True)),
            **{name: float(radii[index]) for name, radii in bands.items()},
            **dict(zip(names, map(float, values[index]), strict=True)),
            NOTE: "" if there[index] else NOBODY,
        }
        for index, row in enumerate(covariates)
    ]


def covariate_columns(names):
    """Columns of the covariates in the table of predictions: one alone is called ``covariate``."""
    if len(names) == 1:
        return ["covariate"]
    columns = [f"covariate_{name}" for name in names]
    # Names are the holder's, and two may be the same.
    if len({*columns}) < len(names):
        return [f"covariate_{index + 1}" for index in range(len(names))]
    return columns


def _band(level):
    return f"band_{100 * level:g}"


def _csv(rows):
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    return text.getvalue()


def page(release, settings, rows):
    """The page of a release, as HTML that needs no other file."""
    # Imported here, since plans do without it.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined

    plan, names = release.plan, settings.names
    assumptions, manifold = plan.assumptions, plan.assumptions.manifold
    svg, caption = picture(release, settings.covariates, LEVELS[-1], names)

    def length_of(number):
        return f"{number:.3g} {manifold.length_unit}".strip()

    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent),
        autoescape=True,
        finalize=_escaped,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )
    environment.filters["length_of"] = length_of
    heads, predicted = _prediction_table(rows, manifold, names)
    return environment.get_template("index.html.j2").render(
        RELEASE=RELEASE,
        TABLE=TABLE,
        WITHHELD=WITHHELD,
        settings=settings,
        names=names,
        plan=plan,
        release=release,
        assumptions=assumptions,
        guarantee=release.guarantee,
        space=f"a curved space ({manifold.name}, {manifold.dim} dimensions)",
        subjects=(
            f"{assumptions.subjects} subjects"
            if assumptions.changes == 2
            else f"about {release.number:g} subjects (a private count)"
        ),
        lengths=[
            f"From {name} {low:g} to {high:g} the released geodesic has length "
            f"{length_of(float(manifold.norm(release.footpoint, vector)))}."
            for name, (low, high), vector in zip(
                names, assumptions.ranges, release.shooting_vectors, strict=True
            )
        ],
        meaning=_meaning(plan),
        svg=svg,
        caption=caption,
        heads=heads,
        predictions=predicted,
        error_of=ERROR_OF[min(len(names), 2)],
        hypotheses=[
            [each.name, each.by_code, each.by_holder] for each in release.guarantee.hypotheses
        ],
        inputs=_input_table(assumptions),
        is_shape=has_landmarks(manifold),
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
    import flint
    import scipy

    return ", ".join(
        f"{name} {version}"
        for name, version in {
            "geodp": geodp.__version__,
            "Python": platform.python_version(),
            "NumPy": np.__version__,
            "SciPy": scipy.__version__,
            "python-flint": flint.__version__,
        }.items()
    )


def _prediction_table(rows, manifold, names_of_covariates):
    """Heads and cells: covariates and radii, and coordinates where there are few."""
    unit = f" ({manifold.length_unit})" if manifold.length_unit else ""
    names = [f"radius of the {100 * level:g} % band{unit}" for level in LEVELS]
    keys = [*covariate_columns(names_of_covariates), *map(_band, LEVELS)]
    others = [key for key in rows[0] if key not in (*keys, NOTE)]
    if not has_landmarks(manifold) and len(others) <= 9:
        keys += others
        names += [key.replace("_", " ") for key in others]
    cells = [
        ["withheld" if np.isnan(row[key]) else f"{row[key]:.{DIGITS}g}" for key in keys]
        for row in rows
    ]
    known = len(names_of_covariates)
    for row, found in zip(rows, cells, strict=True):
        if row[NOTE]:
            found[known:] = [row[NOTE], *[""] * (len(keys) - known - 1)]
    return [*names_of_covariates, *names], cells


def _input_table(assumptions):
    """Every public input with its value and its source."""
    return [
        [
            what,
            _point_in_words(assumptions) if name == "centre" else value,
            assumptions.sources.get(name) or "not stated",
        ]
        for name, (what, value) in assumptions.described().items()
    ]


def _point_in_words(assumptions):
    if has_landmarks(assumptions.manifold):
        return f"the dashed shape of the figure; its coordinates are in {RELEASE}"
    values = assumptions.centre.ravel()
    if len(values) > 9:
        return f"a point; its coordinates are in {RELEASE}"
    return ", ".join(f"{value:.{DIGITS}g}" for value in values)
