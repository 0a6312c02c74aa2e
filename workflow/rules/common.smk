# What the other rules files share and no rules: the expanded configuration, paths of files, and
# functions of inputs.  A study has groups, the data sets of one size; a group has cells, one for
# each way of spending a budget, and each block of cells has a file of draws.
import csv
import hashlib
import os
import re
import shlex
import sys
from pathlib import Path

from geodp.errors import DataError
from geodp.settings.settings_files import load
from reproduction import figure_inputs
from reproduction.configuration import describes_release, validate, without_studies
from reproduction.configuration.study import FIGURES, TABLES
from reproduction.dependencies import code
from reproduction.expansion import expand
from reproduction.papers import PAPERS, figure_title, paper_key
from reproduction.places import CHECKOUT, digest_of, find, shipped

if " " in sys.executable and Path(sys.executable).is_file():
    # Snakemake starts scripts through a shell and does not quote their interpreter.
    sys.executable = shlex.quote(sys.executable)


def or_exit(function, *arguments):
    """Result of a function, or one sentence without a traceback."""
    try:
        return function(*arguments)
    except DataError as problem:
        sys.exit(f"Error: {problem}")


def configuration(given, files):
    """The configuration, checked and with defaults; of a release one without studies."""
    # Snakemake takes the last of keys that stand twice.
    for path in files:
        load(path)
    # A new dictionary, since that of a module may be the other workflow's.
    by_command = workflow.config_settings.config
    return (
        without_studies(RELEASE) if RELEASE else validate(given, files=files, by_command=by_command)
    )


# Files of `config`, which errors name; Snakemake publishes none of them.
FILES = workflow.configfiles
# The file of settings of a release, if one is given in place of a configuration of studies.
RELEASE = FILES[-1] if describes_release(config) else None

config = or_exit(configuration, config, FILES)
STUDIES = or_exit(expand, config)
RESULTS = f"results/{config['name']}"
GROUPS = f"{RESULTS}/{{study}}/groups/{{group}}"
# Digest of the lock of this environment; a change runs everything again.  That with the plugin for
# Slurm gives the same results as that without.
LOCK_FILE = "geomstats" if Path(sys.prefix).name == ".venv-geomstats" else "requirements"


LOCK_DIGEST = hashlib.sha256((CHECKOUT / "envs" / f"{LOCK_FILE}.txt").read_bytes()).hexdigest()[:16]
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
PICTURES = ("pdf", "svg", "png")
PLAN_FILES = {
    "table": f"{RESULTS}/plan/plan.csv",
    "needed": f"{RESULTS}/plan/needed.csv",
    **{suffix: f"{RESULTS}/plan/plan.{suffix}" for suffix in PICTURES},
}


# Studies of records and draws, and those of tables that are computed.
OF_DRAWS = (
    "|".join(name for name, study in STUDIES.items() if not study.computed) or "no_such_study"
)
OF_TABLES = "|".join(name for name, study in STUDIES.items() if study.computed) or "no_such_study"


wildcard_constraints:
    study=OF_DRAWS,
    group="[A-Za-z0-9_.+-]+",
    figure=r"\w+",
    paper=r"[\w-]+",


def share(wildcards):
    """Threads that a job of one thread takes: no more jobs run at a time than there are processors."""
    # Of a call without --cores, as a cluster allows it, there is no number.
    return max(1, (workflow.resource_settings.cores or 1) // PROCESSORS)


def settings(key, *chosen):
    """A params function that returns a section of the study's settings, or some of its keys."""

    def part(wildcards):
        value = STUDIES[wildcards.study].settings[key]
        return {name: value[name] for name in chosen} if chosen else value

    return part


def code_of(script, *chosen):
    """A params function that returns a fingerprint of code, made if a job needs it."""
    return lambda wildcards: code(script, *chosen)


def group_file(study, group, name):
    return f"{RESULTS}/{study}/groups/{group}/{name}"


def block_file(study, group, sampler, number):
    return f"{RESULTS}/{study}/cells/{group}/{sampler}_{number}.npz"


def table_file(study, name):
    return f"{RESULTS}/{study}/tables/{name}.csv"


def seed_of(study):
    """Seed of a study."""
    return study.settings.get("seed", config["seed"])


def study_seed(wildcards):
    return seed_of(STUDIES[wildcards.study])


# Files of claims by paper, and names of papers.
CLAIM_FILES = {paper_key(each["claims"]): find([each["claims"]])[0] for each in config["papers"]}
PAPER_NAMES = {paper_key(each["claims"]): each["name"] for each in config["papers"]}


def claims_files(paper):
    return [f"{RESULTS}/claims/{paper}.{suffix}" for suffix in ("csv", "html")]


def study_files():
    """All results of the studies: figures, tables, sensitivities and verdicts."""
    return [
        *(file for study in STUDIES.values() for file in figure_files(study)),
        *(table_file(study.name, name) for study in STUDIES.values() for name in study.table_names),
        *(
            group_file(study.name, group, "sensitivity.npz")
            for study in STUDIES.values()
            for group in study.groups
        ),
        *(file for paper in CLAIM_FILES for file in claims_files(paper)),
    ]


def group_files(name):
    """An input function that returns one file of every group of a study."""

    def files(wildcards):
        groups = STUDIES[wildcards.study].groups
        return [group_file(wildcards.study, group, name) for group in groups]

    return files


def block_files(wildcards):
    """Files of draws in the order of ``Study.cell_blocks``."""
    return [block_file(wildcards.study, *block) for block in STUDIES[wildcards.study].cell_blocks]


def figure_path(study, figure, suffix):
    return f"{RESULTS}/{study}/figures/{figure}.{suffix}"


def figure_files(study):
    return [
        figure_path(study.name, figure, suffix)
        for figure in study.settings["figures"]
        for suffix in (*PICTURES, "csv")
    ]


def shown(path, category, label, part=None):
    """An output that `snakemake --report` shows; workflow/report has a caption for each category."""
    caption, labels = f"../report/{category.lower()}.rst", {"result": label}
    return report(path, caption=caption, category=category, subcategory=part, labels=labels)


def shown_table(name):
    """A table of the study of a job."""
    return shown(f"{RESULTS}/{{study}}/tables/{name}.csv", "Tables", name, "{study}")


def cells_of_block(wildcards):
    """Budgets of the cells of a block, by cell."""
    study, kind = STUDIES[wildcards.study], (wildcards.group, wildcards.sampler)
    blocks = {
        str(number): cells
        for (*of, number), cells in study.cell_blocks.items()
        if tuple(of) == kind
    }
    what = f"block of the {kind[1]} sampler in group {kind[0]}"
    return blocks[known(wildcards.block, blocks, what, study)]


def of_sampler(name):
    """A params function that calls a method of the study with the sampler of a block."""
    return lambda wildcards: getattr(STUDIES[wildcards.study], name)(wildcards.sampler)
