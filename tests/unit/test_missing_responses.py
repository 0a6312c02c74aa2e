"""Records without a response: left out by a public rule, each by itself."""

import numpy as np
import pytest
import release_tables as tables
from hypothesis import given
from hypothesis import strategies as st

from geodp_release.ask.release_records import have_responses, read_data
from geodp_release.run.subjects import subject_records

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
    assert any("the data have 5 subjects, and public.subjects says 8" in no for no in found.reasons)
