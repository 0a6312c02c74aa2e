"""Labels of records: which records are of one subject, and the place of each among them.

No label makes this raise, or changes what becomes of others.
"""

import itertools
from numbers import Number
from typing import Any

import numpy as np

from geodp.data.cells import are_lost, cells_of
from geodp.data.labels import Labels, add_first_records
from geodp.data.large import in_turn, large_array
from geodp.errors import DataError

# Says that no two records are of one subject.
ONE_EACH = "one record each"


def labels_of(subjects, number):
    """Labels of so many records: `Labels`, whole numbers in an array, or a list."""
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
    return labels


def grouped(subjects, number):
    """Index of each record's subject, its place among the subject's records, and their number.

    A record without a label has the index and the place -1.
    """
    if isinstance(subjects, str):
        if subjects != ONE_EACH:
            raise DataError(
                f'subjects is {subjects!r}: give the label of each record, or "{ONE_EACH}"'
            )
        owners = large_array((number,), _index_type(number))
        for some in in_turn(owners):
            owners[some] = np.arange(some.start, min(some.stop, number))
        return owners, large_array((number,), np.int8), number
    owners, seen = owners_of(labels_of(subjects, number))
    places, before = (large_array((size,), owners.dtype) for size in (number, seen))
    named = 0
    for some in in_turn(owners, places):
        places[some] = np.minimum(owners[some], 0)
        named += int(np.count_nonzero(owners[some] >= 0))
    for some in in_turn(owners, places, before) if named > seen else ():
        here = some.start + np.flatnonzero(owners[some] >= 0)
        # In the order of the subjects, records of each in their own.
        order = here[np.argsort(owners[here], kind="stable")]
        _, firsts, counts = np.unique(owners[order], return_index=True, return_counts=True)
        places[order] = before[owners[order]] + np.arange(len(order)) - np.repeat(firsts, counts)
        before[owners[order[firsts]]] += counts.astype(before.dtype)
    return owners, places, seen


def owners_of(labels):
    """Index of the subject of each label, in the order of their first records, and their number.

    -1 for a label that names nobody.
    """
    number = len(labels)
    own: Any = large_array((number,), _index_type(number))
    if isinstance(labels, np.ndarray):
        add_first_records(labels, own, empty=None)
    else:
        # Most are texts or numbers, and known by themselves. Texts are apart: others are compared
        # with numbers alone, and so by no code that these have not.
        texts = labels if isinstance(labels, Labels) else _texts_among(labels, own)
        add_first_records(texts.cells, own)
        seen: dict = {}
        for index, label in texts.others.items():
            own[index] = seen.setdefault(label, index + 1)
    # How many first ones there are up to the first record of the same subject, which comes before.
    many = 0
    for some in in_turn(own):
        first = own[some] - 1
        is_first = first == np.arange(some.start, some.start + len(first))
        own[some] = np.where(is_first, many + np.cumsum(is_first) - 1, -1)
        later = np.flatnonzero((first >= 0) & ~is_first)
        own[some.start + later] = own[first[later]]
        many += int(np.count_nonzero(is_first))
    return own, many


def _index_type(number):
    """A type that holds the index of each of so many records."""
    return np.int32 if number < 1 << 31 else np.int64


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


def as_array(values):
    """Values of pandas as an array, those of Arrow as a list, and others as they are."""
    if hasattr(values, "to_pylist"):
        # Its arrays raise where a value is missing.
        return values.to_pylist()
    return getattr(values, "to_numpy", lambda: values)()
