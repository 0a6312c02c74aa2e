"""Files of releases: what comes back, what is refused, and that no datum is in them."""

import errno
import json
import os
import re
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from fractions import Fraction
from unittest.mock import Mock

import numpy as np
import pytest
from cohort import REFUSALS
from conftest import space_of

from geodp import (
    Assumptions,
    DataError,
    Euclidean,
    GeomstatsManifold,
    PrivacyBudget,
    Release,
    ReleasePlan,
    release_geodesic,
)
from geodp.manifolds.registry import make_manifold
from geodp_release import stages
from geodp_release.promise.public_inputs import ADD_OR_REMOVE, REPLACE
from geodp_release.run.subjects import ONE_EACH
from geodp_release.show import document as files

NUMBER = 5
EPSILON, RHO = PrivacyBudget("0.750"), PrivacyBudget("0.10", "rho", "1e-6")


def stages_of(budget, neighbours):
    """One of each kind that a release may have."""
    unit, total = budget.unit, budget.exact
    epsilon = Fraction(1, 5)
    found = (
        stages.PointsStage.of(epsilon, unit, 64, 0.31),
        stages.MomentsStage(total / 12, unit),
        stages.NoisyStep(total / 7, unit, 0.1, 0.9, (0.01, 1.0 / 7.0)),
    )
    if neighbours == REPLACE:
        return found
    some = total / 40
    scale, far = stages.ScaleStage(some, unit, share=0.75), stages.FarStage(some, unit)
    return (
        stages.CountStage(some, unit),
        stages.MatrixStage(some, unit, clip=0.2, reach=5.0 / 3.0),
        *(*found, scale, stages.TailStage(some / 4, unit)),
        stages.LastStep(some / 4, unit, 2.0, is_relative=True, share=Fraction(1, 4), unlike=0.2),
        stages.ProductsStage(some / 4, unit),
        stages.ProductsStage(some / 4, unit, directions=True),
        *(scale, far),
    )


def released(manifold, budget=EPSILON, neighbours=REPLACE):
    rng = np.random.default_rng(1)
    centre = manifold.random_point(rng)
    away = manifold.random_tangent(rng, np.broadcast_to(centre, (NUMBER, *centre.shape)))
    # Numbers of other types than float, as a caller may give them.
    public = manifold, centre, np.float64(0.7), 1, [20, np.float64(70.1)], np.int64(NUMBER)
    others = {"residual_scale": 0.1, "sources": {"centre": "a random point"}}
    others |= {"neighbours": neighbours, "transformation": "log"}
    assumptions = Assumptions(*public, **others)
    found = stages_of(budget, neighbours)
    plan = ReleasePlan(assumptions, budget, found, 0.25, 0.1, np.float64(1.0 / 3.0))
    covariates, points = rng.uniform(20.0, 70.0, NUMBER), manifold.exp(centre, 0.1 * away)
    return release_geodesic(plan, covariates, points, ONE_EACH)


@pytest.fixture(scope="module")
def example():
    return released(make_manifold("sphere", 2))


@pytest.fixture
def document(example, tmp_path):
    """What the file of a release holds."""
    example.save(tmp_path / "whole.json")
    return json.loads((tmp_path / "whole.json").read_text())


def bits(array):
    return array.dtype, array.shape, array.tobytes()


KINDS = [
    *((name, EPSILON, REPLACE) for name in ("R3", "S2", "H2", "SPD2", "Kendall4", "Reduced4of50")),
    *(("S2", *kind) for kind in ((EPSILON, ADD_OR_REMOVE), (RHO, REPLACE), (RHO, ADD_OR_REMOVE))),
]


@pytest.mark.parametrize(("name", "budget", "neighbours"), KINDS)
def test_what_is_loaded_is_what_was_saved(name, budget, neighbours, tmp_path):
    release = released(space_of(name), budget=budget, neighbours=neighbours)
    path = tmp_path / "release.json"
    release.save(path)
    assert os.listdir(tmp_path) == ["release.json"]
    found = Release.load(path)
    for array in ("footpoint", "shooting_vectors", "moments", "reached"):
        assert bits(getattr(found, array)) == bits(getattr(release, array))
    assert (found.number, found.far) == (release.number, release.far)
    given, assumptions = release.plan.assumptions, found.plan.assumptions
    assert bits(assumptions.centre) == bits(given.centre)
    for key in vars(given).keys() - {"manifold", "centre"}:
        assert getattr(assumptions, key) == getattr(given, key)
        assert type(getattr(assumptions, key)) is type(getattr(given, key))
    assert assumptions.covariate_range == (20.0, 70.1)
    assert assumptions.manifold.name == given.manifold.name
    assert type(assumptions.manifold) is type(given.manifold)
    assert found.plan.budget == release.plan.budget == budget
    assert str(found.plan.budget.amount) == str(budget.amount)
    assert found.plan.stages == release.plan.stages
    for key in files.PredictedDocument.model_fields:
        assert getattr(found.plan, key) == getattr(release.plan, key)
    assert found.guarantee == release.guarantee
    assert str(found) == str(release)
    assert len(str(found).splitlines()) < 36 + 2 * len(release.plan.stages)
    # A second file has the same text.
    found.save(tmp_path / "again.json")
    assert (tmp_path / "again.json").read_text() == path.read_text()


def test_assumed_moments_of_words_are_loaded_whatever_rounding_did(tmp_path):
    words = {"words": list("abcdefg")}
    public = {"basis": words, "covariate_range": (0.0, 6.0), "covariate_spread": "two groups"}
    assumptions = Assumptions(Euclidean(1), [0.0], 1.0, 1.0, subjects=2, **public)
    step = stages.NoisyStep(Fraction(1, 2), clip=0.1, prior=(1.0,) * 7)
    plan = ReleasePlan(assumptions, EPSILON, (step,), 1.0, 1.0, 1.0)
    release = release_geodesic(plan, [0.0, 6.0], np.zeros((2, 1)), ONE_EACH)
    release.save(tmp_path / "release.json")
    assert bits(Release.load(tmp_path / "release.json").moments) == bits(release.moments)


def test_a_space_without_a_name_is_refused(example, tmp_path):
    space = type("Space", (GeomstatsManifold,), {"__init__": lambda self: None})()
    space.name = "some space"
    other = object.__new__(Assumptions)
    other.__dict__.update(vars(example.plan.assumptions), manifold=space)
    release = replace(example, plan=replace(example.plan, assumptions=other))
    with pytest.raises(DataError, match=r"^some space cannot be written to a file.*yourself$"):
        release.save(tmp_path / "release.json")
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("links", [True, False])
def test_a_file_is_never_overwritten(example, tmp_path, monkeypatch, links):
    if not links:
        monkeypatch.setattr(os, "link", failing(errno.EPERM))
    path = tmp_path / "release.json"
    path.write_text("something else")
    (tmp_path / "link.json").symlink_to(tmp_path / "nothing")
    for taken in (str(path), tmp_path / "link.json"):
        with pytest.raises(DataError, match="is there already and a release is never overwritten"):
            example.save(taken)
    assert path.read_text() == "something else"
    example.save(tmp_path / "new.json")
    assert sorted(os.listdir(tmp_path)) == ["link.json", "new.json", "release.json"]


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
    assert sorted(os.listdir(tmp_path)) == [left.name, "release.json"]
    Release.load(path)
    assert path.stat().st_mode & 0o777 == left.stat().st_mode & 0o777


def failing(number):
    return Mock(side_effect=OSError(number, os.strerror(number)))


def test_a_file_is_whole_or_not_there(example, tmp_path, monkeypatch):
    monkeypatch.setattr(os, "fsync", failing(errno.ENOSPC))
    with pytest.raises(DataError, match=r"cannot be written \(No space left on device\): give"):
        example.save(tmp_path / "release.json")
    assert not list(tmp_path.iterdir())
    with pytest.raises(DataError, match=r"cannot be written \(No such file or directory\)"):
        example.save(tmp_path / "nowhere" / "release.json")
    for folder in ("", ".", tmp_path):
        with pytest.raises(DataError, match="is a folder: give the path of a file"):
            example.save(folder)


CHANGES = [
    *REFUSALS["files"],
    ("plan.assumptions.shooting_vector_length", 10**400, "length: 1000.* give a number or"),
    ("plan.budget.amount", "0." + "1" * 99, "100 characters at most"),
    ("plan.stages.2.budget", "9" * 401, "the budget of a stage is no fraction"),
]


@pytest.mark.parametrize(("place", "to", "reason"), CHANGES, ids=range(len(CHANGES)))
def test_a_changed_file_is_one_sentence(place, to, reason, document, tmp_path):
    path, part = tmp_path / "release.json", document
    *before, last = (int(key) if key.isdigit() else key for key in place.split("."))
    for key in before:
        part = part[key]
    part[last] = to
    path.write_text(json.dumps(document))
    with pytest.raises(DataError, match=reason) as raised:
        Release.load(path)
    message = str(raised.value)
    assert message.startswith(f"{path} is not a release: ")
    assert "\n" not in message


def test_a_foreign_file_is_one_sentence(document, tmp_path):
    path = tmp_path / "release.json"
    cut_off = json.dumps(document)[:-20].encode()
    others = [b"[]", b'{"format": 1}']
    no_json = [b"", b"x,y\n1,2\n", b"\xff\xfe{", b"[" * 100_000, b"NaN", cut_off]
    for content in others + no_json:
        path.write_bytes(content)
        what = "its format is not" if content in others else "it is not JSON text"
        with pytest.raises(DataError, match=f"is not a release: {what}.*: give a file as Release"):
            Release.load(path)
    for other, why in ((tmp_path, "directory"), (tmp_path / "none.json", "No such file")):
        with pytest.raises(DataError, match=f"cannot be read .*{why}"):
            Release.load(other)


def test_a_release_says_what_it_is(example):
    assert max(map(len, str(example).splitlines())) <= 100
    words = re.sub(r"\n    (?=\w)", " ", str(example))
    for part in (
        "A geodesic by least squares on sphere S^2, released with pure 0.750-differential privacy",
        "  radius of that ball: 0.7",
        *(stage.describe() for stage in example.plan.stages),
        *(each.by_holder for each in example.guarantee.hypotheses),
    ):
        assert part in words
    # They can be compared.
    assert {example} == {example}
    assert repr(example) == "<Release by least squares on sphere S^2: 5 subjects, epsilon 0.750>"
