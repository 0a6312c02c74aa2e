"""Lists and structs in cells of Parquet and Feather: each cell is of its own record."""

import uuid
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import feather
from pyarrow import parquet as pq
from release_tables import assert_same, found_faults, read, refused, without, written

from geodp.data.nested import numbers_of


def test_cells_of_databases_are_lists_and_structs(folder):
    """A list of another length is no record, and changes no other."""
    covariates, expected, _ = read(written())
    numbers = [[float(a), float(b)] for a, b in expected]
    numbers[2:5] = [1.0], None, [1.0, None]
    pairs = [each and {"x": each[0], "y": each[1] if each[1:] else None} for each in numbers]
    lists = pa.array(numbers, pa.list_(pa.float64()))
    fixed = [each if each and len(each) == 2 else None for each in numbers]
    points = {
        "large": lists.cast(pa.large_list(pa.float32())),
        "fixed": pa.array(fixed, pa.list_(pa.float64(), 2)),
        "nested": pa.array([each and [[value] for value in each] for each in numbers]),
        "decimals": lists.cast(pa.list_(pa.decimal128(20, 3))),
        "struct": pa.array(pairs),
        "structs": pa.array([each and [each] for each in pairs]),
    }
    longs = [Decimal(2**100 + row) for row in range(8)]
    ids = [uuid.UUID(int=int(each)).bytes for each in longs]
    labels = [(ids, pa.uuid()), (longs, None), (list("abcdefgh"), pa.dictionary("int8", "string"))]
    lost = pa.array([2.0**53] * 8).dictionary_encode()
    saves = 3 * (pq.write_table, feather.write_feather)
    for point, (who, kind), save in zip(points.values(), 2 * labels, saves, strict=True):
        who_of = {"who": pa.array(who, kind), "lost": lost}
        columns = {"point": point, "id": pa.StructArray.from_arrays(who_of.values(), list(who_of))}
        columns |= {"age": covariates[:, 0], "words": pa.array([["a"]] * 8)}
        path = "t.feather" if save == feather.write_feather else "t.parquet"
        save(pa.table(columns), path)
        choices = {"columns": ["point"], "subject": "id.who"}
        _, found, subjects = read(path, **choices)
        assert without((found, found))[0] == [2, 3, 4]
        assert_same(
            (np.delete(found, (2, 3, 4), 0), subjects), (np.delete(expected, (2, 3, 4), 0), who)
        )
        assert len(found_faults(path, **choices)) == 3
        refused("id.lost: labels are floating-point", path, **choices | {"subject": "id.lost"})
        refused("words: the file states its type as list", path, **choices | {"columns": ["words"]})
        refused("point: it holds more than one", path, **choices | {"covariate": "point"})
    save(pa.table({"point": points["struct"], "who": who, "age": covariates[:, 0]}), path)
    found = read(path, columns=["point.y", "point.x"])[1]
    assert_same(np.delete(found, (2, 3, 4), 0), np.delete(expected, (2, 3, 4), 0)[:, ::-1])


@pytest.mark.parametrize("kind", ["list", "large list", "struct"])
def test_numbers_behind_a_missing_list_are_nobodys(kind):
    """Programs that hide a list leave its numbers where they are."""
    offsets, values = pa.array([0, 2, 4, 6], "int32"), pa.array(np.arange(1.0, 7.0))
    hidden = pa.array([False, True, False])
    if kind == "struct":
        lists = pa.ListArray.from_arrays(offsets, values)
        column = pa.StructArray.from_arrays([lists], ["a"], mask=hidden)
    elif kind == "list":
        column = pa.ListArray.from_arrays(offsets, values, mask=hidden)
    else:
        column = pa.LargeListArray.from_arrays(offsets.cast("int64"), values, mask=hidden)
    nothing = [np.nan, np.nan]
    np.testing.assert_equal(numbers_of(column, 2), [[1.0, 2.0], nothing, [5.0, 6.0]])


def test_a_missing_list_in_a_list_is_a_missing_number():
    kind = pa.list_(pa.list_(pa.float64()))
    column = pa.array([[None, [1.0, 2.0]], [[1.0], [2.0]], [None, [1.0]]], kind)
    expected = [[np.nan, np.nan], [1.0, 2.0], [np.nan, 1.0]]
    np.testing.assert_equal(numbers_of(column, 2), expected)


def test_types_that_cannot_be_read_are_refused(folder):
    """By their type alone, before any record is read."""
    pairs = pa.array([[1.0, 2.0], [3.0, 4.0]])
    fields = [pa.array([0.0] * 8)] * 2
    for point in (
        pa.DictionaryArray.from_arrays(pa.array([0, 1] * 4, "int8"), pairs),
        pa.StructArray.from_arrays(fields, ["x", "x"]),
        pa.array([[]] * 8, pa.list_(pa.float64(), 0)),
    ):
        feather.write_feather(
            pa.table({"point": point, "age": [0.0] * 8, "who": range(8)}), "t.feather"
        )
        refused("point: the file states its type as", "t.feather", columns=["point"])
