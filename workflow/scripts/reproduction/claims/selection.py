"""Selections of rows of a table, and derived columns that claims may name.

A selection is a text such as ``sampler == 'default' and n >= 50``.  It is parsed, not executed.
"""

import ast
import operator

import numpy as np
import pandas as pd

from geodp.errors import DataError
from reproduction.claims.criteria import NOT_PARSED, ORDERINGS

# An error this much (relatively) below the non-private one is rounding, not a better fit.
ROUNDING = 1e-9

_EQUALITIES = {ast.Eq: operator.eq, ast.NotEq: operator.ne}

_ADVICE = (
    "compare columns with texts and numbers, joined by and, or and not, such as "
    "sampler == 'default' and n in [20, 50]"
)


def parse_selection(text):
    """Parse a selection of rows.

    Parameters
    ----------
    text : str
        Comparisons (``==``, ``!=``, ``<``, ``<=``, ``>``, ``>=``) of columns with one another or
        with text and numbers, ``column in [...]``, ``and``, ``or`` and ``not``.  Empty: all rows.

    Returns
    -------
    callable
        From a DataFrame to an ndarray of bool, shape (rows,).

    Raises
    ------
    DataError
        The text holds anything else.  The callable raises it if the table has no such column, or
        if text is compared with numbers.
    """
    text = text.strip()
    if not text:
        return lambda table: np.ones(len(table), dtype=bool)
    try:
        return _mask(ast.parse(text, mode="eval").body)
    except NOT_PARSED:
        raise DataError(f"'{text}' is not a selection of rows: {_ADVICE}") from None


def _mask(node):
    """Function from a table to an array of bool."""
    if isinstance(node, ast.BoolOp):
        parts = [_mask(part) for part in node.values]
        combine = np.logical_and if isinstance(node.op, ast.And) else np.logical_or
        return lambda table: combine.reduce([part(table) for part in parts])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
        inner = _mask(node.operand)
        return lambda table: ~inner(table)
    if isinstance(node, ast.Compare):
        sides = [node.left, *node.comparators]
        pairs = [_comparison(*parts) for parts in zip(sides[:-1], node.ops, sides[1:], strict=True)]
        return lambda table: np.logical_and.reduce([pair(table) for pair in pairs])
    raise ValueError(node)


def _comparison(left, kind, right):
    """Function from a table to an array of bool, for two operands and one operator."""
    if isinstance(kind, ast.In) and isinstance(right, ast.List) and right.elts:
        pairs = [_comparison(left, ast.Eq(), item) for item in right.elts]
        return lambda table: np.logical_or.reduce([pair(table) for pair in pairs])
    if not any(isinstance(side, ast.Name) for side in (left, right)):
        raise ValueError(left)
    compare = (_EQUALITIES | ORDERINGS).get(type(kind))
    if compare is None:
        raise ValueError(kind)
    first, second = _operand(left), _operand(right)
    shown = f"{ast.unparse(left)} and {ast.unparse(right)}"

    def mask(table):
        one, other = first(table), second(table)
        text = _holds_text(one), _holds_text(other)
        if None not in text and text[0] != text[1]:
            raise DataError(
                f"{shown} are compared, and one is text and the other a number: compare like "
                "with like, with quotation marks around text"
            )
        if True in text and type(kind) in ORDERINGS:
            raise DataError(f"{shown} are put in order, and text has none here: use == or !=")
        return compare(one, other).to_numpy(dtype=bool)

    return mask


def _operand(node):
    """Function from a table to a column of it, a text or a number."""
    if isinstance(node, ast.Name):
        return lambda table: column_of(table, node.id)
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        sign, node = -1.0, node.operand
    else:
        sign = 1.0
    if isinstance(node, ast.Constant):
        if type(node.value) in (int, float):
            number = sign * float(node.value)
            return lambda table: number
        if type(node.value) is str and sign == 1.0:
            return lambda table: node.value
    raise ValueError(node)


def _holds_text(operand):
    """Whether a constant or a column is text; None for a column without values."""
    if isinstance(operand, pd.Series):
        return None if operand.isna().all() else not pd.api.types.is_numeric_dtype(operand)
    return isinstance(operand, str)


def column_of(table, name):
    """A column of a table; a `DataError` if it is missing."""
    if name not in table.columns:
        raise DataError(f"there is no column {name} in the table: name one that is there")
    return table[name]


def of_mechanism(table, mechanism):
    """Rows of one mechanism; all rows of a table without a column ``mechanism``."""
    return table[table["mechanism"] == mechanism] if "mechanism" in table.columns else table


def with_derived_columns(table):
    """A table with derived columns that claims use, such as ``log_error``.

    ``budget`` is the total, and ``imbalance`` the largest minus the smallest budget of a block.
    Both are rounded to nine decimals, so that equal budgets compare equal.  A column whose source
    is missing is left out.
    """
    table = table.copy()
    have = set(table.columns)
    if "noise_variance" in have:
        table["noise_variance"] = pd.to_numeric(table["noise_variance"], errors="coerce")
    if "budget" in have:
        table["budget"] = table["budget"].astype(float).round(9)
    blocks = [name for name in table.columns if name.startswith("budget_")]
    budgets = table[blocks].astype(float).dropna(axis=1, how="all")
    if not budgets.empty:
        # Releases have one budget in all.
        total = budgets.sum(axis=1, skipna=False).round(9)
        table["budget"] = total if "budget" not in have else total.fillna(table["budget"])
        table["imbalance"] = (budgets.max(axis=1) - budgets.min(axis=1)).round(9)
        # Of equal budgets the last block is taken.
        divided = budgets.dropna(how="all")
        smallest = divided[divided.columns[::-1]].idxmin(axis=1)
        table["smaller_share"] = smallest.str.removeprefix("budget_").reindex(table.index)
    if "mean_squared_error" in have:
        table["log_error"] = np.log(table["mean_squared_error"])
    if {"tau", "n"} <= have:
        table["tau_over_n"] = table["tau"] / table["n"]
    if "mean_prediction_distance" in have:
        table["log_mean_prediction_distance"] = np.log(table["mean_prediction_distance"])
    if "non_private_mean_squared_error" in have:
        least = table["non_private_mean_squared_error"]
        table["log_non_private_error"] = np.log(least)
        table["log_residual"] = 0.5 * np.log(least)
        if "mean_squared_error" in have:
            table["log_gap"] = table["log_error"] - table["log_non_private_error"]
            reached = table["mean_squared_error"] >= least * (1.0 - ROUNDING)
            table["not_below"] = reached.astype(float)
            if "median_squared_error" in have:
                # Mean over median of the error that privacy adds: far above one if a few draws
                # are far out, whatever the scale.
                with np.errstate(divide="ignore", invalid="ignore"):
                    table["log_tail"] = np.log(table["mean_squared_error"] - least) - np.log(
                        table["median_squared_error"] - least
                    )
    return table
