"""JSON schemas and the reference page of the configuration, generated from its models."""

import json
import re

from pydantic.json_schema import GenerateJsonSchema

from reproduction.configuration import MODELS, ConfigurationError, settings_model

HEAD = """# Configuration

Every key of the files under `config`, with its type, default and meaning. Lengths are in the unit
of the manifold, radians on spheres and shapes. This page and the JSON schemas under
`config/schemas` are made from the models in `workflow/scripts/reproduction/configuration`: after a
change run `../../run python -m reproduction.configuration` in `workflow/scripts`.
"""

TITLES = {
    "config": "`config/config.yaml`, or a file of yours: `--configfile mine.yaml`",
    "audit": "`config/audit.yaml`: `./run snakemake audit`",
    "benchmark": "`config/benchmark.yaml`: `./run snakemake benchmark`",
    "utility": "`config/utility.yaml`: targets `utility` and `coverage`",
    "means": "`config/means.yaml`: targets `reimherr_bharath_soto` and `soto`",
    "tools": "`config/tools.yaml`: targets `linear_tools` and `linear_opacus`",
    "linear": "`config/linear.yaml`: targets `reimherr_awan` and `kulkarni_soto_first_version`",
    "release": "a release, such as `config/release.example.yaml`: `geodp release FILE`",
}

LIMITS = {
    "minimum": "from",
    "exclusiveMinimum": "above",
    "maximum": "to",
    "exclusiveMaximum": "below",
}
NOUNS = {"string": "text", "boolean": "true or false"}


class WithoutTitles(GenerateJsonSchema):
    """Generator of JSON schemas without titles of keys, which would repeat their names."""

    def field_title_should_be_set(self, schema):
        return False


def files():
    """Generated files: text by path, relative to the checkout."""
    schemas = {
        f"config/schemas/{name}.json": json.dumps(schema(name), indent=1) + "\n" for name in MODELS
    }
    return schemas | {"docs/configuration.md": page()}


def schema(name):
    """JSON schema of a file under config."""
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        **settings_model(name).model_json_schema(schema_generator=WithoutTitles),
    }


def page():
    """The reference page: a table for each section, in the order of their first use."""
    parts, seen = [HEAD], set()
    for name, title in TITLES.items():
        document = schema(name)
        sections = document["$defs"]
        parts += [f"## {title}\n", _table(document, sections)]
        for section in _sections(document, sections, seen):
            described = _description(section, f"the class {section['title']}")
            parts += [f"### {_words(section['title'])}\n", f"{described}\n"]
            if section["properties"]:
                parts.append(_table(section, sections))
    return "\n".join(parts)


def _sections(section, sections, seen):
    """Sections that a section refers to, depth first, without those seen before."""
    for name in _references(section["properties"]):
        if name not in seen:
            seen.add(name)
            yield sections[name]
            yield from _sections(sections[name], sections, seen)


def _references(part):
    """Names of the sections that a part of a schema refers to."""
    if isinstance(part, dict):
        if "$ref" in part:
            yield _name(part)
        for inner in part.values():
            yield from _references(inner)
    elif isinstance(part, list):
        for inner in part:
            yield from _references(inner)


def _description(part, what):
    if "description" not in part:
        raise ConfigurationError(
            f"{what} is not described: give a class a docstring and a field a description, which "
            "the reference page shows"
        )
    return part["description"]


def _table(section, sections):
    rows = ["| key | type | default | meaning |", "| --- | --- | --- | --- |"]
    for key, part in section["properties"].items():
        needed = key in section.get("required", [])
        default = "required" if needed else _default(part["default"])
        # A key with the description of the section it refers to has none of its own.
        described = (sections[_name(part)] if "$ref" in part else {}) | part
        meaning = _description(described, f"the field {key} of the class {section['title']}")
        # A line in a cell of a table of Markdown would end the cell.
        cells = (f"`{key}`", _type(part), default, meaning)
        rows.append(f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |")
    return "\n".join(rows) + "\n"


def _default(value):
    if value == {}:
        return "`{}`"
    if isinstance(value, dict) and list(value) == ["name"]:
        value = value["name"]
    return f"`{json.dumps(value, ensure_ascii=False)}`"


def _type(part):
    """Type and limits of a key in words."""
    if "$ref" in part:
        words = _words(_name(part))
        return f"[{words}](#{words.replace(' ', '-')})"
    for key in ("anyOf", "oneOf"):
        if key in part:
            return " or ".join(_type(form) for form in part[key])
    if "const" in part:
        return f"`{part['const']}`"
    if "enum" in part:
        return " or ".join(f"`{choice}`" for choice in part["enum"])
    kind = part.get("type")
    if kind == "null":
        return "`null`"
    if kind == "array":
        return f"list of {_type(part['items'])}"
    if kind == "object":
        values = part.get("patternProperties", {"": part.get("additionalProperties")})
        return f"mapping to {' or '.join(_type(value) for value in values.values())}"
    limits = [f"{word} {part[limit]}" for limit, word in LIMITS.items() if limit in part]
    return " ".join([NOUNS.get(kind, kind), *limits])


def _name(part):
    return part["$ref"].rsplit("/", 1)[1]


def _words(name):
    """Heading of a section from its model's name: ``RandomWalkSettings`` is ``random walk``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name.removesuffix("Settings")).lower()
