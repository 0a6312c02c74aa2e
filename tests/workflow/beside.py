"""Configurations beside the tests, and the checkout that holds them."""

import json
from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def read(name):
    """A configuration, to be changed at will, and no part in two places."""
    text = Path(__file__).with_name(f"{name}.yaml").read_text()
    return json.loads(json.dumps(yaml.safe_load(text)))
