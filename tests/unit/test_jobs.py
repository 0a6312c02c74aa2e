"""Jobs: what their log says when they fail, and what they make of files and settings."""

import errno
from types import SimpleNamespace

import numpy as np
import pytest

from geodp import SPD, DataError, GeodesicModel, Sphere, simulate_geodesic_data
from reproduction.jobs import job, save_arrays, save_json
from reproduction.models import _centre, fit_values, load_mechanism


@pytest.fixture
def log(tmp_path, monkeypatch):
    """Log of the job of this process."""
    path = tmp_path / "logs" / "fit.log"
    given = SimpleNamespace(log=[str(path)], wildcards={"study": "rats"}, params={})
    monkeypatch.setattr("__main__.snakemake", given, raising=False)
    return path


def after(first, second):
    """An exception that follows another."""
    second.__context__ = first
    return second


@pytest.mark.parametrize(
    ("problem", "start"),
    [
        (DataError("row 3: no number: correct it"), "Error in study rats: row 3: no number: corr"),
        (OSError(errno.EDQUOT, "", "a.csv"), "Error: disk quota exceeded: a.csv: free some space"),
        (after(OSError(errno.ENOSPC, ""), ValueError("closed")), "Error: no space left on device"),
        (
            OSError(errno.EACCES, "", "a.csv"),
            "Error: permission denied: a.csv: let this user write ",
        ),
        (MemoryError(), "Error: out of memory: ask for fewer draws"),
        (after(KeyboardInterrupt(), ValueError("open handle")), "Interrupted: start the run again"),
    ],
)
def test_what_is_not_of_the_program_is_one_sentence(log, problem, start):
    with pytest.raises(SystemExit) as raised, job():
        raise problem
    assert raised.value.code == 1
    text = log.read_text()
    assert text.startswith(start)
    assert text.count("\n") == 1


def test_other_errors_leave_their_traceback(log):
    problem = ValueError("no number")
    with pytest.raises(ValueError, match="no number") as raised, job():
        raise problem
    assert raised.value is problem
    assert log.read_text().startswith("Traceback")


def test_a_sentence_is_printed_if_the_log_is_on_the_full_disk(log, monkeypatch, capsys):
    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("pathlib.Path.write_text", full)
    with pytest.raises(SystemExit), job():
        pass
    assert "Error: no space left on device: " in capsys.readouterr().err


# Files and settings


SPHERE = Sphere(2)


def test_centres_are_of_each_data_set_or_one_for_all():
    true, fit = {"true_footpoint": np.eye(3)[:2]}, SimpleNamespace(footpoint=np.eye(3)[1:])
    # Numbers may be rounded.
    settings = (None, "truth", "fit", [0.0, 0.606, 0.808])
    found = [_centre(SPHERE, {"footpoint_centre": each}, "mine", true, fit) for each in settings]
    assert found[0] is None
    np.testing.assert_array_equal(found[1:3], [np.eye(3)[:2], np.eye(3)[1:]])
    np.testing.assert_allclose(found[3], [0.0, 0.6, 0.8], rtol=1e-15)
    for more, key in (({}, "support.footpoint_centre"), ({"centre_moved": None}, "release.centre")):
        for wrong in ([0.0, 1.0], [0.0, 3.0, 4.0]):
            with pytest.raises(DataError, match=f"key studies.mine.{key}: "):
                _centre(SPHERE, {"footpoint_centre": wrong} | more, "mine", {}, None)
    uneven = {"footpoint_centre": [1.0, 0.5, 0.0, 1.0]}
    with pytest.raises(DataError, match="not a point of SPD"):
        _centre(SPD(2), uneven, "mine", {}, None)


@pytest.mark.parametrize("moved", [None, 0.3])
def test_a_named_centre_of_releases_is_moved_as_far_as_wanted(moved):
    """By the same for all data sets, and wherever it is asked for."""
    support = {"footpoint_centre": "identity", "centre_moved": moved}
    found = [_centre(SPD(2), support, "mine", {}, None) for _ in range(2)]
    np.testing.assert_array_equal(*found)
    assert SPD(2).dist(np.eye(2), found[0]) == pytest.approx(moved or 0.0, abs=1e-12)


def loaded(folder, name, **changes):
    """Data, their fit, and a mechanism from the files of a job."""
    support = dict.fromkeys(("footpoint_centre", "footpoint_radius", "shooting_vector_length"))
    # What `Study.mechanism_settings` has of a study.
    settings = SimpleNamespace(
        mechanism={"name": name, "options": {}}, data_radius=0.5, support=support | changes
    )
    model = GeodesicModel(SPHERE)
    data = simulate_geodesic_data(np.random.default_rng(1), model, 2, 20, 0.01, 0.6)
    found = model.fit(data.covariates, data.points)
    save_arrays(folder / "data.npz", {}, covariates=data.covariates, points=data.points)
    save_json(folder / "fit.json", {}, **fit_values(found))
    paths = folder / "data.npz", folder / "fit.json"
    return data, found, load_mechanism(model, settings, "mine", *paths)


def test_mechanism_is_made_from_files(tmp_path):
    """Every data set has the support of its own."""
    data, found, whole = loaded(tmp_path, "kng_as_published", footpoint_centre="fit")
    np.testing.assert_array_equal(whole.points, data.points)
    np.testing.assert_array_equal(whole.bounds()["tau"], found.largest_residual)
    one = whole.take(slice(1, 2))
    np.testing.assert_array_equal(one.points, data.points[1:])
    radius = found.largest_residual[1] + 0.5
    np.testing.assert_allclose(one.support.shooting_vector_length, [2.0 * radius])
    target = one.footpoint_target(1.0)
    np.testing.assert_allclose(target.support.centre, found.footpoint[1:], rtol=1e-15)
    np.testing.assert_allclose(target.support.radius, [radius])


def test_refusal_names_the_file(tmp_path):
    with pytest.raises(DataError, match=r"^\S+data\.npz: \w"):
        loaded(tmp_path, "laplace", footpoint_centre="fit")
