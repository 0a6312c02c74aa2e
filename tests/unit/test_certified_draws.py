"""Draws from the certified distribution: how they are distributed, their work, and its accuracy.

Distributions are compared with importance sampling from draws that are even in the support, which
shares nothing with the samplers but the score and the volume density of Exp.
"""

from dataclasses import replace

import numpy as np
import pytest
from scipy.special import logsumexp

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.kendall import KendallPlanarShapes
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.mechanisms.base import PublicSettings
from geodp.mechanisms.certified import CertifiedDistribution, PublicInputs, Scales, map_records
from geodp.mechanisms.certified_target import certified_target, clipped_hessian, robust_fit
from geodp.models.geodesic import GeodesicModel
from geodp.release.accounting import PrivacyBudget
from geodp.release.draw import run_plan
from geodp.release.mechanism import CertifiedMechanism
from geodp.release.planner import NOISE, Planner
from geodp.release.planning import plan_release
from geodp.release.subjects import ONE_EACH, subject_records
from geodp.samplers import matched
from geodp.samplers.base import run
from geodp.samplers.integer_choice import generator_bits
from geodp.samplers.matched import Matched, _Proposal, total_variation_bounds

SPHERE = Sphere(2)
SPACES = [SPHERE, SPD(2)]

# Of the ellipses, the axial and the uniform proposals.
SHARES = (0.7, 0.0, 0.3)

# Standard errors that a right sampler exceeds once in some 10^5 tests of ten bins.
MOST_ERRORS = 5.0


def make_distribution(manifold, number, data_sets=1, seed=1, residual=0.0447, bad=0, **others):
    """That of records about geodesics of length pi/4; ``bad`` records are far from theirs."""
    rng = np.random.default_rng(seed)
    centre = np.eye(2) if isinstance(manifold, SPD) else manifold.random_point(rng)
    start = np.broadcast_to(centre, (data_sets, *manifold.point_shape))
    p = manifold.exp(start, manifold.random_tangent_in_ball(rng, start, np.pi / 8))
    v = manifold.random_tangent(rng, p)
    v = v * manifold.expand(np.pi / 4 / manifold.norm(p, v))
    x = np.tile(np.linspace(0.0, 1.0, number), (data_sets, 1))
    clean = manifold.exp(p[:, None], manifold.expand(x - 0.5) * v[:, None])
    noise = residual / np.sqrt(manifold.dim) * manifold.random_tangent(rng, clean)
    noise[:, :bad] *= 20.0
    inputs = {"gradient_scale": 0.1, "loss_scale": 0.1, "loss_offset": 0.2, **others}
    public = PublicInputs(
        manifold,
        centre,
        np.pi / 4,
        np.pi / 2,
        (0.0, 1.0),
        number=number,
        **inputs,
    )
    return CertifiedDistribution(public, map_records(public, x, manifold.exp(clean, noise)))


def squared_error(distribution, states):
    """Mean squared distance of the records; shape (*data_sets, chains)."""
    manifold, records = distribution.public.manifold, distribution.records
    data = records.covariates, records.points
    model = GeodesicModel(manifold)
    geodesics = model.parameters(*distribution.space.parts(states))
    return 2.0 * model.energy_gradient(geodesics, *data, blocks=()).energy


def summaries(distribution, states):
    """Numbers (3, draws) of the states (draws, ...) of one data set."""
    manifold = distribution.public.manifold
    p, v = distribution.space.parts(states)
    return np.stack(
        [
            distribution.score(states[None])[0],
            manifold.dist(distribution.public.centre, p),
            manifold.norm(p, v),
        ]
    )


class Reference:
    """Probabilities of bins of the summaries, with their standard errors."""

    BINS = 8

    def __init__(self, distribution, budget, number=40_000):
        support = distribution.public.support
        states = support.draw(np.random.default_rng(2), (number,))
        values = summaries(distribution, states)
        log_weight = -0.5 * budget * values[0] - support.log_draw_density(states)
        weight = np.exp(log_weight - logsumexp(log_weight))
        self.edges, self.shares, self.errors = [], [], []
        for value in values:
            order = np.argsort(value)
            levels = np.arange(1, self.BINS) / self.BINS
            place = np.searchsorted(np.cumsum(weight[order]), levels)
            # A score at which every loss is clipped is that of many states.
            edges = np.unique(value[order][place])
            bins = np.searchsorted(edges, value)
            share = np.bincount(bins, weight, minlength=len(edges) + 1)
            second = np.bincount(bins, weight**2, minlength=len(edges) + 1)
            whole = np.sum(weight**2)
            self.edges.append(edges)
            self.shares.append(share)
            self.errors.append(second - 2.0 * share * second + share**2 * whole)

    def worst(self, distribution, states):
        """The largest difference of shares of draws (draws, ...), in standard errors."""
        found = []
        number = len(states)
        for value, edges, share, error in zip(
            summaries(distribution, states), self.edges, self.shares, self.errors, strict=True
        ):
            counts = np.bincount(np.searchsorted(edges, value), minlength=len(share))
            spread = np.sqrt(error + share * (1.0 - share) / number) + 1e-6
            found.append(np.max(np.abs(counts / number - share) / spread))
        return max(found)


# Wide enough for even draws to see them, narrow enough for mistakes to show.
WIDE = {"S2": (SPHERE, 16, 1.0), "SPD2": (SPD(2), 10, 1.0)}
CHAINS = 2000


@pytest.fixture(scope="module", params=WIDE.values(), ids=WIDE.keys())
def wide(request):
    manifold, number, budget = request.param
    distribution = make_distribution(
        manifold, number, gradient_scale=0.4, loss_scale=0.6, loss_offset=0.02
    )
    return distribution, budget, Reference(distribution, budget)


def chain_states(distribution, budget, steps=15, kernel=None, target=None):
    target = certified_target(distribution, budget) if target is None else target
    kernel = Matched(SHARES) if kernel is None else kernel
    return run(np.random.default_rng(3), kernel, target, CHAINS, steps)[0].position[0]


@pytest.mark.slow
def test_chains_have_the_distribution(wide):
    distribution, budget, reference = wide
    assert reference.worst(distribution, chain_states(distribution, budget)) < MOST_ERRORS


@pytest.mark.slow
def test_the_comparison_finds_what_is_wrong(monkeypatch):
    manifold, number, budget = WIDE["S2"]
    distribution = make_distribution(
        manifold, number, gradient_scale=0.4, loss_scale=0.6, loss_offset=0.02
    )
    reference = Reference(distribution, budget)
    # No steps: the distribution of proposals.
    assert (
        reference.worst(distribution, chain_states(distribution, budget, steps=0))
        > 2.0 * MOST_ERRORS
    )
    # Another budget.
    other = chain_states(distribution, 2.0 * budget)
    assert reference.worst(distribution, other) > 2.0 * MOST_ERRORS
    # Another norm than the proposals have.
    target = certified_target(distribution, budget)
    right = _Proposal.log_components

    def wrong(self, position):
        found = right(self, position)
        return found + np.array([2.0, 0.0, 0.0]).reshape((3, *(1,) * (found.ndim - 1)))

    monkeypatch.setattr(_Proposal, "log_components", wrong)
    broken = chain_states(distribution, budget, target=target)
    assert reference.worst(distribution, broken) > 2.0 * MOST_ERRORS


@pytest.mark.parametrize("manifold", SPACES, ids=lambda space: space.name)
def test_proposals_have_the_density_they_say(manifold, monkeypatch):
    """Under even draws the mean of weights is one, and so it is under the proposals."""
    distribution = make_distribution(manifold, 12)
    target = certified_target(distribution, 1.0)
    # Redraws multiply the density by a constant.
    monkeypatch.setattr(matched, "REDRAWS", 0)
    proposal = _Proposal.of(target, SHARES)
    rng = np.random.default_rng(5)
    state = proposal.draw(rng, target, 15_000)
    inside = np.isfinite(state.log_density[0])
    log_proposal = (state.log_density[:, inside] - state.memory["log_weight"][:, inside])[0]
    weight = np.exp(target.support.log_draw_density(state.position[0, inside]) - log_proposal)
    # Even draws, seen from proposals, outside which there are none.
    mean = np.sum(weight) / len(inside)
    error = np.sqrt(np.sum(weight**2)) / len(inside)
    assert mean == pytest.approx(1.0, abs=5.0 * error)
    assert error < 0.06


def test_bad_records_do_not_move_the_centre_of_proposals():
    good = make_distribution(SPHERE, 60, data_sets=5)
    spoiled = make_distribution(SPHERE, 60, data_sets=5, bad=12)
    first, second = (
        distribution.space.parts(robust_fit(distribution)) for distribution in (good, spoiled)
    )
    assert np.max(SPHERE.dist(first[0], second[0])) < 0.05
    # About there the clipped gradient vanishes, and grows in every direction.
    fitted = robust_fit(spoiled)
    assert np.all(np.linalg.eigvalsh(clipped_hessian(spoiled, fitted)) > 0.0)
    gradient = replace(spoiled, score_name="gradient").score(fitted[:, None])
    assert np.max(gradient) < 0.2


@pytest.mark.parametrize("score", ["combined", "energy", "gradient"])
def test_every_score_has_a_target(score):
    distribution = replace(make_distribution(SPHERE, 30, data_sets=2), score_name=score)
    target = certified_target(distribution, 1.0)
    assert target.batch == (2,)
    plan = matched.plan(np.random.default_rng(9), target, 500, 0.01, 100, 100)
    assert plan.extrapolated < 0.01


@pytest.mark.slow
def test_shapes_of_many_dimensions_have_a_target():
    manifold = KendallPlanarShapes(8)
    distribution = make_distribution(manifold, 40)
    target = certified_target(distribution, 2.0)
    state = run(np.random.default_rng(10), Matched(SHARES), target, 20, 30)[0]
    assert np.all(target.support.contains(state.position))


# Accuracy, of the distribution by itself


def log_mean_error(distribution, budget, number=1500):
    """Logarithm of the mean squared error under the distribution, and that of the fit."""
    target = certified_target(distribution, budget)
    proposal = _Proposal.of(target, (0.5, 0.0, 0.5))
    state = proposal.draw(np.random.default_rng(11), target, number)
    log_weight = state.memory["log_weight"]
    weight = np.exp(log_weight - logsumexp(log_weight, axis=-1, keepdims=True))
    inside = np.isfinite(log_weight)
    places = np.where(distribution.space.expand(inside), state.position, target.centre[:, None])
    error = np.mean(np.sum(weight * squared_error(distribution, places), axis=-1))
    return np.log(error), np.log(np.mean(squared_error(distribution, target.centre[:, None])))


@pytest.mark.parametrize(
    ("score", "number", "budget"),
    [
        *(("combined", 50, 1.0), ("energy", 50, 1.0), ("gradient", 50, 1.0)),
        *(("combined", 100, 1.0), ("combined", 200, 1.0), ("gradient", 200, 1.0)),
    ],
)
def test_errors_on_the_sphere_are_those_of_flat_space(score, number, budget):
    """Beside the planner, which integrates over the errors in flat space and samples nothing."""
    distribution = replace(make_distribution(SPHERE, number, data_sets=8), score_name=score)
    found, fitted = log_mean_error(distribution, budget)
    public = distribution.public
    planner = Planner(2, *public.support.radii, 0.0447 / np.sqrt(2.0), score_name=score)
    scales = Scales(public.gradient_scale, public.loss_scale, public.loss_offset)
    predicted = planner.predict(number, budget, scales)
    excess = predicted.curve - predicted.curve_without_privacy
    # Of noise the flat-space prediction knows that it is noise, and not how much.
    assert predicted.is_noise == ((score, number) == ("gradient", 50))
    if predicted.is_noise:
        assert found > np.log(NOISE * predicted.curve_without_data)
    else:
        assert found == pytest.approx(np.log(np.exp(fitted) + excess), abs=0.25)


@pytest.mark.slow
@pytest.mark.parametrize("number", [50, 100, 200])
def test_planned_scales_are_not_far_from_the_best_tried(number):
    best = {50: -5.75, 100: -6.10, 200: -6.17}[number]
    public = make_distribution(SPHERE, number).public
    radii = public.footpoint_radius, public.shooting_vector_length
    scales = Planner(2, *radii, residual_scale=0.0447 / np.sqrt(2.0)).predict(number, 1.0).scales
    distribution = make_distribution(SPHERE, number, data_sets=8, **vars(scales))
    assert log_mean_error(distribution, 1.0)[0] < best + 0.25


def test_bounds_of_the_distance_know_of_states_without_weight():
    log_weight = np.array([[-np.inf, 0.0, 0.0, 0.0], [-np.inf] * 4])
    bounds = total_variation_bounds(log_weight, np.array([0, 50]))
    assert bounds[0, 0] == pytest.approx(0.25)
    assert bounds[0, 1] < 1e-6
    np.testing.assert_array_equal(bounds[1], 1.0)


def test_flat_space_has_no_cut_locus_to_leave():
    distribution = make_distribution(Euclidean(2), 30)
    assert np.all(np.isfinite(robust_fit(distribution)))


def studied(covariates, points, options=None, subjects=None, model=None, **public):
    """The mechanism of studies, prepared for data about geodesics of a range of covariates."""
    model = model or GeodesicModel(Sphere(2))
    settings = {
        "centre": np.array([0.0, 0.0, 1.0]),
        "footpoint_radius": 0.8,
        "shooting_vector_length": 1.2,
        "covariate_range": (0.0, 1.0),
        **public,
    }
    options = {"residual_scale": 0.05} if options is None else options
    return CertifiedMechanism.prepare(
        model, covariates, points, PublicSettings(**settings, options=options), None, subjects
    )


def studied_data(number=40):
    rng = np.random.default_rng(6)
    sphere = Sphere(2)
    middle, vector = np.array([0.0, 0.0, 1.0]), np.array([0.7, 0.0, 0.0])
    x = np.linspace(0.0, 1.0, number)
    clean = sphere.exp(middle, (x - 0.5)[:, None] * vector)
    return x[None], sphere.exp(clean, 0.05 * sphere.random_tangent(rng, clean))[None]


@pytest.mark.parametrize(
    "name", ["centre", "footpoint_radius", "shooting_vector_length", "covariate_range"]
)
def test_studies_need_public_settings(name):
    with pytest.raises(DataError, match=f"needs the public {name}"):
        studied(*studied_data(), **{name: None})


def test_studies_need_a_residual_scale():
    with pytest.raises(DataError, match="needs the option residual_scale"):
        studied(*studied_data(), options={})


ALL = {"all": "3"}, {"all": 2}


@pytest.mark.slow
@pytest.mark.usefixtures("few_points")
def test_studies_release_subjects_with_all_their_records():
    x, points = studied_data()
    labels = np.arange(x.size)
    one = studied(x, points)
    assert one.guarantee.unit == "record"
    each = studied(x, points, subjects=labels)
    assert each.guarantee.unit == "subject"
    # A record a subject is the same release, whether or not labels say so.
    first, second = (
        mechanism.draw(np.random.default_rng(1), *ALL).parameters for mechanism in (one, each)
    )
    for block, value in first.items():
        np.testing.assert_array_equal(second[block], value)
    labels[7] = labels[3]
    several = studied(x, points, subjects=labels)
    assert (several.assumptions.subjects, several.assumptions.records_per_subject) == (39, 2)
    p = several.draw(np.random.default_rng(1), *ALL).parameters["footpoint"]
    assert p.shape == (1, 2, 3)
    assert SPHERE.invalid_reason(p[0, 0]) is None


@pytest.mark.slow
@pytest.mark.parametrize("covariates", [0, 2])
def test_studies_release_means_and_several_covariates(covariates):
    """Draws are near the truth, in units of the covariates, and bands have a radius a row."""
    rng, number = np.random.default_rng(3), 400
    manifold = Euclidean(3) if covariates else SPHERE
    x = rng.uniform(0.0, 1.0, (1, number, covariates))
    centre = np.array([0.0, 0.0, 1.0])
    vectors = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]])[:covariates]
    clean = manifold.ends(centre, vectors, x[0])
    points = manifold.exp(clean, 0.05 * manifold.random_tangent(rng, clean))[None]
    model = GeodesicModel(manifold, covariates)
    mechanism = studied(x, points, model=model, footpoint_radius=1.0)
    budgets = {"all": "20"}
    drawn = mechanism.draw(np.random.default_rng(1), budgets, {"all": 1}).parameters
    state = {block: np.reshape(value[0, 0], 3) for block, value in drawn.items()}
    assert len(state) == 1 + covariates
    rows = x[0, :20]
    away = manifold.dist(model.predict(state, rows), clean[:20])
    assert np.sqrt(np.mean(away**2)) < 2.5 * mechanism.plan(budgets).error
    radii = mechanism.band(budgets, state, rows, 0.95)
    assert radii.shape == (20,)
    assert np.mean(away <= radii) > 0.6


def test_several_covariates_on_a_curved_space_are_no_study_of_releases():
    x, points = studied_data()
    with pytest.raises(DataError, match="several covariates on a curved space"):
        studied(np.stack([x, x], axis=-1), points, model=GeodesicModel(SPHERE, 2))


@pytest.mark.slow
@pytest.mark.usefixtures("few_points")
def test_draws_of_studies_are_those_of_releases():
    x, points = studied_data()
    mechanism = studied(x, points)
    drawn = mechanism.draw(np.random.default_rng(1), *ALL)
    plan = plan_release(mechanism.assumptions, PrivacyBudget("3"))
    records = subject_records(mechanism.assumptions, x[0], points[0], ONE_EACH)
    bits = generator_bits(np.random.default_rng(1))
    p, v = (drawn.parameters[name][0] for name in ("footpoint", "shooting_vector"))
    for draw in range(2):
        middle = run_plan(plan, records, bits).state[0]
        np.testing.assert_allclose(SPHERE.exp(p[draw], 0.5 * v[draw, 0]), middle, atol=1e-9)


@pytest.mark.slow
@pytest.mark.usefixtures("few_points")
def test_units_of_the_covariate_do_not_matter():
    x, points = studied_data()
    drawn = {
        high: studied(low + (high - low) * x, points, covariate_range=(low, high)).draw(
            np.random.default_rng(1), {"all": "3"}, {"all": 5}
        )
        for low, high in ((0.0, 1.0), (50.0, 90.0))
    }
    sphere = Sphere(2)
    p, v = (drawn[1.0].parameters[name] for name in ("footpoint", "shooting_vector"))
    ages, rates = (drawn[90.0].parameters[name] for name in ("footpoint", "shooting_vector"))
    for share in (0.0, 0.5, 1.0):
        np.testing.assert_allclose(
            sphere.exp(p, share * v[..., 0, :]),
            sphere.exp(ages, (50.0 + 40.0 * share) * rates[..., 0, :]),
            atol=1e-6,
        )
