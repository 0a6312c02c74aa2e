"""The container: its file is sound, and where an engine can build it, both commands run in it."""

import shutil
import subprocess
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


def steps(word):
    """What follows a word of the Containerfile, line by line."""
    lines = (ROOT / "Containerfile").read_text().splitlines()
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]


def test_the_image_is_made_from_what_is_here_and_runs_without_root():
    [base] = steps("FROM")
    assert base.count("/") == 2
    assert base.split(":")[1] not in ("", "latest")
    copied = [words.split()[1] for words in steps("COPY")]
    assert copied == ["run", "envs", "."]
    assert all((ROOT / name).exists() for name in copied)
    assert steps("USER") == ["geodp"]
    assert "./run python --version" in steps("RUN")
    assert steps("VOLUME") == ["/geodp/results"]


def test_neither_data_nor_results_of_ones_own_get_into_the_image():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"results", "data/*", ".venv*", ".snakemake", ".git"} <= set(ignored)


def engine():
    """A program that builds images here."""
    for name in ("docker", "podman"):
        if (
            shutil.which(name)
            and not subprocess.run([name, "info"], capture_output=True).returncode
        ):
            return name
    pytest.skip("neither docker nor podman reaches an engine that builds images")


@pytest.mark.slow
def test_both_commands_run_in_the_container():
    program = engine()
    build = [program, "build", "--quiet", "--file", "Containerfile", "."]
    image = subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for command in (
        ["snakemake", "--cores", "2", "results/default/rats/tables/data.csv"],
        ["pytest", "-n", "0", "-q", "tests/unit/test_budgets.py"],
    ):
        subprocess.run([program, "run", "--rm", image.strip(), "./run", *command], check=True)
