"""Convergence diagnostics of chains."""

import numpy as np

# A parameter of a cell passes with a bulk effective sample size above the first and a rank
# normalised R-hat below the second, for every traced summary.
SMALLEST_EFFECTIVE_SIZE = 400
LARGEST_RHAT = 1.01

# Largest acceptable share of a study's cells that fail.
LARGEST_FLAGGED_SHARE = 0.05


# What chains are judged by, and how many of what length there were.
JUDGED = ("ess_bulk", "rhat", "passed", "trace_chains", "trace_states", "trace_thin")


def effective_size(traces):
    """Smallest bulk effective sample size over traces (chains, states) by name."""
    from arviz_stats.base import array_stats

    axes = {"chain_axis": 0, "draw_axis": 1}
    return float(np.min([array_stats.ess(v, **axes, method="bulk") for v in traces.values()]))


def convergence(thin=0, **traces):
    """By name of `JUDGED` what traces (chains, states) by name say of chains.

    The smallest effective sample size and the largest R-hat; independent draws have no traces.
    """
    if not traces:
        return dict(zip(JUDGED, (np.nan, np.nan, True, 0, 0, 0), strict=True))
    from arviz_stats.base import array_stats

    size = effective_size(traces)
    ratios = [array_stats.rhat(values, chain_axis=0, draw_axis=1) for values in traces.values()]
    ratio = float(np.max(ratios))
    # A chain that never moved has no finite R-hat; comparisons with NaN are false.
    passed = size > SMALLEST_EFFECTIVE_SIZE and ratio < LARGEST_RHAT
    chains, states = next(iter(traces.values())).shape
    return dict(zip(JUDGED, (size, ratio, passed, chains, states, int(thin)), strict=True))
