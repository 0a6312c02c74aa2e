"""Writers of the tables of `replay_tables` in all formats of files, and settings of releases.

Each cell is written by itself; what a format cannot hold becomes another cell of that row alone.
"""

import csv
import itertools
import re
from decimal import Decimal
from xml.sax.saxutils import quoteattr
from zipfile import ZipFile

import numpy as np
import pandas as pd
import pyreadstat
import rdata
import scipy.io
import yaml

from geodp_release.run.subjects import ONE_EACH
from replay_tables import (
    ALIKE,
    COMMENT,
    DATED,
    FOLDER,
    JOINED,
    LABEL,
    LABELS,
    LANDMARKS,
    NOBODY,
    POINTS,
    SUFFIXES,
)


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
    lines = {"tps": tps_lines, "nts": nts_lines, "txt": morphologika_lines}
    writers = {
        **{"parquet": pd.DataFrame.to_parquet, "feather": pd.DataFrame.to_feather},
        **{"sav": pyreadstat.write_sav, "dta": pyreadstat.write_dta},
        "rds": lambda found, path: rdata.write_rds(path, found),
        "xlsx": lambda found, path: found.to_excel(path, index=False),
        "ods": write_ods,
    }
    name, dated = how["suffix"], []
    if name in DATED:
        name, dated = DATED[name], space.covariate_columns
        table = [row | {each: date_text(row[each]) for each in dated} for row in table]
    if name == "csv":
        path.write_bytes(csv_bytes(table, columns, how))
    elif name in LANDMARKS:
        text = how["end"].join([*lines[name](space, table, how["end"]), ""])
        path.write_bytes(text.encode("utf-8", "surrogateescape"))
    elif name in writers:
        if name in ("xlsx", "ods"):
            # A row without a value would be none.
            table = [{**row, COMMENT: row[COMMENT] or "-"} for row in table]
        found = storable(table, columns, dated)
        writers[name](typed(found, name) if name in ("sav", "dta", "rds") else found, path)
    elif name == FOLDER:
        path.mkdir()
        found = storable(table, columns)
        for part, (start, end) in enumerate(itertools.pairwise([0, *sorted(how["cuts"]), None])):
            # Whole numbers have a type of their own where all of a part are.
            some = found[start:end]
            for each in {*columns} - {LABEL, COMMENT}:
                some = some.astype({each: "int64"} if are_whole(some[each]) else {})
            some.to_parquet(path / f"{part}.parquet", index=False)
    elif name == "mat":
        # Labels are numbers: those of nobody are none.
        known = sorted({row[LABEL] for row in table} - {*NOBODY}, key=ascii)
        whose = [known.index(row[LABEL]) if row[LABEL] in known else np.nan for row in table]
        found = frame(table, columns).drop(columns=COMMENT).assign(**{LABEL: whose})
        scipy.io.savemat(path, {each: found[[each]].to_numpy(float) for each in found})
    else:
        found = storable(table, columns, dated)
        arrays = {each: found[each].to_numpy() for each in columns}
        for each in (LABEL, COMMENT):
            arrays[each] = np.array([text or "" for text in found[each]])
        if name == JOINED:
            write_joined(space, table, arrays[LABEL].tolist(), path.with_name("joined.csv"))
            points = found[space.point_columns].to_numpy()
            arrays = {LABEL: arrays[LABEL], POINTS: points}
        np.savez(path, **arrays)


def are_whole(numbers):
    """Whether a column of numbers has rows, and all are integers that int64 holds as they are."""
    each = numbers.to_numpy()
    is_same = (each == np.rint(each)) & (np.abs(each) < 2.0**53)
    return len(each) > 0 and bool(np.all(is_same & ~((each == 0.0) & np.signbit(each))))


def write_joined(space, table, labels, path):
    """Write covariates to a second table, by labels as the first one holds them."""
    whose = dict(zip((row[LABEL] for row in table), labels, strict=True))
    rows = {row[LABEL]: [row[name] for name in space.covariate_columns] for row in reversed(table)}
    with open(path, "w", encoding="utf-8", errors="surrogateescape", newline="") as text:
        rows = [[whose[each], *cells] for each, cells in rows.items()]
        csv.writer(text).writerows([[LABEL, *space.covariate_columns], *rows])


# From which dates count.
SINCE = "2000-01-01"


def date_text(text):
    """The date of a number of days as text; what is no number, or too large, as it is."""
    # Python knows no dates much farther.
    most_days = 1e5
    days = pd.to_numeric(pd.Series([text], dtype=object), errors="coerce").astype(float)[0]
    if not abs(days) < most_days:
        return text
    return (pd.Timestamp(SINCE) + pd.Timedelta(days, "D")).isoformat(sep=" ")


def storable(table, columns, dated=()):
    """A data frame of numbers, of dates and of texts that files of types can hold."""
    found = frame(table, columns)
    for name in dated:
        # Each as a program would read it for others.
        days = [pd.to_datetime([row[name]], errors="coerce", format="ISO8601") for row in table]
        found[name] = pd.Series([each[0] for each in days], dtype="datetime64[ms]")
    for name in (LABEL, COMMENT):
        found[name] = pd.Series([each and escaped(each) for each in found[name]], dtype=object)
    return found


def write_ods(found, path, spaces="urn:oasis:names:tc:opendocument:xmlns:"):
    """Write a sheet of OpenDocument, with all that a program needs."""
    rows = [[str(name) for name in found], *found.to_numpy(dtype=object).tolist()]
    body = "".join(
        f"<table:table-row>{''.join(map(ods_cell, row))}</table:table-row>" for row in rows
    )
    names = "".join(f' xmlns:{name}="{spaces}{name}:1.0"' for name in ("office", "table"))
    with ZipFile(path, "w") as file:
        file.writestr("mimetype", "application/vnd.oasis.opendocument.spreadsheet")
        file.writestr("META-INF/manifest.xml", f'<manifest xmlns="{spaces}manifest:1.0"/>')
        file.writestr(
            "content.xml",
            f"<office:document-content{names}><office:body><office:spreadsheet>"
            f'<table:table table:name="one">{body}</table:table>'
            "</office:spreadsheet></office:body></office:document-content>",
        )


def ods_cell(value):
    if value is None or value != value:
        return "<table:table-cell/>"
    kind, word = ("string", "string-value") if isinstance(value, str) else ("float", "value")
    text = quoteattr(str(value), {"\n": "&#10;", "\r": "&#13;", "\t": "&#9;"})
    return f'<table:table-cell office:value-type="{kind}" office:{word}={text}/>'


def typed(found, name):
    """A data frame for a program that fills texts with blanks, or has limits of its own."""
    for column in found:
        if column in (LABEL, COMMENT):
            texts = [(text or "")[:500] for text in found[column]]
            # Else labels of two people were one.
            ends = [f"{text[:-1]}\\x{ord(text[-1]):02x}" if text.strip() else "" for text in texts]
            found[column] = [
                end if text[-1:].isspace() else text.strip() and text
                for text, end in zip(texts, ends, strict=True)
            ]
        elif name == "dta" and found[column].dtype.kind != "M":
            # It uses what is above for codes of missing numbers.
            found[column] = found[column].where(found[column].abs() < 8.9e307)
    return found.astype({LABEL: object, COMMENT: object})


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
    is_broken = not {*"\r\n"}.isdisjoint("".join(header).replace(how["end"], ""))
    # Names are quoted as they should be: what follows is read by them.  A line break in one is
    # public, and all is in quotes then.
    quoting = csv.QUOTE_ALL if is_broken else how["quoting"]
    text = ""
    for index, cells in enumerate([header, *([row[k] for k in columns] for row in table)]):
        text += csv_line(cells, how, quoting, how["writer"] == "bare" and index > 0)
        text += how["end"] if index in how["empty"] else ""
    begins_with_feed = text.partition(how["end"])[2].startswith("\n")
    if not (how["last"] or begins_with_feed or text.removesuffix(how["end"]).endswith("\r")):
        # By hypothesis F3 of docs/guarantee.md.
        text = text.removesuffix(how["end"])
    before = how["before"].replace("\n", how["end"])
    mark = b"\xef\xbb\xbf" if how["mark"] else b""
    return mark + (before + text).encode("utf-8", "surrogateescape")


def csv_line(cells, how, quoting, is_bare):
    """A row; a bare one has quotes about delimiters, quotes and its own line end alone."""
    special = how["delimiter"], '"', *([how["end"]] if is_bare else how["end"])
    is_all = quoting == csv.QUOTE_ALL and not is_bare
    quoted = [
        '"' + cell.replace('"', '""') + '"' if is_all or any(s in cell for s in special) else cell
        for cell in cells
    ]
    return how["delimiter"].join(quoted) + how["end"]


# --- Data frames ---


def frame(table, columns, kind="float", whole=False):
    """A table as a data frame: numbers of a type, and texts with ``None`` for nobody's label.

    Labels may be ``whole`` numbers of 19 digits, of which pandas makes floating-point numbers where
    one is missing.
    """
    found = pd.DataFrame(table, columns=columns, dtype=object)
    for name in {*columns} - {LABEL, COMMENT}:
        found[name] = numbers(found[name].tolist(), kind)
    # As a floating-point number those of all are one.
    known = {label: 3 * 2**61 + place for place, label in enumerate((*LABELS, *ALIKE))}
    labels = [None if each in NOBODY else known[each] if whole else each for each in found[LABEL]]
    return found.assign(**{LABEL: pd.Series(labels, dtype=None if whole else object)})


def numbers(texts, kind):
    """A column of numbers of a type."""
    # A value of a column, from its text and number: by itself, whatever the others are.
    of_others = {"1": 1, "1e0": True, "0.25": 0.25 + 0j, "+1": 1 + 1j, "M": "M", "": np.nan}
    held = {
        # As it came from another program: complex, whole, true, a text or nothing.
        "inferred": lambda text, value: of_others.get(text, value),
        # As pandas holds those of one type and a text.
        "single": lambda text, value: "M" if text in ("M", "0.25") else np.float32(value),
        "object": lambda text, value: np.float32(value) if len(text) % 2 else value,
        "decimal": lambda text, value: value if np.isnan(value) else Decimal(value),
    }
    # Each as a program would read it for others.
    each = [pd.Series([text], dtype=object) for text in texts]
    found = [pd.to_numeric(one, errors="coerce").astype(float)[0] for one in each]
    with np.errstate(all="ignore"):
        if kind not in held:
            types = {"float32": "f4", "complex": complex, "nullable": "Float64", "float": float}
            return pd.Series(np.array(found)).astype(types[kind])
        values = [held[kind](*both) for both in zip(texts, found, strict=True)]
        # Whatever type pandas makes of all together, as where it joins frames.
        made = pd.Series(values, dtype=None if kind in ("inferred", "single") else object)
        return made if made.dtype.kind in "biufc" else pd.Series(values, dtype=object)


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
            "manifold": space.manifold_settings,
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
        found["data"] |= yaml.safe_load(space.terms)
        found["public"]["covariate_range"] = [[0.0, 1.0] for _ in space.line_columns]
        found["public"]["shooting_vector_length"] = 0.8
    if name in DATED:
        days = [SINCE, date_text("1")[: len(SINCE)]]
        found["data"]["dates"] = {each: {"since": SINCE, "unit": "days"} for each in columns}
        found["public"]["covariate_range"] = [days for _ in columns]
    if space.drops_missing:
        found["data"]["missing_responses"] = "drop"
    if name == JOINED:
        found["data"]["join"] = {"path": "joined.csv", "subject": LABEL}
    return found
