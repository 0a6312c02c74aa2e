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

from geodp_release.accounting import CONCENTRATED, PURE
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
    """Coordinates of contributions with k covariates; arrays have the shape (..., 1 + k, dim)."""

    covariates: int

    @property
    def is_joint(self):
        """Whether the norm is that of all coordinates as one vector."""
        return self.covariates > 1

    @property
    def _weights(self):
        """Weights (1 + k, 1) of blocks, where these are coordinates."""
        return np.array([[1.0], *[[float(WEIGHT)]] * self.covariates])

    def of(self, contributions):
        """Coordinates of contributions (n, 1 + k, *point_shape)."""
        if self.covariates == 0:
            return contributions
        if self.covariates == 1:
            first, second = np.moveaxis(contributions, 1, 0)
            return np.stack([0.5 * first + second, 0.5 * first - second], axis=1)
        shape = (1, -1, *[1] * (contributions.ndim - 2))
        return self._weights.reshape(shape) * contributions

    def norm(self, coordinates):
        """Norm (...) in which contributions are clipped."""
        squares = np.sum(coordinates**2, axis=-1)
        if self.is_joint:
            return np.sqrt(np.sum(squares, axis=-1))
        return np.sum(np.sqrt(squares), axis=-1)

    def lengths(self, covariates):
        """Norms (m, ...) of contributions of residuals of length one, at covariates (m, k, ...)."""
        # Within -1/2 and 1/2 one covariate leaves a residual its length.
        weight = float(WEIGHT) if self.is_joint else 0.0
        return np.sqrt(1.0 + weight**2 * np.sum(covariates**2, axis=1))

    def noise(self, unit, change, budget):
        """Noise of sums of contributions; in floats it is only simulated.

        Parameters
        ----------
        unit : {"epsilon", "rho"}
        change : int or float
            Norm by which sums of neighbouring data sets differ at most.
        budget : Fraction or float
        """
        rows = 1 + self.covariates
        if unit == PURE:
            # One draw for each part of the norm.
            return KNormNoise((change / budget,) * (1 if self.is_joint else rows))
        variance = change**2 / (2 * budget)
        factors = GAUSSIAN_VARIANCES if self.covariates == 1 else (1,) * rows
        return GaussianNoise(tuple(factor * variance for factor in factors))

    def noisy(self, sums, bits, noise):
        """Sums of a and of each b_j (1 + k, dim) with exact noise, from sums of coordinates."""
        sums = np.array(sums, dtype=object)
        if self.covariates == 1 and noise.unit == CONCENTRATED:
            # Of a and 2 b.
            sums = np.array([sums[0] + sums[1], sums[0] - sums[1]], dtype=object)
            return noise.add(sums, bits).astype(float) * [[1.0], [0.5]]
        return self._blocks(noise.add(sums, bits))

    def _blocks(self, sums):
        """Sums of a and of each b_j (..., 1 + k, dim), from those of coordinates."""
        if self.covariates == 1:
            first, second = sums[..., 0, :], sums[..., 1, :]
            # Whole numbers are added as such.
            return np.stack([first + second, 0.5 * (first - second)], axis=-2).astype(float)
        return sums.astype(float) / self._weights

    def variances(self, noise, dim):
        """Variances (1 + k,) of a coordinate of the noise of the sums of a and of each b_j."""
        rows = noise.variances(dim * (1 + self.covariates) if self.is_joint else dim)
        if self.covariates == 1:
            return (np.sum(rows) if noise.unit == PURE else rows) * np.array([1.0, 0.25])
        return rows * np.array([1.0, *[float(WEIGHT) ** -2] * self.covariates])

    def simulated(self, rng, noise, shape):
        """Simulated noise of the given shape (releases, 1 + k, dim), as that of `noisy`."""
        if noise.unit == CONCENTRATED:
            deviations = np.sqrt(self.variances(noise, shape[-1]))
            return rng.normal(size=shape) * deviations[:, None]
        return self._blocks(noise.draw(rng, shape))
