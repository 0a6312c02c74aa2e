"""Draws from densities in the plane, by proposals from a grid that is matched to the density.

Independence Metropolis: a proposal comes from a grid of cells about the mode, each as likely as the
density at its middle or at that of a neighbour, or from the whole support, ``|theta|_1 <= bound``.
Chains have the right distribution in the limit, and nearly so after a few steps, since the grid
follows the density; effective sample sizes say how nearly.
"""

from dataclasses import dataclass

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
    log_mass[near] = -score(places[near])
    return log_mass - logsumexp(log_mass)


def match(score, centre, bound, fall=12.0, share=0.03):
    """A `Grid` about a centre that is as wide as the density of a `geodp.linear.pinball.Score`.

    The log density falls so much towards the edge of the square, and nine tenths of the mass are
    spread over at least this share of the cells.
    """
    widest = bound + float(np.max(np.abs(centre)))
    half_width, narrowed, factor = min(score.width, widest), False, np.sqrt(2.0)
    for _ in range(120):
        log_mass = _tabulated(score.within(centre, half_width), centre, half_width, bound, 20)
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
    local = score.within(centre, half_width)
    cells = int(np.clip(np.sqrt((1 << 24) / max(local.work, 1)), 16, 100))
    log_mass = _tabulated(local, centre, half_width, bound, cells)
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
    values, inside = score(places), l1_ball.contains(places, bound)
    weights = np.where(inside, -values - grid.log_mixture(places, bound), -np.inf).reshape(shape)
    thresholds = -rng.standard_exponential(shape)
    at = 1 + visited(weights[:, 0], weights[:, 1:], thresholds[:, 1:])
    rows = np.arange(number)[:, None]
    return places.reshape((*shape, 2))[rows, at], values.reshape(shape)[rows, at]
