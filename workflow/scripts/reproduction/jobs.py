"""Functions shared by the scripts of rules: reading and writing files, errors, provenance."""

import errno
import json
import os
import platform
import sys
import traceback
from contextlib import contextmanager
from functools import lru_cache
from importlib.metadata import version
from pathlib import Path

# Jobs share the machine, and times are compared on equal terms. NumPy reads this at its import.
for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ[name] = "1"

import numpy as np  # noqa: E402

from geodp.errors import DataError  # noqa: E402
from geodp.plain import from_plain, plain  # noqa: E402


@contextmanager
def job():
    """Context of a script, which gives the ``snakemake`` object of its job.

    A `DataError`, a full or closed disk and an interruption become one sentence in the log, which
    a run of the workflow prints at its end.  Of any other exception the log holds the traceback.
    """
    # Snakemake puts the job into the script that it runs.
    snakemake = sys.modules["__main__"].snakemake
    log = Path(snakemake.log[0])
    try:
        log.parent.mkdir(parents=True, exist_ok=True)
        log.write_text("")
        yield snakemake
    except BaseException as problem:
        sentence = _sentence(problem, snakemake)
        try:
            log.write_text(f"{sentence}\n" if sentence else traceback.format_exc())
        except OSError:
            # The log may be on the disk that is full.
            print(sentence or traceback.format_exc(), file=sys.stderr)
        if not sentence:
            raise
        sys.exit(1)


def _sentence(problem, snakemake):
    """One sentence for an exception that is not of the program, else nothing."""
    if isinstance(problem, DataError):
        study = snakemake.wildcards.get("study") or snakemake.params.get("study", "")
        return f"Error{f' in study {study}' if study else ''}: {problem}"
    # What to do about errors that are of a disk and not of a program.
    closed = "let this user write there, or work in another folder with --directory"
    remedies = dict.fromkeys((errno.ENOSPC, errno.EDQUOT, errno.EFBIG), "free some space")
    remedies |= dict.fromkeys((errno.EACCES, errno.EPERM, errno.EROFS), closed)
    # Closing a file after an interruption or on a full disk may raise an exception of its own.
    while problem is not None:
        if isinstance(problem, KeyboardInterrupt):
            return "Interrupted: start the run again to go on."
        if isinstance(problem, MemoryError):
            return "Error: out of memory: ask for fewer draws, data sets or records"
        if isinstance(problem, OSError) and problem.errno in remedies:
            what = f"{os.strerror(problem.errno).lower()}: {problem.filename or snakemake.log[0]}"
            return f"Error: {what}: {remedies[problem.errno]}, then start the run again"
        problem = problem.__cause__ or problem.__context__
    return ""


def made_by(snakemake, **names):
    """Provenance of a file: rule, seed, versions, and names such as those of study and cell."""
    versions = {name: version(name) for name in ("numpy", "scipy")}
    return {
        **{"rule": snakemake.rule, **names},
        **{"seed": snakemake.params.get("seed"), "lock": snakemake.params.lock},
        "versions": {"python": platform.python_version()} | versions,
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


def save_cells(path, origin, cells):
    """Write the arrays of a block of cells, by cell and name: each name is one array of all."""
    names = next(iter(cells.values()))
    arrays = {name: np.stack([each[name] for each in cells.values()]) for name in names}
    save_arrays(path, origin, cells=np.array(list(cells)), **arrays)


@lru_cache(maxsize=1)
def load_cells(path):
    """Read the arrays of a block of cells, by cell and name."""
    arrays = load_arrays(path)
    cells, _ = arrays.pop("cells").tolist(), arrays.pop("made_by")
    return {
        cell: {name: each[index] for name, each in arrays.items()}
        for index, cell in enumerate(cells)
    }


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
