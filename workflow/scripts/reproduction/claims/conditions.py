"""Columns that claims may name, and conditions on them: comparisons that pandas evaluates."""

import re
from ast import literal_eval
from contextlib import suppress

import numpy as np
import pandas as pd

from geodp.errors import DataError
from geodp.settings.section import refused

_NUMBER = r"-?\d{1,12}(?:\.\d{1,12})?"
_VALUE = rf"(?:'[^'\\\n]*'|{_NUMBER})"
_ORDERED = rf"(?:<=|>=|<|>) {_NUMBER}"
_COMPARISON = rf"\w+ (?:{_ORDERED}|(?:==|!=) {_VALUE}|in \[{_VALUE}(?:, {_VALUE})*\])"


def _is_joined(comparison, text):
    # Nothing else may reach pandas, which would run it.
    return re.fullmatch(rf"{comparison}(?: (?:and|or) {comparison})*", text)


def selection(text):
    """Refuse what is no selection of rows, such as ``n >= 50 and group in ['a', 'b']``, or none."""
    if text and not _is_joined(_COMPARISON, text):
        raise refused(
            f": '{text}' is not a selection of rows: compare columns with texts and numbers, "
            "joined by and and or, such as sampler == 'default' and n in [20, 50]"
        )
    return text


def criterion(text):
    """Refuse what does not compare ``value`` with numbers."""
    if not _is_joined(f"value {_ORDERED}", text):
        raise refused(
            f": '{text}' is not a criterion: write comparisons of value with numbers, such as "
            "value >= 0.95"
        )
    return text


def comparisons(text):
    """Comparisons of conditions: column, order and values, of which one must be met."""
    for found in re.findall(_COMPARISON, text):
        column, order, written = found.split(" ", 2)
        value = literal_eval(written)
        yield (column, "==", value) if order == "in" else (column, order, [value])


def met(table, text):
    """Whether rows of a table meet conditions, as all do without any: bool, shape (rows,)."""
    if not text:
        return np.ones(len(table), dtype=bool)
    for column, _, values in comparisons(text):
        is_number = pd.api.types.is_numeric_dtype(given := column_of(table, column))
        if not given.isna().all() and any(isinstance(each, str) == is_number for each in values):
            raise DataError(
                f"{column} and {values} are compared, and one is text and the other a number: "
                "compare like with like, with quotation marks around text"
            )
    return table.eval(text, engine="python").to_numpy(dtype=bool)


def column_of(table, name):
    """A column of a table; a `DataError` if it is missing."""
    if name not in table:
        raise DataError(f"there is no column {name} in the table: name one that is there")
    return table[name]


def with_derived_columns(table):
    """A table with columns that follow from its own, where it has these, and with budgets.

    ``budget`` is the total, and ``imbalance`` the largest minus the smallest budget of a block.
    Both are rounded to nine decimals, so that equal budgets compare equal.
    """
    # Columns besides those of tables: formulas by name, of columns of the table and of those above.
    derived = {
        "log_error": "log(mean_squared_error)",
        "log_non_private_error": "log(non_private_mean_squared_error)",
        "log_residual": "0.5 * log(non_private_mean_squared_error)",
        "log_gap": "log_error - log_non_private_error",
        "log_mean_prediction_distance": "log(mean_prediction_distance)",
        "tau_over_n": "tau / n",
        # One where an error is not below the non-private one, up to rounding.
        "not_below": "1.0 * (mean_squared_error >= 0.999999999 * non_private_mean_squared_error)",
        # Mean over median of the error that privacy adds: far above zero if a few draws are far
        # out.
        "log_tail": "log(mean_squared_error - non_private_mean_squared_error)"
        " - log(median_squared_error - non_private_mean_squared_error)",
    }
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
    for name, formula in derived.items():
        with suppress(pd.errors.UndefinedVariableError), np.errstate(all="ignore"):
            table[name] = table.eval(formula, engine="python")
    return table
