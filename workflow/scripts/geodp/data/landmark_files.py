"""Landmarks in the files of morphometrics: .tps, .nts and morphologika.

They are tables as those of `geodp.data.table`: a specimen is a record, with columns ``x1, y1, ...``
of its landmarks, ``centroid_size``, and what else the format states.  A missing landmark, or one of
a code that programs write for it, is two empty cells.
"""

import itertools
import re
from abc import abstractmethod

import numpy as np

from geodp.data.cells import TableReading, finite_number
from geodp.data.checks import MISSING_CODES
from geodp.data.columns import landmark_columns
from geodp.data.messages import RecordFile, landmarks_error
from geodp.data.table import Table
from geodp.data.text_tables import end_of
from geodp.errors import DataError


class _LandmarkReading(TableReading):
    """As of other tables, where what is wrong with landmarks stands in place of their numbers."""

    def fault(self, text, name):
        if not text.startswith("it has "):
            return super().fault(text, name)
        is_negative = "below zero" in text
        return f"{text} (move the origin of specimens that lack none)" if is_negative else text


class LandmarkFile(Table):
    """A file of landmarks of so many a specimen; what it states besides them are ``fields``."""

    fields: tuple[str, ...] = ()
    # Numbers that digitisers write twice for a missing landmark; NA and the like are no numbers.
    codes: tuple[float, ...] = (*MISSING_CODES, -999.0)

    def __init__(self, path, reading):
        super().__init__(path, _LandmarkReading(**vars(reading)))
        if reading.landmarks is None:
            raise landmarks_error(path)
        self.source = RecordFile(path, "specimen", "value")
        with self._opened("") as text:
            # Lines end as the first does, whatever is in a specimen.
            self._end = end_of(next(filter(self._is_header, text), ""), path)
        self._columns = landmark_columns(reading.landmarks)
        self.names = [*self._columns, "centroid_size", *self.fields]

    def records(self, names):
        """Number of each specimen, and the texts in columns, empty for no value."""
        wanted = len(self._columns) // 2
        for number, (landmarks, fields) in enumerate(self._specimens(), start=1):
            texts = [text for pair in landmarks for text in self._pair(pair)]
            if len(landmarks) == wanted:
                cells = texts
            else:
                said = f"it has {len(landmarks)} landmarks in place of {wanted}"
                cells = [said, *[""] * (2 * wanted - 1)]
            values = dict(zip(self._columns, cells, strict=True)) | fields
            if "centroid_size" in names:
                values["centroid_size"] = self._centroid_size(texts, fields.get("SCALE", "1"))
            yield number, [values.get(name, "") for name in names]

    def _pair(self, texts):
        """The texts of a landmark, empty ones for one that is missing."""
        numbers = list(map(self.reading.number, texts))
        if len(texts) != 2 or None in numbers:
            return "", ""
        return ("", "") if numbers[0] == numbers[1] and numbers[0] in self.codes else texts

    def _centroid_size(self, texts, scale):
        """The root of the summed squared distances of landmarks from their middle, as text."""
        *numbers, factor = map(self.reading.number, [*texts, scale])
        if factor is None:
            return "it has no number as its SCALE"
        if not numbers or None in numbers:
            return ""
        points = np.reshape(numbers, (-1, 2))
        return self.reading.shown(float(factor * np.linalg.norm(points - points.mean(axis=0))))

    @abstractmethod
    def _specimens(self):
        """Pairs of texts of the landmarks of each specimen, and its fields."""

    def _opened(self, newline):
        return open(self.path, encoding="utf-8-sig", errors="surrogateescape", newline=newline)

    def _is_header(self, line):
        return bool(line.strip())

    def _lines(self, keep_blank=False):
        with self._opened(self._end) as text:
            for line in text:
                if line.strip() or keep_blank:
                    yield line.strip()

    def _tokens(self, lines):
        blanks = r"\s+" if self.reading.decimal == "," else r"[\s,]+"
        return [word for line in lines for word in re.split(blanks, line) if word]


class TpsFile(LandmarkFile):
    """Landmarks of tpsDig: ``LM=8``, a landmark a line, then ``ID=`` and the like.

    ``SCALE=`` multiplies centroid sizes.  Curves and outlines are left out.
    """

    fields = ("ID", "IMAGE", "SCALE", "COMMENT", "VARIABLES")
    codes = (*LandmarkFile.codes, -1.0)

    def _specimens(self):
        found, left = None, 0
        for line in self._lines():
            key, is_field, value = line.partition("=")
            key = key.strip().upper()
            if is_field and key in ("LM", "LM3"):
                if found is not None:
                    yield found
                found, left = ([], {}), int(finite_number(value) or 0)
            elif found is None:
                continue
            elif is_field:
                # Points of curves follow a key of their own.
                left = 0
                found[1].setdefault(key, value.strip())
            elif left:
                found[0].append(line.split())
                left -= 1
        if found is not None:
            yield found

    def left_out(self):
        """Sentences on curves, and on specimens without a scale if others have one."""
        kinds, said = {"CURVES", "OUTLINES", "POINTS"}, []
        each = [fields for _, fields in self._specimens()]
        if number := sum(not kinds.isdisjoint(fields) for fields in each):
            said.append(f"{self.path}: curves or outlines of {number} specimens are left out")
        if 0 < (lacking := sum("SCALE" not in fields for fields in each)) < len(each):
            said.append(
                f"{self.path}: {lacking} of {len(each)} specimens have no SCALE, so that their "
                "centroid_size is in another unit than that of the others"
            )
        return said

    def _pair(self, texts):
        """As of other files; two other numbers below zero may be a missing landmark, too."""
        if len(texts) == 3:
            return "it has three numbers a landmark, as those in space (LM3)", ""
        pair = super()._pair(texts)
        if all((self.reading.number(text) or 0.0) < 0.0 for text in pair):
            # Of 60 characters at most, since longer texts are cut where they are told.
            return "it has two numbers below zero, as tpsDig marks missing ones", ""
        return pair


class NtsFile(LandmarkFile):
    """A matrix of NTSYS: ``1 20L 16 0 DIM=2`` (specimens, numbers of each), labels, numbers."""

    fields = ("ID",)

    def __init__(self, path, reading):
        super().__init__(path, reading)
        header = next(self._content(), "")
        found = re.match(r"1\s+(\d+)(L?)\s+(\d+)(L?)\s+([01])(?:\s+(?!DIM)(\S+))?", header, re.I)
        dim = re.search(r"DIM\s*=\s*(\d)", header, re.I)
        if found is None or (dim and dim[1] != "2"):
            raise DataError(
                f"{path}: its first line is not that of a matrix of planar landmarks: write it "
                "like 1 20L 16 0 DIM=2"
            )
        self._size = int(found[1]), int(found[3])
        if self._size[1] != len(self._columns):
            raise DataError(
                f"{path}: its specimens have {self._size[1]} numbers, and {reading.landmarks} "
                f"landmarks {len(self._columns)}: make the numbers of landmarks equal"
            )
        self._labelled, self._missing = (bool(found[2]), bool(found[4])), found[6]

    def _is_header(self, line):
        return line.strip()[:1] not in ("", '"', "'")

    def _content(self):
        # Comments stand before the header; below it a mark may begin a label.
        return itertools.dropwhile(lambda line: not self._is_header(line), self._lines())

    def _specimens(self):
        _, *lines = self._content()
        (number, size), (has_labels, has_names) = self._size, self._labelled
        labels, lines = self._split(lines, number * has_labels)
        _, lines = self._split(lines, size * has_names)
        each, rest = divmod(len(lines), max(number, 1))
        if rest or (number and not each):
            raise DataError(
                f"{self.path}: it has {len(lines)} lines of numbers for {number} specimens: write "
                "each specimen on as many lines of its own"
            )
        for index in range(number):
            row = self._tokens(lines[index * each : (index + 1) * each])
            row = ["" if word == self._missing else word for word in row]
            pairs = [row[at : at + 2] for at in range(0, len(row), 2)]
            if len(row) != size:
                # All after a word too few or too many are shifted: none is a landmark, and there
                # are not as many as there should be.
                pairs = [[]] * (len(row) + (2 * len(row) == size))
            yield pairs, {"ID": labels[index] if labels else ""}

    def _split(self, lines, number):
        """So many words, on lines of their own or several a line, and the lines after them."""
        found: list = []
        taken = 0
        while len(found) < number and taken < len(lines):
            # Commas may be in labels.
            found += lines[taken].split()
            taken += 1
        if len(found) != number:
            raise DataError(
                f"{self.path}: {number} labels do not end where their lines do, which have "
                f"{len(found)} words: give each label without a blank in it, and none left out"
            )
        return found, lines[taken:]


class MorphologikaFile(LandmarkFile):
    """Landmarks of morphologika: sections ``[individuals]``, ``[landmarks]``, ``[names]``, ..."""

    fields = ("ID",)

    def __init__(self, path, reading):
        super().__init__(path, reading)
        # What stands before the names and values of specimens.
        found = self._sections()
        if self._tokens(found.get("dimensions", [])) not in ([], ["2"]):
            raise DataError(f"{path}: its landmarks are not in the plane: give planar ones")
        self._labels = self._tokens(found.get("labels", []))
        self.names += self._labels

    def _sections(self):
        """Lines of each section; of names and values one a specimen, whatever is in it."""
        found: dict = {}
        lines, left = [], 0
        # Whatever else stands in brackets is a name.
        known = ["individuals", "landmarks", "dimensions", "names", "labels", "labelvalues"]
        known += ["rawpoints", "wireframe", "polygons"]
        for line in self._lines(keep_blank=True):
            name = line.strip("[]").strip().casefold()
            if left or "rawpoints" in found or line[:1] != "[" or name not in known:
                lines.append(line)
                left = max(left - 1, 0)
                continue
            lines = found.setdefault(name, [])
            if name in ("names", "labelvalues"):
                left = int(finite_number("".join(found.get("individuals", []))) or 0)
        return found

    def _specimens(self):
        found = self._sections()
        names, values = found.get("names", []), found.get("labelvalues", [])
        specimens: list = []
        within: list = []
        for line in found.get("rawpoints", []):
            # A quotation mark stands before the points of a specimen, which another section ends.
            if line.startswith(("'", "[")):
                within = []
                specimens += [within] * (line[0] == "'")
            elif line:
                within.append(self._tokens([line]))
        for index, points in enumerate(specimens):
            labels = self._tokens(values[index : index + 1])
            fields = dict(zip(self._labels, labels, strict=False))
            yield points, {"ID": names[index] if index < len(names) else "", **fields}
