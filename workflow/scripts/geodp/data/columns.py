"""Columns of a point in a table: those that settings name, and guesses from names alone."""

import re
from difflib import get_close_matches
from typing import NamedTuple

from geodp.data.angles import ANGLES
from geodp.data.cells import finite_number
from geodp.data.coordinates import in_layout, limits_of
from geodp.data.messages import few
from geodp.data.shares import refuse_no_shares
from geodp.data.triangles import DIAGONAL_FIRST, TRIANGLES
from geodp.errors import DataError
from geodp.manifolds.registry import layout_advice

LANDMARK = re.compile("([xy])_?([1-9][0-9]*)", re.IGNORECASE)


class PointColumns(NamedTuple):
    """Space, its size, and columns in the order of `data.columns`, with `data.coordinates`."""

    space: str
    size: int
    columns: list[str]
    coordinates: str = "ambient"


# Two angles of a direction by the beginnings of their names, each pair in the order of the word.
PAIRS = {
    "latitude_longitude": ("lat|breite", "lon|lng|l[äa]e?nge"),
    "right_ascension_declination": ("ra$|right", "dec"),
    "declination_inclination": ("dec", "inc"),
    "trend_plunge": ("trend|azimuth", "plunge"),
    "strike_dip": ("strike|dip.?(dir|azi)", "dip(?!.?(dir|azi))"),
}


def told_pair(names):
    """Of `PAIRS` the word for two angles of a direction, and their columns; or ``None``."""
    for word, kinds in PAIRS.items():
        found = [[name for name in names if re.match(kind, name, re.I)] for kind in kinds]
        if all(found):
            return word, [each[0] for each in found]
    return None


def told_shares(names):
    """`PointColumns` of shares that names tell of, or ``None``."""
    word = "(share|pct|percent|prop|proportion|fraction)s?"
    share = re.compile(f"{word}[_. ].+|.+[_. ]{word}", re.IGNORECASE)
    found = [name for name in names if share.fullmatch(name)]
    return PointColumns("sphere", len(found) - 1, found, "shares") if found[1:] else None


def told_columns(names):
    """`PointColumns` that names tell of, or ``None``; no value is looked at."""
    word, columns = told_pair(names) or ("", [])
    places = word == "latitude_longitude" and PointColumns("sphere", 2, columns, word)
    return _landmarks(names) or places or _entries(names)


def _landmarks(names):
    found = {}
    for name in names:
        if match := LANDMARK.fullmatch(name):
            found[int(match[2]), match[1].lower()] = name
    number = len(found) // 2
    places = [(index, axis) for index in range(1, number + 1) for axis in "xy"]
    if number < 3 or sorted(found) != places:
        return None
    return PointColumns("kendall", number, [found[place] for place in places])


def _entries(names):
    stems: dict = {}
    # A stem and two indices, such as a11, Dxy or S[1,2].
    entry = r"(.*?)[_.\[(]*(?:([a-z]|\d+)[_,.]+([a-z]|\d+)|([a-z]|\d)([a-z]|\d))[\])]*"
    for name in names:
        if match := re.fullmatch(entry, name, re.IGNORECASE):
            pair = match[2] or match[4], match[3] or match[5]
            stems.setdefault(match[1], {})[pair[0].lower(), pair[1].lower()] = name
    for found in stems.values():
        # Numbers by their size.
        letters = sorted({letter for pair in found for letter in pair}, key=lambda a: (len(a), a))
        upper = [(a, b) for index, a in enumerate(letters) for b in letters[index:]]
        whole = [(a, b) for a in letters for b in letters]
        if len(letters) < 2:
            continue
        if len(found) == len(whole):
            return PointColumns("spd", len(letters), [str(found[pair]) for pair in whole])
        # Of either triangle, or of some entries from each.
        pairs = [pair if pair in found else pair[::-1] for pair in upper]
        if len(found) == len(upper) and set(pairs) <= set(found):
            return PointColumns("spd", len(letters), [str(found[pair]) for pair in pairs])
    return None


# --- Columns that settings name ---


def has_landmarks(manifold):
    """Whether points of a manifold are shapes of landmarks."""
    return manifold.dtype is complex


def has_landmark_columns(manifold):
    """Whether columns of a point, unless named, are those of landmarks: ``x1, y1, x2, y2, ...``."""
    return has_landmarks(manifold) or manifold.coordinate_names[:2] == landmark_columns(1)


def landmark_columns(number):
    """Column names ``x1, y1, ..., xk, yk``."""
    return [f"{axis}{index}" for index in range(1, number + 1) for axis in "xy"]


def number_of_coordinates(manifold, coordinates):
    """How many numbers a point has, the most where several layouts are known."""
    if has_landmarks(manifold):
        return 2 * manifold.landmarks
    if coordinates == "latitude_longitude":
        return 2
    if coordinates in ANGLES:
        return 1
    return manifold.dim if coordinates in TRIANGLES else max(manifold.layouts())


def point_columns(
    table, manifold, columns, covariates, subject, coordinates, others=(), place=None, is_shown=True
):
    """Columns of a point in a table, and the names of their numbers; nothing of a record is read.

    As for `read_table`, with several covariates, and ``others`` that are read as labels.  Messages
    call the settings of columns ``place``; in a file without a header its columns are data, and not
    shown.
    """
    labels = [*([subject] if subject else []), *others]
    fields = dict.fromkeys([*covariates, *labels])
    columns = named_columns(table, fields, columns, is_shown)
    table.refuse_unfit([*covariates, *columns], labels)
    for name in covariates:
        if table.numbered([name]) != [name]:
            raise DataError(
                f"{table.path}, {table.source.field_word} {name}: it holds more than one number a "
                "record: give each covariate an array of its own"
            )
    names = table.numbered(columns)
    check_columns(names, place or table.path, manifold, covariates, subject, coordinates)
    return columns, names


def check_columns(columns, source, manifold, covariates, subject, coordinates):
    """Refuse columns that make no point of the manifold."""
    known = dict.fromkeys(covariates, "the covariate") | {subject: "the subject"}
    for name in dict.fromkeys(columns):
        other = known.get(name)
        if columns.count(name) > 1 or other:
            also = f"is {other} too" if other else "is named more than once"
            raise DataError(
                f"{source}: column {name} of a point {also}: name each coordinate's own column",
                argument="columns",
            )
    number, space, kinds = len(columns), manifold.name, manifold.coordinate_kinds
    wanted = number_of_coordinates(manifold, coordinates)
    is_small = coordinates in DIAGONAL_FIRST and "lower_triangle" in kinds
    matrix = "3 x 3 matrices" if is_small else "a symmetric matrix"
    # Which space it is of what columns hold, and what is wrong with another number of them.
    angle = "one angle is of the circle, sphere S^1", "are no angle: name one"
    whose, fault_of_number = {
        "latitude_longitude": (
            "latitude and longitude are of the sphere S^2",
            "are no latitude and longitude: name two, the latitude first",
        ),
        "shares": ("shares of a whole are of a sphere", f"are no shares on {space}: name {wanted}"),
        **dict.fromkeys(ANGLES, angle),
    }.get(
        coordinates,
        (f"{coordinates} is of {matrix}", f"are no triangle of {space}: name {wanted}"),
    )
    if coordinates != "ambient" and coordinates not in kinds:
        raise DataError(
            f"{source}: {whose}, not of {space}: set coordinates to ambient", argument="coordinates"
        )
    fault = None
    if has_landmarks(manifold):
        fault = "are no landmarks: name x and y of each in turn" if number % 2 else None
    elif coordinates == "ambient":
        if number not in manifold.layouts():
            fault = f"make no point of {space}: {layout_advice(manifold)}"
    elif number != wanted:
        fault = fault_of_number
    if fault:
        raise DataError(f"{source}: {number} columns {fault}", argument="columns")


def named_columns(table, fields, columns, is_shown):
    """The columns of a point; those and the fields are in the header, once; see `point_columns`."""
    header, place = table.names, table.place
    there = f" (there are: {few(header)})" if is_shown else ""
    if columns is None:
        columns = _columns_of_landmarks(header, place, there, is_shown)
    for name in [*fields, *columns]:
        if name not in header:
            remedy = "add it, or correct the name that was asked for"
            if is_shown and all(finite_number(each) is None for each in header):
                near = get_close_matches(name, header, n=1)
                remedy = f"did you mean {near[0]}?" if near else remedy
            elif is_shown:
                remedy = "numbers are no names, so add the line of names if it is missing"
            word = table.source.field_word
            raise DataError(f"{place}: there is no {word} {name}{there}: {remedy}{table.hint}")
        if header.count(name) > 1:
            raise DataError(
                f"{place}: {header.count(name)} columns are called {name}: rename or remove the "
                "others"
            )
    return columns


def ambient(numbers, coordinates, source, rows, columns):
    """Coordinates (n, k) in a layout of the space from what columns hold; see `read_table`."""
    for name, values, (low, high) in zip(columns, numbers.T, limits_of(coordinates), strict=False):
        unit = ANGLES[coordinates].unit if coordinates in ANGLES else "degrees"
        source.refuse_first(
            ~((low <= values) & (values <= high)),
            rows,
            lambda index, values=values, limits=f"{low:g} and {high:g}", unit=unit: (
                f"{values[index]:g} is not between {limits} {unit}"
            ),
            name,
        )
    if coordinates == "shares":
        refuse_no_shares(numbers, source, rows, columns)
    return in_layout(numbers, coordinates)


def _columns_of_landmarks(header, place, there, is_shown):
    """The columns ``x1, y1, ..., xk, yk`` for the greatest number k in a header.

    Where a header is missing its names are a record's cells, of which only ``is_shown`` may tell.
    """
    names = {name for name in header if re.fullmatch(r"[xy][1-9][0-9]*", name)}
    columns = landmark_columns((len(names) + 1) // 2)
    gap = next((name for name in columns if name not in names), None)
    if not names or (gap and not is_shown):
        raise DataError(
            f"{place}: there are no columns x1, y1, x2, y2, ...{there}: give those to the "
            "landmarks, without a gap"
        )
    if gap:
        last = max(names, key=lambda name: (int(name[1:]), name[0] == "x"))
        raise DataError(
            f"{place}: there is no column {gap} though there is a column {last}: name the "
            "columns of the landmarks x1, y1, x2, y2, ... without a gap"
        )
    return columns
