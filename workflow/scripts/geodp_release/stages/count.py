"""Release of the number of subjects, where neighbours differ in it."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from geodp_release.promise.budget import PURE
from geodp_release.stages.stage import Stage, share_of


@dataclass(frozen=True)
class CountStage(Stage):
    """Release of the number of subjects, where neighbours differ in it."""

    def noise(self, assumptions=None):
        return self._added(1)

    def run(self, before, assumptions, records, bits, shared=None):
        number = int(self.noise(assumptions).add([[len(records)]], bits)[0, 0])
        return replace(before, number=float(max(1, number)))

    def simulate(self, releases, rng):
        noise = self.noise().draw(rng, (len(releases.state), 1, 1))
        return replace(releases, counted=releases.number / np.maximum(releases.number + noise, 1.0))

    def describe(self):
        return f"noisy number of subjects, {self.cost}"

    @classmethod
    def planned(cls, assumptions, unit, total):
        """With a standard deviation of 3 % of the subjects, for 1/40 to 1/8 of a total."""
        wanted = 0.03 * assumptions.subjects
        cost = np.sqrt(2.0) / wanted if unit == PURE else 0.5 / wanted**2
        share = share_of(cost / float(total), Fraction(1, 40), Fraction(1, 8))
        return cls(total * share, unit)
