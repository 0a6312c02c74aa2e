"""Private counts: of subjects, where not public, and of records with long residuals.

The public statement about tails, at each covariate: beyond the length l that a share q of residuals
exceeds at most the share ``q exp(-(t - l) / s)`` exceeds t, as if they were exponential from there
on, s the deviation in each direction of normal residuals of which a share q exceeds l.
"""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import fdtrc, fdtri, gammainc, gammaincinv

from geodp_release.promise.budget import PURE
from geodp_release.run.contributions import LOSS_LATTICE, length_counts, tail_counts
from geodp_release.stages.residual_tables import LIMITS_PER_DOUBLING
from geodp_release.stages.scale import LAST_SHARE, simulated_shares_within
from geodp_release.stages.stage import Stage, checked_share, share_of

# Counts of contributions beyond a limit go up to so many times it.
DOUBLINGS = 5

# Least share of residuals within the threshold of Huber's loss.
LEAST_WITHIN = 0.2


@dataclass(frozen=True)
class CountStage(Stage):
    """Release of the number of subjects, where neighbours differ in it."""

    what = "noisy number of subjects"

    def noise(self, assumptions=None):
        return self._added(1)

    def run(self, before, assumptions, records, bits, shared=None):
        number = int(self.noise(assumptions).add([[len(records)]], bits)[0, 0])
        return replace(before, number=float(max(1, number)))

    def simulate(self, releases, rng):
        noise = self.noise().draw(rng, (len(releases.state), 1, 1))
        return replace(releases, counted=releases.number / np.maximum(releases.number + noise, 1.0))

    @classmethod
    def planned(cls, assumptions, unit, total):
        """With a standard deviation of 3 % of the subjects, for 1/40 to 1/8 of a total."""
        wanted = 0.03 * assumptions.subjects
        cost = np.sqrt(2.0) / wanted if unit == PURE else 0.5 / wanted**2
        share = share_of(cost / float(total), Fraction(1, 40), Fraction(1, 8))
        return cls(total * share, unit)


@dataclass(frozen=True)
class LongResiduals(Stage):
    """Release of a number of records whose residual is so many released lengths long.

    Records of a subject count as parts of it, and those that cannot be used are long.
    """

    is_relative = True

    def noise(self, assumptions=None):
        """The `Noise` of a number of subjects, in steps of the lattice."""
        return self._added(LOSS_LATTICE)

    def noisy_number(self, times, before, assumptions, records, bits):
        """Number of subjects with residuals of more than so many lengths, with exact noise."""
        limit = np.array([times * before.lengths[-1]])
        [near] = length_counts(assumptions, records, before.state, limit, lambda ratio: ratio > 1.0)
        number = LOSS_LATTICE * len(records) - int(near)
        return int(self.noise(assumptions).add([[number]], bits)[0, 0]) / LOSS_LATTICE


@dataclass(frozen=True)
class FarStage(LongResiduals):
    """Release of the number of records whose residual is far longer than the last length."""

    share: Fraction = LAST_SHARE  # Of residuals that are shorter than that length.

    what = "noisy number of records far from the geodesic"

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "share", checked_share(self.share))

    def run(self, before, assumptions, records, bits, shared=None):
        times = far_away(assumptions.manifold.dim, self.share)
        return replace(before, far=self.noisy_number(times, before, assumptions, records, bits))

    def simulate(self, releases, rng):
        limits = far_away(releases.dim, self.share) * releases.length
        share = 1.0 - simulated_shares_within(releases, limits)
        # Chance in the sample, which changes the number far less than noise does.  Of a share of
        # zero none is drawn, and whether one is zero is a matter of rounding.
        number = rng.binomial(releases.number, np.clip(share, 1e-300, 1.0))
        noise = self.noise().draw(rng, (len(share), 1, 1))[:, 0, 0] / LOSS_LATTICE
        return replace(releases, far=number + noise)

    @classmethod
    def planned(cls, assumptions, unit, total, share):
        """With noise of the scale of one in 40 records, for 1/64 to 1/12 of a total."""
        wanted = assumptions.subjects / 40
        cost = 1.0 / wanted if unit == PURE else 0.5 / wanted**2
        part = share_of(cost / float(total), Fraction(1, 64), Fraction(1, 12))
        return cls(total * part, unit, share)


@dataclass(frozen=True)
class BeyondStage(LongResiduals):
    """Release of the number of records whose residual is longer than the threshold.

    What follows clips residuals at the threshold, and contributions no more than that does.
    """

    what = "noisy number of records beyond the threshold of Huber's loss"

    def run(self, before, assumptions, records, bits, shared=None):
        tails = (self.noisy_number(assumptions.threshold, before, assumptions, records, bits),)
        within, _ = self.within(assumptions, tails, before.number)
        return replace(before, tails=tails, within=within, is_whole=True)

    def simulate(self, releases, rng):
        # Steps are simulated with the share of normal residuals.
        return replace(releases, is_whole=True)

    def within(self, assumptions, tails, number, unsure=0.1, ratio=(0.5, 0.25)):
        """What mean gradients keep of a small error, and its deviation, by what was released.

        That is the share of residuals within the threshold, whose prior standard deviation about
        that of normal ones is ``unsure``, and of others in directions across theirs the mean
        ``ratio`` of the threshold to their length, with its deviation.
        """
        dim = assumptions.manifold.dim
        half = 0.5 * dim
        normal = float(gammainc(half, assumptions.threshold**2 * gammaincinv(half, 0.5)))
        noise = float(self.noise().variances(1)[0]) / (LOSS_LATTICE * number) ** 2
        trust = unsure**2 / (unsure**2 + noise)
        found = normal + trust * (1.0 - tails[0] / number - normal)
        across = (1.0 - 1.0 / dim) * (1.0 - np.clip(found, LEAST_WITHIN, 1.0))
        found = np.clip(found, LEAST_WITHIN, 1.0) + ratio[0] * across
        return float(found), float(np.hypot(unsure * np.sqrt(1.0 - trust), ratio[1] * across))


@dataclass(frozen=True)
class TailStage(Stage):
    """Release of the numbers of records whose contributions are so long, in doublings.

    Contributions are those of the step that follows, before clipping.  Of a subject with several
    records each counts as a part of it.
    """

    # Norm from which on they are counted, in units of the residual length released last.
    limit: float = 1.0

    what = (
        "noisy numbers of records with contributions beyond {0.limit:.4g} released lengths, in "
        f"{DOUBLINGS} doublings"
    )
    positive = ("limit",)
    is_relative = True

    def noise(self, assumptions):
        """The `Noise` of numbers of subjects, in steps of the lattice."""
        # A subject is in one bin alone.
        return self._added(LOSS_LATTICE, assumptions.changes)

    def run(self, before, assumptions, records, bits, shared=None):
        limits = self.limit * before.lengths[-1] * 2.0 ** np.arange(DOUBLINGS)
        counts = tail_counts(assumptions, records, before.state, limits, before.coordinates)
        noisy = self.noise(assumptions).add([counts], bits)[0]
        return replace(before, tails=tuple(int(each) / LOSS_LATTICE for each in noisy))

    def limits(self, assumptions, probability):
        """What noise of each count exceeds, all together, with a probability."""
        noise = self.noise(assumptions)
        drawn = noise.draw(np.random.default_rng(0), (1 << 14, 1, DOUBLINGS)) / LOSS_LATTICE
        return float(np.quantile(np.max(drawn, axis=(1, 2)), 1.0 - probability))


def far_away(dim, share):
    """From how many lengths on, of which a share of residuals is shorter, one is far away.

    One in a thousand normal ones is, if the length is a step of its grid too short.
    """
    ratio = gammaincinv(0.5 * dim, 0.999) / gammaincinv(0.5 * dim, float(share))
    return float(np.sqrt(ratio)) * 2.0 ** (1.0 / LIMITS_PER_DOUBLING)


def share_beyond(share, ratio, dim):
    """Share of residuals beyond ``ratio`` times the length that a ``share`` exceeds, at most."""
    return share * np.exp(np.minimum(1.0 - ratio, 0.0) / _deviation(share, dim))


def excess_beyond(share, ratio, dim):
    """Mean of what residuals have beyond that, at most, in units of the length."""
    # Below the length as if all residuals were longer.
    shorter = np.maximum(1.0 - ratio, 0.0)
    return shorter + _deviation(share, dim) * share_beyond(share, ratio, dim)


def squares_beyond(share, ratio, dim):
    """Mean of what their squares have beyond that, at most, in units of its square; from 1 on."""
    each = _deviation(share, dim)
    return 2.0 * share_beyond(share, ratio, dim) * (ratio * each + each**2)


def student_squares_beyond(kept, share, dim, degrees):
    """Mean excess over one of squared residuals whose distribution is Student's, of any scale.

    Parameters
    ----------
    kept : float or ndarray
        Mean of the squares clipped to one, from zero to one, which determines the scale.
    share : float
        Largest share of residuals that are longer than one.
    dim : int
    degrees : float
        Degrees of freedom, above two; many are those of a normal distribution.
    """
    # Squares over their dimension have an F distribution.  Its mean beyond a limit is a tail of the
    # F distribution with two more and two fewer degrees of freedom.
    least, fewer = fdtri(dim, degrees, max(1.0 - share, 1e-4)), degrees - 2.0
    limits = np.geomspace(1e4, least, 400)
    whole = fdtrc(dim + 2.0, fewer, limits * dim * fewer / (degrees * (dim + 2.0)))
    beyond = degrees / fewer * whole - limits * fdtrc(dim, degrees, limits)
    return np.interp(kept, (degrees / fewer - beyond) / limits, beyond / limits)


def _deviation(share, dim):
    """Deviation of a normal residual in each direction, in units of what a share exceeds."""
    return 1.0 / np.sqrt(2.0 * gammaincinv(0.5 * dim, 1.0 - share))
