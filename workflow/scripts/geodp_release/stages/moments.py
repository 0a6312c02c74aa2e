"""Release of the moments of covariates: their means and mean products."""

from dataclasses import dataclass, replace
from fractions import Fraction
from math import isqrt
from operator import mul
from typing import ClassVar

import numpy as np

from geodp.errors import DataError
from geodp_release.promise.budget import PURE
from geodp_release.run.contributions import COVARIATE_LATTICE, covariate_sums
from geodp_release.run.covariate_moments import possible_moments, product_indices
from geodp_release.run.noise import GaussianNoise, KNormNoise, LaplaceNoise
from geodp_release.stages.covariates import Covariates
from geodp_release.stages.stage import Stage, share_of

# Prior standard deviations of means of covariates, of their squares, and of products of two.
EXPECTED = {"mean": 0.12, "square": 0.04, "product": 0.03}

# Bands use a prior this many times wider than steps, so that they also cover unusual covariates.
WIDER = 2.0

# Arguments of `MomentsStage.planned` for one covariate that is said to be spread evenly.  The mean
# has Laplace noise of scale 0.024 and a limit of 0.14, and with 200 subjects the mean of a
# Beta(2, 5), 0.21, is beyond that 97 times in 100: of fewer subjects times epsilon than 375 that is
# not to be had for an eighth of the budget.
TO_CONTRADICT = {"error": 0.017, "least": Fraction(1, 64), "most": Fraction(1)}
MOST_TO_CONTRADICT = Fraction(1, 8)


class MeasuresMoments:
    """What follows from noisy moments of covariates; subclasses define `deviations`."""

    measures: ClassVar[bool] = True

    def deviations(self, assumptions):
        """Standard deviations (k (k + 3) / 2,) of the noise of sums of covariates and products."""
        raise NotImplementedError

    def moments(self, noisy, number, assumptions):
        """Moments (*batch, k (k + 3) / 2) of covariates, given their noisy values of that shape.

        Each is drawn to what is expected in proportion to its noise.
        """
        expected, spread, noise = self._expected(number, assumptions)
        part = spread**2 / (spread**2 + noise**2)
        return possible_moments(expected + part * (noisy - expected))

    def uncertainty(self, assumptions):
        """Standard deviations (k (k + 3) / 2,) of true moments about those of `moments`."""
        _, spread, noise = self._expected(assumptions.subjects, assumptions)
        return spread * noise / np.hypot(spread, noise)

    def belief(self, moments, assumptions):
        """Means and deviations of what true moments may be, by a wider prior than `moments` has."""
        expected, spread, noise = self._expected(assumptions.subjects, assumptions)
        wide = WIDER * spread
        part = wide**2 / (wide**2 + noise**2)
        noisy = self._noisy(moments, assumptions)
        return expected + part * (noisy - expected), noise * np.sqrt(part)

    def _noisy(self, moments, assumptions):
        """What `moments` was given, where that was possible."""
        expected, spread, noise = self._expected(assumptions.subjects, assumptions)
        return expected + (spread**2 + noise**2) / spread**2 * (moments - expected)

    def _expected(self, number, assumptions):
        """Expected moments, their prior standard deviations, and those of the noise of means."""
        covariates = assumptions.number_of_covariates
        first, second = product_indices(covariates)
        products = np.where(first == second, EXPECTED["square"], EXPECTED["product"])
        spread = np.concatenate([np.full(covariates, EXPECTED["mean"]), products])
        expected = Covariates.assumed(assumptions).moments
        return expected, spread, self.deviations(assumptions) / number


@dataclass(frozen=True)
class MomentsStage(MeasuresMoments, Stage):
    """Release of the sums over subjects of covariates and of their products."""

    what = "noisy moments of the covariates"

    def noise(self, assumptions):
        """The `Noise` of sums of integers.

        With one covariate these are the sums of `covariate_sums`, a row each; with several one row
        of those times `moment_weights`, all in steps of ``1 / COVARIATE_LATTICE**2``.
        """
        noise, power = self._in_floats(assumptions)[0], 1 if self.unit == PURE else 2
        # By how much noise is larger than the bound wants, for what rounding adds to moments.
        more = Fraction(1025, 1024)
        factors = [(more * COVARIATE_LATTICE**2) ** power]
        if assumptions.number_of_covariates == 1:
            factors = [more * unit**power for unit in (COVARIATE_LATTICE, COVARIATE_LATTICE**2)]
        return replace(noise, scales=tuple(map(mul, noise.scales, factors)))

    def _in_floats(self, assumptions):
        """Noise of sums, but for what rounds them, and their weights (rows, m) in its rows."""
        changes, covariates = assumptions.changes, assumptions.number_of_covariates
        if covariates > 1:
            weights, change = [moment_weights(covariates)], moments_change(covariates, changes)
            if self.unit == PURE:
                return KNormNoise((change / self.budget,)), np.array(weights)
            return GaussianNoise((change**2 / (2 * self.budget),)), np.array(weights)
        # Bounds of privacy loss, per scale of the noise of the sum of covariates, for the
        # replacement of one subject and for the addition or removal of one; and half of that scale
        # for squares: see `docs/guarantee.md`.
        if self.unit == PURE:
            scale = {2: Fraction(9, 8), 1: Fraction(1)}[changes] / self.budget
            return LaplaceNoise((scale, scale / 2)), np.ones((2, 1))
        variance = {2: Fraction(1), 1: Fraction(1, 2)}[changes] / (2 * self.budget)
        return GaussianNoise((variance, variance / 4)), np.ones((2, 1))

    def deviations(self, assumptions):
        """Standard deviations of the noise of the sums of covariates and of products."""
        noise, weights = self._in_floats(assumptions)
        return np.ravel(np.sqrt(noise.variances(weights.shape[1]))[:, None] / weights)

    def simulated_noise(self, rng, releases, assumptions):
        """Noise (releases, k (k + 3) / 2) of all sums."""
        noise, weights = self._in_floats(assumptions)
        return np.reshape(noise.draw(rng, (releases, *weights.shape)) / weights, (releases, -1))

    def run(self, before, assumptions, records, bits, shared=None):
        noise = self.noise(assumptions)
        first, second = covariate_sums(records)
        if len(first) == 1:
            noisy = noise.add([first, second], bits)
            units = [COVARIATE_LATTICE, COVARIATE_LATTICE**2]
        else:
            weights = moment_weights(len(first))
            in_unit = [COVARIATE_LATTICE * each for each in first] + second
            weighted = [weight * total for weight, total in zip(weights, in_unit, strict=True)]
            noisy = noise.add([weighted], bits)
            units = [weight * COVARIATE_LATTICE**2 for weight in weights]
        means = [
            float(Fraction(int(total), unit)) / before.number
            for total, unit in zip(np.ravel(noisy), units, strict=True)
        ]
        moments = self.moments(np.array(means), before.number, assumptions)
        return replace(before, moments=moments, uncertainty=self.uncertainty(assumptions))

    def simulate(self, releases, rng):
        noise = self.simulated_noise(rng, len(releases.state), releases.assumptions)
        noisy = releases.covariates.moments + releases.deviations + noise / releases.number
        if np.ndim(releases.counted):
            noisy = noisy * releases.counted[:, 0]
        return replace(
            releases,
            moments=self.moments(noisy, releases.number, releases.assumptions),
            uncertainty=self.uncertainty(releases.assumptions),
        )

    def agrees(self, moments, assumptions, rarely=(0.004, 0.001), little=(0.06, 0.025)):
        """Whether released moments (*batch, 2) may well be of a covariate spread as assumed.

        Noise and the sample lead its mean, or its mean square, so far that they contradict it
        ``rarely``; and so ``little`` does not, however little noise there is: either makes sampling
        errors at an end of the range 1.15 times as large at most.
        """
        assumed = Covariates.assumed(assumptions)
        rng = np.random.default_rng(20261124)
        away = self.simulated_noise(rng, 1 << 14, assumptions) / assumptions.subjects
        away += rng.normal(size=away.shape) @ assumed.root[0] / np.sqrt(assumptions.subjects)
        limits = np.diagonal(np.quantile(np.abs(away), np.subtract(1.0, rarely), axis=0))
        found = self._noisy(moments, assumptions) - assumed.moments
        return np.all(np.abs(found) <= np.maximum(limits, little), axis=-1)

    def check(self, blocks):
        if blocks == 1:
            raise DataError("plan: a mean has no covariates, whose moments a stage releases")

    @classmethod
    def planned(
        cls, assumptions, unit, total, error=0.005, least=Fraction(1, 12), most=Fraction(1, 6)
    ):
        """The stage whose noise of mean products has a standard deviation of ``error``.

        Its budget is between the shares ``least`` and ``most`` of the total.
        """
        whole = cls(total, unit).deviations(assumptions)[assumptions.number_of_covariates :]
        ratio = float(np.max(whole)) / (error * assumptions.subjects)
        return cls(total * share_of(ratio if unit == PURE else ratio**2, least, most), unit)


def moments_change(covariates, changes):
    """Length by which sums of several covariates and weighted products change, rounded up.

    By `moment_weights`; see `docs/guarantee.md`.
    """
    k = Fraction(covariates)
    square = k / 4 + 3**2 * k**2 / 32
    if changes == 2:
        square = 2 * square + Fraction(1, 3**2)
    return Fraction(isqrt(int(square * 4**20)) + 1, 2**20)


def moment_weights(covariates):
    """Weights, whole numbers, of k covariates and k (k + 1) / 2 products in that vector.

    Those of squares are 2, and of products of two 3.
    """
    first, second = product_indices(covariates)
    return [1] * covariates + np.where(first == second, 2, 3).tolist()
