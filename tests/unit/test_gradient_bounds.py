"""The bounds that certificates rest on, attacked on every symmetric space of the library.

For each bound a seeded search looks for the largest ratio of what is measured to what is claimed:
over random configurations (shooting vectors and covariates of zero, records near the cut locus,
moves across it), in the worst direction that a linearisation knows and in random ones.  No ratio
may exceed one, and each must come near it.
"""

from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pytest
from cell_searches import (
    COVARIATE,
    DIFFERENCES,
    MOVES,
    SPACES,
    STEP,
    TRIALS,
    VECTOR,
    arc_stretch,
    end_of_cut,
    exp_volume_range,
    footpoint_extremes,
    shooting_vector_extremes,
)
from scipy.integrate import quad

from geodp import GeodesicModel
from geodp.manifolds.symmetric import SymmetricSpace
from geodp.mechanisms import gradient_bounds as bounds
from geodp.mechanisms.gradient_bounds import ROUNDING
from geodp.models.blocks import block_names
from geodp.randomness import random_directions

BLOCKS = block_names(1)


@dataclass(frozen=True)
class Trials:
    """Geodesics (trials, *point_shape), each with a record; ``distances`` (trials,) of these."""

    space: SymmetricSpace
    footpoints: np.ndarray
    vectors: np.ndarray
    covariates: np.ndarray
    points: np.ndarray
    distances: np.ndarray

    @classmethod
    def draw(cls, space, rng, nearest_cut=1e-3):
        """Some vectors and covariates are zero, some records on or nearly opposite predictions."""
        footpoints = space.random_point(rng, (TRIALS,))
        kind = rng.integers(6, size=TRIALS)
        lengths = np.where(kind == 0, 0.0, VECTOR * rng.random(TRIALS))
        vectors = space.expand(lengths) * space.random_direction(rng, footpoints)
        covariates = np.where(kind == 1, 0.0, COVARIATE * rng.uniform(-1.0, 1.0, TRIALS))
        distances = end_of_cut(space) * rng.random(TRIALS)
        distances[kind == 2] = 1e-6
        distances[kind == 3] = end_of_cut(space) * (1.0 - nearest_cut)
        predictions = space.exp(footpoints, space.expand(covariates) * vectors)
        away = space.expand(distances) * space.random_direction(rng, predictions)
        points = space.exp(predictions, away)
        distances = space.dist(predictions, points)
        return cls(space, footpoints, vectors, covariates[:, None], points[:, None], distances)

    @property
    def lengths(self):
        return self.space.norm(self.footpoints, self.vectors)

    @property
    def frames(self):
        return self.space.frame(self.footpoints[:, None])

    def moved(self, steps, turns):
        """Geodesics after steps and turns, coordinates (trials, moves, dim), in turn."""
        space = self.space
        start, frame = self.footpoints[:, None], self.frames
        step, turn = space.vector(frame, steps), space.vector(frame, turns)
        start = np.broadcast_to(start, step.shape)
        vector = space.transport(start, step, self.vectors[:, None] + turn)
        return start, step, space.exp(start, step), vector

    def gradients(self, block, steps, turns):
        """Gradients after moves, carried back, in coordinates (trials, moves, dim)."""
        space = self.space
        start, step, end, vector = self.moved(steps, turns)
        data = (self.covariates, self.points)
        model = GeodesicModel(space)
        found = model.energy_gradient(model.parameters(end, vector), *data, (block,))
        gradient = found.gradient[block]
        back = space.transport(end, -space.transport(start, step, step), gradient)
        return space.coordinates(start, back, self.frames)

    def derivative(self, block, moving):
        """Of the gradient as the footpoint or the shooting vector moves; (trials, dim, dim)."""
        dim = self.space.dim
        moves = STEP * np.concatenate([np.eye(dim), -np.eye(dim)])
        moves = np.broadcast_to(moves, (TRIALS, 2 * dim, dim))
        found = self.gradients(block, *only(moving, moves))
        return np.swapaxes(found[:, :dim] - found[:, dim:], -1, -2) / (2.0 * STEP)


def only(moving, moves):
    """Steps and turns of which one is zero."""
    still = np.zeros_like(moves)
    return (moves, still) if moving == BLOCKS[0] else (still, moves)


def ratio(measured, claimed):
    return measured / (claimed * (1.0 + ROUNDING) + ROUNDING)


# Searches: each returns ratios of what is measured to what is claimed, and which of them count as
# cells that are small, of records and shooting vectors that are not.


def moves_of(rng, trials, block, moving):
    """Moves of random length in the worst directions, both ways, and in random ones."""
    worst = np.linalg.svd(trials.derivative(block, moving))[2][:, :1]
    others = random_directions(rng, (TRIALS, MOVES, trials.space.dim))
    directions = np.concatenate([worst, -worst, others], axis=1)
    sizes = 10.0 ** rng.uniform(-4.0, 0.0, directions.shape[:2])
    sizes[:, :2] = 10.0 ** rng.uniform(-4.0, 0.0, (TRIALS, 1))
    return sizes[..., None] * directions


def in_the_thick(trials):
    """Trials with a geodesic and a residual of some length."""
    geodesics = np.abs(trials.covariates[:, 0]) * trials.lengths
    return (geodesics > 0.2) & (trials.distances > 0.2)


def change(space, rng, block):
    """The gradient after moves, of the footpoint with a turn of the vector or of that alone."""
    trials = Trials.draw(space, rng)
    steps, turns = (moves_of(rng, trials, block, moving) for moving in BLOCKS)
    length = trials.lengths[:, None, None]
    if block == BLOCKS[0]:
        turns[:, ::3] = 0.0
        steps[:, 1::4] = 0.0
        # The vector keeps within the length that is stated.
        length = length + rng.choice([0.0, 0.4], (TRIALS, 1, 1))
        own = space.coordinates(trials.footpoints, trials.vectors)[:, None]
        long = np.maximum(np.linalg.norm(own + turns, axis=-1, keepdims=True), 1e-300)
        turns = (own + turns) * np.minimum(1.0, length / long) - own
    else:
        steps[:] = 0.0
    before = trials.gradients(block, np.zeros_like(steps), np.zeros_like(turns))
    after = trials.gradients(block, steps, turns)
    measured = np.linalg.norm(after - before, axis=-1)
    moved, turned = (np.linalg.norm(each, axis=-1, keepdims=True) for each in (steps, turns))
    given = (trials.distances[:, None, None], trials.covariates[:, None], length)
    if block == BLOCKS[0]:
        claimed, length = bounds.footpoint_change(space, *given, moved, turned)
    else:
        claimed, length = bounds.shooting_vector_change(space, *given, turned)
    assert np.all(ratio(np.linalg.norm(after, axis=-1), length[..., 0]) <= 1.0)
    small = ((moved + turned)[..., 0] < 0.01) & in_the_thick(trials)[:, None]
    return ratio(measured, claimed[..., 0]), small


def slopes(space, rng, block):
    """Least slope and greatest size of the derivative, at the ends of random moves."""
    trials = Trials.draw(space, rng, nearest_cut=0.03)
    sizes = np.minimum(10.0 ** rng.uniform(-4.0, 0.0, TRIALS), 0.5)
    directions = sizes[:, None, None] * random_directions(rng, (TRIALS, 1, space.dim))
    _, _, end, vector = trials.moved(*only(block, directions))
    there = replace(trials, footpoints=end[:, 0], vectors=vector[:, 0])
    matrix = there.derivative(block, block)
    least = np.linalg.eigvalsh(0.5 * (matrix + np.swapaxes(matrix, -1, -2)))[:, 0]
    size = np.linalg.norm(matrix, ord=2, axis=(-2, -1))
    distances, lengths, moved = (x[:, None] for x in (trials.distances, trials.lengths, sizes))
    low, high = bounds.slopes(space, block, distances, trials.covariates, lengths, moved)
    low, high = low[:, 0], high[:, 0]
    # A slope above its least bound makes this less than one.
    known = np.isfinite(low)
    low = np.where(known, low, 0.0)
    shift = 1.0 + np.abs(low)
    falls = np.where(known, (shift - least) / (shift - low), 0.0)
    found = np.stack([falls, np.where(np.isfinite(high), size / (high + ROUNDING), 0.0)])
    return found, (sizes < 0.01) & in_the_thick(trials) & (np.abs(trials.covariates[:, 0]) > 0.5)


def far_slope(space, rng):
    """The gradient's component far along a geodesic."""
    trials = Trials.draw(space, rng)
    # Short vectors too, whose rate is close to one.
    shorten = 10.0 ** rng.uniform(-2.0, 0.0, TRIALS)
    trials = replace(trials, vectors=space.expand(shorten) * trials.vectors)
    predictions = space.exp(
        trials.footpoints, space.expand(trials.covariates[:, 0]) * trials.vectors
    )
    distances = space.dist(predictions, trials.points[:, 0])
    lengths = np.geomspace(0.1, 8.0, 12)
    direction = random_directions(rng, (TRIALS, 1, space.dim))
    # Towards and away from the record, which is where it matters most.
    towards = space.coordinates(
        trials.footpoints, space.log(trials.footpoints, trials.points[:, 0])
    )[:, None]
    size = np.maximum(np.linalg.norm(towards, axis=-1, keepdims=True), 1e-12)
    direction[: TRIALS // 2] = (towards / size)[: TRIALS // 2]
    steps = lengths[:, None] * direction
    gradients = trials.gradients(BLOCKS[0], steps, np.zeros_like(steps))
    component = np.sum(gradients * direction, axis=-1)
    rate, loss = bounds.far_slope(
        space, distances[:, None], trials.covariates, trials.lengths[:, None]
    )
    bound = rate * lengths - loss
    shift = 1.0 + np.abs(bound)
    small = (np.abs(trials.covariates[:, 0]) * trials.lengths < 0.03)[:, None]
    return (shift - component) / (shift - bound), small & (bound > 0.0)


# Each search, and the least share of its bound that it reaches anywhere and on small cells: a bound
# scaled down by any more would be refuted.  The sizes of curvature tensors are exact on spaces of
# constant curvature only.
SEARCHES = {
    "footpoint_change": (partial(change, block=BLOCKS[0]), 0.999, 0.9),
    "shooting_vector_change": (partial(change, block=BLOCKS[1]), 0.999, 0.9),
    "footpoint_slopes": (partial(slopes, block=BLOCKS[0]), 0.999, 0.85),
    "shooting_vector_slopes": (partial(slopes, block=BLOCKS[1]), 0.999, 0.9),
    "far_slope": (far_slope, 0.999, 0.99),
    "arc_stretch": (arc_stretch, 0.999, 0.98),
    "exp_volume_range": (exp_volume_range, 0.999, 0.99),
    "footpoint_extremes": (footpoint_extremes, 0.9, 0.8),
    "footpoint_extremes_aside": (partial(footpoint_extremes, aside=True), 0.9, 0.75),
    "shooting_vector_extremes": (shooting_vector_extremes, 0.9, 0.8),
}
# That of planar shapes of five landmarks is loose by a third.
LOOSE = {"footpoint_change": (0.999, 0.75)}


def applies(of, name):
    """Whether a bound says anything on a space."""
    space = SPACES[name]
    if of == "far_slope":
        return space.curvature_bounds[1] <= 0.0 and np.isinf(space.injectivity_radius)
    return of != "arc_stretch" or space.dim > 1


PAIRS = [(of, name) for of in SEARCHES for name in SPACES if applies(of, name)]


@pytest.mark.parametrize(("of", "name"), PAIRS)
def test_no_bound_is_exceeded_and_each_is_reached(of, name):
    search, anywhere, on_small_cells = SEARCHES[of]
    rng = np.random.default_rng([sum(map(ord, text)) for text in (name, of)])
    found, small = search(SPACES[name], rng)
    largest = np.max(found)
    assert largest < 1.0 + DIFFERENCES
    if name == "Kendall5":
        anywhere, on_small_cells = LOOSE.get(of, (anywhere, on_small_cells))
    assert largest > anywhere
    assert np.max(np.where(small, found, 0.0)) > on_small_cells


def test_distances_of_residuals_are_never_less_than_they_are():
    """Of very short ones, which products of unit vectors know up to rounding."""
    rng = np.random.default_rng(1)
    for space in SPACES.values():
        footpoints = space.random_point(rng, (TRIALS,))
        distances = 10.0 ** rng.uniform(-12.0, -6.0, TRIALS)
        away = space.expand(distances) * space.random_direction(rng, footpoints)
        arrays = footpoints, np.zeros_like(footpoints), np.ones(TRIALS), space.exp(footpoints, away)
        arrays = (each[:, None] for each in arrays)
        (found,) = bounds.record_means(
            space, *arrays, lambda _, distances, *more: ([], [distances])
        )
        assert np.all(found[:, 0] >= distances), space.name
        assert np.all(found[:, 0] <= distances + 1e-6), space.name


@pytest.mark.parametrize("frequency", [1e-6, 0.05, 0.0999, 0.1001, 0.7, 3.0])
def test_convolutions_are_those_of_their_integrals(frequency):
    """The right-hand sides of the equation of ``K`` against its Green's function."""
    a = frequency

    def convolved(side):
        return quad(lambda t: np.sinh(a * (1.0 - t)) / a * side(t), 0.0, 1.0, epsabs=0.0)[0]

    sines = convolved(lambda t: 5.0 * np.cosh(a * t) * a * np.sinh(a * t))
    cosines = convolved(lambda t: 3.0 * np.cosh(a * t) ** 2 + 2.0 * np.sinh(a * t) ** 2)
    found = bounds._convolved_sines(np.array(a))
    assert 5.0 / 6.0 * a**2 * found == pytest.approx(sines, rel=1e-10)
    assert bounds._convolved_cosines(np.array(a)) == pytest.approx(cosines, rel=1e-10)


@pytest.mark.parametrize("name", ["S1", "S2", "Kendall3", "Kendall5"])
def test_beyond_the_cut_locus_nothing_is_known_but_the_gradients_themselves(name):
    space, one, none = SPACES[name], np.ones((1, 1)), np.zeros((1, 1))
    distance = np.array([[0.999], [1.0], [1.5]]) * space.injectivity_radius
    least, greatest = bounds.distance_hessian(space, distance)
    low, high = bounds.slopes(space, BLOCKS[0], distance, one, one, none)
    for bound in (least, low, high):
        assert np.isfinite(bound).ravel().tolist() == [True, False, False]
    assert np.all(greatest == 1.0)
    moved = np.full((3, 1), 0.25)
    change, after = bounds.footpoint_change(space, distance, one, none, moved, np.zeros((3, 1)))
    # No point is farther than the cut locus.
    np.testing.assert_allclose(after, space.injectivity_radius * one.repeat(3, axis=0))
    np.testing.assert_allclose(change, distance + after)


@pytest.mark.parametrize("name", ["R2", "H2", "SPD2"])
def test_bounds_of_very_long_distances_and_vectors_are_no_numbers_that_mislead(name):
    """Hyperbolic functions overflow: what is unknown must be infinite, not small or undefined."""
    space = SPACES[name]
    far = np.array([[1e3], [1e6]])
    least, greatest = bounds.distance_hessian(space, far)
    np.testing.assert_array_equal(least, 1.0)
    growth = np.sqrt(-space.curvature_bounds[0]) * far
    np.testing.assert_allclose(greatest, np.maximum(growth, 1.0))
    with np.errstate(over="ignore", invalid="ignore"):
        rate, loss = bounds.far_slope(space, far, np.ones((1, 1)), far)
        assert not np.any((rate > 0.0) & (loss < 2.0 * far))
