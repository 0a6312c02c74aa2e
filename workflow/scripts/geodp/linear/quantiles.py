"""Private quantiles of numbers: the K-norm gradient density is constant between records."""

import numpy as np
from scipy.special import logsumexp


def _pieces(values, tau, budget, bound, scale):
    """Ends of the pieces of the density in [-bound, bound], and log densities, unnormalised.

    Arrays of shape (data_sets, n + 2) and (data_sets, n + 1).
    """
    values = np.sort(values, axis=-1)
    edges = np.pad(values, [(0, 0), (1, 1)], constant_values=[(0.0, 0.0), (-bound, bound)])
    number = values.shape[-1]
    return edges, -budget / (2.0 * scale) * np.abs(number * tau - np.arange(number + 1))


def stated_sensitivity(tau):
    """Sensitivity of the gradient as published, ``2 (1 - tau)``.

    It is too small above the median: one record moves the number of those below a point by one,
    so that 1 is right (and for a regression on ``|x| <= 1``, ``2 max(tau, 1 - tau)``).
    """
    return 2.0 * (1.0 - tau)


def draw_quantiles(rng, values, tau, budget, bound, scale):
    """One exact draw for each data set of a private quantile (Reimherr and Awan, density (3)).

    The density is ``exp(-budget / (2 scale) |n tau - #(values <= theta)|)`` on [-bound, bound];
    without an interval it has no finite integral.  Values (data_sets, n) lie in it, and the scale
    is the sensitivity of the gradient.
    """
    edges, log_density = _pieces(values, tau, budget, bound, scale)
    with np.errstate(divide="ignore"):
        log_mass = log_density + np.log(np.diff(edges))
    # Gumbel's trick chooses a piece by its mass.
    piece = np.argmax(log_mass + rng.gumbel(size=log_mass.shape), axis=-1)[:, None]
    low, high = (np.take_along_axis(edges, piece + end, axis=-1)[:, 0] for end in (0, 1))
    return low + (high - low) * rng.random(len(low))


def log_density(values, tau, budget, bound, scale, places):
    """Normalised log density at places (k,) of private quantiles of values (n,)."""
    [edges], unnormalised = _pieces(values[None], tau, budget, bound, scale)
    widths = np.diff(edges)
    some = widths > 0.0
    total = logsumexp(unnormalised[some], b=widths[some])
    return unnormalised[np.searchsorted(edges[1:-1], places, side="right")] - total


def realised_loss(tau, budget, number, scale):
    """Largest difference of log densities that a search over neighbours finds, exactly computed.

    Some records lie at -1, some at 1 and one next to -1; of the neighbour one of the first has
    moved to 1.  So the count of records below a point moves away from ``n tau`` where little of the
    mass is and towards it where most is.
    """
    losses = []
    for low in range(1, number - 1):
        for inner in (-1.0 + 1e-9, 0.0, 1.0 - 1e-9):
            first = np.r_[np.full(low, -1.0), inner, np.full(number - low - 1, 1.0)]
            second = first.copy()
            second[0] = 1.0
            middles = np.array([0.5 * (inner - 1.0), 0.5 * (inner + 1.0)])
            pair = [log_density(each, tau, budget, 1.0, scale, middles) for each in (first, second)]
            losses.append(np.max(np.abs(pair[0] - pair[1])))
    return float(max(losses))
