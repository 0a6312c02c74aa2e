"""Distributions of exact integer noise, against closed forms and quadrature."""

from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from scipy.integrate import dblquad, quad
from scipy.stats import chisquare, gamma, kstest

from geodp.samplers import exact_noise
from geodp.samplers.exact_noise import discrete_gaussian, discrete_laplace, rounded_laplace
from geodp.samplers.integer_choice import generator_bits, system_bits


def bits(seed):
    return generator_bits(np.random.default_rng(seed))


def agree(counts, chances):
    """Whether counts of outcomes, the last of all others, have these chances."""
    return chisquare(counts, np.array(chances) * sum(counts)).pvalue > 1e-4


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1), Fraction(5, 2)])
def test_rounded_laplace_on_a_line(scale):
    drawn = np.array([rounded_laplace(bits([1, k]), 1, scale)[0] for k in range(4000)])
    values = range(-2, 3)
    chances = [
        quad(lambda y: np.exp(-abs(y) / scale) / (2 * scale), k - 0.5, k + 0.5, points=[k])[0]
        for k in values
    ]
    counts = [np.sum(drawn == k) for k in values]
    assert agree([*counts, len(drawn) - sum(counts)], [*chances, 1.0 - sum(chances)])


def test_rounded_laplace_in_the_plane():
    scale = 0.7
    drawn = np.array([rounded_laplace(bits([2, k]), 2, Fraction(7, 10)) for k in range(4000)])
    cells = list(product((-1, 0, 1), repeat=2))

    def density(y, x):
        return np.exp(-np.hypot(x, y) / scale) / (2 * np.pi * scale**2)

    chances = [
        # The kink at zero stands at a corner of what is integrated.
        sum(
            dblquad(density, *sorted((a, a + s)), *sorted((b, b + t)))[0]
            for a, s in (((x, -0.5), (x, 0.5)))
            for b, t in (((y, -0.5), (y, 0.5)))
        )
        for x, y in cells
    ]
    counts = [np.sum(np.all(drawn == cell, axis=1)) for cell in cells]
    assert agree([*counts, len(drawn) - sum(counts)], [*chances, 1.0 - sum(chances)])


@pytest.mark.parametrize(
    "dimension", [1, 2, 7, *(pytest.param(each, marks=pytest.mark.slow) for each in (3, 96))]
)
def test_lengths_are_gamma_and_directions_uniform(dimension):
    scale = Fraction(1 << 40, 3)
    drawn = np.array(
        [rounded_laplace(bits([3, dimension, k]), dimension, scale) for k in range(400)],
        dtype=float,
    )
    lengths = np.linalg.norm(drawn, axis=1)
    assert kstest(lengths / float(scale), gamma(dimension).cdf).pvalue > 1e-4
    # A coordinate of a uniform direction, and the squares of all.
    towards = drawn / lengths[:, None]
    assert np.all(np.abs(towards.mean(axis=0)) < 5.0 / np.sqrt(400 * dimension))
    assert np.max(np.abs((towards**2).mean(axis=0) * dimension - 1.0)) < 0.6


def test_more_bits_are_drawn_where_the_first_do_not_decide(monkeypatch):
    """With two bits at first nothing is decided, and the distribution is the same."""
    monkeypatch.setattr("geodp.samplers.exact_noise.PRECISION", 2)
    drawn = np.array([rounded_laplace(bits([4, k]), 1, Fraction(1))[0] for k in range(3000)])
    inside = 1.0 - np.exp(-0.5)
    chances = [inside, *(0.5 * np.exp(-0.5) * (1.0 - np.exp(-1.0)) for _ in range(2))]
    counts = [np.sum(drawn == k) for k in (0, -1, 1)]
    assert agree([*counts, len(drawn) - sum(counts)], [*chances, 1.0 - sum(chances)])


def assert_integers_have(drawn, weight):
    """Integers are drawn with probabilities in proportion to these weights of their sizes."""
    weights = np.array([weight(abs(k)) for k in range(-400, 401)])
    chances = weights / weights.sum()
    used = np.flatnonzero(chances > 2e-3)
    counts = [np.sum(drawn == k) for k in used - 400]
    assert agree([*counts, len(drawn) - sum(counts)], [*chances[used], 1.0 - sum(chances[used])])


FRACTIONS = [Fraction(1, 4), Fraction(1, 3), Fraction(1), Fraction(2), Fraction(37, 5)]


@pytest.mark.parametrize("precision", [2, exact_noise.PRECISION])
@pytest.mark.parametrize("scale", [*FRACTIONS, Fraction(25)])
def test_discrete_laplace(scale, precision, monkeypatch):
    monkeypatch.setattr(exact_noise, "PRECISION", precision)
    source = bits([5, precision])
    drawn = np.array([discrete_laplace(source, scale) for _ in range(10000)])
    assert_integers_have(drawn, lambda k: np.exp(-k / float(scale)))


# Just below and above one the candidates' width changes.
@pytest.mark.parametrize("precision", [2, exact_noise.PRECISION])
@pytest.mark.parametrize("variance", [*FRACTIONS, Fraction(99, 100), Fraction(1000)])
def test_discrete_gaussian(variance, precision, monkeypatch):
    monkeypatch.setattr(exact_noise, "PRECISION", precision)
    source = bits([6, precision])
    drawn = np.array([discrete_gaussian(source, variance) for _ in range(10000)])
    assert_integers_have(drawn, lambda k: np.exp(-(k**2) / (2.0 * float(variance))))


SAMPLERS = {
    "Laplace": discrete_laplace,
    "rounded Laplace": lambda source, scale: rounded_laplace(source, 3, scale)[0],
    "Gaussian": lambda source, scale: discrete_gaussian(source, scale**2),
}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(3), Fraction(1 << 26)])
@pytest.mark.parametrize("name", SAMPLERS)
def test_bits_that_are_drawn_do_not_follow_the_value(name, scale):
    """A draw takes always as many; or as many a candidate, whatever is accepted in the end."""
    source, counts = bits(7), []

    def counted(count):
        counts.append(count)
        return source(count)

    asked, drawn = [], []
    for _ in range(2000):
        counts.clear()
        drawn.append(SAMPLERS[name](counted, scale))
        asked.append(sum(counts))
    least = min(asked)
    assert all(each % least == 0 for each in asked)
    if name != "Gaussian":
        assert max(asked) == least
    else:
        candidates = np.array(asked) / least
        # Of a draw at which 0.46 or more are accepted.
        assert np.mean(candidates) < 2.4
        assert abs(np.corrcoef(candidates, np.abs(drawn))[0, 1]) < 4.0 / np.sqrt(2000)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
def test_what_is_not_above_zero_is_refused(scale):
    with pytest.raises(ValueError, match="above zero"):
        rounded_laplace(system_bits, 2, scale)
    with pytest.raises(ValueError, match="above zero"):
        discrete_gaussian(system_bits, scale)
    with pytest.raises(ValueError, match="above zero"):
        discrete_laplace(system_bits, scale)
