"""Maps of landmarks: what they keep, and what they refuse."""

import numpy as np
import pytest

from geodp.data.matrices import parse_matrix
from geodp.data.messages import text_of
from geodp.errors import DataError
from geodp.manifolds.landmark_maps import LandmarkMap, fourier_harmonics

PLACE = "studies.callosa.manifold.landmark_map"


@pytest.mark.parametrize(("landmarks", "highest"), [(3, 1), (8, 3), (50, 24)])
def test_harmonics_are_orthonormal_and_in_their_order(landmarks, highest):
    matrix = fourier_harmonics(landmarks, highest).matrix
    orders = np.arange(1, highest + 1)
    orders = np.stack([orders, -orders], axis=-1).ravel()
    turns = np.arange(landmarks) / landmarks
    waves = np.exp(2j * np.pi * orders * turns[:, None])
    np.testing.assert_allclose(matrix @ waves, np.sqrt(landmarks) * np.eye(2 * highest), atol=1e-13)
    np.testing.assert_allclose(matrix @ matrix.conj().T, np.eye(2 * highest), atol=1e-14)
    np.testing.assert_allclose(np.sum(matrix, axis=1), 0.0, atol=1e-13)


@pytest.mark.parametrize(("landmarks", "highest", "limit"), [(50, 25, 24), (9, 5, 4), (9, 0, 4)])
def test_harmonics_out_of_range_are_refused(landmarks, highest, limit):
    with pytest.raises(DataError, match=rf"^landmark map: {landmarks} .* from 1 to {limit}$"):
        fourier_harmonics(landmarks, highest)


def test_map_keeps_a_copy_that_cannot_be_changed():
    matrix = np.eye(2, 5, dtype=complex)
    made = LandmarkMap(matrix, "two landmarks")
    matrix[0, 0] = 7.0
    assert made.matrix[0, 0] == 1.0
    with pytest.raises(ValueError, match="read-only"):
        made.matrix[0, 0] = 7.0


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.ones(5), "it has 1 axes"),
        (np.eye(1, 5), "1 rows for 5 landmarks"),
        (np.eye(5), "5 rows for 5 landmarks"),
        ([[1, 0, 0], [0, 1, np.nan]], "row 2, column 3: the entry is not a finite number"),
        ([[1, 1j * np.inf, 0], [0, 1, 0]], "row 1, column 2: the entry is not a finite"),
        ([[1, 0, 0, 0], [0, 1, 0, 0], [2, 3j, 0, 0]], "only 2 of its 3 rows are independent"),
        # Independent, until the landmarks are centred.
        ([[1, 0, 0, 0], [2, 1, 1, 1]], "only 1 of its 2 rows are independent"),
        (np.zeros((2, 4)), "only 0 of its 2 rows are independent"),
        ("1,2,3\n1,0.5+0.25i,3", ", row 2, column 2: '0.5+0.25i' is not a finite number"),
        ("1,2,3\n\n1,2,nan", ", row 3, column 3: 'nan' is not a finite number"),
        ("1,2,3\n1,,3", ", row 2, column 2: '' is not a finite number"),
        ("1,2,3\n1,2", ", row 2: it has 2 columns and the first row has 3"),
        ("\n , \n", ": the matrix is empty"),
    ],
)
def test_what_makes_no_map_is_refused(given, message):
    with pytest.raises(DataError) as caught:
        parse_matrix(given, PLACE) if isinstance(given, str) else LandmarkMap(given, "", PLACE)
    assert str(caught.value).startswith(PLACE)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_matrix_of_complex_and_real_entries():
    text = '0.5+0.25j,1,-2e-3\n\n 1j , "-0.5-1j",+3\n'
    expected = [[0.5 + 0.25j, 1.0, -0.002], [1j, -0.5 - 1j, 3.0]]
    np.testing.assert_array_equal(parse_matrix(text, "map.csv"), expected)
    assert parse_matrix("1,2\n3,4", "map.csv").dtype == complex


def test_a_file_of_too_many_characters_is_refused(tmp_path):
    path = tmp_path / "map.csv"
    path.write_text("1,2\n")
    assert text_of(path, 4) == "1,2\n"
    with pytest.raises(DataError, match=r"map.csv has more than 3 characters: give a smaller file"):
        text_of(path, 3)
