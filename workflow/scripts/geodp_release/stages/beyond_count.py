"""A private count of residuals beyond the threshold of Huber's loss, before the last step."""

from dataclasses import dataclass, replace

import numpy as np
from scipy.special import gammainc, gammaincinv

from geodp_release.run.contributions import LOSS_LATTICE, length_counts
from geodp_release.stages.stage import Stage

# Prior standard deviation of the share of residuals within the threshold about that of normal ones,
# and the least share; and the mean ratio of the threshold to longer residuals, with its deviation.
UNSURE, LEAST_WITHIN, RATIO, RATIO_UNSURE = 0.1, 0.2, 0.5, 0.25


@dataclass(frozen=True)
class BeyondStage(Stage):
    """Release of the number of records whose residual is longer than the threshold.

    Records of a subject count as parts of it, and those that cannot be used are beyond.  What
    follows clips residuals at the threshold, and contributions no more than that does.
    """

    # It needs a length.
    is_relative = True

    def noise(self, assumptions=None):
        """The `Noise` of a number of subjects, in steps of the lattice."""
        return self._added(LOSS_LATTICE)

    def run(self, before, assumptions, records, bits, shared=None):
        limit = np.array([assumptions.threshold * before.lengths[-1]])
        [near] = length_counts(assumptions, records, before.state, limit, lambda ratio: ratio > 1.0)
        number = LOSS_LATTICE * len(records) - int(near)
        tails = (int(self.noise().add([[number]], bits)[0, 0]) / LOSS_LATTICE,)
        within, _ = self.within(assumptions, tails, before.number)
        return replace(before, tails=tails, within=within, is_whole=True)

    def simulate(self, releases, rng):
        # Steps are simulated with the share of normal residuals.
        return replace(releases, is_whole=True)

    def within(self, assumptions, tails, number):
        """What mean gradients keep of a small error, and its deviation, by what was released.

        That is the share of residuals within the threshold, and of others in directions across
        theirs the ratio of the threshold to their length.
        """
        dim = assumptions.manifold.dim
        half = 0.5 * dim
        normal = float(gammainc(half, assumptions.threshold**2 * gammaincinv(half, 0.5)))
        noise = float(self.noise().variances(1)[0]) / (LOSS_LATTICE * number) ** 2
        trust = UNSURE**2 / (UNSURE**2 + noise)
        found = normal + trust * (1.0 - tails[0] / number - normal)
        across = (1.0 - 1.0 / dim) * (1.0 - np.clip(found, LEAST_WITHIN, 1.0))
        found = np.clip(found, LEAST_WITHIN, 1.0) + RATIO * across
        return float(found), float(np.hypot(UNSURE * np.sqrt(1.0 - trust), RATIO_UNSURE * across))

    def describe(self):
        return f"noisy number of records beyond the threshold of Huber's loss, {self.cost}"
