"""Columns that claims may name, and their conditions: comparisons that pandas evaluates."""

import re
from ast import literal_eval
from contextlib import suppress
from typing import NamedTuple

import numpy as np
import pandas as pd

from geodp.errors import DataError

# Columns besides those of tables: formulas by name, of columns of the table and of those above.
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

_NUMBER = r"-?\d{1,12}(?:\.\d{1,12})?"
_VALUE = rf"(?:'[^'\\\n]*'|{_NUMBER})"
_ORDERED = rf"(?:<=|>=|<|>) {_NUMBER}"
_COMPARISON = rf"\w+ (?:{_ORDERED}|(?:==|!=) {_VALUE}|in \[{_VALUE}(?:, {_VALUE})*\])"


def _joined(comparison, text):
    return re.fullmatch(rf"{comparison}(?: (?:and|or) {comparison})*", text)


class Conditions(NamedTuple):
    """Comparisons joined by ``and``, in alternatives joined by ``or``; without any all meet it."""

    text: str  # As it stands in the file.

    @classmethod
    def parse(cls, text):
        """Parse a text such as ``n >= 50 and group in ['a', 'b']``; a `ValueError` for others."""
        # Nothing else may reach pandas, which would run it.
        if text.strip() and not _joined(_COMPARISON, text.strip()):
            raise ValueError(
                f"'{text}' is not a selection of rows: compare columns with texts and numbers, "
                "joined by and and or, such as sampler == 'default' and n in [20, 50]"
            )
        return cls(text.strip())

    @classmethod
    def of_number(cls, text):
        """Parse comparisons of ``value`` with numbers; a `ValueError` for any other text."""
        if not _joined(f"value {_ORDERED}", text.strip()):
            raise ValueError(
                f"'{text}' is not a criterion: write comparisons of value with numbers, such as "
                "value >= 0.95"
            )
        return cls(text.strip())

    def __bool__(self):
        return bool(self.text)

    @property
    def comparisons(self):
        """Column, order and values of each comparison, of which one must be met."""
        for found in re.findall(_COMPARISON, self.text):
            column, order, written = found.split(" ", 2)
            value = literal_eval(written)
            yield (column, "==", value) if order == "in" else (column, order, [value])

    def met(self, table):
        """Whether rows of a table meet them: bool, shape (rows,)."""
        if not self:
            return np.ones(len(table), dtype=bool)
        for column, _, values in self.comparisons:
            given = column_of(table, column)
            for value in values:
                is_other = isinstance(value, str) == pd.api.types.is_numeric_dtype(given)
                if is_other and not given.isna().all():
                    raise DataError(
                        f"{column} and {value!r} are compared, and one is text and the other a "
                        "number: compare like with like, with quotation marks around text"
                    )
        return table.eval(self.text, engine="python").to_numpy(dtype=bool)


def column_of(table, name):
    """A column of a table; a `DataError` if it is missing."""
    if name not in table:
        raise DataError(f"there is no column {name} in the table: name one that is there")
    return table[name]


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
