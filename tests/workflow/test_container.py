"""The container: its file is sound, and where an engine can build it, both commands run in it."""

import json
import re
import shlex
import shutil
import subprocess

import pytest
from beside import ROOT


def steps(word):
    """What follows a word of the Containerfile, line by line."""
    lines = (ROOT / "Containerfile").read_text().splitlines()
    return [line.removeprefix(f"{word} ") for line in lines if line.startswith(f"{word} ")]


def test_the_image_is_made_from_what_is_here_and_runs_without_root():
    [base] = steps("FROM")
    assert base.count("/") == 2
    assert re.fullmatch(r"[^:@]+:(?!latest@)[^:@]+@sha256:[0-9a-f]{64}", base)
    copied = [words.split()[1] for words in steps("COPY")]
    assert copied == ["run", "envs", "."]
    assert all((ROOT / name).exists() for name in copied)
    assert steps("USER") == ["geodp"]


def test_neither_data_nor_results_of_ones_own_get_into_the_image():
    ignored = (ROOT / ".dockerignore").read_text().splitlines()
    assert {"results", "data/*", ".venv*", ".snakemake", ".git"} <= set(ignored)


@pytest.mark.slow
def test_the_next_container_knows_how_the_results_were_made(checkout, copied, source, tmp_path):
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
    second = copied(source, tmp_path / "second")
    shutil.copytree(checkout.root / "results", second.root / "results")
    second.configuration.write_text(checkout.configuration.read_text())
    begin(second)
    assert second.planned(target) == {}


def reaches_engine(name):
    return shutil.which(name) and not subprocess.run([name, "info"], capture_output=True).returncode


@pytest.mark.slow
def test_both_commands_run_in_the_container():
    program = next(filter(reaches_engine, ("docker", "podman")), None)
    if program is None:
        pytest.skip("neither docker nor podman reaches an engine that builds images")
    build = [program, "build", "--quiet", "--file", "Containerfile", "."]
    image = subprocess.run(build, cwd=ROOT, check=True, capture_output=True, text=True).stdout
    for command in (
        ["snakemake", "--cores", "2", "results/default/rats/groups/observed/fit.json"],
        ["pytest", "-n", "0", "-q", "tests/unit/test_budgets.py"],
    ):
        subprocess.run([program, "run", "--rm", image.strip(), "./run", *command], check=True)
