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

USE = """
import geodp
from geodp import GeodesicModel, Sphere, plan_release, release_geodesic

found = GeodesicModel(Sphere(2)).fit([0.0, 1.0, 2.0], [[1.0, 0.0, 0.0]] * 3)
reveal_type(Sphere)
reveal_type(found)
reveal_type(found.predict([0.5]))
reveal_type(release_geodesic(*()))
reveal_type(plan_release(*()))
reveal_type(geodp.__version__)
geodp.Nothing
"""


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
    run = subprocess.run(
        [sys.executable, "-c", asked],
        env=os.environ | {"PYTHONPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
        check=True,
    )
    assert run.stdout == "[]\n"


@pytest.mark.slow
def test_type_checkers_see_the_names(tmp_path):
    """As in a project of the user's own, with the library installed."""
    (tmp_path / "use.py").write_text(USE)
    run = subprocess.run(
        [sys.executable, "-m", "mypy", "--config-file=", "--ignore-missing-imports", "use.py"],
        cwd=tmp_path,
        env=os.environ | {"MYPYPATH": str(SCRIPTS)},
        capture_output=True,
        text=True,
    )
    assert re.findall(r'Revealed type is "([^\["]*)', run.stdout) == [
        "def (dimension: int) -> geodp.manifolds.sphere.Sphere",
        "geodp.models.fitting.Fit",
        "numpy.ndarray",
        "geodp_release.release.Release",
        "geodp_release.planning.ReleasePlan",
        "str",
    ]
    errors = re.findall(r"use.py:.* error: (.*)", run.stdout)
    assert errors[-1] == 'Module has no attribute "Nothing"  [attr-defined]'
    # Arguments that are missing are found, too.
    assert [error for error in errors if "[call-arg]" not in error] == errors[-1:]
