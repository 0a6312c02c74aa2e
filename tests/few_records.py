"""Settings of measurements that take few records: the shipped ones, with some changed."""

from pathlib import Path

import yaml

CHANGES = yaml.safe_load(Path(__file__).with_suffix(".yaml").read_text())


def shipped_settings(stage):
    path = Path(__file__).parents[1] / "config" / f"{stage}.yaml"
    return yaml.safe_load(path.read_text())


def few_records(stage):
    """Settings of a stage, changed as the file beside this one says."""
    return _changed(shipped_settings(stage), CHANGES[stage])


def _changed(settings, changes):
    if not (isinstance(settings, dict) and isinstance(changes, dict)):
        return changes
    kept = {key: value for key, value in settings.items() if changes.get(key, value) is not None}
    found = {key: _changed(settings.get(key), value) for key, value in changes.items()}
    return kept | {key: value for key, value in found.items() if value is not None}
