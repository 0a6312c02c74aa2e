"""A private quantile of residual lengths about a state, chosen from a public grid."""

from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from geodp.samplers.integer_choice import ExactChoice
from geodp_release.accounting import choice_epsilon
from geodp_release.contributions import LOSS_LATTICE, length_counts
from geodp_release.noise import ChoiceNoise
from geodp_release.simulation import (
    DISTANCES,
    LIMITS_PER_DOUBLING,
    length_grid,
    level_of,
    limit_at,
    places_in_tables,
    residual_lengths,
)
from geodp_release.stages.base import Stage

# The quantile of residual lengths that is released: of normal residuals it is near their root mean
# square, and up to two records of five may lie anywhere beyond.
QUANTILE = Fraction(3, 5)

# Levels of the table of shares of residuals below a length, in units of a typical one.
LEVELS = np.arange(-15 * LIMITS_PER_DOUBLING, 15 * LIMITS_PER_DOUBLING)


@dataclass(frozen=True)
class ScaleStage(Stage):
    """A choice from `simulation.length_grid` by how far the number of shorter residuals is off.

    By the exponential mechanism: a subject changes each number by one at most.
    """

    @property
    def _epsilon(self):
        return choice_epsilon(self.budget, self.unit)

    def noise(self, assumptions):
        """The `ChoiceNoise` of how many subjects a number is off, in steps of the lattice."""
        # A change of one may be an increase of some and a decrease of others.
        return ChoiceNoise((self._epsilon / (2 * LOSS_LATTICE),))

    def chosen(self, assumptions, records, state, number, bits):
        """The released length, one of the grid."""
        grid = length_grid(assumptions)
        counts = length_counts(assumptions, records, state, grid)
        wanted = int(QUANTILE * LOSS_LATTICE * int(number))
        off = [abs(int(count) - wanted) for count in counts]
        [rate] = self.noise(assumptions).scales
        most = LOSS_LATTICE * max(int(number), len(records))
        return float(grid[ExactChoice([1] * len(grid), off, rate, most).draw(bits)])

    def run(self, before, assumptions, records, bits, shared=None):
        length = self.chosen(assumptions, records, before.state, before.number, bits)
        return replace(before, lengths=(*before.lengths, length))

    def prepare(self, releases, rng=None):
        """Shares (releases, grid) of residuals that are shorter than each length."""
        typical = np.broadcast_to(releases.typical, len(releases.state))
        grid = length_grid(releases.assumptions)
        tops = level_of(grid[0] / typical, 1.0)
        levels = np.clip(tops[:, None] - np.arange(len(grid)) - LEVELS[0], 0, len(LEVELS) - 1)
        table, covariates = _shares_below(releases.dim), releases.covariates
        total = 0.0
        for x, share in zip(covariates.nodes, covariates.weights, strict=True):
            squares = np.sum(releases.errors_at(x) ** 2, axis=-1) / typical**2
            below, part = (each[:, None] for each in places_in_tables(squares))
            between = (1.0 - part) * table[levels, below] + part * table[levels, below + 1]
            total = total + share * between
        return total

    def simulate(self, releases, rng, prepared=None):
        shares = self.prepare(releases) if prepared is None else prepared
        # The sample's own quantile is off by chance as well, at all lengths alike.
        quantile = float(QUANTILE)
        chance = np.sqrt(quantile * (1.0 - quantile) / releases.number)
        off = shares - quantile + chance * rng.normal(size=(len(shares), 1))
        exponents = 0.5 * float(self._epsilon) * releases.number * np.abs(off)
        index = np.argmax(rng.gumbel(size=shares.shape) - exponents, axis=1)
        return replace(releases, length=length_grid(releases.assumptions)[index])

    def describe(self):
        return (
            f"exact choice of a length that {float(QUANTILE):.0%} of the residuals are shorter "
            f"than, {self.cost}"
        )


@lru_cache(maxsize=8)
def _shares_below(dim):
    """Shares (levels, distances) of residuals shorter than each of `LEVELS`."""
    lengths = np.sort(residual_lengths(dim)[1].reshape((len(DISTANCES), -1)), axis=1)
    limits = [limit_at(level, 1.0) for level in LEVELS]
    found = [np.searchsorted(each, limits) / lengths.shape[1] for each in lengths]
    return np.array(found).T
