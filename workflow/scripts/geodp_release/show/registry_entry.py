"""An entry for the registry of deployments of differential privacy, from the file of a release."""

import json
from pathlib import Path

from geodp_release.show.release import Release
from geodp_release.show.templates import render


def registry_entry(path):
    """Text of the entry, in YAML, from the path of a file that `Release.save` wrote."""
    release, document = Release.load(path), json.loads(Path(path).read_text(encoding="utf-8"))
    # Strings of JSON are strings of YAML; elsewhere a line break would end a part of the entry.
    filters = {"quoted": json.dumps, "oneline": lambda text: " ".join(text.split())}
    values = {"release": release, "plan": release.plan, "version": document["geodp"]}
    return render("registry.yaml.j2", None, filters, **values)
