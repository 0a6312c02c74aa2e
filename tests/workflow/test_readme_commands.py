"""The command lines of the README do what they are shown for, as they stand there.

Snakemake is asked what it would do; what fetches something from the network is left out.
"""

import re
import shlex
import shutil
import subprocess
import sys
from itertools import pairwise
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
BLOCKS = re.findall(r"(?ms)^```sh\n(.*?)^```", (ROOT / "README.md").read_text())

# Options of Snakemake with which it runs no jobs anyway.
RUNS_NOTHING = {"-n", "--dry-run", "--lint", "--summary", "--dag", "--unlock", "--list"}

pytestmark = pytest.mark.slow


def commands():
    """Arguments of every `./run`, without settings of the environment before it."""
    lines = [line for block in BLOCKS for line in block.replace("\\\n", " ").splitlines()]
    words = [shlex.split(line, comments=True) for line in lines]
    return [found[found.index("./run") + 1 :] for found in words if "./run" in found]


def named(command):
    """Commands of one program, each once."""
    return list(dict.fromkeys(tuple(rest) for first, *rest in commands() if first == command))


def test_readme_has_commands_of_programs_that_are_there():
    assert named("snakemake")
    folder = Path(sys.executable).parent
    for program, *_ in commands():
        assert shutil.which(program, path=folder) or shutil.which(program), program


@pytest.mark.parametrize("arguments", named("snakemake"), ids=" ".join)
def test_snakemake_takes_what_the_readme_shows(checkout, arguments):
    extra = () if RUNS_NOTHING & set(arguments) else ("--dry-run",)
    for option, path in pairwise(arguments):
        # A file of the reader's own.
        if option == "--configfile" and not (checkout.root / path).exists():
            shutil.copy(checkout.root / "config" / "config.yaml", checkout.root / path)
    result = subprocess.run(
        [sys.executable, "-m", "snakemake", *arguments, *extra],
        cwd=checkout.root,
        env=checkout.environment,
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stdout + result.stderr


@pytest.mark.parametrize("arguments", named("pytest"), ids=" ".join)
def test_pytest_takes_what_the_readme_shows(arguments):
    command = [sys.executable, "-m", "pytest", *arguments, "--collect-only", "-q"]
    result = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert result.returncode == 0, result.stdout
