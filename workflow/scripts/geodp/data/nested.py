"""Columns of Arrow with several numbers a cell: lists, arrays of a fixed size, structs.

A list of another length than wanted, or none, is that many missing numbers, and so is one that has
a missing list in it.
"""

import numpy as np

from geodp.data.cells import arrow_kind


def is_list(kind):
    """Whether a type of Arrow is one of lists, with or without a length."""
    from pyarrow import types

    words = "list large_list fixed_size_list"
    return any(getattr(types, f"is_{word}")(kind) for word in words.split())


def fields_of(kind):
    """Types of the fields of a struct, by name; none of other types, or if two have one name."""
    from pyarrow.types import is_struct

    fields = [kind.field(place) for place in range(kind.num_fields)] if is_struct(kind) else []
    found = {field.name: field.type for field in fields}
    return found if len(found) == len(fields) else {}


def holds_numbers(kind):
    """Whether all that is in lists or structs are numbers."""
    if is_list(kind):
        return getattr(kind, "list_size", 1) > 0 and holds_numbers(kind.value_type)
    parts = fields_of(kind).values()
    return all(map(holds_numbers, parts)) if parts else arrow_kind(kind) == "number"


def number_in(kind, length):
    """How many numbers are in a cell; ``length`` where its type does not say."""
    number = _stated(kind)
    return length if np.isnan(number) else number


def _stated(kind):
    """How many numbers are in a cell; NaN if its type does not say."""
    if is_list(kind):
        return getattr(kind, "list_size", np.nan) * _stated(kind.value_type)
    return sum(map(_stated, fields_of(kind).values())) if fields_of(kind) else 1


def number_names(name, kind, length):
    """Names of the numbers in a column, as many as `number_in` says."""
    parts = fields_of(kind)
    if all(_stated(each) == 1 for each in parts.values()) and not is_list(kind):
        return [f"{name}.{part}" for part in parts] or [name]
    return [f"{name}[{index}]" for index in range(1, number_in(kind, length) + 1)]


def numbers_of(column, width):
    """Numbers (n, width) in a column of Arrow, missing ones where a cell has another number."""
    rows, numbers = _numbers(column)
    fit = np.bincount(rows, minlength=len(column)) == width
    found = np.full((len(column), width), np.nan)
    found[fit] = numbers[fit[rows]].reshape(-1, width)
    return found


def _numbers(column):
    """The row of each number in a column, ascending, and these."""
    from pyarrow import compute

    if is_list(column.type):
        missing = column.is_null().to_numpy(zero_copy_only=False)
        # Behind a missing list there may be numbers, which are nobody's.
        lists = column.filter(column.is_valid())
        parents = np.flatnonzero(~missing)[np.asarray(compute.list_parent_indices(lists))]
        rows, numbers = _numbers(compute.list_flatten(lists))
        # One that is missing counts as a missing number.
        rows = np.concatenate([parents[rows], np.flatnonzero(missing)])
        numbers = np.concatenate([numbers, np.full(np.sum(missing), np.nan)])
    elif not fields_of(column.type):
        numbers = column.cast("float64", safe=False).to_numpy(zero_copy_only=False)
        return np.arange(len(column)), numbers
    else:
        parts = [_numbers(compute.struct_field(column, name)) for name in fields_of(column.type)]
        rows, numbers = map(np.concatenate, zip(*parts, strict=True))
    order = np.argsort(rows, kind="stable")
    return rows[order], numbers[order]
