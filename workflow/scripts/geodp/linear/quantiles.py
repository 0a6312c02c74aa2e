"""Private quantiles of numbers: the K-norm gradient density is constant between records."""

import numpy as np
from scipy.special import logsumexp


def _pieces(values, tau, budget, bound, scale):
    """Ends (data_sets, n + 2) of the pieces of the density in [-bound, bound], and their logs."""
    values = np.sort(values, axis=-1)
    edges = np.pad(values, [(0, 0), (1, 1)], constant_values=[(0.0, 0.0), (-bound, bound)])
    number = values.shape[-1]
    return edges, -budget / (2.0 * scale) * np.abs(number * tau - np.arange(number + 1))


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
