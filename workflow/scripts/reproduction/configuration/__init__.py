"""The configuration: a Pydantic model for each section, with types, defaults and descriptions.

The JSON schemas under config/schemas and the reference page docs/configuration.md are generated
from the models: run `python -m reproduction.configuration` in workflow/scripts.
"""

import re
from importlib import import_module

from geodp.errors import DataError

# Module and Pydantic model of each file under config, by the name of its schema.
MODELS = {
    "config": "reproduction.configuration.reproduction:ReproductionSettings",
    "release": "geodp_release.ask.settings:ReleaseSettings",
}


class ConfigurationError(DataError):
    """A configuration that cannot be used; the message names the key and the remedy."""


def settings_model(name):
    """Pydantic model of a file under config, loaded on demand."""
    module, model = MODELS[name].split(":")
    return getattr(import_module(module), model)


def validate(given, name="config", files=(), by_command=()):
    """Check settings against their model of `MODELS` and fill in defaults.

    A `ConfigurationError` is one sentence with the files, if given, and the path of the key.  Keys
    that the command line gave, by ``--config``, are in no file.
    """
    from geodp.settings.settings_files import check

    try:
        checked = check(settings_model(name), given)
    except DataError as problem:
        key = re.match(r"key ([^.\[: ]+)", str(problem))
        given_so = ["--config"] if key and key[1] in by_command else map(str, files)
        place = "".join(f"{each}: " for each in [", ".join(given_so)] if each)
        raise ConfigurationError(f"{place}configuration {problem}") from None
    # Pydantic would warn of an integer that was given for a number and stays one.
    return checked.model_dump(warnings=False)
