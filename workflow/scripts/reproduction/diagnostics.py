"""Convergence diagnostics of chains."""

import numpy as np

# A parameter of a cell passes with a bulk effective sample size above the first and a rank
# normalised R-hat below the second, for every traced summary.
SMALLEST_EFFECTIVE_SIZE = 400
LARGEST_RHAT = 1.01

# Largest acceptable share of a study's cells that fail.
LARGEST_FLAGGED_SHARE = 0.05


def effective_size(traces):
    """Smallest bulk effective sample size over traces (chains, states) by name."""
    from arviz_stats.base import array_stats

    axes = {"chain_axis": 0, "draw_axis": 1}
    return float(np.min([array_stats.ess(v, **axes, method="bulk") for v in traces.values()]))


def convergence(traces):
    """Smallest effective sample size and largest R-hat over traces (chains, states) by name.

    Keys of the result are ``ess_bulk``, ``rhat`` and ``passed``.
    """
    from arviz_stats.base import array_stats

    size = effective_size(traces)
    ratios = [array_stats.rhat(values, chain_axis=0, draw_axis=1) for values in traces.values()]
    ratio = float(np.max(ratios))
    # A chain that never moved has no finite R-hat; comparisons with NaN are false.
    passed = size > SMALLEST_EFFECTIVE_SIZE and ratio < LARGEST_RHAT
    return {"ess_bulk": size, "rhat": ratio, "passed": passed}
