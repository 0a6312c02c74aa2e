"""What jobs make of files and settings before the library sees them."""

import json
from types import SimpleNamespace

import numpy as np
import pytest
from inputs import configured_centre, load_mechanism
from jobs import save_arrays, save_json

from geodp.errors import DataError
from geodp.manifolds.sphere import Sphere

SPHERE = Sphere(2)
FITTED = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])
TRUE = np.array([[0.0, 0.0, 1.0], [0.0, 0.6, 0.8]])


def centre(setting, **data):
    return configured_centre(SPHERE, setting, "mine", data, SimpleNamespace(footpoint=FITTED))


def test_no_centre_means_no_ball():
    assert centre(None, true_footpoint=TRUE) is None


def test_words_stand_for_the_footpoints_of_each_data_set():
    np.testing.assert_array_equal(centre("truth", true_footpoint=TRUE), TRUE)
    np.testing.assert_array_equal(centre("fit", true_footpoint=TRUE), FITTED)
    # Observed data have no truth, and need none for their fit.
    np.testing.assert_array_equal(centre("fit"), FITTED)


def test_numbers_are_one_point_for_all_data_sets():
    np.testing.assert_allclose(centre([0.0, 3.0, 4.0]), [0.0, 0.6, 0.8], rtol=1e-15)


@pytest.mark.parametrize("numbers", [[0.0, 1.0], [0.0, 0.0, 0.0]], ids=["too few", "no direction"])
def test_numbers_that_make_no_point_are_refused_by_their_key(numbers):
    with pytest.raises(DataError, match=r"key studies\.mine\.support\.footpoint_centre: "):
        centre(numbers)
