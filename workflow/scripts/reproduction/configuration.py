"""A configuration against its schema: defaults filled in, and one sentence for what is wrong."""

import math
from pathlib import Path

from geodp.errors import DataError


class ConfigurationError(DataError):
    """A configuration that cannot be run; the message names the key and the remedy."""


def load_schema(path):
    """The JSON schema of a configuration."""
    import yaml

    return yaml.safe_load(Path(path).read_text())


def load_settings(path):
    """Settings of the benchmark, which are not part of any configuration."""
    import yaml

    return yaml.safe_load(Path(path).read_text())


def load_audit(folder):
    """Settings of the audit from a folder of configurations, checked against their schema."""
    return _load_checked(folder, "audit")


def load_utility(folder):
    """The same of simulated releases; what is said of a space must be of one that there is."""
    return _load_checked(folder, "utility", _refuse_unknown_spaces)


def _load_checked(folder, name, check=lambda settings: None):
    settings = load_settings(folder / f"{name}.yaml")
    try:
        validate(settings, load_schema(folder / "schemas" / f"{name}.schema.yaml"))
        check(settings)
    except ConfigurationError as problem:
        raise ConfigurationError(f"config/{name}.yaml: {problem}") from None
    return settings


def _refuse_unknown_spaces(settings):
    known = settings["spaces"]
    for part, key in (("utility", "releases"), ("comparison", "cells")):
        for space in settings[part][key]:
            if space not in known:
                raise ConfigurationError(
                    f"configuration key {part}.{key}.{space} is unknown: known keys are "
                    f"{', '.join(known)}"
                )


def validate(configuration, schema):
    """Check a configuration against its schema and fill in defaults, in place.

    Raises
    ------
    ConfigurationError
        One sentence with the path of the key.
    """
    from jsonschema import Draft202012Validator
    from jsonschema.exceptions import best_match

    _fill_defaults(configuration, schema, schema)
    problem = best_match(Draft202012Validator(schema).iter_errors(configuration))
    if problem is not None:
        raise ConfigurationError(_sentence(problem))
    _refuse_infinite(configuration)


def _refuse_infinite(value, place=""):
    """Refuse .nan and .inf, which are numbers to a schema and may pass its limits."""
    if isinstance(value, float) and not math.isfinite(value):
        raise ConfigurationError(
            f"configuration key {place}: {value} is not finite: give a finite number"
        )
    if isinstance(value, dict):
        for key, part in value.items():
            _refuse_infinite(part, _join(place, key))
    elif isinstance(value, list):
        for index, part in enumerate(value):
            _refuse_infinite(part, f"{place}[{index}]")


def _fill_defaults(value, schema, root):
    from copy import deepcopy

    from jsonschema import Draft202012Validator

    if "$ref" in schema:
        schema = root["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "if" in schema:
        holds = Draft202012Validator(schema["if"]).is_valid(value)
        _fill_defaults(value, schema.get("then" if holds else "else", {}), root)
    if isinstance(value, dict):
        for key, part in schema.get("properties", {}).items():
            if "default" in part and key not in value:
                value[key] = deepcopy(part["default"])
            if key in value:
                _fill_defaults(value[key], part, root)
        extra = schema.get("additionalProperties")
        if isinstance(extra, dict):
            for part in value.values():
                _fill_defaults(part, extra, root)
    elif isinstance(value, list) and "items" in schema:
        for part in value:
            _fill_defaults(part, schema["items"], root)


def _sentence(problem):
    from difflib import get_close_matches

    place = _place(problem.absolute_path)
    found, limit = problem.instance, problem.validator_value
    if problem.validator == "additionalProperties":
        known = list(problem.schema.get("properties", {}))
        unknown = next(key for key in found if key not in known)
        near = get_close_matches(str(unknown), known, n=1)
        remedy = f"did you mean {near[0]}?" if near else f"known keys are {', '.join(known)}"
        return f"configuration key {_join(place, unknown)} is unknown: {remedy}"
    if problem.validator == "required":
        missing = next(key for key in limit if key not in found)
        return f"configuration key {_join(place, missing)} is missing: add it"
    remedies = {
        "minimum": "{found} is too small: give {limit} or more",
        "exclusiveMinimum": "{found} is too small: give a number above {limit}",
        "exclusiveMaximum": "{found} is too large: give a number below {limit}",
        "enum": "{found!r} is not known: give one of {choices}",
        "type": "{found!r} has the wrong type: give {choices}",
        "minItems": "the list is empty: give at least one entry"
        if not found
        else "{found} is too short a list: give {limit} entries or more",
        "maxItems": "{found} is too long a list: give {limit} entries at most",
        "minProperties": "it is empty: give at least one entry",
        "pattern": "{found!r} is not allowed: it must match {limit}",
    }
    # What else can fail are choices between several forms.
    remedy = remedies.get(
        problem.validator,
        "{found!r} has none of the forms this key may take: config/config.yaml explains them",
    )
    choices = ", ".join(map(str, limit if isinstance(limit, list) else [limit]))
    text = remedy.format(found=found, limit=limit, choices=choices)
    return f"configuration key {place or '(top)'}: {text}"


def _place(path):
    place = ""
    for part in path:
        place = f"{place}[{part}]" if isinstance(part, int) else _join(place, part)
    return place


def _join(place, key):
    return f"{place}.{key}" if place else str(key)
