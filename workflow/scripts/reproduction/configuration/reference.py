"""JSON schemas and the reference page of the configuration, generated from its models."""

import json
import re

from pydantic.json_schema import GenerateJsonSchema

from reproduction.configuration import MODELS, ConfigurationError, settings_model
from reproduction.pages import render_page
from reproduction.places import CHECKOUT


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
    made = settings_model(name).model_json_schema(schema_generator=WithoutTitles)
    # Docstrings have line breaks, which descriptions have not.
    text = re.sub(r'(\\n *)+"', '"', json.dumps(made))
    made = json.loads(re.sub(r"(\\n *)+", " ", text))
    return {"$schema": "https://json-schema.org/draft/2020-12/schema", **made}


def page():
    """The reference page: a list for each section, in the order of their first use."""
    files, seen = [], {}
    for name in MODELS:
        document = schema(name)
        files.append((name, _keys(document), []))
        for section in _sections(document, document.get("$defs", {}), seen):
            described = _description(section, f"the class {section['title']}")
            like, shared = _most_alike(section, seen)
            like = like and _type({"$ref": f"/{like}"})
            own = _keys(section, shared)
            files[-1][-1].append((_words(section["title"]), described, shared, like, own))
    return render_page(CHECKOUT / "workflow" / "report" / "configuration.md.j2", files=files)


def _sections(section, sections, seen):
    """Sections that a section refers to, depth first, without those seen before."""
    for name in _references(section["properties"]):
        if name not in seen:
            yield sections[name]
            seen[name] = sections[name]["properties"]
            yield from _sections(sections[name], sections, seen)


def _most_alike(section, seen):
    """The section seen before that has most keys of a section, and these keys: none, or several."""
    properties = section["properties"]
    shared = {
        name: [key for key in properties if before.get(key) == properties[key]]
        for name, before in seen.items()
    }
    like = max(shared, key=lambda name: len(shared[name]), default=None)
    return (like, shared[like]) if like and len(shared[like]) > 1 else (None, ())


def _references(part):
    """Names of the sections that a part of a schema refers to."""
    if isinstance(part, dict) and "$ref" in part:
        yield _name(part)
    if isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _references(inner)


def _description(part, what):
    if "description" not in part:
        raise ConfigurationError(
            f"{what} is not described: give a class a docstring and a field a description, which "
            "the reference page shows"
        )
    return part["description"]


def _keys(section, shared=()):
    """The list of a section's keys, but for those shared with another."""
    lines = []
    for key, part in section["properties"].items():
        if key in shared:
            continue
        words = [_type(part)]
        if key not in section.get("required", []) and part["default"] is not None:
            default = part["default"]
            if isinstance(default, dict) and list(default) == ["name"]:
                default = default["name"]
            said = f"default `{json.dumps(default, ensure_ascii=False)}`"
            words.append("optional" if default == {} else said)
        # What a key means that refers to a section, or chooses its own, is said there.
        meaning = part.get("description")
        if meaning is None and "const" not in part and not any(_references(part)):
            meaning = _description(part, f"the field {key} of the class {section['title']}")
        words = ", ".join(words)
        lines.append(f"* `{key}` ({words}){f': {meaning}' if meaning else ''}")
    return "\n".join(lines)


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
        return ", ".join(f"`{choice}`" for choice in part["enum"])
    kind = part.get("type")
    if kind == "null":
        return "`null`"
    if kind == "array":
        return f"list of {_type(part['items'])}"
    if kind == "object":
        values = part.get("patternProperties", {"": part.get("additionalProperties")})
        return f"mapping to {' or '.join(_type(value) for value in values.values())}"
    nouns = {"string": "text", "boolean": "true or false"}
    words = {"minimum": "from", "exclusiveMinimum": "above"}
    words |= {"maximum": "to", "exclusiveMaximum": "below"}
    limits = [f"{word} {part[limit]}" for limit, word in words.items() if limit in part]
    return " ".join([nouns.get(kind, kind), *limits])


def _name(part):
    return part["$ref"].rsplit("/", 1)[1]


def _words(name):
    """Heading of a section from its model's name: ``RandomWalkSettings`` is ``random walk``."""
    return re.sub(r"(?<!^)(?=[A-Z])", " ", name.removesuffix("Settings")).lower()
