"""Exact samplers of OpenDP have the probabilities that `test_exact_noise` compares ours with."""

import numpy as np
import pytest
from test_exact_noise import INTEGERS, agree

pytestmark = pytest.mark.competitors

dp = pytest.importorskip("opendp.prelude")
dp.enable_features("contrib")

DRAWS = 4_000

# What makes a measurement, its distance and scale; and the parameter of the probabilities.
MAKERS = {
    "Laplace": (dp.m.make_laplace, dp.l1_distance(T=int), 2.5, 2.5),
    "Gaussian": (dp.m.make_gaussian, dp.l2_distance(T=float), 3.5, 3.5**2),
}


@pytest.mark.parametrize("name", MAKERS)
def test_integer_noise_has_the_same_distribution(name):
    (make, distance, scale, right), (_, weight) = MAKERS[name], INTEGERS[name]
    measurement = make(dp.vector_domain(dp.atom_domain(T=int)), distance, scale=scale)
    drawn = np.array(measurement([0] * DRAWS))
    counts = [*(np.sum(drawn == k) for k in range(-9, 10)), np.sum(np.abs(drawn) > 9)]
    # The test sees a parameter that is a half off.
    for parameter, is_right in ((right, True), (1.5 * right, False)):
        weights = np.array([weight(abs(k), parameter) for k in range(-200, 201)])
        chances = (weights / np.sum(weights))[191:210]
        assert agree(counts, [*chances, 1.0 - np.sum(chances)]) == is_right


def test_choices_have_the_same_distribution():
    """The exponential mechanism is the noisy maximum with Gumbel noise."""
    losses, scale = np.array([3, 0, 7, 1, 5, 2, 9, 4]), 3.0
    space = dp.vector_domain(dp.atom_domain(T=int)), dp.linf_distance(T=int)
    measure = dp.zero_concentrated_divergence()
    chosen = dp.m.make_noisy_max(*space, measure, scale=scale, negate=True)
    counts = np.bincount([chosen(losses.tolist()) for _ in range(DRAWS)], minlength=len(losses))
    for other, is_right in ((scale, True), (1.25 * scale, False)):
        mass = np.exp(-losses / other)
        assert agree(counts, mass / np.sum(mass)) == is_right
