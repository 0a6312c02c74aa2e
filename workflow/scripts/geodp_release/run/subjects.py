"""Records grouped by subject, the unit of privacy, up to a public number of records each.

Every record becomes covariates from -1/2 to 1/2 and a point of the manifold, or nothing: no record
makes this raise, warn or change what becomes of others.  Of objects this is true as far as they
leave the process alone: their conversion to numbers is code of their own.
"""

import itertools
import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from numbers import Number
from threading import RLock
from typing import Any

import numpy as np

from geodp.data.cells import are_lost, cells_of, no_numbers
from geodp.data.labels import Labels, add_first_records
from geodp.data.large import AT_ONCE, large_array, settle
from geodp.errors import DataError
from geodp_release.run.contributions import chunk_size

# Says that no two records are of one subject.
ONE_EACH = "one record each"

# Types of records that are numbers as they are.
NUMBERS = (float, int, np.float64)

# Held while warnings are hidden, which they are from all threads at once.
QUIET = RLock()


@dataclass(frozen=True)
class SubjectRecords:
    """Records of subjects, padded to the public number of records a subject.

    Attributes
    ----------
    covariates : ndarray, shape (subjects, records, k)
        From -1/2 to 1/2.
    points : ndarray, shape (subjects, records, *point_shape)
        The public centre in place of those that are invalid or padding.
    valid : ndarray of bool, shape (subjects, records)
    counts : ndarray of int, shape (subjects,)
        Records that a subject has, invalid ones included, up to the limit.
    gradients : dict
        What `geodp_release.run.contributions` keeps of them at the last state.
    """

    covariates: np.ndarray
    points: np.ndarray
    valid: np.ndarray
    counts: np.ndarray
    gradients: dict = field(default_factory=dict, init=False)

    def __len__(self):
        return len(self.counts)

    def settle(self, start):
        """Take records out of memory, if they are many, at every so many of them."""
        if start % AT_ONCE == 0:
            settle(self.covariates, self.points)

    def __repr__(self):
        # Private: neither a traceback nor a log may show them.
        return "<SubjectRecords>"


def subject_records(assumptions, covariates, points, subjects):
    """`SubjectRecords` of covariates (n, k), or (n,) with one, and points (n, *point_shape).

    Subjects are labels (n,), or "one record each"; a record without a label counts for nobody.
    Where neighbours replace a subject, there are the public number of subjects: the first so many,
    or more without any record.

    A `DataError` says that shapes do not go together; or that neighbours replace a subject, each of
    one record, and there are more or fewer records than assumed.
    """
    manifold, limit = assumptions.manifold, assumptions.records_per_subject
    given, points = given_records(assumptions, covariates, points)
    number = len(points)
    if isinstance(subjects, str):
        if subjects != ONE_EACH:
            raise DataError(
                f'subjects is {subjects!r}: give the label of each record, or "{ONE_EACH}"'
            )
        owners, places, many = np.arange(number), np.zeros(number, dtype=int), number
    else:
        owners, places, many = _grouped(subjects, number)
    if assumptions.changes == 2:
        # Labels are private, and so is what they count: a refusal would tell of one.
        if isinstance(subjects, str) and many != assumptions.subjects:
            raise DataError(
                f"the number of records is not the public number {assumptions.subjects} of "
                "subjects: make them equal, the number from what is public, or release under "
                "addition or removal of a subject"
            )
        many = assumptions.subjects
    owners[places >= limit] = -1
    owners[owners >= many] = -1
    found = SubjectRecords(
        covariates=large_array((many, limit, assumptions.number_of_covariates)),
        points=large_array((many, limit, *manifold.point_shape), manifold.dtype),
        valid=np.zeros((many, limit), dtype=bool),
        counts=np.zeros(many, dtype=int),
    )
    for start in range(0, many, AT_ONCE):
        found.points[start : start + AT_ONCE] = assumptions.centre
        settle(found.points)
    for start, x, y, valid in mapped_blocks(assumptions, given, points):
        some = slice(start, start + len(x))
        kept = owners[some] >= 0
        rows = owners[some][kept], places[some][kept]
        found.covariates[rows], found.points[rows] = x[kept], y[kept]
        found.valid[rows] = valid[kept]
        np.add.at(found.counts, rows[0], 1)
        found.settle(start)
    return found


def _grouped(subjects, number):
    """Index of each record's subject, its place among the subject's records, and their number.

    A record without a label has the index and the place -1.
    """
    # Of other types than NumPy's one missing label would make all floating-point numbers.
    is_plain = isinstance(getattr(subjects, "dtype", np.dtype(object)), np.dtype)
    given = as_array(subjects) if is_plain else cells_of(subjects)
    try:
        is_plain = isinstance(given, Labels)
        is_plain |= type(given) is np.ndarray and given.dtype == np.int64 and given.ndim == 1
        labels = given if is_plain else list(given)
    except TypeError:
        labels = None
    if labels is None or len(labels) != number:
        raise DataError("subjects and covariates do not go together: name one subject a record")
    if isinstance(given, np.ndarray) and given.dtype.kind in "fc" and are_lost(given):
        raise DataError(
            "subjects are floating-point numbers so large that different whole numbers become the "
            "same one: give labels as text, or as whole numbers none of which is missing"
        )
    # By its shape, and not by what is in a list.
    if isinstance(given, np.ndarray) and given.ndim != 1:
        raise DataError("subjects has several values a record: give one label for each record")
    owners, seen = owners_of(labels)
    places = np.minimum(owners, 0)
    if np.count_nonzero(owners >= 0) > seen:
        named = np.flatnonzero(owners >= 0)
        counts = np.bincount(owners[named], minlength=seen)
        # In the order of the subjects, records of each in their own.
        order = named[np.argsort(owners[named], kind="stable")]
        places[order] = np.arange(len(order)) - np.repeat(np.cumsum(counts) - counts, counts)
    return owners, places, seen


def owners_of(labels):
    """Index of the subject of each label, in the order of their first records, and their number.

    -1 for a label that names nobody.
    """
    number = len(labels)
    if isinstance(labels, np.ndarray):
        own = np.zeros(number, dtype=int)
        add_first_records(labels, own, empty=None)
    else:
        # Most are texts or numbers, and known by themselves. Texts are apart: others are compared
        # with numbers alone, and so by no code that these have not.
        own = np.zeros(number, dtype=int)
        texts = labels if isinstance(labels, Labels) else _texts_among(labels, own)
        add_first_records(texts.cells, own)
        seen: dict = {}
        for index, label in texts.others.items():
            own[index] = seen.setdefault(label, index + 1)
    # How many first ones there are up to the first record of the same subject.
    is_first = own == np.arange(1, number + 1)
    ranks = np.cumsum(is_first, dtype=np.int32 if number < 1 << 31 else np.int64)
    own -= 1
    owners = np.append(ranks - 1, np.array([-1], dtype=ranks.dtype))[own]
    return owners, int(np.sum(is_first))


def _texts_among(labels, own):
    """`Labels` of those that are texts; in ``own`` the first record, from 1, of all others."""
    plain: list = [label if type(label) is str else None for label in labels]
    number = len(plain)
    if None in plain:
        numbers: dict = {}
        kept = [label if type(label) is int or type(label) is float else None for label in labels]
        own[:] = _known(kept, numbers)
        for index, label in enumerate(labels):
            if kept[index] is None and type(label) is not str:
                try:
                    key = label_key(label)
                    if key is not None and key[0] is str:
                        plain[index] = str.__str__(label)
                    elif key is not None:
                        key = key[1] if key[0] is Number else key
                        own[index] = numbers.setdefault(key, index + 1)
                except Exception:  # a label that cannot be compared or hashed names nobody
                    continue
        # Some of these may be records before those of plain numbers.
        first = np.zeros(number + 1, dtype=int)
        first[own[::-1]] = np.arange(number, 0, -1)
        first[0] = 0
        own[:] = first[own]
    return Labels(plain)


def _known(labels, seen):
    """A record, from 1, with each label (n,), and 0 for ``None`` and NaN."""
    found: Any = np.fromiter(map(seen.setdefault, labels, itertools.count(1)), "int64", len(labels))
    nobody = [key is None or key != key for key in seen]
    found[np.isin(found, list(itertools.compress(seen.values(), nobody)))] = 0
    return found


def label_key(label):
    """What a label is known by; ``None`` for a missing one: None, NaN and the like, a blank text.

    Texts and bytes are the same if all their characters are, blanks at the ends too. Numbers are
    the same if they are equal, and truth values are no numbers.
    """
    if isinstance(label, str | bytes):
        return (str if isinstance(label, str) else bytes, label) if label.strip() else None
    if label is None or not bool(label == label):
        return None
    if isinstance(label, bool | np.bool_):
        return bool, bool(label)
    return Number if isinstance(label, Number) else type(label), label


def mapped_records(assumptions, covariates, points):
    """Scaled covariates, points of the manifold, which records have both, and given covariates."""
    given, points = given_records(assumptions, covariates, points)
    number, manifold = len(points), assumptions.manifold
    x = large_array((number, assumptions.number_of_covariates))
    y = large_array((number, *manifold.point_shape), manifold.dtype)
    valid = np.zeros(number, dtype=bool)
    for start, *found in mapped_blocks(assumptions, given, points):
        some = slice(start, start + len(found[0]))
        x[some], y[some], valid[some] = found
        settle(x, y)
    return x, y, valid, given


def given_records(assumptions, covariates, points):
    """Covariates (n, k) and points (n, *point_shape) as arrays; see `record_array`."""
    manifold, columns = assumptions.manifold, assumptions.number_of_columns
    y = record_array(points, manifold.point_shape, manifold.dtype)
    given = np.empty((len(y), 0))
    if covariates is not None:
        given = record_array(covariates, (columns,), float)
    elif columns:
        raise DataError(f"covariates are missing: give {columns} a record")
    if len(given) != len(y):
        raise DataError(f"{manifold.name}: give as many points as covariates")
    return given, y


def mapped_blocks(assumptions, given, points):
    """Index of the first, scaled covariates, points and which are valid, of some records by turns.

    Of `given_records`.
    """
    manifold, size = assumptions.manifold, chunk_size(assumptions)
    # Always so many at once, of which the last are padding: how many records there are may be
    # private, and changes how others are rounded.
    places = np.empty((size, given.shape[1]))
    arrays = np.empty((size, *manifold.point_shape), dtype=manifold.dtype)
    # No record at all takes as long as one.
    for start in range(0, max(len(points), 1), size):
        some = slice(start, start + size)
        number = len(points[some])
        places[:], arrays[:] = assumptions.middles, assumptions.centre
        places[:number], arrays[:number] = given[some], points[some]
        found = _mapped(assumptions, places, arrays)
        x, y, valid = (each[:number] for each in found)
        yield start, x, y, valid
        settle(given, points)


def _mapped(assumptions, given, arrays):
    """Scaled covariates, points of the manifold, and which records have both."""
    manifold, centre = assumptions.manifold, assumptions.centre
    lower = min(manifold.curvature_bounds[0], 0.0)
    # Longer lengths cannot be squared, nor their exponentials in units of the radius of curvature.
    farthest = 1e100 if lower == 0.0 else 100.0 / np.sqrt(-lower)
    with np.errstate(all="ignore"):
        has = assumptions.usable(given)
        x = assumptions.scaled(np.where(has[:, None], given, assumptions.middles))
        usable = manifold.are_points(arrays)
        safe = manifold.project(np.where(manifold.expand(usable), arrays, centre))
        usable &= manifold.are_told(centre, safe) & (manifold.dist(centre, safe) <= farthest)
    y = np.where(manifold.expand(has & usable), safe, centre)
    return np.where(has[:, None], x, 0.0), y, has & usable


def record_array(values, shape, dtype):
    """Values as an array (n, *shape) of records; those that do not fit become NaN.

    Records of one number may come without an axis of their own.
    """
    refuse_types(values)
    values = as_array(values)
    if type(values) is np.ndarray and (values.dtype, values.shape[1:]) == (dtype, shape):
        return values
    if isinstance(values, np.ndarray) and values.dtype.kind in "iufc":
        if not len(np.atleast_1d(values)):
            return np.empty((0, *shape), dtype=dtype)
        if values.ndim == 1 and shape == (1,):
            values = values[:, None]
        if values.shape[1:] != shape or values.ndim != len(shape) + 1:
            raise DataError(
                f"records have shape {values.shape[1:]}, and {shape} is wanted: give one of this "
                "shape a record"
            )
        with _silence():
            return _entries(values, dtype)
    try:
        each = list(values)
    except TypeError:
        raise DataError("covariates and points are no sequences: give arrays") from None
    found = np.full((len(each), *shape), np.nan, dtype=dtype)
    with _silence():
        for index, value in enumerate(each):
            # Most records, quickly: one that makes an array one of objects must not be told by the
            # time that all the others take.
            kind = type(value)
            if kind is np.ndarray and value.shape == shape and value.dtype == found.dtype:
                found[index] = value
                continue
            try:
                array = float(value) if kind in NUMBERS else _entries(value, dtype)
            except Exception:  # whatever a record raises would tell of it
                continue
            if np.shape(array) == shape or (shape == (1,) and np.shape(array) == ()):
                found[index] = array
    return found


def as_array(values):
    """Values of pandas as an array, those of Arrow as a list, and others as they are."""
    if hasattr(values, "to_pylist"):
        # Its arrays raise where a value is missing.
        return values.to_pylist()
    return getattr(values, "to_numpy", lambda: values)()


def refuse_types(values):
    """Refuse columns of pandas of a type of no numbers, such as dates: types are public.

    Records of such a type would all be noise.  An array is read entry by entry.
    """
    if not hasattr(values, "iloc"):
        return
    kinds, names = values.dtypes, getattr(values, "columns", [getattr(values, "name", "")])
    for name, kind in zip(names, kinds if hasattr(kinds, "iloc") else [kinds], strict=True):
        if (unfit := no_numbers(kind)) is not None:
            raise DataError(
                f"column {name} of a data frame is of type {unfit}, and numbers are wanted: "
                "convert it"
            )


@contextmanager
def _silence():
    """A context without warnings, which a record might cause."""
    with np.errstate(all="ignore"), QUIET, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _entries(values, dtype):
    """An array as one of a kind, entry by entry; NaN for what is hidden or of another kind."""
    values = np.ma.asanyarray(values)
    hidden, values = np.ma.getmaskarray(values), np.ma.getdata(values)
    if values.dtype.kind in "mM":
        # Dates would become nanoseconds, and a missing one an ordinary number.
        return np.full(values.shape, np.nan, dtype=dtype)
    if np.iscomplexobj(values) and np.dtype(dtype).kind != "c":
        # One complex record makes an array of all records complex.
        hidden, values = hidden | (values.imag != 0.0), values.real
    return np.where(hidden, np.nan, values.astype(dtype)).astype(dtype)
