"""Tables of SPSS, Stata and SAS, read by pyreadstat, and the base class of labelled values.

A missing code is an empty cell.  A value with a label is a number, but in a column with categories
the word that labels it.
"""

import re
from abc import abstractmethod
from pathlib import Path

import numpy as np

from geodp.data.dates import periods_of, times_of
from geodp.data.messages import opened
from geodp.data.table import ColumnTable

NUMBER, TEXT, DATE = "number", "text", "a date or a time"

READERS = {
    ".sav": ("a file of SPSS", "read_sav"),
    ".zsav": ("a file of SPSS", "read_sav"),
    ".dta": ("a file of Stata", "read_dta"),
    ".sas7bdat": ("a file of SAS", "read_sas7bdat"),
}

# Of dates that count from a day or a year: suffixes, formats, seconds of a one or its periods in a
# year, and that day or year.
COUNTED = [
    (".sav.zsav", "[AEJS]?DATE|YMDHMS|MOYR|QYR|WKYR", 1.0, "1582-10-14"),
    (".dta", "%-?t?d", 86400.0, "1960-01-01"),
    (".dta", "%-?t[cC]", 0.001, "1960-01-01"),
    (".dta", "%-?tw", 52, "1960"),
    (".dta", "%-?tm", 12, "1960"),
    (".dta", "%-?tq", 4, "1960"),
    (".dta", "%-?th", 2, "1960"),
    (".sas7bdat", "DATE(TIME|AMPM)|[BE]8601D[NTXZ]|DT[A-Z]", 1.0, "1960-01-01"),
    (".sas7bdat", "DATE|[BE]8601DA|DDMMYY|MMDDYY|YYMM|MONYY", 86400.0, "1960-01-01"),
]

# Any bytes are texts of this encoding: in another one a cell could make the file unreadable.
ANY_BYTES = "LATIN1"


def decoded(text, encoding=None):
    """A text of its bytes, in the encoding of its file, UTF-8 or that of Windows."""
    for tried in (encoding or "utf-8", "cp1252"):
        try:
            return text.encode(ANY_BYTES).decode(tried)
        except (LookupError, UnicodeDecodeError):
            continue
    return text


class LabelledTable(ColumnTable):
    """A table of columns with types, ``kinds``, and with ``words`` of values, both by column.

    Of dates that count from a day ``days`` has the seconds of a one, and that day; of those that
    count from a year its number of periods, and that year.
    """

    kinds: dict[str, str]
    words: dict[str, dict]
    days: dict[str, tuple]

    @abstractmethod
    def _values(self, names):
        """Columns by name: arrays of numbers, NaN where they are missing, or lists of any cells."""

    def _unfit(self, name, kind):
        own = self.kinds[name]
        if kind == "dates":
            return None if name in self.days or own == TEXT else own
        return None if own in ((NUMBER,) if kind == "numbers" else (NUMBER, TEXT, DATE)) else own

    def _types_of(self, label):
        return self._values([label])[label]

    def _loaded(self, names):
        columns = self._values(list(dict.fromkeys(names)))
        for name in columns:
            if name in self.reading.categories or name in self.reading.words:
                words = self.words.get(name, {})
                columns[name] = [words.get(value, value) for value in columns[name]]
            elif name in self.reading.dates and name in self.days:
                ones, since = self.days[name]
                times = times_of if "-" in since else periods_of
                columns[name] = times(columns[name], ones, since)
        return columns

    def _numbers(self, column):
        return [column] if isinstance(column, np.ndarray) else super()._numbers(column)


class StatisticsFile(LabelledTable):
    """A file of SPSS, Stata or SAS."""

    def __init__(self, path, reading):
        super().__init__(path, reading)
        self._what, self._reader = READERS[Path(path).suffix.lower()]
        _, header = self._read(metadataonly=True)
        _, raw = self._read(metadataonly=True, encoding=ANY_BYTES)
        self.names, self._encoding = list(header.column_names), header.file_encoding
        self._raw = dict(zip(self.names, raw.column_names, strict=True))
        self._types, formats = header.readstat_variable_types, header.original_variable_types
        self.words = header.variable_value_labels
        self.kinds = {name: self._kind(name, formats[name] or "") for name in self.names}
        self.days = {
            name: (seconds, day)
            for name in self.names
            for suffixes, shown, seconds, day in reversed(COUNTED)
            if self.kinds[name] == DATE
            and Path(path).suffix.lower() in suffixes
            and re.match(shown, formats[name])
        }

    def _kind(self, name, shown):
        if self._types[name] == "string":
            return TEXT
        # Formats of numbers of days or seconds; years of Stata are numbers as they are.
        dated = (
            r"%-?(d|t[^y])|[A-Z]*(DAT[EX]|TIME|8601|YY|MOYR|QYR|WKYR|JUL|YMDHMS|HHMM|MMSS)|TOD\d*$"
        )
        return DATE if re.match(dated, shown) else NUMBER

    def _read(self, **choices):
        with opened(self.path, self._what, "pyreadstat", "formats"):
            import pyreadstat

            read = getattr(pyreadstat, self._reader)
            # Dates are numbers: one that Python does not have would be an error of all.
            return read(self.path, disable_datetime_conversion=True, **choices)

    def _values(self, names):
        frame, _ = self._read(usecols=[self._raw[name] for name in names], encoding=ANY_BYTES)
        return {name: self._cells(name, frame[self._raw[name]]) for name in names}

    def _cells(self, name, column):
        if self.kinds[name] == TEXT:
            return [decoded(each, self._encoding) if each == each else None for each in column]
        kind = np.float32 if self._types[name] == "float" else float
        return column.to_numpy(dtype=kind, na_value=np.nan)
