"""The configuration: a Pydantic model for each section, with types, defaults and descriptions.

The JSON schemas under config/schemas and the reference page docs/configuration.md are generated
from the models: run `python -m reproduction.configuration` in workflow/scripts.
"""

from importlib import import_module
from pathlib import Path

from reproduction.configuration.sentences import ConfigurationError, refuse_infinite, sentence

__all__ = [
    "MODELS",
    "ConfigurationError",
    "load_settings",
    "refuse_repeated_keys",
    "settings_model",
    "validate",
]


# Module and Pydantic model of each file under config, by the name of its schema.
MODELS = {
    "config": "reproduction.configuration.reproduction:ReproductionSettings",
    "audit": "reproduction.configuration.audit:AuditSettings",
    "benchmark": "reproduction.configuration.benchmark:BenchmarkSettings",
    "utility": "reproduction.configuration.utility:UtilitySettings",
    "means": "reproduction.configuration.means:MeansSettings",
    "tools": "reproduction.configuration.tools:ToolsSettings",
    "linear": "reproduction.configuration.linear:LinearFileSettings",
    "release": "geodp.release.settings:ReleaseSettings",
}


def settings_model(name):
    """Pydantic model of a file under config, loaded on demand."""
    module, model = MODELS[name].split(":")
    return getattr(import_module(module), model)


def validate(given, name="config", files=()):
    """Check settings against their Pydantic model and fill in defaults.

    Parameters
    ----------
    given : dict
    name : str
        One of `MODELS`.
    files : sequence of str, optional
        That the settings come from, for messages about them as a whole.

    Returns
    -------
    dict

    Raises
    ------
    ConfigurationError
        One sentence with the path of the key; and with the files if it is a key of their own, not
        one within a section.
    """
    from pydantic import ValidationError

    refuse_infinite(given)
    try:
        checked = settings_model(name).model_validate(given)
    except ValidationError as problem:
        problems = problem.errors(include_url=False)
        place = f"{', '.join(map(str, files))}: " if files and len(problems[0]["loc"]) < 2 else ""
        raise ConfigurationError(place + sentence(problems, given)) from None
    # Pydantic would warn of an integer that was given for a number and stays one.
    return checked.model_dump(warnings=False)


def refuse_repeated_keys(path, shown):
    """Refuse a YAML file in which a mapping has a key twice, of which YAML keeps the last.

    Parameters
    ----------
    path : str or Path
    shown : str
        What the message calls the file.

    Raises
    ------
    ConfigurationError
        One sentence with the file, the line and the key.
    """
    import yaml

    def check(node):
        if isinstance(node, yaml.MappingNode):
            seen = {}
            for key, value in node.value:
                line = key.start_mark.line + 1
                if key.value in seen:
                    raise ConfigurationError(
                        f"{shown}, line {line}: the key {key.value} stands in line "
                        f"{seen[key.value]} already: keep one of them"
                    )
                # Several mappings may be merged into one.
                if key.tag != "tag:yaml.org,2002:merge":
                    seen[key.value] = line
                check(value)
        elif isinstance(node, yaml.SequenceNode):
            for each in node.value:
                check(each)

    with open(path, encoding="utf-8") as text:
        check(yaml.compose(text, yaml.SafeLoader))


def load_settings(path):
    """Read and check the settings of a measurement from its file, such as config/benchmark.yaml.

    Returns
    -------
    dict

    Raises
    ------
    ConfigurationError
        One sentence with the file and the path of the key.
    """
    import yaml

    path = Path(path)
    shown = f"config/{path.name}"
    try:
        refuse_repeated_keys(path, shown)
        given = yaml.safe_load(path.read_text(encoding="utf-8"))
    except yaml.YAMLError as problem:
        where = getattr(problem, "problem_mark", None)
        place = f" line {where.line + 1}" if where else ""
        raise ConfigurationError(
            f"{shown}:{place} is not YAML: mend its punctuation or indentation"
        ) from None
    try:
        return validate(given, path.stem)
    except ConfigurationError as problem:
        raise ConfigurationError(f"{shown}: {problem}") from None
