"""The public names of the library, at run time and for type checkers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import geodp
from geodp.manifolds.sphere import Sphere

SCRIPTS = Path(geodp.__file__).parents[1]


def test_names_are_there_and_nothing_else():
    names = dir(geodp)
    assert names == sorted(names) == geodp.__all__
    assert {"Fit", "Release", "Sphere", "__version__", "release_geodesic"} <= set(names)
    assert {"Assumptions", "Ledger", "PrivacyBudget", "plan_release"} <= set(names)
    for name in names:
        assert getattr(geodp, name) is not None
    assert geodp.Sphere is Sphere
    assert re.fullmatch(r"\d+\.\d+\.\d+", geodp.__version__)
    with pytest.raises(AttributeError, match="'geodp' has no attribute 'Nothing'"):
        geodp.Nothing  # noqa: B018


@pytest.mark.parametrize(
    ("use", "others"),
    [
        ("geodp", {"numpy", "geodp.errors"}),
        ("geodp.release_geodesic, geodp.plan_release, geodp.Release", {"sklearn"}),
    ],
)
def test_names_load_what_they_need_when_they_are_used(use, others):
    asked = f"import sys, geodp; {use}; print(sorted({others} & set(sys.modules)))"
    call, environment = [sys.executable, "-c", asked], os.environ | {"PYTHONPATH": str(SCRIPTS)}
    assert subprocess.check_output(call, env=environment, text=True) == "[]\n"
