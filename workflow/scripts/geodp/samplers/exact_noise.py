"""Integer noise whose distribution is exact, given independent fair bits.

Uniform numbers are enclosed by their first random bits, and what is computed from them by interval
arithmetic.  Where an enclosure does not decide an integer, more bits are drawn and all is computed
again.  So no rounding changes a distribution, as it would with ordinary floats (Mironov 2012).

The time of a draw does not follow its value.  Every draw, or candidate of a draw, takes the same
number of bits and operations, unless these bits do not decide, which has a probability below
2^-100; and how many candidates are rejected is independent of the one that is accepted.
"""

from fractions import Fraction
from functools import lru_cache
from math import isqrt, prod


class _Uniform:
    """A uniform number between 0 and 1, known to as many bits as were asked for."""

    def __init__(self, bits):
        self._bits = bits
        self._known, self._value = 0, 0

    def enclosure(self, precision):
        """An interval of width ``2^-precision`` that holds the number."""
        missing = precision - self._known
        self._value = (self._value << missing) | self._bits(missing)
        self._known = precision
        return _interval_of(precision)(self._value)

    def exponential(self, precision):
        """An interval that holds minus the number's logarithm, which is exponential."""
        return -self.enclosure(precision).log()


@lru_cache
def _interval_of(precision):
    """Function from the first bits of a number between 0 and 1 to the interval they leave."""
    from flint import arb

    # Half the last bit either way, and a power of two: no rounding.
    half, unit = arb(0.5, 0.5), arb(2) ** -precision
    return lambda first: (first + half) * unit


def _floors(scale, enclosures, precision=128, guard=32):
    """Largest integers below numbers of about this scale, from enclosures at ever more bits.

    The first, of so many bits beyond those of the scale, leave less than 2^-100 undecided.
    Interval arithmetic has ``guard`` bits more.
    """
    from flint import ctx

    precision += int(scale).bit_length()
    while True:
        with ctx.workprec(precision + guard):
            found = [each.floor().unique_fmpz() for each in enclosures(precision)]
        if None not in found:
            return [int(each) for each in found]
        precision *= 2


def _normals(pairs, precision):
    """Intervals that hold independent standard normal numbers, two from each pair.

    And intervals that hold the sums of the squares of each two.
    """
    found, squares = [], []
    for first, second in pairs:
        square = 2 * first.exponential(precision)
        sine, cosine = (2 * second.enclosure(precision)).sin_cos_pi()
        radius = square.sqrt()
        found += [radius * cosine, radius * sine]
        squares.append(square)
    return found, squares


def rounded_laplace(bits, dimension, scale):
    """Nearest integers to a draw from the density proportional to ``exp(-|y| / scale)``.

    Added to a sum of integers it gives what the K-norm mechanism of the Euclidean norm would,
    rounded afterwards: rounding and adding integers may be exchanged.  ``bits`` takes a count to an
    integer of so many random bits, see `system_bits`; the scale is a Fraction.
    """
    from flint import arb

    scale = Fraction(scale)
    if dimension < 1 or scale <= 0:
        raise ValueError("the dimension and the scale are above zero")
    # For the length, and for normal numbers that give the direction.
    lengths = [_Uniform(bits) for _ in range(dimension)]
    pairs = [(_Uniform(bits), _Uniform(bits)) for _ in range(-(-dimension // 2))]

    def enclosures(precision):
        # The sum of exponential numbers is minus the logarithm of a product.
        product = prod((each.enclosure(precision) for each in lengths), start=arb(1))
        length = -product.log() * scale.numerator / scale.denominator
        normal, squares = _normals(pairs, precision)
        if dimension % 2:
            # The last of them is left out.
            squares[-1] = normal[-2] * normal[-2]
        factor, half = length / sum(squares, arb(0)).sqrt(), arb(0.5)
        return [factor * each + half for each in normal[:dimension]]

    return _floors(scale, enclosures)


def rounded_matrix_laplace(bits, size, scale):
    """Nearest integers to the upper triangle, row by row, of a draw of matrix Laplace noise.

    That is the difference of two Wishart matrices with ``size + 1`` degrees of freedom, each of
    density proportional to ``exp(-tr W / scale)`` on the positive semidefinite matrices: see "The
    matrix of moments" in docs/guarantee.md.  ``bits`` and the scale are as for `rounded_laplace`.
    """
    from flint import arb, arb_mat

    scale = Fraction(scale)
    if size < 1 or scale <= 0:
        raise ValueError("the size and the scale are above zero")
    pairs = [(_Uniform(bits), _Uniform(bits)) for _ in range(size * (size + 1))]

    def enclosures(precision):
        normal, _ = _normals(pairs, precision)
        one, other = (arb_mat(size, size + 1, normal[part::2]) for part in range(2))
        noise = one * one.transpose() - other * other.transpose()
        half = arb(scale.numerator) / arb(2 * scale.denominator)
        return [half * noise[i, j] + arb(0.5) for i in range(size) for j in range(i, size)]

    return _floors(scale, enclosures)


def discrete_gaussian(bits, variance):
    """An integer ``y`` with probability proportional to ``exp(-y^2 / (2 variance))``.

    By rejection of discrete Laplace draws (Canonne, Kamath and Steinke 2020, algorithm 3), of which
    0.46 or more are accepted.
    ``bits`` is as for `rounded_laplace`, and the variance is a Fraction above zero.
    """
    from flint import arb

    width, centre, twice = _of_candidates(variance)
    while True:
        y, uniform = discrete_laplace(bits, width), _Uniform(bits)

        def enclosures(precision, y=y, uniform=uniform):
            away = arb(abs(y)) - arb(centre.numerator) / arb(centre.denominator)
            exponent = away * away * twice.denominator / twice.numerator
            return [uniform.exponential(precision) - exponent]

        # With probability exp(-exponent).
        if _floors(width, enclosures)[0] >= 0:
            return y


@lru_cache
def _of_candidates(variance):
    """Their scale, where their density touches the Gaussian one, and twice the variance."""
    variance = Fraction(variance)
    if variance <= 0:
        raise ValueError("the variance is above zero")
    width = isqrt(variance.numerator // variance.denominator) + 1
    return Fraction(width), variance / width, 2 * variance


def discrete_laplace(bits, scale):
    """An integer ``y`` with probability proportional to ``exp(-|y| / scale)``.

    The difference of two geometric variables, which are exponential ones of that scale rounded
    down.  ``bits`` is as for `rounded_laplace`, and the scale is a Fraction above zero.
    """
    from flint import arb

    scale = Fraction(scale)
    if scale <= 0:
        raise ValueError("the scale is above zero")
    pair = _Uniform(bits), _Uniform(bits)

    def enclosures(precision):
        factor = arb(scale.numerator) / arb(scale.denominator)
        return [factor * each.exponential(precision) for each in pair]

    first, second = _floors(scale, enclosures)
    return first - second
