"""Tables of records in files: text (CSV), Excel, Parquet, arrays of NumPy or MATLAB, by the suffix.

A row is a record whatever is in it.  Each cell is converted by itself and what cannot be read
becomes a number that is not finite, or no label: no record changes what becomes of others.

Text is read by the csv module and not by pandas, which refuses or drops all rows for one of another
length, says no line numbers, and lets any line break end a row.
"""

import csv
import itertools
import math
import re
import warnings
import zipfile
from abc import ABC, abstractmethod
from collections import Counter
from contextlib import contextmanager, nullcontext
from dataclasses import replace
from functools import cache
from numbers import Number
from pathlib import Path

import numpy as np
import yaml

from geodp.data.lines import end_of, marked, number_of_breaks, restored
from geodp.data.messages import RecordFile, few
from geodp.data.records import TableReading
from geodp.errors import DataError

# Numbers of more characters are not tried: reading them takes time, and no program writes them.
LONGEST_NUMBER = 400

# The beginning of a header whose last cell is in quotes that are open.
OPEN_QUOTE = re.compile(r'(?:^|[,;\t])"(?:[^"]|"")*$')

# Behind the last line: a character that no text has.
END = "\udc01"

# Longest cell of text; the least of what every platform takes.
LONGEST_CELL = 2**31 - 1


class Table(ABC):
    """A file with a record a row, of which only the header is read when it is opened.

    ``names`` are its columns, ``source`` a `RecordFile`, and ``place`` where the names stand, for
    messages.
    """

    names: list

    # What to add where a column is not there.
    hint = ""

    def __init__(self, path, reading):
        self.path, self.source, self.place = path, RecordFile(path), path
        self.reading = reading

    def numbered(self, columns):
        """Names of the numbers in columns: their own but for arrays of more than one axis."""
        return columns

    def _unfit(self, name, is_label):
        """The type that the file states for a column, if it does not fit."""
        return None

    def refuse_unfit(self, numbers, labels):
        """Refuse columns whose type, as the file states it, cannot hold numbers or labels.

        The `DataError` depends on no record.
        """
        categories = self.reading.categories
        wanted = [(name, "labels" if name in categories else "numbers") for name in numbers]
        wanted += [(name, "labels") for name in labels]
        for name, kind in wanted:
            unfit = self._unfit(name, kind == "labels")
            if unfit is not None:
                word = self.source.field_word
                raise DataError(
                    f"{self.path}, {word} {name}: the file states its type as {unfit}, and {kind} "
                    f"are wanted: save it as {kind}, or name another {word}"
                )

    def has_lost(self, label):
        """Whether labels are numbers too large for their type; see `are_lost`."""
        return are_lost(self._types_of(label))

    def _types_of(self, label):
        """Labels in a type of their own, as an array, or a list of values of any types."""
        return []

    @abstractmethod
    def records(self, names):
        """Number of each record, and the texts in columns, empty for no value."""

    def read(self, columns, label=None):
        """Numbers (n, k) in columns, and labels if there is a column of them.

        NaN for an empty cell, infinite for what is no finite number; ``None`` for an empty label.
        """
        numbers, labels, names = [], [], self.numbered(columns)
        for _, texts in self.records([*columns, *([label] if label else [])]):
            if label:
                labels.append(_label(texts.pop()))
            numbers.append(
                [self._number(text, name) for text, name in zip(texts, names, strict=True)]
            )
        found = np.array(numbers, dtype=float).reshape(len(numbers), len(names))
        return found, labels if label else None

    def _number(self, text, name):
        """The number of a cell: NaN for an empty one, infinite for what is no finite number."""
        if not text or text.isspace():
            return np.nan
        value = self.reading.number(text, name) if len(text) <= LONGEST_NUMBER else None
        return np.inf if value is None else value

    def _shown(self, value):
        """A value as the text of a cell, as `TableReading` has decimals."""
        text = _text(value)
        is_text = isinstance(value, str | bytes)
        return text if is_text or self.reading.decimal == "." else text.replace(".", ",")


class TextTable(Table):
    """A table of text: a header, and one record a row, as programs write and read them.

    Lines before the header that are empty or begin with ``#`` are passed over; after it every row
    is a record, but for empty lines.  Rows end as that of the header does: any other line break is
    in a cell, and so is that one in quotes.  Cells beyond the header are ignored and those that a
    row lacks are empty.  A record's number is that of its last line.
    """

    # Whether quotes are read strictly, cells that are very long are refused, and lines that begin
    # with ``#`` are passed over everywhere.
    is_checked = False

    def __init__(self, path, reading):
        super().__init__(path, reading)
        self._encoding = _encoding(path)
        with self._opened("") as text, _long_cells():
            before, first = [], ""
            for first in text:
                if first.strip() and not first.startswith("#"):
                    break
                before.append(first)
            else:
                first = ""
            header = [first]
            # A quoted name may hold line breaks.
            while OPEN_QUOTE.search("".join(header)) and (line := text.readline()):
                header.append(line)
            unquoted = re.sub('"[^"]*"', "", "".join(header))
            # Commas before others, where there are as many.
            self.delimiter = max(",;\t", key=unquoted.count)
            lines, again = itertools.tee(itertools.chain(header, text))
            reader = csv.reader(lines, delimiter=self.delimiter)
            cells = next(reader, [])
            taken = list(itertools.islice(again, reader.line_num))
        if "\0" in first:
            raise DataError(f"{path}: its header is not UTF-8 text: save it as UTF-8")
        if not cells:
            raise DataError(f"{path}: the table is empty: give a header and one record a row")
        self._end = end_of(taken[-1], path)
        ends_early = self._end == "\r" and taken[-1].endswith("\n")
        self._start = len("".join([*before, *taken])) - ends_early
        self._header_row = len(before) + len(taken)
        self.place = f"{path}, row {self._header_row}"
        self.names = [name.strip() for name in cells]
        # Programs that write a comma after every value leave a last column without a name.
        while self.names and not self.names[-1]:
            self.names.pop()

    def lines(self):
        """First and last line of each record, from 1, and its cells.

        A quote that is not closed is refused: the file is no table.  Programs that write quotes as
        CSV has them write no such file, whatever a record holds.
        """
        limits = nullcontext() if self.is_checked else _long_cells()
        with self._opened(self._end) as text, limits:
            text.read(self._start)
            self._line = self._header_row
            reader = csv.reader(
                self._marked(text), delimiter=self.delimiter, strict=self.is_checked
            )
            start = self._line + 1
            for cells in reader:
                if cells and cells[-1].endswith(END):
                    if cells != [END]:
                        raise self._unclosed(start, cells)
                    return
                cells = [restored(cell, self._end) for cell in cells]
                # In a table of several columns a row of blanks alone is an empty line.
                if cells and (len(cells) > 1 or cells[0].strip() or len(self.names) == 1):
                    yield start, self._line, cells
                start = self._line + 1

    def records(self, names):
        """Line of each record, its last one, and the texts in columns, empty for no value."""
        places = [self.names.index(name) for name in names]
        for _, line, cells in self.lines():
            number = len(cells)
            yield line, [cells[at] if at < number else "" for at in places]

    def joined_rows(self):
        """A sentence in a list on lines that are no rows, as they end otherwise than the header."""
        for first, last, cells in self.lines():
            beyond = "".join(cells[len(self.names) :]).strip()
            if beyond and any(map(number_of_breaks, cells)):
                return [
                    f"{self.path}, lines {first} to {last} are one row, since they end otherwise "
                    "than the header: save the file with line ends of one kind"
                ]
        return []

    def _opened(self, newline):
        return open(self.path, encoding=self._encoding, errors="surrogateescape", newline=newline)

    def _marked(self, text):
        """Lines for the csv module, which are counted; a quote that is open takes the last one."""
        for line in text:
            self._line += number_of_breaks(line) + (line[-1] not in "\r\n")
            yield "" if self.is_checked and line.startswith("#") else marked(line, self._end)
        if not self.is_checked:
            yield END

    def _unclosed(self, start, cells):
        line = start + sum(map(number_of_breaks, (restored(each, "\n") for each in cells[:-1])))
        is_named = len(cells) <= len(self.names)
        column = f", column {self.names[len(cells) - 1]}," if is_named else ""
        return DataError(
            f"{self.path}: the quote in line {line}{column} is not closed: close or remove it"
        )


class CheckedText(TextTable):
    """A table of text for studies, refused if it is no UTF-8, or a row is incomplete or misquoted.

    Lines that begin with ``#`` and rows of empty cells are passed over everywhere.
    """

    is_checked = True

    def __init__(self, path, reading):
        try:
            Path(path).read_text(encoding="utf-8")
        except UnicodeDecodeError as problem:
            raise DataError(
                f"{path}: it is not UTF-8 text ({problem}): save it as UTF-8"
            ) from problem
        super().__init__(path, reading)

    def lines(self):
        """As `TextTable.lines`; a row with another number of cells than the header is refused."""
        number = len(self.names)
        try:
            for first, last, cells in super().lines():
                if not "".join(cells).strip():
                    continue
                if len(cells) < number or "".join(cells[number:]).strip():
                    one = ", as its lines end otherwise than the header" if last > first else ""
                    raise DataError(
                        f"{self.path}, row {last}: it has another number of columns than the "
                        f"header's {number}{one}: complete or remove the row"
                    )
                yield first, last, cells
        except csv.Error as problem:
            raise DataError(
                f"{self.path}, row {self._line}: it is not comma-separated text ({problem}): "
                "correct it"
            ) from problem


class _ColumnTable(Table):
    """A table of columns with types.  Rows are numbered from 1, or from ``first_row``."""

    first_row = 1

    # Of its records, where some rows are none.
    rows: list | None = None

    @abstractmethod
    def _loaded(self, names):
        """Columns by name, of the file's own kind."""

    @abstractmethod
    def _numbers(self, column):
        """Arrays of numbers, one or several, of a loaded column; NaN for what is missing."""

    @abstractmethod
    def _values(self, column):
        """Values of a loaded column, as labels."""

    def _texts(self, column):
        """Lists of texts, one or several, of a loaded column."""
        return [[self._shown(each) for each in self._values(column)]]

    def records(self, names):
        """Number of each record, and the texts in columns, empty for no value."""
        columns = self._loaded(names)
        texts = [each for name in names for each in self._texts(columns[name])]
        rows = itertools.count(self.first_row) if self.rows is None else self.rows
        yield from zip(rows, map(list, zip(*texts, strict=True)), strict=False)

    def read(self, columns, label=None):
        """Numbers in columns, and labels; see `Table.read`."""
        loaded = self._loaded([*columns, *([label] if label else [])])
        found = []
        for name in columns:
            if name in self.reading.categories:
                [texts] = self._texts(loaded[name])
                found.append([self._number(text, name) for text in texts])
            else:
                found += self._numbers(loaded[name])
        with np.errstate(all="ignore"):
            numbers = np.stack([np.asarray(each, dtype=float) for each in found], axis=-1)
        return numbers, [_label(each) for each in self._values(loaded[label])] if label else None


class ParquetTable(_ColumnTable):
    """A table in a Parquet file."""

    def __init__(self, path, reading):
        super().__init__(path, reading)
        with self._opened() as file:
            self._schema = file.schema_arrow
        self.names = list(self._schema.names)

    def _unfit(self, name, is_label):
        kind = _stored(self._schema.field(name).type)
        holds = _arrow_kind(kind)
        return None if holds == "number" or (is_label and holds) else str(kind)

    def _types_of(self, label):
        is_float = str(_stored(self._schema.field(label).type)) in ("halffloat", "float", "double")
        return self._loaded([label])[label].to_numpy() if is_float else []

    def _loaded(self, names):
        with self._opened() as file:
            table = file.read(columns=list(dict.fromkeys(names)))
        return {name: table[name].cast(_stored(table[name].type)) for name in names}

    def _numbers(self, column):
        return [column.cast("float64", safe=False).to_numpy(zero_copy_only=False)]

    def _values(self, column):
        kind = _arrow_kind(column.type)
        if kind == "time":
            # Times that Python does not have are labels, too.
            return column.cast(f"int{column.type.bit_width}").to_pylist()
        if kind != "text":
            return column.to_pylist()
        # Text that is no UTF-8 would raise.
        values = column.cast("large_binary").to_pylist()
        return [each if each is None else each.decode(errors="surrogateescape") for each in values]

    def _texts(self, column):
        is_time = _arrow_kind(column.type) == "time"
        return super()._texts(column.cast("string") if is_time else column)

    @contextmanager
    def _opened(self):
        try:
            import pyarrow.parquet
        except ImportError:
            raise DataError(
                f"{self.path}: Parquet files need pyarrow: install geodp[parquet], or save the "
                "table as CSV"
            ) from None
        with open(self.path, "rb") as handle:
            try:
                yield pyarrow.parquet.ParquetFile(handle)
            except Exception:  # of many kinds, and their words may quote data
                raise DataError(
                    f"{self.path}: it cannot be read as a Parquet file: save it anew"
                ) from None


class ArrayTable(_ColumnTable):
    """Arrays of a .npz file, each with a record an entry of its first axis.

    An array of more axes stands for all its numbers, row by row, a complex one for its real and
    imaginary parts in turn.
    """

    format = "a .npz file of numbers and texts: save it anew"
    layouts = "n x k x 2, or complex n x k"

    def __init__(self, path, reading, landmarks=None, is_checked=False):
        super().__init__(path, reading)
        self._has_landmarks, self._is_checked = landmarks is not None, is_checked
        self._shapes: dict = {}
        self._types: dict = {}
        with self._opened():
            self._read_header()
        self.names = list(self._shapes)

    def _read_header(self):
        with zipfile.ZipFile(self.path) as file:
            for member in file.infolist():
                with file.open(member) as array:
                    is_first = np.lib.format.read_magic(array) == (1, 0)
                    read = np.lib.format.read_array_header_1_0
                    read = read if is_first else np.lib.format.read_array_header_2_0
                    shape, _, dtype = read(array)
                    left = member.file_size - array.tell()
                # What a header claims is not there for that.
                if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > left:
                    raise ValueError(shape)
                name = member.filename.removesuffix(".npy")
                self._shapes[name], self._types[name] = shape, dtype

    def numbered(self, columns):
        """Names of the numbers in columns, such as ``points[1]`` of an array with more axes."""
        names = []
        for name in columns:
            number = math.prod(self._shapes[name][1:]) * (1 + (self._types[name].kind == "c"))
            is_one = len(self._shapes[name]) == 1 and number == 1
            names += [name] if is_one else [f"{name}[{each}]" for each in range(1, number + 1)]
        return names

    def refuse_unfit(self, numbers, labels):
        """Refuse arrays of other types or of different lengths, from their headers alone."""
        super().refuse_unfit(numbers, labels)
        lengths = {name: self._shapes[name][0] for name in [*numbers, *labels]}
        first = next(iter(lengths), None)
        for name, length in lengths.items():
            if length != lengths[first]:
                raise DataError(
                    f"{self.path}: {self.source.field_word} {name} has {length} entries and "
                    f"{first} {lengths[first]}: give each an entry a record"
                )

    def _unfit(self, name, is_label):
        kind, shape = self._types[name], self._shapes[name]
        if kind.kind not in ("biufSUmM" if is_label else "biufc"):
            return str(kind)
        if not shape or (is_label and len(shape) > 1):
            return f"an array of {len(shape)} axes"
        if not is_label and self._is_unclear(name):
            raise DataError(
                f"{self.path}: {self.source.field_word} {name} is {' x '.join(map(str, shape))}: "
                f"give landmarks as {self.layouts}"
            )
        return None

    def _is_unclear(self, name):
        """Whether the shape of an array is none of landmarks."""
        shape = self._shapes[name]
        return self._has_landmarks and len(shape) > 2 and shape[2:] != (2,)

    def _loaded(self, names):
        with self._opened(), np.load(self.path, allow_pickle=False) as file:
            return {name: file[name] for name in names}

    def _types_of(self, label):
        return self._loaded([label])[label]

    def _numbers(self, array):
        rows = array.reshape(len(array), math.prod(array.shape[1:]))
        parts = (rows.real, rows.imag) if np.iscomplexobj(rows) else (rows,)
        return [part[:, index] for index in range(rows.shape[1]) for part in parts]

    def _values(self, array):
        if array.dtype.kind == "U":
            return _characters(array)
        if array.dtype.kind not in "mM":
            return array.tolist()
        times = array.view(np.int64).tolist()
        return [None if gone else time for gone, time in zip(np.isnat(array), times, strict=True)]

    def _texts(self, array):
        if array.dtype.kind in "biufc":
            return [[self._shown(each) for each in part.tolist()] for part in self._numbers(array)]
        if array.dtype.kind in "mM":
            array = np.where(np.isnat(array), "", array.astype(str))
        return super()._texts(array)

    @contextmanager
    def _opened(self):
        # Whatever is wrong with the place of the file has its own words.
        with open(self.path, "rb"):
            pass
        try:
            yield
        except Exception:  # of many kinds, and their words may quote data
            raise DataError(f"{self.path}: it cannot be read as {self.format}") from None


class MatTable(ArrayTable):
    """Arrays of a MATLAB file (not of version 7.3), as those of `ArrayTable`.

    Records of studies may be along the last axis, too, if it has as many entries as most vectors.
    A cell array has a text, a number, or landmarks of each record: k x 2 or k complex numbers.
    Releases read neither cells nor texts, since one that SciPy cannot decode is an error of all.
    """

    format = (
        "a .mat file, and those of version 7.3 never can: save it in MATLAB or Octave with the -v7 "
        "option"
    )
    layouts = "n x k x 2 or k x 2 x n, or, for n other than k, complex n x k or k x n"
    _unread = ("struct", "object", "function", "opaque", "sparse", "unknown")

    def _read_header(self):
        # Imported here since it is slow to import.
        from scipy.io import loadmat, whosmat

        self.source = RecordFile(self.path, "record", "variable")
        unread = self._unread if self._is_checked else (*self._unread, "char", "cell")
        self._kinds = {name: kind for name, _, kind in whosmat(self.path)}
        known = [name for name, kind in self._kinds.items() if kind not in unread]
        found = loadmat(self.path, variable_names=known)
        arrays = {name: np.array(found.get(name)) for name in self._kinds}
        for name, array in arrays.items():
            # SciPy makes integers of them where all happen to be whole.
            is_real = self._kinds[name] in ("double", "single") and array.dtype.kind != "c"
            array = (
                array.astype("f4" if self._kinds[name] == "single" else float) if is_real else array
            )
            # One without records may be of no rows and one column.
            is_vector = max(array.shape, default=0) in (array.size, array.size + 1)
            arrays[name] = array.ravel() if is_vector and array.ndim else array
        lengths = Counter(len(each) for each in arrays.values() if each.ndim == 1 < len(each))
        # How many records there are may be private: those of releases are along the first axis.
        usual = lengths.most_common(1) if self._is_checked else []
        [(self._usual, _)] = usual or [(0, 0)]
        self._arrays = {name: self._by_record(array) for name, array in arrays.items()}
        self._shapes = {name: array.shape for name, array in self._arrays.items()}
        self._types = {name: array.dtype for name, array in self._arrays.items()}

    def _by_record(self, array):
        if array.ndim < 2:
            return _texts_of_cells(array) if array.dtype.kind == "O" and array.ndim else array
        first, *others, last = array.shape
        is_last = last == self._usual and (first != last or others == [2])
        return np.moveaxis(array, -1, 0) if is_last else array

    def _unfit(self, name, is_label):
        axes = len(self._shapes[name])
        if not axes:
            return f"{self._kinds[name]} and not as numbers"
        if self._types[name].kind not in "OU":
            return super()._unfit(name, is_label)
        return f"an array of {axes} axes" if is_label and axes > 1 else None

    def refuse_unfit(self, numbers, labels):
        """See `ArrayTable.refuse_unfit`."""
        named = [*numbers, *labels]
        if any(self._shapes[name] == (1,) for name in named):
            # An array of one record is no vector of several.
            for name in (each for each in named if len(self._arrays[each]) > 1):
                self._arrays[name] = self._arrays[name].reshape(1, -1)
                self._shapes[name] = self._arrays[name].shape
        super().refuse_unfit(numbers, labels)

    def _is_unclear(self, name):
        shape = self._shapes[name]
        is_either = len(shape) > 1 and 2 < self._usual == shape[0] == shape[-1]
        return is_either or super()._is_unclear(name)

    def _loaded(self, names):
        return {name: self._arrays[name] for name in names}

    def _texts(self, array):
        if array.dtype.kind != "O":
            return super()._texts(array)
        return array.reshape(len(array), -1).T.tolist()


class _ValueTable(_ColumnTable):
    """A table of columns with any values in them, each read by itself.  Labels are texts."""

    def _numbers(self, column):
        return [list(map(self._number_of, column))]

    def _number_of(self, value):
        """The number that a value is, as `_number`."""
        try:
            if isinstance(value, Number | np.bool_):
                number = float(_real(value))
                return number if np.isfinite(number) or np.isnan(number) else np.inf
        except Exception:  # a number that is none of floating point, or an object of one's own
            return np.inf
        return self._number(self._shown(value), "")

    def _values(self, column):
        return list(map(_text, column))

    def _texts(self, column):
        return [[self._shown(each) for each in column]]

    def _types_of(self, label):
        return list(self._loaded([label])[label])


class FrameTable(_ValueTable):
    """A data frame of pandas."""

    def __init__(self, path, reading, frame):
        super().__init__(path, reading)
        self._frame = frame
        self.names = [_text(name).strip() for name in frame.columns]

    def _unfit(self, name, is_label):
        return None if is_label else no_numbers(self._type(name))

    def _type(self, name):
        return _of_values(self._frame.iloc[:, self.names.index(name)].dtype)

    def _types_of(self, label):
        kind = self._type(label)
        if kind.kind not in "fc":
            return super()._types_of(label)
        size = getattr(kind, "itemsize", 8)
        return self._loaded([label])[label].to_numpy(dtype=f"{kind.kind}{size}", na_value=np.nan)

    def _loaded(self, names):
        return {name: self._frame.iloc[:, self.names.index(name)] for name in names}

    def _numbers(self, column):
        if column.dtype.kind in "biuf":
            return [column.to_numpy(dtype=float, na_value=np.nan)]
        return super()._numbers(column)


class ExcelTable(_ValueTable):
    """A sheet of an Excel file (.xlsx).

    The first row with a value is the header, of which alone anything is read before the records;
    rows without one are none.
    """

    def __init__(self, path, reading):
        super().__init__(path, reading)
        self._rows: list | None = None
        with self._sheet() as (sheet, others):
            rows = enumerate(sheet.iter_rows(values_only=True), start=1) if sheet else ()
            filled = ((row, cells) for row, cells in rows if any(map(_text, cells)))
            row, cells = next(filled, (0, ()))
        if sheet is None:
            raise DataError(
                f"{path}: it has no sheet {reading.sheet} (there are: {few(others)}): correct the "
                "key sheet"
            )
        if not cells:
            raise DataError(f"{path}: the sheet is empty: give a header and one record a row")
        self.first_row, self.names = row + 1, [_text(name).strip() for name in cells]
        while self.names and not self.names[-1]:
            self.names.pop()
        if reading.sheet is None and others:
            self.hint = f"; the first sheet is read, and the key sheet names another: {few(others)}"

    @contextmanager
    def _sheet(self):
        """The sheet, or None if it is not there, and names of the others; all without a word."""
        try:
            import openpyxl
        except ImportError:
            raise DataError(
                f"{self.path}: Excel files need openpyxl: install geodp[excel], or save the table "
                "as CSV"
            ) from None
        wanted = self.reading.sheet
        with open(self.path, "rb") as handle, warnings.catch_warnings():
            # Warnings quote cells.
            warnings.simplefilter("ignore")
            try:
                book = openpyxl.load_workbook(handle, read_only=True, data_only=True)
                self.sheets = book.sheetnames
                chosen = self.sheets[0] if wanted is None else wanted
                found = book[chosen] if chosen in self.sheets else None
                yield found, [name for name in self.sheets if name != chosen]
            except Exception:  # of many kinds, and their words may quote data
                raise DataError(
                    f"{self.path}: it cannot be read as an Excel file (.xlsx): save it anew"
                ) from None

    def _loaded(self, names):
        if self._rows is None:
            with self._sheet() as (sheet, _):
                own = {"min_row": self.first_row, "max_col": len(self.names)}
                found = enumerate(sheet.iter_rows(**own, values_only=True))
                filled = [each for each in found if any(map(_text, each[1]))]
            self._rows = [cells for _, cells in filled]
            self.rows = [self.first_row + place for place, _ in filled]
        # Rows may end before the header does.
        rows = [[*row, *[None] * len(self.names)] for row in self._rows]
        return {name: [row[self.names.index(name)] for row in rows] for name in names}


class JoinedTable(Table):
    """A table with columns of a second one, of whose rows the first with a label counts.

    Labels are compared character by character, as those of subjects are.
    """

    def __init__(self, first, label, second, second_label):
        super().__init__(first.path, first.reading)
        self.parts, self._labels = (first, second), (label, second_label)
        self.source = replace(first.source, joined=(second.path, tuple(first.names)))
        self.place = first.place
        self.names = [*first.names, *(each for each in second.names if each not in first.names)]

    def numbered(self, columns):
        """See `Table.numbered`."""
        first, second = self.parts
        tables = ((first if name in first.names else second, name) for name in columns)
        return [each for table, name in tables for each in table.numbered([name])]

    def refuse_unfit(self, numbers, labels):
        """Refuse columns of either table; see `Table.refuse_unfit`."""
        for table, label in zip(self.parts, self._labels, strict=True):
            own = [name for name in numbers if name in table.names]
            table.refuse_unfit(own, [label])
            numbers = [name for name in numbers if name not in own]

    def has_lost(self, label):
        """See `Table.has_lost`; of the labels of both tables."""
        both = zip(self.parts, self._labels, strict=True)
        return any(table.has_lost(own) for table, own in both)

    def records(self, names):
        """Number of each record of the first table, and the texts in columns of both."""
        (first, second), (label, _) = self.parts, self._labels
        own = [name for name in names if name in first.names]
        others = [name for name in names if name not in first.names]
        rows, empty = self._joined(others), [""] * len(second.numbered(others))
        # An array stands for several texts.
        sources = [(name in own, len(self.numbered([name]))) for name in names]
        for number, (key, *texts) in first.records([label, *own]):
            here, there = iter(texts), iter(rows.get(key, empty))
            yield (
                number,
                [next(here if mine else there) for mine, count in sources for _ in range(count)],
            )

    def unmatched(self):
        """Labels of the first table that the second lacks, each with one that is alike or None."""
        (first, _), (label, _) = self.parts, self._labels
        rows = self._joined([])
        alike = {simple_label(key): key for key in rows}
        keys = (key for _, (key,) in first.records([label]))
        return {key: alike.get(simple_label(key)) for key in keys if key and key not in rows}

    def _joined(self, names):
        """Texts in columns of the second table, by label."""
        rows: dict = {}
        for _, (key, *texts) in self.parts[1].records([self._labels[1], *names]):
            if key.strip():
                rows.setdefault(key, texts)
        return rows


def simple_label(label):
    """A label without what people change by chance: blanks, case, hyphens and leading zeros."""
    return re.sub(r"[\s_-]|(?<!\d)0+(?=\d)", "", label.casefold())


@cache
def _other_formats():
    return yaml.safe_load(Path(__file__).with_name("other_formats.yaml").read_text())


def table_kind(path, text=TextTable, key=""):
    """The class of the table in a file, by its name and first bytes.

    Files of other formats are a `DataError`, as are those that cannot be opened.
    """
    from geodp.data.landmark_files import LANDMARK_FILES, MorphologikaFile

    suffix = Path(path).suffix.lower()
    others = _other_formats()
    if suffix in others["suffixes"]:
        raise DataError(f"{path} is {others['suffixes'][suffix]}")
    try:
        with open(path, "rb") as file:
            start = file.read(1024)
    except OSError as problem:
        raise DataError(
            f"{key}{path} cannot be read ({problem.strerror}): correct the path"
        ) from None
    kinds = {".parquet": ParquetTable, ".npz": ArrayTable, ".mat": MatTable, ".xlsx": ExcelTable}
    if kind := (kinds | LANDMARK_FILES).get(suffix):
        return kind
    for mark, what in others["marks"].items():
        if start.startswith(mark.encode("latin-1")):
            raise DataError(f"{path} is no text, but {what}")
    words = start.lstrip(b"\xef\xbb\xbf \r\n\t").lower()
    return MorphologikaFile if words.startswith(b"[individuals]") else text


def open_table(path, text=TextTable, reading=None, landmarks=None, key=""):
    """The table in a file, of which only the header is read; a `DataError` says why there is none.

    Names that end in .xlsx, .parquet, .npz, .mat, .tps or .nts say so; all others are ``text``, the
    class `TextTable` or `CheckedText`, or morphologika.  ``landmarks`` is their number in a record,
    where points have them, and ``key`` stands in messages before a path that cannot be opened.
    """
    from geodp.data.landmark_files import LandmarkFile

    kind, reading = table_kind(path, text, key), reading or TableReading()
    if reading.sheet is not None and kind is not ExcelTable:
        raise DataError(f"{path} has no sheets: remove the key sheet")
    if issubclass(kind, LandmarkFile):
        return kind(path, reading, landmarks)
    if issubclass(kind, ArrayTable):
        return kind(path, reading, landmarks, text.is_checked)
    return kind(path, reading)


def _characters(array):
    """Texts of an array, one by one; bytes where a number in it is no character."""
    whole = array.astype(array.dtype.newbyteorder("<")).tobytes()
    size = array.dtype.itemsize
    found: list = []
    for start in range(0, size * len(array), size or 1):
        raw = whole[start : start + size]
        try:
            found.append(raw.decode("utf-32-le", "surrogatepass").rstrip("\0"))
        except UnicodeDecodeError:
            found.append(raw)
    return found if size else [""] * len(array)


def _texts_of_cells(cells):
    """Texts (n,) or (n, k) of cells with a value each, or with landmarks; empty beyond the last."""
    parts = [np.asarray(cell) for cell in cells]
    if all(part.size <= 1 for part in parts):
        rows = [[_text(value) for value in part.ravel().tolist()] or [""] for part in parts]
    else:
        rows = [_texts_of_landmarks(part) for part in parts]
    width = max(map(len, rows), default=1)
    # What is no landmarks is said of each.
    rows = [row * width if len(row) == 1 else row + [""] * (width - len(row)) for row in rows]
    found = np.array(rows, dtype=object).reshape(len(rows), width)
    return found[:, 0] if width == 1 else found


def _texts_of_landmarks(part):
    """Texts of the coordinates of k x 2 or k complex numbers, or what else there is."""
    kind, shape = part.dtype.kind, part.shape
    if kind == "c" and part.size == max(shape):
        part = np.stack([part.real, part.imag], axis=-1)
    elif kind not in "biuf" or part.ndim != 2 or shape[1] != 2:
        return [f"a cell of {' x '.join(map(str, shape))}"]
    return [_text(value) for value in part.ravel().tolist()]


def _stored(kind):
    """A type of Arrow, or that of the values of a dictionary."""
    from pyarrow import types

    return kind.value_type if types.is_dictionary(kind) else kind


def _arrow_kind(kind):
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


def _encoding(path):
    """Encoding of a text: UTF-8, or as programs of Windows write it where its header is not UTF-8.

    No record changes how others are read.
    """
    with open(path, "rb") as file:
        lines = (part for line in file for part in re.split(b"[\r\n]", line))
        header = next((line for line in lines if line.strip() and line[:1] != b"#"), b"")
    try:
        header.decode("utf-8")
    except UnicodeDecodeError:
        # UTF-16 has zeros, and is refused.
        return "utf-8-sig" if b"\0" in header else "cp1252"
    return "utf-8-sig"


@contextmanager
def _long_cells():
    """A context in which no cell of text is too long."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def no_numbers(kind):
    """The type of an array or of a column of pandas, as text, if it is none of numbers."""
    kind = _of_values(kind)
    if isinstance(kind, np.dtype):
        fits = kind.kind in "biufcO"
    else:
        from pandas.api.types import is_numeric_dtype

        fits = is_numeric_dtype(kind)
    return None if fits else str(kind)


def _of_values(kind):
    """A type, or that of the categories of pandas."""
    return kind.categories.dtype if hasattr(kind, "categories") else kind


def are_lost(labels):
    """Whether labels are floating-point numbers too large to tell whole ones apart.

    Of an array if one of its type is: whatever made that of whole numbers has made several the
    same.  Of a list, whose values have types of their own, if most are, so that none decides.
    """
    if isinstance(labels, list):
        large = sum(type(each) is float and 2.0**53 <= abs(each) < np.inf for each in labels)
        return 2 * large > sum(bool(_text(each)) for each in labels)
    if labels.dtype.kind not in "fc":
        return False
    labels = labels[np.isfinite(labels)]
    return bool(np.any(np.abs(labels) >= 2.0 ** (np.finfo(labels.dtype).nmant + 1)))


def _label(value):
    """A label as it is, but ``None`` where it is missing or blank."""
    if isinstance(value, str | bytes):
        return value if value.strip() else None
    return None if value != value else value


def _real(value):
    """A number of Python, in place of one of NumPy and of a complex one that is real."""
    value = value.item() if isinstance(value, np.number | np.bool_) else value
    return value.real if isinstance(value, complex) and value.imag == 0.0 else value


def _text(value):
    """A value as the text of a cell; empty for None, NaN, and missing values of pandas."""
    try:
        value = _real(value)
        if value is None or type(value).__name__ in ("NAType", "NaTType") or value != value:
            return ""
        if isinstance(value, bytes):
            return value.decode(errors="surrogateescape")
        if isinstance(value, float):
            # A whole number is written as one, as labels are.
            return str(value).removesuffix(".0")
        return str(int(value) if isinstance(value, bool) else value)
    except Exception:  # an object in a data frame may raise anything
        return f"<{type(value).__name__}>"
