"""Noise of the stages of a release: what is added to whole numbers, and what that costs.

All that leaves a stage passes through `Noise.add` or `ExactChoice.draw`.  Noise is a function of
public inputs, and its document stands in the file of a release beside the budgets.
"""

from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from typing import ClassVar

import numpy as np

from geodp.samplers import exact_noise


@dataclass(frozen=True)
class Noise:
    """Independent noise for rows of whole numbers.

    Attributes
    ----------
    scales : tuple of Fraction
        One for each row, or one for all rows as one vector.
    """

    scales: tuple[Fraction, ...]

    # Noise of a row from bits, its length and its scale; and the loss of a row's difference.
    _draw: ClassVar[Callable[..., list[int]]]
    _loss: ClassVar[Callable[..., float]]

    def add(self, sums, bits):
        """Sums with noise.

        Parameters
        ----------
        sums : array of int, shape (rows, m)
        bits : callable
            See `geodp.samplers.exact_noise`.

        Returns
        -------
        ndarray of int, shape (rows, m)
        """
        sums = np.array(sums, dtype=object)
        parts = np.reshape(sums, (len(self.scales), -1))
        noise = [self._draw(bits, parts.shape[1], scale) for scale in self.scales]
        return sums + np.reshape(np.array(noise, dtype=object), sums.shape)

    def loss(self, difference):
        """Privacy loss between sums that differ so much, a float in the unit of the budget.

        Parameters
        ----------
        difference : array of int, shape (rows, m)
        """
        parts = np.reshape(np.array(difference, dtype=object), (len(self.scales), -1))
        return sum(
            self._loss([int(each) for each in part], scale)
            for part, scale in zip(parts, self.scales, strict=True)
        )

    def document(self):
        """The noise as values that JSON has."""
        return {type(self).__name__: [str(each) for each in self.scales]}


class KNormNoise(Noise):
    """Rounded draws of rows from densities proportional to ``exp(-|y| / scale)``; pure."""

    @staticmethod
    def _draw(bits, number, scale):
        return exact_noise.rounded_laplace(bits, number, scale)

    @staticmethod
    def _loss(part, scale):
        return float(np.linalg.norm([float(each / scale) for each in part]))


class LaplaceNoise(Noise):
    """Discrete Laplace noise, with probabilities proportional to ``exp(-|y| / scale)``; pure."""

    @staticmethod
    def _draw(bits, number, scale):
        return [exact_noise.discrete_laplace(bits, scale) for _ in range(number)]

    @staticmethod
    def _loss(part, scale):
        return float(sum(abs(each) for each in part) / scale)


class GaussianNoise(Noise):
    """Discrete Gaussian noise, whose scales are variances; zero-concentrated."""

    @staticmethod
    def _draw(bits, number, scale):
        return [exact_noise.discrete_gaussian(bits, scale) for _ in range(number)]

    @staticmethod
    def _loss(part, scale):
        return float(sum(each**2 for each in part) / (2 * scale))


class ChoiceNoise(Noise):
    """Exact choice of an index with probability proportional to ``w exp(-rate e)``; one rate."""

    def loss(self, difference):
        """Largest difference of log ratios of probabilities, an epsilon, for whole losses."""
        return float(self.scales[0] * (int(max(difference)) - int(min(difference))))
