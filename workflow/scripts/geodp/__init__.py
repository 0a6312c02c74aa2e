"""Regression on manifolds under differential privacy.

Names are loaded when they are first used.  `__init__.pyi` lists them with their modules.
"""

import os  # pathlib is slow to load
import re
from importlib import import_module
from importlib.util import find_spec

__version__ = "0.2.0"

with open(os.path.splitext(__file__)[0] + ".pyi", encoding="utf-8") as _stub:
    _IMPORTS = re.findall(r"^from (\S+) import (\w+)", _stub.read(), re.M)
_OWNERS = {name: owner for owner, name in _IMPORTS}

# What `from geodp import *` would fail with, where an extra is not installed.
_LACKING = (
    set() if find_spec("sklearn") else {"PrivateGeodesicRegression", "PrivateLinearRegression"}
)

__all__ = sorted({*_OWNERS, "__version__"} - _LACKING)


def __getattr__(name):
    if name not in _OWNERS:
        raise AttributeError(f"module 'geodp' has no attribute {name!r}")
    return getattr(import_module(_OWNERS[name]), name)


def __dir__():
    return __all__
