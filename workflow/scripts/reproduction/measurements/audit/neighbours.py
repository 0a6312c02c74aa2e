"""Neighbouring tables of records as programs write them, for record and replay; by Hypothesis.

A table is a list of rows, each of texts by column.  Its neighbour has other rows of one subject, or
differs in what must not matter: rows without a label, the order of subjects, and how it is written.
"""

import csv
import io
from dataclasses import dataclass
from functools import cached_property, partial

import numpy as np
import pandas as pd
from hypothesis import strategies as st

from geodp.manifolds.registry import make_manifold
from geodp_release.assumptions import REPLACE
from geodp_release.subjects import ONE_EACH

LABEL, COMMENT = "who", "comment"

# Labels of different people, and of nobody.
PLAIN = (*"abcde", "a ", " a", "A", "1", "1.0", "01", "True", "nan", "None", "NA", "#a", "a,b")
LABELS = (*PLAIN, '"a"', "a\nb", "a\rb", "a\r", "a\0b", "a\0c", "\udcff", "\udcfe", "\ufffd", "é")
ALIKE = ("a", "a ", " a", "a\r", "A", "a\n")
NOBODY = ("", " ", "\t")

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
    *("\ufeff", ROWS),
)

# Kinds of neighbours that differ in nothing that counts.
UNCHANGED = ("nobody", "order", "format")

# How a table is written.
FORMATS = ("csv", "parquet", "npz")


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
            "spd": [1.0, 0.0, 1.0],
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
                elif self.name == "spd":
                    numbers = point[np.triu_indices(self.size)]
                else:
                    numbers = np.ravel(point)
                found.append([repr(float(each)) for each in numbers])
        return found


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
def pairs(draw, space, formats=FORMATS):
    """Strategy of neighbouring tables."""
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
    suffix = draw(st.sampled_from(formats))
    tables = (first, second) if draw(st.booleans()) else (second, first)
    return Pair(kind, tables, tuple(draw(written(suffix)) for _ in tables), columns)


def _reordered(rows, random):
    """Rows in another order, those of each subject in the same."""
    labels = [row[LABEL] for row in rows]
    random.shuffle(labels)
    left = {label: [row for row in rows if row[LABEL] == label] for label in labels}
    return [left[label].pop(0) for label in labels]


def written(suffix):
    """Strategy of ways to write a table, by its suffix."""
    if suffix != "csv":
        return st.just({"suffix": suffix})
    return st.fixed_dictionaries(
        {
            "suffix": st.just(suffix),
            "writer": st.sampled_from(["csv", "pandas"]),
            "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
            "end": st.sampled_from(["\n", "\r\n"]),
            "mark": st.booleans(),
            "before": st.sampled_from(["", "# a comment\n", "\n\n", '# "quoted\n#\n']),
            "empty": st.sets(st.integers(0, 8), max_size=2),
            "delimiter": st.sampled_from(",\t"),
            "last": st.booleans(),
            # A column that no release reads may be called anything.
            COMMENT: st.sampled_from([COMMENT, "in\ntwo", "in\r\ntwo", 'a "note"', "#"]),
        }
    )


def write(pair, which, path):
    """Write one of the two tables of a pair."""
    table, how = pair.tables[which], pair.formats[which]
    if how["suffix"] == "csv":
        path.write_bytes(_csv(table, pair.columns, how))
        return
    found = frame(table, pair.columns)
    # Characters that are none, and such at the end of a text that NumPy cuts off.
    for name in (LABEL, COMMENT):
        found[name] = pd.Series([each and _storable(each) for each in found[name]], dtype=object)
    if how["suffix"] == "parquet":
        found.to_parquet(path)
        return
    columns = {name: found[name].to_numpy() for name in pair.columns}
    texts = {name: np.array([each or "" for each in found[name]]) for name in (LABEL, COMMENT)}
    np.savez(path, **columns | texts)


def _storable(text):
    """A text, escaped if files of types cannot hold it: no characters, or zeros at its end."""
    try:
        if text.encode() and not text.endswith("\0"):
            return text
    except UnicodeEncodeError:
        pass
    return text.encode("unicode_escape").decode()


def frame(table, columns):
    """A table as a data frame: numbers, and texts with ``None`` for nobody's label."""

    def number(text):
        # As a program would read it for others.
        return pd.to_numeric(pd.Series([text], dtype=object), errors="coerce").astype(float)[0]

    def column(name):
        texts = [row[name] for row in table]
        if name == LABEL:
            texts = [None if text in NOBODY else text for text in texts]
        elif name != COMMENT:
            return [number(text) for text in texts]
        return pd.Series(texts, dtype=object)

    return pd.DataFrame({name: column(name) for name in columns})


def _csv(table, columns, how):
    """The bytes of a table."""
    header = [how[COMMENT] if name == COMMENT else name for name in columns]
    if header[0].startswith("#"):
        # It would be a comment and no header.
        header[0] = COMMENT
    form = {"quoting": how["quoting"], "lineterminator": how["end"]}
    if how["writer"] == "pandas":
        frame = pd.DataFrame(table, columns=columns, dtype=object)
        text = frame.to_csv(index=False, header=header, sep=how["delimiter"], **form)
    else:
        text = ""
        for index, cells in enumerate([header, *([row[k] for k in columns] for row in table)]):
            line = io.StringIO()
            csv.writer(line, delimiter=how["delimiter"], **form).writerow(cells)
            text += line.getvalue() + (how["end"] if index in how["empty"] else "")
    if not how["last"]:
        text = text.removesuffix(how["end"])
    before = how["before"].replace("\n", how["end"])
    mark = b"\xef\xbb\xbf" if how["mark"] else b""
    return mark + (before + text).encode("utf-8", "surrogateescape")


def settings_of(space, suffix):
    """Settings of a release from a table, as a dictionary for YAML."""
    columns = space.covariate_columns
    found = {
        "name": "trial",
        "data": {
            "source": "table",
            "path": f"mine.{suffix}",
            "subject": ONE_EACH if space.is_one_each else LABEL,
            "columns": space.point_columns,
        },
        "public": {
            "manifold": {"name": space.name, "size": space.size},
            "centre": space.centre,
            "footpoint_radius": 0.7,
            "residual_scale": 0.1,
            "subjects": space.subjects,
            "records_per_subject": max(space.limit, 1),
            "neighbours": space.neighbours,
        },
        "budget": {"epsilon": "3"} if space.unit == "epsilon" else {"rho": "3", "delta": "1e-6"},
        "ledger": "mine.ledger",
        "folder": "out",
    }
    if columns:
        found["data"]["covariate"] = columns
        found["public"]["covariate_range"] = [[0.0, 1.0] for _ in columns]
        found["public"]["shooting_vector_length"] = 0.8
    return found
