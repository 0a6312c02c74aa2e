"""Files of releases: what comes back, what is refused, and that no datum is in them."""

import errno
import json
import os
import pickle
import re
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from conftest import SPACES

from geodp import DataError, GeomstatsManifold, PublicInputs, Release, release_geodesic
from geodp.manifolds.landmark_maps import LandmarkMap
from geodp.manifolds.registry import make_manifold
from geodp.release import files
from geodp.samplers.public_points import Stage

STAGES = Stage("1/4", 64), Stage("1/2", 64, (0.2, 0.4))
NUMBER = 5


def records(manifold, seed=1, number=NUMBER):
    rng = np.random.default_rng(seed)
    centre = manifold.random_point(rng)
    away = manifold.random_tangent(rng, np.broadcast_to(centre, (number, *centre.shape)))
    points = manifold.exp(centre, 0.1 * away)
    return centre, rng.uniform(20.0, 70.0, number), points


def released(manifold, number=NUMBER, seed=1):
    centre, covariates, points = records(manifold, seed, number)
    # Numbers of other types than float, as a caller may give them.
    public = PublicInputs(
        manifold, centre, np.float64(0.7), 1, [20, np.float64(70.1)], 0.1, 0.3, np.int64(number)
    )
    return release_geodesic(public, covariates, points, "0.750", STAGES)


@pytest.fixture(scope="module")
def example(manifolds):
    return released(manifolds["S2"])


@pytest.fixture(scope="module")
def manifolds():
    return {name: make_manifold(*arguments) for name, arguments in SPACES.items()}


def bits(array):
    return array.dtype, array.shape, array.tobytes()


ALL = ("R3", "S2", "S4", "H1", "H2", "SPD2", "SPD3", "Kendall4", "Kendall8", "Reduced4of50")


@pytest.mark.parametrize("name", ALL)
def test_what_is_loaded_is_what_was_saved(name, manifolds, tmp_path):
    release = released(manifolds[name])
    path = tmp_path / "release.json"
    release.save(path)
    assert [file.name for file in tmp_path.iterdir()] == ["release.json"]
    found = Release.load(path)
    for given, array in ((release, "footpoint"), (release, "shooting_vector")):
        assert bits(getattr(found, array)) == bits(getattr(given, array))
    assert bits(found.public.centre) == bits(release.public.centre)
    for key in ("number", *files.NUMBERS):
        assert getattr(found.public, key) == getattr(release.public, key)
    assert found.public.covariate_range == (20.0, 70.1)
    assert found.public.manifold.name == release.public.manifold.name
    assert type(found.public.manifold) is type(release.public.manifold)
    assert found.guarantee == release.guarantee
    assert str(found.guarantee.epsilon) == "0.750"
    assert found.sampler == release.sampler
    ages = [20.0, 33.3, 70.0]
    assert bits(found.predict(ages)) == bits(release.predict(ages))
    assert str(found) == str(release)
    # A second file has the same text.
    found.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()


def test_a_landmark_map_of_ones_own_comes_back(tmp_path):
    from geodp.manifolds.kendall import ReducedPlanarShapes

    rng = np.random.default_rng(2)
    matrix = rng.standard_normal((3, 6)) + 1j * rng.standard_normal((3, 6))
    matrix[0, 0] = complex(-0.0, -0.0)
    release = released(ReducedPlanarShapes(LandmarkMap(matrix, "three numbers")))
    release.save(tmp_path / "release.json")
    found = Release.load(tmp_path / "release.json").public.manifold
    assert bits(found.landmark_map.matrix) == bits(matrix)
    assert found.name == "planar shapes of 6 landmarks, three numbers"


class Space(GeomstatsManifold):
    """As of geomstats: without a name that a file could have."""

    def __init__(self):
        self.name = "some space"


def test_a_space_without_a_name_is_refused(example, tmp_path):
    public = example.public
    other = object.__new__(PublicInputs)
    other.__dict__.update(vars(public), manifold=Space())
    release = Release(**{**vars(example), "public": other})
    with pytest.raises(DataError, match=r"^some space cannot be written to a file.*yourself$"):
        release.save(tmp_path / "release.json")
    assert not list(tmp_path.iterdir())


# No datum


def test_neither_files_nor_pickles_nor_words_hold_a_datum(manifolds, tmp_path):
    manifold = manifolds["SPD2"]
    centre, covariates, points = records(manifold)
    labels = [f"subject-{index}" for index in range(NUMBER)]
    public = PublicInputs(manifold, centre, 0.7, 1.0, (20.0, 70.0), 0.1, 0.3, NUMBER)
    release = release_geodesic(public, covariates, points, "0.75", STAGES, labels)
    release.save(tmp_path / "release.json")
    saved = (tmp_path / "release.json").read_text()
    text = saved + str(release) + repr(release)
    for number in (*covariates, *np.ravel(points)):
        assert repr(float(number)) not in text
    assert "subject-" not in text
    packed = pickle.dumps(release)
    for number in (*covariates, *np.ravel(points)):
        assert np.float64(number).tobytes() not in packed
    assert b"subject-" not in packed
    assert bits(pickle.loads(packed).footpoint) == bits(release.footpoint)
    # Nor does their number of bytes follow that of the records.
    many, few = (len(pickle.dumps(released(manifold, number))) for number in (150, 30))
    assert abs(many - few) < 64


# Files


def test_a_file_is_never_overwritten(example, tmp_path):
    path = tmp_path / "release.json"
    path.write_text("something else")
    with pytest.raises(DataError, match="is there already and a release is never overwritten"):
        example.save(str(path))
    assert path.read_text() == "something else"
    (tmp_path / "link.json").symlink_to(tmp_path / "nothing")
    with pytest.raises(DataError, match="is there already"):
        example.save(tmp_path / "link.json")
    assert sorted(file.name for file in tmp_path.iterdir()) == ["link.json", "release.json"]


def test_of_two_at_once_one_is_there(example, tmp_path):
    """Each removes its own partial file alone, as do others that a killed process left."""
    path = tmp_path / "release.json"
    left = tmp_path / f".release.json.{os.getpid()}"
    left.write_text("of a killed process")

    def save(_):
        try:
            example.save(path)
        except DataError as problem:
            return str(problem)
        return ""

    with ThreadPoolExecutor(8) as pool:
        told = list(pool.map(save, range(16)))
    assert told.count("") == 1
    assert all("is there already" in each for each in told if each)
    assert sorted(file.name for file in tmp_path.iterdir()) == [left.name, "release.json"]
    Release.load(path)
    assert path.stat().st_mode & 0o777 == left.stat().st_mode & 0o777


@pytest.mark.parametrize("path", ["", ".", "folder"])
def test_a_folder_is_no_file(example, tmp_path, monkeypatch, path):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "folder").mkdir()
    with pytest.raises(DataError, match="is a folder: give the path of a file"):
        example.save(path)


def test_a_release_can_be_compared_and_hashed(example):
    assert example == example
    assert len({example, example}) == 1


def test_without_hard_links_it_is_moved(example, tmp_path, monkeypatch):
    def no_links(*_):
        raise OSError(errno.EPERM, "Operation not permitted")

    monkeypatch.setattr(os, "link", no_links)
    example.save(tmp_path / "release.json")
    with pytest.raises(DataError, match="is there already"):
        example.save(tmp_path / "release.json")
    assert [file.name for file in tmp_path.iterdir()] == ["release.json"]


def test_a_file_is_whole_or_not_there(example, tmp_path, monkeypatch):
    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\): give"):
        example.save(tmp_path / "release.json")
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match=r"cannot be written \(No such file or directory\)"):
        example.save(tmp_path / "nowhere" / "release.json")


def change(document, *place, to):
    for key in place[:-1]:
        document = document[key]
    document[place[-1]] = to


@pytest.mark.parametrize(
    ("place", "to", "reason"),
    [
        (["format"], "geodp release 2", "format is not"),
        (["footpoint"], [1.0, 0.0], r"its footpoint is not an array of shape \(3,\)"),
        (["footpoint"], [1.0, 0.0, "x"], "its footpoint is not an array"),
        (["footpoint"], {"real": [1, 0, 0], "imaginary": [0, 0, 0]}, "its footpoint is not"),
        (["footpoint"], [2.0, 0.0, 0.0], "its footpoint is no point of sphere"),
        (["shooting_vector"], [5.0, 5.0, 5.0], "not tangent at the footpoint"),
        (["public"], None, "its public is missing"),
        (["public", "manifold", "name"], "torus", "no manifold 'torus' of size 2: give one"),
        (["public", "manifold", "name"], ["sphere"], "no manifold"),
        (["public", "manifold", "size"], 10**9, "no manifold 'sphere' of size 1000000000"),
        (["public", "manifold", "landmark_map"], {"matrix": 1}, "landmark map: it is not a matrix"),
        (["public", "number"], True, "its number is missing or of another kind"),
        (["public", "loss_scale"], "0.3", "its loss_scale is missing or no number"),
        (["public", "loss_scale"], 10**400, "its loss_scale is too large"),
        (["public", "loss_scale"], -1.0, "public input loss_scale is -1.0: give"),
        (["public", "covariate_range"], [1.0], "its covariate_range is not two numbers"),
        (["public", "footpoint_radius"], 1e-9, "outside the support"),
        (["guarantee", "epsilon"], "0", "a budget must be above zero"),
        (["guarantee", "epsilon"], 0.75, "its epsilon is missing or of another kind"),
        (["guarantee", "hypotheses"], [], "its hypotheses are not those of the theorem"),
        (["guarantee", "hypotheses", 1, "state"], "holds", "its hypotheses are not those"),
        (["guarantee", "hypotheses", 1, "statement"], "all is well", "its hypotheses are not"),
        (["guarantee", "hypotheses", 0], "H1", "a hypothesis does not have"),
        (["guarantee", "hypotheses", 0, "state"], "fails", "neither holds nor is assumed"),
        (["sampler"], 1, "its sampler is missing"),
    ],
)
def test_a_changed_file_is_one_sentence(place, to, reason, example, tmp_path):
    path = tmp_path / "release.json"
    example.save(path)
    document = json.loads(path.read_text())
    change(document, *place, to=to)
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=reason) as raised:
        Release.load(path)
    message = str(raised.value)
    assert message.startswith(f"{path} is not a release")
    assert "\n" not in message


@pytest.mark.parametrize(
    "content",
    [b"", b"x,y\n1,2\n", b"[]", b'{"format": 1}', b"\xff\xfe{", b"[" * 100_000, b"NaN"],
    ids=["empty", "table", "list", "other", "bytes", "deep", "nan"],
)
def test_a_foreign_file_is_one_sentence(content, tmp_path):
    path = tmp_path / "release.json"
    path.write_bytes(content)
    with pytest.raises(DataError, match=r"is not a release, since it.*: give a file as Release"):
        Release.load(path)


def test_a_cut_off_file_is_one_sentence(example, tmp_path):
    path = tmp_path / "release.json"
    example.save(path)
    path.write_text(path.read_text()[:-20])
    with pytest.raises(DataError, match="it is not JSON text"):
        Release.load(path)
    for other, why in ((tmp_path, "directory"), (tmp_path / "none.json", "No such file")):
        with pytest.raises(DataError, match=f"cannot be read .*{why}"):
            Release.load(other)


# Words


def test_a_release_says_what_it_is(example):
    lines = str(example).splitlines()
    assert max(map(len, lines)) <= 100
    words = re.sub(r"\n    (?=\w)", " ", str(example))
    assert words.startswith("A geodesic on sphere S^2, released with pure 0.750-DP for the ")
    for part in (
        "Footpoint, where the covariate is 45.05:",
        "Shooting vector, from covariate 20 to 70.1, of length ",
        "  H2: the public inputs, the budget",
        "  number of subjects: 5",
        "  footpoints within 0.7 of the centre",
        "exact choice among 64 public points of the support with budget 1/4",
    ):
        assert part in words
    assert all(statement in words for statement in example.guarantee.unchecked())
    assert repr(example) == "<Release on sphere S^2: 5 subjects, epsilon 0.750>"


def test_words_of_many_landmarks_stay_short(manifolds):
    assert len(str(released(manifolds["Kendall50"])).splitlines()) < 50
