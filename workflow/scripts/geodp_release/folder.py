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

import geodp
from geodp.data.records import has_landmarks
from geodp.data.tables import landmark_columns
from geodp.errors import DataError
from geodp_release.bands import LEVELS
from geodp_release.pictures import landmarks_of, picture

RELEASE, PAGE, TABLE = "release.json", "index.html", "predictions.csv"

# Of what the error is, without a covariate, with one, and with more.
ERROR_OF = (
    "the mean",
    "the geodesic over the covariate's range",
    "predictions over the covariates' ranges",
)

# Digits of a number on the page; the files have all.
DIGITS = 5

CSS = """
:root { --dark: #14315f; --line: #cfcfcf; --noise: #b03a00; }
* { box-sizing: border-box; }
body { font: 15px/1.45 system-ui, "Segoe UI", "DejaVu Sans", sans-serif; color: #1b1b1b;
  background: #fff; max-width: 64rem; margin: 0 auto; padding: 1.5rem; }
h1 { font-size: 1.5rem; margin: 0 0 .3rem; }
h2 { font-size: 1.1rem; margin: 1.8rem 0 .4rem; }
p, li { max-width: 52rem; }
.said { border-left: .3rem solid var(--dark); padding: .1rem 0 .1rem .8rem; }
.noise { border-left: .3rem solid var(--noise); padding: .1rem 0 .1rem .8rem; }
.picture svg { width: 100%; height: auto; max-height: 34rem; }
.wide { overflow-x: auto; }
code { overflow-wrap: anywhere; }
@media (max-width: 40rem) {
  th, td { padding-right: .8rem; }
  .wide td + td:not(.number) { min-width: 9rem; }
  .picture { overflow-x: auto; }
  .picture svg { width: 42rem; max-height: none; }
}
table { border-collapse: collapse; }
th, td { text-align: left; vertical-align: top; padding: .3rem 1.3rem .3rem 0;
  border-bottom: 1px solid var(--line); }
th { font-size: .87em; border-bottom: 2px solid #666; }
.number { text-align: right; font-variant-numeric: tabular-nums; }
.small, caption { font-size: .87em; color: #4a4a4a; }
footer { margin-top: 2rem; }
"""


def refuse_taken(folder):
    """Refuse a folder that is there already, or that has no place to be.

    Parameters
    ----------
    folder : Path
    """
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
        mask = os.umask(0o077)
        os.umask(mask)
        partial.chmod(0o777 & ~mask)
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
    """Predictions as a table: a dictionary of numbers for each row of covariates (m, k)."""
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
    bands = {_band(level): release.band(covariates, level) for level in LEVELS}
    keys = covariate_columns(names_of_covariates)
    return [
        {
            **dict(zip(keys, row.tolist(), strict=True)),
            **{name: float(radii[index]) for name, radii in bands.items()},
            **dict(zip(names, map(float, values[index]), strict=True)),
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
    plan = release.plan
    assumptions, manifold = plan.assumptions, plan.assumptions.manifold
    unit = manifold.length_unit
    svg, caption = picture(release, settings.covariates, LEVELS[-1], settings.names)
    what = assumptions.what
    noise = (
        '<p class="noise"><strong>This release is mostly noise.</strong> Its predicted error is '
        f"more than a third of that of {what} drawn without data.</p>"
        if plan.is_noise
        else ""
    )
    hypotheses = [
        [each.name, each.by_code, each.by_holder] for each in release.guarantee.hypotheses
    ]
    name = escape(settings.name)
    described = f"<p>Data: {escape(settings.description)}.</p>" if settings.description else ""
    clustered = (
        f", or {_shown(plan.error_if_clustered, unit)} if covariates cluster"
        if assumptions.spreads
        else ""
    )
    released_on = datetime.now(UTC).date().isoformat()
    subjects = (
        f"{assumptions.subjects} subjects"
        if assumptions.changes == 2
        else f"about {release.number:g} subjects (a private count)"
    )
    return f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{name}: {what} released with differential privacy</title>
<style>{CSS}</style>
</head>
<body>
<h1>{name}: {what} released with differential privacy</h1>
{described}
<p>{_introduction(release, settings, subjects)}</p>
<p class="said"><strong>Guarantee:</strong> {escape(release.guarantee.words())}.
{_meaning(plan)} What R1 and the like stand for is listed below.</p>
{noise}
<div class="picture">{svg}</div>
<p class="small">{escape(caption)} The band counts both chances, of the data and of the noise, and
holds if the public inputs below are right.</p>

<h2>Predictions</h2>
{_prediction_table(rows, manifold, settings.names)}
<p class="small">{TABLE} has them with all coordinates and digits.</p>

<h2>How good it is</h2>
<p>Root mean squared error of {ERROR_OF[min(assumptions.number_of_covariates, 2)]}, predicted from
public inputs before the data were read: {_shown(plan.error, unit)}{clustered}. The fit without
privacy would have {_shown(plan.error_without_privacy, unit)}, {what} drawn without data
{_shown(plan.error_without_data, unit)}.</p>

<h2>What the guarantee assumes</h2>
<p>No code can check what is in the last column; whoever made the release answers for it.</p>
{_table(["hypothesis", "seen to by code", "answered for by the holder"], hypotheses)}

<h2>Public inputs</h2>
<p>Chosen without looking at the data. If one was read off them, the guarantee does not hold.</p>
{_input_table(assumptions)}

<h2>How it was drawn</h2>
{_list(stage.describe() for stage in plan.stages)}

<h2>Files</h2>
<ul>
<li><a href="{RELEASE}">{RELEASE}</a>: the release with all digits; in Python
<code>geodp.Release.load("{RELEASE}")</code>.</li>
<li><a href="{TABLE}">{TABLE}</a>: the predictions with all digits
{"and landmarks" if has_landmarks(manifold) else "and coordinates"}.</li>
</ul>
<footer class="small">Released on {released_on}, UTC, by {escape(_versions())}. Of what
code computed here, only what was released and what follows from it used the data.</footer>
</body>
</html>
"""


def _introduction(release, settings, subjects):
    """What was released, for a reader who knows lines."""
    assumptions = release.plan.assumptions
    manifold, names = assumptions.manifold, [escape(each) for each in settings.names]
    space = f"a curved space ({escape(manifold.name)}, {manifold.dim} dimensions)"
    if not names:
        return (
            f"A mean of points of {space}, from {subjects}: the point with the least mean squared "
            "distance. It was drawn with noise that hides each subject."
        )
    unit = manifold.length_unit
    lengths = [
        f"From {name} {low:g} to {high:g} the released geodesic has length "
        f"{_shown(float(manifold.norm(release.footpoint, vector)), unit)}."
        for name, (low, high), vector in zip(
            names, assumptions.ranges, release.shooting_vectors, strict=True
        )
    ]
    if len(names) == 1:
        return (
            f"A regression of points of {space} on one covariate ({names[0]}), from {subjects}. As "
            "a line has an intercept and a slope, a geodesic has a footpoint and a shooting "
            f"vector; both were drawn with noise that hides each subject. {lengths[0]}"
        )
    return (
        f"A regression of points of {space} on {len(names)} covariates ({', '.join(names)}), from "
        f"{subjects}. As a plane has an intercept and slopes, there are a footpoint and a shooting "
        "vector for each covariate; all were drawn with noise that hides each subject. "
        + " ".join(lengths)
    )


def _meaning(plan):
    """A guarantee as a statement about probabilities."""
    budget, is_replaced = plan.budget, plan.assumptions.changes == 2
    # Rounded up: a smaller factor would be another claim.
    factor = np.ceil(100.0 * np.exp(min(budget.epsilon, 100.0))) / 100.0
    rest = "" if budget.delta is None else f", apart from a probability of {budget.delta}"
    change = "Other data of one subject make" if is_replaced else "One subject more or less makes"
    return f"{change} no outcome more than {factor:.6g} times as probable{rest}."


def _shown(number, unit):
    return escape(f"{number:.3g} {unit}".strip())


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


def _list(texts):
    return "<ul>\n" + "\n".join(f"<li>{escape(text)}</li>" for text in texts) + "\n</ul>"


def _table(head, rows, numbers=()):
    """A table from cells of text; columns of numbers are set flush right."""

    def cells(tag, row):
        marks = [' class="number"' if index in numbers else "" for index in range(len(row))]
        return "".join(
            f"<{tag}{mark}>{escape(text)}</{tag}>" for mark, text in zip(marks, row, strict=True)
        )

    body = "\n".join(f"<tr>{cells('td', row)}</tr>" for row in rows)
    return (
        '<div class="wide"><table>\n'
        f"<thead><tr>{cells('th', head)}</tr></thead>\n"
        f"<tbody>\n{body}\n</tbody></table></div>"
    )


def _prediction_table(rows, manifold, names_of_covariates):
    """Covariates and radii, and coordinates where there are few."""
    unit = f" ({manifold.length_unit})" if manifold.length_unit else ""
    names = [f"radius of the {100 * level:g} % band{unit}" for level in LEVELS]
    keys = [*covariate_columns(names_of_covariates), *map(_band, LEVELS)]
    if not has_landmarks(manifold) and len(rows[0]) - len(keys) <= 9:
        others = [key for key in rows[0] if key not in keys]
        keys += others
        names += [key.replace("_", " ") for key in others]
    body = [[f"{row[key]:.{DIGITS}g}" for key in keys] for row in rows]
    return _table([*names_of_covariates, *names], body, range(len(keys)))


def _input_table(assumptions):
    """Every public input with its value and its source."""
    rows = [
        [
            what,
            _point_in_words(assumptions) if name == "centre" else value,
            assumptions.sources.get(name) or "not stated",
        ]
        for name, (what, value) in assumptions.described().items()
    ]
    return _table(["input", "value", "where it comes from"], rows)


def _point_in_words(assumptions):
    if has_landmarks(assumptions.manifold):
        return f"the dashed shape of the figure; its coordinates are in {RELEASE}"
    values = assumptions.centre.ravel()
    if len(values) > 9:
        return f"a point; its coordinates are in {RELEASE}"
    return ", ".join(f"{value:.{DIGITS}g}" for value in values)
