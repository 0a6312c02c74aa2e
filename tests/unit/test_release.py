"""Releases: what they hold, what they say of themselves, and what is refused."""

import logging
from dataclasses import fields, replace
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms import certified
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, map_records
from geodp.release import release
from geodp.release.hypotheses import (
    FAILS,
    HOLDS,
    Hypothesis,
    ReleaseGuarantee,
    check_hypotheses,
)
from geodp.release.planner import Planner
from geodp.release.release import release_geodesic
from geodp.release.stages import plan_release
from geodp.samplers.public_points import Stage

SPHERE = Sphere(2)
FEW = (Stage(Fraction(1), 256),)


def example(manifold=SPHERE, number=20, seed=1):
    rng = np.random.default_rng(seed)
    centre = np.eye(2) if isinstance(manifold, SPD) else np.eye(3)[0]
    public = PublicInputs(manifold, centre, 0.8, 1.5, (20.0, 70.0), 0.1, 0.1, number, 0.1)
    away = manifold.random_tangent(rng, np.broadcast_to(centre, (number, *centre.shape)))
    return public, rng.uniform(20.0, 70.0, number), manifold.exp(centre, 0.1 * away)


def mechanism(score="combined"):
    public, *records = example()
    return CertifiedDistribution(public, map_records(public, *records), score)


def checked(*stages):
    (state,) = stages[0].public.support.draw(np.random.default_rng(2), (1,))
    return check_hypotheses(stages, state)


def state_of(hypotheses, name):
    states = [each.state for each in hypotheses if each.name == name]
    return FAILS if FAILS in states else states[0]


# Words


def test_the_guarantee_is_pure_and_names_its_assumptions():
    found = ReleaseGuarantee(Decimal("1.0"), checked(mechanism()))
    assert found.holds
    assert found.words() == (
        "pure 1.0-DP for the replacement of one subject, by an exact draw, assuming H1, H2, H4, H8"
    )
    assert len(found.unchecked()) == 4
    for statement, words in zip(
        found.unchecked(),
        ("each has one record", "without looking at the data", "cut locus", "nothing else"),
        strict=True,
    ):
        assert words in statement
    checked_names = {each.name for each in found.hypotheses if each.state == HOLDS}
    assert checked_names == {"H1", "H3", "H4", "H5", "H6", "H7", "H8"}


def test_nothing_is_guaranteed_without_its_hypotheses():
    nothing = ReleaseGuarantee(Decimal(1), ())
    assert not nothing.holds
    assert nothing.words() == "no guarantee: no hypothesis was checked"
    failing = (*checked(mechanism()), Hypothesis("H5", "anything", FAILS))
    found = ReleaseGuarantee(Decimal(1), failing)
    assert not found.holds
    assert found.words() == "no guarantee: H5 of the theorem fails"


# Hypotheses


class Doubled(CertifiedDistribution):
    def score(self, states):
        return 2.0 * super().score(states)


def test_hypotheses_that_fail_are_found(monkeypatch):
    right = mechanism()
    public, records = right.public, right.records
    assert FAILS not in [each.state for each in checked(right)]
    # H1: another number.
    fewer = replace(public, number=19)
    assert state_of(checked(CertifiedDistribution(fewer, records)), "H1") == FAILS
    # H3: covariates that were not clipped.
    wide = replace(records, covariates=3.0 * records.covariates)
    assert state_of(checked(CertifiedDistribution(public, wide)), "H3") == FAILS
    # H4: a score that nobody proved anything of; and one with a bound of its own.
    assert state_of(checked(Doubled(public, records)), "H4") == FAILS
    assert state_of(checked(mechanism("gradient_by_blocks")), "H4") == FAILS
    # H7: a state outside the support.
    p, v = right.space.parts(public.support.draw(np.random.default_rng(3), (2,)))
    outside = right.space.join(p, v * 3.0 / SPHERE.expand(SPHERE.norm(p, v)))
    assert state_of(check_hypotheses([right], outside[0]), "H7") == FAILS
    # H5: contributions that are not clipped.
    monkeypatch.setattr(certified, "clip_factors", lambda norms, limit: np.ones_like(norms))
    assert state_of(checked(right), "H5") == FAILS


def test_one_stage_that_fails_is_enough():
    right = mechanism()
    assert state_of(checked(right, Doubled(right.public, right.records)), "H4") == FAILS
    assert state_of(check_hypotheses([], right.public.support.origin), "H4") == FAILS


def test_losses_above_one_are_found(monkeypatch):
    right = CertifiedDistribution.sums

    def tripled(self, states):
        found = right(self, states)
        return replace(found, loss=3.0 * found.loss)

    monkeypatch.setattr(CertifiedDistribution, "sums", tripled)
    assert state_of(checked(mechanism()), "H6") == FAILS


# Releases


@pytest.mark.parametrize("manifold", [SPHERE, SPD(2)], ids=lambda space: space.name)
def test_a_release_is_a_geodesic_in_the_support(manifold):
    public, covariates, points = example(manifold)
    found = release_geodesic(public, covariates, points, "1.0", FEW)
    assert manifold.invalid_reason(found.footpoint) is None
    state = public.support.space.join(found.footpoint, found.shooting_vector)
    assert public.support.contains(state)
    assert found.guarantee.words().startswith("pure 1.0-DP")
    ends = found.predict([20.0, 45.0, 70.0])
    np.testing.assert_allclose(ends[1], found.footpoint, atol=1e-9)
    length = manifold.norm(found.footpoint, found.shooting_vector)
    half = manifold.dist(ends[0], found.footpoint)
    assert half == pytest.approx(0.5 * length, abs=1e-6)


def test_public_points_are_all_that_is_released():
    public, covariates, points = example()
    states, _ = public.support.even_points(256)
    found = release_geodesic(public, covariates, points, "1.0", FEW)
    state = public.support.space.join(found.footpoint, found.shooting_vector)
    assert np.sum(np.all(states == state, axis=(-1, -2))) == 1


def test_a_release_holds_nothing_else_of_the_data(monkeypatch, capfd, caplog):
    """Fields, attributes, what is printed, and what is logged."""
    caplog.set_level(logging.DEBUG)
    public, covariates, points = example()
    one, other = (
        release_geodesic(public, covariates, points + shift, "1.0", FEW) for shift in (0.0, 1e-3)
    )
    names = [field.name for field in fields(release.Release)]
    assert names == ["footpoint", "shooting_vector", "public", "guarantee", "sampler"]
    assert set(vars(one)) == set(names)
    assert one.guarantee == other.guarantee
    assert one.sampler == other.sampler
    assert one.public is public
    captured = capfd.readouterr()
    assert captured.out + captured.err + caplog.text == ""


def test_there_is_no_seed_and_draws_differ():
    public, covariates, points = example()
    drawn = [release_geodesic(public, covariates, points, "1.0", FEW).footpoint for _ in range(4)]
    assert len(np.unique(np.round(drawn, 6), axis=0)) > 1
    assert "seed" not in release_geodesic.__code__.co_varnames


def test_refusals(monkeypatch):
    public, covariates, points = example()
    with pytest.raises(DataError, match="above zero"):
        release_geodesic(public, covariates, points, "0", FEW)
    with pytest.raises(DataError, match="do not add up"):
        release_geodesic(public, covariates, points, "2", FEW)
    with pytest.raises(DataError, match="is not the public number"):
        release_geodesic(public, covariates[1:], points[1:], "1", FEW)
    with pytest.raises(DataError, match="one data set"):
        release_geodesic(public, covariates[None], points[None], "1", FEW)
    subjects = np.arange(20)
    subjects[3] = 11
    with pytest.raises(DataError, match="some have several records, for which no guarantee"):
        release_geodesic(public, covariates, points, "1", FEW, subjects)
    # Whatever fails, nothing is released.
    monkeypatch.setattr(certified, "clip_factors", lambda norms, limit: np.ones_like(norms))
    with pytest.raises(DataError, match="nothing is released, since there is no guarantee: H5"):
        release_geodesic(public, covariates, points, "1", FEW)


def test_the_budgets_of_two_stages_add_up():
    public, covariates, points = example()
    stages = Stage("1/3", 128), Stage("2/3", 128, (0.2, 0.4))
    found = release_geodesic(public, covariates, points, "1.0", stages, np.arange(20))
    assert found.guarantee.words().startswith("pure 1.0-DP")
    assert found.sampler.count("among 128 public points") == 2
    assert "budget 1/3" in found.sampler


def test_budgets_of_stages_are_added_exactly():
    public, covariates, points = example()
    # A sum of these in floating point is one.
    radii = (None, (0.1, 0.1), (0.1, 0.1))
    stages = tuple(map(Stage, (1.0, 1e-17, 1e-17), (64, 64, 64), radii))
    with pytest.raises(DataError, match="do not add up"):
        release_geodesic(public, covariates, points, "1", stages)
    with pytest.raises(DataError, match="give each one above zero"):
        Stage(0, 64)


def test_stages_have_to_be_given_in_their_form():
    public, covariates, points = example()
    for stages in (
        (),
        (Stage("1/2", 64), Stage("1/2", 64)),
        (Stage("1/2", 64, (0.1, 0.1)), Stage("1/2", 64, (0.1, 0.1))),
    ):
        with pytest.raises(DataError, match="give those of plan_release, or a first one without"):
            release_geodesic(public, covariates, points, "1", stages)
    wrong = ((0.1, 0.0), (np.nan, 1.0), (0.1,), 0.1, (0.1, 0.1, 0.1))
    for points, radii in ((100, None), *((64, radii) for radii in wrong)):
        with pytest.raises(DataError, match="a stage has"):
            Stage(1, points, radii)


def test_planned_stages_are_released_by():
    public, covariates, points = example()
    planner = Planner.of(SPHERE, *public.support.radii, residual_scale=0.03)
    plan = plan_release(planner, public.number, "1.0", points=1 << 10)
    public = replace(public, **vars(plan.scales))
    found = release_geodesic(public, covariates, points, "1.0", plan.stages)
    assert found.sampler == ", then ".join(stage.describe(public) for stage in plan.stages)
    assert found.guarantee.words().startswith("pure 1.0-DP")
