"""Cells of any file as numbers, labels and texts, each by itself, and types of columns that fit.

What cannot be read becomes a number that is not finite, or no label: no cell changes what becomes
of others.
"""

import re
from dataclasses import dataclass, field
from difflib import get_close_matches
from numbers import Number

import numpy as np

from geodp.data.dates import DATE

# Numbers of more characters are not tried: reading them takes time, and no program writes them.
LONGEST_NUMBER = 400


def finite_number(text, kind=float):
    """The finite number that a text states, or ``None``."""
    try:
        value = kind(text)
    except (TypeError, ValueError):
        return None
    # Python reads 1_1 as eleven; in a file it is a name, or a misprint.
    return value if np.isfinite(value) and "_" not in str(text) else None


def _read_plain(texts, found):
    """Whether JSON and Python read the same numbers in texts; then these, NaN for empty ones.

    JSON knows fewer forms of numbers, and a reader of it takes a third of the time.
    """
    from pydantic_core import from_json

    filled = list(filter(None, texts))
    joined = ",".join(filled)
    if max(map(len, filled), default=0) > LONGEST_NUMBER:
        return False
    try:
        numbers = from_json(f"[{joined}]", allow_inf_nan=False)
        kinds = set(map(type, numbers))
        # Neither words nor several numbers in a text; and whole ones have no negative zero.
        if len(numbers) != len(filled) or not kinds <= {int, float}:
            return False
        if int in kinds and re.search(r"-0(?![.eE])", joined):
            return False
        found[:] = np.nan
        found[slice(None) if len(filled) == len(texts) else list(map(bool, texts))] = numbers
    except (TypeError, ValueError, OverflowError):
        return False
    return len(filled) == np.count_nonzero(np.isfinite(found))


@dataclass(frozen=True)
class TableReading:
    """How the cells of a table become numbers."""

    decimal: str = "."  # The sign before decimals in text, a point or a comma.
    categories: dict = field(default_factory=dict)  # By column, the number of each word in it.
    dates: dict = field(default_factory=dict)  # By column, the `Dates` that its cells state.
    sheet: str | None = None  # Of a spreadsheet, by default the first; a table in a file of R.
    # Other columns whose values are the words that the file has for them.
    words: frozenset = frozenset()
    length: int | None = None  # Of lists whose type says none, the number of their numbers.
    landmarks: int | None = None  # Of a record, where points have them.
    # Whether text is refused where a row is incomplete, and arrays of MATLAB may have their records
    # along the last axis, as studies want it.
    is_checked: bool = False

    def number(self, text, name=""):
        """The finite number that a text in a column states, or ``None``."""
        codes = self.categories.get(name)
        if codes is not None:
            return codes.get(text.strip())
        if name in self.dates:
            return self.dates[name].number(text.strip())
        if self.decimal == ",":
            # A point would be a separator of thousands, or a decimal point: nobody knows.
            return None if "." in text else finite_number(text.replace(",", "."))
        return finite_number(text)

    def value(self, cell, name=""):
        """The number of any cell: NaN for a missing one, infinite for what is no finite number."""
        try:
            is_number = type(cell) is not str and isinstance(cell, Number | np.bool_)
            if is_number and not self.are_texts(name):
                number = float(real(cell))
                return number if np.isfinite(number) or np.isnan(number) else np.inf
        except Exception:  # a number that is none of floating point, or an object of one's own
            return np.inf
        text = self.shown(cell)
        if not text or text.isspace():
            return np.nan
        found = self.number(text, name) if len(text) <= LONGEST_NUMBER else None
        if found is None:
            return np.nan if is_missing(text) else np.inf
        return found

    def values(self, texts, name=""):
        """An array of the `value` of each text in a column."""
        if self.decimal != "." or self.are_texts(name):
            return np.array([self.value(text, name) for text in texts], dtype=float)
        found = np.empty(len(texts))
        # So few at once, as one that is read by itself takes these with it.
        for start in range(0, len(texts), 128):
            some = texts[start : start + 128]
            if not _read_plain(some, found[start : start + 128]):
                found[start : start + 128] = list(map(self.value, some))
        return found

    def are_texts(self, name):
        """Whether the cells of a column become numbers from their texts alone."""
        return name in self.categories or name in self.dates

    def shown(self, cell):
        """A cell as text, a number with the sign before decimals that texts have."""
        text = as_text(cell)
        is_text = self.decimal == "." or isinstance(cell, str | bytes)
        return text if is_text else text.replace(".", ",")

    def fault(self, text, name):
        """Why a text in a column states no number."""
        codes = self.categories.get(name)
        if is_missing(text):
            return "the value is missing"
        if codes is not None:
            near = get_close_matches(text.strip().casefold(), map(str.casefold, codes), n=1)
            meant = [code for code in codes if code.casefold() in near or code[:1] == text[:1]]
            hint = f", and may be meant for {meant[0]}" if meant else ""
            return f"'{text}' is none of the categories {', '.join(codes)}{hint}"
        if name in self.dates:
            return f"'{text}' is no date as 2020-01-31 is one"
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
            return f"'{text}' is a date and not a number (data.dates makes numbers of dates)"
        # A number with words behind it.
        if number := re.match(r"\s*[-+]?\d+(\.\d*)?(?=\s*[^\d\s.,:/-])", text):
            return f"'{text}' is not a number alone, such as {number[0].strip()}"
        return f"'{text}' is not a number"


def is_missing(text):
    """Whether a text stands for no value."""
    return text.strip().casefold() in {"", "na", "n/a", "nan", "null", "none", "."}


def as_text(cell):
    """A cell as text; empty for None, NaN, and missing values of pandas."""
    if type(cell) is str:
        return cell
    try:
        cell = real(cell)
        if cell is None or type(cell).__name__ in ("NAType", "NaTType") or cell != cell:
            return ""
        if isinstance(cell, bytes):
            return cell.decode(errors="surrogateescape")
        if isinstance(cell, float):
            # A whole number is written as one, as labels are.
            return str(cell).removesuffix(".0")
        return str(int(cell) if isinstance(cell, bool) else cell)
    except Exception:  # an object in a data frame may raise anything
        return f"<{type(cell).__name__}>"


def cells_of(column):
    """The cells of a column of pandas, or of another sequence; ``None`` for one that raises.

    Types such as those of Arrow cannot make an object of every value, such as a date after 9999,
    and then not even of those beside it.
    """
    try:
        return list(column)
    except Exception:  # of many kinds, as types of columns are
        cells = getattr(column, "array", column)
        return [_cell(cells, index) for index in range(len(cells))]


def _cell(cells, index):
    try:
        return cells[index]
    except Exception:  # whatever a cell raises would tell of it
        return None


def real(cell):
    """A number of Python, in place of one of NumPy and of a complex one that is real."""
    cell = cell.item() if isinstance(cell, np.number | np.bool_) else cell
    return cell.real if isinstance(cell, complex) and cell.imag == 0.0 else cell


# --- Labels ---


def simple_label(label):
    """A label without what people change by chance: blanks, case, hyphens and leading zeros."""
    return re.sub(r"[\s_-]|(?<!\d)0+(?=\d)", "", label.casefold())


def simple_labels(labels, between="\0"):
    """The `simple_label` of each in a list; those without the character ``between`` at once."""
    joined = between.join(labels)
    if joined.count(between) != len(labels) - 1:
        return list(map(simple_label, labels))
    return simple_label(joined).split(between)


def are_lost(labels):
    """Whether labels are floating-point numbers too large to tell whole ones apart.

    Of an array if one of its type is: whatever made that of whole numbers has made several the
    same.  Of a list, whose values have types of their own, if most are, so that none decides.
    """
    if isinstance(labels, list):
        large = sum(type(each) is float and 2.0**53 <= abs(each) < np.inf for each in labels)
        return 2 * large > sum(bool(as_text(each)) for each in labels)
    if labels.dtype.kind not in "fc":
        return False
    labels = labels[np.isfinite(labels)]
    return bool(np.any(np.abs(labels) >= 2.0 ** (np.finfo(labels.dtype).nmant + 1)))


# --- Types of columns: of NumPy, pandas and Arrow ---


def type_of_values(kind):
    """A type of NumPy or pandas; that of its values of pandas' categories."""
    return kind.categories.dtype if hasattr(kind, "categories") else kind


def no_numbers(kind):
    """The type of an array or of a column of pandas, as text, if it is none of numbers."""
    kind = type_of_values(kind)
    if isinstance(kind, np.dtype):
        fits = kind.kind in "biufcO"
    else:
        from pandas.api.types import is_numeric_dtype

        fits = is_numeric_dtype(kind)
    return None if fits else str(kind)


def arrow_kind(kind):
    """What a type of Arrow holds: ``number``, ``text``, ``time``, ``bytes``, or ``None``."""
    from pyarrow import types

    tests = {
        # A column of missing values has a type of its own.
        "number": "integer floating decimal boolean null",
        "text": "string large_string",
        "bytes": "binary large_binary fixed_size_binary",
    }
    for name, words in tests.items():
        if any(getattr(types, f"is_{word}")(kind) for word in words.split()):
            return name
    return "time" if types.is_temporal(kind) and not types.is_interval(kind) else None
