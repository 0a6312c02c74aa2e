"""Convergence diagnostics of chains."""

import numpy as np

# What chains are judged by, and how many of what length there were.
JUDGED = ("ess_bulk", "rhat", "passed", "trace_chains", "trace_states", "trace_thin")


def effective_size(traces):
    """Smallest bulk effective sample size over traces (chains, states) by name."""
    from arviz_stats.base import array_stats

    axes = {"chain_axis": 0, "draw_axis": 1}
    return float(np.min([array_stats.ess(v, **axes, method="bulk") for v in traces.values()]))


def convergence(thin=0, least_size=400, most_rhat=1.01, **traces):
    """By name of `JUDGED` what traces (chains, states) by name say of chains.

    The smallest bulk effective sample size and the largest rank normalised R-hat, and whether they
    are above and below what passes; independent draws have no traces.
    """
    if not traces:
        return dict(zip(JUDGED, (np.nan, np.nan, True, 0, 0, 0), strict=True))
    from arviz_stats.base import array_stats

    size = effective_size(traces)
    ratios = [array_stats.rhat(values, chain_axis=0, draw_axis=1) for values in traces.values()]
    ratio = float(np.max(ratios))
    # A chain that never moved has no finite R-hat; comparisons with NaN are false.
    passed = size > least_size and ratio < most_rhat
    chains, states = next(iter(traces.values())).shape
    return dict(zip(JUDGED, (size, ratio, passed, chains, states, int(thin)), strict=True))
