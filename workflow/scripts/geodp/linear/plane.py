"""Draws from densities in the plane, by proposals from a grid that is matched to the density.

Independence Metropolis: a proposal comes from a grid of cells about the mode, each as likely as the
density at its middle or at that of a neighbour, or from the whole support, ``|theta|_1 <= bound``.
Chains have the right distribution in the limit, and nearly so after a few steps, since the grid
follows the density; effective sample sizes say how nearly.
"""

from dataclasses import dataclass
from itertools import product

import numpy as np
from scipy.ndimage import maximum_filter
from scipy.special import logsumexp

from geodp.linear import l1_ball
from geodp.samplers.kernel import visited


@dataclass(frozen=True)
class Grid:
    """A square of cells, with the log probability (cells, cells) of each."""

    centre: np.ndarray
    half_width: float
    log_shares: np.ndarray
    uniform: float = 0.05  # Share of proposals from the whole support.

    def draw(self, rng, count):
        """Places (count, 2)."""
        cells = len(self.log_shares)
        chosen = rng.choice(cells**2, size=count, p=np.exp(self.log_shares.ravel()))
        place = np.column_stack(np.divmod(chosen, cells)) + rng.random((count, 2))
        return self.centre + self.half_width * (2.0 * place / cells - 1.0)

    def log_mixture(self, places, bound):
        """Log density (m,) of proposals at places (m, 2) of the support."""
        cells = len(self.log_shares)
        scaled = 0.5 * ((places - self.centre) / self.half_width + 1.0)
        row, column = np.clip((cells * scaled).astype(int), 0, cells - 1).T
        log_cell = 2.0 * np.log(2.0 * self.half_width / cells)
        inside = np.all((scaled >= 0.0) & (scaled <= 1.0), axis=-1)
        log_density = np.where(inside, self.log_shares[row, column] - log_cell, -np.inf)
        log_uniform = np.log(self.uniform) - np.log(2.0 * bound**2)
        return np.logaddexp(log_uniform, np.log1p(-self.uniform) + log_density)


def _tabulated(score, centre, half_width, bound, cells):
    """Log probabilities of the cells of a square, by the density at their middles."""
    middle = (np.arange(cells) + 0.5) * 2.0 / cells - 1.0
    places = np.stack(np.meshgrid(*centre[:, None] + half_width * middle, indexing="ij"), axis=-1)
    # A cell of which no point lies in the support has no middle near it.
    near = l1_ball.contains(places, bound + 2.0 * half_width / cells)
    log_mass = np.full(near.shape, -np.inf)
    log_mass[near] = -_in_square(score, places[near], centre, half_width)
    return log_mass - logsumexp(log_mass)


def _in_square(score, places, centre, half_width, few=32, little=1 << 20):
    """Scores at places (m, 2) of a square: quarters of it have ever fewer records to look at."""
    local = score.within(centre, half_width)
    # Finding the records of four quarters costs about as much as scores at a few places.
    if len(places) <= few or len(places) * local.work <= little:
        return local(places)
    values, quarter = np.empty(len(places)), 0.5 * half_width
    for upper in product((False, True), repeat=2):
        mine = np.all((places > centre) == upper, axis=-1)
        if np.any(mine):
            middle = centre + np.where(upper, quarter, -quarter)
            values[mine] = _in_square(local, places[mine], middle, quarter)
    return values


def match(score, centre, bound, fall=12.0, share=0.03):
    """A `Grid` about a centre that is as wide as the density of a `geodp.linear.pinball.Score`.

    The log density falls so much towards the edge of the square, and nine tenths of the mass are
    spread over at least this share of the cells.
    """
    widest = bound + float(np.max(np.abs(centre)))
    half_width, narrowed, factor = min(score.width, widest), False, np.sqrt(2.0)
    for _ in range(120):
        log_mass = _tabulated(score, centre, half_width, bound, 20)
        edge = max(np.max(log_mass[[0, -1]]), np.max(log_mass[:, [0, -1]]))
        held = np.cumsum(np.sort(np.exp(log_mass), axis=None)[::-1])
        if half_width < widest and edge >= np.max(log_mass) - fall:
            half_width = min(factor * half_width, widest)
            # The width before it was narrowed was right.
            if narrowed:
                break
        elif np.searchsorted(held, 0.9) + 1 >= share * log_mass.size:
            break
        else:
            half_width, narrowed = half_width / factor, True
    work = score.within(centre, half_width).work
    cells = int(np.clip(np.sqrt((1 << 24) / max(work, 1)), 16, 100))
    log_mass = _tabulated(score, centre, half_width, bound, cells)
    spread = maximum_filter(log_mass, size=3, mode="nearest")
    return Grid(centre, half_width, spread - logsumexp(spread))


def chains(rng, score, centre, bound, number, states):
    """Places (number, states, 2) of chains, and their scores (number, states); see `match`."""
    grid, shape = match(score, centre, bound), (number, states + 1)
    places = grid.draw(rng, number * (states + 1))
    anywhere = rng.random(len(places)) < grid.uniform
    # The first proposal of a chain is where it starts: in the support, where it stays.
    anywhere[:: states + 1] = True
    places[anywhere] = l1_ball.uniform(rng, (np.sum(anywhere), 2), bound)
    near = np.all(np.abs(places - centre) <= grid.half_width, axis=-1)
    values = np.empty(len(places))
    values[near] = _in_square(score, places[near], centre, grid.half_width)
    values[~near] = score(places[~near])
    inside = l1_ball.contains(places, bound)
    weights = np.where(inside, -values - grid.log_mixture(places, bound), -np.inf).reshape(shape)
    thresholds = -rng.standard_exponential(shape)
    at = 1 + visited(weights[:, 0], weights[:, 1:], thresholds[:, 1:])
    rows = np.arange(number)[:, None]
    return places.reshape((*shape, 2))[rows, at], values.reshape(shape)[rows, at]
