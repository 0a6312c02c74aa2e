"""An entry for the registry of deployments of differential privacy, from the file of a release."""

import json
from pathlib import Path

from geodp_release.release import Release

# What stands where only the holder of the data knows.
MARK = "TO BE WRITTEN"


def registry_entry(path):
    """Text of the entry: YAML in the form of github.com/opendp/deployments-registry-data.

    Parameters
    ----------
    path : str or Path
        A file that `Release.save` wrote.
    """
    from jinja2 import Environment, FileSystemLoader

    release = Release.load(path)
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), trim_blocks=True, lstrip_blocks=True
    )
    # Strings of JSON are strings of YAML.
    environment.filters["quoted"] = json.dumps
    # A file's own line breaks would end the part of the entry that they stand in.
    environment.filters["oneline"] = lambda text: " ".join(text.split())
    return environment.get_template("registry.yaml.j2").render(
        MARK=MARK,
        source=Path(path).name,
        release=release,
        plan=release.plan,
        version=json.loads(Path(path).read_text(encoding="utf-8"))["geodp"],
    )
