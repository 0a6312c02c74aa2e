"""Exact draws of an index with probability proportional to ``w exp(-r e)``, by integer arithmetic.

The weights w and exponents e are integers, and the rate r is a fraction.  Integers enclose all
quantities from below and above; a uniform number is enclosed by its first random bits.  If these
do not decide, more bits are drawn and the enclosures are tightened.  So the distribution is exact,
given independent fair bits.
"""

import math
import secrets
from bisect import bisect_right
from fractions import Fraction
from functools import lru_cache
from io import BytesIO
from itertools import accumulate, compress, repeat
from operator import mul


def system_bits(count):
    """A non-negative integer of ``count`` random bits, from the operating system's generator."""
    return secrets.randbits(count)


def no_noise(count):
    """In place of bits, known by being this function: noise is zero, and a choice the likeliest.

    For the holder's own look at what a release would be without noise; no release takes it.
    """
    raise ValueError("no random bits are drawn without noise")


def generator_bits(rng, ahead=0):
    """Function like `system_bits` that uses a NumPy generator, for reproducible studies.

    So many bytes ``ahead``, a multiple of four, are taken at once, as calls of NumPy are slow.
    Integers are the same, if nothing else draws from the generator in between.
    """
    kept = BytesIO()

    def bits(count):
        nonlocal kept
        # Generators make words of four bytes.
        size = -(-count // 32) * 4
        taken = kept.read(size)
        if missing := size - len(taken):
            kept = BytesIO(rng.bytes(max(missing, ahead)))
            taken += kept.read(missing)
        return int.from_bytes(taken, "little") & ((1 << count) - 1)

    return bits


class ExactChoice:
    """Exact draws of an index with probability proportional to ``weight * exp(-rate * exponent)``.

    Weights are integers of zero or more, exponents integers, and the rate is a Fraction above zero.
    ``most`` bounds the differences of exponents, by which tables have a public size.
    """

    def __init__(self, weights, exponents, rate, most=0):
        self.weights, exponents = ([*map(int, each)] for each in (weights, exponents))
        if min(self.weights) < 0 or not any(self.weights):
            raise ValueError("weights are not negative, and some are above zero")
        self.first = next(index for index, weight in enumerate(self.weights) if weight)
        least = min(compress(exponents, self.weights))
        self.exponents = [each - least if each > least else 0 for each in exponents]
        self.most = max(most, max(self.exponents))
        # Powers of exp(-r) are products of an entry of each of two tables, the first of this size.
        self.size = max(1 << 8, 1 << -(-self.most.bit_length() // 2))
        self.rate = Fraction(rate)
        if self.rate <= 0:
            raise ValueError("the rate is above zero")
        self._enclosures = {}

    def draw(self, bits, precision=256, guard=64):
        """Draw one index, with a function from a number of bits to an integer of as many.

        The first enclosures, of the precision, do not decide with a probability of about 2^-200.
        """
        if bits is no_noise:
            logs = [math.log(each) if each else -math.inf for each in self.weights]
            scores = [
                each - float(self.rate) * e for each, e in zip(logs, self.exponents, strict=True)
            ]
            return scores.index(max(scores))
        count, prefix = 0, 0
        while True:
            more = precision + guard - count
            prefix, count = (prefix << more) | bits(more), count + more
            lower, off = self._cumulative(precision)
            # The uniform number times the total.
            least = (prefix * lower[-1]) >> count
            most = -((-(prefix + 1) * (lower[-1] + off)) >> count)
            # What has weight zero at the beginning is never drawn, also below the first enclosure.
            index = max(bisect_right(lower, least - off), self.first)
            if index < len(lower) and most <= lower[index]:
                return index
            precision *= 2

    def _cumulative(self, precision):
        """Lower bounds of the cumulative sums, in units of 2^-precision, and how far these are off.

        At most, and all alike.
        """
        if precision not in self._enclosures:
            small, large, width = power_tables(self.rate, self.most, precision, self.size)
            shift, mask = self.size.bit_length() - 1, self.size - 1
            lower = [
                weight * (large[exponent >> shift] * small[exponent & mask] >> precision)
                for weight, exponent in zip(self.weights, self.exponents, strict=True)
            ]
            # Two factors of at most one are off by a width: their product by twice that, by less
            # than one for its square, and by less than one as it is rounded down.
            off = sum(self.weights) * (2 * width + 2)
            self._enclosures[precision] = list(accumulate(lower)), off
        return self._enclosures[precision]


@lru_cache(maxsize=8)
def power_tables(rate, largest, precision, size=1 << 8, guard=64):
    """Lower bounds of ``exp(-rate * k)``, for k below a size and its multiples up to a largest.

    Two lists of integers, in units of 2^-precision, and how far these are off at most; kept for
    choices at the same rate.  The size is a power of two.
    """
    from flint import arb, ctx

    found, width = [], 0
    with ctx.workprec(precision + guard):
        unit = arb(2) ** precision
        base = (-arb(rate.numerator) / arb(rate.denominator)).exp()
        for number in (size, largest // size + 1):
            powers = list(accumulate(repeat(base, max(number, 2) - 1), mul, initial=arb(1)))
            ends = [_enclosure(each * unit) for each in powers]
            found.append([low for low, _ in ends])
            width = max(width, *(high - low for low, high in ends))
            base = powers[-1] * base
    return *found, width


def _enclosure(number):
    """The integers next to both ends of an interval."""
    ends = number.lower().floor(), number.upper().ceil()
    return tuple(int(end.unique_fmpz()) for end in ends)
