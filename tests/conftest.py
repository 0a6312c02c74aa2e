"""What all tests share: those that need packages of another environment are skipped in others."""

from importlib.util import find_spec

import pytest

# A package of each environment, by its name, which is also that of the marker.
ENVIRONMENTS = {"geomstats": "geomstats", "competitors": "diffprivlib", "opacus": "opacus"}
ENVIRONMENTS |= {"dask": "distributed", "slurm": "snakemake_executor_plugin_slurm"}


def pytest_collection_modifyitems(items):
    for name, package in ENVIRONMENTS.items():
        if find_spec(package) is not None:
            continue
        skip = pytest.mark.skip(reason=f"needs {package}: ./run --with {name} pytest -m {name}")
        for item in items:
            if item.get_closest_marker(name):
                item.add_marker(skip)
