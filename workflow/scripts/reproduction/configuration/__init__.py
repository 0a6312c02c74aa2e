"""The configuration: one typed model a section, from which all else about its keys is made.

`python -m reproduction.configuration` writes the JSON schemas under config/schemas and the
reference page docs/configuration.md.
"""

from pathlib import Path

from reproduction.configuration.sentences import ConfigurationError, refuse_infinite, sentence

__all__ = [
    "ConfigurationError",
    "load_audit",
    "load_settings",
    "load_utility",
    "settings_models",
    "validate",
]


def settings_models():
    """The model of each file under config, by the file's name without its ending."""
    from reproduction.configuration.audit import AuditSettings
    from reproduction.configuration.benchmark import BenchmarkSettings
    from reproduction.configuration.reproduction import ReproductionSettings
    from reproduction.configuration.utility import UtilitySettings

    return {
        "config": ReproductionSettings,
        "audit": AuditSettings,
        "benchmark": BenchmarkSettings,
        "utility": UtilitySettings,
    }


def validate(given, name="config"):
    """Plain settings from those given: checked against their model, defaults filled in.

    Parameters
    ----------
    given : dict
    name : {"config", "audit", "benchmark", "utility"}

    Returns
    -------
    dict

    Raises
    ------
    ConfigurationError
        One sentence with the path of the key.
    """
    from pydantic import ValidationError

    refuse_infinite(given)
    try:
        return settings_models()[name].model_validate(given).model_dump()
    except ValidationError as problem:
        problems = problem.errors(include_url=False)
        raise ConfigurationError(sentence(problems, given)) from None


def load_settings(path):
    """Settings of a measurement from its file, such as config/benchmark.yaml.

    Raises
    ------
    ConfigurationError
        One sentence with the file and the path of the key.
    """
    import yaml

    path = Path(path)
    try:
        return validate(yaml.safe_load(path.read_text()), path.stem)
    except ConfigurationError as problem:
        raise ConfigurationError(f"config/{path.name}: {problem}") from None
    except yaml.YAMLError as problem:
        where = getattr(problem, "problem_mark", None)
        place = f" line {where.line + 1}" if where else ""
        raise ConfigurationError(
            f"config/{path.name}:{place} is not YAML: mend its punctuation or indentation"
        ) from None


def load_audit(folder):
    """Settings of the audit from a folder of configurations."""
    return load_settings(Path(folder) / "audit.yaml")


def load_utility(folder):
    """Settings of simulated releases from a folder of configurations."""
    return load_settings(Path(folder) / "utility.yaml")
