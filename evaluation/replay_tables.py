"""Neighbouring tables of records, made by Hypothesis.

A table is a list of rows, each of texts by column.  Its neighbour has other rows of one subject, or
differs in what must not matter: rows without a label, the order of subjects, and how it is written.
"""

import csv
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import yaml
from hypothesis import strategies as st

from geodp.manifolds.registry import make_manifold
from geodp_release.promise.public_inputs import LEAST_SQUARES, REPLACE

LABEL, COMMENT, POINTS = "who", "comment", "points"

# Labels of different people, of people who are nearly alike, and of nobody.
LABELS = (
    *("a", "b", "c", "d", "e", "12345678901234567", "12345678901234568", "9007199254740993"),
    *("a ", " a", "A", "1", "1.0", "01", "True", "nan", "None", "NA", "#a", "a,b"),
    *("12345678901234567", "12345678901234568", "9007199254740993", '"a"', "a\nb", "a\rb", "a\r"),
    *("a\0b", "a\0c", "\udcff", "\udcfe", "\ufffd", "é"),
)
ALIKE = ("a", "a ", " a", "a\r", "A", "a\n", "\na")
NOBODY = ("", " ", "\t")

# Texts in cells of numbers: small and large ones, odd ones, and none.
NUMBERS = (
    *("0", "1", "0.5", "0.25", " 1 ", "+1", "1e0", "-0.0", "1e5", "-1e5", "1e150", "1e308"),
    *("-1e308", "1e-320", "nan", "inf", "-inf", "", " ", "M", "0x10", "1_000", "1,5", "'", '"'),
    *("1\n2", "\0", "9" * 400, "\u0661", "\udcff", "1e999999999", "1" + "0" * 5000),
)

# Texts beside them; the last stands for rows of other people.
COMMENTS = (
    *("", "fine", "two\nlines", "two\r\nlines", "a lone\rreturn", 'she said "no"', '"', "a,b;c\td"),
    *("\0", "\udc80", "#", "# no comment", "é" * 50, "x" * 2000, "\n\n\n", "\ufeff", "\nstarts"),
    "rows of others",
)

# Kinds of neighbours that differ in nothing that counts.
UNCHANGED = ("nobody", "order", "format")

# Suffixes of landmarks; names of a table whose points are one array, to which covariates are
# joined, of a data frame, of a folder of Parquet files, and of tables whose covariates are dates;
# and suffixes where they are not the name.
LANDMARKS, JOINED, FRAME, FOLDER = ("tps", "nts", "txt"), "joined", "", "parts"
DATED = {f"dates in {suffix}": suffix for suffix in ("csv", "parquet", "xlsx", "sav", "dta", "npz")}
SUFFIXES = {JOINED: "npz", FRAME: "csv", **DATED}

# Strategies of how tables are written, by their format.
CHOICES = {
    "csv": {
        # The last quotes its own line end alone, and no other line break.
        "writer": st.sampled_from(["csv", "csv", "bare", "bare"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        "end": st.sampled_from(["\n", "\r\n", "\r"]),
        "mark": st.booleans(),
        "before": st.sampled_from(["", "# a comment\n", "\n\n", '# "quoted\n#\n']),
        "empty": st.sets(st.integers(0, 8), max_size=2),
        "delimiter": st.sampled_from(",\t"),
        "last": st.booleans(),
        # A column that no release reads may be called anything.
        COMMENT: st.sampled_from([COMMENT, "in\ntwo", "in\r\ntwo", 'a "note"', "#"]),
    },
    FRAME: {
        # Types of numbers, whatever is in cells; labels that are whole numbers.
        "type": st.sampled_from(
            ["inferred", "single"] * 3 + ["object", "float32", "complex", "nullable", "decimal"]
        ),
        LABEL: st.booleans(),
    },
    # Rows before which another file begins.
    FOLDER: {"cuts": st.sets(st.integers(0, 8), max_size=2)},
}
CHOICES |= {name: {"end": CHOICES["csv"]["end"]} for name in LANDMARKS}
CHOICES |= {name: CHOICES[suffix] for name, suffix in DATED.items() if suffix in CHOICES}


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
    made_from: str | None = None  # Other settings of the manifold.
    loss: str = LEAST_SQUARES
    drops_missing: bool = False
    terms: str = "{}"  # Keys of the section data that make curves, groups and products.

    @property
    def is_one_each(self):
        return self.limit == 0

    @property
    def covariate_columns(self):
        return [f"x{index}" for index in range(self.covariates)]

    @property
    def line_columns(self):
        """Columns of covariates that have a range: those without listed words."""
        listed = yaml.safe_load(self.terms).get("categories", ())
        return [name for name in self.covariate_columns if name not in listed]

    @property
    def point_columns(self):
        return [f"c{index}" for index in range(self.columns)]

    @property
    def formats(self):
        """Names of formats that hold its records."""
        found = ["csv", "parquet", "feather", "sav", "dta", "rds", "npz", "xlsx", "ods", "mat"]
        found += [FRAME, FOLDER, *(DATED if self.covariates == 1 else ())]
        if self.covariates and not self.is_one_each:
            found += LANDMARKS if (self.name, self.covariates) == ("kendall", 1) else ()
            found.append(JOINED)
        return found

    @cached_property
    def manifold(self):
        return make_manifold(**self.manifold_settings)

    @property
    def manifold_settings(self):
        """The space, as settings name it."""
        own = {} if self.made_from is None else yaml.safe_load(self.made_from)
        return {"name": self.name} | ({"size": self.size} if self.size else {}) | own

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
            "projective": [0.6, 0.0, 0.8],
            "rotations": [0.0, -1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0],
            "size_and_shape": [0.0, 0.0, 1.0, 0.1, 0.4, 0.8],
            # An angle near the turn, and a number.
            "product": [359.0, 0.5],
        }[self.name]

    @cached_property
    def points(self):
        """Coordinates of points, each as texts: two far apart, near the centre, and opposite."""
        manifold = self.manifold
        [centre] = self.read(np.array([self.centre]))
        far = min(0.85 * manifold.injectivity_radius, 3.0)
        opposite = min(manifold.injectivity_radius, 30.0)
        found = [
            manifold.exp(centre, length * direction)
            for direction in manifold.frame(centre)[:2]
            for length in (far, -far, 0.0, 0.1, -0.2, 0.6, 0.999 * opposite, opposite)
        ]
        if self.name in ("projective", "rotations", "product", "size_and_shape"):
            found = [manifold.shown(each[None])[0] for each in found]
        if self.name == "rotations":
            # That rounding makes rotations or not, and that are none.
            found += [(1.0 + each) * found[3] for each in (4.9e-5, 5.1e-5, -1.0, -2.0)]
        if manifold.dtype is complex:
            found = [np.stack([point.real, point.imag], axis=-1) for point in found]
        if self.name == "spd":
            found += nearly_singular(self.size)
            if self.columns < self.size**2:
                found = [each[np.triu_indices(self.size)] for each in found]
        return [[repr(float(each)) for each in np.ravel(numbers)] for numbers in found]


def nearly_singular(size, number=60):
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


# --- Neighbours ---


@dataclass(frozen=True)
class Pair:
    """Two tables, how each is written, and what they differ in."""

    kind: str
    tables: tuple
    formats: tuple
    columns: list


def rows_of(space, labels, is_hard):
    """Strategy of rows with given labels; hard ones contribute as much as a record can."""
    number, point = st.sampled_from(NUMBERS[:2]), st.sampled_from(space.points[:2])
    is_blank = st.just(False)
    if not is_hard:
        number = st.sampled_from(NUMBERS[:4]) | st.sampled_from(NUMBERS)
        point = st.sampled_from(space.points) | lists_of(number, space.columns)
        is_blank = st.sampled_from([True, *[False] * 15])

    def row(label, x, y, comment, blank):
        found = dict(zip(space.covariate_columns + space.point_columns, x + y, strict=True))
        if blank:
            # Even without a label, where it names nobody.
            label, found = "" if space.is_one_each else label, dict.fromkeys(found, "")
        elif comment == COMMENTS[-1]:
            # Rows of others, as a reader of lines would see them.
            cells = ",".join(["0.5"] * space.covariates + space.points[5])
            comment = "\n".join(["", *(f"other{k},{cells}," for k in range(4)), ""])
        return {LABEL: label, **found, COMMENT: "" if blank else comment}

    numbers = lists_of(number, space.covariates)
    return st.builds(row, labels, numbers, point, st.sampled_from(COMMENTS), is_blank)


def lists_of(each, size):
    return st.lists(each, min_size=size, max_size=size)


@st.composite
def table_of(draw, space, rows):
    """Strategy of a table, with several records of a subject or of nobody; and of known labels."""
    number = space.subjects
    if space.is_one_each:
        size = number if space.neighbours == REPLACE else draw(st.integers(1, number + 1))
        return draw(lists_of(rows(st.sampled_from(LABELS)), size)), LABELS
    known = draw(st.sampled_from([LABELS, LABELS, ALIKE]))
    labels = st.lists(st.sampled_from(known), min_size=1, max_size=number + 1, unique=True)
    people = draw(labels)
    anyone = st.sampled_from(people) | st.sampled_from((*people, *NOBODY))
    return draw(st.lists(rows(anyone), min_size=1, max_size=2 * number)), known


@st.composite
def neighbour_of(draw, space, rows, first, known):
    """Strategy of the kind and the rows of a neighbour of such a table."""
    changed = "replaced" if space.neighbours == REPLACE else "added"
    kinds = [changed, *UNCHANGED[1:]] if space.is_one_each else [changed] * 3 + [*UNCHANGED]
    kind, second, added = draw(st.sampled_from(kinds)), list(first), []
    named = [row[LABEL] for row in first if row[LABEL] not in NOBODY]

    def any_place(last):
        return draw(st.integers(0, last))

    if space.is_one_each and kind == "replaced":
        second[any_place(len(first) - 1)] = draw(rows(st.sampled_from(known)))
    elif space.is_one_each and kind == "added":
        if len(first) > 1 and draw(st.booleans()):
            second.pop(any_place(len(first) - 1))
        else:
            second.insert(any_place(len(first)), draw(rows(st.sampled_from(known))))
    elif space.is_one_each and kind == "order":
        second = draw(st.permutations(first))
    elif kind == changed:
        # One comes in the place of another; or one comes, or one goes.
        goes = bool(named) and (kind == "replaced" or draw(st.booleans()))
        gone = draw(st.sampled_from(named)) if goes else None
        second = [row for row in first if row[LABEL] != gone]
        others = [each for each in (*known, *LABELS) if each not in named or each == gone]
        own = st.just(draw(st.sampled_from(others)))
        # None of them where a subject goes without another in its place.
        added = draw(st.lists(rows(own), max_size=3 if kind == "replaced" or not goes else 0))
    elif kind == "nobody":
        second = [row for row in first if row[LABEL] not in NOBODY]
        added = draw(st.lists(rows(st.sampled_from(NOBODY)), max_size=3))
    elif kind == "order":
        # The order of subjects decides which of them count where they are too many; rows of each
        # stay in theirs.
        labels = [row[LABEL] for row in first]
        draw(st.randoms(use_true_random=False)).shuffle(labels)
        if len(set(named)) <= space.subjects:
            left = {label: [row for row in first if row[LABEL] == label] for label in labels}
            second = [left[label].pop(0) for label in labels]
    for row in added:
        second.insert(any_place(len(second)), row)
    return kind, second


@st.composite
def pairs(draw, space, formats, number):
    """Strategy of a table with several neighbours, a pair each."""
    rows = partial(rows_of, space, is_hard=draw(st.sampled_from([False, False, True])))
    first, known = draw(table_of(space, rows))
    found = [draw(neighbour_of(space, rows, first, known)) for _ in range(number)]
    names = [LABEL, COMMENT, *space.covariate_columns, *space.point_columns]
    columns = draw(st.permutations(names))
    name = draw(st.sampled_from(formats))
    way = st.fixed_dictionaries({"suffix": st.just(name)} | CHOICES.get(name, {}))
    tables, ways = [first, *(table for _, table in found)], [draw(way) for _ in range(number + 1)]
    if name == FRAME:
        # The types of columns are public.
        ways = ways[:1] * len(ways)
    if name in LANDMARKS:
        tables = [with_specimens(*each) for each in zip(tables, ways, strict=True)]
    return [
        Pair(kind, (tables[0], table), (ways[0], way), columns)
        for (kind, _), table, way in zip(found, tables[1:], ways[1:], strict=True)
    ]


def with_specimens(table, how):
    """A table whose comments have specimens of others in place of rows, in lines that are none."""
    lines = ["LM=4", "1 2", "3 4", "5 7", "7 8", "ID=other", "'other", "1 2", "3 4", "5 7", "7 8"]
    text = ("\n" if how["end"] == "\r" else "\r").join(["", *lines, ""])
    return [row | {COMMENT: text} if "other0" in row[COMMENT] else row for row in table]
