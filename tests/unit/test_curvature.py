"""Steps that follow the curvature of a space, by derivatives of predictions."""

from fractions import Fraction

import numpy as np
import pytest

from geodp import Assumptions
from geodp.manifolds.hyperbolic import Hyperbolic
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp_release.plan import bands
from geodp_release.stages import curvature, step
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.curvature import straightened
from geodp_release.stages.draw import Released

SPHERE = Sphere(2)
ENDS = np.array([[-0.5], [0.5]])
TWO_GROUPS = Assumptions(
    SPHERE, np.array([0.0, 0.0, 1.0]), 0.8, 1.6, (-0.5, 0.5), 1000, covariate_spread="two groups"
)
MOMENTS = np.array([0.2, 0.25])


def moved(manifold, state, change):
    """A state after a change in coordinates, wherever that leads."""
    p, *vectors = state
    step, *turns = manifold.vector(manifold.frame(p), change)
    both = zip(vectors, turns, strict=True)
    return np.stack([manifold.exp(p, step), *(manifold.transport(p, step, v + t) for v, t in both)])


def pull(state, truth, nodes, weights):
    """Mean of residuals from a state to the truth at weighted nodes, along their derivatives.

    Returned are these derivatives, and the mean in coordinates (2, dim).
    """
    steps = SPHERE.combinations(state[1:], nodes)
    residuals = SPHERE.log(SPHERE.exp(state[0], steps), SPHERE.ends(truth[0], truth[1:], nodes))
    residuals = SPHERE.transport_back(state[0], steps, residuals)
    residuals = SPHERE.coordinates(state[0], residuals, SPHERE.frame(state[0]))
    each = curvature.derivatives(SPHERE, state, nodes)
    return each, np.einsum("m,mdi,md->i", weights, each, residuals).reshape((2, 2))


def away(state, truth, nodes):
    """Distances between predictions of two states."""
    return SPHERE.dist(*(SPHERE.ends(each[0], each[1:], nodes) for each in (state, truth)))


def test_derivatives_are_those_of_predictions(manifold):
    rng, small = np.random.default_rng(8), 1e-5
    p = manifold.random_point(rng)
    state = np.stack([p, *(each * manifold.random_direction(rng, p) for each in (0.7, 0.4))])
    nodes = np.array([[0.4, -0.5], [-0.3, 0.1], [0.0, 0.0]])
    found = curvature.derivatives(manifold, state, nodes)
    frame, steps = manifold.frame(p), manifold.combinations(state[1:], nodes)
    before = manifold.ends(p, state[1:], nodes)
    for index, each in enumerate(np.eye(3 * manifold.dim)):
        other = moved(manifold, state, small * each.reshape((3, -1)))
        away = manifold.log(before, manifold.ends(other[0], other[1:], nodes)) / small
        away = manifold.coordinates(p, manifold.transport_back(p, steps, away), frame)
        assert found[..., index] == pytest.approx(away, abs=2e-4)


@pytest.mark.parametrize("length", [0.0, 0.7])
def test_one_covariate_gives_systems_of_two_equations(manifold, length):
    """As those of all coordinates, also about a geodesic at rest."""
    rng = np.random.default_rng(9)
    p = manifold.random_point(rng)
    change = np.stack([manifold.random_tangent(rng, p) for _ in range(2)])
    state = np.stack([p, length * manifold.random_direction(rng, p)])
    covariates = Covariates(np.array([[0.4], [-0.3], [0.0]]), np.array([0.5, 0.3, 0.2]))
    one = curvature.Predictions.of(manifold, state, covariates)
    each = curvature.derivatives(manifold, state, covariates.nodes)
    every = curvature.AllPredictions(manifold, state, one.weights, one.steps, each)
    moves, expected = one.moves(change), every.moves(change)
    assert moves == pytest.approx(expected, abs=1e-10)
    for seen in (one, every):
        found = seen.joined(np.linalg.solve(seen.squares, seen.gradient(moves)))
        assert found == pytest.approx(change, abs=1e-7)
        assert seen.joined(seen.parts(change)) == pytest.approx(change, abs=1e-10)


def test_a_step_from_near_leads_to_the_geodesic():
    """Of groups at both ends; in flat space a third of the error across would be left."""
    truth = np.array([[0.0, 0.0, 1.0], [1.5, 0.0, 0.0]])
    across = np.array([[0.0, 0.02, 0.0], [0.0, -0.03, 0.0]])
    error = SPHERE.coordinates(truth[0], across, SPHERE.frame(truth[0]))
    state = moved(SPHERE, truth, error)
    covariates = Covariates.assumed(TWO_GROUPS).with_moments(MOMENTS)
    _, gradient = pull(state, truth, ENDS, [0.3, 0.7])
    change = np.linalg.solve(covariates.matrix, gradient)
    matrix = curvature.bend(TWO_GROUPS, state, MOMENTS)
    changes = change, curvature.bent(matrix, change)
    left = [np.max(away(moved(SPHERE, state, each), truth, ENDS)) for each in changes]
    assert left[0] > 0.005
    assert left[1] < 0.0005


def curved_change(stage, hessian, means, *given):
    """The step for means (2, dim) and a Hessian of all coordinates."""
    return stage.curved_change(hessian, means.reshape((-1, 1)), *given).reshape(means.shape)


def test_a_step_with_noise_leaves_less_than_none():
    """Of covariates that hardly differ, at the end of their range: flat gains that are bent do not.

    Errors and noise are those that the step expects.
    """
    space, rng, left = Hyperbolic(2), np.random.default_rng(1), []
    assumptions = Assumptions(space, "origin", 1.0, 3.0, (-0.5, 0.5), 1000)
    state, moments = np.stack([assumptions.centre, [0.0, 2.4, 0.0]]), np.array([0.35, 0.125])
    stage = step.NoisyStep(Fraction(1, 30), clip=0.5, prior=(0.02, 0.02))
    before = Released(state, 1000.0, moments)
    hessian, flat = curvature.mean_squares(assumptions, state, moments)
    standard, back = before.coordinates.standard, before.coordinates.back
    noise = stage.noise_in_floats(assumptions)
    deviations = back * np.sqrt(before.coordinates.variances(noise, space.dim)) / before.number
    for _ in range(400):
        normal = rng.normal(size=(2, 2, space.dim))
        error, means = np.sqrt(0.02) * standard.T @ normal[0], deviations @ normal[1]
        means += (hessian @ error.ravel()).reshape(error.shape)
        changes = [curved_change(stage, hessian, means, before, assumptions)]
        change, _ = stage.change(means, before, assumptions)
        changes.append(curvature.bent(np.linalg.solve(hessian, flat), change))
        each = [error, *(error - change for change in changes)]
        left.append([np.ravel(some) @ hessian @ np.ravel(some) for some in each])
    # Flat where the space is.
    same = curved_change(stage, flat, means, before, assumptions)
    assert same == pytest.approx(stage.change(means, before, assumptions)[0], rel=1e-6)
    none, curved, bent = np.sqrt(np.mean(left, axis=0))
    assert curved < 0.5 * none < none < bent


def test_a_step_without_noise_has_an_end_where_some_direction_says_nothing():
    state = np.stack([TWO_GROUPS.centre, [np.pi, 0.0, 0.0]])
    turn = np.linalg.qr(np.random.default_rng(2).normal(size=(4, 4)))[0]
    hessian = (turn * [1.0, 0.0, 0.25, 0.1]) @ turn.T
    stage = step.NoisyStep(Fraction(10**30), clip=0.5, prior=(0.02, 0.02))
    before, means = Released(state, 1000.0, MOMENTS), hessian @ np.ones(4)
    change = curved_change(stage, hessian, means.reshape((2, 2)), before, TWO_GROUPS)
    assert hessian @ change.ravel() == pytest.approx(means)
    assert np.linalg.norm(change) < 10.0


@pytest.mark.parametrize("space", [SPHERE, Hyperbolic(2), SPD(2)], ids=repr)
def test_errors_of_bands_end_in_the_support(space):
    """However the curvature bends them: by hundreds where covariates are nearly one value."""
    rng = np.random.default_rng(4)
    assumptions = Assumptions(space, space.centres["anywhere"], covariate_range=(0, 1), subjects=99)
    radii = np.append(assumptions.footpoint_radius, assumptions.lengths)[:, None]
    errors = 0.5 * radii * rng.normal(size=(200, 2, space.dim))
    for state in assumptions.support.draw(rng, (8,)):
        found = bands.in_the_space(assumptions, errors, state, np.array([0.45, 0.2026]))
        truths = np.stack([moved(space, state, each) for each in found])
        assert np.all(space.dist(assumptions.centre, truths[:, 0]) <= radii[0] * (1.0 + 1e-6))
        lengths = space.norm(truths[:, 0], truths[:, 1])
        assert np.all(lengths <= radii[1] * (1.0 + 1e-6))
        places = np.array([[-0.5], [0.5]])
        assert np.all(np.isfinite(bands.TrueGeodesics.of(space, found, state).radii(places)))


def test_steps_stay_in_the_support_where_nodes_miss_cells_of_words():
    """Of more cells than nodes; moments of these would be of covariates far out of their ranges."""
    rng, space = np.random.default_rng(0), SPD(2)
    words = {"words": [*"abcdefghi"]}
    ranges, basis = ((0, 8), (0, 8)), (words, words)
    assumptions = Assumptions(
        space, "identity", covariate_range=ranges, subjects=99, basis=basis, products=((0, 1),)
    )
    origin, change = assumptions.support.origin, 0.1 * rng.normal(size=(81, 3))
    state, _ = curvature.moved(assumptions, origin, space.tangent(origin[0], 10.0 * change))
    moments = Covariates.assumed(assumptions).moments
    bent = curvature.bent(curvature.bend(assumptions, state, moments), change)
    for found, _ in (
        curvature.moved(assumptions, state, space.tangent(state[0], bent)),
        straightened(assumptions, origin, change, moments),
    ):
        assert assumptions.support.contains(found)


@pytest.mark.parametrize("size", [1.0, 1e12, 1e160])
def test_rounds_end_where_nothing_changes_however_long_a_step_was(size):
    state = np.stack([TWO_GROUPS.centre, [1.2, 0.0, 0.0]])
    change = size * np.array([[0.3, -0.3], [0.2, 0.5]])
    found, reached = straightened(TWO_GROUPS, state, change, MOMENTS)
    expected, wanted = straightened(TWO_GROUPS, state, change, MOMENTS, tolerance=0.0)
    np.testing.assert_allclose(found, expected, atol=1e-8)
    np.testing.assert_allclose(reached, wanted, atol=1e-8)


def test_a_step_from_afar_leads_to_the_geodesic_of_means():
    """Of two groups far apart: by the logarithms of their means, which no sum of vectors gives."""
    state = np.stack([TWO_GROUPS.centre, [1.2, 0.0, 0.0]])
    truth = moved(SPHERE, state, np.array([[0.3, -0.3], [0.2, 0.5]]))
    covariates = curvature.looked_at(TWO_GROUPS, MOMENTS)
    nodes, weights = covariates.nodes, covariates.weights
    each, gradient = pull(state, truth, nodes, weights)
    change = np.linalg.solve(curvature.mean_square(each, weights), gradient.ravel())
    change = change.reshape((2, 2))
    found, _ = straightened(TWO_GROUPS, state, change, MOMENTS)
    ends = moved(SPHERE, state, change), found
    flat, straight = (np.square(away(each, truth, nodes)) @ weights for each in ends)
    assert straight < 1e-4 * flat
