"""Columns that claims may name besides those of the tables, derived from these."""

from contextlib import suppress

import numpy as np
import pandas as pd

# Formulas by name, of columns of the table and of those above.
DERIVED = {
    "log_error": "log(mean_squared_error)",
    "log_non_private_error": "log(non_private_mean_squared_error)",
    "log_residual": "0.5 * log(non_private_mean_squared_error)",
    "log_gap": "log_error - log_non_private_error",
    "log_mean_prediction_distance": "log(mean_prediction_distance)",
    "tau_over_n": "tau / n",
    # One where an error is not below the non-private one, up to rounding.
    "not_below": "1.0 * (mean_squared_error >= 0.999999999 * non_private_mean_squared_error)",
    # Mean over median of the error that privacy adds: far above zero if a few draws are far out.
    "log_tail": "log(mean_squared_error - non_private_mean_squared_error)"
    " - log(median_squared_error - non_private_mean_squared_error)",
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
    budgets = table.filter(regex="^budget_").astype(float).dropna(axis=1, how="all")
    if not budgets.empty:
        # Releases have one budget in all.
        total = budgets.sum(axis=1, skipna=False).round(9)
        table["budget"] = total.fillna(table["budget"]) if "budget" in table else total
        table["imbalance"] = (budgets.max(axis=1) - budgets.min(axis=1)).round(9)
    for name, formula in DERIVED.items():
        with suppress(pd.errors.UndefinedVariableError), np.errstate(all="ignore"):
            table[name] = table.eval(formula, engine="python")
    return table
