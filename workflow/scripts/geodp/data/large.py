"""Arrays too large for memory, kept in a temporary file that no crash leaves behind."""

import math
import mmap
import os
import tempfile
from contextlib import contextmanager
from typing import Any

import numpy as np

# Bytes from which on an array is kept so, and from which on blocks that are added to one are.
LARGE, BLOCKS = 1 << 26, 1 << 22


class NoSpaceError(MemoryError):
    """A disk that is full, where arrays are kept outside of memory."""


class _Mapping(mmap.mmap):
    """A file of this module in memory."""


# Records after which what was read or written of such an array is taken out of memory.
AT_ONCE = 1 << 15


def large_array(shape, dtype=float, value=0, large=LARGE):
    """An array of a value, outside of memory if it is ``large``."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if size < large:
        return np.full(shape, value, dtype=dtype)
    with _file() as file:
        with _space():
            # A disk that is full is told here, and not where the array is written to.
            if hasattr(os, "posix_fallocate"):
                os.posix_fallocate(file.fileno(), 0, size)
            file.truncate(size)
        found = _mapped(file, shape, dtype)
    for start in range(0, len(found) if value != 0 else 0, some := max(len(found) >> 6, 1)):
        found[start : start + some] = value
        settle(found)
    return found


class Rows:
    """Rows of an array that are added in blocks; outside of memory from so many bytes on."""

    def __init__(self, shape, dtype=float, large=BLOCKS):
        self._shape, self.dtype, self._large = shape, np.dtype(dtype), large
        self._blocks: list = []
        self._number, self._held = 0, 0
        self._file: Any = None

    def add(self, block):
        """Add rows (n, *shape)."""
        self._blocks.append(np.ascontiguousarray(block, dtype=self.dtype))
        self._number += len(block)
        self._held += self._blocks[-1].nbytes
        if self._held >= self._large:
            self._file = self._file or _file()
            self._write()

    def _write(self):
        with _space():
            for block in self._blocks:
                self._file.write(block)
            self._file.flush()
        self._blocks, self._held = [], 0

    def array(self):
        """All rows (n, *shape)."""
        shape = self._number, *self._shape
        if self._file is None:
            return np.concatenate([np.empty((0, *self._shape), self.dtype), *self._blocks])
        self._write()
        with self._file:
            return _mapped(self._file, shape, self.dtype)


def in_turn(*arrays):
    """Slices of some of the first rows of arrays at a time, which are taken out of memory then."""
    for start in range(0, max(len(arrays[0]), 1), AT_ONCE):
        yield slice(start, start + AT_ONCE)
        settle(*arrays)


def indices_where(condition, array):
    """Indices of those of an array (n, ...) of which a condition, of some at a time, is true."""
    found = Rows((), np.int64)
    for some in in_turn(array):
        found.add(some.start + np.flatnonzero(condition(array[some])))
    return found.array()


def extremes(array):
    """Indices (..., k) of the least and of the largest of numbers (..., n, k), for each column."""
    found = []
    for choose, is_better in ((np.argmin, np.less), (np.argmax, np.greater)):
        index: Any = 0
        best: Any = np.take(array, 0, axis=-2)
        for start in range(0, array.shape[-2], AT_ONCE):
            some = array[..., start : start + AT_ONCE, :]
            here = choose(some, axis=-2)
            value = np.take_along_axis(some, here[..., None, :], axis=-2)[..., 0, :]
            better = is_better(value, best)
            index, best = np.where(better, start + here, index), np.where(better, value, best)
            settle(array)
        found.append(index)
    return found


def sampled(array, most=1 << 20, at_once=1 << 12):
    """A random sample of ``most`` rows of an array (n, ...), with replacement, or all of fewer.

    It is the same for all arrays of one length.  Rows at even steps would meet what repeats, such
    as visits.
    """
    if len(array) <= most:
        return array
    rows = np.sort(np.random.default_rng(0).integers(len(array), size=most))
    found = np.empty((most, *array.shape[1:]), dtype=array.dtype)
    for start in range(0, most, at_once):
        some = slice(start, start + at_once)
        found[some] = array[rows[some]]
        settle(array)
    return found


def finite_ones(numbers):
    """The finite ones of numbers (n,), `sampled`."""
    found = Rows((), numbers.dtype)
    for some in in_turn(numbers):
        each = numbers[some]
        found.add(each[np.isfinite(each)])
    return sampled(found.array())


def settle(*arrays):
    """Take what was read or written of arrays out of memory, if they are kept in a file."""
    for array in arrays:
        while isinstance(array, np.ndarray):
            array = array.base
        array = getattr(array, "obj", array)
        # Of a mapping of others what was written would be lost.
        if isinstance(array, _Mapping) and hasattr(mmap, "MADV_DONTNEED"):
            array.madvise(mmap.MADV_DONTNEED)


@contextmanager
def _space():
    """A context in which a disk that is full is a lack of memory."""
    try:
        yield
    except OSError as problem:
        raise NoSpaceError(
            f"{tempfile.gettempdir()} has no room for the records ({problem.strerror}): make room "
            "there, or name another folder in the environment variable TMPDIR"
        ) from None


def _file():
    with _space():
        return tempfile.TemporaryFile(prefix="geodp")


def _mapped(file, shape, dtype):
    return np.frombuffer(_Mapping(file.fileno(), 0), dtype=dtype).reshape(shape)
