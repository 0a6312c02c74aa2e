"""Records of a release, read one by one.

Unlike `geodp.data.tables.read_records`, no record changes what becomes of others: what cannot be
read becomes NaN, which a release does not count.  Faults of the file as a whole are errors.
"""

import csv
from itertools import zip_longest

import numpy as np

from geodp.data.landmarks import crossing_edges, orient, resample
from geodp.data.messages import RecordFile
from geodp.data.records import RecordOptions, finite_number, has_landmarks
from geodp.data.tables import check_columns, numbered_rows, on_the_sphere
from geodp.errors import DataError
from geodp.release.subjects import ONE_EACH


def read_data(settings):
    """Covariates, points and subjects of a release's data.

    Parameters
    ----------
    settings : ReleaseSettings

    Returns
    -------
    covariates : ndarray, shape (n, k)
    points : ndarray, shape (n, *point_shape)
        NaN where a record cannot be read.
    subjects : list of str, or "one record each"

    Raises
    ------
    DataError
        The file is not as the settings describe it.  The message may tell of records.
    """
    manifold = settings.assumptions.manifold
    if settings.data.source == "table":
        return _read_table(settings.data, manifold)
    return _simulated(settings, manifold)


def check_data_settings(settings):
    """Refuse settings that no data fit, without a look at them.

    Parameters
    ----------
    settings : ReleaseSettings

    Raises
    ------
    DataError
        One sentence with the key.
    """
    data, manifold = settings.data, settings.assumptions.manifold
    if data.source != "table":
        if not has_landmarks(manifold):
            raise DataError(
                f"key data.source: {data.source} are planar shapes and no points of "
                f"{manifold.name}: set public.manifold.name to kendall"
            )
        return
    if data.outline and not has_landmarks(manifold):
        raise DataError(f"key data.outline: points of {manifold.name} have no outline: remove it")
    if data.columns is None:
        if not has_landmarks(manifold):
            raise DataError(
                f"key data.columns is missing: name those of a point of {manifold.name}"
            )
        return
    for options in _options(data):
        check_columns(data.columns, "key data.columns", manifold, options, data.coordinates)


def refuse_missing(settings):
    """Refuse a table that is not there or has other columns, from its header alone.

    Parameters
    ----------
    settings : ReleaseSettings
    """
    data = settings.data
    if data.source != "table":
        return
    with _opened(data) as text:
        _header(data, text)


def _options(data):
    """Options of the reader for each covariate, or for none."""
    subject = None if data.is_one_each else data.subject
    return [RecordOptions(name, subject=subject) for name in data.covariates or [None]]


def _read_table(data, manifold):
    with _opened(data) as text:
        columns, names, delimiter = _header(data, text)
        # Every line is a record, whatever is in it; an empty one is none.
        rows = [_cells(line, names, delimiter) for line in text if line.strip()]
    if has_landmarks(manifold) and not data.outline and len(columns) != 2 * manifold.landmarks:
        raise DataError(
            f"{data.path}: it has {len(columns) // 2} landmarks and public.manifold "
            f"{manifold.landmarks}: make the two equal, or set data.outline to true"
        )
    covariates = np.full((len(rows), len(data.covariates)), np.nan)
    points = np.full((len(rows), *manifold.point_shape), np.nan, dtype=manifold.dtype)
    for index, row in enumerate(rows):
        for place, name in enumerate(data.covariates):
            covariate = finite_number(row[name])
            if covariate is not None:
                covariates[index, place] = covariate
        point = _point(data, manifold, columns, [row[name] for name in columns])
        if point is not None:
            points[index] = point
    subjects = ONE_EACH if data.is_one_each else [row[data.subject].strip() for row in rows]
    return covariates, points, subjects


def _opened(data):
    try:
        # What is no text becomes a character that is no number.
        return open(data.path, encoding="utf-8-sig", errors="replace")
    except OSError as problem:
        raise DataError(
            f"key data.path: {data.path} cannot be read ({problem.strerror}): correct the path"
        ) from None


def _header(data, text):
    """Columns of a point, names of all columns, and what separates them; reads to the header."""
    first = next((line for line in text if line.strip() and not line.startswith("#")), "")
    fields = dict.fromkeys(name for options in _options(data) for name in options.fields)
    columns, _ = numbered_rows([first], data.path, fields, data.columns)
    delimiter = "\t" if "\t" in first and "," not in first else ","
    return columns, [name.strip() for name in _split(first, delimiter)], delimiter


def _cells(line, names, delimiter):
    """Cells of a line by column, empty where it has none."""
    return dict(zip_longest(names, _split(line, delimiter)[: len(names)], fillvalue=""))


def _split(line, delimiter):
    try:
        return next(csv.reader([line], delimiter=delimiter), [])
    except csv.Error:
        return []


def _point(data, manifold, columns, cells):
    """The point in the cells of a record, or ``None``."""
    while data.outline and cells and not cells[-1].strip():
        cells = cells[:-1]
    values = [finite_number(cell) for cell in cells]
    if None in values:
        return None
    numbers = np.array(values, dtype=float)
    try:
        with np.errstate(all="ignore"):
            if has_landmarks(manifold):
                return _shape(numbers, manifold, data.outline)
            if data.coordinates == "latitude_longitude":
                return on_the_sphere(numbers[None], RecordFile(data.path), [0], columns)[0]
            return manifold.from_layout(numbers[None])[0]
    except DataError:
        return None


def _shape(numbers, manifold, is_outline):
    """The shape of a record's landmarks, or ``None``."""
    if len(numbers) % 2:
        return None
    landmarks = numbers[0::2] + 1j * numbers[1::2]
    if is_outline:
        if len(landmarks) > 1 and landmarks[0] == landmarks[-1]:
            landmarks = landmarks[:-1]
        if len(landmarks) < 4 or crossing_edges(landmarks) is not None:
            return None
        landmarks, _ = orient(landmarks)
        if len(landmarks) != manifold.landmarks:
            landmarks = resample(landmarks, manifold.landmarks)
    # Landmarks that coincide have no shape: they become NaN.
    return manifold.from_landmarks(landmarks)


def _simulated(settings, manifold):
    data = settings.data
    from geodp.data.stand_in import simulate_outlines

    # New ones at every run, as a seed would be public.
    found = simulate_outlines(
        np.random.default_rng(),
        1,
        data.number,
        manifold.landmarks,
        trend_length=data.trend_length,
    )
    ages = found.ages[0][:, None][:, : settings.assumptions.number_of_covariates]
    return ages, manifold.from_landmarks(found.outlines[0]), ONE_EACH
