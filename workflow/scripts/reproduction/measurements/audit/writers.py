"""A table of rows as programs write it, for record and replay: text, arrays, frames, landmarks.

A table is a list of rows, each of texts by column.  Each cell is written by itself, as far as the
format can hold it; what it cannot hold becomes another cell of that row alone.
"""

import csv
import io
import re
from decimal import Decimal
from functools import cache
from itertools import count

import numpy as np
import pandas as pd
import scipy.io
from hypothesis import strategies as st

from geodp_release.subjects import ONE_EACH

LABEL, COMMENT, POINTS = "who", "comment", "points"

# Labels of nobody.
NOBODY = ("", " ", "\t")

# Suffixes of landmarks; names of a table whose points are one array and covariates are joined,
# and of a data frame.
LANDMARKS, JOINED, FRAME = ("tps", "nts", "txt"), "joined", ""
SUFFIXES = {JOINED: "npz", FRAME: "csv"}

_COUNTED = count()

# Types of the numbers of a data frame, whatever is in its cells.
TYPES = (*("inferred", "single") * 3, "object", "float32", "complex", "nullable", "decimal")


def fitting(space):
    """Formats that hold records of a space."""
    shapes = space.name == "kendall"
    others = [JOINED] if space.covariates and not space.is_one_each else []
    landmarks = LANDMARKS if shapes and space.covariates == 1 and not space.is_one_each else ()
    return ("csv", "parquet", "npz", "xlsx", "mat", FRAME, *landmarks, *others)


def written(name):
    """Strategy of ways to write a table in a format."""
    if name not in ("csv", FRAME, *LANDMARKS):
        return st.just({"suffix": name})
    ends = st.sampled_from(["\n", "\r\n", "\r"])
    if name == FRAME:
        return st.fixed_dictionaries(
            {"suffix": st.just(name), "type": st.sampled_from(TYPES), LABEL: st.booleans()}
        )
    if name in LANDMARKS:
        return st.fixed_dictionaries({"suffix": st.just(name), "end": ends})
    return st.fixed_dictionaries(
        {
            "suffix": st.just(name),
            # The last writes line breaks without quotes, but for that of its own rows.
            "writer": st.sampled_from(["csv", "pandas", "bare", "bare"]),
            "quoting": st.sampled_from([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]),
            "end": ends,
            "mark": st.booleans(),
            "before": st.sampled_from(["", "# a comment\n", "\n\n", '# "quoted\n#\n']),
            "empty": st.sets(st.integers(0, 8), max_size=2),
            "delimiter": st.sampled_from(",\t"),
            "last": st.booleans(),
            # A column that no release reads may be called anything.
            COMMENT: st.sampled_from([COMMENT, "in\ntwo", "in\r\ntwo", 'a "note"', "#"]),
        }
    )


def write(space, table, columns, how, path):
    """Write a table to a path, and beside it what is joined to it."""
    name = how["suffix"]
    if name == "csv":
        path.write_bytes(_csv(table, columns, how))
    elif name in LANDMARKS:
        text = {"tps": _tps, "nts": _nts, "txt": _morphologika}[name](space, table, how["end"])
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    elif name == "parquet":
        _storable(table, columns).to_parquet(path)
    elif name == "xlsx":
        # A row without a value would be none.
        rows = [{**row, COMMENT: row[COMMENT] or "-"} for row in table]
        _storable(rows, columns).to_excel(path, index=False)
    elif name == "mat":
        found = {each: array[:, None] for each, array in _arrays(table, columns).items()}
        # Labels are numbers: those of nobody are none.
        known = sorted({row[LABEL] for row in table} - {*NOBODY}, key=ascii)
        whose = [known.index(row[LABEL]) if row[LABEL] in known else np.nan for row in table]
        del found[COMMENT]
        scipy.io.savemat(path, found | {LABEL: np.array(whose, dtype=float)[:, None]})
    else:
        arrays = _arrays(table, columns)
        if name == JOINED:
            others = _joined(space, table, arrays, path)
            arrays = {LABEL: arrays[LABEL], POINTS: others}
        np.savez(path, **arrays)


def _joined(space, table, arrays, path):
    """The points of a table as one array; covariates go to a second table, by label."""
    rows = {row[LABEL]: [row[name] for name in space.covariate_columns] for row in reversed(table)}
    # As the first table holds labels.
    text = io.StringIO(newline="")
    names = [LABEL, *space.covariate_columns]
    labels = dict(zip((row[LABEL] for row in table), arrays[LABEL].tolist(), strict=True))
    csv.writer(text).writerows([names, *([labels[each], *cells] for each, cells in rows.items())])
    path.with_name("joined.csv").write_bytes(text.getvalue().encode("utf-8", "surrogateescape"))
    return np.stack([arrays[name] for name in space.point_columns], axis=-1)


def _storable(table, columns):
    """A data frame of numbers and of texts that files of types can hold."""
    found = frame(table, columns)
    for name in (LABEL, COMMENT):
        found[name] = pd.Series([each and _text(each) for each in found[name]], dtype=object)
    return found


def _arrays(table, columns):
    found = _storable(table, columns)
    arrays = {name: found[name].to_numpy() for name in columns}
    return arrays | {
        name: np.array([each or "" for each in found[name]]) for name in (LABEL, COMMENT)
    }


def _text(text):
    """A text, escaped if files cannot hold it: no characters, or some that Excel has none of."""
    try:
        if text.encode() and not re.search(r"[\0-\x08\x0b-\x1f]|_x", text):
            return text
    except UnicodeEncodeError:
        pass
    return text.encode("unicode_escape").decode().replace("_x", "_\\x78")


def frame(table, columns, kind="float", whole=False):
    """A table as a data frame: numbers of a type, and texts with ``None`` for nobody's label.

    Labels may be ``whole`` numbers of 19 digits, of which pandas makes floating-point numbers where
    one is missing.
    """

    def column(name):
        texts = [row[name] for row in table]
        if name == LABEL:
            texts = [None if text in NOBODY else text for text in texts]
            if whole:
                return pd.Series([each and _whole(each) for each in texts])
        elif name != COMMENT:
            return _numbers(texts, kind)
        return pd.Series(texts, dtype=object)

    return pd.DataFrame({name: column(name) for name in columns})


@cache
def _whole(label):
    """A whole number of a label, of 19 digits: as a floating-point number those of all are one."""
    return 3 * 2**61 + next(_COUNTED)


def _numbers(texts, kind):
    # Each as a program would read it for others.
    found = [
        pd.to_numeric(pd.Series([text], dtype=object), errors="coerce").astype(float)[0]
        for text in texts
    ]
    with np.errstate(all="ignore"):
        if kind in HELD:
            values = [HELD[kind](*each) for each in zip(texts, found, strict=True)]
            # Whatever type pandas makes of all together, as where it joins frames.
            made = pd.Series(values, dtype=None if kind in ("inferred", "single") else object)
            return made if made.dtype.kind in "biufc" else pd.Series(values, dtype=object)
        types = {"float32": "f4", "complex": complex, "nullable": "Float64", "float": float}
        return pd.Series(np.array(found)).astype(types[kind])


def _inferred(text, value):
    """A value as it came from another program: complex, whole, true, a text or nothing."""
    odd = {"1": 1, "1e0": True, "0.25": 0.25 + 0j, "+1": 1 + 1j, "M": "M", "": np.nan}
    return odd.get(text, value)


# A value of a column, from its text and number: by itself, whatever the others are.
HELD = {
    "inferred": _inferred,
    # As pandas holds those of one type and a text.
    "single": lambda text, value: "M" if text in ("M", "0.25") else np.float32(value),
    "object": lambda text, value: np.float32(value) if len(text) % 2 else value,
    "decimal": lambda text, value: value if np.isnan(value) else Decimal(value),
}


def _csv(table, columns, how):
    """The bytes of a table."""
    header = [how[COMMENT] if name == COMMENT else name for name in columns]
    if header[0].startswith("#"):
        # It would be a comment and no header.
        header[0] = COMMENT
    if not {*"\r\n"}.isdisjoint("".join(header).replace(how["end"], "")):
        # A line break in a name is public, and is in quotes.
        how = how | {"quoting": csv.QUOTE_ALL}
    form = {"quoting": how["quoting"], "lineterminator": how["end"]}
    if how["writer"] == "pandas":
        frame = pd.DataFrame(table, columns=columns, dtype=object)
        text = frame.to_csv(index=False, header=header, sep=how["delimiter"], **form)
    else:
        text = ""
        for index, cells in enumerate([header, *([row[k] for k in columns] for row in table)]):
            line = io.StringIO(newline="")
            csv.writer(line, delimiter=how["delimiter"], **form).writerow(cells)
            # Names are quoted as they should be: what follows is read by them.
            bare = how["writer"] == "bare" and index
            text += _bare(cells, how) if bare else line.getvalue()
            text += how["end"] if index in how["empty"] else ""
    if not how["last"] and not text.removesuffix(how["end"]).endswith("\r"):
        text = text.removesuffix(how["end"])
    before = how["before"].replace("\n", how["end"])
    mark = b"\xef\xbb\xbf" if how["mark"] else b""
    return mark + (before + text).encode("utf-8", "surrogateescape")


def _bare(cells, how):
    """A row with quotes about delimiters, quotes and its own line end alone."""
    special = (how["delimiter"], '"', how["end"])
    quoted = [
        '"' + cell.replace('"', '""') + '"' if any(each in cell for each in special) else cell
        for cell in cells
    ]
    return how["delimiter"].join(quoted) + how["end"]


def may_be_refused(table, how):
    """Whether a hypothesis about files leaves a table out, which may be refused then.

    A type of whole numbers that no others have, or a label of several words in lines of labels.
    """
    if how["suffix"] == "nts":
        return any(" " in _name(row, " ") for row in table)
    labels = [row[LABEL] for row in table]
    return bool(how.get(LABEL)) and bool({*labels} & {*NOBODY}) and bool({*labels} - {*NOBODY})


# --- Landmarks ---


def _word(text, other="M"):
    """A text as a number of a landmark: one word, without a sign of the formats."""
    return re.sub(r"[\s='\"\[\],]", "", text)[:500] or other


def _line(text, end):
    """A text as the rest of a line."""
    return text.replace(end, " ")


def _pairs(space, row):
    # Some are below zero: the origin is elsewhere in an image.
    words = [_shifted(row[name]) for name in space.point_columns]
    return list(zip(words[0::2], words[1::2], strict=True))


def _shifted(text):
    try:
        return repr(float(text) + 50.0)
    except ValueError:
        return _word(text)


def _name(row, blank="_"):
    """A label as a word, or several if it has a blank in it; that of nobody is empty."""
    if row[LABEL] in NOBODY:
        return ""
    parts = re.split("[, ]", row[LABEL])
    return blank.join(f"n{each.encode('unicode_escape').hex()}" for each in parts)


def _tps(space, table, end):
    lines = []
    for row in table:
        lines += [f"LM={len(space.point_columns) // 2}", *(" ".join(p) for p in _pairs(space, row))]
        lines += [f"ID={_name(row)}", f"COMMENT={_line(row[COMMENT], end)}"]
        lines += [f"SCALE={_word(row[name])}" for name in space.covariate_columns]
    return end.join([*lines, ""])


def _nts(space, table, end, width=4):
    # Nobody has no place in lines of labels, and counts for nobody elsewhere.
    named = [row for row in table if _name(row)]
    lines = [f"1 {len(named)}L {len(space.point_columns)} 1 M DIM=2"]
    names = [_name(row, " ") for row in named]
    lines += [" ".join(names[at : at + width]) for at in range(0, len(names), width)]
    lines += [" ".join(word for pair in _pairs(space, row) for word in pair) for row in named]
    return end.join(['"skulls', *lines, ""])


def _morphologika(space, table, end):
    sections = {
        "individuals": [str(len(table))],
        "landmarks": [str(len(space.point_columns) // 2)],
        "dimensions": ["2"],
        "names": [_name(row) or " " for row in table],
        "labels": [" ".join(space.covariate_columns)],
        "labelvalues": [" ".join(_word(row[x]) for x in space.covariate_columns) for row in table],
        "rawpoints": [
            line
            for row in table
            for line in (f"'{_line(row[COMMENT], end)}", *(" ".join(p) for p in _pairs(space, row)))
        ],
    }
    parts = (end.join([f"[{name}]", *lines]) for name, lines in sections.items())
    return end.join([*parts, ""])


# --- Settings ---


def settings_of(space, name):
    """Settings of a release from a format, as a dictionary for YAML."""
    columns, is_shape = space.covariate_columns, name in LANDMARKS
    covariates = {"tps": ["SCALE"], "nts": ["centroid_size"]}.get(name, columns)
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
        },
        "budget": {"epsilon": "3"} if space.unit == "epsilon" else {"rho": "3", "delta": "1e-6"},
        "ledger": "mine.ledger",
        "folder": "out",
    }
    if columns:
        found["data"]["covariate"] = covariates
        found["public"]["covariate_range"] = [[0.0, 1.0] for _ in columns]
        found["public"]["shooting_vector_length"] = 0.8
    if name == JOINED:
        found["data"]["join"] = {"path": "joined.csv", "subject": LABEL}
    return found
