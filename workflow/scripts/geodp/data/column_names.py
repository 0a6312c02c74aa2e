"""What the names of columns alone tell of a point: its space, and the order of its columns."""

import re
from typing import NamedTuple

LATITUDE = re.compile("lat|breite", re.IGNORECASE)
LONGITUDE = re.compile("lon|lng|l[äa]e?nge", re.IGNORECASE)
LANDMARK = re.compile("([xy])_?([1-9][0-9]*)", re.IGNORECASE)

# A stem and two indices, such as a11, Dxy or S[1,2].
ENTRY = re.compile(r"(.*?)[_.\[(]*([a-z]|\d)[_,.]*([a-z]|\d)[\])]*", re.IGNORECASE)


class PointColumns(NamedTuple):
    """Space, its size, and columns in the order of `data.columns`, with `data.coordinates`."""

    space: str
    size: int
    columns: list[str]
    coordinates: str = "ambient"


def point_columns(names):
    """`PointColumns` that names tell of, or ``None``; no value is looked at."""
    return _landmarks(names) or _directions(names) or _entries(names)


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


def _directions(names):
    pair = [
        next((name for name in names if kind.match(name)), None) for kind in (LATITUDE, LONGITUDE)
    ]
    if None in pair:
        return None
    return PointColumns("sphere", 2, [str(name) for name in pair], "latitude_longitude")


def _entries(names):
    stems: dict = {}
    for name in names:
        if match := ENTRY.fullmatch(name):
            stems.setdefault(match[1], {})[match[2].lower(), match[3].lower()] = name
    for found in stems.values():
        letters = sorted({letter for pair in found for letter in pair})
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
