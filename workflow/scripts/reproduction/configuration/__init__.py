"""The configuration: a Pydantic model for each section, with types, defaults and descriptions.

The JSON schemas under config/schemas and the reference page docs/configuration.md are generated
from the models: run `python -m reproduction.configuration` in workflow/scripts.
"""

import re
from importlib import import_module

from geodp.errors import DataError

# Module and Pydantic model of each file under config, by the name of its schema.
MODELS = {
    "config": "reproduction.configuration.study:ReproductionSettings",
    "release": "geodp_release.ask.settings:ReleaseSettings",
}


class ConfigurationError(DataError):
    """A configuration that cannot be used; the message names the key and the remedy."""


def settings_model(name):
    """Pydantic model of a file under config, loaded on demand."""
    module, model = MODELS[name].split(":")
    return getattr(import_module(module), model)


def validate(given, files=(), by_command=()):
    """Check a configuration of studies and fill in defaults.

    A `ConfigurationError` is one sentence with the files, if given, and the path of the key.  Keys
    that the command line gave, by ``--config``, are in no file.
    """
    from geodp.settings.settings_files import check

    try:
        checked = check(settings_model("config"), given)
    except DataError as problem:
        key = re.match(r"key ([^.\[: ]+)", str(problem))
        given_so = ["--config"] if key and key[1] in by_command else map(str, files)
        place = "".join(f"{each}: " for each in [", ".join(given_so)] if each)
        raise ConfigurationError(f"{place}configuration {problem}") from None
    # Pydantic would warn of an integer that was given for a number and stays one.
    return checked.model_dump(warnings=False)


def describes_release(given):
    """Whether given settings are those of a release, as of the target `release`."""
    if "studies" in given:
        return False
    # As long to import as a study takes to plan its jobs.
    from geodp_release.ask.settings import ReleaseSettings

    # Keys of releases that no configuration of studies has.
    return bool((set(ReleaseSettings.model_fields) - {"name", "data"}) & set(given))


def without_studies(path):
    """A configuration without studies, named as the release that a file describes."""
    from geodp_release.ask.settings import read_settings

    empty = {"note": None, "seed": 0, "cells_per_job": 1, "papers": [], "studies": {}}
    return {"name": read_settings(path).name, **empty}
