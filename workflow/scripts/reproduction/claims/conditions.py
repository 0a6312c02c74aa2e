"""Conditions in files of claims: comparisons with texts and numbers, never run as code."""

import operator
import re
from ast import literal_eval
from typing import NamedTuple

import numpy as np
import pandas as pd

from geodp.errors import DataError

COMPARE = {
    "==": operator.eq,
    "!=": operator.ne,
    "<=": operator.le,
    ">=": operator.ge,
    "<": operator.lt,
    ">": operator.gt,
}

_NUMBER = r"-?\d{1,12}(?:\.\d{1,12})?"
_VALUE = rf"(?:'[^']*'|{_NUMBER})"
_COMPARISON = re.compile(
    rf"(\w+) (?:(==|!=) ({_VALUE})|(<=|>=|<|>) ({_NUMBER})|(in) (\[{_VALUE}(?:, {_VALUE})*\]))"
)


def _parsed(text):
    """Column, order and values of a comparison, of which one must be met; else a `ValueError`."""
    found = _COMPARISON.fullmatch(text.strip())
    if not found:
        raise ValueError(text)
    column, order, written = filter(None, found.groups())
    value = literal_eval(written)
    return (column, "==", value) if order == "in" else (column, order, [value])


class Conditions(NamedTuple):
    """Comparisons joined by ``and``, in alternatives joined by ``or``; without any all meet it."""

    text: str  # As it stands in the file.
    alternatives: list  # Lists of comparisons: column, order and values.

    @classmethod
    def parse(cls, text):
        """Parse a text such as ``n >= 50 and group in ['a', 'b']``; a `ValueError` for others."""
        parts = [part.split(" and ") for part in text.split(" or ")] if text.strip() else []
        return cls(text, [list(map(_parsed, part)) for part in parts])

    @classmethod
    def of_number(cls, text):
        """Parse comparisons of ``value`` with numbers; a `ValueError` for any other text."""
        found = cls.parse(text)
        if not found or any(
            column != "value" or order not in ("<", "<=", ">", ">=")
            for column, order, _ in found.comparisons
        ):
            raise ValueError(text)
        return found

    def __bool__(self):
        return bool(self.alternatives)

    @property
    def comparisons(self):
        """All comparisons, with several values once."""
        return [each for part in self.alternatives for each in part]

    @property
    def single(self):
        """Every comparison with one value, as conditions of their own."""
        return [
            Conditions(f"{column} {order} {value}", [[(column, order, [value])]])
            for column, order, values in self.comparisons
            for value in values
        ]

    def met(self, table):
        """Whether rows of a table, or a dictionary of numbers, meet them: bool, shape (rows,)."""
        if not self:
            return np.ones(len(table), dtype=bool)
        either = [np.all([_met(table, *each) for each in part], axis=0) for part in self[1]]
        return np.any(either, axis=0)


def _met(table, column, order, values):
    """Where a column of a table meets one comparison."""
    given = column_of(table, column)
    numeric = np.ndim(given) == 0 or pd.api.types.is_numeric_dtype(given)
    missing = np.ndim(given) > 0 and given.isna().all()
    for value in values:
        if isinstance(value, str) == numeric and not missing:
            raise DataError(
                f"{column} and {value!r} are compared, and one is text and the other a number: "
                "compare like with like, with quotation marks around text"
            )
    return np.any([COMPARE[order](given, value) for value in values], axis=0)


def column_of(table, name):
    """A column of a table; a `DataError` if it is missing."""
    if name not in table:
        raise DataError(f"there is no column {name} in the table: name one that is there")
    return table[name]
