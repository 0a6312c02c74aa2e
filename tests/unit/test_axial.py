"""The distribution that follows a density's profile about an axis.

Its density against its own draws and against volumes that are known, and targets symmetric about
the axis, where it is all but exact.  Every comparison refuses a right distribution with probability
6e-5 (four standard errors).
"""

import numpy as np
import pytest
from quadrature import ball_target
from scipy import stats
from scipy.special import gammaln, logsumexp

from geodp import SPD, Euclidean, KendallPlanarShapes, Sphere
from geodp.randomness import random_stream
from geodp.samplers.axial import AxialDistribution

STANDARD_ERRORS = 4.0
FALSE_ALARM = 2.0 * stats.norm.sf(STANDARD_ERRORS)


def stream(*names):
    return random_stream(1, "axial", *names)


def laplace_target(space, radius, aside, sigma):
    """Laplace laws on a ball, with the mode at a fraction of the radius from its centre."""
    centre = space.random_point(np.random.default_rng(0))
    mode = space.exp(centre, aside * radius * space.frame(centre)[-1])
    sigma = np.asarray(sigma)

    def log_density(states):
        return -space.dist(mode, states) / sigma[..., None]

    return ball_target(space, mode, centre, np.full(sigma.shape, radius), log_density, sigma)


def weighed(rng, target, number):
    """Draws of the target's axial law, with their log weights as proposals for the target."""
    law = AxialDistribution.of(target)
    coordinates = law.draw(rng, number)
    states, volume = target.support.place(coordinates)
    log_weight = target.log_density(states) + np.log(volume) - law.log_density(coordinates)
    return states, log_weight


def effective_fraction(log_weight):
    squares = logsumexp(2.0 * log_weight, axis=-1)
    return np.exp(2.0 * logsumexp(log_weight, axis=-1) - squares) / log_weight.shape[-1]


FLAT = [
    *((Euclidean(2), 1.5), (Sphere(2), 1.0), (Euclidean(3), 0.2), (SPD(2), 2.0)),
    *((Sphere(4), np.pi), (Euclidean(96), 1.0), (KendallPlanarShapes(50), 0.3)),
]


@pytest.mark.parametrize(("space", "radius"), FLAT, ids=lambda value: getattr(value, "name", None))
def test_draws_weighed_by_their_density_give_known_volumes(space, radius):
    """Of coordinates in shells, and in halves of them in directions of any kind."""
    dim = space.dim
    target = laplace_target(space, radius, 0.5, [2.0 * radius])
    law = AxialDistribution.of(target)
    # Towards the mode.
    np.testing.assert_allclose(law.axis[0], np.eye(dim)[-1], atol=1e-9)
    rng = stream("volumes", space.name)
    number = 20000
    drawn = law.draw(rng, number)[0]
    log_density = law.log_density(drawn[None])[0]
    assert np.all(np.isfinite(log_density))
    length = np.linalg.norm(drawn, axis=-1)
    log_ball = 0.5 * dim * np.log(np.pi) - gammaln(0.5 * dim + 1.0) + dim * np.log(radius)
    # Shells that split the ball; the law leaves out what holds less than 1e-7 of the target.
    cuts = np.array([0.02, 0.35, 0.7, 0.98]) ** (1.0 / dim) * radius
    directions = rng.standard_normal((3, dim))
    directions[0] = law.axis[0]
    for share, low, high in zip((0.33, 0.35, 0.28), cuts[:-1], cuts[1:], strict=True):
        shell = (length >= low) & (length < high)
        for part, half in ((1.0, shell), *((0.5, shell & (drawn @ u > 0.0)) for u in directions)):
            values = np.where(half, np.exp(-log_density - log_ball), 0.0)
            error = np.mean(values) - share * part
            assert abs(error) < STANDARD_ERRORS * np.std(values) / np.sqrt(number)


# Targets symmetric about the axis

# From nearly flat on its ball to concentrated.
SCALES = np.array([3.0, 0.3, 0.1, 0.03, 0.01, 0.003])
MANY = 3000


@pytest.mark.parametrize(
    ("space", "radius", "aside", "least"),
    [
        (Euclidean(2), 1.0, 0.0, 0.85),
        (Euclidean(3), 1.0, 0.5, 0.85),
        (Sphere(2), 3.0, 0.5, 0.85),
        (Sphere(4), 1.0, 0.0, 0.85),
        (SPD(2), 2.0, 0.5, 0.85),
        (Euclidean(96), 1.0, 0.3, 0.95),
        (Euclidean(96), 1.0, 0.95, 0.95),
        # Half of this without the volume, which falls towards the cut locus.
        (KendallPlanarShapes(50), 1.2, 0.0, 0.95),
    ],
)
def test_a_density_is_followed_on_every_space(space, radius, aside, least):
    scales = SCALES if space.dim == 96 else SCALES[:4]
    target = laplace_target(space, radius, aside, scales * radius)
    _, log_weight = weighed(stream("every", space.name), target, MANY)
    assert np.all(np.isfinite(log_weight))
    assert np.min(effective_fraction(log_weight)) > least


def test_a_density_of_zero_in_places_does_not_break_the_law():
    """It is followed where it is not zero, and proposed where it is zero at little cost."""
    space = Euclidean(3)

    def log_density(states):
        value = -np.linalg.norm(states, axis=-1) / 0.3
        return np.where(states[..., 0] + 0.2 * states[..., 1] > 0.1, value, -np.inf)

    target = ball_target(space, np.array([0.3, 0.0, 0.0]), np.zeros(3), np.ones(1), log_density)
    _, log_weight = weighed(stream("hole"), target, MANY)
    assert not np.any(np.isnan(log_weight) | np.isposinf(log_weight))
    assert 0.5 < np.mean(np.isfinite(log_weight)) < 1.0
