"""Noise of stages, exact on integers and simulated in floats; and the privacy loss of it.

All that leaves a stage passes through `Noise.add` or `ExactChoice.draw`.  Exact noise is a function
of public inputs, and its document stands in the file of a release beside the budgets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from math import isqrt
from typing import ClassVar

import numpy as np

from geodp.samplers import exact_noise
from geodp.samplers.integer_choice import no_noise
from geodp_release.promise.budget import CONCENTRATED, PURE, choice_cost


@dataclass(frozen=True)
class Noise:
    """Independent noise for rows of numbers, with a scale for each, or one for all as one vector.

    Scales are fractions, or floats where noise is only simulated.
    """

    scales: tuple

    unit: ClassVar[str]
    # Simulated noise of a shape (releases, rows, m); and variances (rows,) of entries of such rows.
    draw: ClassVar[Callable[..., np.ndarray]]
    variances: ClassVar[Callable[..., np.ndarray]]
    # Noise of a row from bits, its length and its scale; and the loss of a row's difference.
    _exact: ClassVar[Callable[..., list[int]]]
    _loss: ClassVar[Callable[..., float]]

    def add(self, sums, bits):
        """Sums, whole numbers (rows, m), with exact noise from bits as `exact_noise` takes them."""
        sums = np.array(sums, dtype=object)
        if bits is no_noise:
            return sums
        parts = np.reshape(sums, (len(self.scales), -1))
        noise = [self._exact(bits, parts.shape[1], scale) for scale in self.scales]
        return sums + np.reshape(np.array(noise, dtype=object), sums.shape)

    @property
    def widths(self):
        """Scales (rows,) as floats, of normal noise standard deviations."""
        return np.array([float(scale) for scale in self.scales])

    def loss(self, difference):
        """Privacy loss between sums (rows, m) that differ so much, a float in the budget's unit."""
        parts = np.reshape(np.array(difference, dtype=object), (len(self.scales), -1))
        return sum(
            self._loss([int(each) for each in part], scale)
            for part, scale in zip(parts, self.scales, strict=True)
        )

    def cost(self, difference, unit):
        """The same in the unit of a stage, which that of a choice is not."""
        return self.loss(difference)

    def document(self):
        """The noise as values that JSON has."""
        return {type(self).__name__: [str(each) for each in self.scales]}


class KNormNoise(Noise):
    """Rounded draws of rows from densities proportional to ``exp(-|y| / scale)``; pure."""

    unit = PURE

    @staticmethod
    def _exact(bits, number, scale):
        return exact_noise.rounded_laplace(bits, number, scale)

    @staticmethod
    def _loss(part, scale):
        return float(np.linalg.norm([float(each / scale) for each in part]))

    def draw(self, rng, shape):
        # Gamma lengths in uniform directions.
        rows = len(self.scales)
        normal = rng.normal(size=(shape[0], rows, shape[1] * shape[2] // rows))
        normal = np.asfortranarray(normal)
        length = rng.gamma(normal.shape[-1], self.widths[:, None], (*normal.shape[:2], 1))
        noise = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        return np.reshape(noise, shape)

    def variances(self, length):
        return np.array([(length + 1) * float(scale) ** 2 for scale in self.scales])


class LaplaceNoise(Noise):
    """Discrete Laplace noise, with probabilities proportional to ``exp(-|y| / scale)``; pure."""

    unit = PURE

    @staticmethod
    def _exact(bits, number, scale):
        return [exact_noise.discrete_laplace(bits, scale) for _ in range(number)]

    @staticmethod
    def _loss(part, scale):
        return float(sum(abs(each) for each in part) / scale)

    def draw(self, rng, shape):
        return rng.laplace(size=shape) * self.widths[:, None]

    def variances(self, length):
        return 2.0 * self.widths**2


class GaussianNoise(Noise):
    """Discrete Gaussian noise, whose scales are variances; zero-concentrated."""

    unit = CONCENTRATED

    @staticmethod
    def _times(number):
        """How often each entry of a row counts, whose variance is that much smaller."""
        return [1] * number

    def _exact(self, bits, number, scale):
        return [exact_noise.discrete_gaussian(bits, scale / times) for times in self._times(number)]

    def _loss(self, part, scale):
        squares = [times * e**2 for times, e in zip(self._times(len(part)), part, strict=True)]
        return float(sum(squares) / (2 * scale))

    def draw(self, rng, shape):
        noise = rng.normal(size=shape) * self.widths[:, None]
        return noise / np.sqrt(self._times(shape[-1]))

    def variances(self, length):
        return np.array([float(scale) for scale in self.scales])

    @property
    def widths(self):
        return np.sqrt(self.variances(1))


class MatrixLaplaceNoise(Noise):
    """Rounded matrix Laplace noise, see `exact_noise.rounded_matrix_laplace`; pure.

    A row is the upper triangle of a symmetric matrix, row by row.
    """

    unit = PURE

    @staticmethod
    def _exact(bits, number, scale):
        return exact_noise.rounded_matrix_laplace(bits, _size(number), scale)

    @staticmethod
    def _loss(part, scale):
        # The most it may be anywhere: the nuclear norm over the scale.
        matrix = np.zeros((_size(len(part)),) * 2)
        matrix[np.triu_indices(len(matrix))] = [float(each / scale) for each in part]
        return float(np.abs(np.linalg.eigvalsh(matrix, UPLO="U")).sum())

    def draw(self, rng, shape):
        size = _size(shape[2])
        factors = rng.normal(size=(2, *shape[:2], size, size + 1))
        one, other = factors @ np.swapaxes(factors, -1, -2)
        return (one - other)[..., *np.triu_indices(size)] * (0.5 * self.widths[:, None])

    def variances(self, length):
        """Variances (rows,) of entries on the diagonal, twice those off it."""
        return (_size(length) + 1) * self.widths**2


class MatrixGaussianNoise(GaussianNoise):
    """Discrete Gaussian noise with squared Frobenius norms in its exponent; zero-concentrated.

    Rows are as for `MatrixLaplaceNoise`; scales are variances on the diagonal, twice those off it.
    """

    @staticmethod
    def _times(number):
        return (2 - np.equal(*np.triu_indices(_size(number)))).tolist()


def _size(number):
    """Size of a symmetric matrix whose upper triangle has so many entries."""
    return (isqrt(8 * number + 1) - 1) // 2


class ChoiceNoise(Noise):
    """Exact choice of an index with probability proportional to ``w exp(-rate e)``; one rate."""

    def loss(self, difference):
        """Largest difference of log ratios of probabilities, an epsilon, for whole losses."""
        return float(self.scales[0] * (int(max(difference)) - int(min(difference))))

    def cost(self, difference, unit):
        return float(choice_cost(self.loss(difference), unit))
