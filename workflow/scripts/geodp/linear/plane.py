"""Draws from densities in the plane, by proposals from a grid that is matched to the density.

Independence Metropolis: a proposal comes from a grid of cells about the mode, each as likely as the
density at its middle or at that of a neighbour, or from the whole support.  Chains have the right
distribution in the limit, and nearly so after a few steps, since the grid follows the density;
effective sample sizes say how nearly.
"""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import maximum_filter
from scipy.special import logsumexp

from geodp.linear import l1_ball
from geodp.samplers.base import visited

# Share of proposals from the whole support.
UNIFORM = 0.05


@dataclass(frozen=True)
class Grid:
    """A square of cells, with the log probability (cells, cells) of each."""

    centre: np.ndarray
    half_width: float
    log_shares: np.ndarray

    def draw(self, rng, count):
        """Places (count, 2)."""
        cells = len(self.log_shares)
        chosen = rng.choice(cells**2, size=count, p=np.exp(self.log_shares.ravel()))
        place = np.column_stack(np.divmod(chosen, cells)) + rng.random((count, 2))
        return self.centre + self.half_width * (2.0 * place / cells - 1.0)

    def log_density(self, places):
        """Log density (m,) of places (m, 2), minus infinity outside of the square."""
        cells = len(self.log_shares)
        scaled = 0.5 * ((places - self.centre) / self.half_width + 1.0)
        row, column = np.clip((cells * scaled).astype(int), 0, cells - 1).T
        log_cell = 2.0 * np.log(2.0 * self.half_width / cells)
        inside = np.all((scaled >= 0.0) & (scaled <= 1.0), axis=-1)
        return np.where(inside, self.log_shares[row, column] - log_cell, -np.inf)

    def log_mixture(self, places, share, bound):
        """Log density (m,) in ``|theta|_1 <= bound``, a share of which is uniform there."""
        log_uniform = np.log(share) - np.log(2.0 * bound**2)
        return np.logaddexp(log_uniform, np.log1p(-share) + self.log_density(places))


def _tabulated(local, centre, half_width, bound, cells):
    """Log probabilities of the cells of a square, by the density at their middles."""
    middle = (np.arange(cells) + 0.5) * 2.0 / cells - 1.0
    first, second = centre[:, None] + half_width * middle
    # A cell of which no point lies in the support has no middle near it.
    near = np.add.outer(np.abs(first), np.abs(second)) <= bound + 2.0 * half_width / cells
    log_mass = np.where(near, -local(first, second), -np.inf)
    return log_mass - logsumexp(log_mass)


def _is_wide(log_mass, fall=12.0):
    """Whether the log density falls enough towards the edge of the square."""
    edge = max(np.max(log_mass[[0, -1]]), np.max(log_mass[:, [0, -1]]))
    return edge < np.max(log_mass) - fall


def _is_filled(log_mass, share=0.03):
    """Whether nine tenths of the mass are spread over enough of the cells."""
    held = np.cumsum(np.sort(np.exp(log_mass), axis=None)[::-1])
    return np.searchsorted(held, 0.9) + 1 >= share * log_mass.size


def match(score, centre, bound):
    """A `Grid` about a centre that is as wide as the density, and the score in its square.

    ``score`` takes places (m, 2), or coordinates of a grid, to minus their log densities, and has a
    method ``within`` and the attributes ``work`` and ``width``, a first guess.  The support is
    ``|theta|_1 <= bound``.
    """
    widest = bound + float(np.max(np.abs(centre)))
    half_width, narrowed = min(score.width, widest), False
    factor = np.sqrt(2.0)
    for _ in range(120):
        log_mass = _tabulated(score.within(centre, half_width), centre, half_width, bound, 20)
        if half_width < widest and not _is_wide(log_mass):
            half_width = min(factor * half_width, widest)
            # The width before it was narrowed was right.
            if narrowed:
                break
        elif _is_filled(log_mass):
            break
        else:
            half_width, narrowed = half_width / factor, True
    local = score.within(centre, half_width)
    cells = int(np.clip(np.sqrt((1 << 24) / max(local.work, 1)), 16, 100))
    log_mass = _tabulated(local, centre, half_width, bound, cells)
    spread = maximum_filter(log_mass, size=3, mode="nearest")
    return Grid(centre, half_width, spread - logsumexp(spread)), local


def chains(rng, score, centre, bound, number, states):
    """Places (number, states, 2) of chains, and their scores (number, states); see `match`."""
    grid, local = match(score, centre, bound)
    shape = (number, states + 1)
    count = number * (states + 1)
    places = grid.draw(rng, count)
    anywhere = rng.random(count) < UNIFORM
    # Chains start in the support, and stay there.
    anywhere[:: states + 1] = True
    places[anywhere] = l1_ball.uniform(rng, (np.sum(anywhere), 2), bound)
    covered = np.isfinite(grid.log_density(places))
    values = np.empty(count)
    for chosen, known in ((covered, local), (~covered, score)):
        if np.any(chosen):
            values[chosen] = known(places[chosen])
    proposed = grid.log_mixture(places, UNIFORM, bound)
    weights = np.where(l1_ball.contains(places, bound), -values - proposed, -np.inf)
    places, values, weights = (
        each.reshape((*shape, *each.shape[1:])) for each in (places, values, weights)
    )
    thresholds = -rng.standard_exponential(shape)
    # The first proposal of a chain is where it starts.
    at = 1 + visited(weights[:, 0], weights[:, 1:], thresholds[:, 1:])
    rows = np.arange(number)[:, None]
    return places[rows, at], values[rows, at]
