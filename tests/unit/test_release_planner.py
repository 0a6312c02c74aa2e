"""Stages of releases: what they spend, what is assumed for them, and what they turn out to give."""

from fractions import Fraction

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.evaluation import geodesic_errors
from geodp.manifolds.registry import make_manifold
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, Scales, map_records
from geodp.release import stages as release_planner
from geodp.release.planner import Planner
from geodp.release.stages import plan_release
from geodp.samplers import public_points
from geodp.samplers.integer_choice import generator_bits

SPHERE = Planner(2, np.pi / 4, np.pi / 2, 0.03)
MATRICES = Planner(3, 0.5, 1.0, 0.01)


@pytest.mark.parametrize("planner", [SPHERE, MATRICES], ids=["sphere", "matrices"])
@pytest.mark.parametrize(("number", "epsilon"), [(30, "0.3"), (200, "1.1"), (2000, "7")])
def test_stages_spend_the_budget_and_stay_in_the_support(planner, number, epsilon):
    plan = plan_release(planner, number, epsilon, points=1 << 10)
    assert sum(stage.epsilon for stage in plan.stages) == Fraction(epsilon)
    assert plan.stages[0].radii is None
    for stage in plan.stages:
        assert stage.epsilon > 0
        # For records that lie farther from the best of some points than from a geodesic.
        assert stage.scales.gradient_scale > plan.scales.gradient_scale
        assert stage.scales.loss_scale > plan.scales.loss_scale
        assert 0.0 <= stage.scales.loss_offset < 1.0
    widths = np.array([stage.radii for stage in plan.stages[1:]]).reshape(-1, 2)
    assert np.all(widths <= [planner.footpoint_radius, planner.shooting_vector_length])
    assert np.all(widths > 0.0)


@pytest.mark.slow
def test_a_plan_is_the_same_at_every_call():
    first, second = (plan_release(SPHERE, 150, "1", points=1 << 10) for _ in range(2))
    assert first == second


@pytest.mark.slow
def test_releases_get_better_with_subjects_and_budget_and_come_near_the_distribution():
    few = {"points": 1 << 12}
    errors = [
        plan_release(SPHERE, number, "3", **few).prediction.curve for number in (10, 50, 200, 2000)
    ]
    assert errors == sorted(errors, reverse=True)
    rich = plan_release(MATRICES, 2000, "10", **few).prediction
    distribution = MATRICES.predict(2000, 10.0)
    assert distribution.curve < rich.curve < 2.0 * distribution.curve
    assert not rich.is_noise
    poor = plan_release(MATRICES, 20, "0.1", **few).prediction
    assert poor.is_noise
    # Nothing is learnt: two geodesics of the support.
    assert poor.curve == pytest.approx(2.0 * poor.curve_without_data, rel=0.2)


def test_scales_that_are_given_are_kept():
    scales = Scales(0.08, 0.1, 0.3)
    plan = plan_release(SPHERE, 100, "1", scales, 1 << 10)
    assert plan.scales == scales


@pytest.mark.slow
def test_points_that_stand_for_others_change_nothing(monkeypatch):
    """A stage in which the far points hold much of the mass, with all of them and with a sample."""
    stage = public_points.Stage(Fraction(1), 1 << 13, None, Scales(0.1, 0.3, 0.2))

    def mean_squares(number):
        rng = np.random.default_rng(4)
        errors = release_planner._first_errors(rng, SPHERE, 2000)
        after, _ = release_planner._choose(rng, SPHERE, errors, np.zeros(2000), number, stage)
        return np.mean(np.sum(after**2, axis=-1), axis=0)

    for number in (10, 25, 60):
        sampled = mean_squares(number)
        monkeypatch.setattr(release_planner, "NEAR", 1 << 14)
        every = mean_squares(number)
        monkeypatch.undo()
        np.testing.assert_allclose(sampled, every, rtol=0.12)


def test_other_scores_and_budgets_are_refused():
    with pytest.raises(DataError, match="combined score and both blocks"):
        plan_release(Planner(2, 1.0, 1.0, 0.1, score_name="energy"), 10, "1")
    with pytest.raises(DataError, match="above zero"):
        plan_release(SPHERE, 10, "-1")
    with pytest.raises(DataError, match="beyond which none means anything"):
        plan_release(SPHERE, 10, "1e400")
    with pytest.raises(DataError, match="number is 0"):
        plan_release(SPHERE, 0, "1")


def test_planners_know_how_far_a_footpoint_can_be():
    assert Planner.of(Sphere(2), 10.0, 20.0, 0.1).footpoint_radius == pytest.approx(np.pi)
    assert Planner.of(SPD(2), 10.0, 20.0, 0.1).footpoint_radius == 10.0


# Space, its public radii, its residuals, n and budget.
SIMULATED = {
    "R^2": (("euclidean", 2), (1.0, 2.0), 0.05, 100, "10"),
    "S^2": (("sphere", 2), (np.pi / 8, np.pi / 4), 0.03, 100, "3"),
    "SPD(2)": (("spd", 2), (0.5, 1.0), 0.01, 100, "20"),
    "rats": (("kendall", 8), (0.2, 0.4), 0.01, 40, "80"),
}
DATA_SETS = 40


@pytest.mark.parametrize("name", SIMULATED)
@pytest.mark.slow
def test_predictions_are_what_exact_releases_have(name):
    """True geodesics are spread over the support, as the planner assumes them to be."""
    kind, radii, scale, number, epsilon = SIMULATED[name]
    manifold = make_manifold(*kind)
    plan = plan_release(Planner.of(manifold, *radii, scale), number, epsilon, points=1 << 11)
    assert not plan.prediction.is_noise
    rng = np.random.default_rng(3)
    public = PublicInputs(
        manifold,
        manifold.random_point(rng),
        *radii,
        (0.0, 1.0),
        **vars(plan.scales),
        number=number,
    )
    truth = public.support.draw(rng, (DATA_SETS,))
    p, v = public.support.space.parts(truth)
    x = np.tile(np.linspace(0.0, 1.0, number), (DATA_SETS, 1))
    clean = manifold.exp(p[:, None], manifold.expand(x - 0.5) * v[:, None])
    y = manifold.exp(clean, scale * manifold.random_tangent(rng, clean))
    distribution = CertifiedDistribution(public, map_records(public, x, y))
    states = public_points.draw(distribution, plan.stages, generator_bits(rng))
    errors = geodesic_errors(manifold, distribution.space.parts(states), (p[:, None], v[:, None]))
    for what, squares in errors.items():
        simulated = np.sqrt(np.mean(squares))
        assert simulated == pytest.approx(np.sqrt(getattr(plan.prediction, what)), rel=0.25)
