"""Conditions in files of claims: comparisons with texts and numbers, never run as code."""

import operator
import re
from ast import literal_eval
from functools import partial
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
    "in": operator.eq,
}

_NUMBER = r"-?\d{1,12}(?:\.\d{1,12})?"
_VALUE = rf"(?:'[^']*'|{_NUMBER})"
_CONDITION = re.compile(
    rf"(\w+) (?:(==|!=) ({_VALUE})|(<=|>=|<|>) ({_NUMBER})|(in) (\[{_VALUE}(?:, {_VALUE})*\]))"
)


class Condition(NamedTuple):
    """A comparison of a column with a text or a number; with ``in``, with any of several."""

    column: str
    order: str
    values: list

    @classmethod
    def parse(cls, text):
        """Parse a text such as ``n >= 50``; a `ValueError` for any other text."""
        found = _CONDITION.fullmatch(text.strip())
        if not found:
            raise ValueError(text)
        column, order, written = filter(None, found.groups())
        value = literal_eval(written)
        return cls(column, order, value if isinstance(value, list) else [value])

    def met(self, given):
        """Whether a number, or each of a column, meets the condition."""
        if isinstance(given, pd.Series) and not given.isna().all():
            numeric = pd.api.types.is_numeric_dtype(given)
            for value in self.values:
                if isinstance(value, str) == numeric:
                    raise DataError(
                        f"{self.column} and {value!r} are compared, and one is text and the other "
                        "a number: compare like with like, with quotation marks around text"
                    )
        return np.logical_or.reduce([COMPARE[self.order](given, value) for value in self.values])


class Conditions(NamedTuple):
    """Conditions joined by ``and``, in alternatives joined by ``or``; without any all meet it."""

    text: str  # As it stands in the file.
    alternatives: list  # Lists of `Condition`.

    @classmethod
    def parse(cls, text):
        """Parse a text such as ``n >= 50 and group in ['a', 'b']``; a `ValueError` for others."""
        parts = [part.split(" and ") for part in text.split(" or ")] if text.strip() else []
        return cls(text, [list(map(Condition.parse, part)) for part in parts])

    @classmethod
    def of_number(cls, text):
        """Parse comparisons of ``value`` with numbers; a `ValueError` for any other text."""
        found = cls.parse(text)
        compared = [each for part in found.alternatives for each in part]
        orders = ("<", "<=", ">", ">=")
        if not compared or any(c.column != "value" or c.order not in orders for c in compared):
            raise ValueError(text)
        return found

    def __bool__(self):
        return bool(self.alternatives)

    @property
    def numbers(self):
        """Numbers that are compared with."""
        return [value for part in self.alternatives for each in part for value in each.values]

    def met(self, look_up):
        """Whether the values that ``look_up`` gives for names of columns meet the conditions."""
        return np.logical_or.reduce(
            [
                np.logical_and.reduce([each.met(look_up(each.column)) for each in part])
                for part in self.alternatives
            ]
        )

    def without_rows(self, table):
        """The first comparison of a value, as text, that no row of a table meets; empty if none.

        Every value of an ``in`` is a comparison of its own.
        """
        for each in (each for part in self.alternatives for each in part):
            for value in each.values:
                one = each._replace(values=[value])
                if not np.any(one.met(column_of(table, each.column))):
                    order = "==" if each.order == "in" else each.order
                    return f"{each.column} {order} {value}"
        return ""

    def rows(self, table):
        """Whether each row of a table meets the conditions: ndarray of bool, shape (rows,)."""
        if not self.alternatives:
            return np.ones(len(table), dtype=bool)
        return np.asarray(self.met(partial(column_of, table)), dtype=bool)


def column_of(table, name):
    """A column of a table; a `DataError` if it is missing."""
    if name not in table.columns:
        raise DataError(f"there is no column {name} in the table: name one that is there")
    return table[name]
