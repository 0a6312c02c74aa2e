"""Files that can be read, and what comes out; of others, one sentence that says what is wrong."""

import math
import re
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest
import yaml

from geodp.data.checks import check_landmarks
from geodp.data.columns import landmark_columns
from geodp.data.landmarks import resample
from geodp.data.messages import RecordFile
from geodp.data.records import read_table
from geodp.errors import DataError
from geodp.manifolds.kendall import KendallPlanarShapes, NoReducedShapeError
from geodp.manifolds.registry import make_manifold

pytestmark = pytest.mark.usefixtures("folder")

TRIANGLES = """rat,age,x1,y1,x2,y2,x3,y3
a,1,0,0,2,0,1,3
a,10,1,1,3,1,2,5
b,100,0,0,-4,0,-1,-7
"""


def read(text, manifold=("kendall", 3), covariate="age", columns=None, **settings):
    """Records of a text as a table, by default of triangles."""
    Path("table.csv").write_bytes(text.encode("utf-8", "surrogateescape"))
    manifold = make_manifold(*manifold) if isinstance(manifold, tuple | list) else manifold
    return read_table("table.csv", manifold, covariate, columns, **settings)


FORMS = {
    "line ends of both": lambda text: text.replace("\n", "\r\n").replace("\r\n", "\n", 2),
    "empty line": lambda text: text.replace("b,100", "\n,,,,,,,\nb,100"),
    "quotes and exponents": lambda text: text.replace("a,1,", '"a",1.0,').replace("-7", " -7.0e0 "),
    "spaces": lambda text: text.replace(",", " , "),
    "commas at the end": lambda text: text.replace("\n", ",,\n"),
    "comments": lambda text: '# By A. N. Other, in "mm\n' + text.replace("b,", '#,"Day 2\nb,'),
    "other order, and a column more": lambda text: "\n".join(
        ",".join(["note", *reversed(line.split(","))]) for line in text.split()
    ),
}


@pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)
def test_the_same_table_in_other_forms(form):
    again, records = read(form(TRIANGLES), subject="rat"), read(TRIANGLES, subject="rat")
    np.testing.assert_array_equal(again.points, records.points)
    np.testing.assert_array_equal(again.covariates, records.covariates)
    assert again.subjects == records.subjects == ["a", "a", "b"]
    assert read(TRIANGLES).subjects == []


HALF = np.sqrt(0.5)


def test_latitude_and_longitude():
    text, columns = "x,lat,lon\n1,90,10\n2,0,90\n3,-45,180\n", ["lat", "lon"]
    records = read(text, ("sphere", 2), "x", columns, coordinates="latitude_longitude")
    expected = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-HALF, 0.0, -HALF]]
    np.testing.assert_allclose(records.points, expected, rtol=0, atol=1e-15)
    np.testing.assert_array_equal(records.covariates, [0.0, 0.5, 1.0])


def test_values_that_are_no_misprint():
    # On its logarithmic scale no value is far from the others.
    read(TRIANGLES.replace("b,100", "b,100000"), transformation="log")
    # A group and its complement.
    read(TRIANGLES.replace("b,100", "b,1").replace("a,10", "a,1").replace("a,1,0", "a,0,0"))
    # Below one, where no logarithm is taken.
    assert read(TRIANGLES.replace("a,1,", "a,-3,")).covariate_range == (-3.0, 100.0)


@pytest.mark.parametrize("scale", [1e-6, 1.0, 1e6])
@pytest.mark.parametrize("place", [0.0, 1e5 + 1e5j])
def test_limit_of_a_wild_landmark(scale, place):
    # Four landmarks at distance one about a middle, and one that moves away.
    square = np.array([1.0, 1.0j, -1.0, -1.0j, 0.0])
    landmarks = np.stack([square + shift for shift in (0.0, 5.0, 9.0j)])

    def check(away):
        landmarks[1, 4] = 5.0 + away
        check_landmarks(scale * (landmarks + place), RecordFile("table"), [11, 12, 13])

    check(9.0)
    with pytest.raises(DataError, match="row 12: landmark 5 at"):
        check(11.0)


def test_records_far_from_all_others_are_noted():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30, 2))
    points[[4, 17]] += [40.0, 0.0]
    lines = [f"{x},{a},{b}" for x, (a, b) in enumerate(points)]
    settings = {"manifold": ("euclidean", 2), "covariate": "x", "columns": ["a", "b"]}
    assert read("\n".join(["x,a,b", *lines]), **settings).notes == [
        "2 of 30 records are over 8 times farther from the middle than half of all (rows 6, 19): "
        "look for misread values"
    ]
    del lines[17], lines[4]
    assert read("\n".join(["x,a,b", *lines]), **settings).notes == []


@pytest.mark.parametrize("shift", [1, 3, -1])
def test_outlines_that_start_elsewhere_are_noted(shift):
    rng = np.random.default_rng(2)
    angles = np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    outline = (3.0 + np.cos(2.0 * angles) + 0.5 * np.sin(3.0 * angles)) * np.exp(1j * angles)
    outlines = outline * np.exp(1j * rng.uniform(0.0, 6.0, (9, 1)))
    outlines = outlines + 0.03 * (rng.normal(size=(9, 20)) + 1j * rng.normal(size=(9, 20)))

    def notes():
        return read(table_of(outlines, {"age": range(9)}), ("kendall", 20), outline=True).notes

    assert notes() == []
    outlines[2::3] = np.roll(outlines[2::3], shift, axis=-1)
    assert notes() == [
        "3 of 9 outlines would fit the others far better from landmark "
        f"{shift % 20 + 1} on (rows 4, 7, 10): let all start at the same place"
    ]


# --- Outlines, filters and notes ---

AGES = [50.0, 61.5, 70.0, 82.0, 90.0]
FIELDS = {"id": ["s1", "s2", "s1", "s3", "s4"], "age": AGES}
FIELDS |= {"diagnosis": ["CN", "AD", "AD", "CN", "AD"], "sex": [1, 2, 2, 2, 1]}
# Ellipses that grow longer and move: simple, counter-clockwise, six landmarks.
ANGLES = 0.3 + np.pi * np.arange(6) / 3
ELLIPSES = np.array(
    [(1.0 + age / 50.0) * np.cos(ANGLES) + 1j * np.sin(ANGLES) + age for age in AGES]
)
PAIRS = np.stack([ELLIPSES.real, ELLIPSES.imag], axis=-1)


def reverse(outline):
    return np.roll(outline[::-1], 1)


def table_of(outlines, fields=FIELDS):
    lines = [",".join([*fields, *landmark_columns(len(outlines[0]))])]
    for *cells, outline in zip(*fields.values(), outlines, strict=True):
        coordinates = np.stack([outline.real, outline.imag], axis=-1).ravel()
        lines.append(",".join(map(str, [*cells, *coordinates.tolist()])))
    return "\n".join(lines)


def read_outlines(outlines, space=("kendall", 6), **settings):
    """Outlines, read back from a table."""
    return read(table_of(outlines), space, outline=True, **settings)


def shapes(outlines):
    return make_manifold("kendall", np.shape(outlines)[-1]).project(np.asarray(outlines))


def test_repeated_subjects_are_counted_and_not_named():
    records = read_outlines(ELLIPSES, subject="id")
    assert records.subjects == FIELDS["id"]
    said = "5 records of 4 subjects: a budget stated per record is not one per subject"
    assert records.notes == [said]


@pytest.mark.parametrize(
    ("keep", "left"),
    [
        ({"diagnosis": "AD"}, [1, 2, 4]),
        ({"diagnosis": ["AD", "CN"], "sex": 2}, [1, 2, 3]),
        ({"sex": ["2"]}, [1, 2, 3]),
        ({"age": [50, 70, 90]}, [0, 2, 4]),
        ({"sex": [1, 2]}, [0, 1, 2, 3, 4]),
    ],
    ids=["text", "two filters", "text for a number", "covariate", "all"],
)
def test_filters_keep_what_matches(keep, left):
    records = read_outlines(ELLIPSES, keep=keep, subject="id")
    np.testing.assert_allclose(records.points, shapes(ELLIPSES[left]), atol=1e-14)
    ages = np.array(AGES)[left]
    np.testing.assert_allclose(records.covariates, (ages - ages[0]) / (ages[-1] - ages[0]))
    assert records.covariate_range == (ages[0], ages[-1])
    assert records.subjects == [FIELDS["id"][index] for index in left]
    assert records.rows == [index + 2 for index in left]
    records = read_outlines(ELLIPSES, keep={"diagnosis": ["AD", "MCI"], "sex": [1, 2]})
    assert records.subjects == []
    said = "3 of 5 records were kept, those with diagnosis AD or MCI and sex 1 or 2"
    assert records.notes == [said]


def test_filters_take_names_with_underscores_as_names():
    lines = table_of(ELLIPSES).replace("s1", "1_1").splitlines()
    text = "\n".join([*lines, lines[1].replace("1_1", "11")])
    records = read(text, ("kendall", 6), subject="id", keep={"id": [11, "s3", "s4"]})
    assert records.subjects == ["s3", "s4", "11"]


@pytest.mark.parametrize(
    ("settings", "covariates", "limits"),
    [
        ({}, (np.array(AGES) - 40) / 50, (40, 90)),
        ({"transformation": "log"}, np.log(np.array(AGES) / 40) / np.log(9 / 4), np.log((40, 90))),
        # Records that are not kept may lie outside.
        ({"keep": {"sex": 2}, "covariate_range": (60, 85)}, [0.06, 0.4, 0.88], (60, 85)),
    ],
)
def test_a_stated_range_becomes_the_unit_interval(settings, covariates, limits):
    records = read_outlines(ELLIPSES, **({"covariate_range": (40, 90)} | settings))
    np.testing.assert_allclose(records.covariates, covariates)
    assert records.covariate_range == pytest.approx(tuple(limits))


REVERSED = [reverse(one) for one in ELLIPSES]
# Outlines, landmarks that are wanted, and notes.  All may be reversed: each is read by itself.
MENDED = {
    "none": (ELLIPSES, 6, []),
    "one": ([*ELLIPSES[:3], REVERSED[3], ELLIPSES[4]], 6, ["first landmark on (row 5)"]),
    "all": (REVERSED, 6, ["reversed from the first landmark on (rows 2, 3, 4, 5, 6)"]),
    "closed": (np.hstack([ELLIPSES, ELLIPSES[:, :1]]), 6, ["repeats the first"]),
    "more": ([*ELLIPSES[:4], REVERSED[4]], 50, ["(row 6)", "of 6 landmarks were resampled to 50 "]),
    "fewer": (ELLIPSES, 4, ["outlines of 6 landmarks were resampled to 4 "]),
}


@pytest.mark.parametrize(("outlines", "landmarks", "notes"), MENDED.values(), ids=MENDED)
def test_outlines_are_mended(outlines, landmarks, notes):
    records = read_outlines(outlines, ("kendall", landmarks))
    expected = ELLIPSES if landmarks == 6 else resample(ELLIPSES, landmarks)
    np.testing.assert_allclose(records.points, shapes(expected), atol=1e-13)
    assert all(map(str.__contains__, records.notes, notes))
    assert len(records.notes) == len(notes)


@pytest.mark.parametrize(("names", "cells"), [(",note,x", ",,?"), (",x7,y7,x8,y8", ",, ,,")])
def test_columns_that_are_no_landmarks_may_hold_anything(names, cells):
    first, *lines = table_of(ELLIPSES).split("\n")
    text = "\n".join([first + names, *(line + cells for line in lines)])
    records = read(text, ("kendall", 6), outline=True)
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)


def test_record_without_a_reduced_shape_is_named():
    class Refusing(KendallPlanarShapes):
        def from_landmarks(self, landmarks):
            raise NoReducedShapeError(1, "the harmonics")

    # The second record of those that are kept.
    with pytest.raises(DataError, match=r"table\.csv, row 4: .*the harmonics"):
        read_outlines(ELLIPSES, Refusing(6), keep={"diagnosis": "AD"})


# --- Files that cannot be used ---

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
DIRECTIONS = ["x,a,b,c", *(f"{x},{math.cos(x)},{math.sin(x)},0" for x in (0.0, 0.25, 0.5, 1.0))]
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
    "points": (DIRECTIONS, ("sphere", 2), {"covariate": "x", "columns": list("abc")}),
    "degrees": (DEGREES, ("sphere", 2), LATITUDES),
}


def edited(lines, edits):
    """A table with other texts in cells, such as ``3 y2=7``; rows count from the header, 1."""
    rows = [line.split(",") for line in lines]
    for edit in filter(None, edits.split("; ")):
        row, column, text = re.fullmatch(r"(\d) (\w+)=(.*)", edit, re.DOTALL).groups()
        rows[int(row) - 1][rows[0].index(column)] = text
    return [",".join(row) for row in rows]


def read_kind(kind, lines, **changes):
    _, space, settings = KINDS[kind]
    return read("\n".join(lines), **{"manifold": space} | settings | changes)


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
def test_a_bad_cell_is_named(kind, edits, says):
    with refused("table.csv", says):
        read_kind(kind, edited(KINDS[kind][0], edits))


CUT = [line.rsplit(",", 4)[0] for line in OUTLINES]
EMPTY = [*OUTLINES[:1], OUTLINES[1].rsplit(",", 10)[0] + "," * 10, *OUTLINES[2:]]
NO_LANDMARKS = [re.sub(r"([xy])(\d)", r"\2\1", OUTLINES[0]), *OUTLINES[1:]]
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
    "no subject": ("squares", edited(SQUARES, "1 rat=m"), "there is no column rat (there are: m"),
    "coincident": ("squares", POINT, "row 4: all landmarks coincide, so there is no shape"),
    "no landmarks": ("outlines", NO_LANDMARKS, "row 1: there are no columns x1, y1, x2, y2, ... ("),
    "three landmarks": ("outlines", CUT, "an outline needs at least 4 landmarks and these have 3"),
    "an empty outline": ("outlines", EMPTY, "row 2: it has 0 landmarks and row 3 has 5: give all"),
    "the same point": ("points", [*DIRECTIONS[:2], "1,1,0,0", "2,1,0,0"], "every row has the same"),
}


@pytest.mark.parametrize(("kind", "lines", "says"), LINES.values(), ids=LINES)
def test_bad_lines_are_named(kind, lines, says):
    with refused("table.csv", says):
        read_kind(kind, lines)


@pytest.mark.parametrize(("kind", "changes", "argument", "says"), REFUSED["settings"])
def test_settings_that_a_table_does_not_go_with(kind, changes, argument, says):
    with refused("table.csv", says) as problem:
        read_kind(kind, KINDS[kind][0], **changes)
    assert problem.value.argument == argument
