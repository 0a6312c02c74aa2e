"""Columns that claims may name besides those of the tables, derived from these."""

import operator

import numpy as np
import pandas as pd


def _not_below(error, least):
    """One where an error is not below the non-private one, up to rounding."""
    return (error >= least * (1.0 - 1e-9)).astype(float)


def _log_tail(mean, median, least):
    """Logarithm of mean over median of the error that privacy adds.

    It is far above zero if a few draws are far out, whatever the scale.
    """
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.log(mean - least) - np.log(median - least)


# By name: a function, and the columns that it takes.
DERIVED = {
    "log_error": (np.log, "mean_squared_error"),
    "log_non_private_error": (np.log, "non_private_mean_squared_error"),
    "log_residual": (lambda least: 0.5 * np.log(least), "non_private_mean_squared_error"),
    "log_gap": (operator.sub, "log_error", "log_non_private_error"),
    "log_mean_prediction_distance": (np.log, "mean_prediction_distance"),
    "tau_over_n": (operator.truediv, "tau", "n"),
    "not_below": (_not_below, "mean_squared_error", "non_private_mean_squared_error"),
    "log_tail": (
        _log_tail,
        "mean_squared_error",
        "median_squared_error",
        "non_private_mean_squared_error",
    ),
}


def with_derived_columns(table):
    """A table with the columns `DERIVED` that it has the sources of, and with budgets.

    ``budget`` is the total, and ``imbalance`` the largest minus the smallest budget of a block.
    Both are rounded to nine decimals, so that equal budgets compare equal.
    """
    table = table.copy()
    if "noise_variance" in table:
        table["noise_variance"] = pd.to_numeric(table["noise_variance"], errors="coerce")
    if "budget" in table:
        table["budget"] = table["budget"].astype(float).round(9)
    blocks = [name for name in table.columns if name.startswith("budget_")]
    budgets = table[blocks].astype(float).dropna(axis=1, how="all")
    if not budgets.empty:
        # Releases have one budget in all.
        total = budgets.sum(axis=1, skipna=False).round(9)
        table["budget"] = total.fillna(table["budget"]) if "budget" in table else total
        table["imbalance"] = (budgets.max(axis=1) - budgets.min(axis=1)).round(9)
    for name, (derive, *sources) in DERIVED.items():
        if set(sources) <= set(table.columns):
            table[name] = derive(*(table[source] for source in sources))
    return table
