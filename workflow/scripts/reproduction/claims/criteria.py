"""Criteria of verdicts: comparisons of a number, parsed and not executed."""

import ast
import operator

import numpy as np

from geodp.errors import DataError

ORDERINGS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}


# Exceptions of `ast.parse`, and of the functions here, for a text that is not a criterion.
NOT_PARSED = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)

_ADVICE = "write comparisons of value with numbers, such as value >= 0.95"


def parse_criterion(text):
    """Parse a criterion such as ``value >= 0.95``.

    Parameters
    ----------
    text : str
        Comparisons (``<``, ``<=``, ``>``, ``>=``) of ``value`` with numbers, ``and`` and ``or``.

    Returns
    -------
    criterion : callable
        From a float, the value, to a bool.
    numbers : list of float
        Those that the value is compared with.

    Raises
    ------
    DataError
        The text holds anything else.
    """
    try:
        parsed = ast.parse(text.strip(), mode="eval").body
        numbers = [
            _amount(side)(np.nan)
            for node in ast.walk(parsed)
            if isinstance(node, ast.Compare)
            for side in (node.left, *node.comparators)
        ]
        return _truth(parsed), [number for number in numbers if np.isfinite(number)]
    except NOT_PARSED:
        raise DataError(f"'{text}' is not a criterion: {_ADVICE}") from None


def _truth(node):
    """Function from the value to a truth value."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(part) for part in node.values]
        every = all if isinstance(node.op, ast.And) else any
        return lambda value: every(part(value) for part in parts)
    if isinstance(node, ast.Compare) and all(type(kind) in ORDERINGS for kind in node.ops):
        compare = [ORDERINGS[type(kind)] for kind in node.ops]
        sides = [_amount(side) for side in (node.left, *node.comparators)]
        return lambda value: all(
            test(left(value), right(value))
            for test, left, right in zip(compare, sides[:-1], sides[1:], strict=True)
        )
    raise ValueError(node)


def _amount(node):
    """Function from the value to a number."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return lambda value: float(node.value)
    if isinstance(node, ast.Name) and node.id == "value":
        return float
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _amount(node.operand)
        return lambda value: -inner(value)
    raise ValueError(node)
