"""Criteria and selections of claims, and files of claims that are refused."""

import io

import numpy as np
import pandas as pd
import pytest
from planted_claims import CLAIMS, ROWS, by_budget, claims_of, judged, one, tables_of

from geodp.errors import DataError
from reproduction.claims.conditions import met, selection
from reproduction.claims.measures import MEASURES
from reproduction.claims.rows import Claim, read_claims


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        *(("", [0, 1, 2, 3]), ("n >= 50 and noise_variance < 0.01", [1])),
        ("n == 20 or n == 100 and sampler == 'walk'", [0, 2]),
        *(("n in [20, 100.0]", [0, 2]), ("sampler in ['walk', 'other']", [2, 3])),
        ("shift > 0.5 or shift < -0.9 and n <= 200", [3]),
        # A missing number is equal to none and in no order.
        *(("noise_variance != 0.001", [2, 3]), ("noise_variance <= 1", [0, 1, 2])),
        ("nowhere == 'a'", []),
    ],
)
def test_selections_mean_what_they_say(text, rows):
    table = {"sampler": ["default", "default", "walk", "walk"], "n": [20, 50, 100, 200]}
    table |= {"noise_variance": [0.001, 0.001, 0.1, np.nan], "shift": [0.0, 0.0, 0.5, -1.0]}
    chosen = met(pd.DataFrame(table).assign(nowhere=np.nan), selection(text))
    assert chosen.dtype == bool
    assert np.flatnonzero(chosen).tolist() == rows


def refused(rows, tables=None):
    with pytest.raises(DataError) as problem:
        judged(rows, tables or {})
    message = str(problem.value)
    assert "\n" not in message
    assert message.startswith("claims.csv")
    return message


NO_CRITERIA = ["", "value == 0.95", "low >= 0.95", "value >= 'a'", "0 < value < 1"]
NO_CRITERIA += ["__import__('os').getcwd() >= 1"]


@pytest.mark.parametrize("text", NO_CRITERIA)
@pytest.mark.parametrize("column", ["holds", "in_part"])
def test_a_criterion_that_is_none_is_refused(text, column):
    message = refused(one("sphere_budget").assign(**{column: text}))
    assert f"(claim 'sphere_budget'), column {column}: " in message
    assert "write comparisons of value with numbers" in message


NO_SELECTIONS = [
    "@pd.io.common.os.system('COMMAND') == 0",
    "__import__('os').system('COMMAND') == 0",
    "n == __import__('os').system('COMMAND')",
    "n in [__import__('os').system('COMMAND')]",
    *("sampler.str == 'a'", "n in []", "sampler < 'e'", "n == 20 and", "n", "n == 1" + "0" * 400),
    *("n == 20\0", "sampler == 'a\\'"),
]


@pytest.mark.parametrize("column", ["where", "against_where", "needs"])
@pytest.mark.parametrize("text", NO_SELECTIONS)
def test_what_is_no_selection_is_refused_and_not_run(text, column, tmp_path):
    trace = tmp_path / "trace"
    row = one("spd_like_sphere").to_dict("records")[0]
    row |= {column: text.replace("COMMAND", f"touch {trace}"), "place": "here"}
    with pytest.raises(ValueError, match="is not a selection of rows: compare columns with texts"):
        Claim.model_validate(row)
    assert not trace.exists()


TWO = {"claim": ["a.x", "a.y"], "statement": ["It is.", ""]}
THREE = {"claim": ["a.x", "b", "a.y"], "statement": ["It is.", "It is.", ""]}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"statement": ""}, "the first row of a sentence has its statement"),
        ({"reading": "another"}, "the first row of a sentence counts"),
        ({"measure": "largest_gap"}, "column measure: 'largest_gap' is not known: use one of sh"),
        ({"claim": ""}, "column claim: it is empty"),
        ({"along": " "}, "column along: it is empty and share_ordered needs it"),
        ({"column": "log_error n"}, "names 2 columns and share_ordered takes 1"),
        ({"measure": "largest_median", "column": ""}, "largest_median takes one or more"),
        ({"against": "spd"}, "column against: share_ordered looks at one study"),
        ({"where": "nothing == 1"}, "there is no column nothing in"),
        ({"needs": "nothing == 1"}, "no column nothing in the table"),
        ({"where": "n == '20'"}, "n and ['20'] are compared"),
        ({"column": "log_errors"}, "there is no column log_errors"),
        ({"along": "n budget"}, "there is no column n budget"),
        ({"where": "imbalance == 0"}, "several rows for one cell and data set"),
        # Rows that do not say what they are of their sentence.
        (TWO | {"claim": ["a.x", "a.x"]}, "column claim: another row has this name"),
        (TWO | {"statement": 2 * ["It."], "part": ["p", "q"]}, "and no other: leave it empty"),
        (TWO | {"reading": ["", "r"], "part": ["", "p"]}, "column reading: the row is a part of"),
        (TWO, "column part: its sentence has several"),
        (THREE, "other rows stand between those of its sentence"),
    ],
)
def test_a_claim_that_makes_no_sense_is_refused(change, says):
    number = len(change["claim"]) if isinstance(change.get("claim"), list) else 1
    rows = pd.concat([one("sphere_budget")] * number).assign(**change)
    assert says in refused(rows, by_budget())


def test_a_table_or_a_file_without_a_column_or_without_a_claim_is_refused():
    [table] = tables_of(name := "walk_length.sphere_error").values()
    for column in ("mean_squared_error", "log_error_standard_error"):
        tables = {("sphere", "errors"): table.drop(columns=column)}
        assert "there is no column" in refused(one(name), tables)
    for column in CLAIMS.columns.drop(["needs", "construction"]):
        assert f", column {column} is missing: " in refused(CLAIMS.drop(columns=column))
    assert "claims.csv: it holds no claim: add one" in refused(CLAIMS.iloc[:0])


@pytest.mark.parametrize("text", ["", "a,b\n1,2,3\n1,2\n"])
def test_a_file_that_is_no_table_is_refused(text):
    with pytest.raises(DataError, match=r"^claims\.csv[:,][^\n]*$"):
        read_claims(io.StringIO(text), "claims.csv")


def test_claims_cover_the_measures():
    found = [claim.measure for rows in ROWS.values() for claim in claims_of(rows)]
    assert set(found) == set(MEASURES)
