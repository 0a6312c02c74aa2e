"""Integer noise whose distribution is exact, given independent fair bits.

Uniform numbers are enclosed by their first random bits, and what is computed from them by interval
arithmetic.  Where an enclosure does not decide an integer, more bits are drawn and all is computed
again.  So no rounding changes a distribution, as it would with ordinary floats (Mironov 2012).
"""

from fractions import Fraction
from math import isqrt

# Bits of the first enclosures; of a noise of 2^60 they leave less than 2^-60 undecided.
PRECISION = 128

# Bits of interval arithmetic beyond those of the enclosures.
GUARD = 32


class _Uniform:
    """A uniform number between 0 and 1, known to as many bits as were asked for."""

    def __init__(self, bits):
        self._bits = bits
        self._known, self._value = 0, 0

    def enclosure(self, precision):
        """An interval of width ``2^-precision`` that holds the number."""
        from flint import arb

        missing = precision - self._known
        self._value = (self._value << missing) | self._bits(missing)
        self._known = precision
        return arb(2 * self._value + 1, 1) * arb(2) ** -(precision + 1)


def rounded_laplace(bits, dimension, scale):
    """Nearest integers to a draw from the density proportional to ``exp(-|y| / scale)``.

    The draw has a uniform direction and a length with the Gamma(dimension) distribution.  Added to
    a sum of integers it gives what the K-norm mechanism of the Euclidean norm would, rounded
    afterwards: rounding and adding integers may be exchanged.

    Parameters
    ----------
    bits : callable
        From a count to an integer of so many random bits; see `system_bits`.
    dimension : int
        At least one.
    scale : Fraction
        Above zero.

    Returns
    -------
    list of int, length dimension
    """
    from flint import arb, ctx

    scale = Fraction(scale)
    if dimension < 1 or scale <= 0:
        raise ValueError("the dimension and the scale are above zero")
    # For the length, and for pairs of normal numbers that give the direction.
    lengths = [_Uniform(bits) for _ in range(dimension)]
    pairs = [(_Uniform(bits), _Uniform(bits)) for _ in range(-(-dimension // 2))]
    precision = PRECISION
    while True:
        with ctx.workprec(precision + GUARD):
            length = arb(scale.numerator) / arb(scale.denominator)
            length *= -sum((each.enclosure(precision).log() for each in lengths), arb(0))
            normal = []
            for first, second in pairs:
                radius = (-2 * first.enclosure(precision).log()).sqrt()
                angle = 2 * second.enclosure(precision)
                normal += [radius * angle.cos_pi(), radius * angle.sin_pi()]
            normal = normal[:dimension]
            norm = sum((each * each for each in normal), arb(0)).sqrt()
            nearest = [(length * each / norm + arb(0.5)).floor().unique_fmpz() for each in normal]
        if None not in nearest:
            return [int(each) for each in nearest]
        precision *= 2


def discrete_gaussian(bits, variance):
    """An integer ``y`` with probability proportional to ``exp(-y^2 / (2 variance))``.

    By rejection of discrete Laplace draws (Canonne, Kamath and Steinke 2020, algorithm 3).

    Parameters
    ----------
    bits : callable
        As for `rounded_laplace`.
    variance : Fraction
        Above zero.

    Returns
    -------
    int
    """
    variance = Fraction(variance)
    if variance <= 0:
        raise ValueError("the variance is above zero")
    width = isqrt(variance.numerator // variance.denominator) + 1
    while True:
        y = discrete_laplace(bits, width)
        if _happens_exp(bits, (abs(y) - variance / width) ** 2 / (2 * variance)):
            return y


def _below(bits, limit):
    """A uniform integer from 0 to below a limit."""
    while True:
        found = bits(limit.bit_length())
        if found < limit:
            return found


def _happens(bits, chance):
    """An event of a probability that is a fraction."""
    return _below(bits, chance.denominator) < chance.numerator


def _happens_exp(bits, exponent):
    """An event of probability ``exp(-exponent)``, for a fraction of at least zero."""
    while exponent > 1:
        if not _happens_exp(bits, Fraction(1)):
            return False
        exponent -= 1
    # The number of events of probability exponent / k in a row is even with that probability.
    k = 1
    while _happens(bits, exponent / k):
        k += 1
    return k % 2 == 1


def discrete_laplace(bits, scale):
    """An integer ``y`` with probability proportional to ``exp(-|y| / scale)``; algorithm 2.

    Parameters
    ----------
    bits : callable
        As for `rounded_laplace`.
    scale : Fraction
        Above zero.

    Returns
    -------
    int
    """
    scale = Fraction(scale)
    if scale <= 0:
        raise ValueError("the scale is above zero")
    # Of scale t / s, draws of scale t are divided by s.
    width, divisor = scale.numerator, scale.denominator
    while True:
        part = _below(bits, width)
        if not _happens_exp(bits, Fraction(part, width)):
            continue
        whole = 0
        while _happens_exp(bits, Fraction(1)):
            whole += 1
        size = (part + width * whole) // divisor
        negative = bits(1)
        # Zero has one sign.
        if size or not negative:
            return -size if negative else size
