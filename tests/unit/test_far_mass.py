"""On the whole of a high-dimensional shape space the published density lives far from the data.

Near the cut locus of the data the residuals pull in all directions and their sum almost vanishes,
while nearly all of the space's volume is there.
"""

import numpy as np
import pytest
from scipy.special import gammaln, logsumexp

from geodp import GeodesicModel, KendallPlanarShapes, PublicSettings
from geodp.data.stand_in import simulate_outlines
from geodp.mechanisms.kng_as_published import KNGAsPublished
from geodp.samplers.axial import AxialDistribution

SHAPES = KendallPlanarShapes(50)
NEAR = np.pi / 4
DRAWS = 1000


@pytest.fixture(scope="module")
def mechanism():
    """The published mechanism for simulated outlines, about their fit."""
    simulation = simulate_outlines(np.random.default_rng(0), 1, 100)
    model, points = GeodesicModel(SHAPES), SHAPES.from_landmarks(simulation.outlines)
    data = (simulation.ages - 50.0) / 40.0, points
    found = model.fit(*data)
    public = PublicSettings(centre=found.footpoint, footpoint_radius=NEAR)
    return KNGAsPublished.prepare(model, *data, public, found)


def log_mass_near(target):
    """Integral over the ball, by importance sampling from the axial distribution."""
    law = AxialDistribution.of(target)
    steps = law.draw(np.random.default_rng(1), DRAWS)
    centre = target.support.centre[:, None]
    vectors = SHAPES.vector(SHAPES.frame(target.support.centre)[:, None], steps)
    log_weights = target.unrestricted(SHAPES.exp(centre, vectors))
    log_weights = log_weights + np.log(SHAPES.exp_volume(centre, vectors))
    log_weights = log_weights - law.log_density(steps)
    return logsumexp(log_weights) - np.log(DRAWS)


def at_the_cut_locus(target, width):
    """Log densities at uniform shapes whose overlap with the fit is below ``width``; log volume."""
    rng = np.random.default_rng(2)
    mean = target.centre[0]
    away = SHAPES.random_point(rng, (DRAWS,))
    away = SHAPES.project(away - (away @ np.conj(mean))[:, None] * mean)
    size = width * np.sqrt(rng.random(DRAWS))
    overlap = size * np.exp(2j * np.pi * rng.random(DRAWS))
    places = overlap[:, None] * mean + np.sqrt(1.0 - size**2)[:, None] * away
    half = SHAPES.dim // 2
    log_volume = half * np.log(np.pi) - gammaln(half + 1.0)
    # Squared overlaps of uniform points are Beta(1, half).
    log_volume += np.log(-np.expm1(half * np.log1p(-(width**2))))
    return target.unrestricted(places[None])[0], log_volume


@pytest.mark.parametrize("budget", [0.1, 0.3, 1.0, 2.0])
def test_an_unbiased_estimate_of_the_far_mass_exceeds_the_near_mass(budget, mechanism):
    """Markov: such an estimate is a million times too large with probability 1e-6 at most."""
    target = mechanism.footpoint_target(budget)
    near = log_mass_near(target)
    log_density, log_volume = at_the_cut_locus(target, 1e-3)
    estimate = log_volume + logsumexp(log_density) - np.log(DRAWS)
    assert estimate - np.log(1e6) > near + 10.0
