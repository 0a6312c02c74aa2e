"""Edges of tables: long cells, blank rows and labels, characters, and types of MATLAB."""

import csv
import re
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

from geodp import DataError
from geodp.data.array_files import MatTable, _characters
from geodp.data.cells import TableReading, as_text, cells_of
from geodp.data.dates import Dates
from geodp.data.formats import open_table
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
