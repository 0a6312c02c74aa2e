"""Tables that can be read: what comes out; `tests/workflow/test_bad_data.py` has the others."""

import io

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.manifolds.registry import make_manifold
from geodp.records import WILD_LANDMARK, check_landmarks, landmark_columns, read_records

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
    ],
    ids=["line ends of Windows", "no line end", "empty line", "quotation marks and exponents"],
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
            check_landmarks(landmarks, "table", [11, 12, 13])
    else:
        check_landmarks(landmarks, "table", [11, 12, 13])


def test_shapes_of_any_size_and_place_are_accepted():
    rng = np.random.default_rng(5)
    shape = rng.standard_normal((20, 6)) + 1j * rng.standard_normal((20, 6))
    for scale, place in ((1e-6, 0.0), (1e6, 0.0), (1.0, 1e5 + 1e5j)):
        check_landmarks(scale * shape + place, "table", range(2, 22))


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
            "log",
            "rat",
        )
    assert records.points.shape == (144, 8)
    assert len(set(records.subjects)) == 18
    assert records.covariate_range == pytest.approx((np.log(7), np.log(150)))
    ages = np.exp(records.covariates * np.log(150 / 7) + np.log(7))
    assert sorted({round(age) for age in ages}) == [7, 14, 21, 30, 40, 60, 90, 150]
