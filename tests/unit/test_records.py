"""Files that can be read: what comes out; `tests/workflow/test_bad_data.py` has the others."""

import io
import re

import numpy as np
import pytest
import scipy.io

from geodp.data.checks import WILD_LANDMARK, check_landmarks
from geodp.data.landmarks import resample
from geodp.data.matlab import read_mat_records
from geodp.data.messages import RecordFile
from geodp.data.tables import landmark_columns, read_records
from geodp.errors import DataError
from geodp.manifolds.kendall import KendallPlanarShapes, NoReducedShapeError
from geodp.manifolds.registry import make_manifold

TRIANGLES = """rat,age,x1,y1,x2,y2,x3,y3
a,1,0,0,2,0,1,3
a,10,1,1,3,1,2,5
b,100,0,0,-4,0,-1,-7
"""


def read(text, **changes):
    settings = {
        "source": "triangles.csv",
        "manifold": make_manifold("kendall", 3),
        "covariate": "age",
        "columns": landmark_columns(3),
    }
    return read_records(io.StringIO(text, newline=""), **(settings | changes))


def test_columns_of_landmarks():
    assert landmark_columns(2) == ["x1", "y1", "x2", "y2"]


def test_landmarks_become_centred_shapes_of_unit_size():
    points = read(TRIANGLES).points
    assert points.shape == (3, 3)
    first = np.array([-1.0 - 1.0j, 1.0 - 1.0j, 2.0j])
    np.testing.assert_allclose(points[0], first / np.linalg.norm(first))
    np.testing.assert_allclose(np.linalg.norm(points, axis=-1), 1.0)
    np.testing.assert_allclose(points.mean(axis=-1), 0.0, atol=1e-15)


@pytest.mark.parametrize(
    ("transformation", "covariates", "limits"),
    [
        ("none", [0.0, 1.0 / 11.0, 1.0], (1.0, 100.0)),
        ("log", [0.0, 0.5, 1.0], (0.0, np.log(100.0))),
    ],
)
def test_covariate_is_scaled(transformation, covariates, limits):
    records = read(TRIANGLES, transformation=transformation)
    np.testing.assert_allclose(records.covariates, covariates, atol=1e-15)
    assert records.covariate_range == pytest.approx(limits)


def test_subjects_only_where_they_are_named():
    assert read(TRIANGLES).subjects == []
    assert read(TRIANGLES, subject="rat").subjects == ["a", "a", "b"]


def test_order_of_columns_and_further_columns_do_not_matter():
    lines = [line.split(",") for line in TRIANGLES.split()]
    turned = "\n".join(",".join(["note", *reversed(cells)]) for cells in lines)
    np.testing.assert_array_equal(read(turned).points, read(TRIANGLES).points)


@pytest.mark.parametrize(
    "text",
    [
        TRIANGLES.replace("\n", "\r\n"),
        TRIANGLES.rstrip("\n"),
        TRIANGLES.replace("b,100", "\nb,100"),
        TRIANGLES.replace("a,1,", '"a",1.0,').replace("-7", " -7.0e0 "),
        TRIANGLES.replace(",", "\t"),
        TRIANGLES.replace(",", " , "),
        TRIANGLES.replace("\n", ",,\n"),
        '# Measured by A. N. Other, in "mm\n' + TRIANGLES.replace("b,100", "# Day 2\nb,100"),
    ],
    ids=[
        "line ends of Windows",
        "no line end",
        "empty line",
        "quotation marks and exponents",
        "tabs",
        "spaces",
        "commas at the end",
        "comments",
    ],
)
def test_the_same_table_in_other_forms(text):
    again, records = read(text, subject="rat"), read(TRIANGLES, subject="rat")
    np.testing.assert_array_equal(again.points, records.points)
    np.testing.assert_array_equal(again.covariates, records.covariates)
    assert again.subjects == records.subjects


def test_row_is_the_line_in_the_file():
    # A text over two lines moves what follows.
    text = TRIANGLES.replace("a,1,", '"a\nb",1,').replace("-7", "?")
    with pytest.raises(DataError, match="row 5, column y3"):
        read(text)


def test_matrices_are_read_row_by_row():
    text = "x,a,b,c,d\n0,1,0.5,0.5,2\n1,3,0,0,4\n2,1,0,0,1\n"
    records = read(
        text, manifold=make_manifold("spd", 2), covariate="x", columns=["a", "b", "c", "d"]
    )
    np.testing.assert_array_equal(records.points[0], [[1.0, 0.5], [0.5, 2.0]])
    np.testing.assert_array_equal(records.points[1], np.diag([3.0, 4.0]))
    np.testing.assert_array_equal(records.covariates, [0.0, 0.5, 1.0])


def test_the_triangle_of_a_matrix_is_a_matrix():
    entries = "x,a,b,c,d,e,f\n0,2,0.1,0.2,3,0.3,4\n1,3,0,0,4,0,5\n2,1,0,0,1,0,1\n"
    records = read(entries, manifold=make_manifold("spd", 3), covariate="x", columns=list("abcdef"))
    np.testing.assert_array_equal(
        records.points[0], [[2.0, 0.1, 0.2], [0.1, 3.0, 0.3], [0.2, 0.3, 4.0]]
    )


def test_latitude_and_longitude_are_degrees_of_the_sphere():
    text = "year,lat,lon\n1,90,10\n2,0,90\n3,-45,180\n"
    records = read(
        text,
        manifold=make_manifold("sphere", 2),
        covariate="year",
        columns=["lat", "lon"],
        coordinates="latitude_longitude",
    )
    half = np.sqrt(0.5)
    expected = [[0.0, 0.0, 1.0], [0.0, 1.0, 0.0], [-half, 0.0, -half]]
    np.testing.assert_allclose(records.points, expected, atol=1e-15)


@pytest.mark.parametrize(
    ("space", "columns", "sentence"),
    [
        (("spd", 3), "abcd", "give 9, the coordinates in row-major order, or 6, the upper"),
        (("spd", 2), "ab", "give 4, the coordinates in row-major order, or 3, the upper"),
        (("euclidean", 2), "abc", "3 columns make no point of .*: give 2, the coordinates"),
        (("euclidean", 2), "aa", "column a of a point is named more than once"),
        (("euclidean", 2), "ax", "column x of a point is the covariate too"),
        (("kendall", 3), "abc", "3 columns are no landmarks: name x and y of each in turn"),
    ],
)
def test_columns_that_make_no_point_are_refused(space, columns, sentence):
    text = "x,a,b,c,d\n0,1,0,0,1\n1,1,0,0,2\n2,1,0,0,3\n"
    with pytest.raises(DataError, match=sentence):
        read(text, manifold=make_manifold(*space), covariate="x", columns=list(columns))


@pytest.mark.parametrize(
    ("changes", "sentence"),
    [
        ({"columns": ["lat"]}, "1 columns are no latitude and longitude"),
        ({"manifold": make_manifold("sphere", 3)}, "latitude and longitude are of the sphere S^2"),
        ({"columns": ["lon", "lat"]}, "row 3, column lon: 120 is not between -90 and 90 degrees"),
    ],
)
def test_latitudes_that_are_none_are_refused(changes, sentence):
    settings = {"manifold": make_manifold("sphere", 2), "columns": ["lat", "lon"]} | changes
    text = "year,lat,lon\n1,80,10\n2,0,120\n3,-45,50\n"
    with pytest.raises(DataError, match=re.escape(sentence)):
        read(text, covariate="year", coordinates="latitude_longitude", **settings)


def test_a_table_of_more_landmarks_than_the_shape_has_is_refused():
    sentence = "records have 3 landmarks and those of the manifold 2"
    with pytest.raises(DataError, match=sentence):
        read(TRIANGLES, manifold=make_manifold("kendall", 2), columns=None)


def test_a_covariate_that_leaves_the_others_no_range_is_refused():
    with pytest.raises(DataError, match="row 4, column age: 1e300 is over 1000 times farther"):
        read(TRIANGLES.replace("b,100", "b,1e300"))
    # On its logarithmic scale no value is far from the others.
    read(TRIANGLES.replace("b,100", "b,100000"), transformation="log")
    # A group and its complement are no misprint.
    read(TRIANGLES.replace("b,100", "b,1").replace("a,10", "a,1").replace("a,1,0", "a,0,0"))


def test_points_that_are_all_the_same_are_refused():
    text = "x,a,b\n0,1,0\n1,1,0\n2,1,0\n"
    with pytest.raises(DataError, match="every row has the same point"):
        read(text, manifold=make_manifold("euclidean", 2), covariate="x", columns=["a", "b"])


def test_a_decimal_comma_is_named():
    with pytest.raises(DataError, match="row 4, column y3: '-7,5' has a comma for its decimal"):
        read(TRIANGLES.replace("-7", '"-7,5"'))


def test_records_far_from_all_others_are_noted():
    rng = np.random.default_rng(1)
    points = rng.normal(size=(30, 2))
    points[[4, 17]] += [40.0, 0.0]
    lines = [f"{x},{a},{b}" for x, (a, b) in enumerate(points)]
    settings = {"manifold": make_manifold("euclidean", 2), "covariate": "x", "columns": ["a", "b"]}
    [note] = read("\n".join(["x,a,b", *lines]), **settings).notes
    assert note == (
        "2 of 30 records are over 8 times farther from the middle than half of all (rows 6, 19): "
        "look for misread values"
    )
    del lines[17], lines[4]
    assert read("\n".join(["x,a,b", *lines]), **settings).notes == []


@pytest.mark.parametrize("shift", [1, 3, -1])
def test_outlines_that_start_elsewhere_are_noted(shift):
    rng = np.random.default_rng(2)
    angles = np.linspace(0.0, 2.0 * np.pi, 20, endpoint=False)
    outline = (3.0 + np.cos(2.0 * angles) + 0.5 * np.sin(3.0 * angles)) * np.exp(1j * angles)
    outlines = outline * np.exp(1j * rng.uniform(0.0, 6.0, (9, 1)))
    outlines = outlines + 0.03 * (rng.normal(size=(9, 20)) + 1j * rng.normal(size=(9, 20)))
    settings = {"manifold": make_manifold("kendall", 20), "outline": True, "columns": None}
    assert read(_outline_table(outlines), **settings).notes == []
    outlines[2::3] = np.roll(outlines[2::3], shift, axis=-1)
    [note] = read(_outline_table(outlines), **settings).notes
    assert note == (
        "3 of 9 outlines would fit the others far better from landmark "
        f"{shift % 20 + 1} on (rows 4, 7, 10): let all start at the same place"
    )


def _outline_table(outlines):
    lines = [",".join(["age", *landmark_columns(outlines.shape[-1])])]
    for age, outline in enumerate(outlines):
        numbers = np.stack([outline.real, outline.imag], axis=-1).ravel()
        lines.append(",".join(map(repr, [age, *numbers.tolist()])))
    return "\n".join(lines)


def test_flat_points_are_kept_as_they_are():
    text = "x,a\n0,5\n1,-3\n2,1e3\n"
    records = read(text, manifold=make_manifold("euclidean", 1), covariate="x", columns=["a"])
    np.testing.assert_array_equal(records.points, [[5.0], [-3.0], [1000.0]])


@pytest.mark.parametrize(("factor", "refused"), [(0.9, False), (1.1, True)])
def test_limit_of_a_wild_landmark(factor, refused):
    # Four landmarks at distance one about a middle, and one that moves away.
    square = np.array([1.0, 1.0j, -1.0, -1.0j, 0.0])
    landmarks = np.stack([square + shift for shift in (0.0, 5.0, 9.0j)])
    landmarks[1, 4] = 5.0 + WILD_LANDMARK * factor
    if refused:
        with pytest.raises(DataError, match="row 12: landmark 5 at"):
            check_landmarks(landmarks, RecordFile("table"), [11, 12, 13])
    else:
        check_landmarks(landmarks, RecordFile("table"), [11, 12, 13])


def test_shapes_of_any_size_and_place_are_accepted():
    rng = np.random.default_rng(5)
    shape = rng.standard_normal((20, 6)) + 1j * rng.standard_normal((20, 6))
    for scale, place in ((1e-6, 0.0), (1e6, 0.0), (1.0, 1e5 + 1e5j)):
        check_landmarks(scale * shape + place, RecordFile("table"), range(2, 22))


def test_rats_of_the_repository():
    from pathlib import Path

    path = Path(__file__).resolve().parents[2] / "resources" / "vilmann_rats.csv"
    with open(path, newline="") as text:
        records = read_records(
            text,
            "rats",
            make_manifold("kendall", 8),
            "age_days",
            landmark_columns(8),
            transformation="log",
            subject="rat",
        )
    assert records.points.shape == (144, 8)
    assert len(set(records.subjects)) == 18
    assert records.covariate_range == pytest.approx((np.log(7), np.log(150)))
    ages = np.exp(records.covariates * np.log(150 / 7) + np.log(7))
    assert sorted({round(age) for age in ages}) == [7, 14, 21, 30, 40, 60, 90, 150]


# --- Outlines, filters and notes, in tables and in MATLAB files ---

AGES = [50.0, 61.5, 70.0, 82.0, 90.0]
SUBJECTS = ["s1", "s2", "s1", "s3", "s4"]
DIAGNOSES = ["CN", "AD", "AD", "CN", "AD"]
SEXES = [1, 2, 2, 2, 1]
# Ellipses that grow longer and move: simple, counter-clockwise, six landmarks.
ELLIPSES = np.array(
    [
        (1.0 + age / 50.0) * np.cos(angles := 0.3 + np.pi * np.arange(6) / 3)
        + 1j * np.sin(angles)
        + age
        for age in AGES
    ]
)


def reverse(outline):
    return np.roll(outline[::-1], 1)


def table_of(outlines):
    number = len(outlines[0])
    lines = [",".join(["id", "age", "diagnosis", "sex", *landmark_columns(number)])]
    for *cells, outline in zip(SUBJECTS, AGES, DIAGNOSES, SEXES, outlines, strict=True):
        coordinates = np.stack([outline.real, outline.imag], axis=-1).ravel()
        lines.append(",".join(map(str, [*cells, *coordinates.tolist()])))
    return "\n".join(lines)


def variables_of(outlines):
    return {
        "landmarks": np.stack([np.real(outlines), np.imag(outlines)], axis=-1),
        "age": AGES,
        "id": np.array(SUBJECTS, dtype=object),
        "diagnosis": np.array(DIAGNOSES),
        "sex": np.array(SEXES, dtype=np.uint8),
    }


def read_mat(path, variables, manifold=None, **settings):
    scipy.io.savemat(path / "outlines.mat", variables)
    with open(path / "outlines.mat", "rb") as file:
        return read_mat_records(
            file, "outlines.mat", manifold or make_manifold("kendall", 6), "age", **settings
        )


@pytest.fixture(params=["table", "mat"])
def read_outlines(request, tmp_path):
    """A function that reads given outlines back from a file of either kind."""

    def from_table(outlines, landmarks=6, manifold=None, **settings):
        manifold = manifold or make_manifold("kendall", landmarks)
        return read_records(
            io.StringIO(table_of(outlines)), "outlines.csv", manifold, "age", None, **settings
        )

    def from_mat(outlines, landmarks=6, manifold=None, **settings):
        manifold = manifold or make_manifold("kendall", landmarks)
        return read_mat(tmp_path, variables_of(outlines), manifold, **settings)

    reader = {"table": from_table, "mat": from_mat}[request.param]
    return lambda *outlines, **settings: reader(*outlines, **({"outline": True} | settings))


def shapes(outlines):
    return make_manifold("kendall", np.shape(outlines)[-1]).project(np.asarray(outlines))


def row_of(records, index):
    """What messages call a record, in either kind of file."""
    return {"row": f"row {index + 2}", "record": f"record {index + 1}"}[records.row_word]


def test_outlines_without_a_flaw(read_outlines):
    records = read_outlines(ELLIPSES)
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)
    np.testing.assert_allclose(records.covariates, (np.array(AGES) - 50.0) / 40.0)
    assert records.covariate_range == (50.0, 90.0)
    assert records.notes == []
    assert records.subjects == []
    first = 2 if records.row_word == "row" else 1
    assert records.rows == list(range(first, first + 5))


def test_repeated_subjects_are_counted_and_not_named(read_outlines):
    records = read_outlines(ELLIPSES, subject="id")
    assert records.subjects == SUBJECTS
    assert records.notes == [
        "5 records of 4 subjects: a budget stated per record is not one per subject"
    ]


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
def test_filters_keep_what_matches(read_outlines, keep, left):
    records = read_outlines(ELLIPSES, keep=keep, subject="id")
    np.testing.assert_allclose(records.points, shapes(ELLIPSES[left]), atol=1e-14)
    ages = np.array(AGES)[left]
    np.testing.assert_allclose(records.covariates, (ages - ages[0]) / (ages[-1] - ages[0]))
    assert records.subjects == [SUBJECTS[index] for index in left]
    first = 2 if records.row_word == "row" else 1
    assert records.rows == [index + first for index in left]


def test_filters_take_names_with_underscores_as_names():
    lines = [line.replace("s1", "1_1") for line in table_of(ELLIPSES).splitlines()]
    lines += [lines[1].replace("1_1", "11")]
    settings = {"subject": "id", "keep": {"id": [11, "s3", "s4"]}, "outline": True}
    shapes = make_manifold("kendall", 6)
    records = read_records(lines, "table", shapes, "age", landmark_columns(6), **settings)
    assert records.subjects == ["s3", "s4", "11"]


def test_filters_are_noted(read_outlines):
    records = read_outlines(ELLIPSES, keep={"diagnosis": ["AD", "MCI"], "sex": [1, 2]})
    assert records.notes == [
        "3 of 5 records were kept, those with diagnosis AD or MCI and sex 1 or 2"
    ]


def test_stated_range_becomes_the_unit_interval(read_outlines):
    records = read_outlines(ELLIPSES, covariate_range=(40, 90))
    np.testing.assert_allclose(records.covariates, (np.array(AGES) - 40.0) / 50.0)
    assert records.covariate_range == (40, 90)


def test_stated_range_is_transformed_too(read_outlines):
    records = read_outlines(ELLIPSES, covariate_range=(40, 90), transformation="log")
    expected = np.log(np.array(AGES) / 40.0) / np.log(90.0 / 40.0)
    np.testing.assert_allclose(records.covariates, expected)
    assert records.covariate_range == pytest.approx((np.log(40.0), np.log(90.0)))


def test_filtered_records_may_lie_outside_the_range(read_outlines):
    records = read_outlines(ELLIPSES, keep={"sex": 2}, covariate_range=(60, 85))
    np.testing.assert_allclose(records.covariates, [0.06, 0.4, 0.88])


@pytest.mark.parametrize("turned", [[3], [0, 4]])
def test_reversed_outlines_are_mended(read_outlines, turned):
    outlines = [reverse(one) if i in turned else one for i, one in enumerate(ELLIPSES)]
    records = read_outlines(outlines)
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)
    (note,) = records.notes
    assert note.startswith(f"{len(turned)} outline")
    numbers = ", ".join(row_of(records, index).split()[1] for index in turned)
    plural = "s" if len(turned) > 1 else ""
    assert note.endswith(f"({records.row_word}{plural} {numbers})")


def test_landmarks_in_any_order_are_read_where_they_are_no_outline(tmp_path):
    mixed = np.array([reverse(ELLIPSES[0]), *ELLIPSES[1:, [0, 2, 1, 3, 4, 5]]])
    manifold, columns = make_manifold("kendall", 6), landmark_columns(6)
    table = read_records(io.StringIO(table_of(mixed)), "a table", manifold, "age", columns)
    for records in (table, read_mat(tmp_path, variables_of(mixed))):
        np.testing.assert_allclose(records.points, shapes(mixed), atol=1e-14)
        assert records.notes == []


@pytest.mark.parametrize("landmarks", [4, 9, 50])
def test_outlines_are_resampled(read_outlines, landmarks):
    outlines = [*ELLIPSES[:4], reverse(ELLIPSES[4])]
    records = read_outlines(outlines, landmarks=landmarks)
    expected = shapes(resample(ELLIPSES, landmarks))
    np.testing.assert_allclose(records.points, expected, atol=1e-13)
    assert len(records.notes) == 2
    assert records.notes[1] == (
        f"outlines of 6 landmarks were resampled to {landmarks} at equal arc length from the "
        "first landmark on"
    )


def test_closing_landmark_is_left_out(read_outlines):
    records = read_outlines(np.hstack([ELLIPSES, ELLIPSES[:, :1]]))
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)
    assert len(records.notes) == 1
    assert "repeats the first" in records.notes[0]


def test_clockwise_outlines_are_turned_also_when_all_are(read_outlines):
    """Each by itself, so that no record decides how another one is read."""
    records = read_outlines([reverse(one) for one in ELLIPSES])
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)
    assert len(records.notes) == 1
    assert "ran clockwise" in records.notes[0]


def test_notes_name_a_few_rows_only():
    # Eleven quadrangles against ten; ten rows are more than a note should hold.
    lines = ["age," + ",".join(landmark_columns(4))]
    for age in range(21):
        wide = 2.0 + 0.01 * age
        square, turned = [0, 0, wide, 0, 2, 1, 0, 1], [0, 0, 0, 1, 2, 1, wide, 0]
        lines.append(",".join(map(str, [age, *(turned if age % 2 else square)])))
    records = read(
        "\n".join(lines), manifold=make_manifold("kendall", 4), outline=True, columns=None
    )
    assert len(records.notes) == 1
    assert records.notes[0].startswith("10 outlines")
    assert records.notes[0].endswith("(rows 3, 5, 7, 9, 11, ...)")
    straight = [[0, 2.0 + 0.01 * age, 2 + 1j, 1j] for age in range(21)]
    np.testing.assert_allclose(records.points, shapes(straight), atol=1e-14)


def test_unread_columns_of_an_outline_table_may_hold_anything():
    lines = table_of(ELLIPSES).split("\n")
    lines = [lines[0] + ",note,x", *(f"{line},,?" for line in lines[1:])]
    records = read_records(
        io.StringIO("\n".join(lines)),
        "outlines.csv",
        make_manifold("kendall", 6),
        "age",
        None,
        outline=True,
    )
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)


def test_columns_that_no_outline_fills_are_no_landmarks():
    lines = table_of(ELLIPSES).split("\n")
    lines = [lines[0] + ",x7,y7,x8,y8", *(f"{line},, ,," for line in lines[1:])]
    records = read_records(
        io.StringIO("\n".join(lines)),
        "outlines.csv",
        make_manifold("kendall", 6),
        "age",
        None,
        outline=True,
    )
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)


def test_points_are_what_the_space_makes_of_landmarks(read_outlines):
    class Mirrored(KendallPlanarShapes):
        def from_landmarks(self, landmarks):
            return self.project(np.conj(landmarks))

    records = read_outlines(ELLIPSES, manifold=Mirrored(6))
    np.testing.assert_allclose(records.points, shapes(np.conj(ELLIPSES)), atol=1e-14)


def test_record_without_a_reduced_shape_is_named(read_outlines):
    problem = NoReducedShapeError(1, "the harmonics")

    class Refusing(KendallPlanarShapes):
        def from_landmarks(self, landmarks):
            raise problem

    with pytest.raises(DataError) as refusal:
        read_outlines(ELLIPSES, manifold=Refusing(6), keep={"diagnosis": "AD"})
    # The second record of those that are kept.
    places = ["outlines.csv, row 4", "outlines.mat, record 3"]
    assert str(refusal.value) in [f"{place}: {problem.reason}" for place in places]


def test_what_is_not_kept_need_not_be_readable(tmp_path):
    lines = table_of(ELLIPSES).split("\n")
    lines[1] = "s1,?,CN,1" + ",?" * 12
    lines[4] = "s3,,CN,2" + "," * 12
    settings = {"keep": {"diagnosis": "AD"}, "outline": True}
    manifold = make_manifold("kendall", 6)
    table = read_records(
        io.StringIO("\n".join(lines)), "outlines.csv", manifold, "age", None, **settings
    )
    variables = variables_of(ELLIPSES)
    variables["landmarks"][[0, 3]] = np.nan
    variables["age"] = [np.nan, *AGES[1:3], np.nan, 90.0]
    mat = read_mat(tmp_path, variables, **settings)
    for records in (table, mat):
        np.testing.assert_allclose(records.points, shapes(ELLIPSES[[1, 2, 4]]), atol=1e-14)


# Landmarks as different programs save them.
PAIRS = np.stack([ELLIPSES.real, ELLIPSES.imag], axis=-1)
LAYOUTS = {
    "n x k x 2": PAIRS,
    "k x 2 x n": np.moveaxis(PAIRS, 0, -1),
    "complex n x k": ELLIPSES,
    "complex k x n": ELLIPSES.T,
    "cells k x 2": np.array([*PAIRS, None], dtype=object)[:-1],
    "cells of complex vectors": np.array([*ELLIPSES[:, :, None], None], dtype=object)[:-1],
}


@pytest.mark.parametrize("layout", LAYOUTS.values(), ids=LAYOUTS.keys())
def test_layouts_of_landmarks(tmp_path, layout):
    records = read_mat(tmp_path, variables_of(ELLIPSES) | {"landmarks": layout})
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)


def test_as_many_landmarks_as_records_are_no_matter_for_pairs(tmp_path):
    ellipses = resample(ELLIPSES, 5)
    pairs = np.stack([ellipses.real, ellipses.imag], axis=-1)
    for layout in (pairs, np.moveaxis(pairs, 0, -1)):
        variables = variables_of(ELLIPSES) | {"landmarks": layout}
        records = read_mat(tmp_path, variables, make_manifold("kendall", 5))
        np.testing.assert_allclose(records.points, shapes(ellipses), atol=1e-14)


@pytest.mark.parametrize(
    "subjects",
    [
        np.array(SUBJECTS),
        np.array(SUBJECTS, dtype=object)[:, None],
        np.array(["s1 ", "s2", "s1", "s3", "s4"]),
        [11, 12, 11, 13, 14],
        np.array([[11.0], [12.0], [11.0], [13.0], [14.0]]),
        np.array([11, "b", 11.0, "c", "d"], dtype=object),
    ],
    ids=["char matrix", "cell column", "padded", "row", "column", "mixed cells"],
)
def test_kinds_of_subjects(tmp_path, subjects):
    records = read_mat(tmp_path, variables_of(ELLIPSES) | {"id": subjects}, subject="id")
    assert len(records.subjects) == 5
    assert all(isinstance(name, str) and name == name.strip() for name in records.subjects)
    assert records.subjects[0] == records.subjects[2]
    assert len(set(records.subjects)) == 4


def test_names_of_variables(tmp_path):
    variables = {"Outlines": ELLIPSES, "Years": np.array(AGES)[:, None]}
    scipy.io.savemat(tmp_path / "other.mat", variables, do_compression=True)
    with open(tmp_path / "other.mat", "rb") as file:
        records = read_mat_records(
            file,
            "other.mat",
            make_manifold("kendall", 6),
            "Years",
            "Outlines",
            transformation="log",
        )
    np.testing.assert_allclose(records.points, shapes(ELLIPSES), atol=1e-14)
    np.testing.assert_allclose(
        records.covariates, np.log(np.array(AGES) / 50.0) / np.log(90.0 / 50.0)
    )


def test_both_kinds_of_file_give_the_same_records(tmp_path):
    outlines = [ELLIPSES[0], reverse(ELLIPSES[1]), *ELLIPSES[2:]]
    settings = {"keep": {"sex": [2]}, "outline": True, "subject": "id", "covariate_range": (50, 90)}
    manifold = make_manifold("kendall", 10)
    table = read_records(
        io.StringIO(table_of(outlines)), "outlines.csv", manifold, "age", None, **settings
    )
    mat = read_mat(tmp_path, variables_of(outlines), manifold, **settings)
    np.testing.assert_array_equal(table.points, mat.points)
    np.testing.assert_array_equal(table.covariates, mat.covariates)
    assert table.subjects == mat.subjects
    assert (table.rows, mat.rows) == ([3, 4, 5], [2, 3, 4])
    assert [note.replace("row 3", "record 2") for note in table.notes] == mat.notes
