"""The public names of the library, at run time and for type checkers."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import geodp
from geodp.manifolds.sphere import Sphere

SLOW = {"jinja2", "matplotlib", "pandas", "pyarrow", "pydantic", "scipy", "sklearn"}
MAIN = "from geodp_release.ask.cli import main; main"


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
    ("use", "others", "shown"),
    [
        ("geodp", {"numpy", "geodp.errors"}, ""),
        ("geodp.mean, geodp.fit, geodp.SPD, geodp.Assumptions", SLOW | {"yaml"}, ""),
        ("geodp.release_geodesic, geodp.plan_release, geodp.Release", {"sklearn"}, ""),
        (f"{MAIN}(['--help'])", SLOW | {"numpy"}, "Make the release once"),
        (f"{MAIN}(['init', 'table.csv'])", SLOW, "Space of the responses [euclidean]: "),
    ],
)
def test_what_is_slow_to_load_is_not_loaded_before_it_is_used(use, others, shown, tmp_path):
    (tmp_path / "table.csv").write_text("age,sbp\n")
    loaded = f"atexit.register(lambda: print(sorted({others} & set(sys.modules))))"
    call = [sys.executable, "-c", f"import atexit, sys, geodp; {loaded}; {use}"]
    library = str(Path(geodp.__file__).parents[1])
    run = {"cwd": tmp_path, "env": os.environ | {"PYTHONPATH": library}}
    out = subprocess.check_output(call, **run, text=True, stdin=subprocess.DEVNULL)
    assert shown in out
    assert out.endswith("[]\n")
