"""Tables of text (CSV), whose rows end as that of the header does and nowhere else.

Programs that write a table end all rows alike.  Any other line break is in a cell, whether that is
in quotes or not: so no cell makes a row more or less.

Text is read by the csv module and not by pandas, which refuses or drops all rows for one of another
length, says no line numbers, and lets any line break end a row.
"""

import csv
import itertools
import re
from contextlib import contextmanager, nullcontext
from functools import cached_property
from pathlib import Path

from geodp.data.table import AT_ONCE, Table
from geodp.errors import DataError

BREAK = re.compile(r"\r\n|\r|\n")

# Characters that no text has, since bytes that are no UTF-8 become U+DC80 to U+DCFF: line breaks
# that end no row, and what stands behind the last line.
RETURN, FEED, END = "\udc0d", "\udc0a", "\udc01"


class TextTable(Table):
    """A table of text: a header, and one record a row, as programs write and read them.

    Lines before the header that are empty or begin with ``#`` are passed over; after it every row
    is a record, but for empty lines.  Rows end as that of the header does: any other line break is
    in a cell, and so is that one in quotes.  Cells beyond the header are ignored and those that a
    row lacks are empty.  A record's number is that of its last line.

    One that ``is_checked``, for studies, is refused if it is no UTF-8, or a row is incomplete or
    misquoted; lines that begin with ``#`` and rows of empty cells are passed over everywhere.
    """

    def __init__(self, path, reading):
        super().__init__(path, reading)
        self.is_checked = reading.is_checked
        if self.is_checked:
            try:
                Path(path).read_text(encoding="utf-8")
            except UnicodeDecodeError as problem:
                raise DataError(
                    f"{path}: it is not UTF-8 text ({problem}): save it as UTF-8"
                ) from problem
        self._encoding = _encoding(path)
        with self._opened("") as text, _long_cells():
            before, first = [], text.readline()
            while first and (not first.strip() or first.startswith("#")):
                before.append(first)
                first = text.readline()
            header = [first]
            # A quoted name may hold line breaks: the last cell is in quotes that are open.
            open_quote = r'(?:^|[,;\t])"(?:[^"]|"")*$'
            while re.search(open_quote, "".join(header)) and (line := text.readline()):
                header.append(line)
            unquoted = re.sub('"[^"]*"', "", "".join(header))
            # Commas before others, where there are as many.
            self.delimiter = max(",;\t", key=unquoted.count)
            reader = csv.reader(header, delimiter=self.delimiter)
            cells = next(reader, [])
            taken = header[: reader.line_num]
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

    def blocks(self, names):
        places, width = [self.names.index(name) for name in names], len(self.names)
        for lines, cells, _ in self._parts():
            yield lines, [cells[at::width] for at in places]

    def records(self, names):
        """Line of each record, its last one, and the texts in columns, empty for no value."""
        for lines, columns in self.blocks(names):
            yield from zip(lines, map(list, zip(*columns, strict=True)), strict=True)

    def odd_rows(self):
        """First and last line and cells of each record that is not plain: of quotes, or uneven."""
        for *_, rows in self._parts():
            yield from rows

    def _parts(self):
        """Blocks of lines: last lines of records, cells of them all in turn, and `odd_rows`.

        A quote that is not closed is refused: the file is no table.  Programs that write quotes as
        CSV has them write no such file, whatever a record holds.
        """
        with self._opened(self._end) as text, nullcontext() if self.is_checked else _long_cells():
            text.read(self._start)
            self._line = self._header_row
            while block := list(itertools.islice(text, AT_ONCE)):
                yield self._part(block, text)

    def _part(self, block, text):
        """One of `_parts`; its last row may go on in the text behind it."""
        # Both plain lines and the csv module take lines from here, and no more than they need.
        rest = itertools.chain(block, text)
        rows = csv.reader(self._marked(rest), delimiter=self.delimiter, strict=self.is_checked)
        lines: list = []
        cells: list = []
        odd, at, width = [], 0, len(self.names)
        for index in [*self._odd(block), len(block)]:
            # Others are in a row that began before them.
            if index > at:
                cells += self._split("".join(itertools.islice(rest, index - at)))
                lines += range(self._line + 1, self._line + 1 + index - at)
                self._line += index - at
            if at <= index < len(block):
                before, start = rows.line_num, self._line + 1
                found = self._row(rows, start)
                if self._is_record(found, start):
                    odd.append((start, self._line, found))
                    lines.append(self._line)
                    cells += (found + [""] * width)[:width]
                index += rows.line_num - before
            at = max(at, index)
        return lines, cells, odd

    def _odd(self, block):
        """Places in a block of lines that are no plain rows: as many cells as the header, no more.

        A plain row has no quotation marks but about whole cells, and ends as the header does.
        """
        number, end, text = len(self.names) - 1, self._end, "".join(block)
        if self.is_checked or not number:
            return range(len(block))
        # The last line of a file may end without one.
        breaks = text.count("\r") + text.count("\n") if text.endswith(end) else 0
        if '"' not in text and breaks == len(end) * len(block):
            return [at for at, line in enumerate(block) if line.count(self.delimiter) != number]
        is_plain = self._plain.fullmatch
        return [at for at, line in enumerate(block) if not is_plain(line)]

    @cached_property
    def _plain(self):
        """The pattern of a plain row."""
        other = f'[^"{self.delimiter}\r\n]*'
        cell = f'(?:"{other}"|{other})'
        return re.compile(f"{cell}(?:{self.delimiter}{cell}){{{len(self.names) - 1}}}{self._end}")

    def _split(self, text):
        """Cells of plain rows."""
        cells = text.removesuffix(self._end).replace(self._end, self.delimiter)
        return cells.replace('"', "").split(self.delimiter)

    def _row(self, rows, start):
        """Cells of the next row, which begins in a line."""
        try:
            cells = next(rows)
        except csv.Error as problem:
            if not self.is_checked:
                raise
            raise DataError(
                f"{self.path}, row {self._line}: it is not comma-separated text ({problem}): "
                "correct it"
            ) from problem
        if cells and cells[-1].endswith(END):
            raise self._unclosed(start, cells)
        return [restored(cell, self._end) for cell in cells]

    def _is_record(self, cells, start):
        """Whether a row is one; a `DataError` says that it should be and is not complete."""
        number = len(self.names)
        if not self.is_checked:
            # In a table of several columns a row of blanks alone is an empty line.
            return bool(cells) and (len(cells) > 1 or bool(cells[0].strip()) or number == 1)
        if not "".join(cells).strip():
            return False
        if len(cells) < number or "".join(cells[number:]).strip():
            one = ", as its lines end otherwise than the header" if self._line > start else ""
            raise DataError(
                f"{self.path}, row {self._line}: it has another number of columns than the "
                f"header's {number}{one}: complete or remove the row"
            )
        return True

    def joined_rows(self):
        """A sentence in a list on lines that are no rows, as they end otherwise than the header."""
        for first, last, cells in self.odd_rows():
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


def end_of(line, path):
    """The line break at the end of the header of a file; where it has none a line feed."""
    found = BREAK.search(line, max(len(line) - 2, 0))
    if found is None:
        return "\n"
    if found[0] == "\r\n":
        # The line feed may be the first character of a record, where rows end in a return alone: so
        # does the last one then.
        with open(path, "rb") as file:
            file.seek(-1, 2)
            return "\r" if file.read() == b"\r" else "\r\n"
    return found[0]


def number_of_breaks(text):
    """How many line breaks of any kind a text has, as an editor counts them."""
    return len(BREAK.findall(text)) if "\n" in text or "\r" in text else 0


def marked(line, end):
    """A line, its end as a line feed, and other breaks in it as characters that end no line."""
    body = line.removesuffix(end)
    if "\r" in body or "\n" in body:
        return body.replace("\r", RETURN).replace("\n", FEED) + "\n"
    return f"{body}\n"


def restored(cell, end):
    """What a cell of `marked` lines held."""
    if cell.isascii() and "\n" not in cell:
        return cell
    return cell.replace("\n", end).replace(RETURN, "\r").replace(FEED, "\n")


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
    # The least of what every platform takes.
    before = csv.field_size_limit(2**31 - 1)
    try:
        yield
    finally:
        csv.field_size_limit(before)
