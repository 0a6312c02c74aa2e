"""A private median of residual lengths about a state, chosen from a public grid."""

from dataclasses import dataclass, replace
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
    looked_up_in,
    places_in_tables,
    residual_lengths,
)
from geodp_release.stages.base import Stage

# How much longer than before a length may be.  What few subjects rarely choose is far too long, and
# would make a late step's noise as large.
LONGER = 2.0

# The table of shares of residuals below a length has so many for each of the grid, up and down to
# a factor of 2^15 of a typical residual.
FINER = 8
SIZES = 2.0 ** np.arange(-15.0, 15.0, 1.0 / (FINER * LIMITS_PER_DOUBLING))


@dataclass(frozen=True)
class ScaleStage(Stage):
    """A choice from `simulation.length_grid` by how far from half the shorter residuals are.

    By the exponential mechanism: a subject changes each number by one at most.  A later choice is
    among lengths of at most `LONGER` times the one before.
    """

    is_look = True

    @property
    def _epsilon(self):
        return choice_epsilon(self.budget, self.unit)

    def noise(self, assumptions):
        """The `ChoiceNoise` of how many subjects a number is off, in steps of the lattice."""
        # A change of one may be an increase of some and a decrease of others.
        return ChoiceNoise((self._epsilon / (2 * LOSS_LATTICE),))

    def chosen(self, assumptions, records, before, bits):
        """The released length, one of the grid."""
        grid, number = length_grid(assumptions), before.number
        grid = grid[grid <= LONGER * min(before.lengths[-1:], default=np.inf)]
        counts = length_counts(assumptions, records, before.state, grid)
        wanted = LOSS_LATTICE * int(number) // 2
        off = [abs(int(count) - wanted) for count in counts]
        [rate] = self.noise(assumptions).scales
        most = LOSS_LATTICE * max(int(number), len(records))
        return float(grid[ExactChoice([1] * len(grid), off, rate, most).draw(bits)])

    def run(self, before, assumptions, records, bits, shared=None):
        length = self.chosen(assumptions, records, before, bits)
        return replace(before, lengths=(*before.lengths, length))

    def prepare(self, releases, rng=None):
        """Shares (releases, grid) of residuals that are shorter than each length."""
        typical = np.broadcast_to(releases.typical, len(releases.state))
        grid = length_grid(releases.assumptions)
        tops = np.searchsorted(SIZES, grid[0] / typical)
        levels = np.clip(tops[:, None] - FINER * np.arange(len(grid)), 0, len(SIZES) - 1)
        table, covariates = _shares_below(releases.dim), releases.covariates
        total = 0.0
        for x, share in zip(covariates.nodes, covariates.weights, strict=True):
            squares = np.sum(releases.errors_at(x) ** 2, axis=-1) / typical**2
            places = [each[:, None] for each in places_in_tables(squares)]
            total = total + share * looked_up_in(table, levels, places)
        return total

    def simulate(self, releases, rng, prepared=None):
        shares = self.prepare(releases) if prepared is None else prepared
        # The sample's own quantile is off by chance as well, at all lengths alike.
        off = shares - 0.5 + 0.5 / np.sqrt(releases.number) * rng.normal(size=(len(shares), 1))
        exponents = 0.5 * float(self._epsilon) * releases.number * np.abs(off)
        grid = length_grid(releases.assumptions)
        if releases.length is not None:
            exponents[grid > LONGER * releases.length[:, None]] = np.inf
        index = np.argmax(rng.gumbel(size=shares.shape) - exponents, axis=1)
        return replace(releases, length=grid[index])

    def describe(self):
        return f"exact choice of a length that half of the residuals are shorter than, {self.cost}"


@lru_cache(maxsize=8)
def _shares_below(dim):
    """Shares (sizes, distances) of residuals shorter than each of `SIZES`."""
    lengths = np.sort(residual_lengths(dim)[1].reshape((len(DISTANCES), -1)), axis=1)
    found = [np.searchsorted(each, SIZES) / lengths.shape[1] for each in lengths]
    return np.ascontiguousarray(np.transpose(found))
