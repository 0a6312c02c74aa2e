"""Tables of a release: a row is a record, whatever is in it, and no record changes others."""

import copy
import csv
import io
import re
import sys
from decimal import Decimal
from pathlib import Path
from zipfile import ZipFile

import numpy as np
import openpyxl
import pandas as pd
import pytest
import scipy.io
import yaml
from cohort import SETTINGS
from hypothesis import given
from hypothesis import strategies as st

from geodp import DataError, PrivacyBudget, ReleasePlan
from geodp.data.cells import TableReading
from geodp.data.formats import open_table
from geodp.data.records import read_table
from geodp.data.text_tables import TextTable
from geodp.manifolds.registry import make_manifold
from geodp_release.ask.checking import check_data
from geodp_release.ask.faults import faults
from geodp_release.ask.reading import check_data_settings, read_data, refuse_missing
from geodp_release.ask.settings import ReleaseSettings

NAMES = ["a", "b"]
HEADER = ["who", "age", *NAMES, "comment"]
TABLE = [[f"p{row}", row, row / 8, 1 - row / 8, ""] for row in range(8)]
TEXT_ROWS = [[str(cell) for cell in row] for row in [HEADER, *TABLE]]


def settings_of(path, space=("euclidean", 2), centre="origin", **data):
    """Settings of a release from a file, or from a data frame."""
    settings, is_frame = copy.deepcopy(SETTINGS), isinstance(path, pd.DataFrame)
    path, given = ("the data frame", path) if is_frame else (str(path), None)
    settings["data"] |= {"path": path, "columns": NAMES} | data
    settings["public"] |= {
        "manifold": dict(zip(("name", "size"), space, strict=True)),
        "centre": centre,
        "footpoint_radius": 0.5,
        "shooting_vector_length": 0.5,
        "covariate_range": [0, 10],
        "subjects": 8,
    }
    settings = ReleaseSettings.model_validate(settings)
    if is_frame:
        settings.data.set_frame(given)
    return settings


def written(rows=TABLE, header=HEADER, path="table.csv", **choices):
    """A file of rows as the csv module writes them."""
    with open(path, "w", newline="", encoding="utf-8", errors="surrogateescape") as file:
        csv.writer(file, **choices).writerows([header, *rows])
    return path


def read(path="table.csv", **choices):
    """What is read of a file that is not refused before."""
    settings = settings_of(path, **choices)
    refuse_missing(settings)
    return read_data(settings)


def refused(says, path="table.csv", is_shown=False, **choices):
    """What is said of a file that is refused before its records are read."""
    with pytest.raises(DataError, match=says) as raised:
        refuse_missing(settings_of(path, **choices), is_shown)
    return str(raised.value)


def checked(path, **choices):
    settings = settings_of(path, **choices)
    plan = ReleasePlan(settings.assumptions, PrivacyBudget("2"), (), 1.0, 1.0, 1.0)
    return check_data(settings, plan)


def without(found):
    """Which of the records have no covariate, and which no point."""
    return [np.flatnonzero(np.isnan(part).any(axis=1)).tolist() for part in found[:2]]


def assert_same(found, expected):
    for one, other in zip(found, expected, strict=True):
        np.testing.assert_array_equal(one, other)


def found_faults(path="table.csv", **choices):
    settings = settings_of(path, **choices)
    return faults(settings, read_data(settings))


def others(data, index):
    """All records but one."""
    covariates, points, subjects = data
    numbers = (np.delete(each, index, 0).tolist() for each in (covariates, points))
    return (*numbers, subjects[:index] + subjects[index + 1 :])


# --- Text: what a row is ---

ENDS = ["\n", "\r\n", "\r"]
CELLS = st.text(st.sampled_from("ab,;\"'\t \n\r\0#\x0b\x1c\u2028\udc80\udcff"), max_size=6)


def bare(rows, end, delimiter=",", last=True):
    """Rows with quotes about what CSV has to quote, and about no line break but their own."""

    def cell(text):
        special = any(each in text for each in (delimiter, '"', end))
        return '"' + text.replace('"', '""') + '"' if special else text

    return end.join([*(delimiter.join(map(cell, row)) for row in rows), ""][: None if last else -1])


@given(
    st.lists(st.tuples(CELLS, CELLS), max_size=5),
    st.sampled_from(["csv", "pandas", "all quoted", "bare"]),
    st.sampled_from(ENDS),
    st.sampled_from(",\t"),
    st.sampled_from(["y", 'a "note"', "in\ntwo", "in\r\ntwo"]),
    st.booleans(),
)
def test_rows_are_those_that_programs_write(
    tmp_path_factory, rows, program, end, delimiter, name, mark
):
    """The csv module of Python, pandas and programs that quote no line break but their own.

    One text moved every record of a table, at a realised privacy loss of 338 and more.
    """
    path = tmp_path_factory.mktemp("table") / "table.csv"
    text, form = io.StringIO(newline=""), {"delimiter": delimiter, "lineterminator": end}
    header = io.StringIO(newline="")
    # A line break in a name is public, and is in quotes.
    csv.writer(header, quoting=csv.QUOTE_ALL, **form).writerow(["x", name])
    if program == "pandas":
        frame = pd.DataFrame(rows, columns=["x", "y"], dtype=object)
        frame.to_csv(text, index=False, header=False, sep=delimiter, lineterminator=end)
    elif program == "bare":
        text.write(bare(rows, end, delimiter))
    else:
        quoting = csv.QUOTE_ALL if program == "all quoted" else csv.QUOTE_MINIMAL
        csv.writer(text, quoting=quoting, **form).writerows(rows)
    whole = ("\ufeff" if mark else "") + header.getvalue() + text.getvalue()
    path.write_bytes(whole.encode("utf-8", "surrogateescape"))
    table = TextTable(str(path), TableReading())
    assert [tuple(texts) for _, texts in table.records(["x", name])] == rows


@given(st.lists(CELLS, min_size=2, max_size=7), st.integers(0, 7), st.sampled_from(ENDS))
def test_what_a_row_holds_changes_no_other_record(tmp_path_factory, cells, at, end):
    """Neither in quotes nor without, with more cells or fewer."""
    path = str(tmp_path_factory.mktemp("table") / "table.csv")

    def records(rows):
        Path(path).write_bytes(bare(rows, end).encode("utf-8", "surrogateescape"))
        return read(path)

    before = records(TEXT_ROWS)
    assert before[2] == [f"p{row}" for row in range(8)]
    after = records([*TEXT_ROWS[: at + 1], cells, *TEXT_ROWS[at + 2 :]])
    assert others(after, at) == others(before, at)
    assert after[2][at] == (cells[0] if cells[0].strip() else None)


RECORD = "p0,0.512,0.822,0.330,fine\n"
SHAPE = {"space": ("kendall", 3), "centre": [0.0, 0.0, 1.0, 0.0, 0.0, 1.0]}
SHAPE |= {"columns": None, "covariate": "p0", "subject": "fine"}
SECRETS = {
    "no header": (RECORD * 3, {}),
    "a header that is a comment": ("#who,age,a,b,comment\n" + RECORD, {}),
    "a quote in the header": ('who,"age,a,b,comment\n' + RECORD + 'x",y\n', {}),
    "no landmarks": (RECORD * 2, SHAPE),
    "a label like a landmark": ("p0,x17,0.822,fine\n" * 2, SHAPE),
}


@pytest.mark.parametrize(("text", "changes"), SECRETS.values(), ids=SECRETS)
def test_what_is_refused_before_a_release_quotes_no_record(folder, text, changes):
    Path("table.csv").write_text(text)
    assert not re.search("0.8|x17", refused("no column", **changes))
    # The holder is shown what is there.
    refused(r"there are: |x17", is_shown=True, **changes)


def test_a_table_of_one_column_has_rows_without_a_value(folder):
    numbers, _ = open_table(written([["1"], [""], ["3"]], ["a"])).read(["a"])
    np.testing.assert_array_equal(numbers, [[1.0], [np.nan], [3.0]])


NUMBERS = {
    "1.5": 1.5, " -2e3\t": -2000.0, "": np.nan, " ": np.nan, "x": np.nan, "1_0": np.nan,
    "nan": np.nan, "inf": np.nan, "1e999": np.nan, "1,5": np.nan, "0" * 500 + "1": np.nan,
    "1\n": 1.0, "0x1": np.nan, "True": np.nan,
}  # fmt: skip


@pytest.mark.parametrize("text", NUMBERS)
def test_cells_become_numbers_one_by_one(folder, text):
    covariates, points, _ = read(written([["p", text, text, "1", ""], *TABLE]))
    np.testing.assert_array_equal(covariates[0], NUMBERS[text])
    expected = [NUMBERS[text], 1.0] if np.isfinite(NUMBERS[text]) else [np.nan, np.nan]
    np.testing.assert_array_equal(points[0], expected)
    assert covariates[1:, 0].tolist() == [row[1] for row in TABLE]


REFUSED = {
    "JSON": ('{"who": 1}', "table.csv is no text, but JSON: save it as CSV"),
    "a column twice": ("who,age,a,b,a\np,1,2,3,4\n", "2 columns are called a: rename"),
    "UTF-16": ("who,age,a,b\np,1,2,3\n".encode("utf-16"), "is not UTF-8 text: save it as UTF-8"),
    "comments alone": ("# a\n\n#b\n", "the table is empty"),
}


@pytest.mark.parametrize(("text", "sentence"), REFUSED.values(), ids=REFUSED)
def test_files_that_are_no_tables_are_refused(folder, text, sentence):
    """It needs no look at records, and is refused before anything is spent."""
    Path("table.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    refused(re.escape(sentence))
    with pytest.raises(DataError, match=re.escape(sentence)):
        read_data(settings_of("table.csv"))


# --- Formats ---


def frame(**changes):
    return pd.DataFrame(TABLE, columns=HEADER).assign(**changes)


def as_csv(frame):
    frame.to_csv("table.csv", index=False)
    return "table.csv"


def as_parquet(frame):
    frame.to_parquet("table.parquet", index=False)
    return "table.parquet"


def as_arrays(frame):
    columns = {name: frame[name].to_numpy() for name in frame}
    texts = {name: each.astype(str) for name, each in columns.items() if each.dtype.kind in "OTU"}
    np.savez("table.npz", **(columns | texts))
    return "table.npz"


def as_excel(frame):
    """Below an empty row, which counts for nothing."""
    frame.to_excel("table.xlsx", index=False, startrow=1)
    return "table.xlsx"


FORMATS = [(as_csv, 2), (as_parquet, 1), (as_arrays, 1), (as_excel, 3)]


@pytest.mark.parametrize(("save", "first"), FORMATS)
def test_formats_hold_the_same_records_for_releases_and_studies(folder, save, first):
    table = frame()
    table.loc[2, "comment"] = 'p,1,2,3,\n"p,1,2,3,'
    expected = read(as_csv(table))
    path = save(table)
    covariates, points, subjects = found = read(path)
    assert_same(found, expected)
    records = read_table(path, make_manifold("euclidean", 2), "age", NAMES, subject="who")
    np.testing.assert_array_equal(records.points, points)
    np.testing.assert_allclose(records.covariates, covariates[:, 0] / 7)
    assert records.subjects == subjects
    assert records.rows[:2] == [first, first + 1]
    assert [*checked(save(frame())).rows] == [*range(first, first + 8)]


@pytest.mark.parametrize(("save", "first"), FORMATS)
def test_missing_numbers_of_any_format(folder, save, first):
    path = save(frame(age=[0.5, np.nan, *range(2, 8)], b=[1.0, 2.0, np.nan, *range(5)]))
    assert without(read(path)) == [[1], [2]]
    with pytest.raises(DataError, match=f"row {first + 1}, column age: the value is missing"):
        read_table(path, make_manifold("euclidean", 2), "age", NAMES)
    said = found_faults(path)
    assert any(f"row {first + 2}, column b: the value is missing" in line for line in said)


def test_a_european_table_has_semicolons_and_decimal_commas(folder):
    expected = read(as_csv(frame()))
    frame().to_csv("table.csv", index=False, sep=";", decimal=",")
    assert_same(read(decimal=","), expected)
    table = read_table(
        "table.csv",
        make_manifold("euclidean", 2),
        "age",
        NAMES,
        reading=TableReading(decimal=","),
    )
    np.testing.assert_array_equal(table.points, expected[1])
    # As Windows writes it; a header of UTF-8 says that records are, too.
    text = Path("table.csv").read_text().replace("who", "wär").encode("cp1252")
    Path("table.csv").write_bytes(text)
    assert_same(read(decimal=",", subject="wär"), expected)
    # A point may be one of thousands or of decimals.
    frame(b="1.250").to_csv("table.csv", index=False, sep=";", decimal=",")
    _, points, _ = read(decimal=",")
    assert np.isnan(points).any(axis=1).all()
    said = found_faults(decimal=",")
    assert "row 2, column b: '1.250' has a point, and data.decimal says" in said[0]
    assert 'decimal: ","' in found_faults("table.csv")[0]


@pytest.mark.parametrize("save", [as_csv, as_parquet, as_arrays, as_excel])
def test_words_of_a_category_are_numbers(folder, save):
    words = ["F", "M", "f", "F ", "", "M", "x", "F"]
    path = save(frame(age=words))
    covariates, _, _ = read(path, categories={"age": {"F": 0, "M": 1.0}})
    expected = [0, 1, np.nan, 0, np.nan, 1, np.nan, 0]
    np.testing.assert_array_equal(covariates[:, 0], expected)
    said = "\n".join(found_faults(path, categories={"age": {"F": 0, "M": 1.0}}))
    assert "'f' is none of the categories F, M, and may be meant for F: correct" in said
    assert "'x' is none of the categories F, M: correct" in said
    assert said.count("the value is missing") == 1


def test_covariates_of_a_second_table_are_joined_by_subject(folder):
    expected = read(as_csv(frame()))
    ages = frame()[["who", "age"]].rename(columns={"who": "id"}).iloc[::-1]
    # The first row of a label counts.
    pd.concat([ages, ages.assign(age=99)]).to_csv("ages.csv", index=False)
    path = as_parquet(frame().drop(columns="age"))
    join = {"path": "ages.csv", "subject": "id"}
    assert_same(read(path, join=join), expected)
    ages.iloc[1:].to_csv("ages.csv", index=False)
    assert without(read(path, join=join)) == [[7], []]
    said = found_faults(path, join=join)
    assert "row 8, column age (joined from ages.csv): the value is missing" in said[0]
    assert said[1] == "ages.csv has no row of 'p7': add it"
    # Labels are compared as those of subjects are.
    ages.replace("p3", "p3 ").to_csv("ages.csv", index=False)
    assert without(read(path, join=join)) == [[3], []]
    ages.iloc[1:].replace("p3", "P-03").to_csv("ages.csv", index=False)
    assert "ages.csv has no row of 'p3': write 'P-03' there so" in found_faults(path, join=join)
    no_file, no_column = join | {"path": "none.csv"}, join | {"subject": "name"}
    refused("key data.join.path: none.csv cannot be read", path, join=no_file)
    refused("ages.csv, row 1: there is no column name", path, join=no_column)


SHAPES = np.random.default_rng(3).normal(size=(4, 3, 2)).round(3) + 5.0
IDS = ["a", "b", "c", "d"]


def lines_of(shape):
    return "".join(f"{x:g} {y:g}\n" for x, y in shape)


def as_tps(shapes):
    parts = [
        f"LM={len(shape)}\n{lines_of(shape)}IMAGE={name}.png\nID={name}\nSCALE=2\n"
        for name, shape in zip(IDS, shapes, strict=True)
    ]
    curve = "CURVES=1\nPOINTS=2\n9 9\n8 8\n"
    Path("s.tps").write_text("".join([parts[0], curve, *parts[1:]]))
    return "s.tps"


def as_nts(shapes):
    text = '"skulls\n1 4L 6 1 -9 DIM=2\n' + " ".join(IDS) + "\n"
    rows = (" ".join(f"{each:g}" for each in shape.ravel()) + "\n" for shape in shapes)
    Path("s.nts").write_text(text + "".join(rows))
    return "s.nts"


def as_morphologika(shapes):
    points = "".join(f"'{name}\n{lines_of(shape)}" for name, shape in zip(IDS, shapes, strict=True))
    names = "".join(f"{name}\n" for name in IDS)
    Path("s.txt").write_text(
        "[Individuals]\n4\n[landmarks]\n3\n[dimensions]\n2\n"
        f"[names]\n{names}[labels]\nage\n[labelvalues]\n1\n2\n3\n4\n[rawpoints]\n{points}"
    )
    return "s.txt"


LANDMARKS = {"space": ("kendall", 3), "centre": "anywhere", "columns": None, "subject": "ID"}
LANDMARKS |= {"covariate": "centroid_size"}


@pytest.mark.parametrize(("save", "scale"), [(as_tps, 2), (as_nts, 1), (as_morphologika, 1)])
def test_files_of_landmarks(folder, save, scale):
    path = save(SHAPES)
    covariate = "age" if path == "s.txt" else "centroid_size"
    choices = LANDMARKS | {"covariate": covariate}
    covariates, points, subjects = read(path, **choices)
    manifold = make_manifold("kendall", 3)
    expected = manifold.from_landmarks(SHAPES[..., 0] + 1j * SHAPES[..., 1])
    np.testing.assert_allclose(manifold.dist(points, expected), 0.0, atol=1e-7)
    assert subjects == IDS
    sizes = scale * np.linalg.norm(SHAPES - SHAPES.mean(axis=1, keepdims=True), axis=(1, 2))
    wanted = [1, 2, 3, 4] if covariate == "age" else sizes
    np.testing.assert_allclose(covariates[:, 0], wanted)
    records = read_table(path, manifold, covariate, None, subject="ID")
    np.testing.assert_allclose(manifold.dist(records.points, points), 0.0, atol=1e-7)
    # A landmark that is missing, as the format has it; and with a code that is a number.
    for code in (np.nan, -9.0 if save is as_nts else -999.0):
        missing = SHAPES.copy()
        missing[1, 2] = code
        assert without(read(save(missing), **choices))[1] == [1]
        said = found_faults(path, **choices)
        assert "specimen 2, value x3: " in said[0]
        assert "(label b)" in said[0]


def test_an_nts_file_of_another_header_is_refused(folder):
    for header, says in (("1 4L 8 0", "have 8 numbers, and 3 landmarks 6"), ("1 4L", "like 1 20L")):
        Path("s.nts").write_text(header)
        refused(says, "s.nts", **LANDMARKS)


@pytest.mark.parametrize(
    ("save", "words"),
    [
        *((as_nts, each) for each in ("12 34 56", "1 2 3 4 5", "1 2 3 4 5 6 7")),
        (as_morphologika, ","),
    ],
)
def test_words_that_are_no_landmarks_make_their_own_specimen_invalid(folder, save, words):
    path = Path(save(SHAPES))
    line = lines_of(SHAPES[1]).splitlines()[0]
    old = lines_of(SHAPES[1]).replace("\n", " ").strip() if save is as_nts else line
    path.write_text(path.read_text().replace(old, words))
    covariate = "centroid_size" if save is as_nts else "age"
    covariates, points, _ = read(path, **LANDMARKS | {"covariate": covariate})
    assert without((covariates, points))[1] == [1]


def test_landmarks_have_decimal_commas_and_may_be_below_zero(folder):
    _, expected, _ = read(as_tps(SHAPES), **LANDMARKS)
    Path("s.tps").write_text(Path("s.tps").read_text().replace(".png", "").replace(".", ","))
    _, points, _ = read("s.tps", decimal=",", **LANDMARKS)
    np.testing.assert_array_equal(points, expected)
    # Two numbers below zero are how tpsDig writes a missing landmark.
    shapes = SHAPES.copy()
    shapes[0], shapes[1, 2] = [[-1.0, 1.0], [9.0, 0.0], [1.0, -5.0]], -1.0
    assert without(read(as_tps(shapes), **LANDMARKS))[1] == [1]
    said = found_faults("s.tps", **LANDMARKS)[0]
    assert "specimen 2, value x3: it has two numbers below zero, as tpsDig marks" in said


def test_what_a_tps_file_has_besides_planar_landmarks_is_named(folder):
    text = Path(as_tps(SHAPES)).read_text().replace("SCALE=2", "SCALE=", 1)
    parts = text.split("LM=3\n")
    parts[2] = re.sub(r"(?m)^(\S+ \S+)$", r"\1 0", parts[2])
    Path("s.tps").write_text("LM=3\n".join(parts[:2]) + "LM3=3\n" + "LM=3\n".join(parts[2:]))
    said = found_faults("s.tps", **LANDMARKS)
    assert "specimen 1, value centroid_size: it has no number as its SCALE" in said[0]
    assert "specimen 2, value x1: it has three numbers a landmark, as those in space" in said[1]
    assert len(said) == 2
    said = checked("s.tps", **LANDMARKS).warnings
    assert "s.tps: curves or outlines of 1 specimens are left out" in said


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
    expected, _, _ = read(frame(age=ages), decimal=",")
    covariates, _, _ = read(frame(age=pd.Series([*ages[:7], odd])), decimal=",")
    np.testing.assert_array_equal(covariates[:7], expected[:7])
    assert not np.isfinite(covariates[7, 0])
    who = [1, "1", 1.0, np.float32(1), 1 + 0j, "a", odd, "b"]
    *_, subjects = read(frame(who=pd.Series(who, dtype=object)), decimal=",")
    assert subjects[:6] == ["1"] * 5 + ["a"]


def as_frame(frame):
    return frame


WHOLE = [10**16 + row for row in range(8)]
LOST = {
    # From here on different whole numbers are the same one.
    "one missing": (as_parquet, [*range(2**53, 2**53 + 7), None]),
    "one with decimals": (as_excel, [*WHOLE[:7], 1.5]),
    "an array": (as_arrays, np.array([*WHOLE[:7], 1.5])),
    "single precision": (as_parquet, np.arange(2**24, 2**24 + 8, dtype=np.float32)),
    "a frame": (as_frame, [*WHOLE[:7], None]),
    "a frame with missing values": (as_frame, pd.array([*WHOLE[:7], None], dtype="Float64")),
}


@pytest.mark.parametrize(("save", "labels"), LOST.values(), ids=LOST)
def test_labels_that_lost_digits_are_refused_before_anything_is_spent(folder, save, labels):
    """Seven people were one where pandas made floating-point numbers of whole ones."""
    path = save(frame(who=pd.Series(labels)))
    refused("who: labels are floating-point numbers so large", path)
    # By themselves they are labels, and small ones are in any type.
    *_, subjects = read(frame(who=pd.Series([*WHOLE[:7], None], dtype=object)))
    assert subjects[:7] == list(map(str, WHOLE[:7]))
    *_, subjects = read(frame(who=[*range(7), None]))
    assert subjects[:7] == list("0123456")


@pytest.mark.parametrize("suffix", ["npz", "mat"])
def test_an_array_of_points_is_joined_to_covariates(folder, suffix):
    """After paying, its second column was one too many."""
    arrays = {"who": np.arange(8.0), "points": np.arange(16.0).reshape(8, 2)}
    np.savez("table.npz", **arrays)
    scipy.io.savemat("table.mat", arrays)
    pd.DataFrame({"who": range(8), "age": range(8)}).to_csv("ages.csv", index=False)
    join = {"path": "ages.csv", "subject": "who"}
    covariates, points, _ = read(f"table.{suffix}", columns=["points"], join=join)
    np.testing.assert_array_equal(covariates[:, 0], np.arange(8))
    np.testing.assert_array_equal(points, arrays["points"])


def test_of_a_sheet_the_header_alone_is_read_before_the_records(folder, recwarn):
    path = as_excel(frame(age=["NA", None, *range(6)]))
    book = openpyxl.load_workbook(path)
    book.active.cell(5, 2).value = 99999999
    book.active.cell(5, 2).number_format = "yyyy-mm-dd"
    book.create_sheet("second").append(["who", "age", "a", "b"])
    book.save(path)
    settings = settings_of(path)
    table = open_table(path)
    assert table._rows is None
    refuse_missing(settings)
    covariates, _, _ = read_data(settings)
    assert not np.isfinite(covariates[:3, 0]).any()
    assert covariates[3:, 0].tolist() == [1, 2, 3, 4, 5]
    assert not recwarn.list
    refused(r"it has no sheet third \(there are: Sheet1, second\)", path, sheet="third")


def test_another_number_of_landmarks_is_named_and_refused_by_no_header(folder):
    shapes = [*SHAPES[:2], np.ones((4, 2)).cumsum(0), SHAPES[3]]
    assert without(read(as_tps(shapes), **LANDMARKS))[1] == [2]
    said = found_faults("s.tps", **LANDMARKS)
    assert "s.tps, specimen 3, value x1: it has 4 landmarks in place of 3: correct" in said[0]


@pytest.mark.parametrize(
    ("coordinates", "quarter", "beyond"),
    [
        *[("degrees", 90.0, 361.0), ("compass", 90.0, -1.0), ("radians", np.pi / 2.0, 7.0)],
        *[("hours", 6.0, 24.5), ("day_of_year", 92.3125, 0.5), ("month", 4.0, 13.5)],
    ],
)
def test_an_angle_is_a_point_of_the_circle(folder, coordinates, quarter, beyond):
    path = as_csv(frame(a=[quarter] * 6 + [beyond] * 2))
    choices = {"space": ("sphere", 1), "centre": "anywhere", "columns": ["a"]}
    choices |= {"coordinates": coordinates}
    _, points, _ = read(path, **choices)
    np.testing.assert_allclose(points[:6], [[0.0, 1.0]] * 6, atol=1e-12)
    assert np.all(np.isnan(points[6:]))
    assert f"column a: {beyond:g} is not between" in found_faults(path, **choices)[0]
    with pytest.raises(DataError, match="one angle is of the circle"):
        check_data_settings(settings_of(path, coordinates=coordinates))


def test_shares_are_square_roots_on_a_sphere(folder):
    parts = np.array([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6], [0.331, 0.331, 0.331]])
    rows = [*parts, *(100.0 * parts), [0.5, 0.6, -0.1], [0.2, 0.3, 0.6]]
    path = as_csv(frame(**dict(zip("abc", np.transpose(rows), strict=True))))
    choices = {"space": ("sphere", 2), "centre": "anywhere", "columns": list("abc")}
    choices |= {"coordinates": "shares"}
    _, points, _ = read(path, **choices)
    expected = np.sqrt(parts / parts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(points[:6], [*expected, *expected], rtol=1e-12)
    assert np.all(np.isnan(points[6:]))
    said = "\n".join(found_faults(path, **choices))
    assert "column c: -0.1 is negative, and no share of a whole" in said
    assert "row 9: its shares add up to 1.1, not to 1 or 100" in said
    with pytest.raises(DataError, match="shares of a whole are of a sphere"):
        check_data_settings(settings_of(path, coordinates="shares"))
    with pytest.raises(DataError, match="2 columns are no shares on sphere"):
        check_data_settings(settings_of(path, **choices | {"columns": ["a", "b"]}))


HALF = np.sqrt(0.5)
# The matrix with entries 11, 12, ..., as programs write it.
WRITTEN = {
    "ambient": [11, 12, 13, 22, 23, 33],
    "lower_triangle": [11, 12, 22, 13, 23, 33],
    "nilearn": [11 * HALF, 12, 22 * HALF, 13, 23, 33 * HALF],
    "pyriemann": [11, 12 / HALF, 13 / HALF, 22, 23 / HALF, 33],
    "voigt": [11, 22, 33, 23, 13, 12],
    "vtk": [11, 22, 33, 12, 23, 13],
    "mrtrix": [11, 22, 33, 12, 13, 23],
}


@pytest.mark.parametrize("coordinates", WRITTEN)
def test_a_triangle_is_read_as_a_program_writes_it(folder, coordinates):
    names = list("abcdef")
    path = as_csv(frame(**dict(zip(names, WRITTEN[coordinates], strict=True))))
    choices = {"space": ("spd", 3), "centre": "identity", "columns": names}
    _, points, _ = read(path, coordinates=coordinates, **choices)
    expected = np.broadcast_to([[11, 12, 13], [12, 22, 23], [13, 23, 33]], (8, 3, 3))
    np.testing.assert_allclose(points, expected, rtol=1e-15)


def test_a_triangle_is_of_a_matrix_of_its_size(folder):
    path = as_csv(frame(**dict.fromkeys("abc", 1.0)))
    with pytest.raises(DataError, match="lower_triangle is of a symmetric matrix"):
        check_data_settings(settings_of(path, coordinates="lower_triangle"))
    choices = {"space": ("spd", 2), "centre": "identity", "columns": list("abc")}
    with pytest.raises(DataError, match="voigt is of 3 x 3 matrices"):
        check_data_settings(settings_of(path, coordinates="voigt", **choices))


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
    covariates, _, subjects = read(as_parquet(frame(**{name: values})))
    if name == "age":
        assert covariates[:, 0].tolist() == [float(each) for each in values]
    else:
        assert len(set(subjects)) == len(set(values))
        if not hasattr(values, "year"):
            assert list(subjects) == list(values)


def test_labels_of_parquet_that_are_missing_or_no_text(folder):
    import pyarrow as pa
    import pyarrow.parquet as pq

    labels = pa.array([b"a", b"\xff", b"\xfe", b"", b" ", None, b"a ", b"b"])
    table = pa.table(frame()).drop_columns(["who"]).append_column("who", labels.view(pa.string()))
    pq.write_table(table, "table.parquet")
    assert read("table.parquet")[2] == ["a", "\udcff", "\udcfe", None, None, None, "a ", "b"]


def test_times_are_texts_on_a_machine_that_knows_no_zone(folder):
    """A label of the time was joined by its text, which needed a database of zones."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    times = pa.array([1500, None, 2**62], pa.timestamp("ms", "No/Where"))
    pq.write_table(pa.table({"who": times}), "table.parquet")
    texts = [text for _, (text,) in open_table("table.parquet").records(["who"])]
    assert texts[:2] == ["1970-01-01 00:00:01.500", ""]
    assert str(2**62) in texts[2]


def raw_arrays(name, values):
    np.savez("table.npz", **{each: np.zeros(8) for each in ("who", "age", *NAMES)} | {name: values})
    return "table.npz"


def saved(save):
    return lambda name, values: save(frame(**{name: values}))


TIMES, TEXTS, OBJECTS = pd.date_range("2020", periods=8), list("MFMFMFMF"), np.array([{}, 1])
DECLARED = {
    "text": (saved(as_parquet), "a", TEXTS, "a: the file states its type as large_string"),
    "text in a frame": (saved(as_frame), "age", TEXTS, "age: the file states its type as"),
    "dates in a frame": (saved(as_frame), "a", TIMES, "a: the file states its type as"),
    "lists": (saved(as_parquet), "who", [[1]] * 8, "its type as list<"),
    "text in arrays": (saved(as_arrays), "a", TEXTS, "a: the file states its type as <U1"),
    "objects": (raw_arrays, "a", OBJECTS, "a: the file states its type as object"),
    "lengths": (raw_arrays, "a", np.zeros(7), "column a has 7 entries and age 8"),
    "no axis": (raw_arrays, "a", np.array(1.0), "an array of 0 axes"),
    "labels of two axes": (raw_arrays, "who", np.zeros((8, 2)), "an array of 2 axes"),
    "several covariates": (raw_arrays, "age", np.zeros((8, 2)), "more than one number a record"),
    "too many numbers": (raw_arrays, "a", np.zeros((8, 2)), "3 columns make no point"),
}


@pytest.mark.parametrize(("save", "name", "values", "sentence"), DECLARED.values(), ids=DECLARED)
def test_what_a_file_states_of_columns_is_refused_before_records_are_read(
    folder, save, name, values, sentence
):
    path = save(name, values)
    said, path = refused(re.escape(sentence), path), settings_of(path).data.path
    assert "its type" not in said or ("or name another column" in said and path in said)


@pytest.mark.parametrize("path", ["table.csv", "table.parquet", "table.npz", "table.mat"])
def test_other_files_are_refused(folder, path):
    refused(rf"key data.path: {path} cannot be read", path)
    for content in (b"", b"PK\x03\x04", b"PAR1", b"who,age\n" * 99):
        Path(path).write_bytes(content)
        is_text = path == "table.csv"
        text_says = "no column|is empty|not UTF-8|is no text"
        refused(text_says if is_text else f"{path}: it cannot be read as", path)


def test_a_label_that_is_no_character_is_one_like_others(folder):
    labels = np.array([f"p{row}" for row in range(8)])
    labels.view(np.uint32).reshape(8, -1)[[3, 5], 0] = 0x110000, 0x110001
    numbers = np.arange(8.0)
    np.savez("table.npz", who=labels, age=numbers, a=numbers, b=numbers)
    *_, found = read("table.npz")
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
    refused(r"cannot be read as a \.npz file", "table.npz")


def test_texts_and_cells_of_matlab_are_refused_before_records_are_read(folder):
    """SciPy cannot decode all texts, and one that it cannot would be told by a refusal."""
    columns = {name: np.arange(8.0) for name in ("age", *NAMES)}
    for who in (list("abcdefgh"), np.array(list("abcdefgh"), dtype=object)):
        scipy.io.savemat("table.mat", columns | {"who": who})
        refused(r"variable who: .* (char|cell) and not as numbers, and", "table.mat")


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
        _, found, subjects = read(path, space=space, centre=centre, columns=[name])
        np.testing.assert_array_equal(found, points)
        assert subjects == list(range(8))
        records = read_table(path, manifold, "age", [name], subject="who")
        np.testing.assert_allclose(records.points, points, atol=1e-12)
    # Those are not landmarks in another order, nor of three coordinates.
    for name in ("pairs", "more"):
        choices = {"space": ("kendall", 3), "centre": centre, "columns": [name]}
        refused("x 3: give landmarks as n x k x 2", path, **choices)


def test_outlines_are_mended_one_by_one(folder):
    turns = 2.0 * np.pi * np.arange(12) / 12
    outline = 2.0 * np.cos(turns) + 1j * np.sin(turns) * (1.0 + 0.2 * np.cos(turns))
    crossing = outline[[0, 2, 1, *range(3, 12)]]
    found = [outline, np.roll(outline[::-1], 1), np.append(outline, outline[0]), crossing]
    pairs = [np.stack([each.real, each.imag], axis=-1).ravel().tolist() for each in found]
    rows = [[60, *each, *[""] * (26 - len(each))] for each in pairs]
    written(rows, ["age", *(f"{axis}{k}" for k in range(1, 14) for axis in "xy")])
    table = {"columns": None, "subject": "one record each", "outline": True}
    _, points, subjects = read(space=("kendall", 12), centre=pairs[0], **table)
    assert subjects == "one record each"
    shape = make_manifold("kendall", 12).from_landmarks(outline)
    np.testing.assert_allclose(points[:3], [shape] * 3, atol=1e-12)
    assert np.all(np.isnan(points[3]))


def test_parquet_without_pyarrow_is_refused_in_a_sentence(folder, monkeypatch):
    path = as_parquet(frame())
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    refused(r"needs pyarrow: install geodp\[parquet\]", path)


# --- Hypotheses of docs/guarantee.md about files, violated ---


def test_rows_that_end_otherwise_than_the_header_are_one(folder):
    text = bare(TEXT_ROWS[:1], "\r\n") + bare(TEXT_ROWS[1:], "\n")
    Path("table.csv").write_bytes(text.encode())
    assert len(read()[2]) == 1
    said = "table.csv, lines 2 to 9 are one row, since they end otherwise than the header"
    assert any(said in reason for reason in checked("table.csv").reasons)


def test_a_quote_that_is_not_doubled_is_refused_with_its_records(folder):
    Path("table.csv").write_text(bare(TEXT_ROWS, "\n").replace("p3", '"p3'))
    with pytest.raises(DataError, match="the quote in line 5, column who, is not closed"):
        read()


def test_a_last_row_without_its_return_changes_the_line_end(folder):
    rows = [TEXT_ROWS[0], ["\n" + TEXT_ROWS[1][0], *TEXT_ROWS[1][1:]], *TEXT_ROWS[2:]]
    Path("table.csv").write_bytes(bare(rows, "\r").encode())
    assert read()[2][0] == "\np0"
    Path("table.csv").write_bytes(bare(rows, "\r", last=False).encode())
    assert len(read()[2]) == 1
    assert any("are one row" in reason for reason in checked("table.csv").reasons)


def test_a_row_of_a_sheet_without_a_value_is_none(folder):
    path = as_excel(frame())
    book = openpyxl.load_workbook(path)
    for column in range(1, 6):
        book.active.cell(5, column).value = None
    book.save(path)
    covariates, _, subjects = read(path)
    assert subjects == [f"p{row}" for row in range(8) if row != 2]
    assert covariates[2, 0] == 3.0


def test_a_specimen_in_a_comment_is_one(folder):
    path = Path(as_tps(SHAPES))
    text = path.read_text()
    path.write_text(text.replace("ID=b", "ID=b\nCOMMENT=two\nLM=3", 1))
    assert len(read(path, **LANDMARKS)[2]) == 5
    # But not after a line break that is none of the file's.
    path.write_bytes(text.replace("ID=b", "ID=b\nCOMMENT=two\rLM=3", 1).encode())
    assert read(path, **LANDMARKS)[2] == IDS


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (r"\Z", "1 2\n", "it has 5 lines of numbers for 4 specimens"),
        ("a b c d", "a b x c d", "4 labels do not end where .* have 5 words"),
        ("a b c d", "a b c", "4 labels do not end where .* have 9 words"),
    ],
)
def test_lines_and_labels_of_nts_files_agree_in_number(folder, before, after, says):
    path = Path(as_nts(SHAPES))
    path.write_text(re.sub(before, after, path.read_text(), count=1))
    with pytest.raises(DataError, match=says):
        read(path, **LANDMARKS)


HYPOTHESES = {
    "F1": test_rows_that_end_otherwise_than_the_header_are_one,
    "F2": test_a_quote_that_is_not_doubled_is_refused_with_its_records,
    "F3": test_a_last_row_without_its_return_changes_the_line_end,
    "F4": test_what_a_file_states_of_columns_is_refused_before_records_are_read,
    "F5": test_labels_that_lost_digits_are_refused_before_anything_is_spent,
    "F6": test_a_row_of_a_sheet_without_a_value_is_none,
    "F7": test_a_specimen_in_a_comment_is_one,
    "F8": test_lines_and_labels_of_nts_files_agree_in_number,
    "F9": test_covariates_of_a_second_table_are_joined_by_subject,
}


def test_every_hypothesis_of_the_guarantee_about_files_is_violated_here():
    page = Path(__file__).parents[2] / "docs" / "guarantee.md"
    assert re.findall(r"(?m)^\| (F\d+) \|", page.read_text()) == list(HYPOTHESES)


# --- What the holder is told ---

FAULTS = yaml.safe_load(Path(__file__).with_name("bad_tables.yaml").read_text())["faults"]


@pytest.mark.parametrize(("at", "text", "line"), FAULTS.values(), ids=FAULTS)
def test_the_holder_is_told_what_is_wrong_and_where(folder, at, text, line):
    assert found_faults(written()) == []
    changed = [*TABLE[2][:at], text, *TABLE[2][at + 1 :]]
    *others, said = found_faults(written([*TABLE[:2], changed, *TABLE[3:]]))
    # A code is outside the range, too.
    assert (line in said, len(others)) == (True, text == "999")


def test_faults_of_rows_and_of_points_are_named(folder):
    [said] = found_faults(written([TABLE[0], TABLE[1][:4], *TABLE[2:]]))
    assert "row 3: it has another number of columns than the header's 5" in said
    rows = [["p0", 0, 1, 0, 1], ["p1", 1, 1, 2, 1], ["p2", 2, 1, 0, 1]]
    path = written(rows, ["who", "age", "a", "b", "c"])
    [said] = found_faults(path, space=("spd", 2), centre="identity", columns=["a", "b", "c"])
    assert "row 3: not a point of SPD(2), since the matrix is not positive definite" in said


def test_a_few_faults_are_named_and_the_others_counted(folder):
    *named, last = found_faults(written([[*row[:2], "M", *row[3:]] for row in TABLE]))
    assert len(named) == 5
    assert last == "3 more records do not count"
