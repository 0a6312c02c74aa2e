"""Neighbouring tables of records, made by Hypothesis, and how programs write them to files.

A table is a list of rows, each of texts by column.  Its neighbour has other rows of one subject, or
differs in what must not matter: rows without a label, the order of subjects, and how it is written.
Each cell is written by itself; what a format cannot hold becomes another cell of that row alone.
"""

import csv
import io
import re
from dataclasses import dataclass
from decimal import Decimal
from functools import cache, cached_property, partial
from itertools import count

import numpy as np
import pandas as pd
import scipy.io
from hypothesis import strategies as st

from geodp.manifolds.registry import make_manifold
from geodp_release.assumptions import LEAST_SQUARES, REPLACE
from geodp_release.subjects import ONE_EACH

LABEL, COMMENT, POINTS = "who", "comment", "points"

# Labels of different people, of people who are nearly alike, and of nobody.
LONG = ("12345678901234567", "12345678901234568", "9007199254740993")
LABELS = (
    *("a", "b", "c", "d", "e", *LONG, "a ", " a", "A", "1", "1.0", "01", "True", "nan", "None"),
    *("NA", "#a", "a,b", *LONG, '"a"', "a\nb", "a\rb", "a\r", "a\0b", "a\0c"),
    *("\udcff", "\udcfe", "\ufffd", "é"),
)
ALIKE = ("a", "a ", " a", "a\r", "A", "a\n", "\na")
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
    *("\ufeff", "\nstarts", ROWS),
)

# Kinds of neighbours that differ in nothing that counts.
UNCHANGED = ("nobody", "order", "format")

# Suffixes of landmarks; names of a table whose points are one array, to which covariates are
# joined, and of a data frame; and suffixes where they are not the name.
LANDMARKS, JOINED, FRAME = ("tps", "nts", "txt"), "joined", ""
SUFFIXES = {JOINED: "npz", FRAME: "csv"}

# Types of the numbers of a data frame, whatever is in its cells.
TYPES = (*("inferred", "single") * 3, "object", "float32", "complex", "nullable", "decimal")

# How tables are written, by their format.
ENDS = st.sampled_from(["\n", "\r\n", "\r"])
CHOICES = {
    "csv": {
        # The last quotes its own line end alone, and no other line break.
        "writer": st.sampled_from(["csv", "csv", "bare", "bare"]),
        "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
        "end": ENDS,
        "mark": st.booleans(),
        "before": st.sampled_from(["", "# a comment\n", "\n\n", '# "quoted\n#\n']),
        "empty": st.sets(st.integers(0, 8), max_size=2),
        "delimiter": st.sampled_from(",\t"),
        "last": st.booleans(),
        # A column that no release reads may be called anything.
        COMMENT: st.sampled_from([COMMENT, "in\ntwo", "in\r\ntwo", 'a "note"', "#"]),
    },
    FRAME: {"type": st.sampled_from(TYPES), LABEL: st.booleans()},
    **{name: {"end": ENDS} for name in LANDMARKS},
}


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
    loss: str = LEAST_SQUARES

    @property
    def is_one_each(self):
        return self.limit == 0

    @property
    def covariate_columns(self):
        return [f"x{index}" for index in range(self.covariates)]

    @property
    def point_columns(self):
        return [f"c{index}" for index in range(self.columns)]

    @property
    def formats(self):
        """Names of formats that hold its records."""
        found = ["csv", "parquet", "npz", "xlsx", "mat", FRAME]
        if self.covariates and not self.is_one_each:
            found += LANDMARKS if (self.name, self.covariates) == ("kendall", 1) else ()
            found.append(JOINED)
        return found

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
        found = [
            manifold.exp(centre, length * direction)
            for direction in manifold.frame(centre)[:2]
            for length in (far, -far, 0.0, 0.1, -0.2, 0.6, 0.999 * opposite, opposite)
        ]
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


# Neighbours of a table, which is released once for all of them.
NEIGHBOURS = 4


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
        elif comment == ROWS:
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
        most = 3 if kind == "replaced" or not goes else 0
        added = draw(st.lists(rows(own), max_size=most))
    elif kind == "nobody":
        second = [row for row in first if row[LABEL] not in NOBODY]
        added = draw(st.lists(rows(st.sampled_from(NOBODY)), max_size=3))
    elif kind == "order":
        # The order of subjects decides which of them count where they are too many.
        second = reordered(first, draw(st.randoms(use_true_random=False)))
        second = list(first) if len(set(named)) > space.subjects else second
    for row in added:
        second.insert(any_place(len(second)), row)
    return kind, second


def reordered(rows, random):
    """Rows in another order, those of each subject in the same."""
    labels = [row[LABEL] for row in rows]
    random.shuffle(labels)
    left = {label: [row for row in rows if row[LABEL] == label] for label in labels}
    return [left[label].pop(0) for label in labels]


@st.composite
def pairs(draw, space, formats=None, number=NEIGHBOURS):
    """Strategy of a table with several neighbours, a pair each, by default in all formats."""
    rows = partial(rows_of, space, is_hard=draw(st.sampled_from([False, False, True])))
    first, known = draw(table_of(space, rows))
    found = [draw(neighbour_of(space, rows, first, known)) for _ in range(number)]
    names = [LABEL, COMMENT, *space.covariate_columns, *space.point_columns]
    columns = draw(st.permutations(names))
    name = draw(st.sampled_from(formats or space.formats))
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


def may_be_refused(table, how):
    """Whether a hypothesis about files leaves a table out, which may be refused then.

    A type of whole numbers that no others have, or a label of several words in lines of labels.
    """
    if how["suffix"] == "nts":
        return any(" " in landmark_name(row, " ") for row in table)
    labels = {row[LABEL] for row in table}
    return bool(how.get(LABEL) and labels & {*NOBODY} and labels - {*NOBODY})


# --- Files of rows ---


def write(space, table, columns, how, path):
    """Write a table to a path, and beside it what is joined to it."""
    name = how["suffix"]
    if name == "csv":
        path.write_bytes(csv_bytes(table, columns, how))
    elif name in LANDMARKS:
        lines = {"tps": tps_lines, "nts": nts_lines, "txt": morphologika_lines}[name]
        text = how["end"].join([*lines(space, table, how["end"]), ""])
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    elif name == "parquet":
        storable(table, columns).to_parquet(path)
    elif name == "xlsx":
        # A row without a value would be none.
        rows = [{**row, COMMENT: row[COMMENT] or "-"} for row in table]
        storable(rows, columns).to_excel(path, index=False)
    else:
        found = storable(table, columns)
        arrays = {name: found[name].to_numpy() for name in columns}
        for each in (LABEL, COMMENT):
            arrays[each] = np.array([text or "" for text in found[each]])
        if name == "mat":
            # Labels are numbers: those of nobody are none.
            known = sorted({row[LABEL] for row in table} - {*NOBODY}, key=ascii)
            whose = [known.index(row[LABEL]) if row[LABEL] in known else np.nan for row in table]
            arrays[LABEL] = np.array(whose, dtype=float)
            del arrays[COMMENT]
            scipy.io.savemat(path, {each: array[:, None] for each, array in arrays.items()})
            return
        if name == JOINED:
            write_joined(space, table, arrays[LABEL].tolist(), path.with_name("joined.csv"))
            points = np.stack([arrays[each] for each in space.point_columns], axis=-1)
            arrays = {LABEL: arrays[LABEL], POINTS: points}
        np.savez(path, **arrays)


def write_joined(space, table, labels, path):
    """Write covariates to a second table, by labels as the first one holds them."""
    whose = dict(zip((row[LABEL] for row in table), labels, strict=True))
    rows = {row[LABEL]: [row[name] for name in space.covariate_columns] for row in reversed(table)}
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as text:
        rows = [[whose[each], *cells] for each, cells in rows.items()]
        csv.writer(text).writerows([[LABEL, *space.covariate_columns], *rows])


def storable(table, columns):
    """A data frame of numbers and of texts that files of types can hold."""
    found = frame(table, columns)
    for name in (LABEL, COMMENT):
        found[name] = pd.Series([each and escaped(each) for each in found[name]], dtype=object)
    return found


def escaped(text):
    """A text, escaped if files cannot hold it: no characters, or some that Excel has none of."""
    if re.search(r"[\0-\x08\x0b-\x1f\ud800-\udfff]|_x", text):
        return text.encode("unicode_escape").decode().replace("_x", "_\\x78")
    return text


def csv_bytes(table, columns, how):
    """A table as text, by one of two writers."""
    header = [how[COMMENT] if name == COMMENT else name for name in columns]
    if header[0].startswith("#"):
        # It would be a comment and no header.
        header[0] = COMMENT
    if not {*"\r\n"}.isdisjoint("".join(header).replace(how["end"], "")):
        # A line break in a name is public, and is in quotes.
        how = how | {"quoting": csv.QUOTE_ALL}
    form = {"quoting": how["quoting"], "lineterminator": how["end"], "delimiter": how["delimiter"]}
    text = ""
    for index, cells in enumerate([header, *([row[k] for k in columns] for row in table)]):
        line = io.StringIO(newline="")
        csv.writer(line, **form).writerow(cells)
        # Names are quoted as they should be: what follows is read by them.
        text += bare_line(cells, how) if how["writer"] == "bare" and index else line.getvalue()
        text += how["end"] if index in how["empty"] else ""
    begins_with_feed = text.partition(how["end"])[2].startswith("\n")
    if (
        not how["last"]
        and not begins_with_feed
        and not text.removesuffix(how["end"]).endswith("\r")
    ):
        # By hypothesis F3 of docs/guarantee.md.
        text = text.removesuffix(how["end"])
    before = how["before"].replace("\n", how["end"])
    mark = b"\xef\xbb\xbf" if how["mark"] else b""
    return mark + (before + text).encode("utf-8", "surrogateescape")


def bare_line(cells, how):
    """A row with quotes about delimiters, quotes and its own line end alone."""
    special = (how["delimiter"], '"', how["end"])
    quoted = [
        '"' + cell.replace('"', '""') + '"' if any(each in cell for each in special) else cell
        for cell in cells
    ]
    return how["delimiter"].join(quoted) + how["end"]


# --- Data frames ---


def frame(table, columns, kind="float", whole=False):
    """A table as a data frame: numbers of a type, and texts with ``None`` for nobody's label.

    Labels may be ``whole`` numbers of 19 digits, of which pandas makes floating-point numbers where
    one is missing.
    """

    def column(name):
        texts = [row[name] for row in table]
        if name not in (LABEL, COMMENT):
            return numbers(texts, kind)
        if name == LABEL:
            texts = [None if text in NOBODY else text for text in texts]
            if whole:
                return pd.Series([each and whole_label(each) for each in texts])
        return pd.Series(texts, dtype=object)

    return pd.DataFrame({name: column(name) for name in columns})


COUNTED = count()


@cache
def whole_label(label):
    """A whole number of a label, of 19 digits: as a floating-point number those of all are one."""
    return 3 * 2**61 + next(COUNTED)


def numbers(texts, kind):
    """A column of numbers of a type."""
    # Each as a program would read it for others.
    each = [pd.Series([text], dtype=object) for text in texts]
    found = [pd.to_numeric(one, errors="coerce").astype(float)[0] for one in each]
    with np.errstate(all="ignore"):
        if kind not in HELD:
            types = {"float32": "f4", "complex": complex, "nullable": "Float64", "float": float}
            return pd.Series(np.array(found)).astype(types[kind])
        values = [HELD[kind](*both) for both in zip(texts, found, strict=True)]
        # Whatever type pandas makes of all together, as where it joins frames.
        made = pd.Series(values, dtype=None if kind in ("inferred", "single") else object)
        return made if made.dtype.kind in "biufc" else pd.Series(values, dtype=object)


# A value of a column, from its text and number: by itself, whatever the others are.
OF_OTHERS = {"1": 1, "1e0": True, "0.25": 0.25 + 0j, "+1": 1 + 1j, "M": "M", "": np.nan}
HELD = {
    # As it came from another program: complex, whole, true, a text or nothing.
    "inferred": lambda text, value: OF_OTHERS.get(text, value),
    # As pandas holds those of one type and a text.
    "single": lambda text, value: "M" if text in ("M", "0.25") else np.float32(value),
    "object": lambda text, value: np.float32(value) if len(text) % 2 else value,
    "decimal": lambda text, value: value if np.isnan(value) else Decimal(value),
}


# --- Files of landmarks ---


def word(text):
    """A text as a number of a landmark: one word, without a sign of the formats."""
    return re.sub(r"[\s='\"\[\],]", "", text)[:500] or "M"


def places(space, row):
    """Lines of two words, some below zero: the origin is elsewhere in an image."""

    def shifted(text):
        try:
            return repr(float(text) + 50.0)
        except ValueError:
            return word(text)

    words = [shifted(row[name]) for name in space.point_columns]
    return [" ".join(both) for both in zip(words[0::2], words[1::2], strict=True)]


def landmark_name(row, blank="_"):
    """A label as a word, or several if it has a blank in it; that of nobody is empty."""
    if row[LABEL] in NOBODY:
        return ""
    parts = re.split("[, ]", row[LABEL])
    return blank.join(f"n{each.encode('unicode_escape').hex()}" for each in parts)


def tps_lines(space, table, end):
    for row in table:
        yield from (f"LM={len(space.point_columns) // 2}", *places(space, row))
        yield from (f"ID={landmark_name(row)}", f"COMMENT={row[COMMENT].replace(end, ' ')}")
        yield from (f"SCALE={word(row[name])}" for name in space.covariate_columns)


def nts_lines(space, table, end, width=4):
    # Nobody has no place in lines of labels, and counts for nobody elsewhere.
    named = [row for row in table if landmark_name(row)]
    yield from ('"skulls', f"1 {len(named)}L {len(space.point_columns)} 1 M DIM=2")
    names = [landmark_name(row, " ") for row in named]
    yield from (" ".join(names[at : at + width]) for at in range(0, len(names), width))
    yield from (" ".join(places(space, row)) for row in named)


def morphologika_lines(space, table, end):
    def values(row):
        return " ".join(word(row[name]) for name in space.covariate_columns)

    yield from ("[individuals]", str(len(table)))
    yield from ("[landmarks]", str(len(space.point_columns) // 2), "[dimensions]", "2")
    yield from ("[names]", *(landmark_name(row) or " " for row in table))
    yield from ("[labels]", " ".join(space.covariate_columns))
    yield from ("[labelvalues]", *map(values, table), "[rawpoints]")
    for row in table:
        yield from ("'" + row[COMMENT].replace(end, " "), *places(space, row))


# --- Settings ---


def settings_of(space, name):
    """Settings of a release from a format, as a dictionary for YAML."""
    columns, is_shape = space.covariate_columns, name in LANDMARKS
    found = {
        "name": "trial",
        "data": {
            "source": "table",
            "path": f"mine.{SUFFIXES.get(name, name)}",
            "subject": ONE_EACH if space.is_one_each else "ID" if is_shape else LABEL,
            "columns": None if is_shape else [POINTS] if name == JOINED else space.point_columns,
        },
        "public": {
            "manifold": {"name": space.name, "size": space.size},
            "centre": space.centre,
            "footpoint_radius": 0.7,
            "residual_scale": 0.1,
            "subjects": space.subjects,
            "records_per_subject": max(space.limit, 1),
            "neighbours": space.neighbours,
            "loss": space.loss,
        },
        "budget": {"epsilon": "3"} if space.unit == "epsilon" else {"rho": "3", "delta": "1e-6"},
        "ledger": "mine.ledger",
        "folder": "out",
    }
    if columns:
        named = {"tps": ["SCALE"], "nts": ["centroid_size"]}
        found["data"]["covariate"] = named.get(name, columns)
        found["public"]["covariate_range"] = [[0.0, 1.0] for _ in columns]
        found["public"]["shooting_vector_length"] = 0.8
    if name == JOINED:
        found["data"]["join"] = {"path": "joined.csv", "subject": LABEL}
    return found
