"""Formats of a release's tables: the same records in each, and what their types make of cells."""

from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import openpyxl
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import release_tables as tables
import scipy.io
from hypothesis import given
from hypothesis import strategies as st

from geodp import DataError
from geodp.data.cells import TableReading
from geodp.data.formats import open_table
from geodp.data.records import read_table
from geodp.manifolds.registry import make_manifold
from geodp_release.ask.release_records import have_responses, read_data, refuse_missing
from geodp_release.run.subjects import subject_records

FORMATS = [(tables.as_csv, 2), (tables.as_parquet, 1), (tables.as_arrays, 1), (tables.as_excel, 3)]
FORMATS += [(tables.as_parts, 1)]


@pytest.mark.parametrize(("save", "first"), FORMATS)
def test_formats_hold_the_same_records_for_releases_and_studies(folder, save, first):
    table = tables.frame()
    table.loc[2, "comment"] = 'p,1,2,3,\n"p,1,2,3,'
    expected = tables.read(tables.as_csv(table))
    path = save(table)
    covariates, points, subjects = found = tables.read(path)
    tables.assert_same(found, expected)
    records = tables.studied(path, subject="who")
    np.testing.assert_array_equal(records.points, points)
    np.testing.assert_allclose(records.covariates, covariates[:, 0] / 7)
    assert records.subjects == subjects
    assert records.rows[:2] == [first, first + 1]
    assert [*tables.checked(save(tables.frame())).rows] == [*range(first, first + 8)]


@pytest.mark.parametrize(("save", "first"), FORMATS)
def test_missing_numbers_of_any_format(folder, save, first):
    path = save(tables.frame(age=[0.5, np.nan, *range(2, 8)], b=[1.0, 2.0, np.nan, *range(5)]))
    assert tables.without(tables.read(path)) == [[1], [2]]
    with pytest.raises(DataError, match=f"row {first + 1}, column age: the value is missing"):
        tables.studied(path)
    said = tables.found_faults(path)
    assert any(f"row {first + 2}, column b: the value is missing" in line for line in said)


def test_a_european_table_has_semicolons_and_decimal_commas(folder):
    expected = tables.read(tables.as_csv(tables.frame()))
    tables.frame().to_csv("table.csv", index=False, sep=";", decimal=",")
    tables.assert_same(tables.read(decimal=","), expected)
    table = tables.studied(reading=TableReading(decimal=","))
    np.testing.assert_array_equal(table.points, expected[1])
    # As Windows writes it; a header of UTF-8 says that records are, too.
    text = Path("table.csv").read_text().replace("who", "wär").encode("cp1252")
    Path("table.csv").write_bytes(text)
    tables.assert_same(tables.read(decimal=",", subject="wär"), expected)
    # A point may be one of thousands or of decimals.
    tables.frame(b="1.250").to_csv("table.csv", index=False, sep=";", decimal=",")
    _, points, _ = tables.read(decimal=",")
    assert np.isnan(points).any(axis=1).all()
    said = tables.found_faults(decimal=",")
    assert "row 2, column b: '1.250' has a point, and data.decimal says" in said[0]
    assert 'decimal: ","' in tables.found_faults("table.csv")[0]


@pytest.mark.parametrize(
    "save", [tables.as_csv, tables.as_parquet, tables.as_arrays, tables.as_excel]
)
def test_words_of_a_category_are_numbers(folder, save):
    words = ["F", "M", "f", "F ", "", "M", "x", "F"]
    path = save(tables.frame(age=words))
    covariates, _, _ = tables.read(path, categories={"age": {"F": 0, "M": 1.0}})
    expected = [0, 1, np.nan, 0, np.nan, 1, np.nan, 0]
    np.testing.assert_array_equal(covariates[:, 0], expected)
    said = "\n".join(tables.found_faults(path, categories={"age": {"F": 0, "M": 1.0}}))
    assert "'f' is none of the categories F, M, and may be meant for F: correct" in said
    assert "'x' is none of the categories F, M: correct" in said
    assert said.count("the value is missing") == 1


class Odd:
    def __eq__(self, other):
        raise ValueError


ODD = {
    "text": "abc", "object": Odd(), "array": np.array([1.0, 2.0]), "large": 10**5000, "NA": pd.NA,
    "decimal": Decimal("sNaN"), "complex": 1 + 1j, "date": pd.Timestamp("2020-01-01"),
}  # fmt: skip


@pytest.mark.parametrize("odd", ODD.values(), ids=ODD)
@pytest.mark.parametrize("kind", [float, np.float32, complex, object])
def test_what_a_cell_of_a_frame_holds_changes_no_other(folder, kind, odd):
    """One complex number left all others without any, and a text rounded those of 32 bits anew."""
    ages = pd.Series([row / 7 for row in range(8)], dtype=kind)
    expected, _, _ = tables.read(tables.frame(age=ages), decimal=",")
    covariates, _, _ = tables.read(tables.frame(age=pd.Series([*ages[:7], odd])), decimal=",")
    np.testing.assert_array_equal(covariates[:7], expected[:7])
    assert not np.isfinite(covariates[7, 0])
    who = [1, "1", 1.0, np.float32(1), 1 + 0j, "a", odd, "b"]
    *_, subjects = tables.read(tables.frame(who=pd.Series(who, dtype=object)), decimal=",")
    assert subjects[:6] == ["1"] * 5 + ["a"]


@pytest.mark.parametrize("suffix", ["npz", "mat"])
def test_an_array_of_points_is_joined_to_covariates(folder, suffix):
    """After paying, its second column was one too many."""
    arrays = {"who": np.arange(8.0), "points": np.arange(16.0).reshape(8, 2)}
    np.savez("table.npz", **arrays)
    scipy.io.savemat("table.mat", arrays)
    pd.DataFrame({"who": range(8), "age": range(8)}).to_csv("ages.csv", index=False)
    join = {"path": "ages.csv", "subject": "who"}
    covariates, points, _ = tables.read(f"table.{suffix}", columns=["points"], join=join)
    np.testing.assert_array_equal(covariates[:, 0], np.arange(8))
    np.testing.assert_array_equal(points, arrays["points"])


def test_of_a_sheet_the_header_alone_is_read_before_the_records(folder, recwarn):
    path = tables.as_excel(tables.frame(age=["NA", None, *range(6)]))
    book = openpyxl.load_workbook(path)
    book.active.cell(5, 2).value = 99999999
    book.active.cell(5, 2).number_format = "yyyy-mm-dd"
    book.create_sheet("second").append(["who", "age", "a", "b"])
    book.save(path)
    settings = tables.settings_of(path)
    table = open_table(path)
    assert table._rows is None
    refuse_missing(settings)
    covariates, _, _ = read_data(settings)
    assert not np.isfinite(covariates[:3, 0]).any()
    assert covariates[3:, 0].tolist() == [1, 2, 3, 4, 5]
    assert not recwarn.list
    tables.refused(r"it has no sheet third \(there are: Sheet1, second\)", path, sheet="third")


TYPES = {
    "integers": ("age", [2**60 + index for index in range(8)]),
    "truths": ("age", [True, False] * 4),
    "decimals": ("age", [Decimal(index) for index in range(8)]),
    "labels of integers": ("who", list(range(8))),
    "labels of bytes": ("who", [b"\xff%d" % index for index in range(8)]),
    "labels of categories": ("who", pd.Categorical(list("abcdabcd"))),
    "labels of times": ("who", pd.date_range("2020", periods=8)),
}


@pytest.mark.parametrize(("name", "values"), TYPES.values(), ids=TYPES)
def test_types_of_parquet(folder, name, values):
    covariates, _, subjects = tables.read(tables.as_parquet(tables.frame(**{name: values})))
    if name == "age":
        assert covariates[:, 0].tolist() == [float(each) for each in values]
    else:
        assert len(set(subjects)) == len(set(values))
        if not hasattr(values, "year"):
            assert list(subjects) == list(values)


def test_labels_of_parquet_that_are_missing_or_no_text(folder):
    labels = pa.array([b"a", b"\xff", b"\xfe", b"", b" ", None, b"a ", b"b"])
    table = pa.table(tables.frame()).drop_columns(["who"])
    table = table.append_column("who", labels.view(pa.string()))
    pq.write_table(table, "table.parquet")
    assert tables.read("table.parquet")[2] == ["a", "\udcff", "\udcfe", None, None, None, "a ", "b"]


def test_times_are_texts_on_a_machine_that_knows_no_zone(folder):
    """A label of the time was joined by its text, which needed a database of zones."""
    times = pa.array([1500, None, 2**62], pa.timestamp("ms", "No/Where"))
    pq.write_table(pa.table({"who": times}), "table.parquet")
    texts = [text for _, (text,) in open_table("table.parquet").records(["who"])]
    assert texts[:2] == ["1970-01-01 00:00:01.500", ""]
    assert str(2**62) in texts[2]


@pytest.mark.parametrize("path", ["table.csv", "table.parquet", "table.npz", "table.mat"])
def test_other_files_are_refused(folder, path):
    tables.refused(rf"key data.path: {path} cannot be read", path)
    for content in (b"", b"PK\x03\x04", b"PAR1", b"who,age\n" * 99):
        Path(path).write_bytes(content)
        is_text = path == "table.csv"
        text_says = "no column|is empty|not UTF-8|is no text"
        tables.refused(text_says if is_text else f"{path}: it cannot be read as", path)


def test_a_label_that_is_no_character_is_one_like_others(folder):
    labels = np.array([f"p{row}" for row in range(8)])
    labels.view(np.uint32).reshape(8, -1)[[3, 5], 0] = 0x110000, 0x110001
    numbers = np.arange(8.0)
    np.savez("table.npz", who=labels, age=numbers, a=numbers, b=numbers)
    *_, found = tables.read("table.npz")
    assert len(set(found)) == 8
    assert found[:3] == ["p0", "p1", "p2"]


@pytest.mark.parametrize("shape", [(10**12,), (-8,), (9,)])
def test_what_a_header_claims_is_not_believed(folder, shape):
    numbers = np.arange(8.0)
    np.savez("table.npz", who=np.arange(8), a=numbers, b=numbers)
    with ZipFile("table.npz", "a") as file, file.open("age.npy", "w") as array:
        header = {"descr": "<f8", "fortran_order": False, "shape": shape}
        np.lib.format.write_array_header_1_0(array, header)
        array.write(numbers.tobytes())
    tables.refused(r"cannot be read as a \.npz file", "table.npz")


def test_texts_and_cells_of_matlab_are_refused_before_records_are_read(folder):
    """SciPy cannot decode all texts, and one that it cannot would be told by a refusal."""
    columns = {name: np.arange(8.0) for name in ("age", *tables.NAMES)}
    for who in (list("abcdefgh"), np.array(list("abcdefgh"), dtype=object)):
        scipy.io.savemat("table.mat", columns | {"who": who})
        tables.refused(r"variable who: .* (char|cell) and not as numbers, and", "table.mat")


@pytest.mark.parametrize("path", ["table.npz", "table.mat"])
def test_arrays_of_more_axes_stand_for_their_numbers(folder, path):
    rng = np.random.default_rng(3)
    matrices = rng.normal(size=(8, 2, 2))
    matrices = matrices @ matrices.swapaxes(1, 2)
    landmarks = rng.normal(size=(8, 3)) + 1j * rng.normal(size=(8, 3))
    arrays = {"matrices": matrices, "landmarks": landmarks, "who": np.arange(8.0)}
    arrays |= {"age": np.arange(8.0), "pairs": np.zeros((8, 2, 3)), "more": np.zeros((8, 4, 3))}
    (np.savez if path == "table.npz" else lambda _, **each: scipy.io.savemat(path, each))(
        path, **arrays
    )
    for name, space, centre, layout in (
        ("matrices", ("spd", 2), "identity", matrices),
        ("landmarks", ("kendall", 3), "corpus callosum", landmarks),
    ):
        manifold = make_manifold(*space)
        points = layout if name == "matrices" else manifold.from_landmarks(layout)
        _, found, subjects = tables.read(path, space=space, centre=centre, columns=[name])
        np.testing.assert_array_equal(found, points)
        assert subjects == list(range(8))
        records = read_table(path, manifold, "age", [name], subject="who")
        np.testing.assert_allclose(records.points, points, atol=1e-12)
    # Those are not landmarks in another order, nor of three coordinates.
    for name in ("pairs", "more"):
        choices = {"space": ("kendall", 3), "centre": centre, "columns": [name]}
        tables.refused("x 3: give landmarks as n x k x 2", path, **choices)


# Records without a response: left out by a public rule, each by itself


GONE = {"a": [np.nan, *range(1, 8)], "b": [*range(3), np.nan, *range(3), np.nan]}
DROP = {"missing_responses": "drop"}


@pytest.mark.parametrize("save", [tables.as_csv, tables.as_parquet, tables.as_excel])
@pytest.mark.parametrize("whose", ["who", "one record each"])
def test_a_table_is_read_as_if_records_without_a_response_were_none(folder, save, whose):
    table = tables.frame(comment="a", **GONE)
    there = [1, 2, 4, 5, 6]
    expected = tables.read(save(table.iloc[there]), subject=whose)
    *found, labels = tables.read(save(table), subject=whose, **DROP)
    tables.assert_same(found, expected[:2])
    assert list(labels) == (expected[2] if whose == "who" else there)
    settings = tables.settings_of(save(table), subject=whose, **DROP)
    # Of eight subjects there are five, and the others count for nothing.
    counts = subject_records(settings.assumptions, *read_data(settings)).counts
    assert counts.tolist() == [1] * 5 + [0] * 3
    assert tables.without(tables.read(save(table), subject=whose))[1] == [0, 3, 7]


def test_missing_words_are_no_responses_and_others_are_faults(folder):
    words = ["NA", "n/a", "NaN", "null", ".", " ", "x", "1"]
    path = tables.as_csv(tables.frame(a=words))
    _, points, subjects = tables.read(path, **DROP)
    assert subjects == ["p6", "p7"]
    assert tables.without((points, points))[0] == [0]
    assert tables.found_faults(path, **DROP) == [
        "table.csv, row 8, column a: 'x' is not a number: correct or remove the row (label p6)"
    ]


@given(st.lists(st.sampled_from([0.0, np.nan, np.inf]), min_size=4, max_size=4))
def test_a_response_is_missing_by_its_own_cells(cells):
    settings = tables.settings_of("table.csv", **DROP)
    numbers = np.array([cells[:2], cells[2:]])
    found = have_responses(settings.data, numbers)
    assert found.tolist() == [have_responses(settings.data, row[None])[0] for row in numbers]
    assert found[0] == (not np.isnan(cells[:2]).any() or np.isinf(cells[:2]).any())


def test_a_check_says_how_many_have_no_response_and_what_to_do(folder):
    path = tables.as_csv(tables.frame(**GONE))
    said = " ".join(tables.checked(path).warnings)
    assert "3 of 8 records have no response, and count all the same: where it is known" in said
    found = tables.checked(path, **DROP)
    assert "3 of 8 records have no response, and are left out" in found.warnings[0]
    assert list(found.rows) == [3, 4, 6, 7, 8]
    assert found.counted[0] == "There are 5 records of 5 subjects."
    assert not found.faults
    fewer = tables.frame(**GONE).dropna().iloc[:4]
    found_fewer = tables.checked(tables.as_csv(fewer), **DROP)
    assert any("the data have 4 subjects, and" in no for no in found_fewer.reasons)
    # Those without a response may be fewer than the public number, and are never more.
    assert not any("public.subjects" in no for no in found.reasons)
    twice = pd.concat([tables.frame(**GONE)] * 2).assign(who=range(16))
    found = tables.checked(tables.as_csv(twice), **DROP)
    assert any(
        "the data have 10 subjects, and public.subjects says 8" in no for no in found.reasons
    )
