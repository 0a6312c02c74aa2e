"""What all tests share: those that need geomstats are skipped where it is not."""

from importlib.util import find_spec

import pytest


def pytest_collection_modifyitems(items):
    if find_spec("geomstats") is not None:
        return
    skip = pytest.mark.skip(reason="needs geomstats: ./run --with geomstats pytest -m geomstats")
    for item in items:
        if item.get_closest_marker("geomstats"):
            item.add_marker(skip)
