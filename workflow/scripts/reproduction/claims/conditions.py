"""Conditions in files of claims: comparisons with texts and numbers, which pandas evaluates."""

import re
from ast import literal_eval
from typing import NamedTuple

import numpy as np
import pandas as pd

from geodp.errors import DataError

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
