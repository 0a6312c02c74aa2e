"""Errors of a configuration as one sentence: the key, the value found, the remedy."""

import math

from geodp.errors import DataError


class ConfigurationError(DataError):
    """A configuration that cannot be used; the message names the key and the remedy."""


REMEDIES = {
    "missing": " is missing: add it",
    "greater_than_equal": ": {found} is too small: give {ge} or more",
    "greater_than": ": {found} is too small: give a number above {gt}",
    "less_than_equal": ": {found} is too large: give {le} or less",
    "less_than": ": {found} is too large: give a number below {lt}",
    "literal_error": ": {found!r} is not known: give one of {expected}",
    "too_long": ": {found} is too long a list: give {max_length} entries at most",
    "string_pattern_mismatch": ": {found!r} is not allowed: it must match {pattern}",
    "int_type": ": {found!r} has the wrong type: give an integer",
    "float_type": ": {found!r} has the wrong type: give a number",
    "string_type": ": {found!r} has the wrong type: give text",
    "bool_type": ": {found!r} has the wrong type: give true or false",
    "list_type": ": {found!r} has the wrong type: give a list",
    "dict_type": ": {found!r} has the wrong type: give a mapping from keys to values",
    "model_type": ": {found!r} has the wrong type: give a mapping from keys to values",
    "model_attributes_type": ": {found!r} has the wrong type: give a mapping from keys to values",
    "refused": "{sentence}",
}

# Keys whose values choose the form of a section; Pydantic puts the form into the path of an error.
CHOOSING = ("kind", "source", "name")


def refuse_infinite(value, place=""):
    """Refuse .nan and .inf, which can pass limits of numbers."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(
            f"configuration key {place}: {value} is not finite: give a finite number"
        )
    if isinstance(value, dict):
        for key, part in value.items():
            refuse_infinite(part, _join(place, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            refuse_infinite(part, f"{place}[{index}]")


def sentence(problems, configuration):
    """Sentence for the first of Pydantic's problems."""
    problem = problems[0]
    kind, found = problem["type"], problem["input"]
    limits = {"msg": problem["msg"], **problem.get("ctx", {})}
    path = list(problem["loc"])
    if path and path[-1] == "[key]":
        # For a bad name the place is the section that contains it.
        path = path[:-2]
    place = _place(path, configuration)
    if kind in ("union_tag_not_found", "union_tag_invalid"):
        place = _join(place, limits["discriminator"].strip("'"))
        if kind == "union_tag_not_found":
            kind = "missing"
        else:
            kind, found = "literal_error", limits["tag"]
            limits["expected"] = limits["expected_tags"]
    if kind == "literal_error":
        limits["expected"] = limits["expected"].replace(" or ", ", ").replace("'", "")
    if kind == "too_short":
        what = "the list is" if isinstance(found, list) else "it is"
        remedy = (
            ": {found} is too short a list: give {min_length} entries or more"
            if found
            else f": {what} empty: give at least one entry"
        )
    else:
        remedy = REMEDIES.get(kind, ": {found!r} is not allowed: {msg}")
    if limits.get("key"):
        place = _join(place, limits["key"])
    return f"configuration key {place or '(top)'}{remedy.format(found=found, **limits)}"


def _place(path, value):
    """Place of a problem, without the forms of sections that Pydantic puts into its path."""
    place = ""
    for part in path:
        if isinstance(part, int):
            place = f"{place}[{part}]"
            value = value[part] if isinstance(value, list) else None
        elif isinstance(value, dict):
            if part not in value and part in [value.get(key) for key in CHOOSING]:
                continue
            place, value = _join(place, part), value.get(part)
        elif part != value:
            place, value = _join(place, part), None
    return place


def _join(place, key):
    return f"{place}.{key}" if place else str(key)
