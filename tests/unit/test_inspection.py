"""What the holder is told of the inputs of a release before it is made."""

from dataclasses import replace

import numpy as np
import pytest

from geodp import SPD, Assumptions, Euclidean, Sphere, inspect_inputs
from geodp.data import large
from geodp_release.ask.holder_warnings import suspicious_inputs

NUMBER = 40
SCALE = 0.05
PUBLIC = Assumptions(SPD(2), np.eye(2), 0.5, 1.0, (50.0, 90.0), NUMBER, residual_scale=SCALE)


def records():
    space, ages = PUBLIC.manifold, np.linspace(50.0, 90.0, NUMBER)
    identity = np.broadcast_to(np.eye(2), (NUMBER, 2, 2))
    steps = np.outer((ages - 70.0) / 40.0, [0.5, 0.0, 0.2])
    return ages, space.exp(identity, space.tangent(identity, steps))


def test_records_that_are_not_used_as_they_are():
    ages, matrices = records()
    found = inspect_inputs(PUBLIC, ages, matrices)
    assert found.words() == "All 40 records would be used as they are."
    ages[[3, 5]] = [20.0, 90.5]
    matrices[7] = [[1.0, 2.0], [2.0, 1.0]]
    matrices[9] *= 20.0
    found = inspect_inputs(PUBLIC, ages, matrices)
    rows = found.outside.tolist(), found.invalid.tolist(), found.far.tolist()
    assert rows == ([3, 5], [7], [9])
    assert not found.looks_wrong
    assert "2 of 40 records have a covariate outside the public range" in found.words()
    assert "(index 3, 5)" in found.words()
    assert "(row 6, 10)" in found.words(rows=range(0, 80, 2))
    assert "would" not in found.words(released=True)


def test_a_record_is_far_beyond_the_reach_of_the_support_alone():
    ages, matrices = records()
    # The middle of a geodesic within 0.5, half its length 0.5, and three typical residuals.
    reach = 1.0 + 3.0 * SCALE * np.sqrt(3.0)
    for distance, far in ((reach - 0.01, []), (reach + 0.01, [0])):
        matrices[0] = np.exp(distance / np.sqrt(2.0)) * np.eye(2)
        assert inspect_inputs(PUBLIC, ages, matrices).far.tolist() == far


def test_of_many_records_some_tell_of_all(monkeypatch):
    """Where the covariate comes back with every other record, too."""
    groups, rng = np.tile([50.0, 90.0], NUMBER // 2), np.random.default_rng(0)
    public = Assumptions(Euclidean(2), np.zeros(2), None, None, (50.0, 90.0), NUMBER)
    points = rng.normal(size=(NUMBER, 2))
    points[:, 0] += 1e3 * (groups > 70.0)
    monkeypatch.setattr(large.sampled, "__defaults__", (NUMBER // 2, 3))
    assert inspect_inputs(public, groups, points).words().startswith("All 40 records would be")
    points[7] += 1e3
    assert inspect_inputs(public, groups, points).far.tolist() == [7]
    points[:] = 0.0
    missed = sorted({*range(NUMBER)} - {*large.sampled(np.arange(NUMBER)).tolist()})[0]
    points[missed] = 1e3
    assert inspect_inputs(public, groups, points).far.tolist() == [missed]


def test_without_radii_a_record_is_far_from_most_others():
    """Two columns swapped in some rows; wherever most are, and however they follow a covariate."""
    rng, groups = np.random.default_rng(0), np.repeat([50.0, 90.0], NUMBER // 2)
    public = Assumptions(Euclidean(2), np.zeros(2), None, None, (50.0, 90.0), NUMBER)
    points = np.array([70.0, 1.7]) + rng.normal(size=(NUMBER, 2)) * [8.0, 0.1]
    points[:, 0] += 1e3 * (groups > 70.0)
    assert inspect_inputs(public, groups, points).words().startswith("All 40 records would be")
    points[:2] = points[:2, ::-1]
    found = inspect_inputs(public, groups, points)
    assert (found.far.tolist(), found.looks_wrong) == ([0, 1], False)
    assert "2 of 40 records lie far from most others, or" in found.words()
    points[2:6] = points[2:6, ::-1]
    assert inspect_inputs(public, groups, points).looks_wrong
    assert inspect_inputs(public, groups, 1e6 * points).far.tolist() == [*range(NUMBER)]
    # On the other side of a sphere.
    pole = np.array([0.0, 0.0, 1.0])
    there = Sphere(2).project(-pole + 0.05 * rng.normal(size=(NUMBER, 3)))
    there[:3] = there[:3, [2, 0, 1]]
    anywhere = Assumptions(Sphere(2), pole, None, None, (50.0, 90.0), NUMBER)
    assert inspect_inputs(anywhere, groups, there).far.tolist() == [0, 1, 2]


MISTAKES = {
    "years for days": lambda ages, matrices: (365.25 * ages, matrices),
    "one age": lambda ages, matrices: (np.full(NUMBER, 70.0), matrices),
    "other matrices": lambda ages, matrices: (ages, 1000.0 * matrices),
    "no matrices": lambda ages, matrices: (ages, matrices[:, ::-1]),
}


@pytest.mark.parametrize("mistake", MISTAKES.values(), ids=MISTAKES)
def test_mistakes_in_all_records_look_wrong(mistake):
    found = inspect_inputs(PUBLIC, *mistake(*records()))
    assert found.looks_wrong
    assert found.words().endswith("do not release.")


@pytest.mark.parametrize(("ages", "same"), [([np.nan, 60.0], True), ([np.nan, np.nan], False)])
def test_covariates_are_the_same_among_valid_records(ages, same):
    _, matrices = records()
    found = inspect_inputs(PUBLIC, np.resize(ages, NUMBER), matrices)
    assert found.one_covariate == same
    assert found.looks_wrong


@pytest.mark.parametrize(
    ("limits", "ends", "told"),
    [
        ((50.0, 90.0), (50.0, 90.0), True),
        ((51.0, 89.0), (51.2, 88.7), True),
        ((51.0, 89.0), (52.2, 88.7), False),
        # Round limits are those of others, too.
        ((50.0, 90.0), (50.2, 89.7), False),
    ],
)
def test_public_inputs_that_are_those_of_the_data_are_told(limits, ends, told):
    ages, (_, matrices) = np.linspace(*ends, NUMBER), records()
    matrices[7] = np.eye(2)
    found = suspicious_inputs(replace(PUBLIC, covariate_range=limits), ages, matrices)
    assert any(each.startswith("covariate_range is the range") for each in found) == told
    assert any(each.startswith("centre is a record of the data") for each in found)
