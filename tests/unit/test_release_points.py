"""Points of a release in files: landmarks, outlines, angles, shares and triangles of matrices."""

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import release_tables as tables

from geodp import DataError
from geodp.data.columns import landmark_columns
from geodp.data.records import read_table
from geodp.manifolds.registry import make_manifold
from geodp_release.ask.release_records import check_data_settings


@pytest.mark.parametrize(
    ("save", "scale"), [(tables.as_tps, 2), (tables.as_nts, 1), (tables.as_morphologika, 1)]
)
def test_files_of_landmarks(folder, save, scale):
    path = save(tables.SHAPES)
    covariate = "age" if path == "s.txt" else "centroid_size"
    choices = tables.LANDMARKS | {"covariate": covariate}
    covariates, points, subjects = tables.read(path, **choices)
    manifold = make_manifold("kendall", 3)
    expected = manifold.from_landmarks(tables.SHAPES[..., 0] + 1j * tables.SHAPES[..., 1])
    np.testing.assert_allclose(manifold.dist(points, expected), 0.0, atol=1e-7)
    assert subjects == tables.IDS
    sizes = scale * np.linalg.norm(
        tables.SHAPES - tables.SHAPES.mean(axis=1, keepdims=True), axis=(1, 2)
    )
    wanted = [1, 2, 3, 4] if covariate == "age" else sizes
    np.testing.assert_allclose(covariates[:, 0], wanted)
    records = read_table(path, manifold, covariate, None, subject="ID")
    np.testing.assert_allclose(manifold.dist(records.points, points), 0.0, atol=1e-7)
    # A landmark that is missing, as the format has it; and with a code that is a number.
    for code in (np.nan, -9.0 if save is tables.as_nts else -999.0):
        missing = tables.SHAPES.copy()
        missing[1, 2] = code
        assert tables.without(tables.read(save(missing), **choices))[1] == [1]
        said = tables.found_faults(path, **choices)
        assert "specimen 2, value x3: " in said[0]
        assert "(label b)" in said[0]


def test_an_nts_file_of_another_header_is_refused(folder):
    for header, says in (("1 4L 8 0", "have 8 numbers, and 3 landmarks 6"), ("1 4L", "like 1 20L")):
        Path("s.nts").write_text(header)
        tables.refused(says, "s.nts", **tables.LANDMARKS)


@pytest.mark.parametrize(
    ("save", "words"),
    [
        *((tables.as_nts, each) for each in ("12 34 56", "1 2 3 4 5", "1 2 3 4 5 6 7")),
        (tables.as_morphologika, ","),
    ],
)
def test_words_that_are_no_landmarks_make_their_own_specimen_invalid(folder, save, words):
    path = Path(save(tables.SHAPES))
    line = tables.lines_of(tables.SHAPES[1]).splitlines()[0]
    whole = tables.lines_of(tables.SHAPES[1]).replace("\n", " ").strip()
    old = whole if save is tables.as_nts else line
    path.write_text(path.read_text().replace(old, words))
    covariate = "centroid_size" if save is tables.as_nts else "age"
    covariates, points, _ = tables.read(path, **tables.LANDMARKS | {"covariate": covariate})
    assert tables.without((covariates, points))[1] == [1]


def test_landmarks_have_decimal_commas_and_may_be_below_zero(folder):
    _, expected, _ = tables.read(tables.as_tps(tables.SHAPES), **tables.LANDMARKS)
    Path("s.tps").write_text(Path("s.tps").read_text().replace(".png", "").replace(".", ","))
    _, points, _ = tables.read("s.tps", decimal=",", **tables.LANDMARKS)
    np.testing.assert_array_equal(points, expected)
    # Two numbers below zero are how tpsDig writes a missing landmark.
    shapes = tables.SHAPES.copy()
    shapes[0], shapes[1, 2] = [[-1.0, 1.0], [9.0, 0.0], [1.0, -5.0]], [-2.0, -1.0]
    # A code in one coordinate alone is a number.
    shapes[3, 0] = 9999.0, 1.0
    assert tables.without(tables.read(tables.as_tps(shapes), **tables.LANDMARKS))[1] == [1]
    said = tables.found_faults("s.tps", **tables.LANDMARKS)[0]
    assert "x3: it has two numbers below zero, as tpsDig marks missing ones (move the" in said
    # What it writes itself is no fault but no response.
    shapes[1, 2] = -1.0
    missing = tables.LANDMARKS | {"missing_responses": "drop"}
    assert len(tables.read(tables.as_tps(shapes), **missing)[1]) == len(shapes) - 1


def test_sizes_beside_shapes_are_read_of_columns_that_are_not_named(folder):
    rows, space = tables.SHAPES.reshape((4, 6)), ("size_and_shape", 3)
    table = pd.DataFrame(rows, columns=landmark_columns(3)).assign(age=5.0, who=tables.IDS)
    path = tables.as_csv(table)
    _, points, _ = tables.read(path, space=space, centre="anywhere", columns=None)
    expected = make_manifold("size_and_shape", size=3).from_layout(rows)
    np.testing.assert_allclose(points, expected, rtol=0.0, atol=1e-15)


def test_what_a_tps_file_has_besides_planar_landmarks_is_named(folder):
    text = Path(tables.as_tps(tables.SHAPES)).read_text().replace("SCALE=2", "SCALE=", 1)
    parts = text.split("LM=3\n")
    parts[2] = re.sub(r"(?m)^(\S+ \S+)$", r"\1 0", parts[2])
    Path("s.tps").write_text("LM=3\n".join(parts[:2]) + "LM3=3\n" + "LM=3\n".join(parts[2:]))
    said = tables.found_faults("s.tps", **tables.LANDMARKS)
    assert "specimen 1, value centroid_size: it has no number as its SCALE" in said[0]
    assert "specimen 2, value x1: it has three numbers a landmark, as those in space" in said[1]
    assert len(said) == 2
    said = tables.checked("s.tps", **tables.LANDMARKS).warnings
    assert "s.tps: curves or outlines of 1 specimens are left out" in said
    assert not any("have no SCALE" in each for each in said)
    Path("s.tps").write_text(text.replace("SCALE=\n", "", 1))
    said = tables.checked("s.tps", **tables.LANDMARKS).warnings
    assert any(
        "1 of 4 specimens have no SCALE, so that their centroid_size" in each for each in said
    )


def test_another_number_of_landmarks_is_named_and_refused_by_no_header(folder):
    shapes = [*tables.SHAPES[:2], np.ones((4, 2)).cumsum(0), tables.SHAPES[3]]
    assert tables.without(tables.read(tables.as_tps(shapes), **tables.LANDMARKS))[1] == [2]
    said = tables.found_faults("s.tps", **tables.LANDMARKS)
    assert "s.tps, specimen 3, value x1: it has 4 landmarks in place of 3: correct" in said[0]


@pytest.mark.parametrize(
    ("coordinates", "quarter", "beyond"),
    [
        *[("degrees", 90.0, 361.0), ("compass", 90.0, -1.0), ("radians", np.pi / 2.0, 7.0)],
        *[("hours", 6.0, 24.5), ("day_of_year", 92.3125, 0.5), ("month", 4.0, 13.5)],
    ],
)
def test_an_angle_is_a_point_of_the_circle(folder, coordinates, quarter, beyond):
    path = tables.as_csv(tables.frame(a=[quarter] * 6 + [beyond] * 2))
    choices = {"space": ("sphere", 1), "centre": "anywhere", "columns": ["a"]}
    choices |= {"coordinates": coordinates}
    _, points, _ = tables.read(path, **choices)
    np.testing.assert_allclose(points[:6], [[0.0, 1.0]] * 6, atol=1e-12)
    assert np.all(np.isnan(points[6:]))
    assert f"column a: {beyond:g} is not between" in tables.found_faults(path, **choices)[0]
    with pytest.raises(DataError, match="one angle is of the circle"):
        check_data_settings(tables.settings_of(path, coordinates=coordinates))


def test_shares_are_square_roots_on_a_sphere(folder):
    parts = np.array([[0.2, 0.3, 0.5], [0.0, 0.4, 0.6], [0.331, 0.331, 0.331]])
    rows = [*parts, *(100.0 * parts), [0.5, 0.6, -0.1], [0.2, 0.3, 0.6]]
    path = tables.as_csv(tables.frame(**dict(zip("abc", np.transpose(rows), strict=True))))
    choices = {"space": ("sphere", 2), "centre": "anywhere", "columns": list("abc")}
    choices |= {"coordinates": "shares"}
    _, points, _ = tables.read(path, **choices)
    expected = np.sqrt(parts / parts.sum(axis=1, keepdims=True))
    np.testing.assert_allclose(points[:6], [*expected, *expected], rtol=1e-12)
    assert np.all(np.isnan(points[6:]))
    said = "\n".join(tables.found_faults(path, **choices))
    assert "column c: -0.1 is negative, and no share of a whole" in said
    assert "row 9: its shares add up to 1.1, not to 1 or 100" in said
    with pytest.raises(DataError, match="shares of a whole are of a sphere"):
        check_data_settings(tables.settings_of(path, coordinates="shares"))
    with pytest.raises(DataError, match="2 columns are no shares on sphere"):
        check_data_settings(tables.settings_of(path, **choices | {"columns": ["a", "b"]}))


HALF = np.sqrt(0.5)
# The matrix with entries 11, 12, ..., as programs write it.
WRITTEN = {
    "ambient": [11, 12, 13, 22, 23, 33],
    "lower_triangle": [11, 12, 22, 13, 23, 33],
    "nilearn": [11 * HALF, 12, 22 * HALF, 13, 23, 33 * HALF],
    "pyriemann": [11, 12 / HALF, 13 / HALF, 22, 23 / HALF, 33],
    "voigt": [11, 22, 33, 23, 13, 12],
    "vtk": [11, 22, 33, 12, 23, 13],
    "mrtrix": [11, 22, 33, 12, 13, 23],
}


@pytest.mark.parametrize("coordinates", WRITTEN)
def test_a_triangle_is_read_as_a_program_writes_it(folder, coordinates):
    names = list("abcdef")
    path = tables.as_csv(tables.frame(**dict(zip(names, WRITTEN[coordinates], strict=True))))
    choices = {"space": ("spd", 3), "centre": "identity", "columns": names}
    _, points, _ = tables.read(path, coordinates=coordinates, **choices)
    expected = np.broadcast_to([[11, 12, 13], [12, 22, 23], [13, 23, 33]], (8, 3, 3))
    np.testing.assert_allclose(points, expected, rtol=1e-15)


def test_a_triangle_is_of_a_matrix_of_its_size(folder):
    path = tables.as_csv(tables.frame(**dict.fromkeys("abc", 1.0)))
    with pytest.raises(DataError, match="lower_triangle is of a symmetric matrix"):
        check_data_settings(tables.settings_of(path, coordinates="lower_triangle"))
    choices = {"space": ("spd", 2), "centre": "identity", "columns": list("abc")}
    with pytest.raises(DataError, match="voigt is of 3 x 3 matrices"):
        check_data_settings(tables.settings_of(path, coordinates="voigt", **choices))


def test_outlines_are_mended_one_by_one(folder):
    turns = 2.0 * np.pi * np.arange(12) / 12
    outline = 2.0 * np.cos(turns) + 1j * np.sin(turns) * (1.0 + 0.2 * np.cos(turns))
    crossing = outline[[0, 2, 1, *range(3, 12)]]
    found = [outline, np.roll(outline[::-1], 1), np.append(outline, outline[0]), crossing]
    pairs = [np.stack([each.real, each.imag], axis=-1).ravel().tolist() for each in found]
    rows = [[60, *each, *[""] * (26 - len(each))] for each in pairs]
    tables.written(rows, ["age", *(f"{axis}{k}" for k in range(1, 14) for axis in "xy")])
    table = {"columns": None, "subject": "one record each", "outline": True}
    _, points, subjects = tables.read(space=("kendall", 12), centre=pairs[0], **table)
    assert subjects == "one record each"
    shape = make_manifold("kendall", 12).from_landmarks(outline)
    np.testing.assert_allclose(points[:3], [shape] * 3, atol=1e-12)
    assert np.all(np.isnan(points[3]))
