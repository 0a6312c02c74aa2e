"""Records grouped by subject, the unit of privacy, up to a public number of records each.

Every record becomes covariates from -1/2 to 1/2 and a point of the manifold, or nothing: no record
makes this raise, warn or change what becomes of others.  Of objects this is true as far as they
leave the process alone: their conversion to numbers is code of their own.
"""

import warnings
from contextlib import contextmanager
from dataclasses import dataclass, field
from threading import RLock

import numpy as np

from geodp.data.cells import no_numbers
from geodp.data.large import AT_ONCE, Rows, in_turn, large_array, settle
from geodp.errors import DataError
from geodp_release.run.contributions import chunk_size
from geodp_release.run.grouping import ONE_EACH, as_array, grouped

# Held while warnings are hidden, which they are from all threads at once.
QUIET = RLock()


@dataclass(frozen=True)
class SubjectRecords:
    """Records of subjects, padded to the public number of records a subject."""

    # From -1/2 to 1/2: (subjects, records, k).
    covariates: np.ndarray
    # The public centre in place of those that are invalid or padding.
    points: np.ndarray
    # Which records are neither; and how many a subject has, invalid ones included, up to the limit.
    valid: np.ndarray
    counts: np.ndarray
    # What `geodp_release.run.contributions` keeps of them at the first state and the last.
    gradients: dict = field(default_factory=dict, init=False)

    def __len__(self):
        return len(self.counts)

    @property
    def limit(self):
        return self.valid.shape[1]

    def take(self, subjects):
        """The records of some subjects."""
        parts = self.covariates, self.points, self.valid, self.counts
        return SubjectRecords(*(part[subjects] for part in parts))

    def settle(self, start, *others):
        """Take records and other arrays out of memory, if they are many, at every so many."""
        if start % AT_ONCE == 0:
            settle(self.covariates, self.points, self.valid, self.counts, *others)

    def __repr__(self):
        # Private: neither a traceback nor a log may show them.
        return "<SubjectRecords>"


def subject_records(assumptions, covariates, points, subjects, groups=None):
    """`SubjectRecords` of covariates (n, k), or (n,) with one, and points (n, *point_shape).

    Subjects are labels (n,), or "one record each"; a record without a label counts for nobody.
    ``groups`` is what `grouped` says of them, if that is known.  Where neighbours replace a
    subject, there are the public number of subjects: the first so many, or more without any record.

    A `DataError` says that shapes do not go together, or is of `refuse_number`.
    """
    given, points = given_records(assumptions, covariates, points)
    owners, places, many = groups or grouped(subjects, len(points))
    if isinstance(subjects, str) and subjects == ONE_EACH:
        refuse_number(assumptions, many)
    if assumptions.changes == 2:
        many = assumptions.subjects
    return padded(assumptions, given, points, owners, places, many)


def refuse_number(assumptions, number):
    """Refuse another number of records than the public one, where each is of a subject of its own.

    Labels are private, and so is what they count: a refusal would tell of one.
    """
    if assumptions.changes == 2 and number != assumptions.subjects:
        raise DataError(
            f"the number of records is not the public number {assumptions.subjects} of "
            "subjects: make them equal, the number from what is public, or release under "
            "addition or removal of a subject"
        )


def padded(assumptions, given, points, owners, places, many):
    """`SubjectRecords` of so many subjects, of `given_records` with what `grouped` says of them."""
    manifold, limit = assumptions.manifold, assumptions.records_per_subject
    found = SubjectRecords(
        large_array((many, limit, assumptions.number_of_covariates)),
        large_array((many, limit, *manifold.point_shape), manifold.dtype),
        large_array((many, limit), bool),
        large_array((many,), np.int32),
    )
    for some in in_turn(found.points):
        found.points[some] = assumptions.centre
    for start, x, y, valid in mapped_blocks(assumptions, given, points):
        some = slice(start, start + len(x))
        kept = (owners[some] >= 0) & (owners[some] < many) & (places[some] < limit)
        rows = owners[some][kept], places[some][kept]
        found.covariates[rows], found.points[rows] = x[kept], y[kept]
        found.valid[rows] = valid[kept]
        np.add.at(found.counts, rows[0], 1)
        found.settle(start, owners, places)
    return found


def valid_records(assumptions, covariates, points):
    """Scaled covariates (n, k) and points (n, *point_shape) of the valid records."""
    manifold = assumptions.manifold
    x, y = Rows((assumptions.number_of_covariates,)), Rows(manifold.point_shape, manifold.dtype)
    given = given_records(assumptions, covariates, points)
    for _, *found, valid in mapped_blocks(assumptions, *given):
        x.add(found[0][valid])
        y.add(found[1][valid])
    return x.array(), y.array()


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
    """Of `given_records` by turns: the first index, scaled covariates, points, which are valid."""
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
    found, numbers = np.full((len(each), *shape), np.nan, dtype=dtype), (float, int, np.float64)
    with _silence():
        for index, value in enumerate(each):
            # Most records, quickly: one that makes an array one of objects must not be told by the
            # time that all the others take.
            kind = type(value)
            if kind is np.ndarray and value.shape == shape and value.dtype == found.dtype:
                found[index] = value
                continue
            try:
                array = float(value) if kind in numbers else _entries(value, dtype)
            except Exception:  # whatever a record raises would tell of it
                continue
            if np.shape(array) == shape or (shape == (1,) and np.shape(array) == ()):
                found[index] = array
    return found


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
