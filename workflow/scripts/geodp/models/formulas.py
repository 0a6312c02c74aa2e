"""Formulas such as ``point ~ spline(age, 4) + sex``, in which each number is given.

They are parsed by formulaic, an optional library, and nothing of them is evaluated: a term is one
of `TERMS`, or is refused.
"""

import ast
from dataclasses import dataclass
from typing import Any

from geodp.errors import DataError
from geodp.models.terms import LINE, PERIODIC, POLYNOMIAL, SPLINE, WORDS, basis_of


@dataclass(frozen=True)
class Formula:
    """Terms of a formula."""

    response: str | None  # Name of the points.
    names: tuple  # Columns of the covariates, in their order.
    bases: tuple  # Of each column; see `geodp.models.terms.basis_of`.
    products: tuple  # Pairs of indices of columns.


def read_formula(text: str) -> Formula:
    """Terms of a formula, or a `DataError` that says which of them is refused and why."""
    try:
        import formulaic
    except ImportError as problem:
        raise ImportError(
            "a formula needs formulaic, which is not installed: pip install formulaic, or "
            "'.[formula]' in the checkout; or give basis in its place"
        ) from problem
    try:
        found: Any = formulaic.Formula(text)
    except (formulaic.errors.FormulaicError, SyntaxError, RecursionError, MemoryError) as problem:
        said = str(problem).partition("\n")[0].rstrip(".")
        raise DataError(f"formula {text!r} cannot be parsed ({said}): correct it") from None
    right, left = getattr(found, "rhs", found), list(getattr(found, "lhs", []))
    if not isinstance(right, formulaic.SimpleFormula):
        raise DataError(f"formula {text!r} has several parts: give one, without |")
    responses = [[each.eval_method.value for each in term.factors] for term in left]
    if responses not in ([], [["lookup"]]):
        raise DataError(
            f"formula {text!r}: before ~ give the name of one column with the points as they are, "
            "since nothing is computed"
        )
    terms = [[factor.expr for factor in term.factors] for term in right]
    if ["1"] not in terms:
        raise DataError(
            f"formula {text!r} has no intercept, and each model has one, the footpoint: "
            "remove 0 or -1"
        )
    terms.remove(["1"])
    columns: dict = {}
    products = []
    for term in terms:
        if len(term) == 1:
            name, basis = _factor(term[0], text)
            if name in (other for other, _ in columns.values()):
                raise DataError(f"formula {text!r} has two terms of {name}: give one")
            columns[term[0]] = name, basis
    for term in terms:
        if len(term) > 1:
            if len(term) > 2 or not {*term} <= {*columns}:
                raise DataError(
                    f"formula {text!r}: {':'.join(term)} is no product of two of its terms, as "
                    f"they are written: {', '.join(columns)}"
                )
            products.append(tuple(map(list(columns).index, term)))
    names, bases = zip(*columns.values(), strict=True) if columns else ((), ())
    return Formula(str(left[0]) if left else None, names, bases, tuple(products))


def _factor(expression, text):
    """Column and basis of a term."""
    terms = {
        SPLINE: "spline(age, 4), of 4 knots",
        POLYNOMIAL: "polynomial(age, 2), of degree 2",
        PERIODIC: "periodic(day, 365.25), of that period",
        WORDS: "words(region, 'north', 'south', 'west'), the first of which is the reference",
    }
    known = f"known are a column by its name, {'; '.join(terms.values())}"
    try:
        found = ast.parse(expression, mode="eval").body
    except SyntaxError:
        # A name in backquotes may have blanks.
        return expression, LINE
    if isinstance(found, ast.Name):
        return found.id, LINE
    name = found.func.id if isinstance(found, ast.Call) and hasattr(found.func, "id") else None
    # Terms of other programs whose numbers follow from all records.
    learnt = "center scale standardize bs cr cs cc ns te lag hashed poly C Q"
    if name in learnt.split():
        raise DataError(
            f"formula {text!r}: {expression} would take its numbers or words from all records, and "
            f"so tell of them beside the budget: give public ones; {known}"
        )
    if not isinstance(found, ast.Call) or name not in terms or found.keywords:
        raise DataError(f"formula {text!r}: {expression} is no term: {known}")
    column, given = (*found.args[:1], None)[0], found.args[1:]
    values = [each.value for each in given if isinstance(each, ast.Constant)]
    if not isinstance(column, ast.Name) or len(values) < len(given):
        raise DataError(f"formula {text!r}: {expression} is not of a column and numbers: {known}")
    if name != WORDS and len(values) != 1:
        raise DataError(
            f"formula {text!r}: {expression} lacks its number, which would follow from the data: "
            f"{known}"
        )
    return column.id, basis_of({name: values if name == WORDS else values[0]}, text)
