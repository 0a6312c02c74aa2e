"""What jobs make of files and settings before the library sees them."""

from dataclasses import asdict
from types import SimpleNamespace

import numpy as np
import pytest

from geodp.data.simulate import simulate_geodesic_data
from geodp.errors import DataError
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.kng_as_published import configured_support
from geodp.models.regression import fit
from geodp.models.sensitivity import published_sensitivity
from reproduction.jobs import save_arrays, save_json
from reproduction.mechanism import configured_centre, load_mechanism

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


@pytest.mark.parametrize("ball", [True, False], ids=["ball", "anywhere"])
def test_mechanism_comes_back_from_its_files(tmp_path, ball):
    """As `bound_sensitivity` writes them; every data set with the support of its own."""
    data = simulate_geodesic_data(np.random.default_rng(1), SPHERE, 2, 20, 0.01, 0.6)
    found = fit(SPHERE, data.covariates, data.points)
    bound = published_sensitivity(SPHERE, found.largest_residual, 20, 0.5)
    support = configured_support(SPHERE, bound, found.footpoint if ball else None)
    save_arrays(tmp_path / "data.npz", {}, covariates=data.covariates, points=data.points)
    save_json(tmp_path / "fit.json", {}, **asdict(found))
    save_arrays(
        tmp_path / "sensitivity.npz",
        {},
        **asdict(bound),
        shooting_vector_length=support.shooting_vector_length,
        footpoint_centre=support.footpoint_centre if ball else np.zeros(0),
        footpoint_radius=support.footpoint_radius,
    )
    files = [tmp_path / name for name in ("data.npz", "fit.json", "sensitivity.npz")]
    one = load_mechanism(SPHERE, *files).take(slice(1, 2))
    np.testing.assert_array_equal(one.points, data.points[1:])
    np.testing.assert_array_equal(one.sensitivity.reach, bound.reach[1:])
    radius = bound.tau[1] + 0.5
    np.testing.assert_allclose(one.support.shooting_vector_length, [2.0 * radius])
    target = one.footpoint_target(1.0)
    np.testing.assert_allclose(target.support.centre, found.footpoint[1:], rtol=1e-15)
    np.testing.assert_allclose(target.support.radius, [radius if ball else np.pi])
