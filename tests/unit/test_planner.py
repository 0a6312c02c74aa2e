"""Predicted errors of a certified release: known limits, and what they depend on."""

import numpy as np
import pytest

from geodp.errors import DataError
from geodp.evaluation import geodesic_errors
from geodp.manifolds.registry import make_manifold
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, Scales, map_records
from geodp.mechanisms.certified_target import certified_target
from geodp.release.planner import CLOSE, Planner
from geodp.samplers.matched import Matched, weighted_proposals

NARROW = {"footpoint_radius": 0.8, "shooting_vector_length": 1.6, "residual_scale": 0.03}


@pytest.mark.parametrize(
    "dim", [1, 2, *(pytest.param(each, marks=pytest.mark.slow) for each in (6, 12, 96))]
)
def test_with_wide_scales_the_errors_are_sums_of_laplace_draws(dim):
    # Nothing is clipped, and the loss never decides: the gradients at the two ends are independent
    # with lengths that follow a Gamma distribution.
    planner = Planner(dim, 10.0, 20.0, 1e-3)
    scales = Scales(gradient_scale=100.0, loss_scale=1e3, loss_offset=0.9)
    rate = 1e5 * np.sqrt(dim) * dim
    found = planner.predict(rate, 1.0, scales)
    end = dim * (dim + 1.0) * (4.0 * 100.0 / rate) ** 2
    without = dim * 1e-6 / rate
    # On a line the distribution has edges where the gradient at an end vanishes, and nodes fall
    # beside them.
    accuracy = 0.02 if dim == 1 else 0.01
    assert found.footpoint == pytest.approx(2.0 * end + without, rel=accuracy)
    assert found.shooting_vector == pytest.approx(72.0 * end + 12.0 * without, rel=accuracy)
    assert found.curve == pytest.approx(8.0 * end + 2.0 * without, rel=accuracy)


@pytest.mark.parametrize("dim", [1, 2, 6])
def test_without_information_a_release_is_anywhere_in_the_support(dim):
    found = Planner(dim, **NARROW).predict(1.0, 1e-9, Scales(0.1, 0.2, 0.0))
    noise = dim * 0.03**2
    share = dim / (dim + 2.0)
    assert found.footpoint == pytest.approx(share * 0.8**2 + noise, rel=0.02)
    assert found.shooting_vector == pytest.approx(share * 1.6**2 + 12.0 * noise, rel=0.02)
    assert found.is_noise


def test_with_much_information_privacy_costs_next_to_nothing():
    found = Planner(2, **NARROW).predict(1e6, 10.0)
    assert found.curve == pytest.approx(found.curve_without_privacy, rel=CLOSE)
    assert found.curve_without_privacy == pytest.approx(2 * 2 * 0.03**2 / 1e6)
    assert not found.is_noise


def test_errors_fall_with_subjects_and_budget():
    planner = Planner(2, **NARROW)
    by_number = [planner.predict(n, 1.0).curve for n in (20, 50, 100, 500, 5000)]
    by_budget = [planner.predict(100, budget).curve for budget in (0.1, 0.5, 1.0, 5.0)]
    assert np.all(np.diff(by_number) < 0.0)
    assert np.all(np.diff(by_budget) < 0.0)


@pytest.mark.slow
def test_a_better_guess_of_scales_is_not_found_nearby():
    planner = Planner(2, **NARROW)
    best = planner.predict(50, 1.0)
    for factors in np.random.default_rng(5).uniform(0.5, 2.0, (40, 3)):
        offset = min(0.9, factors[2] * best.scales.loss_offset)
        tried = Scales(
            factors[0] * best.scales.gradient_scale, factors[1] * best.scales.loss_scale, offset
        )
        assert planner.predict(50, 1.0, tried).curve > 0.9 * best.curve


def test_scales_of_twice_the_unit_are_twice_as_long():
    once = Planner(2, **NARROW).predict(60, 1.0)
    doubled = {name: 2.0 * value for name, value in NARROW.items()}
    twice = Planner(2, **doubled).predict(60, 1.0)
    assert twice.curve == pytest.approx(4.0 * once.curve, rel=1e-6)
    assert twice.scales.gradient_scale == pytest.approx(2.0 * once.scales.gradient_scale)
    assert twice.scales.loss_offset == pytest.approx(once.scales.loss_offset)


def test_what_is_needed_gives_what_is_wanted():
    planner = Planner(2, **NARROW)
    number = planner.needed(0.02, budget=0.5)
    assert np.sqrt(planner.predict(number, 0.5).curve) == pytest.approx(0.02, rel=0.03)
    budget = planner.needed(0.02, number=200)
    assert np.sqrt(planner.predict(200, budget).curve) == pytest.approx(0.02, rel=0.03)


def test_no_budget_is_enough_where_the_fit_itself_is_worse():
    assert Planner(2, **NARROW).needed(1e-3, number=20) == np.inf


def test_wrong_assumptions_are_refused():
    with pytest.raises(DataError, match="residual_scale is 0"):
        Planner(2, 1.0, 1.0, 0.0)
    with pytest.raises(DataError, match="budget is nan"):
        Planner(2, **NARROW).predict(10, float("nan"))
    with pytest.raises(DataError, match="not both"):
        Planner(2, **NARROW).needed(0.1, number=10, budget=1.0)


def test_known_blocks_have_no_error():
    planner = Planner(2, **NARROW, unknown=("footpoint",))
    found = planner.predict(100, 1.0)
    assert found.shooting_vector == 0.0
    assert 0.0 < found.footpoint < Planner(2, **NARROW).predict(100, 1.0).footpoint


def test_other_scores_are_no_better_than_both_together():
    combined = Planner(2, **NARROW).predict(100, 1.0).curve
    for score in ("energy", "gradient", "gradient_by_blocks"):
        assert Planner(2, **NARROW, score_name=score).predict(100, 1.0).curve > 0.98 * combined


def test_clipping_costs_as_much_as_it_is_known_to():
    planner = Planner(2, **NARROW)
    # Nothing is clipped; and all is, which makes it the spatial median (efficiency pi / 4).
    assert planner._excess_of_clipping(1.0) == pytest.approx(1.0)
    assert planner._excess_of_clipping(1e-4) == pytest.approx(4.0 / np.pi, rel=0.02)
    assert planner._excess_of_truncation(1.0) == pytest.approx(1.0)
    assert planner._excess_of_truncation(0.06) > 1.5


# Space, its public radii, the length of its geodesic, its residuals, and pairs of n and budget,
# from the edge of noise to where privacy costs next to nothing.
SIMULATED = {
    "R^2": (("euclidean", 2), (1.0, 2.0), 0.5, 0.05, [(30, 2.0), (100, 1.0), (400, 1.0)]),
    "S^2": (("sphere", 2), (np.pi / 4, np.pi / 2), 0.6, 0.03, [(50, 1.0), (20, 10.0), (400, 1.0)]),
    "SPD(2)": (("spd", 2), (0.5, 1.0), 0.5, 0.01, [(100, 1.0), (400, 0.5), (200, 10.0)]),
    "rats": (("kendall", 8), (0.2, 0.4), 0.2, 0.01, [(1000, 1.0), (400, 3.0), (200, 10.0)]),
}
CASES = [(name, *pair) for name, settings in SIMULATED.items() for pair in settings[-1]]

# So many data sets that the fits' own errors decide nothing, and proposals from each.
DATA_SETS, PROPOSALS = 16, 200


@pytest.mark.parametrize(("name", "number", "budget"), CASES)
@pytest.mark.slow
def test_predictions_are_what_simulated_releases_have(name, number, budget):
    kind, radii, length, scale, _ = SIMULATED[name]
    manifold = make_manifold(*kind)
    predicted = Planner(manifold.dim, *radii, scale).predict(number, budget)
    assert not predicted.is_noise

    rng = np.random.default_rng(11)
    p = manifold.random_point(rng)
    v, away = (manifold.random_tangent(rng, p) for _ in range(2))
    v = length / manifold.norm(p, v) * v
    centre = manifold.exp(p, 0.5 * radii[0] / manifold.norm(p, away) * away)
    x = np.tile(np.linspace(0.0, 1.0, number), (DATA_SETS, 1))
    clean = manifold.exp(p, manifold.expand(x - 0.5) * v)
    y = manifold.exp(clean, scale * manifold.random_tangent(rng, clean))
    public = PublicInputs(
        manifold, centre, *radii, (0.0, 1.0), **vars(predicted.scales), number=number
    )
    distribution = CertifiedDistribution(public, map_records(public, x, y))
    truth = np.broadcast_to(
        distribution.space.join(p, v), (DATA_SETS, *distribution.space.point_shape)
    )
    target = certified_target(distribution, budget, truth)
    states, weights = weighted_proposals(rng, target, Matched((0.7, 0.0, 0.3)), PROPOSALS)
    errors = geodesic_errors(manifold, distribution.space.parts(states), (p, v))
    for what, squares in errors.items():
        simulated = np.sqrt(np.mean(np.sum(weights * squares, axis=-1)))
        assert simulated == pytest.approx(np.sqrt(getattr(predicted, what)), rel=0.25)
