"""Coordinates in which contributions of records to a step are clipped, and noise is added to them.

A record contributes a gradient a in the footpoint and b_1, ..., b_k in the shooting vectors.

* Without a covariate the coordinates are those of a, and the norm is its length.
* With one they are the gradients ``a/2 + b`` and ``a/2 - b`` in both ends of the geodesic, and the
  norm is the sum of their lengths.  In flat space no norm is tighter: its ball is the convex hull
  of what a record can contribute (`docs/guarantee.md`).
* With more they are a and `WEIGHT` times each b_j, and the norm is their length as one vector.
"""

from dataclasses import dataclass
from fractions import Fraction

import numpy as np

from geodp_release.accounting import PURE
from geodp_release.noise import GaussianNoise, KNormNoise

# Weight of shooting vectors where there are several.  The error of predictions is least at the root
# of 12 for covariates that are spread evenly, and at 2 for two groups; this is within 5 % of both.
WEIGHT = Fraction(5, 2)

# Gaussian noise with one covariate: variances of the sums of a and of 2 b, in units of
# (changes tau)^2 / (2 rho).  Then 1 / 11/4 + 1 / 11/7 = 1, which makes the cost rho; the ratio is
# within 1e-3 of the best.
GAUSSIAN_VARIANCES = Fraction(11, 4), Fraction(11, 7)


@dataclass(frozen=True)
class ClippingCoordinates:
    """Coordinates of contributions with k covariates; arrays have the shape (..., 1 + k, dim).

    Attributes
    ----------
    covariates : int
        k.
    """

    covariates: int

    @property
    def is_joint(self):
        """Whether the norm is that of all coordinates as one vector."""
        return self.covariates > 1

    def of(self, contributions):
        """Coordinates of contributions, by block along the first axis after records."""
        if self.covariates == 0:
            return contributions
        if self.is_joint:
            weights = np.ones(contributions.shape[1])
            weights[1:] = float(WEIGHT)
            return weights.reshape((1, -1, *[1] * (contributions.ndim - 2))) * contributions
        first, second = np.moveaxis(contributions, 1, 0)
        return np.stack([0.5 * first + second, 0.5 * first - second], axis=1)

    def norm(self, coordinates):
        """Norm (...) in which contributions are clipped."""
        squares = np.sum(coordinates**2, axis=-1)
        if self.is_joint:
            return np.sqrt(np.sum(squares, axis=-1))
        return np.sum(np.sqrt(squares), axis=-1)

    def lengths(self, covariates):
        """Norms (m,) of contributions of residuals of length one, at covariates (m, k)."""
        if not self.is_joint:
            # Within -1/2 and 1/2 that of a residual is its length.
            return np.ones(len(covariates))
        return np.sqrt(1.0 + float(WEIGHT) ** 2 * np.sum(covariates**2, axis=-1))

    def noise(self, unit, change, budget):
        """Noise of sums in the coordinates of `noisy`.

        Parameters
        ----------
        unit : {"epsilon", "rho"}
        change : int
            Norm by which sums of neighbouring data sets differ at most.
        budget : Fraction

        Returns
        -------
        Noise
        """
        rows = 1 + self.covariates
        if unit == PURE:
            # One draw for each part of the norm.
            return KNormNoise((change / budget,) * (1 if self.is_joint else rows))
        variance = Fraction(change**2) / (2 * budget)
        if self.covariates == 1:
            return GaussianNoise(tuple(factor * variance for factor in GAUSSIAN_VARIANCES))
        return GaussianNoise((variance,) * rows)

    def noisy(self, sums, bits, noise):
        """Sums of contributions with exact noise.

        Parameters
        ----------
        sums : array of int, shape (1 + k, dim)
            Coordinates.
        bits : callable
            See `geodp.samplers.exact_noise`.
        noise : Noise
            Of `noise`.

        Returns
        -------
        ndarray, shape (1 + k, dim)
            Sums of a and of each b_j, in the unit of the coordinates.
        """
        sums = np.array(sums, dtype=object)
        if self.covariates == 1 and isinstance(noise, GaussianNoise):
            # a, and 2 b, whose noise is then halved with it.
            both = noise.add([sums[0] + sums[1], sums[0] - sums[1]], bits)
            return both.astype(float) * [[1.0], [0.5]]
        return self._blocks(noise.add(sums, bits))

    def _blocks(self, sums):
        """Sums of a and of each b_j, from coordinates that are whole numbers."""
        if self.covariates == 1:
            return np.array([sums[0] + sums[1], sums[0] - sums[1]]).astype(float) * [[1.0], [0.5]]
        sums = sums.astype(float)
        sums[1:] /= float(WEIGHT)
        return sums

    def noise_variances(self, unit, change, budget, dim):
        """Variances (1 + k,) of a coordinate of the noise of the sums of a and of each b_j.

        Parameters
        ----------
        unit : {"epsilon", "rho"}
        change, budget : float
            See `noisy`.
        dim : int
        """
        if unit == PURE:
            # Gamma lengths in uniform directions.
            together = (1 + self.covariates) * dim if self.is_joint else dim
            end = (together + 1) * (change / budget) ** 2
            factors = [2.0, 0.5]
        else:
            end = change**2 / (2.0 * budget)
            first, second = (float(each) for each in GAUSSIAN_VARIANCES)
            factors = [first, 0.25 * second]
        if self.covariates != 1:
            factors = [1.0, *[float(WEIGHT) ** -2] * self.covariates]
        return end * np.array(factors)

    def simulated_noise(self, rng, unit, change, budget, shape):
        """Noise of the given shape (releases, 1 + k, dim), as that of `noisy`."""
        normal = rng.normal(size=shape)
        if unit != PURE:
            variances = self.noise_variances(unit, change, budget, shape[-1])
            return normal * np.sqrt(variances)[:, None]
        if self.is_joint:
            length = rng.gamma(shape[1] * shape[2], change / budget, (len(normal), 1, 1))
            ends = normal * (length / np.linalg.norm(normal, axis=(1, 2), keepdims=True))
            ends[:, 1:] /= float(WEIGHT)
            return ends
        length = rng.gamma(shape[-1], change / budget, (*shape[:2], 1))
        ends = normal * (length / np.linalg.norm(normal, axis=-1, keepdims=True))
        if self.covariates == 0:
            return ends
        return np.stack([ends[:, 0] + ends[:, 1], 0.5 * (ends[:, 0] - ends[:, 1])], axis=1)
