"""Files that cannot be used: one sentence says what is wrong, where, and what to do."""

import math
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import scipy.io
import yaml
from test_records import cells

from geodp.data.tables import landmark_columns, read_table
from geodp.errors import DataError
from geodp.manifolds.registry import make_manifold

# Squares of growing size; the header is row 1.
SQUARES = [
    "rat,age,x1,y1,x2,y2,x3,y3,x4,y4",
    *(
        f"{number},{age},0,0,{side},1,{side + 1},{side},0,{side + 2}"
        for number, (age, side) in enumerate([(7, 10), (14, 12), (30, 15), (60, 21)])
    ),
]
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
MATRICES = ["x,a,b,c,d", *(f"{x},{1 + x},{x / 2},{x / 2},2" for x in (0.0, 0.25, 0.5, 1.0))]
POINTS = ["x,a,b,c", *(f"{x},{math.cos(x)},{math.sin(x)},0" for x in (0.0, 0.25, 0.5, 1.0))]
DEGREES = ["x,lat,lon", "1,80,10", "2,0,120", "3,-45,50"]
# Rows of notes that say different things, and rows of which two say the same.
NOTED = [f"{line},{end}" for line, end in zip([*OUTLINES, *OUTLINES[1:]], "n?bcdefgh", strict=True)]
NOTED = [line.replace(",n", ",note").replace(",?", ",") for line in NOTED]
NOTED_TWICE = [*NOTED[:-1], f"{NOTED[-1][:-1]}g"]

SQUARE = {"covariate": "age", "columns": landmark_columns(4), "transformation": "log"}
OUTLINE = {"covariate": "age", "columns": None, "subject": "subject", "outline": True}
LATITUDES = {"covariate": "x", "columns": ["lat", "lon"], "coordinates": "latitude_longitude"}
KINDS = {
    "squares": (SQUARES, ("kendall", 4), SQUARE | {"subject": "rat"}),
    "outlines": (OUTLINES, ("kendall", 5), OUTLINE),
    "notes": (NOTED, ("kendall", 5), OUTLINE),
    "notes twice": (NOTED_TWICE, ("kendall", 5), OUTLINE),
    "matrices": (MATRICES, ("spd", 2), {"covariate": "x", "columns": list("abcd")}),
    "points": (POINTS, ("sphere", 2), {"covariate": "x", "columns": list("abc")}),
    "degrees": (DEGREES, ("sphere", 2), LATITUDES),
}


def edited(lines, edits):
    """A table with other texts in cells, such as ``3 y2=7``; rows count from the header, 1."""
    rows = [line.split(",") for line in lines]
    for edit in filter(None, edits.split("; ")):
        row, column, text = re.fullmatch(r"(\d) (\w+)=(.*)", edit, re.DOTALL).groups()
        rows[int(row) - 1][rows[0].index(column)] = text
    return [",".join(row) for row in rows]


def read(folder, kind, lines, **changes):
    _, space, settings = KINDS[kind]
    path = folder / "table.csv"
    path.write_bytes("\n".join(lines).encode("utf-8", "surrogateescape"))
    settings = {"manifold": space} | settings | changes
    return read_table(str(path), **settings | {"manifold": make_manifold(*settings["manifold"])})


@contextmanager
def refused(start, says):
    """Expect a `DataError` of one sentence."""
    with pytest.raises(DataError) as problem:
        yield problem
    message = str(problem.value)
    assert message.startswith(str(start))
    assert says in message
    assert not re.search(r"\n|\. [A-Z]|\.$", message)


REFUSED = yaml.safe_load(Path(__file__).with_name("bad_tables.yaml").read_text())


@pytest.mark.parametrize(("kind", "edits", "says"), REFUSED["cells"])
def test_a_bad_cell_is_named(tmp_path, kind, edits, says):
    with refused(tmp_path / "table.csv", says):
        read(tmp_path, kind, edited(KINDS[kind][0], edits))


CUT = [line.rsplit(",", 4)[0] for line in OUTLINES]
EMPTY = [*OUTLINES[:1], OUTLINES[1].rsplit(",", 10)[0] + "," * 10, *OUTLINES[2:]]
NO_LANDMARKS = [re.sub(r"([xy])(\d)", r"\2\1", OUTLINES[0]), *OUTLINES[1:]]
TWICE = [f"{line},{end}" for line, end in zip(SQUARES, ["x2", *"1234"], strict=True)]
MOVED = [*SQUARES[:2], "", "# a comment", *edited(SQUARES, "3 y1=?")[2:]]
POINT = [*SQUARES[:3], "2,30" + ",5,5" * 4, SQUARES[4]]
LINES = {
    "short row": ("squares", [*SQUARES[:3], "2,30,1", *SQUARES[4:]], "row 4: it has another"),
    "after an empty line": ("squares", MOVED, "row 5, column y1: '?' is not a number"),
    # A text over two lines moves what follows.
    "after two lines": ("squares", edited(SQUARES, '2 rat="a\nb"; 4 x1=?'), "row 5, column x1: "),
    "open quote": ("squares", [*SQUARES[:4], f'"{SQUARES[4]}'], "row 5: it is not comma-separated"),
    "long": ("squares", edited(SQUARES, f"4 x1={'1' * 140_000}"), "row 4: it is not comma-sep"),
    "two records": ("squares", SQUARES[:3], "a fit needs at least 3 records and there are 2: add"),
    "no column": ("squares", edited(SQUARES, "1 y4=z4"), "row 1: there is no column y4 (there are"),
    "no subject": ("squares", edited(SQUARES, "1 rat=m"), "there is no column rat (there are: m"),
    "a column twice": ("squares", TWICE, "row 1: 2 columns are called x2: rename or remove the"),
    "coincident": ("squares", POINT, "row 4: all landmarks coincide, so there is no shape"),
    "no landmarks": ("outlines", NO_LANDMARKS, "row 1: there are no columns x1, y1, x2, y2, ... ("),
    "three landmarks": ("outlines", CUT, "an outline needs at least 4 landmarks and these have 3"),
    "an empty outline": ("outlines", EMPTY, "row 2: it has 0 landmarks and row 3 has 5: give all"),
    "the same point": ("points", [*POINTS[:2], "1,1,0,0", "2,1,0,0"], "every row has the same"),
}


@pytest.mark.parametrize(("kind", "lines", "says"), LINES.values(), ids=LINES)
def test_bad_lines_are_named(tmp_path, kind, lines, says):
    with refused(tmp_path / "table.csv", says):
        read(tmp_path, kind, lines)


@pytest.mark.parametrize(("kind", "changes", "argument", "says"), REFUSED["settings"])
def test_settings_that_a_table_does_not_go_with(tmp_path, kind, changes, argument, says):
    with refused(tmp_path / "table.csv", says) as problem:
        read(tmp_path, kind, KINDS[kind][0], **changes)
    assert problem.value.argument == argument


# --- MATLAB files ---

# n x k x 2: four records of five landmarks.
LANDMARKS = np.array([row.split(",")[4:] for row in OUTLINES[1:]], dtype=float).reshape(4, 5, 2)
COMPLEX = LANDMARKS @ [1.0, 1.0j]


VARIABLES = {"landmarks": LANDMARKS, "age": [55, 64, 71, 88.0], "who": cells("a", "", "c", "d")}
OF_SUBJECTS = {"subject": "who"}
TURNED = {"landmarks": cells(*LANDMARKS[:3], LANDMARKS[3].T)}
FEWER = {"landmarks": cells(*LANDMARKS[:3], LANDMARKS[3, :4])}
FAR = {"landmarks": np.where(np.arange(4)[:, None, None] == 2, np.inf, LANDMARKS)}
# A changed variable, settings, and what is said.
MAT = [
    ({}, {"subject": "id"}, "there is no variable id (there are: landmarks, age, who): add it"),
    ({"landmarks": np.ones((3, 5)) * 1j}, {}, "landmarks has 3 entries and age 4: give each an"),
    (
        {"landmarks": COMPLEX[:, :4]},
        {},
        "is 4 x 4: give landmarks as n x k x 2 or k x 2 x n, or, f",
    ),
    (TURNED, {}, "record 4, variable landmarks[1]: 'a cell of 2 x 5' is not a number: correct"),
    (FEWER, {}, "record 4: it has 4 landmarks and record 1 has 5: give all records the same"),
    (FAR, {}, "record 3, variable landmarks[1]: 'inf' is not a number: correct or remove the rec"),
    ({"who": cells(*[np.ones(2)] * 4)}, OF_SUBJECTS, "variable who: the file states its type as"),
    ({"age": np.array(VARIABLES["age"]) * 1j}, {}, "variable age: it holds more than one number"),
    ({}, OF_SUBJECTS, "record 2, variable who: the value is missing"),
]


def read_mat(path, **settings):
    manifold = make_manifold("kendall", 5)
    return read_table(str(path), manifold, "age", ["landmarks"], outline=True, **settings)


@pytest.mark.parametrize(("changes", "settings", "says"), MAT)
def test_a_bad_mat_file_is_refused_in_one_sentence(tmp_path, changes, settings, says):
    path = tmp_path / "outlines.mat"
    scipy.io.savemat(path, VARIABLES | changes)
    with refused(path, says) as problem:
        read_mat(path, **settings)
    assert not re.search(r"\b(row|column)\b", str(problem.value))


HDF5 = b"MATLAB 7.3 MAT-file, Platform: GLNXA64".ljust(124) + b"\x00\x02IM" + bytes(384)


@pytest.mark.parametrize("compressed", [False, True])
def test_other_files_and_those_that_are_cut_off_are_no_mat_file(tmp_path, compressed):
    path = tmp_path / "outlines.mat"
    scipy.io.savemat(path, VARIABLES, do_compression=compressed)
    whole = path.read_bytes()
    assert read_mat(path).notes == []
    cut_off = [whole[:length] for length in (50, 130, len(whole) // 3, len(whole) - 9)]
    for content in (
        *cut_off,
        "\n".join(OUTLINES).encode(),
        bytes(300),
        HDF5 + b"\x89HDF\r\n\x1a\n",
    ):
        path.write_bytes(content)
        with refused(path, "save it in MATLAB or Octave with the -v7 option"):
            read_mat(path)
