"""A private quantile of residual lengths about a state, chosen from a public grid."""

import math
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache

import numpy as np

from geodp.errors import DataError
from geodp.samplers.integer_choice import ExactChoice
from geodp_release.promise.budget import choice_epsilon
from geodp_release.run.contributions import LOSS_LATTICE, length_counts, shares_within
from geodp_release.run.noise import ChoiceNoise
from geodp_release.stages.residual_tables import (
    DISTANCES,
    LIMITS_PER_DOUBLING,
    length_grid,
    level_of,
    residual_lengths,
)
from geodp_release.stages.stage import Stage, checked_share

# Part of residuals by which records outweigh what simulations expect of a length that is to find
# the unexpected.
SOON_OUTWEIGHED = 1.0 / 6.0

# Share of residuals that are shorter than a length, and of those shorter than the last one, which
# tells better how long all are together: also where they are long in one direction.
SHARE, LAST_SHARE = Fraction(1, 2), Fraction(3, 4)

# The table of shares of residuals below a length has so many for each of the grid, up and down to
# a factor of 2^15 of a typical residual.
FINER = 8
SIZES = 2.0 ** np.arange(-15.0, 15.0, 1.0 / (FINER * LIMITS_PER_DOUBLING))


@dataclass(frozen=True)
class ScaleStage(Stage):
    """A choice from `length_grid` by how far from a share the shorter residuals are.

    By the exponential mechanism: a subject changes each number by one at most.
    """

    # By what lengths are weighed that simulations expect, from the shortest on; others by one.
    weights: tuple[int, ...] = ()
    # Level of the shortest of them: of its ratio to the length before, or to a length of one.
    shortest: int = 0
    share: Fraction = SHARE  # Of residuals that are shorter than the length.

    is_look = True
    what = "exact choice of a length that about {0._share} of the residuals are shorter than"

    def __post_init__(self):
        super().__post_init__()
        whole = all(isinstance(each, int) for each in (*self.weights, self.shortest))
        if not whole or min(self.weights, default=1) < 1:
            raise DataError(
                f"a stage has weights {self.weights} from level {self.shortest}: give whole "
                "numbers, the weights above zero"
            )
        object.__setattr__(self, "share", checked_share(self.share))

    @property
    def _share(self):
        return {SHARE: "half", LAST_SHARE: "three quarters"}.get(self.share, self.share)

    @property
    def _epsilon(self):
        return choice_epsilon(self.budget, self.unit)

    def noise(self, assumptions):
        """The `ChoiceNoise` of how many subjects a number is off, in steps of the lattice."""
        # A change of one may be an increase of some and a decrease of others.
        return ChoiceNoise((self._epsilon / (2 * LOSS_LATTICE),))

    def run(self, before, assumptions, records, bits, shared=None):
        # Before any step it is one choice for all draws from the same records, if their number is.
        is_one = np.ndim(before.reached) == 0 and before.number == assumptions.subjects
        made = shared if is_one and shared is not None else {}
        key = self, before.state.tobytes(), before.number, before.lengths
        if key not in made:
            made[key] = self._choice(before, assumptions, records)
        grid, choice = made[key]
        return replace(before, lengths=(*before.lengths, float(grid[choice.draw(bits)])))

    def _choice(self, before, assumptions, records):
        """The grid, and an exact choice of one of its lengths."""
        grid, number = length_grid(assumptions), before.number
        weights, places = self._weights(grid, *before.lengths[-1:])
        counts = length_counts(assumptions, records, before.state, grid)
        wanted = int(LOSS_LATTICE * self.share) * int(number)
        off = [abs(int(count) - wanted) for count in counts]
        [rate] = self.noise(assumptions).scales
        # Of a noisy number, however large, distances from it differ by no more.
        most = LOSS_LATTICE * len(records)
        return grid, ExactChoice(weights[places].tolist(), off, rate, most)

    def _weights(self, grid, before=1.0):
        """Weights, and places in them of a grid of lengths, given the length or lengths before."""
        weights = np.array([1, *self.weights, 1])
        levels = level_of(grid[0], before) - np.arange(len(grid))
        return weights, np.clip(levels - self.shortest + 1, 0, len(weights) - 1)

    @staticmethod
    @lru_cache(maxsize=2)
    def prepare(releases):
        """Means and deviations (2, releases, grid) of shares of records at each length."""
        grid = length_grid(releases.assumptions)
        tables = _padded_shares(releases.dim, len(grid))[:2]
        shares, squares = _mean_shares(releases, grid[0], tables, len(grid))
        return np.array([shares, np.sqrt(np.maximum(squares - shares**2, 0.0))])

    def simulate(self, releases, rng):
        scores = self._scores(releases, rng)
        index = np.argmax(scores + rng.gumbel(size=scores.shape), axis=1)
        return replace(releases, length=length_grid(releases.assumptions)[index])

    def agreeing(self, releases, length, rng, number):
        """So many releases, of those given, by how probable a length is after each."""
        scores = self._scores(releases, rng)
        grid = length_grid(releases.assumptions)
        index = np.argmin(np.abs(np.log(grid / length)))
        scores -= np.max(scores, axis=1, keepdims=True)
        likelihood = scores[:, index] - np.log(np.sum(np.exp(scores), axis=1))
        weight = releases.weight * np.exp(likelihood - np.max(likelihood))
        # At even places of their sum, so that chance adds little.
        places = (np.arange(number) + rng.random()) / number
        rows = np.searchsorted(np.cumsum(weight) / np.sum(weight), places)
        rows = np.minimum(rows, len(weight) - 1)
        chosen = replace(releases, weight=np.ones(len(weight))).drawn(rows)
        return replace(chosen, length=np.full(number, length))

    def _scores(self, releases, rng):
        """Logarithms (releases, grid) of what the probability of a length is proportional to."""
        shares, deviations = self.prepare(releases)
        # The sample's own share is off by chance as well, at all lengths alike.
        chance = rng.normal(size=(len(shares), 1)) / np.sqrt(releases.number)
        off = shares - float(self.share) + deviations * chance
        exponents = 0.5 * float(self._epsilon) * releases.number * np.abs(off)
        before = 1.0 if releases.length is None else releases.length[:, None]
        weights, places = self._weights(length_grid(releases.assumptions), before)
        return np.log(weights)[places] - exponents

    def fitted(self, releases, outweighed=1.0 / 3.0, most_weight=1024):
        """With weights for what is simulated; records outweigh them by a part ``outweighed``."""
        # Part of the simulated lengths a level from which each is spread.
        smoothed = 0.05, 0.25, 0.4, 0.25, 0.05
        grid, (shares, _) = length_grid(releases.assumptions), self.prepare(releases)
        before = 1.0 if releases.length is None else releases.length
        levels = level_of(grid[np.argmin(np.abs(shares - float(self.share)), axis=1)], before)
        shortest = int(np.min(levels)) - len(smoothed) // 2
        parts = np.convolve(np.bincount(levels - np.min(levels)), smoothed)
        # Too short a length costs more than one that is too long: a step then hardly moves.
        parts = parts * 2.0 ** (0.5 * np.arange(len(parts)) / LIMITS_PER_DOUBLING)
        # Longer lengths are off by no more than the share that is left.
        off = 2.0 * min(self.share, 1 - self.share)
        most = outweighed * float(off) * releases.number * float(self._epsilon) / 2.0
        most = np.exp(min(most, np.log(most_weight)))
        weights = parts / np.max(parts) * most
        weights = tuple(int(each) for each in np.maximum(np.rint(weights), 1))
        return replace(self, weights=weights, shortest=shortest)


def simulated_shares_within(releases, lengths):
    """Shares (releases,) of records whose residual is shorter than a length for each release."""
    return _mean_shares(releases, lengths, _padded_shares(releases.dim, 1)[2:], 1)[0, :, 0]


def _mean_shares(releases, lengths, tables, steps, block=512):
    """Means (tables, releases, steps) over covariates of `_padded_shares`, from lengths on.

    Of so many releases at once.
    """
    _, (below, part) = releases.at_nodes
    number, starts = len(tables), tables.shape[-1] - steps + 1
    weights, per_doubling = releases.covariates.by_release[0], FINER * LIMITS_PER_DOUBLING
    # In `SIZES`, rounded up.
    sizes = np.ceil(np.log2(lengths / releases.typical / SIZES[0]) * per_doubling)
    sizes = sizes - np.rint(np.log2(releases.scales_at_nodes) * per_doubling)
    whole, phases = np.divmod(sizes.astype(int), FINER)
    firsts = np.clip(steps + len(SIZES) // FINER - 1 - whole, 0, starts - 1)
    weights = np.broadcast_to(weights, below.shape)
    # Indices of first sizes in flat tables, and the stride from a distance to the next.
    stride = math.prod(tables.shape[2:])
    places = below * stride + phases * tables.shape[-1] + firsts
    windows = np.lib.stride_tricks.sliding_window_view(tables.reshape(number, -1), steps, axis=1)
    found = np.zeros((number, *below.shape[1:], steps))
    for start in range(0, below.shape[1], block):
        # These are the largest arrays of a look: in place, and few enough for a cache.
        at = slice(start, start + block)
        for node, place in enumerate(places):
            fraction, weight = (each[node, at, None] for each in (part, weights))
            for table, total in zip(windows, found, strict=True):
                low, high = table[place[at]], table[place[at] + stride]
                high -= low
                high *= fraction
                high += low
                high *= weight
                total[at] += high
    return found


@lru_cache(maxsize=4)
def _padded_shares(dim, steps):
    """Tables of `_shares_below` (tables, distances, FINER, sizes), the largest size first.

    Sizes are a level apart, and padded at both ends by so many ``steps`` with the shares there.
    """
    tables = np.reshape(_shares_below(dim), (3, -1, FINER, len(DISTANCES)))[:, ::-1]
    return np.pad(tables.transpose(0, 3, 2, 1), (*[(0, 0)] * 3, (steps, steps)), mode="edge")


@lru_cache(maxsize=8)
def _shares_below(dim, nodes=16):
    """Tables (sizes, distances) of shares of records at each of `SIZES`.

    Means of what records count for, means of its squares, and parts of residuals that are shorter.
    """
    found = [np.searchsorted(each, SIZES) / len(each) for each in residual_lengths(dim)[1]]
    shares = np.transpose(found)
    # A residual counts as far as the shares of `shares_within` at shorter lengths add up.
    ratios, heights = np.linspace(0.5, 1.5, 1024), (np.arange(nodes) + 0.5) / nodes
    ratios = np.interp(heights, shares_within(ratios), ratios)
    shifts = np.rint(FINER * LIMITS_PER_DOUBLING * np.log2(ratios)).astype(int)
    places, means = np.arange(len(SIZES)), np.zeros((2, *shares.shape))
    for height, shift in zip(heights, shifts, strict=True):
        part = shares[np.clip(places - shift, 0, len(SIZES) - 1)] / nodes
        means += np.multiply.outer([1.0, 2.0 * height], part)
    return np.array([*means, shares])
