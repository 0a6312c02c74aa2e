"""Fixtures of the workflow's tests: copies of the checkout, and a small study run to its end.

The results of the checkout itself are never touched.
"""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest
import yaml
from beside import ROOT, read

# What a run reads.
PARTS = ("Snakefile", "config", "envs", "evaluation", "profiles", "resources", "workflow")

# Long enough for a busy machine; a run that is well takes a minute at most.
PATIENCE = 1800


@pytest.hookimpl(tryfirst=True)
def pytest_collection_modifyitems(items):
    """Mark slow what uses one of these, and keep together what shares a run.

    Among several processes those of a group run in one, so that each run is made once.
    """
    for item in items:
        if item.path.parent != Path(__file__).parent:
            continue
        used = set(item.fixturenames)
        # They start the workflow, or make an environment.
        if {"checkout", "finished", "finished_copy", "made"} & used:
            item.add_marker(pytest.mark.slow)
        shared = {"finished", "finished_copy"} & used
        item.add_marker(pytest.mark.xdist_group("finished" if shared else item.path.stem))


class Checkout:
    """A copy of what a run reads, with a configuration of its own."""

    def __init__(self, root):
        self.root = root
        self.configuration = root / "small.yaml"
        self.environment = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith("SNAKEMAKE") and name != "PYTHONPATH"
        } | {"OMP_NUM_THREADS": "1"}

    @classmethod
    def copied(cls, source, root):
        """A copy that keeps modification times, finished results included."""
        shutil.copytree(source, root, dirs_exist_ok=True)
        return cls(root)

    def configure(self, configuration):
        self.configuration.write_text(yaml.safe_dump(configuration, sort_keys=False))

    def start(self, *arguments, cores=2, before=(), folder=None, **environment):
        """Start Snakemake in a process group of its own, as a terminal does.

        In a folder that is given it is told of no configuration; ``environment`` adds variables.
        """
        configured = () if folder else ("--configfile", self.configuration.name)
        limited = ("--cores", cores) if cores else ()
        call = (sys.executable, "-m", "snakemake", *configured, *limited, *arguments)
        pipes = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE}
        return subprocess.Popen(
            [*before, *map(str, call)],
            cwd=folder or self.root,
            env=self.environment | environment,
            **pipes | {"stderr": subprocess.STDOUT, "text": True, "start_new_session": True},
            # A shell has those it starts in the background ignore Ctrl-C, and that is inherited.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )

    def run(self, *arguments, fails=False, **how):
        """The output of a call that succeeds, or of one that fails."""
        process = self.start(*arguments, **how)
        output, _ = process.communicate(timeout=PATIENCE)
        assert (process.returncode != 0) == fails, output
        return output

    def refused(self, *arguments, **how):
        """The output of a call that fails, in sentences."""
        output = self.run(*arguments, fails=True, **how)
        assert "Traceback" not in output
        return output

    def planned(self, *arguments):
        """Numbers of jobs by rule that a call would run, default targets left out."""
        output = self.run("--quiet", "rules", "--dry-run", *arguments)
        if "Nothing to be done" in output:
            return {}
        table = output.split("Job stats:")[-1]
        counts = {name: int(count) for name, count in re.findall(r"(?m)^(\w+) +(\d+)$", table)}
        assert counts.pop("total") == sum(counts.values()), output
        return {name: count for name, count in counts.items() if name not in ("all", "default")}

    def files(self, pattern="*"):
        """Files of the results by their path below the configuration's folder."""
        folder = self.root / "results" / yaml.safe_load(self.configuration.read_text())["name"]
        found = sorted(path for path in folder.rglob(pattern) if path.is_file())
        return {str(path.relative_to(folder)): path for path in found}

    def table(self, study, name, folder="tables"):
        """A table of a study, or the numbers of a figure."""
        path = self.files()[f"{study}/{folder}/{name}.csv"]
        return pd.read_csv(path, dtype={"noise_variance": str, "cell": str})

    def temporaries(self):
        """What a script leaves behind if it is stopped while it writes."""
        return [path for path in (self.root / "results").rglob(".*") if path.is_file()]


@pytest.fixture(scope="session")
def source(tmp_path_factory):
    """What a run reads, taken once, as the checkout may be edited meanwhile."""
    folder = tmp_path_factory.mktemp("source")
    for part in PARTS:
        if (ROOT / part).is_dir():
            ignored = shutil.ignore_patterns("__pycache__")
            shutil.copytree(ROOT / part, folder / part, ignore=ignored)
        else:
            shutil.copy2(ROOT / part, folder)
    return folder


@pytest.fixture(scope="session")
def made(source, tmp_path_factory):
    """What makes a checkout with a configuration."""

    def make(configuration):
        checkout = Checkout.copied(source, tmp_path_factory.mktemp(configuration["name"]))
        checkout.configure(configuration)
        return checkout

    return make


@pytest.fixture
def small():
    """The configuration of the finished run, with every kind of figure and of data."""
    return read("small")


@pytest.fixture
def checkout(made, small):
    """A checkout with the small configuration and no results."""
    return made(small)


@pytest.fixture(scope="session")
def finished(made, tmp_path_factory):
    """The small configuration run to its end; not to be modified.

    Its attribute ``jobs`` is what each job loaded.
    """
    done = made(read("small"))
    folder = tmp_path_factory.mktemp("loaded")
    done.run(PYTHONPATH=str(Path(__file__).with_name("recorder")), LOADED=str(folder))
    done.jobs = [json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))]
    return done


@pytest.fixture
def finished_copy(finished, tmp_path):
    """A copy of the finished run, to be modified."""
    return Checkout.copied(finished.root, tmp_path / "finished")
