"""Functions shared by the scripts of rules: reading and writing files, errors, provenance."""

import json
import os
import platform
import sys
import traceback
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path

import numpy as np

from geodp.errors import DataError
from geodp.plain import from_plain, plain
from reproduction.disk import full_disk, no_access, with_causes
from reproduction.made import INTERRUPTED, damaged_input, end_with_the_run, note, remove_partial


@contextmanager
def job(snakemake=None):
    """Context of a script: its job, and one sentence for a `DataError` or a fault of a disk.

    A script that is started by hand makes its job from the arguments of the command line.  A
    `DataError` becomes one sentence in the log, which a run of the workflow prints at its end; so
    does a damaged input, a full disk or a folder that cannot be written.  Of any other exception
    the log holds the traceback.

    Parameters
    ----------
    snakemake : optional
        The job; by default that which Snakemake gives to the script.

    Yields
    ------
    The job, with the attributes of Snakemake's ``snakemake`` object.
    """
    if snakemake is None:
        # Snakemake puts the job into the script that it runs.
        snakemake = getattr(sys.modules["__main__"], "snakemake", None)
    by_hand = snakemake is None
    if by_hand:
        from reproduction.standalone import job_of

        snakemake = job_of(*sys.argv)
    log = Path(snakemake.log[0])
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        if not by_hand:
            end_with_the_run()
        remove_partial(snakemake.output)
        yield snakemake
        note(snakemake.output)
    except BaseException as problem:
        sentence = isinstance(problem, Exception) and damaged_input(snakemake.input)
        if not sentence and isinstance(problem, DataError):
            study = snakemake.wildcards.get("study") or snakemake.params.get("study", "")
            sentence = f"Error in study {study}: {problem}"
        # After an interruption closing a file may raise an exception of its own.
        if any(isinstance(each, KeyboardInterrupt) for each in with_causes(problem)):
            sentence = INTERRUPTED
        sentence = sentence or full_disk(log, problem) or no_access(problem)
        # On a full disk the log may stay empty.
        with suppress(OSError):
            log.write_text(f"{sentence}\n" if sentence else traceback.format_exc())
        if not sentence:
            raise
        sys.exit(sentence if by_hand else 1)


def made_by(snakemake, **names):
    """Provenance of a file: rule, seed, versions, and names such as those of study and cell."""
    import scipy

    return {
        "rule": snakemake.rule,
        **names,
        "seed": snakemake.params.get("seed"),
        "lock": snakemake.params.lock,
        "versions": {
            "python": platform.python_version(),
            "numpy": np.__version__,
            "scipy": scipy.__version__,
        },
    }


@contextmanager
def replacing(path):
    """Context that writes a temporary file and moves it to ``path`` when it is complete."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{os.getpid()}.{path.name}")
    try:
        yield partial
        os.replace(partial, path)
    finally:
        partial.unlink(missing_ok=True)


def save_arrays(path, origin, **arrays):
    """Write arrays and their provenance."""
    with replacing(path) as partial, open(partial, "wb") as file:
        np.savez(file, made_by=np.array(json.dumps(origin)), **arrays)


def load_arrays(path):
    """Read arrays of a file, by name."""
    with np.load(path, allow_pickle=False) as file:
        return {name: file[name] for name in file.files}


@lru_cache(maxsize=1)
def load_cells(path):
    """Read the arrays of a block of cells, by cell and name."""
    cells = {}
    for key, values in load_arrays(path).items():
        cell, slash, name = key.partition("/")
        if slash:
            cells.setdefault(cell, {})[name] = values
    return cells


def save_json(path, origin, **values):
    """Write numbers and arrays as JSON, with complex arrays as real and imaginary parts."""
    with replacing(path) as partial:
        document = {"made_by": origin, **{key: plain(value) for key, value in values.items()}}
        partial.write_text(json.dumps(document, indent=1) + "\n")


def load_json(path):
    """Read what `save_json` wrote; lists become arrays."""
    document = json.loads(Path(path).read_text())
    return {key: from_plain(value) for key, value in document.items() if key != "made_by"}


def save_table(path, table):
    """Write a data frame as CSV, with all digits."""
    with replacing(path) as partial:
        table.to_csv(partial, index=False)
