"""Exact samplers beside those of OpenDP: both agree with the probabilities, or both do not.

OpenDP is an extra of its own: pip install ".[opendp]".
"""

from fractions import Fraction

import numpy as np
import pytest
from scipy.stats import chisquare

from geodp.samplers.exact_noise import discrete_gaussian, discrete_laplace
from geodp.samplers.integer_choice import ExactChoice, generator_bits

dp = pytest.importorskip(
    "opendp.prelude", reason='OpenDP is not installed: pip install ".[opendp]"'
)
dp.enable_features("contrib")

# Draws, and probability that a right sampler fails.
DRAWS, FALSE_ALARM = 4_000, 1e-5


def agrees(drawn, values, chances):
    """Whether draws have these chances; what is outside the values counts as one."""
    counts = np.array([np.sum(drawn == value) for value in values])
    counts = np.append(counts, len(drawn) - np.sum(counts))
    expected = np.append(chances, 1.0 - np.sum(chances)) * len(drawn)
    kept = expected > 5.0
    rest = [counts[~kept].sum()], [expected[~kept].sum()]
    if rest[1][0] > 5.0:
        counts, expected = np.append(counts[kept], rest[0]), np.append(expected[kept], rest[1])
    else:
        counts, expected = counts[kept], expected[kept]
    return chisquare(counts, expected * counts.sum() / expected.sum()).pvalue > FALSE_ALARM


def of_opendp(make, scale):
    """Draws of a measurement, all at once."""
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.l1_distance(T=int)
    if make is dp.m.make_gaussian:
        space = space[0], dp.l2_distance(T=float)
    return np.array(make(*space, scale=scale)([0] * DRAWS))


LAWS = {
    "Laplace": (discrete_laplace, 2.5, lambda y, s: np.exp(-np.abs(y) / s), dp.m.make_laplace),
    "Gaussian": (
        lambda bits, scale: discrete_gaussian(bits, scale**2),
        3.5,
        lambda y, s: np.exp(-(y**2) / (2.0 * s**2)),
        dp.m.make_gaussian,
    ),
}


@pytest.mark.parametrize("name", LAWS)
def test_integer_noise_has_the_same_distribution(name):
    draw, scale, weight, make = LAWS[name]
    far = np.arange(-200, 201)
    values = np.arange(-12, 13)
    chances = weight(values, scale) / np.sum(weight(far, scale))
    bits = generator_bits(np.random.default_rng(1))
    ours = np.array([draw(bits, Fraction(scale)) for _ in range(DRAWS)])
    assert agrees(ours, values, chances)
    theirs = of_opendp(make, scale)
    assert agrees(theirs, values, chances)
    # The test sees a scale that is a quarter off.
    other = weight(values, 1.25 * scale) / np.sum(weight(far, 1.25 * scale))
    assert not agrees(ours, values, other)
    assert not agrees(theirs, values, other)


def test_choices_have_the_same_distribution():
    """The exponential mechanism is the noisy maximum with Gumbel noise."""
    losses, scale = np.array([3, 0, 7, 1, 5, 2, 9, 4]), 3.0
    mass = np.exp(-losses / scale)
    chances = mass / np.sum(mass)
    bits = generator_bits(np.random.default_rng(2))
    choice = ExactChoice([1] * len(losses), losses, 1 / Fraction(scale))
    ours = np.array([choice.draw(bits) for _ in range(DRAWS)])
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    measure = dp.zero_concentrated_divergence()
    chosen = dp.m.make_noisy_max(*space, measure, scale=scale, negate=True)
    theirs = np.array([chosen(losses.tolist()) for _ in range(DRAWS)])
    wrong = np.exp(-losses / (1.25 * scale))
    for drawn in (ours, theirs):
        assert agrees(drawn, np.arange(len(losses)), chances)
        assert not agrees(drawn, np.arange(len(losses)), wrong / np.sum(wrong))
