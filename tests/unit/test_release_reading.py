"""Tables of a release: a row is a record, whatever is in it, and no record changes others."""

import csv
import io
import re
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
import release_tables as tables
import yaml
from hypothesis import given
from hypothesis import strategies as st
from release_tables import TABLE, as_parquet, found_faults, frame, read, refused, written

from geodp import DataError
from geodp.data.cells import TableReading
from geodp.data.formats import open_table
from geodp.data.text_tables import TextTable
from geodp_release.ask.release_records import read_data

# --- Text: what a row is ---

ENDS = ["\n", "\r\n", "\r"]
CELLS = st.text(st.sampled_from("ab,;\"'\t \n\r\0#\x0b\x1c\u2028\udc80\udcff"), max_size=6)
TEXT_ROWS = [[str(cell) for cell in row] for row in [tables.HEADER, *TABLE]]


def others(data, index):
    """All records but one."""
    covariates, points, subjects = data
    numbers = (np.delete(each, index, 0).tolist() for each in (covariates, points))
    return (*numbers, subjects[:index] + subjects[index + 1 :])


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
def test_rows_are_as_programs_write(tmp_path_factory, rows, program, end, delimiter, name, mark):
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
SHAPE = tables.LANDMARKS | {"covariate": "p0", "subject": "fine"}
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
        read_data(tables.settings_of("table.csv"))


# --- Hypotheses of docs/guarantee.md about files, violated ---


def test_f1_rows_that_end_otherwise_than_the_header_are_one(folder):
    text = bare(TEXT_ROWS[:1], "\r\n") + bare(TEXT_ROWS[1:], "\n")
    Path("table.csv").write_bytes(text.encode())
    assert len(read()[2]) == 1
    said = "table.csv, lines 2 to 9 are one row, since they end otherwise than the header"
    assert any(said in reason for reason in tables.checked("table.csv").reasons)


def test_f2_a_quote_that_is_not_doubled_is_refused_with_its_records(folder):
    Path("table.csv").write_text(bare(TEXT_ROWS, "\n").replace("p3", '"p3'))
    with pytest.raises(DataError, match="the quote in line 5, column who, is not closed"):
        read()


def test_f3_a_last_row_without_its_return_changes_the_line_end(folder):
    rows = [TEXT_ROWS[0], ["\n" + TEXT_ROWS[1][0], *TEXT_ROWS[1][1:]], *TEXT_ROWS[2:]]
    Path("table.csv").write_bytes(bare(rows, "\r").encode())
    assert read()[2][0] == "\np0"
    Path("table.csv").write_bytes(bare(rows, "\r", last=False).encode())
    assert len(read()[2]) == 1
    assert any("are one row" in reason for reason in tables.checked("table.csv").reasons)


def raw_arrays(name, values):
    np.savez("table.npz", **dict.fromkeys(tables.HEADER[:4], np.zeros(8)) | {name: values})
    return "table.npz"


def saved(save):
    return lambda name, values: save(frame(**{name: values}))


TIMES, TEXTS, OBJECTS = pd.date_range("2020", periods=8), list("MFMFMFMF"), np.array([{}, 1])
DECLARED = {
    "text": (saved(as_parquet), "a", TEXTS, "a: the file states its type as large_string"),
    "text in a frame": (saved(tables.as_frame), "age", TEXTS, "age: the file states its type as"),
    "dates in a frame": (saved(tables.as_frame), "a", TIMES, "a: the file states its type as"),
    "lists": (saved(as_parquet), "who", [[1]] * 8, "its type as list<"),
    "text in arrays": (saved(tables.as_arrays), "a", TEXTS, "a: the file states its type as <U1"),
    "objects": (raw_arrays, "a", OBJECTS, "a: the file states its type as object"),
    "lengths": (raw_arrays, "a", np.zeros(7), "column a has 7 entries and age 8"),
    "no axis": (raw_arrays, "a", np.array(1.0), "an array of 0 axes"),
    "labels of two axes": (raw_arrays, "who", np.zeros((8, 2)), "an array of 2 axes"),
    "several covariates": (raw_arrays, "age", np.zeros((8, 2)), "more than one number a record"),
    "too many numbers": (raw_arrays, "a", np.zeros((8, 2)), "3 columns make no point"),
}


@pytest.mark.parametrize(("save", "name", "values", "sentence"), DECLARED.values(), ids=DECLARED)
def test_f4_what_a_file_states_of_columns_is_refused_before_records_are_read(
    folder, save, name, values, sentence
):
    path = save(name, values)
    said, path = refused(re.escape(sentence), path), tables.settings_of(path).data.path
    assert "its type" not in said or ("or name another column" in said and path in said)


WHOLE = [10**16 + row for row in range(8)]
LOST = {
    # From here on different whole numbers are the same one.
    "one missing": (as_parquet, [*range(2**53, 2**53 + 7), None]),
    "one with decimals": (tables.as_excel, [*WHOLE[:7], 1.5]),
    "an array": (tables.as_arrays, np.array([*WHOLE[:7], 1.5])),
    "single precision": (as_parquet, np.arange(2**24, 2**24 + 8, dtype=np.float32)),
    "a frame": (tables.as_frame, [*WHOLE[:7], None]),
    "a frame with missing values": (tables.as_frame, pd.array([*WHOLE[:7], None], dtype="Float64")),
}


@pytest.mark.parametrize(("save", "labels"), LOST.values(), ids=LOST)
def test_f5_labels_that_lost_digits_are_refused_before_anything_is_spent(folder, save, labels):
    """Seven people were one where pandas made floating-point numbers of whole ones."""
    path = save(frame(who=pd.Series(labels)))
    refused("who: labels are floating-point numbers so large", path)
    # By themselves they are labels, and small ones are in any type.
    *_, subjects = read(frame(who=pd.Series([*WHOLE[:7], None], dtype=object)))
    assert subjects[:7] == list(map(str, WHOLE[:7]))
    *_, subjects = read(frame(who=[*range(7), None]))
    assert subjects[:7] == list("0123456")


def test_f6_a_row_of_a_sheet_without_a_value_is_none(folder):
    path = tables.as_excel(frame())
    book = openpyxl.load_workbook(path)
    for column in range(1, 6):
        book.active.cell(5, column).value = None
    # Beyond the header, where nothing is read.
    book.active.cell(5, 9).value = "a remark"
    book.save(path)
    covariates, _, subjects = read(path)
    assert subjects == [f"p{row}" for row in range(8) if row != 2]
    assert covariates[2, 0] == 3.0


def test_f7_a_specimen_in_a_comment_is_one(folder):
    path = Path(tables.as_tps(tables.SHAPES))
    text = path.read_text()
    path.write_text(text.replace("ID=b", "ID=b\nCOMMENT=two\nLM=3", 1))
    assert len(read(path, **tables.LANDMARKS)[2]) == 5
    # But not after a line break that is none of the file's.
    path.write_bytes(text.replace("ID=b", "ID=b\nCOMMENT=two\rLM=3", 1).encode())
    assert read(path, **tables.LANDMARKS)[2] == tables.IDS


@pytest.mark.parametrize(
    ("before", "after", "says"),
    [
        (r"\Z", "1 2\n", "it has 5 lines of numbers for 4 specimens"),
        ("a b c d", "a b x c d", "4 labels do not end where .* have 5 words"),
        ("a b c d", "a b c", "4 labels do not end where .* have 9 words"),
    ],
)
def test_f8_lines_and_labels_of_nts_files_agree_in_number(folder, before, after, says):
    path = Path(tables.as_nts(tables.SHAPES))
    path.write_text(re.sub(before, after, path.read_text(), count=1))
    with pytest.raises(DataError, match=says):
        read(path, **tables.LANDMARKS)


def test_f9_covariates_of_a_second_table_are_joined_by_subject(folder):
    expected = read(tables.as_csv(frame()))
    ages = frame()[["who", "age"]].rename(columns={"who": "id"}).iloc[::-1]
    # The first row of a label counts.
    pd.concat([ages, ages.assign(age=99)]).to_csv("ages.csv", index=False)
    path = as_parquet(frame().drop(columns="age"))
    join = {"path": "ages.csv", "subject": "id"}
    tables.assert_same(read(path, join=join), expected)
    said = found_faults(path, join=join)
    assert "ages.csv has more rows of 'p7' than one: keep the right one, since the first" in said[0]
    assert said[-1] == "3 more labels have several rows there"
    ages.iloc[1:].to_csv("ages.csv", index=False)
    assert tables.without(read(path, join=join)) == [[7], []]
    said = found_faults(path, join=join)
    assert "row 8, column age (joined from ages.csv): the value is missing" in said[0]
    assert said[1] == "ages.csv has no row of 'p7': add it"
    # Labels are compared as those of subjects are.
    ages.replace("p3", "p3 ").to_csv("ages.csv", index=False)
    assert tables.without(read(path, join=join)) == [[3], []]
    ages.iloc[1:].replace("p3", "P-03").to_csv("ages.csv", index=False)
    said = found_faults(path, join=join)
    assert "ages.csv has no row of 'p3': write 'P-03' there so" in said
    no_file, no_column = join | {"path": "none.csv"}, join | {"subject": "name"}
    refused("key data.join.path: none.csv cannot be read", path, join=no_file)
    refused("ages.csv, row 1: there is no column name", path, join=no_column)


def test_every_hypothesis_of_the_guarantee_about_files_is_violated_here():
    """By a test that has its number."""
    page = Path(__file__).parents[2] / "docs" / "guarantee.md"
    tested = re.findall(r"(?m)^def test_(f\d+)_", Path(__file__).read_text())
    assert re.findall(r"(?m)^\| (F\d+) \|", page.read_text()) == [each.upper() for each in tested]


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
