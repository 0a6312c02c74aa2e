"""Dates in the ranges and predictions of a release, as numbers of their covariate."""

from pydantic import TypeAdapter, ValidationError

from geodp.data.dates import Dates
from geodp.settings.shared_sections import DateSettings, date_text


def with_numbers(given):
    """Settings as they were given, with numbers in place of dates; what is no date stays."""
    data, public, rows = (given.get(key) for key in ("data", "public", "predictions"))
    try:
        scales = TypeAdapter(dict[str, DateSettings]).validate_python(data["dates"])
        names = data["covariate"]
        ranges = public["covariate_range"]
    except (ValidationError, TypeError, KeyError):  # none, or refused where they are checked
        return given
    names = [str(name) for name in (names if isinstance(names, list) else [names])]
    # Listed words have no range.
    words = data.get("categories") or {}
    ranged = [name for name in names if not isinstance(words.get(name), list)]

    def number(place, value, is_row):
        some, text = names if is_row else ranged, date_text(value)
        scale = scales.get(some[place]) if place < len(some) else None
        if scale is None or not isinstance(text, str):
            return value
        found = Dates(**dict(scale)).number(text)
        return value if found is None else found

    def numbers(values, is_row):
        """Of a row a value for each covariate, of a range two for one."""
        if not isinstance(values, list):
            return values
        return [
            [number(inner if is_row else place, each, is_row) for inner, each in enumerate(value)]
            if isinstance(value, list)
            else number(0, value, is_row)
            for place, value in enumerate(values)
        ]

    found = {"public": public | {"covariate_range": numbers(ranges, False)}}
    return given | found | ({"predictions": numbers(rows, True)} if rows else {})
