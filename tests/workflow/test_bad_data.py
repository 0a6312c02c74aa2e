"""Tables that cannot be used: one sentence says what is wrong, where, and what to do."""

import io
import math
import re

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.manifolds.registry import make_manifold
from geodp.records import landmark_columns, read_records

TABLE = "table.csv"
HEADER = "rat,age,x1,y1,x2,y2,x3,y3,x4,y4"
# Squares of growing size; the header is row 1.
ROWS = [
    f"{number},{age},0,0,{side},1,{side + 1},{side},0,{side + 2}"
    for number, (age, side) in enumerate([(7, 10), (14, 12), (30, 15), (60, 21)])
]
MATRICES = [
    "x,a11,a12,a21,a22",
    *(f"{x},{1 + x},{x / 2},{x / 2},2" for x in (0.0, 0.25, 0.5, 1.0)),
]
POINTS = [
    "x,a,b,c",
    *(f"{x},{math.cos(x)},{math.sin(x)},0" for x in (0.0, 0.25, 0.5, 1.0)),
]


def read_landmarks(lines, **changes):
    settings = {
        "manifold": make_manifold("kendall", 4),
        "covariate": "age",
        "columns": landmark_columns(4),
        "transformation": "log",
        "subject": "rat",
    }
    return read_records(io.StringIO("\n".join(lines)), TABLE, **(settings | changes))


def read_matrices(lines):
    columns = ["a11", "a12", "a21", "a22"]
    return read_records(io.StringIO("\n".join(lines)), TABLE, make_manifold("spd", 2), "x", columns)


def read_points(lines):
    columns = ["a", "b", "c"]
    return read_records(
        io.StringIO("\n".join(lines)), TABLE, make_manifold("sphere", 2), "x", columns
    )


def replaced(lines, row, column, text):
    """The table with another text in one cell; the row counts from 1, the header."""
    index = lines[0].split(",").index(column)
    cells = lines[row - 1].split(",")
    cells[index] = text
    return [*lines[: row - 1], ",".join(cells), *lines[row:]]


SHAPES = [HEADER, *ROWS]
COINCIDENT = f"{ROWS[2].split(',', 2)[0]},30" + ",5,5" * 4

# A reader, a table, and parts of the message: where, what, remedy.
REFUSED = {
    "missing value": (
        read_landmarks,
        replaced(SHAPES, 3, "y2", ""),
        ["row 3", "column y2", "the value is missing", "correct or remove the row"],
    ),
    "spaces for a value": (
        read_landmarks,
        replaced(SHAPES, 3, "y2", "  "),
        ["row 3", "column y2", "the value is missing", "correct or remove the row"],
    ),
    "NaN landmark": (
        read_landmarks,
        replaced(SHAPES, 2, "x4", "NaN"),
        ["row 2", "column x4", "'NaN' is not a number", "correct or remove the row"],
    ),
    "infinite landmark": (
        read_landmarks,
        replaced(SHAPES, 5, "x4", "inf"),
        ["row 5", "column x4", "'inf' is not a number", "correct or remove the row"],
    ),
    "text for a number": (
        read_landmarks,
        replaced(SHAPES, 4, "x1", "12mm"),
        ["row 4", "column x1", "'12mm' is not a number", "correct or remove the row"],
    ),
    "text for an age": (
        read_landmarks,
        replaced(SHAPES, 4, "age", "old"),
        ["row 4", "column age", "'old' is not a number", "correct or remove the row"],
    ),
    "code for a missing landmark": (
        read_landmarks,
        replaced(replaced(SHAPES, 4, "x3", "9999"), 4, "y3", "9999"),
        ["row 4", "landmark 3 at (9999, 9999)", "missing", "correct or remove the row"],
    ),
    "all landmarks coincide": (
        read_landmarks,
        [*SHAPES[:3], COINCIDENT, *SHAPES[4:]],
        ["row 4", "all landmarks coincide", "correct or remove the row"],
    ),
    "two landmarks coincide": (
        read_landmarks,
        replaced(replaced(SHAPES, 5, "x4", "0"), 5, "y4", "0"),
        ["row 5", "landmarks 1 and 4 coincide", "correct or remove the row"],
    ),
    "short row": (
        read_landmarks,
        [*SHAPES[:3], SHAPES[3].rsplit(",", 1)[0], *SHAPES[4:]],
        ["row 4", "another number of columns than the header's 10", "complete or remove the row"],
    ),
    "long row": (
        read_landmarks,
        [*SHAPES[:2], f"{SHAPES[2]},1", *SHAPES[3:]],
        ["row 3", "another number of columns than the header's 10", "complete or remove the row"],
    ),
    "row after an empty line": (
        read_landmarks,
        [*SHAPES[:2], "", *replaced(SHAPES, 3, "y1", "?")[2:]],
        ["row 4", "column y1", "'?' is not a number", "correct or remove the row"],
    ),
    "open quotation mark": (
        read_landmarks,
        [*SHAPES[:4], '"' + SHAPES[4]],
        ["row 5", "it is not comma-separated text", "correct the row"],
    ),
    "missing landmark column": (
        read_landmarks,
        [HEADER.replace("y4", "z4"), *ROWS],
        ["row 1", "there is no column y4", "(there are: rat, age, x1"],
    ),
    "missing subject column": (
        read_landmarks,
        [HEADER.replace("rat", "mouse"), *ROWS],
        ["row 1", "there is no column rat", "(there are: mouse, age"],
    ),
    "empty table": (
        read_landmarks,
        [],
        ["the table is empty", "give a header and one record a row"],
    ),
    "header alone": (
        read_landmarks,
        SHAPES[:1],
        ["at least 3 records", "there are 0"],
    ),
    "two records": (
        read_landmarks,
        SHAPES[:3],
        ["at least 3 records", "there are 2"],
    ),
    "constant covariate": (
        read_landmarks,
        [HEADER, *(re.sub(r"^(\d),\d+", r"\1,7", row) for row in ROWS)],
        ["column age is 7 in every row", "needs a covariate that varies"],
    ),
    "age of zero": (
        read_landmarks,
        replaced(SHAPES, 2, "age", "0"),
        ["row 2", "column age", "0 has no logarithm", "give a positive value"],
    ),
    "negative age": (
        read_landmarks,
        replaced(SHAPES, 5, "age", "-3"),
        ["row 5", "column age", "-3 has no logarithm", "set transformation to none"],
    ),
    "matrix that is not symmetric": (
        read_matrices,
        replaced(MATRICES, 4, "a12", "0.7"),
        ["row 4", "the matrix is not symmetric", "correct or remove the row"],
    ),
    "matrix that is not positive definite": (
        read_matrices,
        replaced(MATRICES, 3, "a22", "-2"),
        ["row 3", "the matrix is not positive definite", "correct or remove the row"],
    ),
    "singular matrix": (
        read_matrices,
        replaced(replaced(replaced(MATRICES, 5, "a11", "0"), 5, "a12", "0"), 5, "a21", "0"),
        ["row 5", "the matrix is not positive definite", "correct or remove the row"],
    ),
    "vector not of unit length": (
        read_points,
        replaced(POINTS, 3, "c", "0.5"),
        ["row 3", "its length is 1.11803, not 1", "correct or remove the row"],
    ),
    "vector of zeros": (
        read_points,
        replaced(replaced(POINTS, 2, "a", "0"), 2, "b", "0"),
        ["row 2", "its length is 0, not 1", "correct or remove the row"],
    ),
}


@pytest.mark.parametrize(
    ("reader", "table"),
    [(read_landmarks, SHAPES), (read_matrices, MATRICES), (read_points, POINTS)],
    ids=["landmarks", "matrices", "points"],
)
def test_tables_without_a_mistake_are_read(reader, table):
    assert reader(table).covariates.shape == (4,)


@pytest.mark.parametrize(("reader", "table", "parts"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_table_is_refused_in_one_sentence(reader, table, parts):
    with pytest.raises(DataError) as refusal:
        reader(table)
    message = str(refusal.value)
    assert message.startswith(TABLE)
    for part in parts:
        assert part in message
    assert "\n" not in message
    assert not re.search(r"\. [A-Z]|\.$", message)


def test_ages_below_one_are_no_mistake_without_a_logarithm():
    table = replaced(replaced(SHAPES, 2, "age", "0"), 3, "age", "-3")
    assert read_landmarks(table, transformation="none").covariate_range == (-3.0, 60.0)


def test_bytes_that_are_no_text():
    # The reader decodes lazily, so the mistake shows in the middle of the table.
    raw = "\n".join(SHAPES).encode() + b"\n\xff\xfe,1,2\n"
    with pytest.raises(DataError, match=r"^table\.csv: it is not UTF-8 text .*: save it as UTF-8$"):
        read_records(
            io.TextIOWrapper(io.BytesIO(raw), encoding="utf-8"),
            TABLE,
            make_manifold("kendall", 4),
            "age",
            landmark_columns(4),
        )


# --- Through the command line ---


def study(manifold, path, covariate, columns=None, transformation="none"):
    data = {
        "source": "table",
        "path": path,
        "covariate": covariate,
        "columns": columns,
        "transformation": transformation,
    }
    return {
        "manifold": manifold,
        "data": data,
        "data_radius": 5.0,
        "budgets": {"equal": {"totals": ["1.0"]}},
        "cells": [{"budgets": ["equal"]}],
    }


def antipode():
    """Records near one point of the sphere, and one opposite to them (row 11)."""
    points = [np.array([np.cos(x / 10), np.sin(x / 10), 0.0]) for x in np.linspace(0, 1, 20)]
    points[9] = -points[9]
    rows = [
        f"{x},{a!r},{b!r},{c!r}"
        for x, (a, b, c) in zip(range(20), np.array(points).tolist(), strict=True)
    ]
    return ["x,a,b,c", *rows]


def test_command_line_names_every_mistake_and_leaves_nothing(checkout):
    """Several studies at once, each with a mistake of its own and none in the last."""
    rats = (checkout.root / "resources" / "vilmann_rats.csv").read_text().splitlines()
    rat_study = ({"name": "kendall", "size": 8}, "age_days", None, "log")
    matrix_study = ({"name": "spd", "size": 2}, "x", ["a11", "a12", "a21", "a22"])
    point_study = ({"name": "sphere", "size": 2}, "x", ["a", "b", "c"])
    tables = {
        "missing_landmark": (replaced(rats, 50, "x3", ""), *rat_study),
        "code": (replaced(replaced(rats, 17, "x8", "9999"), 17, "y8", "9999"), *rat_study),
        "not_definite": (REFUSED["matrix that is not positive definite"][1], *matrix_study),
        "not_unit": (REFUSED["vector not of unit length"][1], *point_study),
        "cut_locus": (antipode(), *point_study),
        "right": (POINTS, *point_study),
    }
    sentences = {
        "missing_landmark": (
            "missing_landmark.csv, row 50, column x3: the value is missing: correct or remove the "
            "row"
        ),
        "code": (
            "code.csv, row 17: landmark 8 at (9999, 9999) carries a code for a missing value: "
            "correct or remove the row"
        ),
        "not_definite": (
            "not_definite.csv, row 3: not a point of SPD(2), since the matrix is not positive "
            "definite (smallest eigenvalue -2.005): correct or remove the row"
        ),
        "not_unit": (
            "not_unit.csv, row 3: not a point of sphere S^2, since its length is 1.11803, not 1: "
            "correct or remove the row"
        ),
        "cut_locus": "cut_locus.csv, row 11 (record 10): it lies ",
    }
    studies = {}
    for name, (lines, manifold, *columns) in tables.items():
        (checkout.root / f"{name}.csv").write_text("\n".join(lines) + "\n")
        studies[name] = study(manifold, f"{name}.csv", *columns)
    checkout.configure({"name": "bad", "seed": 1, "studies": studies})
    targets = [f"results/bad/{name}/groups/observed/fit.json" for name in tables]
    result = checkout.snakemake("--keep-going", *targets)

    assert result.returncode != 0
    lines = result.stdout.splitlines()
    logs = {name: path.read_text() for name, path in checkout.files("*.log").items()}
    for name, sentence in sentences.items():
        start = f"Error in study {name}: {sentence}"
        assert sum(line.startswith(start) for line in lines) >= 1, name
        rule = "fit_geodesics" if name == "cut_locus" else "read_data"
        log = logs[f"{name}/logs/observed/{rule}.log"]
        assert log.startswith(start)
        assert log.count("\n") == 1
        if name == "cut_locus":
            assert "near the cut locus at 3.142" in log
            assert log.endswith("correct or remove it\n")
    assert "Traceback" not in result.stdout

    made = set(checkout.files()) - set(logs)
    assert made == {
        "cut_locus/groups/observed/data.npz",
        "right/groups/observed/data.npz",
        "right/groups/observed/fit.json",
    }
    assert checkout.temporaries() == []
