"""Tables of arrays with a record an entry, in files of NumPy (.npz) and MATLAB (.mat)."""

import math
import zipfile
from collections import Counter

import numpy as np

from geodp.data.cells import as_text
from geodp.data.messages import RecordFile, opened
from geodp.data.table import ColumnTable
from geodp.errors import DataError


class ArrayTable(ColumnTable):
    """Arrays of a .npz file, each with a record an entry of its first axis.

    An array of more axes stands for all its numbers, row by row, a complex one for its real and
    imaginary parts in turn.
    """

    what = "a .npz file of numbers and texts"
    layouts = "n x k x 2, or complex n x k"

    def __init__(self, path, reading):
        super().__init__(path, reading)
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

    def _unfit(self, name, kind):
        own, shape = self._types[name], self._shapes[name]
        if own.kind not in {"numbers": "biufc", "dates": "SUM"}.get(kind, "biufSUmM"):
            return str(own)
        if not shape or (kind != "numbers" and len(shape) > 1):
            return f"an array of {len(shape)} axes"
        if kind == "numbers" and self._is_unclear(name):
            raise DataError(
                f"{self.path}: {self.source.field_word} {name} is {' x '.join(map(str, shape))}: "
                f"give landmarks as {self.layouts}"
            )
        return None

    def _is_unclear(self, name):
        """Whether the shape of an array is none of landmarks."""
        shape = self._shapes[name]
        return self.reading.landmarks is not None and len(shape) > 2 and shape[2:] != (2,)

    def _loaded(self, names):
        with self._opened(), np.load(self.path, allow_pickle=False) as file:
            return {name: file[name] for name in names}

    def _types_of(self, label):
        return self._loaded([label])[label]

    def _numbers(self, array):
        rows = array.reshape(len(array), math.prod(array.shape[1:]))
        parts = (rows.real, rows.imag) if np.iscomplexobj(rows) else (rows,)
        return [part[:, index] for index in range(rows.shape[1]) for part in parts]

    def _labels(self, array):
        if array.dtype.kind == "U":
            return _characters(array)
        if array.dtype.kind not in "mM":
            return array.tolist()
        times = array.view(np.int64).tolist()
        return [None if gone else time for gone, time in zip(np.isnat(array), times, strict=True)]

    def _texts(self, array):
        if array.dtype.kind in "biufc":
            return [list(map(self.reading.shown, part.tolist())) for part in self._numbers(array)]
        if array.dtype.kind in "mM":
            array = np.where(np.isnat(array), "", array.astype(str))
        return super()._texts(self._labels(array))

    def _opened(self):
        return opened(self.path, self.what, "SciPy", "formats")


class MatTable(ArrayTable):
    """Arrays of a MATLAB file (not of version 7.3), as those of `ArrayTable`.

    Records of studies may be along the last axis, too, if it has as many entries as most vectors.
    A cell array has a text, a number, or landmarks of each record: k x 2 or k complex numbers.
    Releases read neither cells nor texts, since one that SciPy cannot decode is an error of all.
    """

    what = "a .mat file (of version 7.3: save it in MATLAB or Octave with the -v7 option)"
    layouts = "n x k x 2 or k x 2 x n, or, for n other than k, complex n x k or k x n"
    _unread = ("struct", "object", "function", "opaque", "sparse", "unknown")

    def _read_header(self):
        # Imported here since it is slow to import.
        from scipy.io import loadmat, whosmat

        self.source = RecordFile(self.path, "record", "variable")
        unread = self._unread if self.reading.is_checked else (*self._unread, "char", "cell")
        self._kinds = {name: kind for name, _, kind in whosmat(self.path)}
        known = [name for name, kind in self._kinds.items() if kind not in unread]
        found = loadmat(self.path, variable_names=known)
        arrays = {name: self._as_stated(name, np.array(found.get(name))) for name in self._kinds}
        lengths = Counter(len(each) for each in arrays.values() if each.ndim == 1 < len(each))
        # How many records there are may be private: those of releases are along the first axis.
        usual = lengths.most_common(1) if self.reading.is_checked else []
        [(self._usual, _)] = usual or [(0, 0)]
        self._arrays = {name: self._by_record(array) for name, array in arrays.items()}
        self._shapes = {name: array.shape for name, array in self._arrays.items()}
        self._types = {name: array.dtype for name, array in self._arrays.items()}

    def _as_stated(self, name, array):
        """An array of the type that the file states; SciPy makes whole numbers where all are."""
        kinds = {"double": float, "single": np.float32}
        if self._kinds[name] in kinds and array.dtype.kind != "c":
            array = array.astype(kinds[self._kinds[name]])
        # One without records may be of no rows and one column.
        is_vector = max(array.shape, default=0) in (array.size, array.size + 1)
        return array.ravel() if is_vector and array.ndim else array

    def _by_record(self, array):
        if array.ndim < 2:
            return _texts_of_cells(array) if array.dtype.kind == "O" and array.ndim else array
        first, *others, last = array.shape
        is_last = last == self._usual and (first != last or others == [2])
        return np.moveaxis(array, -1, 0) if is_last else array

    def _unfit(self, name, kind):
        axes = len(self._shapes[name])
        if not axes:
            return f"{self._kinds[name]} and not as numbers"
        if self._types[name].kind not in "OU":
            return super()._unfit(name, kind)
        return f"an array of {axes} axes" if kind != "numbers" and axes > 1 else None

    def refuse_unfit(self, numbers, labels):
        named = [*numbers, *labels]
        is_alone = len(named) == 1 and (self.reading.length or 1) > 1
        is_row = is_alone and len(self._shapes[named[0]]) == 1
        if is_row or any(self._shapes[name] == (1,) for name in named):
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
    # Where some have landmarks a value alone has none.
    least = 1 if all(part.size <= 1 for part in parts) else 0
    rows = [_texts_of_cell(part, least) for part in parts]
    width = max(map(len, rows), default=1)
    # What is no landmarks is said of each.
    rows = [row * width if len(row) == 1 else row + [""] * (width - len(row)) for row in rows]
    found = np.array(rows, dtype=object).reshape(len(rows), width)
    return found[:, 0] if width == 1 else found


def _texts_of_cell(part, least):
    """The text of a value, those of the coordinates of landmarks, or what else there is."""
    kind, shape = part.dtype.kind, part.shape
    if kind == "c" and part.size == max(shape, default=0):
        part = np.stack([part.real, part.imag], axis=-1)
    elif part.size > least and (kind not in "biuf" or part.ndim != 2 or shape[1] != 2):
        return [f"a cell of {' x '.join(map(str, shape))}"]
    return list(map(as_text, part.ravel().tolist())) or [""]
