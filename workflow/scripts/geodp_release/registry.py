"""An entry for the registry of deployments of differential privacy, from the file of a release."""

import json
from pathlib import Path

from geodp_release.release import Release


def registry_entry(path):
    """Text of the entry, in YAML, from the path of a file that `Release.save` wrote."""
    from jinja2 import Environment, FileSystemLoader

    release, document = Release.load(path), json.loads(Path(path).read_text(encoding="utf-8"))
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), trim_blocks=True, lstrip_blocks=True
    )
    # Strings of JSON are strings of YAML; elsewhere a line break would end a part of the entry.
    environment.filters |= {"quoted": json.dumps, "oneline": lambda text: " ".join(text.split())}
    template = environment.get_template("registry.yaml.j2")
    return template.render(release=release, plan=release.plan, version=document["geodp"])
