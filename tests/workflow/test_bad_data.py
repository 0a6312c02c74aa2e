"""Files that cannot be used: one sentence says what is wrong, where, and what to do."""

import io
import math
import re
from functools import partial

import numpy as np
import pytest
import scipy.io

from geodp.data.matlab import read_mat_records
from geodp.data.tables import landmark_columns, read_records
from geodp.errors import DataError
from geodp.manifolds.registry import make_manifold

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

# Outlines of five landmarks, counter-clockwise.
OUTLINES = [
    "subject,age,diagnosis,sex," + ",".join(landmark_columns(5)),
    *(
        f"{number},{age},{diagnosis},{sex},0,0,{side},1,{side + 1},{side},{side / 2},{side + 3},0,"
        f"{side + 2}"
        for number, (age, side, diagnosis, sex) in enumerate(
            [(55, 10, "AD", "F"), (64, 12, "CN", "M"), (71, 15, "AD", "F"), (88, 21, "MCI", "F")]
        )
    ),
]


def read_outlines(lines, **changes):
    settings = {
        "manifold": make_manifold("kendall", 5),
        "covariate": "age",
        "columns": None,
        "subject": "subject",
        "outline": True,
    }
    return read_records(io.StringIO("\n".join(lines)), TABLE, **(settings | changes))


def reading_outlines(**settings):
    return partial(read_outlines, **settings)


def without_cells(lines, row, number):
    """The table with the last cells of a row empty."""
    cells = lines[row - 1].split(",")
    emptied = [*cells[:-number], *[""] * number]
    return [*lines[: row - 1], ",".join(emptied), *lines[row:]]


def exchanged(lines, row, first, second):
    """The table with two landmarks of a row in each other's place."""
    header, cells = lines[0].split(","), lines[row - 1].split(",")
    for axis in "xy":
        one, other = header.index(f"{axis}{first}"), header.index(f"{axis}{second}")
        cells[one], cells[other] = cells[other], cells[one]
    return [*lines[: row - 1], ",".join(cells), *lines[row:]]


# A column of eight notes that say different things.
NOTES = ["note", "", "b", "c", "d", "e", "f", "g", "h"]


def cut(lines, columns):
    """The table without its last columns."""
    return [line.rsplit(",", columns)[0] for line in lines]


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
    "underscore in a number": (
        read_landmarks,
        replaced(SHAPES, 4, "x1", "1_2"),
        ["row 4", "column x1", "'1_2' is not a number", "correct or remove the row"],
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
    "two columns of one name": (
        read_landmarks,
        [f"{line},{end}" for line, end in zip(SHAPES, ["x2", 1, 2, 3, 4], strict=True)],
        ["row 1", "2 columns are called x2", "rename or remove the others"],
    ),
    "missing subject": (
        read_landmarks,
        replaced(SHAPES, 4, "rat", " "),
        ["row 4", "column rat", "the value is missing", "correct or remove the row"],
    ),
    "filter on a value that is not there": (
        reading_outlines(keep={"diagnosis": "ad"}),
        OUTLINES,
        [
            "none of the 4 records has ad in column diagnosis (there are: AD, CN, MCI)",
            "correct keep",
        ],
    ),
    "filter on a list of values that are not there": (
        reading_outlines(keep={"diagnosis": ["FTD", "LBD"]}),
        OUTLINES,
        ["none of the 4 records has FTD or LBD in column diagnosis", "correct keep"],
    ),
    "filter with many other values": (
        reading_outlines(keep={"note": "x"}),
        [
            f"{line},{end}"
            for line, end in zip([*OUTLINES, *OUTLINES[1:]], [*NOTES[:-1], "g"], strict=True)
        ],
        ["column note (there are: (empty), b, c, d, e, ...)", "correct keep"],
    ),
    # Values that no two records share may name persons.
    "filter by what tells all records apart": (
        reading_outlines(keep={"note": "x"}),
        [f"{line},{end}" for line, end in zip([*OUTLINES, *OUTLINES[1:]], NOTES, strict=True)],
        ["none of the 8 records has x in column note: correct keep"],
    ),
    "second filter leaves nothing": (
        reading_outlines(keep={"diagnosis": "AD", "sex": "M"}),
        OUTLINES,
        [
            "none of the 2 records the filters before it left has M in column sex (there are: F)",
            "correct keep",
        ],
    ),
    "filters leave too few": (
        reading_outlines(keep={"diagnosis": "AD"}),
        OUTLINES,
        ["at least 3 records", "there are 2 after keep"],
    ),
    "filter on a column that is not there": (
        reading_outlines(keep={"gender": "F"}),
        OUTLINES,
        ["row 1", "there is no column gender", "(there are: subject, age, diagnosis"],
    ),
    "covariate above its range": (
        reading_outlines(covariate_range=(50, 80)),
        OUTLINES,
        [
            "row 5",
            "column age",
            "88 lies outside 50 to 80",
            "correct or remove the row, or change covariate_range",
        ],
    ),
    "covariate below its range after a filter": (
        reading_outlines(covariate_range=(60, 90), keep={"sex": "F"}),
        OUTLINES,
        ["row 2", "column age", "55 lies outside 60 to 90", "or change covariate_range"],
    ),
    "range upside down": (
        reading_outlines(covariate_range=(90, 50)),
        OUTLINES,
        ["covariate_range is 90 to 50", "give a lower and then a higher limit"],
    ),
    "range without a logarithm": (
        reading_outlines(covariate_range=(0, 90), transformation="log"),
        OUTLINES,
        ["covariate_range starts at 0", "no logarithm", "give a positive limit"],
    ),
    "outline that lacks a column between": (
        read_outlines,
        [OUTLINES[0].replace("y3", "z3"), *OUTLINES[1:]],
        ["row 1", "there is no column y3 though there is a column x5", "without a gap"],
    ),
    "outline that lacks its last column": (
        read_outlines,
        cut(OUTLINES, 1),
        ["row 1", "there is no column y5 though there is a column x5", "without a gap"],
    ),
    "outline with a far too high column": (
        read_outlines,
        [OUTLINES[0].replace("diagnosis", "x20240131"), *OUTLINES[1:]],
        ["row 1", "there is no column x6 though there is a column x20240131", "without a gap"],
    ),
    "outline without columns": (
        read_outlines,
        [re.sub(r"([xy])(\d)", r"\2\1", OUTLINES[0]), *OUTLINES[1:]],
        ["row 1", "there are no columns x1, y1, x2, y2, ...", "give those to the landmarks"],
    ),
    "outlines of three landmarks": (
        read_outlines,
        cut(OUTLINES, 4),
        ["an outline needs at least 4 landmarks", "these have 3", "give more landmarks"],
    ),
    "outline that is one landmark short": (
        read_outlines,
        without_cells(OUTLINES, 4, 2),
        [
            "row 4",
            "it has 4 landmarks and row 2 has 5",
            "give all records the same number, or remove the row",
        ],
    ),
    "outline that is longer than most": (
        read_outlines,
        without_cells(without_cells(without_cells(OUTLINES, 2, 2), 3, 2), 5, 2),
        ["row 4", "it has 5 landmarks and row 2 has 4", "give all records the same number"],
    ),
    "outline without any landmark": (
        read_outlines,
        without_cells(OUTLINES, 2, 10),
        ["row 2", "it has 0 landmarks and row 3 has 5", "remove the row"],
    ),
    "outline that ends in half a landmark": (
        read_outlines,
        without_cells(OUTLINES, 3, 1),
        ["row 3", "column y5", "the value is missing", "correct or remove the row"],
    ),
    "outline with a hole": (
        read_outlines,
        replaced(OUTLINES, 5, "x2", ""),
        ["row 5", "column x2", "the value is missing", "correct or remove the row"],
    ),
    "outline that crosses itself": (
        read_outlines,
        exchanged(OUTLINES, 4, 2, 3),
        [
            "row 4",
            "the outline meets itself",
            "its edge between landmarks 1-2 and its edge between landmarks 3-4",
            "put the landmarks in their order along the outline, or remove the row",
        ],
    ),
    "outline that crosses itself at its end": (
        read_outlines,
        exchanged(OUTLINES, 3, 1, 5),
        ["row 3", "between landmarks 1-2 and", "between landmarks 4-5", "remove the row"],
    ),
    "outline that passes a landmark twice": (
        read_outlines,
        replaced(replaced(OUTLINES, 2, "x4", "0"), 2, "y4", "0"),
        ["row 2", "landmarks 1 and 4 coincide", "correct or remove the row"],
    ),
    "outline on a sphere": (
        reading_outlines(manifold=make_manifold("sphere", 2)),
        OUTLINES,
        ["a point of sphere S^2 has no landmarks", "set outline to false"],
    ),
    "landmarks of another number": (
        reading_outlines(outline=False, columns=landmark_columns(4)),
        OUTLINES,
        ["records have 4 landmarks", "manifold 5", "use a manifold of 4 landmarks, or set outline"],
    ),
}


def assert_one_sentence(message, name, parts):
    assert message.startswith(name)
    for part in parts:
        assert part in message
    assert "\n" not in message
    assert not re.search(r"\. [A-Z]|\.$", message)


@pytest.mark.parametrize(
    ("reader", "table"),
    [
        (read_landmarks, SHAPES),
        (read_matrices, MATRICES),
        (read_points, POINTS),
        (read_outlines, OUTLINES),
    ],
    ids=["landmarks", "matrices", "points", "outlines"],
)
def test_tables_without_a_mistake_are_read(reader, table):
    assert reader(table).covariates.shape == (4,)


@pytest.mark.parametrize(("reader", "table", "parts"), REFUSED.values(), ids=REFUSED.keys())
def test_bad_table_is_refused_in_one_sentence(reader, table, parts):
    with pytest.raises(DataError) as refusal:
        reader(table)
    assert_one_sentence(str(refusal.value), TABLE, parts)


@pytest.mark.parametrize(
    ("argument", "read"),
    [
        ("outline", lambda: read_landmarks(SHAPES, manifold=make_manifold("kendall", 5))),
        ("keep", lambda: read_outlines(OUTLINES, keep={"sex": "X"})),
        ("covariate_range", lambda: read_outlines(OUTLINES, covariate_range=(60, 90))),
        ("transformation", lambda: read_landmarks(replaced(SHAPES, 2, "age", "0"))),
        (None, lambda: read_landmarks(replaced(SHAPES, 2, "x1", "?"))),
    ],
)
def test_refusal_carries_the_argument_that_would_help(argument, read):
    with pytest.raises(DataError) as refusal:
        read()
    assert refusal.value.argument == argument
    assert argument is None or argument in str(refusal.value)


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


# --- MATLAB files ---

MAT = "outlines.mat"
NUMBERS = np.array([row.split(",")[4:] for row in OUTLINES[1:]], dtype=float)
# n x k x 2: four records of five landmarks.
LANDMARKS = NUMBERS.reshape(4, 5, 2)
VARIABLES = {
    "landmarks": LANDMARKS,
    "age": np.array([55.0, 64.0, 71.0, 88.0]),
    "subject": np.array(["a", "b", "c", "d"]),
    "diagnosis": np.array(["AD", "CN", "AD", "MCI"], dtype=object),
    "sex": np.array([1, 2, 1, 1]),
}


def cells(*arrays):
    """A cell array; NumPy would make one array of items that have one shape."""
    found = np.empty(len(arrays), dtype=object)
    found[:] = arrays
    return found


def landmarks_with(value, *index):
    changed = LANDMARKS.copy()
    changed[index] = value
    return changed


def exchanged_in_record(record, first, second):
    changed = LANDMARKS.copy()
    changed[record, [first, second]] = LANDMARKS[record, [second, first]]
    return changed


# Changed variables (None: left out), settings, and parts of the message.
MAT_REFUSED = {
    "no landmarks": (
        {"landmarks": None},
        {},
        ["there is no variable landmarks (there are: age, subject, diagnosis, sex)"],
    ),
    "no covariate": (
        {"age": None, "Age": VARIABLES["age"]},
        {},
        ["there is no variable age (there are: landmarks, subject, diagnosis, sex, Age)"],
    ),
    "no subject": ({}, {"subject": "id"}, ["there is no variable id", "(there are: landmarks,"]),
    "no filter": ({}, {"keep": {"group": "AD"}}, ["there is no variable group (there are:"]),
    "two dimensions": (
        {"landmarks": NUMBERS},
        {},
        [
            "variable landmarks is 4 x 10 while variable age has 4 values",
            "k x 2 x 4 or 4 x k x 2, or complex 4 x k or k x 4",
        ],
    ),
    "pairs first": (
        {"landmarks": np.moveaxis(LANDMARKS, -1, 0)},
        {},
        ["variable landmarks is 2 x 4 x 5 while", "give landmarks as k x 2 x 4"],
    ),
    "three coordinates": (
        {"landmarks": np.zeros((4, 5, 3))},
        {},
        ["variable landmarks is 4 x 5 x 3 while", "give landmarks as k x 2 x 4"],
    ),
    "complex of another number": (
        {"landmarks": np.ones((3, 5)) * 1j},
        {},
        ["variable landmarks is complex 3 x 5 while variable age has 4 values"],
    ),
    "complex that can be read both ways": (
        {"landmarks": LANDMARKS[:, :4, 0] + 1j * LANDMARKS[:, :4, 1]},
        {},
        [
            "variable landmarks is complex 4 x 4 for 4 records",
            "rows can be records or landmarks",
            "give real numbers, n x k x 2",
        ],
    ),
    "fewer cells than ages": (
        {"landmarks": cells(*LANDMARKS[:3])},
        {},
        ["variable landmarks is a cell array 1 x 3 while variable age has 4 values"],
    ),
    "landmarks that are text": (
        {"landmarks": "none"},
        {},
        ["variable landmarks is no array of numbers, 1 while", "give landmarks as"],
    ),
    "landmarks in a structure": (
        {"landmarks": {"points": LANDMARKS}},
        {},
        ["variable landmarks is no array of numbers, 1 x 1 while", "give landmarks as"],
    ),
    "cell that is no list of landmarks": (
        {"landmarks": cells(*LANDMARKS[:2], LANDMARKS[2].T, LANDMARKS[3])},
        {},
        ["record 3, variable landmarks", "the cell is 2 x 5", "give k x 2 numbers"],
    ),
    "cells of different lengths": (
        {"landmarks": cells(*LANDMARKS[:3], LANDMARKS[3, :4])},
        {},
        [
            "record 4: it has 4 landmarks and record 1 has 5",
            "give all records the same number, or remove the record",
        ],
    ),
    "fewer ages than landmarks": (
        {"age": [55.0, 64.0, 71.0], "subject": ["a", "b", "c"]},
        {},
        ["variable landmarks is 4 x 5 x 2 while variable age has 3 values"],
    ),
    "fewer subjects": (
        {"subject": np.array(["a", "b", "c"])},
        {},
        ["variable subject has 3 values and variable age has 4", "give both for every record"],
    ),
    "more values to filter on": (
        {"sex": [1, 2, 1, 1, 1]},
        {"keep": {"sex": 1}},
        ["variable sex has 5 values and variable age has 4", "give both for every record"],
    ),
    "ages in a matrix": (
        {"age": np.ones((2, 2))},
        {},
        ["variable age (2 x 2) does not hold one value a record", "give a numeric vector"],
    ),
    "cells of several values": (
        {"subject": cells(np.ones(2), np.ones(2), np.ones(2), np.ones(2))},
        {},
        ["variable subject (1 x 4) does not hold one value a record", "or a cell array"],
    ),
    "complex ages": (
        {"age": VARIABLES["age"] * 1j},
        {},
        ["variable age (1 x 4) does not hold one value a record"],
    ),
    "NaN landmark": (
        {"landmarks": landmarks_with(np.nan, 2, 3, 1)},
        {},
        [
            "record 3: landmark 4 is not a pair of finite numbers",
            "correct or remove the record",
        ],
    ),
    "infinite landmark in a cell": (
        {"landmarks": cells(*landmarks_with(np.inf, 1, 0))},
        {},
        ["record 2: landmark 1 is not a pair of finite numbers", "remove the record"],
    ),
    "NaN landmark that is not an outline's": (
        {"landmarks": landmarks_with(np.nan, 0, 4)},
        {"outline": False},
        ["record 1: landmark 5 is not a pair of finite numbers", "remove the record"],
    ),
    "code for a missing landmark": (
        {"landmarks": landmarks_with(9999, 3, 1)},
        {},
        ["record 4: landmark 2 at (9999, 9999) carries a code", "remove the record"],
    ),
    "wild landmark": (
        {"landmarks": landmarks_with(4000, 3, 1, 0)},
        {},
        ["record 4: landmark 2 at (4000, 1)", "farther out", "remove the record"],
    ),
    "two landmarks coincide": (
        {"landmarks": landmarks_with(0, 1, 2)},
        {},
        ["record 2: landmarks 1 and 3 coincide", "remove the record"],
    ),
    "all landmarks coincide": (
        {"landmarks": landmarks_with(7, 2)},
        {},
        ["record 3: all landmarks coincide", "remove the record"],
    ),
    "outline that crosses itself": (
        {"landmarks": exchanged_in_record(3, 1, 2)},
        {},
        [
            "record 4: the outline meets itself",
            "its edge between landmarks 1-2 and its edge between landmarks 3-4",
            "or remove the record",
        ],
    ),
    "outlines of three landmarks": (
        {"landmarks": LANDMARKS[:, :3]},
        {},
        ["an outline needs at least 4 landmarks", "these have 3"],
    ),
    "landmarks of another number": (
        {"landmarks": LANDMARKS[:, :4]},
        {"outline": False},
        ["its records have 4 landmarks", "manifold 5", "use a manifold of 4 landmarks"],
    ),
    "missing age": (
        {"age": [55.0, np.nan, 71.0, 88.0]},
        {},
        ["record 2, variable age: the value is missing", "correct or remove the record"],
    ),
    "age that is text": (
        {"age": np.array(["55", "64", "old", "88"], dtype=object)},
        {},
        ["record 3, variable age: 'old' is not a number", "correct or remove the record"],
    ),
    "age outside its range": (
        {},
        {"covariate_range": (60, 90)},
        [
            "record 1, variable age: 55 lies outside 60 to 90",
            "correct or remove the record, or change covariate_range",
        ],
    ),
    "age without a logarithm": (
        {"age": [55.0, 64.0, -1.0, 88.0]},
        {"transformation": "log"},
        ["record 3, variable age: -1 has no logarithm"],
    ),
    "constant age": (
        {"age": np.full(4, 61.5)},
        {},
        ["variable age is 61.5 in every record", "needs a covariate that varies"],
    ),
    "missing subject": (
        {"subject": np.array(["a", "", "c", "d"], dtype=object)},
        {},
        ["record 2, variable subject: the value is missing", "correct or remove the record"],
    ),
    "filter on a number that is not there": (
        {},
        {"keep": {"sex": 0}},
        ["none of the 4 records has 0 in variable sex (there are: 1, 2)", "correct keep"],
    ),
    "second filter leaves nothing": (
        {},
        {"keep": {"diagnosis": ["AD", "MCI"], "sex": 2}},
        [
            "none of the 3 records the filters before it left has 2 in variable sex",
            "(there are: 1)",
        ],
    ),
    "filters leave too few": (
        {},
        {"keep": {"diagnosis": "AD"}},
        ["at least 3 records", "there are 2 after keep"],
    ),
    "two records": (
        {name: value[:2] for name, value in VARIABLES.items()},
        {},
        ["at least 3 records", "there are 2"],
    ),
    "no records": ({"age": [], "subject": []}, {}, ["at least 3 records", "there are 0"]),
    "a sphere": (
        {},
        {"manifold": make_manifold("sphere", 2)},
        ["a point of sphere S^2 has none", "save its coordinates as a .csv table"],
    ),
}


def read_mat(path, **changes):
    settings = {
        "manifold": make_manifold("kendall", 5),
        "covariate": "age",
        "subject": "subject",
        "outline": True,
    }
    with open(path, "rb") as file:
        return read_mat_records(file, MAT, **(settings | changes))


def test_mat_file_without_a_mistake_is_read(tmp_path):
    scipy.io.savemat(tmp_path / MAT, VARIABLES)
    records = read_mat(tmp_path / MAT)
    assert records.covariates.shape == (4,)
    assert records.notes == []


@pytest.mark.parametrize(
    ("changes", "settings", "parts"), MAT_REFUSED.values(), ids=MAT_REFUSED.keys()
)
def test_bad_mat_file_is_refused_in_one_sentence(tmp_path, changes, settings, parts):
    variables = {k: v for k, v in (VARIABLES | changes).items() if v is not None}
    scipy.io.savemat(tmp_path / MAT, variables)
    with pytest.raises(DataError) as refusal:
        read_mat(tmp_path / MAT, **settings)
    message = str(refusal.value)
    assert_one_sentence(message, MAT, parts)
    assert not re.search(r"\b(row|column)\b", message)


HDF5 = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM" + bytes(384)


@pytest.mark.parametrize(
    ("content", "parts"),
    [
        (b"", ["not a readable .mat file", "save it in MATLAB or Octave with the -v7 option"]),
        ("\n".join(OUTLINES).encode(), ["not a readable .mat file", "with the -v7 option"]),
        (bytes(300), ["not a readable .mat file", "with the -v7 option"]),
        (b"# Created by Octave 9.2\n# name: age\n", ["not a readable .mat file", "-v7 option"]),
        (HDF5 + b"\x89HDF\r\n\x1a\n", ["version 7.3 (HDF5)", "save it in MATLAB with the -v7"]),
    ],
    ids=["empty", "table", "zeros", "text of Octave", "HDF5"],
)
def test_other_files_are_no_mat_file(tmp_path, content, parts):
    (tmp_path / MAT).write_bytes(content)
    with pytest.raises(DataError) as refusal:
        read_mat(tmp_path / MAT)
    assert_one_sentence(str(refusal.value), MAT, parts)


@pytest.mark.parametrize("compressed", [False, True])
def test_mat_file_that_is_cut_off(tmp_path, compressed):
    scipy.io.savemat(tmp_path / MAT, VARIABLES, do_compression=compressed)
    whole = (tmp_path / MAT).read_bytes()
    for length in (50, 130, len(whole) // 3, len(whole) - 9):
        (tmp_path / MAT).write_bytes(whole[:length])
        with pytest.raises(DataError) as refusal:
            read_mat(tmp_path / MAT)
        assert_one_sentence(str(refusal.value), MAT, ["-v7 option"])


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
        "cut_locus": "cut_locus.csv, row 11: it lies ",
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
        assert any(line.startswith(start) for line in lines), name
        rule = "fit" if name == "cut_locus" else "make_data"
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


def test_a_sampler_that_cannot_draw_names_the_cell(checkout):
    rats = study({"name": "kendall", "size": 8}, "resources/vilmann_rats.csv", "age_days")
    rats["sampler"] = {"kind": "exact"}
    checkout.configure({"name": "bad", "seed": 1, "studies": {"rats": rats}})
    result = checkout.snakemake("results/bad/rats/cells/observed/default_0.npz")
    assert result.returncode != 0
    start = "Error in study rats: cell p0.5_v0.5 of the group observed: "
    [line] = {line for line in result.stdout.splitlines() if line.startswith(start)}
    assert "12 dimensions are too many for cells" in line
    assert line.endswith("choose the sampler automatic or matched")
    assert "Traceback" not in result.stdout
