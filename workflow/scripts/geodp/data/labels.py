"""Labels of subjects in few bytes each, and the first record of each label."""

from collections.abc import Sequence

import numpy as np

from geodp.data.large import AT_ONCE, Rows, in_turn, settle

# Bytes of a label that are kept in an array, and in how many of these its width grows.
SHORT, WORD = 40, 8

# An odd number whose multiples have bits in no order, and how far these are shifted.
FACTOR, SHIFT = np.uint64(0x9E3779B97F4A7C15), np.uint64(29)

# Largest number of bits of a hash that tell files apart, and bytes of each file kept in memory.
MOST_BITS, PART = 7, 1 << 19


class Labels(Sequence):
    """Labels as texts, and ``None`` for one that is missing or blank.

    ``others`` has by record those that are long, or texts of their own kind.
    """

    def __init__(self, labels=()):
        self._rows, self._cells = Rows((), f"S{WORD}"), None
        self._number, self.others = 0, {}
        for start in range(0, len(labels), 1 << 16):
            self.add(labels[start : start + (1 << 16)])

    def __len__(self):
        return self._number

    def __getitem__(self, place):
        if isinstance(place, slice):
            return [self[each] for each in range(self._number)[place]]
        place = range(self._number)[place]
        found = self.others.get(place)
        return (self.cells[place].decode() or None) if found is None else found

    def __eq__(self, other):
        return list(self) == list(other)

    __hash__ = None  # type: ignore[assignment]

    @property
    def cells(self):
        """Short labels in UTF-8 (n,), empty for others."""
        if self._cells is None:
            self._cells = self._rows.array()
        return self._cells

    def add(self, labels):
        """Add a list of texts, or ``None``."""
        texts = [label or "" for label in labels]
        try:
            cells = np.array(texts, dtype=f"S{SHORT}")
            lengths = np.fromiter(map(len, texts), dtype=int, count=len(texts))
        except UnicodeEncodeError:
            coded = list(map(_encoded, texts))
            cells = np.array(coded, dtype=f"S{SHORT}")
            lengths = np.fromiter(map(len, coded), dtype=int, count=len(texts))
        self._add(cells, lengths, texts.__getitem__)

    def add_ascii(self, characters, offsets):
        """Add labels that lie one behind the other in an array of bytes below 128."""
        lengths = np.diff(offsets)
        cells = np.zeros((len(lengths), SHORT), dtype=np.uint8)
        # Each by its own length: a long one beside it changes nothing.
        short = lengths <= SHORT
        some = characters[offsets[0] : offsets[-1]][np.repeat(short, lengths)]
        cells[np.arange(SHORT) < np.where(short, lengths, 0)[:, None]] = some

        def text(place):
            return characters[offsets[place] : offsets[place + 1]].tobytes().decode()

        self._add(cells.view(f"S{SHORT}")[:, 0], lengths, text)

    def _add(self, cells, lengths, text):
        """Add cells, but for those whose text has another number of bytes, or is blank."""
        kept = np.char.str_len(cells) == lengths
        first = cells.view(np.uint8).reshape(-1, SHORT)[:, 0]
        blank = [
            place
            for place in np.flatnonzero(kept & ((first <= ord(" ")) | (first >= 128)))
            if lengths[place] and not text(place).strip()
        ]
        for place in np.flatnonzero(~kept):
            if (label := text(place)).strip():
                self.others[self._number + int(place)] = label
        cells[blank], cells[~kept] = b"", b""
        width = -(-int(np.max(lengths, where=kept, initial=1)) // WORD) * WORD
        if width > self._rows.dtype.itemsize:
            before, self._rows = self._rows.array(), Rows((), f"S{width}")
            for start in range(0, len(before), AT_ONCE):
                self._rows.add(before[start : start + AT_ONCE])
                settle(before)
        self._rows.add(cells)
        self._number, self._cells = self._number + len(cells), None


def _encoded(text):
    """A text as UTF-8; one longer than is kept where it is none."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        return bytes(SHORT + 1)


def add_first_records(cells, found, empty=b"", compared=1 << 18):
    """Put the first record with the same cell, from 1, in ``found`` (n,), but for empty cells.

    Of an array (n,) of bytes or of whole numbers.  About so many are ``compared`` at once, or more
    where there are very many.
    """
    width = cells.itemsize // WORD
    words = np.ascontiguousarray(cells).view(np.uint64).reshape(len(cells), width)
    # By their first bits, so that what is sorted is small, and lies together.
    bits = min(max(len(cells) // compared, 1).bit_length() - 1, MOST_BITS)
    parts = [Rows((1 + width,), np.uint64, PART) for _ in range(1 << bits)]
    for some in in_turn(cells):
        there = np.ones(len(cells[some]), dtype=bool) if empty is None else cells[some] != empty
        rows = some.start + np.flatnonzero(there)
        both = np.column_stack([rows.astype(np.uint64), words[rows]])
        if bits:
            part = (_hashes(both[:, 1:]) >> np.uint64(64 - bits)).astype(np.uint8)
            order = np.argsort(part, kind="stable")
            ends = np.searchsorted(part[order], np.arange(1, 1 << bits))
            blocks = np.split(both[order], ends)
        for each, block in zip(parts, blocks if bits else [both], strict=True):
            # A part of a block would keep the whole of it.
            each.add(block.copy())
    while parts:
        _add_of_part(parts.pop().array(), found)


def _add_of_part(part, found, at_once=1 << 20):
    """First records with the same cell, for `add_first_records`, of a part (n, 1 + words).

    It has the row of each record, in ascending order, and its cell.  Records are compared
    ``at_once``, with the first ones of all before, since a few cells may have most records.
    """
    known = part[:0]
    for start in range(0, len(part), at_once):
        both = np.concatenate([known, part[start : start + at_once]])
        settle(part)
        rows, first = both[:, 0].astype(np.int64), _first_alike(both[:, 1:])
        for some in in_turn(rows, found):
            found[rows[some]] = rows[first[some]] + 1
        known = both[first == np.arange(len(both))]


def _first_alike(words):
    """Index (n,) of the first of rows of words (n, k) that are the same."""
    hashes = _hashes(words)
    order = np.argsort(hashes, kind="stable")
    ordered = hashes[order]
    # Behind the first of those with one hash.
    again = np.flatnonzero(ordered[1:] == ordered[:-1]) + 1
    starts = np.arange(len(order))
    starts[again] = 0
    first = np.empty_like(order)
    first[order] = order[np.maximum.accumulate(starts)]
    later = order[again]
    # Of different cells with one hash, which hardly ever happens, those alike are found.
    for each in later[np.any(words[later] != words[first[later]], axis=1)]:
        same = order[ordered == hashes[each]]
        first[each] = same[np.all(words[same] == words[each], axis=1)][0]
    return first


def _hashes(words):
    """A hash (n,) of each row of words (n, k)."""
    found = np.zeros(len(words), dtype=np.uint64)
    for word in words.T:
        found = (found ^ word) * FACTOR
        found ^= found >> SHIFT
    return found
