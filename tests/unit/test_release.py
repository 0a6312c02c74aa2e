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
from geodp.mechanisms.certified import Certified, PublicInputs, map_records
from geodp.release import hypotheses as guarantee
from geodp.release import release
from geodp.release.hypotheses import ASSUMED, FAILS, HOLDS, Guarantee, Hypothesis, check_hypotheses
from geodp.release.planner import Planner
from geodp.release.stages import plan_release
from geodp.samplers.public_points import Stage, two_stages

SPHERE = Sphere(2)
FEW = (Stage(Fraction(1), 256),)


def example(manifold=SPHERE, number=20, seed=1):
    rng = np.random.default_rng(seed)
    centre = np.eye(2) if isinstance(manifold, SPD) else np.eye(3)[0]
    public = PublicInputs(manifold, centre, 0.8, 1.5, (20.0, 70.0), 0.1, 0.1, number, 0.1)
    away = manifold.random_tangent(rng, np.broadcast_to(centre, (number, *centre.shape)))
    return public, rng.uniform(20.0, 70.0, number), manifold.exp(centre, 0.1 * away)


def checked(law, exact=True):
    states = law.public.support.draw(np.random.default_rng(2), (2,))
    return check_hypotheses([law], states, exact)


def state_of(hypotheses, name):
    states = [each.state for each in hypotheses if each.name == name]
    return FAILS if FAILS in states else states[0]


def words(error="none", distance=0.0, budget="1.0", hypotheses=None):
    public, *records = example()
    if hypotheses is None:
        hypotheses = checked(Certified(public, map_records(public, *records)))
    return Guarantee(Decimal(budget), error, distance, hypotheses).words()


# Words


def test_only_exact_draws_are_called_pure():
    assert words() == "pure 1.0-DP for the replacement of one subject, by an exact draw"
    for error in ("proved", "estimated"):
        found = words(error, 1e-7)
        assert "pure" not in found
        assert "exact" not in found
        assert found.startswith("(1.0, 3.8e-7)-DP for the replacement of one subject, ")
        assert found.endswith(f"delta = 3.8e-7, sampler error {error}")


@pytest.mark.parametrize(("error", "distance"), [("none", 1e-9), ("proved", 0.0), ("guess", 0.1)])
def test_an_error_goes_with_a_distance_and_no_other(error, distance):
    with pytest.raises(ValueError, match=r"none of|exact draw"):
        Guarantee(Decimal(1), error, distance, ())


@pytest.mark.parametrize("distance", [1.01e-9, 1e-4, 0.0123, 0.2499])
@pytest.mark.parametrize("budget", ["0.5", "1.0", "2.25"])
def test_delta_is_not_smaller_in_words(budget, distance):
    found = Guarantee(Decimal(budget), "estimated", distance, checked_example())
    delta = (1.0 + np.exp(float(budget))) * distance
    assert found.delta == pytest.approx(delta)
    if delta >= 1.0:
        assert found.words() == "no guarantee: the sampler's error is too large for any"
        assert not found.holds
        return
    printed = float(found.words().split("delta = ")[1].split(",")[0])
    assert delta <= printed <= 1.11 * delta


def checked_example():
    public, *records = example()
    return checked(Certified(public, map_records(public, *records)))


def test_nothing_is_guaranteed_without_its_hypotheses():
    assert words(hypotheses=()) == "no guarantee: no hypothesis was checked"
    failing = (*checked_example(), Hypothesis("H5", "anything", FAILS))
    assert words(hypotheses=failing) == "no guarantee: H5 of the theorem fails"
    assert not Guarantee(Decimal(1), "none", 0.0, failing).holds


def test_what_code_cannot_check_is_listed():
    found = Guarantee(Decimal(1), "none", 0.0, checked_example())
    assert found.holds
    assert [each.name for each in found.hypotheses if each.state == ASSUMED] == ["H1", "H2", "H8"]
    assert len(found.unchecked()) == 3
    assert "chosen without looking at the data" in found.unchecked()[1]
    checked_names = {each.name for each in found.hypotheses if each.state == HOLDS}
    assert checked_names == {"H1", "H3", "H4", "H5", "H6", "H7", "H8"}


# Hypotheses


class Doubled(Certified):
    def score(self, states):
        return 2.0 * super().score(states)


def test_hypotheses_that_fail_are_found(monkeypatch):
    public, covariates, points = example()
    records = map_records(public, covariates, points)
    law = Certified(public, records)
    assert FAILS not in [each.state for each in checked(law)]
    # H1: another number, or a subject that is not whole.
    fewer = replace(public, number=19)
    assert state_of(checked(Certified(fewer, records)), "H1") == FAILS
    halved = replace(records, shares=0.5 * records.shares)
    assert state_of(checked(Certified(public, halved)), "H1") == FAILS
    # H3: covariates that were not clipped.
    wide = replace(records, covariates=3.0 * records.covariates)
    assert state_of(checked(Certified(public, wide)), "H3") == FAILS
    # H4: a law that nobody proved anything of.
    assert state_of(checked(Doubled(public, records)), "H4") == FAILS
    # H7: a state outside the support.
    p, v = law.space.parts(public.support.draw(np.random.default_rng(3), (2,)))
    outside = law.space.join(p, v * 3.0 / SPHERE.expand(SPHERE.norm(p, v)))
    assert state_of(check_hypotheses([law], outside, True), "H7") == FAILS
    # H5: contributions that are not clipped; and a score whose bound is another.
    by_blocks = Certified(public, records, "gradient_by_blocks")
    assert state_of(checked(by_blocks), "H5") == FAILS
    monkeypatch.setattr(certified, "clip_factors", lambda norms, limit: np.ones_like(norms))
    assert state_of(checked(law), "H5") == FAILS


def test_losses_above_one_are_found(monkeypatch):
    public, *records = example()
    law = Certified(public, map_records(public, *records))
    right = Certified.sums

    def tripled(self, states):
        found = right(self, states)
        return replace(found, loss=3.0 * found.loss)

    monkeypatch.setattr(Certified, "sums", tripled)
    assert state_of(checked(law), "H6") == FAILS


# Releases


@pytest.mark.parametrize("manifold", [SPHERE, SPD(2)], ids=lambda space: space.name)
@pytest.mark.parametrize("sampler", release.SAMPLERS)
def test_a_release_is_a_geodesic_in_the_support(manifold, sampler, monkeypatch):
    monkeypatch.setattr(release, "PILOT_PROPOSALS", 500)
    public, covariates, points = example(manifold)
    settings = {"stages": FEW} if sampler == "finite_points" else {"steps": 400}
    settings["total_variation"] = 1e-3
    found = release.release(public, covariates, points, "1.0", sampler=sampler, **settings)
    assert manifold.invalid_reason(found.footpoint) is None
    state = public.support.space.join(found.footpoint, found.shooting_vector)
    assert public.support.contains(state)
    pure = sampler == "finite_points"
    assert found.guarantee.words().startswith("pure 1.0-DP" if pure else "(1.0, 0.0038)-DP")
    assert ("estimated" in found.guarantee.words()) != pure
    ends = found.predict([20.0, 45.0, 70.0])
    np.testing.assert_allclose(ends[1], found.footpoint, atol=1e-9)
    length = manifold.norm(found.footpoint, found.shooting_vector)
    half = manifold.dist(ends[0], found.footpoint)
    assert half == pytest.approx(0.5 * length, abs=1e-6)


def test_public_points_are_all_that_finite_points_release():
    public, covariates, points = example()
    states, _ = public.support.even_points(256)
    found = release.release(public, covariates, points, "1.0", stages=FEW)
    state = public.support.space.join(found.footpoint, found.shooting_vector)
    assert np.sum(np.all(states == state, axis=(-1, -2))) == 1


def test_a_release_holds_nothing_else_of_the_data(monkeypatch, capfd, caplog):
    """Fields, attributes, what is printed, and what is logged."""
    caplog.set_level(logging.DEBUG)
    public, covariates, points = example()
    one, other = (
        release.release(public, covariates, points + shift, "1.0", stages=FEW)
        for shift in (0.0, 1e-3)
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
    drawn = [
        release.release(public, covariates, points, "1.0", stages=FEW).footpoint for _ in range(4)
    ]
    assert len(np.unique(np.round(drawn, 6), axis=0)) > 1
    assert "seed" not in release.release.__code__.co_varnames


def test_refusals(monkeypatch):
    public, covariates, points = example()
    with pytest.raises(DataError, match="above zero"):
        release.release(public, covariates, points, "0")
    with pytest.raises(DataError, match="none of finite_points, matched"):
        release.release(public, covariates, points, "1", sampler="exact")
    with pytest.raises(DataError, match="do not add up"):
        release.release(public, covariates, points, "2", stages=FEW)
    with pytest.raises(DataError, match="is not the public number"):
        release.release(public, covariates[1:], points[1:], "1")
    with pytest.raises(DataError, match="one data set"):
        release.release(public, covariates[None], points[None], "1")
    # A chain that is too short for its goal.
    with pytest.raises(DataError, match="were not estimated to come within"):
        release.release(public, covariates, points, "1", sampler="matched", steps=1)
    # Whatever fails, nothing is released.
    monkeypatch.setattr(certified, "clip_factors", lambda norms, limit: np.ones_like(norms))
    with pytest.raises(DataError, match="nothing is released, since there is no guarantee: H5"):
        release.release(public, covariates, points, "1", stages=FEW)


def test_the_budgets_of_two_stages_add_up():
    public, covariates, points = example()
    stages = two_stages("1.0", Fraction(1, 3), (0.2, 0.4), 128)
    found = release.release(public, covariates, points, "1.0", stages=stages)
    assert found.guarantee.words().startswith("pure 1.0-DP")
    assert found.sampler.count("among 128 public points") == 2
    assert "budget 1/3" in found.sampler


def test_one_stage_that_fails_is_enough():
    public, *records = example()
    law = Certified(public, map_records(public, *records))
    states = public.support.draw(np.random.default_rng(5), (2,))
    both = [law, Doubled(public, law.records)]
    assert state_of(check_hypotheses(both, states, True), "H4") == FAILS
    assert state_of(check_hypotheses([], states, True), "H4") == FAILS


def test_budgets_of_stages_are_added_exactly():
    public, covariates, points = example()
    # A sum of these in floating point is one.
    radii = (None, (0.1, 0.1), (0.1, 0.1))
    stages = tuple(map(Stage, (1.0, 1e-17, 1e-17), (64, 64, 64), radii))
    with pytest.raises(DataError, match="do not add up"):
        release.release(public, covariates, points, "1", stages=stages)
    with pytest.raises(DataError, match="give each one above zero"):
        Stage(0)


def test_stages_have_to_be_given_in_their_form():
    public, covariates, points = example()
    with pytest.raises(DataError, match="no stages are given: plan them with plan_release"):
        release.release(public, covariates, points, "1")
    for stages in (
        (Stage("1/2", 64), Stage("1/2", 64)),
        (Stage("1/2", 64, (0.1, 0.1)), Stage("1/2", 64, (0.1, 0.1))),
    ):
        with pytest.raises(DataError, match="give the first one no radii"):
            release.release(public, covariates, points, "1", stages=stages)
    for changes in ({"points": 100}, {"radii": (0.1, 0.0)}, {"radii": (np.nan, 1.0)}):
        with pytest.raises(DataError, match="a stage has"):
            Stage(1, **changes)


def test_planned_stages_are_released_by():
    public, covariates, points = example()
    planner = Planner.of(SPHERE, *public.support.radii, residual_scale=0.03)
    plan = plan_release(planner, public.number, "1.0", points=1 << 10)
    public = replace(public, **vars(plan.scales))
    found = release.release(public, covariates, points, "1.0", stages=plan.stages)
    assert found.sampler == ", then ".join(stage.describe(public) for stage in plan.stages)
    assert found.guarantee.words().startswith("pure 1.0-DP")


def test_no_distance_is_promised_that_cannot_be_estimated():
    public, covariates, points = example()
    with pytest.raises(DataError, match=r"is less than can be estimated: give 0\.00015 or more"):
        release.release(public, covariates, points, "1", sampler="matched", total_variation=1e-6)


def test_rounding_keeps_states_in_the_support():
    public, *_ = example()
    support = public.support
    states = support.draw(np.random.default_rng(4), (200,))
    # On its very edge.
    p, v = support.space.parts(states)
    v = v * SPHERE.expand(support.shooting_vector_length / SPHERE.norm(p, v))
    states = support.space.join(p, v)
    kept = release.rounded(support, states)
    assert np.all(support.contains(kept))
    assert np.max(np.abs(kept - states)) < 1e-8
    np.testing.assert_allclose(release.rounded(support, kept), kept, atol=1e-9)


def test_rounded_text_is_no_smaller():
    for number in (1e-12, 0.0123, 0.9999, 3.01e-7):
        for digits in (2, 3):
            assert float(guarantee.rounded_up(number, digits)) >= number
