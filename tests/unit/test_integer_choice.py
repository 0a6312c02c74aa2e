"""Exact choice by integers: enclosures that hold, frequencies, and bits that do not decide."""

from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest
from scipy import stats

from geodp.samplers import integer_choice
from geodp.samplers.integer_choice import (
    TABLE,
    ExactChoice,
    generator_bits,
    power_tables,
    system_bits,
)

FALSE_ALARM = 1e-5


@pytest.mark.parametrize("rate", [Fraction(1, 4096), Fraction(1, 3), Fraction(1), Fraction(57, 10)])
@pytest.mark.parametrize("precision", [32, 256, 512])
def test_powers_are_enclosed(rate, precision):
    small, large = power_tables(rate, 5 * TABLE, precision)
    with localcontext() as context:
        context.prec = 180
        unit = Decimal(2) ** precision
        step = Decimal(rate.numerator) / Decimal(rate.denominator)
        for table, every in ((small, 1), (large, TABLE)):
            for index in (0, 1, 2, 5, len(table) - 1):
                true = (-step * every * index).exp() * unit
                low, high = table[index]
                assert low <= true <= high
                assert high - low <= 8 * TABLE


def test_frequencies_are_the_probabilities():
    weights = [3, 0, 7, 1, 5, 2]
    exponents = [10, 0, 14, 10, 4100, 11]
    rate = Fraction(3, 10)
    choice = ExactChoice(weights, exponents, rate)
    bits = generator_bits(np.random.default_rng(1))
    counts = np.bincount([choice.draw(bits) for _ in range(40_000)], minlength=6)
    mass = np.array(weights) * np.exp(-0.3 * (np.array(exponents) - 10.0)) * [1, 0, 1, 1, 1, 1]
    kept = [0, 2, 3, 5]
    # What has no weight, or one of e^-1227, is not drawn.
    assert counts[1] == counts[4] == 0
    expected = 40_000 * mass[kept] / np.sum(mass)
    assert stats.chisquare(counts[kept], expected).pvalue > FALSE_ALARM


class Given:
    """Bits that are given, and no others."""

    def __init__(self, *words):
        self.words = list(words)
        self.asked = []

    def __call__(self, count):
        self.asked.append(count)
        return self.words.pop(0)


def test_the_first_and_the_last_number_choose_the_ends():
    """Down to weights of e^-150, which a double drawn at once would never reach."""
    choice = ExactChoice([1, 1, 1], [0, 300, 300], Fraction(1, 2))
    whole = 2**320 - 1
    assert choice.draw(Given(0)) == 0
    assert choice.draw(Given(whole - 2**102)) == 2
    share = Fraction(float(np.exp(-150.0)))
    for factor, index in ((3, 0), (1.5, 1), (0.5, 2)):
        below = whole - int(Fraction(factor) * share * 2**320)
        assert choice.draw(Given(below)) == index


def test_bits_that_do_not_decide_are_followed_by_more():
    """Half of the total, as far as the first bits tell, is where two equal weights meet."""
    choice = ExactChoice([1, 1], [5, 5], Fraction(1))
    half = 1 << 319
    for second, index in ((0, 1), ((1 << 256) - 1, 1)):
        bits = Given(half, second)
        # The prefix is exactly one half, so the second is chosen whatever follows.
        assert choice.draw(bits) == index
    # Of weights whose boundary is no dyadic number the first bits may be those of the boundary.
    choice = ExactChoice([1, 1], [0, 1], Fraction(1))
    boundary = Fraction(1) / (1 + Fraction(np.exp(-1.0)))
    with localcontext() as context:
        context.prec = 300
        boundary = 1 / (1 + Decimal(-1).exp())
        prefix = int(boundary * 2**320)
        rest = int((boundary * 2**320 - prefix) * 2**256)
    for offset, index in ((-(2**200), 0), (2**200, 1)):
        bits = Given(prefix, rest + offset)
        assert choice.draw(bits) == index
        assert bits.asked == [320, 256]


def test_what_is_no_law_is_refused():
    for weights in ([0, 0], [1, -1]):
        with pytest.raises(ValueError, match="weights"):
            ExactChoice(weights, [0, 0], Fraction(1))
    with pytest.raises(ValueError, match="rate"):
        ExactChoice([1], [0], Fraction(0))


def test_bits_are_as_many_as_asked_for():
    for bits in (system_bits, generator_bits(np.random.default_rng(2))):
        drawn = [bits(13) for _ in range(2000)]
        assert 0 <= min(drawn) < 200
        assert 8000 < max(drawn) < 2**13
    first, again = (generator_bits(np.random.default_rng(3))(300) for _ in range(2))
    assert first == again


def test_a_wrong_rate_is_seen(monkeypatch):
    """Powers of a rate that is off by a tenth."""
    true = integer_choice._exponential
    monkeypatch.setattr(integer_choice, "_exponential", lambda r, p: true(r * 11 / 10, p))
    choice = ExactChoice([1, 1], [0, 10], Fraction(1, 10))
    bits = generator_bits(np.random.default_rng(1))
    second = sum(choice.draw(bits) for _ in range(40_000))
    expected = 40_000 / (1.0 + np.exp(1.0))
    assert abs(second - expected) > 5.0 * np.sqrt(expected)
