"""Exact integer noise and exact choices: distributions, and bits that do not follow the value."""

from decimal import Decimal, localcontext
from fractions import Fraction
from functools import partial
from unittest.mock import Mock, call

import numpy as np
import pytest
from quadrature import matrix_laplace_log_density
from scipy.stats import chi2, chisquare, gamma, kstest

from geodp.samplers import exact_noise, integer_choice
from geodp.samplers.exact_noise import discrete_gaussian, discrete_laplace, rounded_laplace
from geodp_release.run.noise import GaussianNoise, MatrixGaussianNoise, MatrixLaplaceNoise
from linear_matrix import LaplaceNoise


def bits(seed):
    return integer_choice.generator_bits(np.random.default_rng(seed))


def begin_with(precision, monkeypatch):
    """Let first enclosures have so many bits."""
    floors = partial(exact_noise._floors, precision=precision)
    monkeypatch.setattr(exact_noise, "_floors", floors)


def agree(counts, chances):
    """Whether counts of outcomes, the last of all others, have these chances."""
    return chisquare(counts, np.array(chances) * sum(counts)).pvalue > 1e-4


@pytest.mark.parametrize("dimension", [1, 7, pytest.param(96, marks=pytest.mark.slow)])
def test_lengths_are_gamma_and_directions_uniform(dimension):
    scale = Fraction(1 << 40, 3)
    drawn = [rounded_laplace(bits([3, dimension, k]), dimension, scale) for k in range(400)]
    drawn = np.array(drawn, dtype=float)
    lengths = np.linalg.norm(drawn, axis=1)
    assert kstest(lengths / float(scale), gamma(dimension).cdf).pvalue > 1e-4
    # A coordinate of a uniform direction, and the squares of all.
    towards = drawn / lengths[:, None]
    assert np.all(np.abs(towards.mean(axis=0)) < 5.0 / np.sqrt(400 * dimension))
    assert np.max(np.abs((towards**2).mean(axis=0) * dimension - 1.0)) < 0.6


def of_rounded_laplace(k, scale):
    """Integral of the Laplace density from k - 1/2 to k + 1/2."""
    inside = np.exp(-k / scale) * np.sinh(0.5 / scale)
    return np.where(k == 0, -np.expm1(-0.5 / scale), inside)


# Draws, and weights of the sizes of integers.  Matrix Laplace noise of size one is Laplace noise.
INTEGERS = {
    "Laplace": (discrete_laplace, lambda k, scale: np.exp(-k / scale)),
    "Gaussian": (discrete_gaussian, lambda k, variance: np.exp(-(k**2) / (2.0 * variance))),
    "rounded": (lambda *given: rounded_laplace(given[0], 1, given[1])[0], of_rounded_laplace),
    "matrix": (
        lambda *given: exact_noise.rounded_matrix_laplace(given[0], 1, given[1])[0],
        of_rounded_laplace,
    ),
}
# Just below and above one the width of the candidates of Gaussian noise changes.
SCALES = [Fraction(1, 3), Fraction(99, 100), Fraction(1), Fraction(37, 5), Fraction(25)]


@pytest.mark.parametrize(
    ("scale", "precision"),
    # With two bits at first nothing is decided, and the distribution is the same.
    [(Fraction(1, 3), 2), (Fraction(37, 5), 2), *((s, 128) for s in SCALES)],
)
@pytest.mark.parametrize(("draw", "weight"), INTEGERS.values(), ids=INTEGERS)
def test_integers_have_their_probabilities(draw, weight, scale, precision, monkeypatch):
    begin_with(precision, monkeypatch)
    source = bits([5, precision])
    drawn = np.array([draw(source, scale) for _ in range(4000)])
    weights = weight(np.abs(np.arange(-400, 401)), float(scale))
    chances = weights / weights.sum()
    used = np.flatnonzero(chances > 2e-3)
    counts = [np.sum(drawn == k) for k in used - 400]
    assert agree([*counts, len(drawn) - sum(counts)], [*chances[used], 1.0 - sum(chances[used])])


@pytest.mark.parametrize("ahead", [0, 4, 64, 1 << 14])
def test_bits_are_the_same_however_many_are_taken_at_once(ahead):
    generator, counts = np.random.default_rng(7), np.random.default_rng(1).integers(1, 300, 500)
    expected = [
        int.from_bytes(generator.bytes(-(-k // 8)), "little") % (1 << k) for k in map(int, counts)
    ]
    taken = integer_choice.generator_bits(np.random.default_rng(7), ahead)
    assert [taken(int(count)) for count in counts] == expected


SAMPLERS = {
    "Laplace": discrete_laplace,
    "rounded Laplace": lambda source, scale: rounded_laplace(source, 3, scale)[0],
    "matrix Laplace": lambda source, scale: exact_noise.rounded_matrix_laplace(source, 2, scale)[0],
    "Gaussian": lambda source, scale: discrete_gaussian(source, scale**2),
}


@pytest.mark.parametrize("scale", [Fraction(1, 3), Fraction(1 << 26)])
@pytest.mark.parametrize("name", SAMPLERS)
def test_bits_that_are_drawn_do_not_follow_the_value(name, scale):
    """A draw takes always as many; or as many a candidate, whatever is accepted in the end."""
    source, asked, drawn = bits(7), [0], []

    def counted(count):
        asked[-1] += count
        return source(count)

    for _ in range(1000):
        drawn.append(SAMPLERS[name](counted, scale))
        asked.append(0)
    candidates = np.array(asked[:-1]) / min(asked[:-1])
    assert np.all(candidates % 1.0 == 0.0)
    if name != "Gaussian":
        assert np.all(candidates == 1.0)
        return
    # Of a draw at which 0.46 or more are accepted.
    assert np.mean(candidates) < 2.4
    assert abs(np.corrcoef(candidates, np.abs(drawn))[0, 1]) < 4.0 / np.sqrt(1000)


@pytest.mark.parametrize("scale", [Fraction(0), Fraction(-1)])
@pytest.mark.parametrize("draw", [*(draw for draw, _ in INTEGERS.values())], ids=INTEGERS)
def test_what_is_not_above_zero_is_refused(draw, scale):
    with pytest.raises(ValueError, match="above zero"):
        draw(integer_choice.system_bits, scale)


def matrices(triangles):
    """Symmetric matrices (n, p, p) from upper triangles (n, p (p + 1) / 2), row by row."""
    size = int(np.sqrt(2 * np.shape(triangles)[1]))
    found = np.empty((len(triangles), size, size))
    rows, columns = np.triu_indices(size)
    found[:, rows, columns] = found[:, columns, rows] = triangles
    return found


def exact_matrices(size, number):
    source, draw = bits([11, size]), exact_noise.rounded_matrix_laplace
    drawn = [draw(source, size, Fraction(1 << 60)) for _ in range(number)]
    return matrices(np.array(drawn, dtype=float) / 2.0**60)


def wrong_matrices(size, number):
    """Draws of as many degrees of freedom as rows, and ones whose entries have one variance."""
    factors = np.random.default_rng(13).normal(size=(2, number, size, size + 1))
    for part, share in ((factors[..., 1:], 1.0), (factors, np.sqrt(0.5))):
        one, other = part @ np.swapaxes(part, 2, 3)
        yield 0.5 * (one - other) * np.where(np.eye(size), 1.0, share)


def have_the_characteristic_function(drawn):
    """Whether means of cos tr(T N) are det(1 + T^2)^(-(p + 1) / 2), for random T and over all.

    It is that of the difference of two Wishart matrices whose density is proportional to exp(-tr W)
    in the cone; the density of the theorem is the convolution of theirs.
    """
    size = drawn.shape[1]
    sides = np.random.default_rng(41).normal(size=(20, size, size))
    sides = (sides + np.swapaxes(sides, 1, 2)) / (size * np.sqrt(size + 1))
    errors = np.cos(np.einsum("nij,kij->nk", drawn, sides))
    errors -= np.linalg.det(np.eye(size) + sides @ sides) ** (-0.5 * (size + 1))
    errors = np.column_stack([errors, np.mean(errors, axis=1)])
    allowed = 4.5 * np.std(errors, axis=0) / np.sqrt(len(drawn))
    return bool(np.all(np.abs(np.mean(errors, axis=0)) < allowed))


# With 30 bits at first nothing is decided.
@pytest.mark.parametrize(("size", "bits_at_first"), [(2, None), (2, 30), (3, None), (5, None)])
def test_matrices_have_the_density_of_the_theorem(size, bits_at_first, monkeypatch):
    if bits_at_first:
        begin_with(bits_at_first - 61, monkeypatch)
    rng, number = np.random.default_rng(37), 3000 if size == 2 else 1500
    floats = np.array([LaplaceNoise(1.0).draw(rng, size) for _ in range(number)])
    shape = (number, 2, size * (size + 1) // 2)
    simulated = MatrixLaplaceNoise((0.5, 2.0)).draw(rng, shape) / [[0.5], [2.0]]
    exact = exact_matrices(size, number)
    for right in (exact, floats, *map(matrices, np.swapaxes(simulated, 0, 1))):
        assert have_the_characteristic_function(right)
    for wrong in wrong_matrices(size, number):
        assert not have_the_characteristic_function(wrong)


@pytest.mark.parametrize("size", [2, 3])
def test_the_density_by_quadrature_is_that_of_draws(size):
    """Means of g / f are one, f the density by quadrature and g some normal ones."""
    rng = np.random.default_rng(37)
    drawn = np.array([LaplaceNoise(1.0).draw(rng, size) for _ in range(800)])
    logs = np.array([matrix_laplace_log_density(each) for each in drawn])
    logs += 0.25 * size * ((size + 1) * np.log(2.0 * np.pi) - (size - 1) * np.log(2.0))
    for centre in (np.zeros((size, size)), np.diag(np.linspace(-1.0, 1.0, size)), np.eye(size)):
        ratios = np.exp(-0.5 * np.sum((drawn - centre) ** 2, axis=(1, 2)) - logs)
        assert abs(np.mean(ratios) - 1.0) < 4.0 * np.std(ratios) / np.sqrt(len(drawn))


def test_variances_of_matrix_noise_are_those_of_its_entries():
    """Stated for the diagonal, and half of it off the diagonal."""
    drawn = LaplaceNoise(1.0).draw(np.random.default_rng(43), 200)
    [variance] = MatrixLaplaceNoise((1,)).variances(200 * 201 // 2)
    assert np.var(drawn[np.triu_indices(200, 1)]) == pytest.approx(0.5 * variance, rel=0.05)
    assert np.var(np.diag(drawn)) == pytest.approx(variance, rel=0.5)


def losses(changes):
    """Losses for changes (n, p, p), at matrices of all kinds, by quadrature."""
    upper = np.triu_indices(changes.shape[1])[0].shape
    places = matrices(np.random.default_rng(19).uniform(-4.0, 4.0, (len(changes), *upper)))
    ends = [[matrix_laplace_log_density(each, 6) for each in places + k * changes] for k in (0, 1)]
    return np.subtract(*ends)


@pytest.mark.parametrize("size", [2, 3])
def test_no_loss_is_above_that_of_the_theorem(size):
    """One record more or less, of trace one; and one that takes the place of another."""
    factors = np.random.default_rng(23).normal(size=(2, 30, size, size))
    # Of one vector, for half of them.
    factors[:, ::2, :, 1:] = 0.0
    factors /= np.linalg.norm(factors, axis=(2, 3), keepdims=True)
    one, other = factors @ np.swapaxes(factors, 2, 3)
    found = losses(np.concatenate([one, -one]))
    # Nearly reached, of both signs.
    assert 0.95 < max(found) <= 1.0 + 2e-3
    assert 0.95 < max(-found) <= 1.0 + 2e-3
    # Not so if noise off the diagonal were half as wide.
    assert np.abs(losses(one * (2.0 - np.eye(size)))).max() > 1.1

    norms = np.linalg.norm(one - other, "nuc", axis=(1, 2))
    assert np.all(np.abs(losses(one - other)) <= norms + 2e-3)
    # Of orthogonal vectors that is two, nearly reached in the tail.
    away = np.diag([1.0, *[0.0] * (size - 2), -1.0])
    near, far = (matrix_laplace_log_density(length * away, 6) for length in (40.0, 41.0))
    assert 1.95 < near - far <= 2.0


def test_matrix_noise_states_its_losses():
    """The nuclear norm over the scale; half of the squared Frobenius norm over the variance."""
    one, other = np.array([3, 4, 0], dtype=object) << 60, np.array([-4, 3, 2], dtype=object) << 60
    change = (np.outer(one, one) - np.outer(other, other))[np.triu_indices(3)]
    scale = Fraction(7 << 120, 3)
    assert MatrixLaplaceNoise((scale,)).loss(change) == pytest.approx(54 * 3 / 7, rel=1e-12)
    gaussian = MatrixGaussianNoise((Fraction(9 << 240),))
    assert gaussian.loss(change) == pytest.approx((25**2 + 29**2) / 18, rel=1e-12)


def test_gaussian_matrices_have_chi_squared_frobenius_norms():
    """In units of the variance, and of as many degrees of freedom as there are entries."""
    number, source = 1000, bits(29)
    sums = np.arange(number * 6, dtype=object).reshape((number, 1, 6)) << 80

    def fits(drawn):
        squares = np.sum(matrices(drawn[:, 0]) ** 2, axis=(1, 2)) / 900.0
        return kstest(squares, chi2(6).cdf).pvalue > 1e-4

    def exact(noise):
        return np.array([noise.add(each, source) - each for each in sums], dtype=float)

    noise = MatrixGaussianNoise((Fraction(900),))
    assert fits(exact(noise))
    assert fits(noise.draw(np.random.default_rng(31), (number, 1, 6)))
    assert not fits(exact(GaussianNoise(noise.scales)))


@pytest.mark.parametrize("rate", [Fraction(1, 4096), Fraction(57, 10)])
@pytest.mark.parametrize("precision", [32, 512])
def test_powers_are_enclosed(rate, precision):
    small, large, width = integer_choice.power_tables(rate, 5 * 256, precision)
    assert width <= 8 * 256
    with localcontext() as context:
        context.prec = 180
        unit = Decimal(2) ** precision
        step = Decimal(rate.numerator) / Decimal(rate.denominator)
        for table, every in ((small, 1), (large, 256)):
            for index in (0, 1, 2, 5, len(table) - 1):
                true = (-step * every * index).exp() * unit
                assert table[index] <= true <= table[index] + width


def test_frequencies_are_the_probabilities():
    weights = [3, 0, 7, 1, 5, 2]
    exponents = [10, 0, 14, 10, 4100, 11]
    choice, source = integer_choice.ExactChoice(weights, exponents, Fraction(3, 10)), bits(1)
    counts = np.bincount([choice.draw(source) for _ in range(20_000)], minlength=6)
    mass = np.array(weights) * np.exp(-0.3 * (np.array(exponents) - 10.0)) * [1, 0, 1, 1, 1, 1]
    kept = [0, 2, 3, 5]
    # What has no weight, or one of e^-1227, is not drawn.
    assert counts[1] == counts[4] == 0
    assert agree(counts[kept], mass[kept] / np.sum(mass[kept]))


def test_the_first_and_the_last_number_choose_the_ends():
    """Down to weights of e^-150, which a double drawn at once would never reach."""
    choice = integer_choice.ExactChoice([1, 1, 1], [0, 300, 300], Fraction(1, 2))
    whole = 2**320 - 1
    share = Fraction(float(np.exp(-150.0)))
    below = [whole - int(Fraction(factor) * share * 2**320) for factor in (3, 1.5, 0.5)]
    given = Mock(side_effect=[0, whole - 2**102, *below])
    assert [choice.draw(given) for _ in range(5)] == [0, 2, 0, 1, 2]


@pytest.mark.parametrize(("offset", "index"), [(-(2**200), 0), (2**200, 1)])
def test_bits_that_do_not_decide_are_followed_by_more(offset, index):
    """Of weights whose boundary is no dyadic number the first bits may be those of the boundary."""
    with localcontext() as context:
        context.prec = 300
        boundary = 1 / (1 + Decimal(-1).exp())
        prefix = int(boundary * 2**320)
        rest = int((boundary * 2**320 - prefix) * 2**256)
    source = Mock(side_effect=[prefix, rest + offset])
    assert integer_choice.ExactChoice([1, 1], [0, 1], Fraction(1)).draw(source) == index
    assert source.call_args_list == [call(320), call(256)]
    # Half of the total is where two equal weights meet.
    equal = integer_choice.ExactChoice([1, 1], [5, 5], Fraction(1))
    assert equal.draw(Mock(side_effect=[1 << 319, rest + offset])) == 1
    # Zeros are the first of what may be drawn.
    assert integer_choice.ExactChoice([0, 5, 1], [0, 0, 0], Fraction(1)).draw(lambda _: 0) == 1


@pytest.mark.parametrize(
    ("weights", "rate", "says"),
    [([0, 0], 1, "weights"), ([1, -1], 1, "weights"), ([1, 1], 0, "rate")],
)
def test_what_is_no_distribution_is_refused(weights, rate, says):
    with pytest.raises(ValueError, match=says):
        integer_choice.ExactChoice(weights, [0, 0], Fraction(rate))


def test_bits_are_as_many_as_asked_for():
    for source in (integer_choice.system_bits, bits(2)):
        drawn = [source(13) for _ in range(2000)]
        assert 0 <= min(drawn) < 200
        assert 8000 < max(drawn) < 2**13
    assert bits(3)(300) == bits(3)(300)
