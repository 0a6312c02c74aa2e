"""Neighbouring tables of records as programs write them, for record and replay; by Hypothesis.

A table is a list of rows, each of texts by column.  Its neighbour has other rows of one subject, or
differs in what must not matter: rows without a label, the order of subjects, and how it is written.
"""

from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
from hypothesis import strategies as st

from geodp.manifolds.registry import make_manifold
from geodp_release.assumptions import REPLACE
from reproduction.measurements.audit.writers import (
    COMMENT,
    FRAME,
    LABEL,
    LANDMARKS,
    NOBODY,
    fitting,
    written,
)

# Labels of different people, and of nobody.
LONG = ("12345678901234567", "12345678901234568", "9007199254740993")
PLAIN = (
    *"abcde",
    *LONG,
    "a ",
    " a",
    "A",
    "1",
    "1.0",
    "01",
    "True",
    "nan",
    "None",
    "NA",
    "#a",
    "a,b",
)
LABELS = (
    *PLAIN,
    *LONG,
    '"a"',
    "a\nb",
    "a\rb",
    "a\r",
    "a\0b",
    "a\0c",
    "\udcff",
    "\udcfe",
    "\ufffd",
    "é",
)
ALIKE = ("a", "a ", " a", "a\r", "A", "a\n", "\na")
# Texts in cells of numbers.
SMALL = ("0", "1", "0.5", "0.25", " 1 ", "+1", "1e0", "-0.0")
LARGE = ("1e5", "-1e5", "1e150", "1e308", "-1e308")
ODD = ("1e-320", "nan", "inf", "-inf", "", " ", "M", "0x10", "1_000", "1,5", "'", '"', "1\n2", "\0")
NUMBERS = (*SMALL, *LARGE, *ODD, "9" * 400, "\u0661", "\udcff", "1e999999999", "1" + "0" * 5000)

# Texts beside them; the last stands for rows of other people.
ROWS = "rows of others"
LINES = ("two\nlines", "two\r\nlines", "a lone\rreturn", 'she said "no"', '"', "a,b;c\td", "\0")
COMMENTS = (
    *("", "fine", *LINES, "\udc80", "#", "# no comment", "é" * 50, "x" * 2000, "\n\n\n"),
    *("\ufeff", "\nstarts", ROWS),
)

# Kinds of neighbours that differ in nothing that counts.
UNCHANGED = ("nobody", "order", "format")


def _near_singular(size, number=60):
    """Matrices that rounding makes points or not, and one that was in single precision."""
    rng = np.random.default_rng(size)
    noise = rng.normal(size=(number, size, 40))
    # After an average reference they are of less rank but for rounding.
    noise -= np.mean(noise, axis=1, keepdims=True)
    found = noise @ noise.swapaxes(1, 2) / 40.0
    found[: number // 4] += rng.choice([1e-12, 2e-12], size=(number // 4, 1, 1)) * np.eye(size)
    if size == 2:
        found[-1] = [[0.6, 0.7549834435270749], [0.7549834435270749, 0.95]]
    rounded = np.eye(size) + 0.1
    rounded[0, 1] = np.nextafter(np.float32(0.1), np.float32(1.0))
    return [*found, rounded]


@dataclass(frozen=True)
class Space:
    """Public inputs of releases that are replayed."""

    name: str  # Of the manifold.
    size: int
    columns: int  # Coordinates of a point in a table.
    covariates: int
    neighbours: str
    unit: str
    limit: int  # Records of a subject that count; 0 where each record is a subject.
    subjects: int = 5

    @property
    def is_one_each(self):
        return self.limit == 0

    @property
    def covariate_columns(self):
        return [f"x{index}" for index in range(self.covariates)]

    @property
    def point_columns(self):
        return [f"c{index}" for index in range(self.columns)]

    @cached_property
    def manifold(self):
        return make_manifold(self.name, self.size)

    def read(self, numbers):
        """Points from coordinates in tables (n, columns), unchecked."""
        with np.errstate(all="ignore"):
            points = self.manifold.from_layout(numbers)
            return self.manifold.from_landmarks(points) if self.name == "kendall" else points

    @cached_property
    def centre(self):
        """A centre, as numbers of a table."""
        return {
            "euclidean": [0.0] * self.size,
            "sphere": [0.0] * self.size + [1.0],
            "hyperbolic": [1.0] + [0.0] * self.size,
            # Not the identity, at which formulas agree.
            "spd": (np.eye(self.size) + 0.3)[np.triu_indices(self.size)].tolist(),
            "kendall": [1.0, 0.1, 0.0, 1.0, -1.0, 0.0, 0.0, -1.0],
        }[self.name]

    @cached_property
    def points(self):
        """Coordinates of points, each as texts: two far apart, near the centre, and opposite."""
        manifold = self.manifold
        [centre] = self.read(np.array([self.centre]))
        far = min(0.85 * manifold.injectivity_radius, 3.0)
        opposite = min(manifold.injectivity_radius, 30.0)
        found = []
        for direction in manifold.frame(centre)[: 2 if manifold.dim > 1 else 1]:
            for length in (far, -far, 0.0, 0.1, -0.2, 0.6, 0.999 * opposite, opposite):
                point = manifold.exp(centre, length * direction)
                if manifold.dtype is complex:
                    numbers = np.stack([point.real, point.imag], axis=-1).ravel()
                else:
                    numbers = point
                found.append(numbers)
        if self.name == "spd":
            found += _near_singular(self.size)
            if self.columns < self.size**2:
                found = [each[np.triu_indices(self.size)] for each in found]
        return [[repr(float(each)) for each in np.ravel(numbers)] for numbers in found]


@dataclass(frozen=True)
class Pair:
    """Two tables, how each is written, and what they differ in."""

    kind: str
    tables: tuple
    formats: tuple
    columns: list


def rows_of(space, labels, is_hard):
    """Strategy of rows with given labels; hard ones contribute as much as a record can."""
    number = st.sampled_from(NUMBERS[:2] if is_hard else NUMBERS[:4])
    point, is_blank = st.sampled_from(space.points[:2]), st.just(False)
    if not is_hard:
        number = number | st.sampled_from(NUMBERS)
        point = st.sampled_from(space.points) | st.lists(
            number, min_size=space.columns, max_size=space.columns
        )
        is_blank = st.sampled_from([True, *[False] * 15])
    numbers = st.lists(number, min_size=space.covariates, max_size=space.covariates)

    def row(label, x, y, comment, blank):
        found = dict(zip(space.covariate_columns + space.point_columns, x + y, strict=True))
        found[COMMENT] = _rows_of_others(space) if comment == ROWS else comment
        if not blank:
            return {LABEL: label, **found}
        # Even without a label, where it names nobody.
        return {LABEL: "" if space.is_one_each else label, **dict.fromkeys(found, "")}

    return st.builds(row, labels, numbers, point, st.sampled_from(COMMENTS), is_blank)


def _rows_of_others(space):
    """A text that holds rows of other people, as a reader of lines would see them."""
    cells = ["0.5"] * space.covariates + space.points[5]
    rows = [",".join([f"other{index}", *cells, ""]) for index in range(4)]
    return "\n".join(["", *rows, ""])


@st.composite
def pairs(draw, space, formats=None):
    """Strategy of neighbouring tables, by default in all formats of a space."""
    number = space.subjects
    rows = partial(rows_of, space, is_hard=draw(st.sampled_from([False, False, True])))
    changed = "replaced" if space.neighbours == REPLACE else "added"
    if space.is_one_each:
        labels = st.sampled_from(LABELS)
        size = number if changed == "replaced" else draw(st.integers(1, number + 1))
        first = draw(st.lists(rows(labels), min_size=size, max_size=size))
        kind = draw(st.sampled_from([changed, *UNCHANGED[1:]]))
        second = list(first)
        if kind == "replaced":
            second[draw(st.integers(0, size - 1))] = draw(rows(labels))
        elif kind == "added":
            second.insert(draw(st.integers(0, size)), draw(rows(labels)))
        elif kind == "order":
            second = draw(st.permutations(first))
    else:
        known = draw(st.sampled_from([LABELS, LABELS, ALIKE]))
        people = draw(
            st.lists(st.sampled_from(known), min_size=1, max_size=number + 1, unique=True)
        )
        anyone = st.sampled_from(people) | st.sampled_from((*people, *NOBODY))
        first = draw(st.lists(rows(anyone), min_size=1, max_size=2 * number))
        kind = draw(st.sampled_from([changed] * 3 + [*UNCHANGED]))
        second, added = list(first), []
        named = [row[LABEL] for row in first if row[LABEL] not in NOBODY]
        if kind == changed:
            gone = draw(st.sampled_from(named)) if kind == "replaced" and named else None
            second = [row for row in first if row[LABEL] != gone]
            others = [each for each in (*known, *LABELS) if each not in named or each == gone]
            own = st.just(draw(st.sampled_from(others)))
            # None of them where a subject goes without another in its place.
            added = draw(st.lists(rows(own), max_size=3))
        elif kind == "nobody":
            second = [row for row in first if row[LABEL] not in NOBODY]
            added = draw(st.lists(rows(st.sampled_from(NOBODY)), max_size=3))
        elif kind == "order":
            second = _reordered(first, draw(st.randoms(use_true_random=False)))
            if len(set(named)) > number:
                # Which subjects count is decided by their order where they are too many.
                second = list(first)
        for row in added:
            second.insert(draw(st.integers(0, len(second))), row)
    columns = draw(
        st.permutations([LABEL, COMMENT, *space.covariate_columns, *space.point_columns])
    )
    name = draw(st.sampled_from(formats or fitting(space)))
    tables = (first, second) if draw(st.booleans()) else (second, first)
    ways = [draw(written(name)) for _ in tables]
    if name == FRAME:
        # The types of columns are public.
        ways[1] = ways[0]
    if name in LANDMARKS:
        # A break that ends no line may stand before what looks like a specimen.
        break_of = {way["end"]: "\r" if way["end"] != "\r" else "\n" for way in ways}
        tables = tuple(
            [_with_specimen(row, break_of[way["end"]]) for row in table]
            for table, way in zip(tables, ways, strict=True)
        )
    return Pair(kind, tables, tuple(ways), columns)


def _with_specimen(row, lone):
    """A row whose comment holds specimens of others, where it holds rows of theirs."""
    if "other0" not in row[COMMENT]:
        return row
    lines = ["LM=4", "1 2", "3 4", "5 7", "7 8", "ID=other", "'other", "1 2", "3 4", "5 7", "7 8"]
    return row | {COMMENT: lone.join(["", *lines, ""])}


def _reordered(rows, random):
    """Rows in another order, those of each subject in the same."""
    labels = [row[LABEL] for row in rows]
    random.shuffle(labels)
    left = {label: [row for row in rows if row[LABEL] == label] for label in labels}
    return [left[label].pop(0) for label in labels]
