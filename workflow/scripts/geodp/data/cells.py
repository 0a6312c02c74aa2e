"""Tables of records in files: text (CSV), Parquet, or arrays of NumPy (.npz), by the suffix.

A row is a record whatever is in it.  Each cell is converted by itself and what cannot be read
becomes a number that is not finite, or no label: no record changes what becomes of others.
"""

import csv
import itertools
import math
import re
import zipfile
from abc import ABC, abstractmethod
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from geodp.data.messages import RecordFile
from geodp.data.records import finite_number
from geodp.errors import DataError

# Numbers of more characters are not tried: reading them takes time, and no program writes them.
LONGEST_NUMBER = 400

# Characters that no text has: bytes that are no UTF-8 become U+DC80 to U+DCFF.
END, RETURN = "\udc01", "\udc0d"

# Longest cell of text; the least of what every platform takes.
LONGEST_CELL = 2**31 - 1


def open_table(path):
    """The table in a file, of which only the header is read.

    Parameters
    ----------
    path : str
        A name that ends in .parquet or .npz says so; all others are text.

    Returns
    -------
    TextTable, ParquetTable or ArrayTable

    Raises
    ------
    DataError
        The file is no table.
    OSError
        It cannot be opened.
    """
    return TYPED.get(Path(path).suffix.lower(), TextTable)(path)


def is_typed(path):
    """Whether a file has columns with types, by its suffix, or is text."""
    return Path(path).suffix.lower() in TYPED


def delimiter_of(header):
    """What separates the cells of a table, from its header alone."""
    header = re.sub('"[^"]*"', "", header)
    return "\t" if header.count("\t") > header.count(",") else ","


def header_names(cells, place):
    """Names of columns, from the cells of a header."""
    names = [name.strip() for name in cells]
    if len(names) == 1 and ";" in names[0]:
        raise DataError(f"{place}: its columns are separated by semicolons: save it with commas")
    # Programs that write a comma after every value leave a last column without a name.
    while names and not names[-1]:
        names.pop()
    return names


class _Kept:
    """Lines of a text, of which the last that was taken is kept, and how many were."""

    def __init__(self, lines):
        self._lines, self.last, self.number = lines, "", 0

    def __iter__(self):
        for line in self._lines:
            self.last, self.number = line, self.number + 1
            yield line


class TextTable:
    """A table of text: a header, and one record a row, as programs write and read them.

    Lines before the header that are empty or begin with ``#`` are passed over; after it every row
    is a record, but for empty lines.  A quoted cell may hold line breaks.  Cells beyond the header
    are ignored and those that a row lacks are empty.

    Parameters
    ----------
    path : str

    Attributes
    ----------
    source : RecordFile
    names : list of str
        Columns.
    place : str
        Where the names stand, for messages.
    delimiter : str
    """

    def __init__(self, path):
        self.path, self.source = path, RecordFile(path)
        with self._opened("") as text, _long_cells():
            before, first = _header_line(text)
            header = [first]
            # A quoted name may hold line breaks.
            while "".join(header).count('"') % 2 and (line := text.readline()):
                header.append(line)
            self.delimiter = delimiter_of("".join(header))
            lines = _Kept(itertools.chain(header, text))
            cells = next(csv.reader(lines, delimiter=self.delimiter), [])
        if "\0" in first:
            raise DataError(f"{path}: its header is not UTF-8 text: save it as UTF-8")
        if not cells:
            raise DataError(f"{path}: the table is empty: give a header and one record a row")
        # Rows end as the header's does: where that is "\n" programs leave "\r" in a cell unquoted.
        end = lines.last
        self._newline = "\n" if end.endswith("\n") and not end.endswith("\r\n") else ""
        self.place = f"{path}, row {before + lines.number}"
        self.names = header_names(cells, self.place)

    def numbered(self, columns):
        """Names of the numbers in columns: their own but for arrays of more than one axis."""
        return columns

    def refuse_unfit(self, numbers, labels):
        """Refuse columns whose type, as the file states it, cannot hold numbers or labels.

        Parameters
        ----------
        numbers, labels : list of str
            Columns.

        Raises
        ------
        DataError
            It depends on no record.
        """

    def lines(self):
        """First and last line of each record, from 1, and its cells.

        Raises
        ------
        DataError
            A quote is not closed: the file is no table.  Programs that write quotes as CSV has
            them write no such file, whatever a record holds.
        """
        return itertools.islice(self._lines(), 1, None)

    def records(self, names):
        """Line of each record, its last one, and the texts in columns, empty for no value."""
        places = [self.names.index(name) for name in names]
        for _, line, cells in self.lines():
            number = len(cells)
            yield (
                line,
                [cells[at].replace(RETURN, "\r") if at < number else "" for at in places],
            )

    def read(self, columns, label=None):
        """Numbers in columns, and labels.

        Parameters
        ----------
        columns : list of str
        label : str, optional

        Returns
        -------
        numbers : ndarray, shape (n, k)
            NaN for an empty cell, infinite for what is no finite number.
        labels : list or None
            ``None`` for an empty one.
        """
        numbers, labels = [], []
        for _, texts in self.records([*columns, *([label] if label else [])]):
            if label:
                labels.append(_label(texts.pop()))
            numbers.append([_number(text) for text in texts])
        found = np.array(numbers, dtype=float).reshape(len(numbers), len(columns))
        return found, labels if label else None

    def _opened(self, newline):
        return open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline=newline)

    def _lines(self):
        """As `lines`, the header first."""
        with self._opened(self._newline) as text, _long_cells():
            before, first = _header_line(text)
            lines = itertools.chain([first], text, [END])
            kept = RETURN if self._newline else "\r"
            reader = csv.reader(
                (line.replace("\r", kept) for line in lines), delimiter=self.delimiter
            )
            last = before
            for cells in reader:
                start, last = last + 1, before + reader.line_num
                if cells and cells[-1].endswith(END):
                    if cells != [END]:
                        raise self._unclosed(start, cells)
                    return
                # In a table of several columns a row of blanks alone is an empty line.
                if cells and (len(cells) > 1 or cells[0].strip() or self._has_one_column):
                    yield start, last, cells

    @property
    def _has_one_column(self):
        return len(getattr(self, "names", [])) == 1

    def _unclosed(self, start, cells):
        line = start + sum(cell.count("\n") for cell in cells[:-1])
        names = getattr(self, "names", [])
        column = f", column {names[len(cells) - 1]}," if len(cells) <= len(names) else ""
        return DataError(
            f"{self.path}: the quote in line {line}{column} is not closed: close or remove it"
        )


class _ColumnTable(ABC):
    """A table of columns with types; see `TextTable`.  Rows are numbered from 1."""

    def __init__(self, path):
        self.path, self.source, self.place = path, RecordFile(path), path

    @abstractmethod
    def _unfit(self, name, is_label):
        """The type that the file states for a column, if it does not fit."""

    @abstractmethod
    def _loaded(self, names):
        """Columns by name, of the file's own kind."""

    @abstractmethod
    def _numbers(self, column):
        """Arrays of numbers, one or several, of a loaded column; NaN for what is missing."""

    @abstractmethod
    def _values(self, column):
        """Values of a loaded column, as labels."""

    @abstractmethod
    def _texts(self, column):
        """Lists of texts, one or several, of a loaded column."""

    def numbered(self, columns):
        """Names of the numbers in columns: their own but for arrays of more than one axis."""
        return columns

    def refuse_unfit(self, numbers, labels):
        """Refuse columns whose type, as the file states it, cannot hold numbers or labels."""
        for name, wanted in [(name, "numbers") for name in numbers] + [
            (name, "labels") for name in labels
        ]:
            unfit = self._unfit(name, wanted == "labels")
            if unfit is not None:
                raise DataError(
                    f"{self.path}, column {name}: the file states its type as {unfit}, and "
                    f"{wanted} are wanted: save it as {wanted}, or name another column"
                )

    def records(self, names):
        """Number of each record, and the texts in columns, empty for no value."""
        columns = self._loaded(names)
        texts = [each for name in names for each in self._texts(columns[name])]
        yield from enumerate(map(list, zip(*texts, strict=True)), start=1)

    def read(self, columns, label=None):
        """Numbers in columns, and labels; see `TextTable.read`."""
        named = [*columns, *([label] if label else [])]
        loaded = self._loaded(named)
        found = [each for name in columns for each in self._numbers(loaded[name])]
        with np.errstate(all="ignore"):
            numbers = np.stack([np.asarray(each, dtype=float) for each in found], axis=-1)
        return numbers, [_label(each) for each in self._values(loaded[label])] if label else None


class ParquetTable(_ColumnTable):
    """A table in a Parquet file; see `TextTable`."""

    def __init__(self, path):
        super().__init__(path)
        with self._opened() as file:
            self._schema = file.schema_arrow
        self.names = list(self._schema.names)

    def _unfit(self, name, is_label):
        from pyarrow import types

        kind = self._schema.field(name).type
        kind = kind.value_type if types.is_dictionary(kind) else kind
        fits = [types.is_integer, types.is_floating, types.is_decimal, types.is_boolean]
        # A column of missing values has a type of its own.
        fits.append(types.is_null)
        if is_label:
            fits += [_is_text, _is_time]
        return None if any(fit(kind) for fit in fits) else str(kind)

    def _loaded(self, names):
        from pyarrow import types

        with self._opened() as file:
            table = file.read(columns=list(dict.fromkeys(names)))
        columns = {name: table[name] for name in names}
        return {
            name: each.cast(each.type.value_type) if types.is_dictionary(each.type) else each
            for name, each in columns.items()
        }

    def _numbers(self, column):
        import pyarrow as pa

        return [column.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False)]

    def _values(self, column):
        import pyarrow as pa

        if _is_time(column.type):
            # Times that Python does not have are labels, too.
            return column.cast(f"int{column.type.bit_width}").to_pylist()
        if not _is_text(column.type) or _is_bytes(column.type):
            return column.to_pylist()
        # Text that is no UTF-8 would raise.
        values = column.cast(pa.large_binary()).to_pylist()
        return [each if each is None else each.decode(errors="surrogateescape") for each in values]

    def _texts(self, column):
        import pyarrow as pa

        is_time = _is_time(column.type)
        values = column.cast(pa.string()).to_pylist() if is_time else self._values(column)
        return [[_text(each) for each in values]]

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
            except DataError:
                raise
            except Exception:  # of many kinds, and their words may quote data
                raise DataError(
                    f"{self.path}: it cannot be read as a Parquet file: save it anew"
                ) from None


class ArrayTable(_ColumnTable):
    """Arrays of a .npz file, each with a record an entry of its first axis; see `TextTable`.

    An array of more axes stands for all its numbers, row by row, a complex one for its real and
    imaginary parts in turn.
    """

    def __init__(self, path):
        super().__init__(path)
        self._shapes, self._types = {}, {}
        self.names = []
        with self._opened(), zipfile.ZipFile(path) as file:
            for member in file.infolist():
                with file.open(member) as array:
                    shape, _, dtype = _array_header(array)
                    left = member.file_size - array.tell()
                # What a header claims is not there for that.
                if min(shape, default=0) < 0 or math.prod(shape) * dtype.itemsize > left:
                    raise ValueError(shape)
                name = member.filename.removesuffix(".npy")
                self.names.append(name)
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
                    f"{self.path}: array {name} has {length} entries and {first} "
                    f"{lengths[first]}: give each an entry a record"
                )

    def _unfit(self, name, is_label):
        kind, shape = self._types[name], self._shapes[name]
        if kind.kind not in ("biufSUmM" if is_label else "biufc"):
            return str(kind)
        if not shape or (is_label and len(shape) > 1):
            return f"an array of {len(shape)} axes"
        return None

    def _loaded(self, names):
        with self._opened(), np.load(self.path, allow_pickle=False) as file:
            return {name: file[name] for name in names}

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
            return [[_text(each) for each in part.tolist()] for part in self._numbers(array)]
        if array.dtype.kind in "mM":
            array = np.where(np.isnat(array), "", array.astype(str))
        return [[_text(each) for each in self._values(array)]]

    @contextmanager
    def _opened(self):
        # Whatever is wrong with the place of the file has its own words.
        with open(self.path, "rb"):
            pass
        try:
            yield
        except Exception:  # of many kinds, and their words may quote data
            raise DataError(
                f"{self.path}: it cannot be read as a .npz file of numbers and texts: save it anew"
            ) from None


TYPED = {".parquet": ParquetTable, ".npz": ArrayTable}


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


def _array_header(file):
    """Shape, order and type of an array in a file."""
    version = np.lib.format.read_magic(file)
    if version == (1, 0):
        return np.lib.format.read_array_header_1_0(file)
    return np.lib.format.read_array_header_2_0(file)


def _is_bytes(kind):
    from pyarrow import types

    return types.is_binary(kind) or types.is_large_binary(kind) or types.is_fixed_size_binary(kind)


def _is_time(kind):
    from pyarrow import types

    return types.is_temporal(kind) and not types.is_interval(kind)


def _is_text(kind):
    from pyarrow import types

    return types.is_string(kind) or types.is_large_string(kind) or _is_bytes(kind)


def _header_line(text):
    """Number of lines before the header, and the header's first line; empty if there is none."""
    for before, line in enumerate(text):
        if line.strip() and not line.startswith("#"):
            return before, line
    return 0, ""


@contextmanager
def _long_cells():
    """A context in which no cell of text is too long."""
    before = csv.field_size_limit(LONGEST_CELL)
    try:
        yield
    finally:
        csv.field_size_limit(before)


def _number(text):
    """The number of a cell: NaN for an empty one, infinite for what is no finite number."""
    if not text or text.isspace():
        return np.nan
    value = finite_number(text) if len(text) <= LONGEST_NUMBER else None
    return np.inf if value is None else value


def _label(value):
    """A label as it is, but ``None`` where it is missing or blank."""
    if isinstance(value, str | bytes):
        return value if value.strip() else None
    return None if value != value else value


def _text(value):
    """A value as the text of a cell."""
    if value is None or value != value:
        return ""
    if isinstance(value, bytes):
        return value.decode(errors="surrogateescape")
    return str(int(value) if isinstance(value, bool) else value)
