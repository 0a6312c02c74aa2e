"""A private count of records that lie far from a state's predictions."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from scipy.special import gammaincinv

from geodp_release.promise.budget import PURE
from geodp_release.run.contributions import LOSS_LATTICE, length_counts
from geodp_release.stages.residual_tables import LIMITS_PER_DOUBLING
from geodp_release.stages.scale import LAST_SHARE, simulated_shares_within
from geodp_release.stages.stage import Stage, checked_share, share_of


@dataclass(frozen=True)
class FarStage(Stage):
    """Release of the number of records whose residual is far longer than the last released length.

    Records of a subject count as parts of it, and those that cannot be used are far away.

    Attributes
    ----------
    share : Fraction
        Of residuals that are shorter than that length.
    """

    share: Fraction = LAST_SHARE

    # It needs a length.
    is_relative = True

    def __post_init__(self):
        super().__post_init__()
        object.__setattr__(self, "share", checked_share(self.share, LOSS_LATTICE))

    def noise(self, assumptions=None):
        """The `Noise` of a number of subjects, in steps of the lattice."""
        return self._added(LOSS_LATTICE)

    def run(self, before, assumptions, records, bits, shared=None):
        limit = np.array([far_away(assumptions.manifold.dim, self.share) * before.lengths[-1]])
        [near] = length_counts(assumptions, records, before.state, limit, lambda ratio: ratio > 1.0)
        number = LOSS_LATTICE * len(records) - int(near)
        noisy = int(self.noise(assumptions).add([[number]], bits)[0, 0])
        return replace(before, far=noisy / LOSS_LATTICE)

    def simulate(self, releases, rng):
        limits = far_away(releases.dim, self.share) * releases.length
        share = 1.0 - simulated_shares_within(releases, limits)
        # Chance in the sample, which changes the number far less than noise does.  Of a share of
        # zero none is drawn, and whether one is zero is a matter of rounding.
        number = rng.binomial(releases.number, np.clip(share, 1e-300, 1.0))
        noise = self.noise().draw(rng, (len(share), 1, 1))[:, 0, 0] / LOSS_LATTICE
        return replace(releases, far=number + noise)

    def describe(self):
        return f"noisy number of records far from the geodesic, {self.cost}"

    @classmethod
    def planned(cls, assumptions, unit, total, share):
        """With noise of the scale of one in 40 records, for 1/64 to 1/12 of a total."""
        wanted = assumptions.subjects / 40
        cost = 1.0 / wanted if unit == PURE else 0.5 / wanted**2
        part = share_of(cost / float(total), Fraction(1, 64), Fraction(1, 12))
        return cls(total * part, unit, share)


def far_away(dim, share):
    """From how many lengths on, of which a share of residuals is shorter, one is far away.

    One in a thousand normal ones is, if the length is a step of its grid too short.
    """
    ratio = gammaincinv(0.5 * dim, 0.999) / gammaincinv(0.5 * dim, float(share))
    return float(np.sqrt(ratio)) * 2.0 ** (1.0 / LIMITS_PER_DOUBLING)
