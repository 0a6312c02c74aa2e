"""Records of data frames and arrays of Dask: the records of a subject are brought together.

They may lie in several partitions.  Which part of the records a subject belongs to follows from its
label alone, and in each the first records of a subject are those that come first in the whole
table.  So sums over subjects are those of one machine, in whatever order they are added.
"""

import itertools
import math
import pickle
from functools import partial
from numbers import Number
from operator import itemgetter
from zlib import crc32

import numpy as np

from geodp.errors import DataError
from geodp_release.run.grouping import as_array, grouped, label_key, labels_of
from geodp_release.run.parts import PartedRecords, RefusedError, silently
from geodp_release.run.subjects import (
    given_records,
    padded,
    record_array,
    refuse_number,
    refuse_types,
)


def are_partitioned(values):
    """Whether values are a data frame, a column or an array of Dask."""
    return hasattr(values, "to_delayed")


def parted_records(assumptions, covariates, points, subjects):
    """`PartedRecords` of collections of Dask; see `geodp_release.run.subjects.subject_records`."""
    from dask import compute, delayed, persist

    if is_one_each := isinstance(subjects, str):
        grouped(subjects, 0)
    for each in (covariates, points):
        refuse_types(getattr(each, "_meta", each))
    given = [points] if covariates is None else [covariates, points]
    given += [] if is_one_each else [subjects]
    # As they are: made simpler each by itself, they might have other partitions.
    tables = [
        np.ravel(each.to_delayed(optimize_graph=False)).tolist()
        for each in given
        if are_partitioned(each)
    ]
    if len(tables) < len(given) or len({*map(len, tables)}) > 1:
        raise DataError(
            "covariates, points and subjects do not go together: take all of them of one data "
            "frame of Dask"
        )
    number = len(tables[0])
    if covariates is None:
        tables.insert(0, [None] * number)
    if is_one_each:
        tables.append([subjects] * number)

    def task(function, *public):
        # Dask looks into what tasks are given, but into no function.
        return delayed(partial(function, assumptions, *public), nout=number)

    rows = enumerate(zip(*tables, strict=True))
    pieces = [task(_split, place, number)(*each) for place, each in rows]
    found = [task(_together)([each[part] for each in pieces]) for part in range(number)]
    found = silently(persist, *found)
    parts = [delayed(itemgetter(0))(each) for each in found]
    total, public = sum(silently(compute, *map(delayed(len), parts))), assumptions.subjects
    if is_one_each:
        refuse_number(assumptions, total)
    elif assumptions.changes == 2:
        if total > public:
            firsts = silently(compute, *map(delayed(itemgetter(1)), found))
            last = int(np.partition(np.concatenate(firsts), public - 1)[public - 1])
            parts = [task(_up_to, last)(each) for each in found]
        # Subjects without a record, in parts of their own.
        many = 1 << 20
        parts += [task(_without, min(many, public - at))() for at in range(total, public, many)]
        total = public
    return PartedRecords(tuple(silently(persist, *parts)), total, assumptions.records_per_subject)


def _split(assumptions, place, number, covariates, points, subjects):
    """Records of the partition at a place by the part of their subjects: arrays, labels, rows."""
    try:
        given, points = _arrays(assumptions, covariates, points)
        # In the order of the table, whose partitions have fewer rows than that.
        rows = (place << 40) + np.arange(len(points))
        # A row is a label of its own.
        labels = rows.tolist() if isinstance(subjects, str) else labels_of(subjects, len(points))
    except DataError as problem:
        raise RefusedError(str(problem)) from None
    parts = np.fromiter((_part(label, number) for label in labels), int, len(labels))
    chosen = (np.flatnonzero(parts == part) for part in range(number))
    return [(given[at], points[at], [labels[each] for each in at], rows[at]) for at in chosen]


def _arrays(assumptions, covariates, points):
    """See `given_records`; the columns of a data frame are the entries of a point, row by row."""
    manifold, is_frame = assumptions.manifold, hasattr(points, "columns")
    # Those of a data frame are public; the types of a partition may follow from its records.
    covariates, points = as_array(covariates), as_array(points)
    if is_frame:
        points = record_array(points, (math.prod(manifold.point_shape),), manifold.dtype)
        points = points.reshape(-1, *manifold.point_shape)
    return given_records(assumptions, covariates, points)


def _part(label, number):
    """The part of a label: the same in each process for labels of one subject, and -1 for none."""
    try:
        kind, value = label_key(label) or (None, label)
        if kind is None:
            return -1
        if kind is str:
            value = str.encode(value, errors="surrogatepass")
        if isinstance(value, bytes):
            return crc32(value) % number
        if kind is Number:
            return hash(value) % number
        # Of other types a process may have hashes of its own. Those that do not come as they are
        # from one to another would split a subject, or leave the cluster waiting for them.
        return 0 if pickle.loads(pickle.dumps(value)) == value else -1
    except Exception:  # a label that cannot be compared or hashed names nobody
        return -1


def _together(assumptions, pieces):
    """`SubjectRecords` of a part, and the first row of each of its subjects."""
    given, points, labels, rows = zip(*pieces, strict=True)
    owners, places, many = grouped(list(itertools.chain(*labels)), sum(map(len, labels)))
    named = owners >= 0
    _, firsts = np.unique(owners[named], return_index=True)
    arrays = np.concatenate(given), np.concatenate(points)
    return padded(assumptions, *arrays, owners, places, many), np.concatenate(rows)[named][firsts]


def _up_to(assumptions, last, found):
    """The records of subjects of a part whose first row is no later than the last."""
    records, firsts = found
    return records.take(firsts <= last)


def _without(assumptions, number):
    given, nobody = np.zeros((0, assumptions.number_of_columns)), np.zeros(0, dtype=int)
    points = np.zeros((0, *assumptions.manifold.point_shape), dtype=assumptions.manifold.dtype)
    return padded(assumptions, given, points, nobody, nobody, number)
