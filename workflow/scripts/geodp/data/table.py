"""Base classes of tables of records in all formats, and two tables joined by labels.

A row is a record whatever is in it, and each cell is read by itself, by `geodp.data.cells`.
"""

import itertools
from abc import ABC, abstractmethod
from collections import Counter
from dataclasses import replace
from typing import Any

import numpy as np

from geodp.data.cells import are_lost, as_text, cells_of, simple_label
from geodp.data.dates import DATE_TYPES
from geodp.data.labels import Labels
from geodp.data.large import Rows
from geodp.data.messages import RecordFile
from geodp.errors import DataError

# Records that are read at once, and lines of text.
AT_ONCE = 1 << 12


class Table(ABC):
    """A file with a record a row, of which only the header is read when it is opened.

    ``names`` are its columns, ``source`` a `RecordFile`, and ``place`` where the names stand, for
    messages.
    """

    names: list

    # Numbers of the records, once they were read.
    rows: range | list = range(0)

    # What to add where a column is not there.
    hint = ""

    def __init__(self, path, reading):
        self.path, self.source, self.place = path, RecordFile(path), path
        self.reading = reading

    def numbered(self, columns):
        """Names of the numbers in columns: their own but for arrays of more than one axis."""
        return columns

    def _unfit(self, name, kind):
        """The type that the file states for a column, if it holds no numbers, labels or dates."""
        return None

    def refuse_unfit(self, numbers, labels):
        """Refuse columns whose type, as the file states it, cannot hold numbers or labels.

        The `DataError` depends on no record.
        """
        kinds = dict.fromkeys(self.reading.categories, "words")
        kinds |= dict.fromkeys(self.reading.dates, "dates")
        wanted = [(name, kinds.get(name, "numbers")) for name in numbers]
        wanted += [(name, "labels") for name in labels]
        for name, kind in wanted:
            unfit = self._unfit(name, kind)
            if unfit is not None:
                word = self.source.field_word
                is_date = kind == "numbers" and DATE_TYPES.match(unfit)
                hint = "; data.dates makes numbers of those of a covariate" if is_date else ""
                what = "text" if kind == "words" else kind
                raise DataError(
                    f"{self.path}, {word} {name}: the file states its type as {unfit}, and {kind} "
                    f"are wanted: save it as {what}, or name another {word}{hint}"
                )

    def left_out(self):
        """A sentence in a list on what a file has besides its columns."""
        return []

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
        labels, names = Labels(), self.numbered(columns)
        numbers, self.rows = Rows((len(names),)), []
        for rows, texts in self.blocks([*columns, *([label] if label else [])]):
            self.rows += rows
            if label:
                labels.add(texts.pop())
            both = zip(texts, names, strict=True)
            numbers.add(np.stack([self.reading.values(*each) for each in both], axis=-1))
        return numbers.array(), labels if label else None

    def texts(self, names, places):
        """The texts in columns of the records at places, by these."""
        found: dict = {}
        start, end = 0, max(places, default=-1)
        blocks = self.blocks(names)
        while start <= end and (block := next(blocks, None)):
            rows, columns = block
            here = [place for place in places if start <= place < start + len(rows)]
            found |= {place: [each[place - start] for each in columns] for place in here}
            start += len(rows)
        return found

    def blocks(self, names):
        """Numbers of records and the texts in columns, lists, of `AT_ONCE` records."""
        records = self.records(names)
        while some := list(itertools.islice(records, AT_ONCE)):
            rows, texts = zip(*some, strict=True)
            yield list(rows), list(map(list, zip(*texts, strict=True)))


class ColumnTable(Table):
    """A table of columns, which are loaded as they are."""

    rows: range | list = range(1, 2**62)

    @abstractmethod
    def _loaded(self, names):
        """Columns by name, of the file's own kind."""

    def _numbers(self, column):
        """Arrays of numbers, one or several, of a loaded column; NaN for what is missing."""
        return [list(map(self.reading.value, cells_of(column)))]

    def _labels(self, column):
        """Labels of a loaded column."""
        return map(as_text, cells_of(column))

    def _texts(self, column):
        """Lists of texts, one or several, of a loaded column."""
        return [list(map(self.reading.shown, cells_of(column)))]

    def _types_of(self, label):
        return cells_of(self._loaded([label])[label])

    def records(self, names):
        """Number of each record, and the texts in columns, empty for no value."""
        columns = self._loaded(names)
        texts = [each for name in names for each in self._texts(columns[name])]
        yield from zip(self.rows, map(list, zip(*texts, strict=True)), strict=False)

    def texts(self, names, places):
        found: dict = {}
        wanted, start = np.array(places, dtype=int), 0

        def add(loaded):
            nonlocal start
            end = start + len(loaded[names[0]])
            here = wanted[(wanted >= start) & (wanted < end)]
            some = (_taken(loaded[name], here - start) for name in names)
            texts = [each for column in some for each in self._texts(column)]
            found.update(zip(here.tolist(), map(list, zip(*texts, strict=True)), strict=True))
            start = end

        if names and len(wanted):
            self._in_turn(names, add)
        return found

    def read(self, columns, label=None):
        """Numbers in columns, and labels; see `Table.read`."""
        names = [*columns, *([label] if label else [])]
        numbers = Rows((len(self.numbered(columns)),))
        labels: Any = None if label is None else []

        def add(loaded):
            nonlocal labels
            numbers.add(self._read_numbers(loaded, columns))
            if label:
                labels = self._named(loaded[label], labels)

        self._in_turn(names, add)
        labels = labels.array() if isinstance(labels, Rows) else labels
        return numbers.array(), labels

    def _in_turn(self, names, function):
        """Call a function with loaded columns of some records at a time."""
        function(self._loaded(names))

    def _read_numbers(self, loaded, columns):
        """Numbers (n, k) in loaded columns."""
        found: list = []
        for name in columns:
            if self.reading.are_texts(name):
                [texts] = self._texts(loaded[name])
                found.append([self.reading.value(text, name) for text in texts])
            else:
                found += self._numbers(loaded[name])
        with np.errstate(all="ignore"):
            return np.stack([np.asarray(each, dtype=float) for each in found], axis=-1)

    def _named(self, column, before):
        """Labels in a column behind those ``before``, ``None`` for a missing or blank one."""
        for cell in self._labels(column):
            is_named = bool(cell.strip()) if isinstance(cell, str | bytes) else cell == cell
            before.append(cell if is_named else None)
        return before


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
        first, second = self.parts
        tables = ((first if name in first.names else second, name) for name in columns)
        return [each for table, name in tables for each in table.numbered([name])]

    def refuse_unfit(self, numbers, labels):
        """Refuse columns of either table; see `Table.refuse_unfit`."""
        first, second = self.parts
        first.refuse_unfit([name for name in numbers if name in first.names], self._labels[:1])
        second.refuse_unfit([name for name in numbers if name not in first.names], self._labels[1:])

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

    def repeated(self):
        """Labels with several rows in the second table, of which the first counts."""
        rows = self.parts[1].records(self._labels[1:])
        counts = Counter(key for _, (key,) in rows if key.strip())
        return [key for key, number in counts.items() if number > 1]

    def unmatched(self):
        """Labels of the first table that the second lacks, each with one that is alike or None."""
        rows = self._joined([])
        alike = {simple_label(key): key for key in rows}
        keys = (key for _, (key,) in self.parts[0].records(self._labels[:1]))
        return {key: alike.get(simple_label(key)) for key in keys if key and key not in rows}

    def _joined(self, names):
        """Texts in columns of the second table, by label."""
        rows: dict = {}
        for _, (key, *texts) in self.parts[1].records([self._labels[1], *names]):
            if key.strip():
                rows.setdefault(key, texts)
        return rows


def _taken(column, places):
    """The cells of a column at places, as one of its kind."""
    if isinstance(column, list):
        return [column[place] for place in places]
    return column[places] if isinstance(column, np.ndarray) else column.take(places)
