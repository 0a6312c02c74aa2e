"""Each hypothesis of docs/guarantee.md about files, violated: what follows is what is said."""

import re
from pathlib import Path

import numpy as np
import openpyxl
import pandas as pd
import pytest
from test_release_reading import (
    HEADER,
    LANDMARKS,
    NAMES,
    SHAPES,
    TABLE,
    as_excel,
    as_nts,
    as_tps,
    bare,
    folder,  # noqa: F401
    frame,
    read,
    settings_of,
)

from geodp import DataError, PrivacyBudget, ReleasePlan
from geodp_release.checking import check_data
from geodp_release.reading import read_data, refuse_missing

PAGE = Path(__file__).parents[2] / "docs" / "guarantee.md"

TEXTS = [[str(cell) for cell in row] for row in [HEADER, *TABLE]]
SHAPE = LANDMARKS | {"covariate": "centroid_size"}


def says_no(sentence):
    settings = settings_of("table.csv")
    plan = ReleasePlan(settings.assumptions, PrivacyBudget("2"), (), 1.0, 1.0, 1.0)
    assert any(sentence in reason for reason in check_data(settings, plan).reasons)


def other_line_ends():
    text = bare(TEXTS[:1], "\r\n") + bare(TEXTS[1:], "\n")
    Path("table.csv").write_bytes(text.encode())
    assert len(read()[2]) == 1
    says_no("table.csv, lines 2 to 9 are one row, since they end otherwise than the header")


def a_quote_that_is_not_doubled():
    Path("table.csv").write_text(bare(TEXTS, "\n").replace("p3", '"p3'))
    refuse_missing(settings_of("table.csv"))
    with pytest.raises(DataError, match="the quote in line 5, column who, is not closed"):
        read()


def a_last_row_without_its_return():
    rows = [TEXTS[0], ["\n" + TEXTS[1][0], *TEXTS[1][1:]], *TEXTS[2:]]
    Path("table.csv").write_bytes(bare(rows, "\r").encode())
    assert read()[2][0] == "\np0"
    Path("table.csv").write_bytes(bare(rows, "\r", last=False).encode())
    assert len(read()[2]) == 1
    says_no("are one row")


def a_column_of_texts():
    for changes in ({"age": list("12345678")}, {"a": pd.date_range("2020", periods=8)}):
        settings = settings_of("the data frame")
        settings.data.set_frame(frame(**changes))
        with pytest.raises(DataError, match="the file states its type as"):
            refuse_missing(settings)


def labels_beyond_whole_numbers():
    frame(who=[*range(2**53, 2**53 + 7), np.nan]).to_parquet("table.parquet")
    with pytest.raises(DataError, match="labels are floating-point numbers so large"):
        refuse_missing(settings_of("table.parquet"))


def a_row_without_a_value():
    path = as_excel(frame())
    book = openpyxl.load_workbook(path)
    for column in range(1, 6):
        book.active.cell(5, column).value = None
    book.save(path)
    covariates, _, subjects = read(path)
    assert subjects == [f"p{row}" for row in range(8) if row != 2]
    assert covariates[2, 0] == 3.0


def a_specimen_in_a_comment():
    path = Path(as_tps(SHAPES))
    text = path.read_text()
    path.write_text(text.replace("ID=b", "ID=b\nCOMMENT=two\nLM=3", 1))
    assert len(read_data(settings_of(path.name, **SHAPE))[2]) == 5
    # But not after a line break that is none of the file's.
    path.write_bytes(text.replace("ID=b", "ID=b\nCOMMENT=two\rLM=3", 1).encode())
    assert read_data(settings_of(path.name, **SHAPE))[2] == list("abcd")
    path = Path(as_nts(SHAPES))
    path.write_text(path.read_text() + "1 2\n")
    with pytest.raises(DataError, match="it has 5 lines of numbers for 4 specimens"):
        read_data(settings_of(path.name, **SHAPE))


def a_label_of_two_words():
    path = Path(as_nts(SHAPES))
    text = path.read_text()
    for labels, words in (("a b x c d", 5), ("a b c", 9)):
        path.write_text(text.replace("a b c d", labels))
        with pytest.raises(DataError, match=f"4 labels do not end where .* have {words} words"):
            read_data(settings_of(path.name, **SHAPE))


def a_second_row_of_a_label():
    frame().drop(columns="age").to_csv("table.csv", index=False)
    ages = frame()[["who", "age"]]
    pd.concat([ages, ages.assign(age=99)]).to_csv("ages.csv", index=False)
    covariates, _, _ = read(join={"path": "ages.csv", "subject": "who"}, columns=NAMES)
    assert covariates[:, 0].tolist() == list(range(8))


VIOLATIONS = {
    "F1": other_line_ends,
    "F2": a_quote_that_is_not_doubled,
    "F3": a_last_row_without_its_return,
    "F4": a_column_of_texts,
    "F5": labels_beyond_whole_numbers,
    "F6": a_row_without_a_value,
    "F7": a_specimen_in_a_comment,
    "F8": a_label_of_two_words,
    "F9": a_second_row_of_a_label,
}


@pytest.mark.parametrize("name", re.findall(r"(?m)^\| (F\d+) \|", PAGE.read_text()))
def test_a_hypothesis_about_files_that_is_violated(folder, name):  # noqa: F811
    VIOLATIONS[name]()
