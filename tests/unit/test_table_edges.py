"""Edges of tables: long cells, blank rows and labels, characters, and types of MATLAB."""

import csv
import re
import uuid
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import release_tables as tables
import scipy.io
from hypothesis import given
from hypothesis import strategies as st
from pyarrow import feather
from pyarrow import parquet as pq
from release_tables import assert_same, found_faults, read, refused, without, written

from geodp import DataError
from geodp.data.array_files import MatTable, _characters
from geodp.data.cells import TableReading, as_text, cells_of
from geodp.data.dates import Dates
from geodp.data.formats import open_table
from geodp.data.nested import numbers_of
from geodp.data.sheets import FrameTable
from geodp_release.run.grouping import grouped


def test_a_long_cell_is_one_and_leaves_the_limit_of_others(folder):
    before, expected = csv.field_size_limit(), tables.read(tables.written())
    found = tables.read(tables.written([[*tables.TABLE[0][:4], 'x"' * 100_000], *tables.TABLE[1:]]))
    tables.assert_same(found, expected)
    assert csv.field_size_limit() == before


def test_blank_rows_are_none(folder):
    header, *lines = Path(tables.written()).read_text().splitlines()
    Path("table.csv").write_text("\n".join([header, "  ", *lines[:4], "", *lines[4:], " "]))
    assert tables.read()[2] == [row[0] for row in tables.TABLE]
    # Cells of blanks alone make a record of a release, which does not count, and none of a study.
    Path("table.csv").write_text("\n".join([header, " , , ,,", *lines]))
    assert tables.without(tables.read()) == [[0], [0]]
    records = tables.studied()
    assert records.rows == list(range(3, 11))


def test_blank_labels_join_nothing(folder):
    table = tables.frame(who=[" ", *"bcdefgh"])
    table[["who", "age"]].to_csv("ages.csv", index=False)
    path = tables.as_csv(table.drop(columns="age"))
    assert tables.without(tables.read(path, join={"path": "ages.csv", "subject": "who"}))[0] == [0]


@given(st.lists(st.text(st.sampled_from("a\0é\udc80\U0001f600"), max_size=3), min_size=1))
def test_characters_of_an_array_are_those_of_its_texts(texts):
    texts = [text.rstrip("\0") for text in texts]
    for order in "<>":
        array = np.zeros(len(texts), f"{order}U3")
        array[:] = texts
        assert _characters(array) == texts
    assert _characters(np.ndarray(2, "U0")) == ["", ""]


@pytest.mark.parametrize(
    ("kind", "stored", "shape", "expected"),
    [
        ("double", "u1", (8, 1), (float, (8,))),
        ("single", "i2", (1, 8), (np.float32, (8,))),
        ("int8", "i1", (8, 2), (np.int8, (8, 2))),
        ("double", "f8", (0, 1), (float, (0,))),
    ],
)
def test_an_array_has_the_type_that_its_file_states(kind, stored, shape, expected):
    """MATLAB stores whole numbers as such: what lost digits before must not look whole."""
    table = object.__new__(MatTable)
    table._kinds = {"who": kind}
    found = table._as_stated("who", np.zeros(shape, stored))
    assert (found.dtype, found.shape) == expected


def test_records_of_a_release_are_along_the_first_axis(folder):
    scalars = {f"s{index}": 1.0 for index in range(3)}
    arrays = {"who": np.arange(8.0), "age": np.arange(8.0), "points": np.zeros((2, 8))}
    scipy.io.savemat("table.mat", arrays | scalars)
    assert len(open_table("table.mat").numbered(["points"])) == 8
    assert len(open_table("table.mat", is_checked=True).numbered(["points"])) == 2


@pytest.mark.parametrize("number", range(3))
def test_the_one_point_of_an_array_is_a_record(folder, number):
    """How many records there are may be private, and decides no refusal."""
    scipy.io.savemat("table.mat", {"points": np.ones((number, 2))})
    table = open_table("table.mat", TableReading(length=2))
    table.refuse_unfit(["points"], [])
    assert len(table.numbered(["points"])) == 2
    assert table.read(["points"])[0].shape == (number, 2)


def arrow(values, kind, view=None):
    """A column of pandas over Arrow's, whose values need not be of their type."""
    array = pa.array(values, kind)
    return pd.Series(pd.arrays.ArrowExtensionArray(array.view(view) if view else array))


# Columns whose second value pandas makes no object of, and then of no other one.
UNREADABLE = {
    "days": arrow([1, 2932897, 3], pa.int32(), pa.date32()),
    "times": arrow([0, 10**12, 5], pa.int64(), pa.timestamp("s")),
    "texts": arrow([b"a", b"\xff\xfe", b"b"], pa.binary(), pa.string()),
}
UTC = pd.Series(np.array([0, 10**18, 5], "M8[us]")).dt.tz_localize("UTC")
UNREADABLE["zone"] = UTC.dt.tz_convert("Europe/Berlin")


@pytest.mark.parametrize("name", UNREADABLE)
def test_a_value_that_its_type_makes_no_object_of_is_missing_and_no_other(name):
    column = UNREADABLE[name]
    with pytest.raises(Exception, match=r".+"):
        list(column)
    found = [as_text(cell) for cell in cells_of(column)]
    assert found == [as_text(column[0]), "", as_text(column[2])]
    reading = TableReading(dates={"label": Dates("1970-01-01", "days")})
    table = FrameTable("the frame", reading, pd.DataFrame({"label": column, "x": [0.0, 1.0, 2.0]}))
    numbers, labels = table.read(["x", "label"], "label")
    assert np.isnan(numbers[:, 1]).tolist() == [False, True, False]
    assert labels == [found[0], None, found[2]]
    owners, _, seen = grouped(column, 3)
    assert (owners[0], owners[2], seen) == (0, 1, 2)


def test_a_cell_of_a_spreadsheet_that_is_not_of_its_type_is_refused(folder):
    """No program writes one, as docs/guarantee.md assumes."""
    path = Path(tables.as_excel(tables.frame()))
    with ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    [sheet] = (name for name in parts if name.endswith("sheet1.xml"))
    number = re.search(rb'<c [^>]*t="n"[^>]*>\s*<v>([^<]+)</v>', parts[sheet])
    parts[sheet] = parts[sheet][: number.start(1)] + b"x" + parts[sheet][number.end(1) :]
    with ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)
    with pytest.raises(DataError, match="cannot be read as an Excel file"):
        tables.read(path.name)


# Lists and structs in cells of Parquet and Feather: each cell is of its own record


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
