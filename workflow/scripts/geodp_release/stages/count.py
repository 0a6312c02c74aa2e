"""Release of the number of subjects, where neighbours differ in it."""

from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np

from geodp_release.accounting import PURE
from geodp_release.noise import GaussianNoise, LaplaceNoise
from geodp_release.stages.base import Stage, share_of


@dataclass(frozen=True)
class CountStage(Stage):
    """Release of the number of subjects, where neighbours differ in it."""

    def noise(self, assumptions=None):
        if self.unit == PURE:
            return LaplaceNoise((1 / self.budget,))
        return GaussianNoise((1 / (2 * self.budget),))

    def noisy_count(self, assumptions, records, bits):
        """The noisy number of subjects, an integer."""
        return int(self.noise(assumptions).add([[len(records)]], bits)[0, 0])

    def run(self, before, assumptions, records, bits, shared=None):
        number = float(max(1, self.noisy_count(assumptions, records, bits)))
        return replace(before, number=number)

    def simulate(self, releases, rng):
        noise = self.noise().draw(rng, (len(releases.state), 1, 1))
        return replace(releases, counted=releases.number / np.maximum(releases.number + noise, 1.0))

    def describe(self):
        return f"noisy number of subjects, {self.cost}"

    @classmethod
    def planned(
        cls, assumptions, unit, total, error=0.03, least=Fraction(1, 40), most=Fraction(1, 8)
    ):
        """The stage whose noise has a standard deviation of ``error`` times the number of subjects.

        Its budget is between the shares ``least`` and ``most`` of the total.
        """
        wanted = error * assumptions.subjects
        cost = np.sqrt(2.0) / wanted if unit == PURE else 0.5 / wanted**2
        return cls(total * share_of(cost / float(total), least, most), unit)
