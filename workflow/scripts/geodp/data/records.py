"""Records of a regression, and their covariates from the cells of a file, which `tables` reads.

Every error names the file, the record (in a table its row; the header is row 1) and the column or
variable.
"""

import math
import re
from dataclasses import dataclass, field
from difflib import get_close_matches

import numpy as np

from geodp.data.messages import few
from geodp.errors import DataError

TRANSFORMATIONS = {"none": lambda value: value, "log": math.log}

FEWEST_RECORDS = 3

DATE = re.compile(r"\d{4}-\d\d-\d\d")

# A number with words behind it.
NUMBER = re.compile(r"\s*[-+]?\d+(\.\d*)?(?=\s*[^\d\s.,:/-])")


@dataclass(frozen=True)
class Records:
    """Records of a file."""

    # (n,), transformed, then scaled to [0, 1]; (n, k) of a list, and zeros where none is named.
    covariates: np.ndarray
    covariate_range: tuple  # The transformed values that became 0 and 1; of a list one pair each.
    points: np.ndarray  # (n, *point_shape)
    subjects: list  # Texts; empty where the file names no subjects.
    # Row of each record in a table, whose header is row 1, or its number in a .mat file.
    rows: list
    row_word: str  # Word for an entry of ``rows``: "row" or "record".
    notes: list  # A sentence for each omission, repair or resampling.


def has_landmarks(manifold):
    """Whether points of a manifold are shapes of landmarks."""
    return manifold.dtype is complex


def kept_records(source, keep, fields, number):
    """Indices of the records to keep, and notes on them.

    ``keep`` has the values wanted of fields, and ``fields`` the texts that all records have.
    """

    def label(value):
        # A number if possible, so that 1, 1.0 and "01" are equal.
        found = finite_number(value)
        return str(value).strip() if found is None else found

    kept, wanted = list(range(number)), []
    for name, values in keep.items():
        allowed = values if isinstance(values, (list, tuple)) else [values]
        words = " or ".join(map(str, allowed))
        wanted.append(f"{name} {words}")
        labels = {label(value) for value in allowed}
        left = [index for index in kept if label(fields[name][index]) in labels]
        if kept and not left:
            found = [fields[name][index] for index in kept]
            there = dict.fromkeys(found)
            # Values that no two records share, such as names of subjects, are not for messages.
            shown = "" if len(there) == len(found) else f" (there are: {few(there)})"
            among = "records" if len(kept) == number else "records the filters before it left"
            raise DataError(
                f"{source.name}: keep leaves nothing, since none of the {len(kept)} {among} has "
                f"{words} in {source.field_word} {name}{shown}: correct keep",
                argument="keep",
            )
        kept = left
    if len(kept) == number:
        return kept, []
    return kept, [f"{len(kept)} of {number} records were kept, those with {' and '.join(wanted)}"]


def finite_number(text, kind=float):
    """The finite number that a text states, or ``None``."""
    try:
        value = kind(text)
    except (TypeError, ValueError):
        return None
    # Python reads 1_1 as eleven; in a file it is a name, or a misprint.
    return value if np.isfinite(value) and "_" not in str(text) else None


@dataclass(frozen=True)
class TableReading:
    """How the cells of a table become numbers.

    Attributes
    ----------
    decimal : {".", ","}
        The sign before decimals in text.
    categories : dict
        By column, the number of each word in it.
    sheet : str, optional
        Of an Excel file; by default the first.
    """

    decimal: str = "."
    categories: dict = field(default_factory=dict)
    sheet: str | None = None

    def number(self, text, name):
        """The finite number that a cell of a column states, or ``None``."""
        codes = self.categories.get(name)
        if codes is not None:
            return codes.get(text.strip())
        if self.decimal == ",":
            # A point would be a separator of thousands, or a decimal point: nobody knows.
            return None if "." in text else finite_number(text.replace(",", "."))
        return finite_number(text)

    def fault(self, text, name):
        """Why a cell of a column states no number."""
        codes = self.categories.get(name)
        if not text.strip():
            return "the value is missing"
        if codes is not None:
            near = get_close_matches(text.strip().casefold(), map(str.casefold, codes), n=1)
            meant = [code for code in codes if code.casefold() in near or code[:1] == text[:1]]
            hint = f", and may be meant for {meant[0]}" if meant else ""
            return f"'{text}' is none of the categories {', '.join(codes)}{hint}"
        if self.decimal == "," and "." in text:
            return (
                f"'{text}' has a point, and data.decimal says that decimals follow a comma (where "
                'they follow points, set decimal to ".")'
            )
        if finite_number(text.replace(",", ".")) is not None:
            return (
                f"'{text}' has a comma for its decimal point (decimal: \",\" in the section data "
                "reads a file of such numbers)"
            )
        if finite_number(text.replace(",", "")) is not None:
            return f"'{text}' has commas between its thousands"
        if DATE.match(text):
            return f"'{text}' is a date and not a number"
        if (number := NUMBER.match(text)) is not None:
            return f"'{text}' is not a number alone, such as {number[0].strip()}"
        return f"'{text}' is not a number"


def number_of(text, source, record, field_name, reading):
    """Parse the finite number of a cell, by a `TableReading`."""
    value = reading.number(text, field_name)
    if value is None:
        raise source.refusal(record, reading.fault(text, field_name), field_name)
    return value


def scaled_covariate(source, reading, each, numbers, texts):
    """A covariate scaled to [0, 1], and the transformed values that became 0 and 1.

    ``each`` is its name, transformation, and range or None; ``texts`` are those of records, whose
    ``numbers`` are for messages.
    """
    name, word, limits = each
    transformation, is_log = TRANSFORMATIONS[word], word == "log"
    raw = [
        number_of(text, source, number, name, reading)
        for text, number in zip(texts, numbers, strict=True)
    ]
    if min(raw) == max(raw):
        raise DataError(
            f"{source.name}: {source.field_word} {name} is {texts[0]} in every "
            f"{source.record_word}: a regression needs a covariate that varies"
        )
    low, high = limits or (min(raw), max(raw))
    if limits and not low < high:
        raise DataError(
            f"{source.name}: covariate_range is {low:g} to {high:g}: give a lower and then a "
            "higher limit",
            argument="covariate_range",
        )
    if limits and is_log and low <= 0.0:
        raise DataError(
            f"{source.name}: covariate_range starts at {low:g}, which has no logarithm: give a "
            "positive limit or set transformation to none",
            argument="covariate_range",
        )
    for value, text, number in zip(raw, texts, numbers, strict=True):
        if not low <= value <= high:
            raise DataError(
                f"{source.cell(number, name)}: {text} lies outside {low:g} to {high:g}: "
                f"{source.remedy}, or change covariate_range",
                argument="covariate_range",
            )
        if is_log and value <= 0.0:
            raise DataError(
                f"{source.cell(number, name)}: {text} has no logarithm: give a positive value or "
                "set transformation to none",
                argument="transformation",
            )
    low, high = transformation(low), transformation(high)
    values = np.array([transformation(value) for value in raw])
    if not limits:
        _refuse_wild_covariate(source, name, numbers, values, texts)
    return (values - low) / (high - low), (low, high)


def _refuse_wild_covariate(source, name, numbers, values, texts, times=1000.0):
    """Refuse a covariate so many times farther out than the others are apart.

    It is a misprint or a code, and leaves them no range after the transformation.
    """
    order = np.argsort(values)
    ascending = values[order]
    for end, others in ((0, ascending[1:]), (-1, ascending[:-1])):
        others_range, away = np.ptp(others), np.max(np.abs(others - ascending[end]))
        if 0.0 < times * others_range < away:
            index = order[end]
            raise source.refusal(
                numbers[index],
                f"{texts[index]} is over {times:g} times farther from the other values "
                "than they are apart",
                name,
            )
