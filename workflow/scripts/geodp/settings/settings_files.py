"""Files of settings: YAML, checked by a model, with errors of one sentence."""

import re
import reprlib
from difflib import get_close_matches
from pathlib import Path

import yaml
from pydantic import ValidationError

from geodp.data.messages import text_of
from geodp.errors import DataError
from geodp.settings.section import unknown

# Limits of a file of settings: its characters; those of a text and of a number in it; and lists
# and mappings within each other.
LONGEST_FILE, LONGEST_TEXT, LONGEST_NUMBER, DEEPEST = 1_000_000, 10_000, 100, 10

WORDS = yaml.safe_load(Path(__file__).with_name("remedies.yaml").read_text(encoding="utf-8"))


class Loader(yaml.SafeLoader):
    """Loader of YAML in which each key of a mapping stands once, and is the text that it is."""

    def compose_mapping_node(self, anchor):
        """Compose a mapping, before others are merged into it."""
        node = super().compose_mapping_node(anchor)
        lines: dict[str, int] = {}
        for key, _ in node.value:
            line = key.start_mark.line + 1
            if not isinstance(key, yaml.ScalarNode):
                raise DataError(f"line {line}: a key is a list or a mapping: give text")
            if key.tag == "tag:yaml.org,2002:merge":
                continue
            if key.value in lines:
                raise DataError(
                    f"line {line}: the key {key.value} stands in line {lines[key.value]} already: "
                    "keep one of them"
                )
            lines[key.value] = line
            # FALSE, no and 1 are words of categories, and names of columns.
            key.tag = "tag:yaml.org,2002:str"
        return node


class PlainLoader(Loader):
    """Loader of values as they are written, of limited size, without aliases and tags."""

    depth = 0

    def compose_node(self, parent, index):
        """Compose a node that keeps to the limits."""
        event = self.peek_event()
        if isinstance(event, yaml.AliasEvent):
            raise _at(event, "an alias is refused: write the value out")
        if event.tag is not None:
            raise _at(event, f"the tag {event.tag} is refused: remove it")
        if self.depth > DEEPEST:
            raise _at(event, f"more than {DEEPEST} lists or mappings lie in each other: flatten it")
        if isinstance(event, yaml.ScalarEvent):
            if len(event.value) > LONGEST_TEXT:
                raise _at(event, f"a text has more than {LONGEST_TEXT} characters: shorten it")
            # No path has the first, and no UTF-8 the others.
            if re.search("[\0\ud800-\udfff]", event.value):
                raise _at(event, "a text has a character that no file has: remove it")
        self.depth += 1
        node = super().compose_node(parent, index)
        self.depth -= 1
        is_number = isinstance(node, yaml.ScalarNode) and not node.tag.endswith(":str")
        if is_number and len(node.value) > LONGEST_NUMBER:
            raise _at(event, f"a number has more than {LONGEST_NUMBER} characters: round it")
        return node


def _at(place, words):
    """Error at an event of YAML."""
    return DataError(f"line {place.start_mark.line + 1}: {words}")


def load(path, shown=None, loader=Loader):
    """Values of a YAML file, which errors, of one sentence, call ``shown`` or by its path."""
    shown, text = shown or path, text_of(path, LONGEST_FILE)
    try:
        return yaml.load(text, loader)
    except yaml.YAMLError as problem:
        mark = getattr(problem, "problem_mark", None)
        where = f", line {mark.line + 1}" if mark else ""
        fault = "it is not YAML: mend its punctuation or indentation"
        if "'\\t'" in str(getattr(problem, "problem", "")):
            fault = "a tab stands where YAML wants blanks: replace it by blanks"
        raise DataError(f"{shown}{where}: {fault}") from None
    except DataError as problem:
        raise DataError(f"{shown}, {problem}") from None
    except ValueError:
        # PyYAML takes 2026-13-01 for a date, and then makes it one.
        raise DataError(f"{shown}: it has a date that is none: put it in quotes") from None


def load_keys(path, shown=None, loader=Loader):
    """The same as `load`, of a file that is a mapping."""
    given = load(path, shown, loader)
    if not isinstance(given, dict):
        raise DataError(f"{shown or path}: it has no keys: see docs/configuration.md for them")
    return given


def check(model, given):
    """Settings as their model, a `Section`, which fills in defaults.

    A `DataError` is one sentence that begins with the path of the key.
    """
    try:
        return model.model_validate(given)
    except ValidationError as problem:
        raise DataError(sentence(problem.errors(include_url=False), given)) from None


def sentence(problems, given):
    """Sentence for the first of Pydantic's problems; of a union, for the form that was meant."""
    problem, place = _of_best_form(problems, given)
    kind, context = problem["type"], dict(problem.get("ctx", {}))
    found = reprlib.repr(problem["input"])
    if kind.startswith("union_tag"):
        place = [*place, context["discriminator"].strip("'()")]
        kind = "missing" if kind == "union_tag_not_found" else "literal_error"
        found, context["expected"] = repr(context.get("tag")), context.get("expected_tags", "")
    if "expected" in context:
        choices = re.findall("'(.*?)'", context["expected"])
        context["expected"] = _some_of(choices, context.get("tag", problem["input"]))
        if problem["loc"][-1] == "[key]":
            place = [*place, problem["input"]]
            kind, context["words"] = "refused", unknown(problem["input"], choices)
    remedy = ": {found} is not allowed: {message}"
    if kind in WORDS["forms"]:
        remedy = f": {{found}} has the wrong type: give {WORDS['forms'][kind]}"
        given_text = str(problem["input"])
        if kind == "float_type" and re.fullmatch(r"[-+.\d]+e[-+]?\d+", given_text, re.IGNORECASE):
            remedy = ": {found} is text: write it like 2.0e-1 or 0.2, without quotes"
    remedy = WORDS["remedies"].get(kind, remedy)
    if kind == "too_short" and not problem["input"]:
        what = "the list is" if isinstance(problem["input"], list) else "it is"
        remedy = f": {what} empty: give at least one entry"
    if "forms" in problem:
        remedy = f": {{found}} has none of its forms: give {problem['forms']}"
    if context.get("key"):
        place = [*place, context["key"]]
    message = context.get("error", problem["msg"])
    shown = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in place)
    text = remedy.format(found=found, message=message, **context)
    # Some messages name the key themselves.
    return f"key {shown[1:]}{text}" if shown else text.removeprefix(": ")


def _some_of(choices, found, most=12):
    """Choices in words; of more than ``most`` those nearest to what was found, or the first."""
    if len(choices) <= most:
        return ", ".join(choices)
    near = get_close_matches(str(found), choices, n=3) or choices[:6]
    return f"{', '.join(near)}, or another that docs/configuration.md has"


def _of_best_form(problems, given):
    """The first problem and its place; or of a union at its key, that of the form that was meant.

    That is a problem of a value whose form is right, or else the one deepest inside the value.
    Where no form fits, the first problem gets ``forms``, what they are in words.
    """
    first, forms = problems[0], WORDS["forms"]
    place, union = _place(first, given)
    if union is None:
        return first, place
    prefix = first["loc"][:union]
    rivals = [(each, _place(each, given)[0]) for each in problems if each["loc"][:union] == prefix]
    best, where = max(rivals, key=lambda rival: (rival[0]["type"] not in forms, len(rival[1])))
    if len({each["type"] for each, _ in rivals}) > 1 and best["type"] in forms and where == place:
        given_forms = [forms[each["type"]].format(**each.get("ctx", {})) for each, _ in rivals]
        best = best | {"forms": " or ".join(dict.fromkeys(given_forms)).replace("'", "")}
    return best, where


def _place(problem, given):
    """Path of the key without the forms that Pydantic puts there, and where a union's stands."""
    *before, last = problem["loc"] or [None]
    place: list[str | int] = []
    value, union = given, None
    for index, part in enumerate(problem["loc"]):
        if part == "[key]":
            # Of a bad name the place is the section that contains it.
            place.pop()
        elif isinstance(part, int):
            place.append(part)
            value = value[part] if isinstance(value, list) else None
        elif isinstance(value, dict) and part in value:
            place.append(part)
            value = value[part]
        elif problem["type"] == "missing" and index == len(before):
            place.append(last)
        elif not isinstance(value, dict) and union is None:
            union = index
    return place, union
