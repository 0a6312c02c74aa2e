"""Coordinates in which contributions of records to a step are clipped, and noise is added to them.

A record contributes a gradient a in the footpoint and b_1, ..., b_k in the shooting vectors.

* Without a covariate the coordinates are those of a, and the norm is its length.
* With one they are the gradients in both ends of the geodesic over a public window of the range,
  where most subjects are by the moments: ``a/2 + b'`` and ``a/2 - b'`` for ``b' = (b - m a) / s``,
  m the middle of the window and s its length. The norm is the sum of their lengths.  In flat space
  no norm is tighter: its ball is the convex hull of what a record in the window can contribute
  (`docs/guarantee.md`).
* With more they are a and b' = L^-1 (b - m a), m the mean and L L^T the covariance of the
  covariates, and the norm is their length as one vector.

So a clump of covariates costs less than it does in coordinates of the whole range.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import cached_property, lru_cache

import numpy as np

from geodp.manifolds.unit_norm import squared_length
from geodp_release.promise.budget import CONCENTRATED, PURE
from geodp_release.run.covariate_moments import moment_matrix, possible_moments, product_indices
from geodp_release.run.noise import GaussianNoise, KNormNoise

# Half of a window in standard deviations of the covariate: even covariates have the whole range.
WINDOW = 1.75


@dataclass(frozen=True, eq=False)
class ClippingCoordinates:
    """Coordinates of contributions with k covariates; arrays have the shape (..., 1 + k, dim)."""

    # Matrix (1 + k, 1 + k) from a and b_1, ..., b_k to a and b'.
    standard: np.ndarray

    @classmethod
    def about(cls, moments):
        """Coordinates for covariates with moments (k (k + 3) / 2,), kept for the next call."""
        return cls._about(tuple(moments))

    @classmethod
    @lru_cache(maxsize=64)
    def _about(cls, moments, two_ends=0.245):
        matrix = moment_matrix(possible_moments(np.array(moments)))
        middle = matrix[0, 1:]
        covariance = matrix[1:, 1:] - np.outer(middle, middle)
        if len(middle) == 1:
            half = WINDOW * np.sqrt(covariance[0])
            if matrix[1, 1] > two_ends:
                # Nearly all are at the ends: whoever is in the rarer of two groups is inside, too.
                half = 1.0
            low, high = np.maximum(middle - half, -0.5), np.minimum(middle + half, 0.5)
            middle, root = 0.5 * (low + high), (high - low)[None]
        else:
            root = np.linalg.cholesky(covariance)
        standard = np.eye(len(matrix))
        standard[1:, 1:] = np.linalg.inv(root)
        standard[1:, 0] = -standard[1:, 1:] @ middle
        return cls(standard)

    @classmethod
    def whole(cls, covariates):
        """Coordinates about the whole range of each covariate, in which none is far from most."""
        # Of covariates at the ends, which are independent.
        squares = np.eye(covariates)[product_indices(covariates)]
        return cls.about([*np.zeros(covariates), *0.25 * squares])

    @property
    def longest(self):
        """Norm of a contribution of a residual of length one at most, where they are `whole`."""
        return float(self.lengths(np.full((1, self.covariates), 0.5))[0])

    @cached_property
    def back(self):
        """From a and b' to a and b_1, ..., b_k."""
        return np.linalg.inv(self.standard)

    @property
    def covariates(self):
        """k."""
        return len(self.standard) - 1

    @property
    def is_joint(self):
        """Whether the norm is that of all coordinates as one vector."""
        return self.covariates > 1

    def of(self, contributions):
        """Coordinates of contributions (n, 1 + k, *point_shape), each record's by itself."""
        # Entry by entry: a product of matrices may round a record by its place among others.
        blocks = [contributions[:, each] for each in range(1 + self.covariates)]
        rows = [zip(row, blocks, strict=True) for row in self.standard.tolist()]
        found = [sum(each * block for each, block in row if each) for row in rows]
        if self.covariates == 1:
            first, second = found
            found = [0.5 * first + second, 0.5 * first - second]
        return np.stack(found, axis=1)

    def norm(self, coordinates):
        """Norm (...) in which contributions are clipped."""
        # Over short axes NumPy adds slowly.
        squares = squared_length(coordinates)
        if self.is_joint:
            return np.sqrt(np.sum(squares, axis=-1))
        return sum(np.moveaxis(np.sqrt(squares), -1, 0))

    def lengths(self, covariates):
        """Norms (m, ...) of contributions of residuals of length one, at covariates (m, k, ...)."""
        middle, rest = self.standard[1:, 0], self.standard[1:, 1:]
        places = np.moveaxis(np.tensordot(rest, covariates, axes=(1, 1)), 0, 1)
        places += middle.reshape((-1, *[1] * (places.ndim - 2)))
        if self.is_joint:
            return np.sqrt(1.0 + np.sum(places**2, axis=1))
        # Within its window one covariate leaves a residual its length.
        return np.max(2.0 * np.abs(places), axis=1, initial=1.0)

    def noisy(self, sums, bits, noise):
        """Sums of a and of b' (1 + k, dim) with exact noise, from sums of coordinates."""
        sums = np.array(sums, dtype=object)
        if self.covariates == 1 and noise.unit == CONCENTRATED:
            # Of a and 2 b'.
            sums = np.array([sums[0] + sums[1], sums[0] - sums[1]], dtype=object)
            return noise.add(sums, bits).astype(float) * [[1.0], [0.5]]
        return self._blocks(noise.add(sums, bits))

    def _blocks(self, sums):
        """Sums of a and of b' (..., 1 + k, dim), from those of coordinates."""
        if self.covariates == 1:
            first, second = sums[..., 0, :], sums[..., 1, :]
            # Whole numbers are added as such.
            sums = np.stack([first + second, 0.5 * (first - second)], axis=-2)
        return sums.astype(float)

    @property
    def gradients(self):
        """Matrix (1 + k, 1 + k) from these coordinates to a and b_1, ..., b_k."""
        if self.covariates == 1:
            return self.back @ [[1.0, 1.0], [0.5, -0.5]]
        return self.back

    def variances(self, noise, dim):
        """Variances (1 + k,) of a coordinate of the noise of the sums of a and of b'."""
        rows = noise.variances(dim * (1 + self.covariates) if self.is_joint else dim)
        if self.covariates == 1:
            return (np.sum(rows) if noise.unit == PURE else rows) * np.array([1.0, 0.25])
        return np.broadcast_to(rows, 1 + self.covariates)

    def simulated(self, rng, noise, shape):
        """Simulated noise of the given shape (releases, 1 + k, dim), as that of `noisy`."""
        if noise.unit == CONCENTRATED:
            deviations = np.sqrt(self.variances(noise, shape[-1]))
            return rng.normal(size=shape) * deviations[:, None]
        return self._blocks(noise.draw(rng, shape))


def noise_of(covariates, unit, change, budget):
    """Noise of sums of contributions in their coordinates; in floats it is only simulated.

    ``change`` is the norm by which sums of neighbouring data sets differ at most.
    """
    if unit == PURE:
        # One draw for each part of the norm.
        return KNormNoise((change / budget,) * (2 if covariates == 1 else 1))
    variance = change**2 / (2 * budget)
    factors: tuple = (1,) * (1 + covariates)
    if covariates == 1:
        # Of the sums of a and of 2 b': 1 / 11/4 + 1 / 11/7 = 1, which makes the cost rho; the ratio
        # is within 1e-3 of the best.
        factors = Fraction(11, 4), Fraction(11, 7)
    return GaussianNoise(tuple(factor * variance for factor in factors))
