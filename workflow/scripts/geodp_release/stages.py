"""Stages of a release: each is private by itself, and starts from what those before released.

* `PointsStage` chooses among public points by their clipped losses (exponential mechanism).
* `CountStage` releases how many subjects there are, `MomentsStage` how their covariates are spread.
* `NoisyStep` releases clipped gradient sums with noise, and takes a Gauss-Newton step.

Attributes of stages are public.  ``budget`` is in the unit of the release: epsilon or rho.
"""

from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache
from math import isqrt

import numpy as np

from geodp.errors import DataError
from geodp_release.accounting import PURE, UNITS, choice_cost
from geodp_release.contributions import COVARIATE_LATTICE, LATTICE, LOSS_LATTICE
from geodp_release.coordinates import ClippingCoordinates
from geodp_release.moments import (
    moment_matrix,
    possible_moments,
    product_indices,
)
from geodp_release.noise import ChoiceNoise, GaussianNoise, KNormNoise, LaplaceNoise
from geodp_release.simulation import EVEN, EVENLY, Covariates


@dataclass(frozen=True)
class Stage:
    """What stages have in common: a budget, and `noise` that is a function of it.

    Attributes
    ----------
    budget : Fraction
    unit : {"epsilon", "rho"}
    """

    budget: Fraction
    unit: str = PURE

    def __post_init__(self):
        # Sums of fractions are exact, those of floats are rounded.
        object.__setattr__(self, "budget", Fraction(self.budget))
        if self.budget <= 0:
            raise DataError(f"a stage has budget {self.budget}: give each one above zero")
        if self.unit not in UNITS:
            raise DataError(f"a stage has budget unit {self.unit!r}: give {' or '.join(UNITS)}")

    def _refuse_unless_positive(self, name):
        value = getattr(self, name)
        if not (np.isfinite(value) and value > 0.0):
            raise DataError(f"a stage has {name} {value}: give a positive number")


@dataclass(frozen=True)
class PointsStage(Stage):
    """One choice among public points.

    Attributes
    ----------
    epsilon : Fraction
        Of the exponential mechanism; what it costs is the stage's budget.
    points : int
        A power of two.
    clip : float
        Length at which residuals are clipped in the loss.
    radii : tuple of float, optional
        Radii of the pattern about the state before, of footpoints and of each shooting vector.  A
        first stage has none: its points fill the support.
    """

    epsilon: Fraction = Fraction(0)
    points: int = 0
    clip: float = 0.0
    radii: tuple[float, ...] | None = None

    @classmethod
    def of(cls, epsilon, unit, points, clip, radii=None):
        return cls(choice_cost(epsilon, unit), unit, Fraction(epsilon), points, clip, radii)

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "epsilon", Fraction(self.epsilon))
        if choice_cost(self.epsilon, self.unit) != self.budget:
            raise DataError(
                f"a stage chooses with epsilon {self.epsilon}, which does not cost its budget "
                f"{self.budget}: give the one that does"
            )
        if self.points < 2 or self.points & (self.points - 1):
            raise DataError(f"a stage has {self.points} points: give a power of two")
        self._refuse_unless_positive("clip")
        if self.radii is not None:
            radii = np.asarray(self.radii)
            if radii.ndim != 1 or not np.all(np.isfinite(radii) & (radii > 0)):
                raise DataError(f"a stage has radii {self.radii}: give positive numbers")

    def noise(self, assumptions):
        """The `ChoiceNoise` of losses."""
        return ChoiceNoise((self.epsilon / (assumptions.changes * LOSS_LATTICE),))

    def describe(self):
        """The stage in words, for a release."""
        where = "of the support"
        if self.radii is not None:
            radii = " and ".join(f"{each:.4g}" for each in self.radii)
            where = f"within {radii} of the state before"
        return (
            f"exact choice among {self.points} public points {where} by losses clipped at "
            f"{self.clip:.4g}, {self.unit} {float(self.budget):.4g}"
        )


@dataclass(frozen=True)
class CountStage(Stage):
    """Release of the number of subjects, where neighbours differ in it."""

    def noise(self, assumptions):
        """The `Noise` of the number, as one row."""
        if self.unit == PURE:
            return LaplaceNoise((1 / self.budget,))
        return GaussianNoise((1 / (2 * self.budget),))

    def simulated_noise(self, rng, shape):
        """Noise of the number."""
        if self.unit == PURE:
            return rng.laplace(scale=float(1 / self.budget), size=shape)
        return rng.normal(scale=float(1 / (2 * self.budget)) ** 0.5, size=shape)

    def describe(self):
        """The stage in words, for a release."""
        return f"noisy number of subjects, {self.unit} {float(self.budget):.4g}"


# With one covariate: ratio of the noise scales of the sums of covariates and of their squares.
MOMENT_RATIO = 4

# Bounds of privacy loss, per scale of the noise of sums of covariates, for the replacement of one
# subject and for the addition or removal of one; see `docs/guarantee.md`.
LAPLACE_MOMENTS = {2: Fraction(25, 16), 1: Fraction(3, 2)}
GAUSSIAN_MOMENTS = {2: Fraction(13, 10), 1: Fraction(5, 4)}

# Beta distributions that a covariate may have that is said to be spread evenly, which gets half the
# weight.
SHAPES = (0.3, 0.6, 1.0, 2.0, 4.0, 8.0)
ASSUMED_WEIGHT = 0.5

# With several covariates: weights of squares and of products of two beside the covariates.
SQUARES_WEIGHT, PRODUCTS = 2, 3

# By how much noise of the moments is larger than their bound wants, for what rounding adds to it.
FOR_ROUNDING = Fraction(1025, 1024)

# Standard deviations of what is expected of other distributions of covariates: means of covariates,
# of their squares, and of products of two.
EXPECTED = {"mean": 0.12, "square": 0.04, "product": 0.03}

# How much less bands expect: steps may err where covariates are unusual, and bands should not.
WIDER = 2.0


@lru_cache(maxsize=1)
def _candidates():
    """Moments (candidates, 2) of distributions of one covariate, and their prior log weights."""
    found = [Covariates.beta(a, b).moments for a in SHAPES for b in SHAPES if (a, b) != (1.0, 1.0)]
    shares = np.full(len(found) + 1, (1.0 - ASSUMED_WEIGHT) / len(found))
    shares[-1] = ASSUMED_WEIGHT
    return np.array([*found, EVEN.moments]), np.log(shares)


@dataclass(frozen=True)
class MomentsStage(Stage):
    """Release of the sums over subjects of covariates and of their products."""

    def noise(self, assumptions):
        """The `Noise` of sums of integers.

        With one covariate these are the sums of `covariate_sums`, a row each; with several one row
        of those times `moment_weights`, all in steps of ``1 / COVARIATE_LATTICE**2``.
        """
        changes, covariates = assumptions.changes, assumptions.number_of_covariates
        units = COVARIATE_LATTICE, COVARIATE_LATTICE**2
        if covariates > 1:
            change = FOR_ROUNDING * moments_change(covariates, changes) * units[1]
            if self.unit == PURE:
                return KNormNoise((change / self.budget,))
            return GaussianNoise((change**2 / (2 * self.budget),))
        if self.unit == PURE:
            scale = FOR_ROUNDING * LAPLACE_MOMENTS[changes] / self.budget
            return LaplaceNoise((units[0] * scale, units[1] * scale / MOMENT_RATIO))
        variance = FOR_ROUNDING * GAUSSIAN_MOMENTS[changes] / (2 * self.budget)
        return GaussianNoise((units[0] ** 2 * variance, units[1] ** 2 * variance / MOMENT_RATIO**2))

    def scale(self, changes):
        """With one covariate: scale of the noise of its sum, of a Laplace or normal distribution.

        That of the sum of squares is `MOMENT_RATIO` times smaller.
        """
        if self.unit == PURE:
            return float(LAPLACE_MOMENTS[changes] / self.budget)
        return float(np.sqrt(float(GAUSSIAN_MOMENTS[changes] / (2 * self.budget))))

    def deviations(self, changes, covariates):
        """Standard deviations of the noise of the sums of covariates and of products."""
        if covariates == 1:
            scale = self.scale(changes) * (np.sqrt(2.0) if self.unit == PURE else 1.0)
            return scale / np.array([1.0, MOMENT_RATIO])
        change, weights = float(moments_change(covariates, changes)), moment_weights(covariates)
        if self.unit == PURE:
            # A Gamma length in a uniform direction.
            length = np.sqrt(len(weights) + 1.0) * change / float(self.budget)
        else:
            length = change / np.sqrt(2.0 * float(self.budget))
        return length / np.array(weights)

    def simulated_noise(self, rng, releases, changes, covariates=1):
        """Noise (releases, k (k + 3) / 2) of all sums."""
        if covariates == 1:
            draw = rng.laplace if self.unit == PURE else rng.normal
            scale = self.scale(changes)
            return draw(size=(releases, 2)) * [scale, scale / MOMENT_RATIO]
        deviations = self.deviations(changes, covariates)
        noise = rng.normal(size=(releases, len(deviations)))
        if self.unit == PURE:
            number = len(deviations)
            length = rng.gamma(number, size=(releases, 1)) / np.sqrt(number + 1.0)
            noise *= length / np.linalg.norm(noise, axis=-1, keepdims=True)
        return noise * deviations

    def moments(self, noisy, number, changes, spreads=(EVENLY,)):
        """Means (*batch, k (k + 3) / 2) of covariates and products, given their noisy values.

        Of one covariate that is said to be spread evenly they are means over a family of
        distributions, weighted by how well each agrees with what was released, so that noise alone
        leaves the assumption as it is.  Otherwise each is drawn to what is expected in proportion
        to its noise.

        Parameters
        ----------
        noisy : ndarray, shape (*batch, k (k + 3) / 2)
        number : float
            Number of subjects.
        changes : int
        spreads : tuple of {"evenly", "two groups", "unknown"}
            Of each covariate.
        """
        if spreads != (EVENLY,):
            expected = Covariates.independent(spreads).moments
            spread, noise = self._deviations(number, changes, len(spreads))
            part = spread**2 / (spread**2 + noise**2)
            return possible_moments(expected + part * (noisy - expected))
        found, log_prior = _candidates()
        scale = self.scale(changes) / number * np.array([1.0, 1.0 / MOMENT_RATIO])
        # Clustered covariates may lie between members of the family.
        scale = np.hypot(scale, [0.02, 0.005])
        away = np.abs(noisy[..., None, :] - found) / scale
        fit = away if self.unit == PURE else 0.5 * away**2
        logs = log_prior - np.sum(fit, axis=-1)
        weights = np.exp(logs - np.max(logs, axis=-1, keepdims=True))
        weights /= np.sum(weights, axis=-1, keepdims=True)
        return weights @ found

    def belief(self, moments, number, changes, spreads):
        """What the true moments may be, by expectations `WIDER` than those of `moments`.

        Parameters
        ----------
        moments : ndarray, shape (k (k + 3) / 2,)
            Of the function of that name, not of one covariate that is said to be spread evenly.
        number, changes, spreads
            See there.

        Returns
        -------
        means, deviations : ndarray, shape (k (k + 3) / 2,)
        """
        expected = Covariates.independent(spreads).moments
        spread, noise = self._deviations(number, changes, len(spreads))
        wide = WIDER * spread
        # The noisy moments, where they were possible.
        noisy = expected + (spread**2 + noise**2) / spread**2 * (moments - expected)
        part = wide**2 / (wide**2 + noise**2)
        return expected + part * (noisy - expected), noise * np.sqrt(part)

    def _deviations(self, number, changes, covariates):
        """Standard deviations of what is expected of means and products, and of their noise."""
        first, second = product_indices(covariates)
        spread = np.concatenate(
            [
                np.full(covariates, EXPECTED["mean"]),
                np.where(first == second, EXPECTED["square"], EXPECTED["product"]),
            ]
        )
        return spread, self.deviations(changes, covariates) / number

    def describe(self):
        """The stage in words, for a release."""
        return f"noisy moments of the covariates, {self.unit} {float(self.budget):.4g}"


def moments_change(covariates, changes):
    """Length by which sums of several covariates and weighted products change, rounded up.

    See `docs/guarantee.md`.
    """
    k = Fraction(covariates)
    square = k / 4 + PRODUCTS**2 * k**2 / 32
    if changes == 2:
        square = 2 * square + Fraction(1, PRODUCTS**2)
    return Fraction(isqrt(int(square * 4**20)) + 1, 2**20)


def moment_weights(covariates):
    """Weights, whole numbers, of k covariates and k (k + 1) / 2 products in that vector."""
    first, second = product_indices(covariates)
    return [1] * covariates + np.where(first == second, SQUARES_WEIGHT, PRODUCTS).tolist()


@dataclass(frozen=True)
class NoisyStep(Stage):
    """One private Gauss-Newton step.

    Attributes
    ----------
    clip : float
        tau: the norm to which a subject's contribution is clipped, in `ClippingCoordinates`.
    kept : float
        Part of a small error that is left in mean clipped contributions.
    prior : tuple of float
        Mean squared errors of a coordinate of the footpoint and of each shooting vector before the
        step, as simulated from public assumptions.
    """

    clip: float = 0.0
    kept: float = 1.0
    prior: tuple[float, ...] = (1.0, 1.0)

    def __post_init__(self):
        super().__post_init__()
        self._refuse_unless_positive("clip")
        self._refuse_unless_positive("kept")
        if np.ndim(self.prior) != 1 or not np.all(np.asarray(self.prior) > 0.0):
            raise DataError(f"a stage has prior {self.prior}: give positive numbers")

    def describe(self):
        """The stage in words, for a release."""
        kind = "K-norm" if self.unit == PURE else "Gaussian"
        return (
            f"Gauss-Newton step by gradients clipped to {self.clip:.4g} with exact {kind} noise, "
            f"{self.unit} {float(self.budget):.4g}"
        )

    def noise(self, assumptions):
        """The `Noise` of sums of contributions, in `ClippingCoordinates`."""
        return ClippingCoordinates(assumptions.number_of_covariates).noise(
            self.unit, assumptions.changes * LATTICE, self.budget
        )

    def noise_variances(self, changes, dim, covariates=1):
        """Variances (1 + k,) of a coordinate of the noise of the sums of a and of each b_j."""
        return ClippingCoordinates(covariates).noise_variances(
            self.unit, changes * self.clip, float(self.budget), dim
        )

    def simulated_noise(self, rng, shape, changes):
        """Noise of the shape (releases, 1 + k, dim) of the sums of a and of each b_j."""
        return ClippingCoordinates(shape[1] - 1).simulated_noise(
            rng, self.unit, changes * self.clip, float(self.budget), shape
        )

    def change(self, means, moments, number, changes, covariance=None):
        """The step for noisy means of contributions: the best linear one, a Kalman filter's.

        Parameters
        ----------
        means : ndarray, shape (*batch, 1 + k, dim)
        moments : ndarray, shape (*batch, k (k + 3) / 2)
            Means of the covariates and of their products; see `moment_matrix`.
        number : float
        changes : int
        covariance : ndarray, shape (*batch, 1 + k, 1 + k), optional
            Of a coordinate of the errors of footpoint and shooting vectors, after steps before.

        Returns
        -------
        change : ndarray, shape (*batch, 1 + k, dim)
        covariance : ndarray, shape (*batch, 1 + k, 1 + k)
            After the step.
        """
        blocks, dim = means.shape[-2:]
        hessian = self.kept * moment_matrix(moments)
        prior = np.broadcast_to(np.diag(self.prior), hessian.shape)
        if covariance is not None:
            # With other covariates than simulated errors may shrink less than they did there.
            missing = np.maximum(prior - covariance, 0.0) * np.eye(blocks)
            prior = covariance + missing
        noise = np.diag(self.noise_variances(changes, dim, blocks - 1)) / number**2
        # P H (H P H + N)^-1
        spread = hessian @ prior @ hessian + noise
        gain = np.swapaxes(np.linalg.solve(spread, hessian @ prior), -1, -2)
        left = np.eye(blocks) - gain @ hessian
        after = left @ prior @ np.swapaxes(left, -1, -2) + gain @ noise @ np.swapaxes(gain, -1, -2)
        return gain @ means, after
