"""Records of a release, read one by one.

Unlike `geodp.data.records.read_table`, no record changes what becomes of others: what cannot be
read becomes NaN, which a release does not count.  Faults of the file as a whole are errors.
"""

from contextlib import suppress
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np

from geodp.data.checks import FEWEST_OUTLINE_LANDMARKS
from geodp.data.columns import (
    ambient,
    check_columns,
    has_landmark_columns,
    has_landmarks,
    named_columns,
    number_of_coordinates,
    point_columns,
)
from geodp.data.coordinates import are_read, in_layout
from geodp.data.formats import open_table
from geodp.data.landmarks import crossing_edges, orient, resample
from geodp.data.large import in_turn, large_array, settle
from geodp.data.sheets import FrameTable
from geodp.data.table import JoinedTable
from geodp.errors import DataError
from geodp_release.run.contributions import chunk_size
from geodp_release.run.grouping import ONE_EACH, grouped


class Data(tuple):
    """Covariates, points and subjects; and of which columns of which table they are, if of one.

    Its ``numbers`` (n, m + k) are of m coordinates and of covariates, by ``names``, as the table
    has them.  Where records without a response are dropped ``kept`` are the others (n,), of
    ``total``.
    """

    table: Any = None
    kept: Any = None
    total: Any = None
    columns: list
    names: list
    numbers: np.ndarray

    @property
    def rows(self):
        """Numbers of the records in the table."""
        rows = self.table.rows
        return rows[: len(self[1])] if self.kept is None else [rows[each] for each in self.kept]

    def texts(self, columns, places):
        """Texts in columns of the records at places, by these; see `Table.texts`."""
        if self.kept is None:
            return self.table.texts(columns, places)
        own = self.kept[places].tolist()
        found = self.table.texts(columns, own)
        return {place: found[each] for place, each in zip(places, own, strict=True)}

    @cached_property
    def groups(self):
        """Index of the subject of each record, its place and their number; see `grouped`."""
        return grouped(self[2], len(self[1]))


def read_data(settings):
    """`Data` of a release: covariates (n, k), points (n, *point_shape) and subjects.

    Numbers are NaN where a record cannot be read.  Labels of subjects are as in the file, ``None``
    for an empty or blank one; or all are "one record each", unless records without a response are
    dropped, whose number is private.  A `DataError` says that the file is not as the settings
    describe it, and may tell of records.
    """
    manifold = settings.assumptions.manifold
    if settings.data.source != "table":
        return Data(_simulated(settings, manifold))
    data = settings.data
    table, columns = table_of(settings)
    numbers, labels = table.read(
        [*columns, *data.covariates], None if data.is_one_each else data.subject
    )
    names, total = table.numbered(columns), len(numbers)
    if data.drops_missing:
        kept = np.flatnonzero(have_responses(data, numbers[:, : len(names)]))
        numbers, labels = numbers[kept], np.arange(total) if labels is None else labels
        # Labels of other kinds are in a list.
        is_array = isinstance(labels, np.ndarray)
        labels = labels[kept] if is_array else [labels[each] for each in kept.tolist()]
    coordinates, covariates = np.split(numbers, [len(names)], axis=1)
    points = _points(settings, table, names, coordinates)
    given = large_array(covariates.shape)
    for some in in_turn(numbers, given):
        given[some] = np.where(np.isfinite(covariates[some]), covariates[some], np.nan)
    found = Data((given, points, ONE_EACH if labels is None else labels))
    found.table, found.columns, found.numbers = table, columns, numbers
    found.names = [*names, *data.covariates]
    if data.drops_missing:
        found.kept, found.total = kept, total
    return found


def have_responses(data, numbers):
    """Which records have a response, by the numbers of its cells (n, k) alone; (n,).

    One with a cell that is no number has a fault, and is not missing.
    """
    missing = np.isnan(numbers)
    are_missing = np.all(missing, axis=1) if data.outline else np.any(missing, axis=1)
    return ~are_missing | np.any(np.isinf(numbers), axis=1)


def _points(settings, table, names, numbers):
    """Points (n, *point_shape), each of its row of numbers (n, k) alone; NaN for none."""
    data, manifold = settings.data, settings.assumptions.manifold
    points = large_array((len(numbers), *manifold.point_shape), manifold.dtype, np.nan)
    if has_landmarks(manifold):
        for index, row in enumerate(numbers):
            try:
                points[index] = point_of(data, manifold, table.source, index, names, row)
            except Exception:  # whatever a record raises would tell of it: it stays NaN
                continue
        return points
    # Always so many at once, as in `mapped_blocks`.
    size = chunk_size(settings.assumptions)
    block = np.zeros((size, numbers.shape[1]))
    for start in range(0, max(len(numbers), 1), size):
        some = numbers[start : start + size]
        block[:] = 0.0
        block[: len(some)] = some
        with np.errstate(all="ignore"):
            found = manifold.from_layout(in_layout(block, data.coordinates))
            found = np.where(manifold.expand(are_read(block, data.coordinates)), found, np.nan)
        points[start : start + size] = found[: len(some)]
        settle(numbers, points)
    return points


def check_data_settings(settings):
    """Refuse settings that no data fit, in a sentence with the key, without a look at the data."""
    data, manifold = settings.data, settings.assumptions.manifold
    is_table = data.source == "table"
    if not has_landmarks(manifold):
        if not is_table:
            raise DataError(
                f"key data.source: {data.source} are planar shapes and no points of "
                f"{manifold.name}: set public.manifold.name to kendall"
            )
        if data.outline:
            raise DataError(
                f"key data.outline: points of {manifold.name} have no outline: remove it"
            )
        if data.columns is None and not has_landmark_columns(manifold):
            raise DataError(
                f"key data.columns is missing: name those of a point of {manifold.name}"
            )
    # How many numbers are in arrays is in the header of their file.
    arrays = (".npz", ".mat", ".parquet", ".feather")
    has_arrays = is_table and (Path(data.path).suffix.lower() in arrays or Path(data.path).is_dir())
    if is_table and data.columns is not None and not has_arrays:
        subject = None if data.is_one_each else data.subject
        check_columns(
            data.columns, "key data.columns", manifold, data.covariates, subject, data.coordinates
        )


def refuse_missing(settings, is_shown=False):
    """Refuse a table that is not there or has other columns, from what precedes its records.

    That is the header of a text, and what other files state of their columns: names, types and
    lengths.  See `table_of`.  Of the records alone that their labels lost digits.
    """
    if settings.data.source != "table":
        return
    (table, _), label, is_lost = table_of(settings, is_shown), settings.data.subject, False
    # Whatever is wrong with the file is told where its records are read.
    with suppress(Exception):
        is_lost = not settings.data.is_one_each and table.has_lost(label)
    if is_lost:
        raise DataError(
            f"{table.path}, {table.source.field_word} {label}: labels are floating-point numbers "
            "so large that different whole numbers become the same one: save or read the labels "
            "as text"
        )


def table_of(settings, is_shown=False):
    """The table of a release, of which only the header was read, and the columns of a point.

    A `DataError` says that it is not there, or is not as the settings describe it.  With
    ``is_shown`` it names the columns that are there, for the holder's eyes alone: where a header is
    missing they are a record.
    """
    data, manifold = settings.data, settings.assumptions.manifold
    table = _opened(data.path, "data.path", data, manifold)
    if data.join is not None:
        second = _opened(data.join.path, "data.join.path", data, manifold)
        named_columns(second, [data.join.subject], [], is_shown)
        table = JoinedTable(table, data.subject, second, data.join.subject)
    columns, names = point_columns(
        table,
        manifold,
        data.columns,
        data.covariates,
        None if data.is_one_each else data.subject,
        data.coordinates,
        place="key data.columns",
        is_shown=is_shown,
    )
    if has_landmarks(manifold) and not data.outline and len(names) != 2 * manifold.landmarks:
        raise DataError(
            f"{data.path}: it has {len(names) // 2} landmarks and public.manifold "
            f"{manifold.landmarks}: make the two equal, or set data.outline to true"
        )
    return table, columns


def _opened(path, key, data, manifold):
    count = manifold.landmarks if has_landmarks(manifold) else None
    reading = replace(data.reading, length=number_of_coordinates(manifold, data.coordinates))
    if key != "data.path":
        reading = replace(reading, sheet=None)
    if key == "data.path" and data.frame is not None:
        return FrameTable(path, reading, data.frame)
    return open_table(path, reading=reading, landmarks=count, key=f"key {key}: ")


def point_of(data, manifold, source, row, names, numbers):
    """The point of a record, from the numbers of its columns; NaN for an empty cell or no shape.

    It need not be of the manifold.  A `DataError` says why a record, called ``row``, has none.
    """
    if data.outline:
        filled = np.flatnonzero(~np.isnan(numbers))
        numbers = numbers[: filled[-1] + 1 if len(filled) else 0]
    unusable = np.flatnonzero(~np.isfinite(numbers))
    if len(unusable):
        raise source.refusal(row, "it is not a finite number", names[unusable[0]])
    with np.errstate(all="ignore"):
        if has_landmarks(manifold):
            return _shape(numbers, manifold, data.outline, source, row)
        found = ambient(numbers[None], data.coordinates, source, [row], names)
        return manifold.from_layout(found)[0]


def _shape(numbers, manifold, is_outline, source, row):
    if len(numbers) % 2:
        raise source.refusal(row, "its last landmark has no y")
    landmarks = numbers[0::2] + 1j * numbers[1::2]
    if is_outline:
        if len(landmarks) > 1 and landmarks[0] == landmarks[-1]:
            landmarks = landmarks[:-1]
        if (number := len(landmarks)) < FEWEST_OUTLINE_LANDMARKS:
            raise source.refusal(row, f"its outline has {number} landmarks, too few to be closed")
        if crossing_edges(landmarks) is not None:
            raise source.refusal(row, "its outline meets itself")
        landmarks, _ = orient(landmarks)
        if len(landmarks) != manifold.landmarks:
            landmarks = resample(landmarks, manifold.landmarks)
    # Landmarks that coincide have no shape: they become NaN.
    return manifold.from_landmarks(landmarks)


def _simulated(settings, manifold):
    from geodp.data.stand_in import simulate_outlines

    data = settings.data
    # New ones at every run, as a seed would be public.
    rng = np.random.default_rng()
    found = simulate_outlines(
        rng, 1, data.number, manifold.landmarks, trend_length=data.trend_length
    )
    ages = found.ages[0][:, None][:, : settings.assumptions.number_of_columns]
    return ages, manifold.from_landmarks(found.outlines[0]), ONE_EACH
