"""Tables of columns with types: data frames of pandas, files of Arrow, sheets of spreadsheets."""

import itertools
from contextlib import closing

import numpy as np

from geodp.data.cells import arrow_kind, as_text, cells_of, no_numbers, type_of_values
from geodp.data.dates import DATE_TYPES
from geodp.data.labels import Labels
from geodp.data.large import Rows
from geodp.data.messages import few, opened, parts_of
from geodp.data.nested import fields_of, holds_numbers, number_in, number_names, numbers_of
from geodp.data.table import ColumnTable
from geodp.errors import DataError

# Records that are read at once.
IN_TURN = 1 << 16


class FrameTable(ColumnTable):
    """A data frame of pandas."""

    def __init__(self, path, reading, frame):
        super().__init__(path, reading)
        self._frame = frame
        self.names = [as_text(name).strip() for name in frame.columns]

    def _column(self, name):
        return self._frame.iloc[:, self.names.index(name)]

    def _unfit(self, name, kind):
        own = self._column(name).dtype
        if kind == "dates":
            return None if type_of_values(own).kind in "MO" else str(own)
        return no_numbers(own) if kind == "numbers" else None

    def _types_of(self, label):
        column = self._column(label)
        kind = type_of_values(column.dtype)
        if kind.kind not in "fc":
            return cells_of(column)
        size = getattr(kind, "itemsize", 8)
        return column.to_numpy(dtype=f"{kind.kind}{size}", na_value=np.nan)

    def _loaded(self, names):
        return {name: self._column(name) for name in names}

    def _numbers(self, column):
        if column.dtype.kind in "biuf":
            return [column.to_numpy(dtype=float, na_value=np.nan)]
        return super()._numbers(column)


class ParquetTable(ColumnTable):
    """A table in a Parquet file, or in those of a folder, one behind the other.

    A field of a struct is a column, too: ``point.x``.
    """

    what = "a Parquet file"

    def __init__(self, path, reading):
        super().__init__(path, reading)
        self._parts = parts_of(path)
        self._schema = self._common_schema()
        self.names = list(self._schema.names)
        types = dict(zip(self.names, self._schema.types, strict=True))
        # Columns that hold others, and the types of all.
        self._outer = {
            f"{name}.{part}": (name, part)
            for name in self.names
            for part in fields_of(types[name])
            if f"{name}.{part}" not in types
        }
        parts = {own: fields_of(types[name])[part] for own, (name, part) in self._outer.items()}
        self._types = types | {own: _plain(kind) for own, kind in parts.items()}
        self.names += self._outer

    def _common_schema(self):
        """Names and types of the columns of all parts; one without a value has those of others.

        Numbers of parts with a missing value are often floating, and whole in the others.
        """
        schemas = []
        for part in self._parts:
            with self._opened(part) as handle:
                schemas.append(self._schema_of(handle))
        # Not before, since messages about a library that is missing come from there.
        import pyarrow

        columns = [list(zip(each.names, map(_plain, each.types), strict=True)) for each in schemas]
        alike = all({*dict(each)} == {*dict(columns[0])} for each in columns)
        kinds: dict[str, set] = {}
        for name, kind in itertools.chain(*columns) if len(columns) > 1 else ():
            kinds.setdefault(name, set()).add(kind)
        wide = {name: _wide(each) for name, each in kinds.items()}
        self._mixed = {
            name: kinds[name] - {pyarrow.null()} for name in wide if wide[name] == pyarrow.float64()
        }
        columns = [[(name, wide.get(name) or kind) for name, kind in part] for part in columns]
        try:
            found = list(map(pyarrow.schema, columns))
            schema = pyarrow.unify_schemas(found) if alike and len(found) > 1 else found[0]
        except pyarrow.ArrowException:
            alike = False
        if not alike:
            raise DataError(
                f"{self.path}: its files have columns of different names or types: save all with "
                "the same"
            )
        return schema

    def numbered(self, columns):
        """See `Table.numbered`; lists and structs have several numbers."""
        length, types = self.reading.length or 1, self._types
        return [each for name in columns for each in number_names(name, types[name], length)]

    @property
    def has_open_lists(self):
        """Whether there are lists of numbers whose type says no length."""
        kinds = self._types.values()
        return any(holds_numbers(kind) and number_in(kind, None) is None for kind in kinds)

    def _unfit(self, name, kind):
        own = self._types[name]
        if kind == "numbers":
            return None if holds_numbers(own) else str(own)
        holds, kinds = arrow_kind(own), self._mixed.get(name, ())
        if kinds and (kind == "labels" or not all(map(_is_plain, kinds))):
            # Digits may have been lost in one file, and not in others.
            return " and ".join(sorted(map(str, kinds)))
        if kind == "words" and holds == "number":
            # Nor have listed words any to lose, whatever the types of the files are.
            return str(own) if any(map(_is_large, self.reading.categories[name])) else None
        is_date = holds == "text" or DATE_TYPES.match(str(own))
        return None if (is_date if kind == "dates" else holds) else str(own)

    def _types_of(self, label):
        is_float = str(self._types[label]) in ("halffloat", "float", "double")
        return self._loaded([label])[label].to_numpy(zero_copy_only=False) if is_float else []

    def _loaded(self, names):
        import pyarrow

        found: list = []
        self._in_turn(names, found.append)
        return {
            name: pyarrow.chunked_array(
                [chunk for each in found for chunk in each[name].chunks], type=self._types[name]
            )
            for name in names
        }

    def _columns(self, table, names):
        """Columns by name, of a table of Arrow."""
        from pyarrow.compute import struct_field

        columns = {}
        for own in names:
            name, part = self._outer.get(own, (own, None))
            # Whole numbers beyond 2^53 are rounded, where other parts have floating ones.
            column = table[name].cast(self._types[name], safe=False)
            column = column if part is None else struct_field(column, part)
            columns[own] = column.cast(self._types[own])
        return columns

    def _numbers(self, column):
        if arrow_kind(column.type) is None:
            width = number_in(column.type, self.reading.length or 1)
            return list(numbers_of(column.combine_chunks(), width).T)
        return [column.cast("float64", safe=False).to_numpy(zero_copy_only=False)]

    def _labels(self, column):
        kind = arrow_kind(column.type)
        if kind == "time":
            # Times that Python does not have are labels, too.
            return column.cast(f"int{column.type.bit_width}").to_pylist()
        if kind != "text":
            return column.to_pylist()
        # Text that is no UTF-8 would raise.
        cells = column.cast("large_binary").to_numpy(zero_copy_only=False)
        kept = {"errors": "surrogateescape"}
        return ["" if cell is None else cell.decode(**kept) for cell in cells]

    def _named(self, column, before):
        kind, is_first = arrow_kind(column.type), isinstance(before, list) and not before
        if str(column.type) == "int64":
            rows = Rows((), np.int64) if is_first else before
            if isinstance(rows, Rows) and not column.null_count:
                rows.add(column.to_numpy())
                return rows
            before = rows.array().tolist() if isinstance(rows, Rows) else before
        if kind != "text":
            return super()._named(column, before)
        labels = Labels() if is_first else before
        cells = column.cast("large_binary").fill_null(b"").combine_chunks()
        if len(cells):
            _, offsets, data = cells.buffers()
            places = np.frombuffer(offsets, dtype=np.int64)[cells.offset :][: len(cells) + 1]
            characters = np.frombuffer(data or b"", dtype=np.uint8)
            if np.all(characters[places[0] : places[-1]] < 128):
                labels.add_ascii(characters, places)
            else:
                labels.add(list(self._labels(column)))
        return labels

    def _texts(self, column):
        kind = arrow_kind(column.type)
        if kind is None:
            return [list(map(self.reading.shown, each)) for each in self._numbers(column)]
        if kind == "time":
            if getattr(column.type, "tz", None) is not None:
                # In UTC: words of others need a database of zones, which a machine may not have.
                column = column.cast("int64").cast(f"timestamp[{column.type.unit}]")
            column = column.cast("string")
        return super()._texts(self._labels(column))

    def _opened(self, part):
        return opened(self.path, self.what, "pyarrow", "parquet", part)

    @staticmethod
    def _schema_of(handle):
        """Names and types of columns, of Arrow."""
        import pyarrow.parquet

        return pyarrow.parquet.ParquetFile(handle).schema_arrow

    def _in_turn(self, names, function):
        import pyarrow

        stored = list(dict.fromkeys(self._outer.get(name, (name,))[0] for name in names))
        for part in self._parts:
            with self._opened(part) as handle:
                for table in self._tables(handle, stored):
                    function(self._columns(table, names))
        # Else a third of what a release takes would be memory that nothing is in any more.
        for pool in pyarrow.default_memory_pool(), pyarrow.system_memory_pool():
            pool.release_unused()

    @staticmethod
    def _tables(handle, names):
        """The columns with names, as tables of Arrow of some records at a time."""
        import pyarrow.parquet

        file = pyarrow.parquet.ParquetFile(handle, pre_buffer=False)
        for batch in file.iter_batches(IN_TURN, columns=names):
            yield pyarrow.Table.from_batches([batch])


def _wide(kinds):
    """The type that holds numbers of several types, or ``None`` of others and of one type."""
    from pyarrow import float64, int64, uint64
    from pyarrow.types import is_integer, is_null

    numbers = {each for each in kinds if not is_null(each)}
    if len(numbers) < 2 or any(arrow_kind(each) != "number" for each in numbers):
        return None
    return int64() if all(map(is_integer, numbers)) and uint64() not in numbers else float64()


def _is_plain(kind):
    """Whether numbers of a type have the texts that floating-point ones have."""
    from pyarrow.types import is_floating, is_integer

    return is_floating(kind) or is_integer(kind)


def _is_large(word):
    """Whether a word is a number that has digits to lose in floating point."""
    try:
        return abs(float(word)) >= 2.0**53
    except ValueError:
        return False


def _plain(kind):
    """The type of the values of a dictionary, or of what an extension such as UUIDs is made of."""
    from pyarrow.types import is_dictionary

    # A dictionary of lists or structs cannot be read.
    kind = kind.value_type if is_dictionary(kind) and arrow_kind(kind.value_type) else kind
    return getattr(kind, "storage_type", kind)


class FeatherTable(ParquetTable):
    """A table in a Feather file, which is one of Arrow."""

    what = "a Feather file"

    @staticmethod
    def _schema_of(handle):
        import pyarrow.ipc

        return pyarrow.ipc.open_file(handle).schema

    @staticmethod
    def _tables(handle, names):
        import pyarrow.ipc

        yield pyarrow.ipc.open_file(handle).read_all().select(names)


class ExcelTable(ColumnTable):
    """A sheet of an Excel file (.xlsx).

    The first row with a value is the header, of which alone anything is read before the records;
    rows without one are none.
    """

    what, library, extra = "an Excel file (.xlsx)", "openpyxl", "excel"

    def __init__(self, path, reading):
        super().__init__(path, reading)
        self._rows: list | None = None
        with closing(self._filled()) as rows:
            _, cells = next(rows, (0, None))
        others = [name for name in self.sheets if name != self._sheet]
        if self._sheet not in self.sheets:
            raise DataError(
                f"{path}: it has no sheet {self._sheet} (there are: {few(others)}): correct the "
                "key sheet"
            )
        if cells is None:
            raise DataError(f"{path}: the sheet is empty: give a header and one record a row")
        self.names = [as_text(name).strip() for name in cells]
        while self.names and not self.names[-1]:
            self.names.pop()
        if reading.sheet is None and others:
            self.hint = f"; the first sheet is read, and the key sheet names another: {few(others)}"

    def _filled(self):
        """Number and cells of each row of the sheet with a value."""
        with opened(self.path, self.what, self.library, self.extra) as handle:
            self.sheets, rows_of = self._book(handle)
            wanted = self.reading.sheet
            self._sheet = self.sheets[0] if wanted is None else wanted
            if self._sheet in self.sheets:
                for row, cells in enumerate(rows_of(self._sheet), 1):
                    if any(map(as_text, cells)):
                        yield row, cells

    @staticmethod
    def _book(handle):
        """Names of the sheets, and a function that gives the rows of one."""
        import openpyxl

        book = openpyxl.load_workbook(handle, read_only=True, data_only=True)
        return book.sheetnames, lambda name: book[name].iter_rows(values_only=True)

    def _loaded(self, names):
        number = len(self.names)
        if self._rows is None:
            _, *found = ((row, cells[:number]) for row, cells in self._filled())
            found = [each for each in found if any(map(as_text, each[1]))]
            self.rows = [row for row, _ in found]
            # Rows may end before the header does.
            self._rows = [[*cells, *[None] * (number - len(cells))] for _, cells in found]
        places = {name: self.names.index(name) for name in names}
        return {name: [row[at] for row in self._rows] for name, at in places.items()}


class OpenDocumentTable(ExcelTable):
    """A sheet of an OpenDocument file (.ods)."""

    what, library, extra = "an OpenDocument file (.ods)", "python-calamine", "formats"

    @staticmethod
    def _book(handle):
        from python_calamine import CalamineWorkbook

        # Other readers make dates of texts, and one that is none is an error of all.
        book = CalamineWorkbook.from_filelike(handle)
        return book.sheet_names, lambda name: book.get_sheet_by_name(name).iter_rows()
