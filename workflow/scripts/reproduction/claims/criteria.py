"""Criteria of verdicts: comparisons of a number and its interval, parsed and not executed."""

import ast
import operator

from geodp.errors import DataError

ORDERINGS = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_ARITHMETIC = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
}
_NAMES = ("value", "low", "high")


# Exceptions of `ast.parse`, and of the functions here, for a text that is not a criterion.
NOT_PARSED = (SyntaxError, ValueError, OverflowError, RecursionError, MemoryError)

_ADVICE = "write comparisons of value, low and high with numbers, such as low >= 0.95"


def parse_criterion(text):
    """Parse a criterion such as ``low >= 0.95``.

    Parameters
    ----------
    text : str
        Comparisons (``<``, ``<=``, ``>``, ``>=``), ``and``, ``or``, numbers, the names value, low
        and high, and arithmetic of these.

    Returns
    -------
    callable
        From three floats, value, low and high, to a bool.

    Raises
    ------
    DataError
        The text holds anything else.  The callable raises it for a division by zero.
    """
    try:
        criterion = _truth(ast.parse(text.strip(), mode="eval").body)
    except NOT_PARSED:
        raise DataError(f"'{text}' is not a criterion: {_ADVICE}") from None

    def decide(value, low, high):
        try:
            return criterion({"value": value, "low": low, "high": high})
        except (ZeroDivisionError, OverflowError):
            raise DataError(f"'{text}' divides by zero: {_ADVICE}") from None

    return decide


def _truth(node):
    """Function from names to a truth value."""
    if isinstance(node, ast.BoolOp):
        parts = [_truth(part) for part in node.values]
        every = all if isinstance(node.op, ast.And) else any
        return lambda names: every(part(names) for part in parts)
    if isinstance(node, ast.Compare) and all(type(kind) in ORDERINGS for kind in node.ops):
        compare = [ORDERINGS[type(kind)] for kind in node.ops]
        sides = [_amount(side) for side in (node.left, *node.comparators)]
        return lambda names: all(
            test(left(names), right(names))
            for test, left, right in zip(compare, sides[:-1], sides[1:], strict=True)
        )
    raise ValueError(node)


def _amount(node):
    """Function from names to a number."""
    if isinstance(node, ast.Constant) and type(node.value) in (int, float):
        return lambda names: float(node.value)
    if isinstance(node, ast.Name) and node.id in _NAMES:
        return lambda names: float(names[node.id])
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        inner = _amount(node.operand)
        return lambda names: -inner(names)
    if isinstance(node, ast.BinOp) and type(node.op) in _ARITHMETIC:
        carry_out, left, right = _ARITHMETIC[type(node.op)], _amount(node.left), _amount(node.right)
        return lambda names: carry_out(left(names), right(names))
    raise ValueError(node)
