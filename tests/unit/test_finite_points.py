"""The law on public points: even points, right probabilities down to the smallest, refusals."""

from dataclasses import replace

import numpy as np
import pytest
from quadrature import laplace_target, origin
from scipy import stats
from scipy.special import logsumexp

from geodp.errors import DataError
from geodp.manifolds.euclidean import Euclidean
from geodp.manifolds.spd import SPD
from geodp.manifolds.sphere import Sphere
from geodp.manifolds.supports import even_balls
from geodp.mechanisms.target import Target
from geodp.samplers import finite_points
from geodp.samplers.base import run, trace
from geodp.samplers.finite_points import FinitePoints, log_uniform

FALSE_ALARM = 1e-5


@pytest.mark.parametrize("dim", [1, 2, 3, 4])
def test_points_fill_the_ball_evenly(dim):
    points = even_balls((dim,), 4096)
    radius = np.linalg.norm(points, axis=-1)
    assert np.max(radius) <= 1.0
    # Evenly spread points are far closer to uniform than random ones.
    assert stats.kstest(radius**dim, "uniform").statistic < 0.1 / np.sqrt(len(points))
    assert np.max(np.abs(np.mean(points, axis=0))) < 0.1 / np.sqrt(len(points))
    np.testing.assert_array_equal(points, even_balls((dim,), 4096))


def test_small_uniform_numbers_are_as_rare_as_they_should_be():
    values = -log_uniform(np.random.default_rng(1), 400_000)
    assert stats.kstest(values, "expon").pvalue > FALSE_ALARM
    assert np.all(values > 0.0)


class Zeros:
    """A generator whose first words of random bits are zero."""

    def __init__(self, words):
        self.left = words
        self.source = np.random.default_rng(2)

    def integers(self, low, high, size):
        drawn = self.source.integers(low, high, size=size)
        if self.left:
            self.left -= 1
            drawn[:] = 0
        return drawn

    def random(self, shape):
        return self.source.random(shape)


def test_uniform_numbers_go_on_below_the_smallest_step_of_a_double():
    values = log_uniform(Zeros(3), 1000)
    below = -(values + 96.0 * np.log(2.0))
    assert stats.kstest(below, "expon").pvalue > FALSE_ALARM


def ball_target(space, sigma, radius):
    target = laplace_target(space, origin(space, 2), np.array(sigma))
    return replace(target, support=replace(target.support, radius=np.full(2, radius)))


@pytest.mark.parametrize("space", [Sphere(2), Euclidean(1), SPD(2)])
def test_distances_have_the_law_of_the_density(space):
    """Against the density on a finer set of points, as volume and density weigh them."""
    target = ball_target(space, [0.1, 0.5], 1.0)
    planned = finite_points.plan(target, 1 << 14)
    assert planned.steps == 0
    state, _ = run(np.random.default_rng(3), planned.sampler, target, 20000, 0)
    centre = np.expand_dims(target.support.centre, -space.point_ndim - 1)
    distances = space.dist(centre, state.position)
    length = np.linalg.norm(even_balls((space.dim,), 1 << 17), axis=-1)
    frame = space.frame(target.support.centre[0])
    directions = even_balls((space.dim,), 1 << 17)
    volume = space.exp_volume(target.support.centre[:1], space.vector(frame, directions))
    for member, sigma in enumerate((0.1, 0.5)):
        log_mass = np.log(volume) - length / sigma
        mass = np.exp(log_mass - logsumexp(log_mass))
        cuts = np.sort(length)[
            np.searchsorted(np.cumsum(mass[np.argsort(length)]), [0.25, 0.5, 0.75])
        ]
        counts = np.bincount(np.searchsorted(cuts, distances[member]), minlength=4)
        expected = np.bincount(np.searchsorted(cuts, length), mass, minlength=4) * len(distances[0])
        # Points are finitely many, so bins hold a little more or less than they should.
        assert np.max(np.abs(counts - expected)) / len(distances[0]) < 0.02


def test_probabilities_of_few_points_are_right():
    """Every point's frequency, and that of one that is e^-9 as probable as the rest."""
    points = 1024

    target = ball_target(Euclidean(1), [1.0, 1.0], 1.0)

    def log_density(states):
        return np.where(states[..., 0] > target.support.centre, -9.0, 0.0)

    target = replace(target, unrestricted=log_density)
    kernel = FinitePoints.of(target, points)
    state = kernel.init(np.random.default_rng(4), target, 2_000_000)
    rare = np.sum(state.log_density < -1.0, axis=-1)
    expected = 2_000_000 / (1.0 + np.exp(9.0))
    assert np.all(np.abs(rare - expected) < 5.0 * np.sqrt(expected))
    likely = state.position[state.log_density > -1.0]
    _, counts = np.unique(likely, return_counts=True)
    assert stats.chisquare(counts).pvalue > FALSE_ALARM


def test_a_trace_and_a_part_of_the_batch():
    target = ball_target(Sphere(2), [0.1, 0.5], 1.0)
    kernel = FinitePoints.of(target, 1024)
    found = trace(np.random.default_rng(5), kernel, target, chains=3, states=7)
    assert found["distance"].shape == (2, 3, 7)
    part = kernel.member((slice(1, 2),))
    assert np.array_equal(part.log_density, kernel.log_density[1:])


def test_what_it_cannot_do_is_refused():
    unbounded = laplace_target(SPD(2), origin(SPD(2), 1), np.array([0.1]))
    with pytest.raises(DataError, match="bounded support"):
        FinitePoints.of(unbounded, 1024)
    space = Euclidean(5)
    large = laplace_target(space, np.zeros((1, 5)), np.array([0.1]))
    assert isinstance(large, Target)
    with pytest.raises(DataError, match="5 dimensions are too many"):
        FinitePoints.of(large, 1024)
