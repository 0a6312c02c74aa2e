# What the other rules files share and no rules: the expanded configuration, paths of files, and
# functions of inputs.  A study has groups, the data sets of one size; a group has cells, one for
# each way of spending a budget, and each block of cells has a file of draws.
import hashlib
import os
import re
import shlex
import sys
from importlib import import_module
from pathlib import Path

from geodp.errors import DataError
from geodp.settings.reading import load
from reproduction.configuration import validate
from reproduction.configuration.release import describes_release, without_studies
from reproduction.dependencies import code
from reproduction.expansion import expand
from reproduction.papers import OTHERS, PAPERS, figure_title, verdicts_file
from reproduction.places import CHECKOUT, digest_of, find, shipped
from reproduction.targets import JOBS, WILDCARDS, claimed, digests_of, paper_files, settings_of

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
    return without_studies(RELEASE) if RELEASE else validate(given, files=files)


# Files of `config`, which errors name; Snakemake publishes none of them.
FILES = workflow.configfiles
# The file of settings of a release, if one is given in place of a configuration of studies.
RELEASE = FILES[-1] if describes_release(config) else None

config = or_exit(configuration, config, FILES)
STUDIES = or_exit(expand, config)
OTHER_PAPERS = config["other_papers"]
RESULTS = f"results/{config['name']}"
GROUPS = f"{RESULTS}/{{study}}/groups/{{group}}"
# Digest of the lock of this environment; a change runs everything again.  That with the plugin for
# Slurm gives the same results as that without.
LOCK_FILE = "geomstats" if Path(sys.prefix).name == ".venv-geomstats" else "requirements"


def lock_of(name):
    """Digest of the lock of an environment."""
    return hashlib.sha256((CHECKOUT / "envs" / f"{name}.txt").read_bytes()).hexdigest()[:16]


LOCK_DIGEST = lock_of(LOCK_FILE)
PROCESSORS = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
PICTURES = ("pdf", "svg", "png")
PLAN_FILES = {
    "table": f"{RESULTS}/plan/plan.csv",
    "needed": f"{RESULTS}/plan/needed.csv",
    **{suffix: f"{RESULTS}/plan/plan.{suffix}" for suffix in PICTURES},
}


wildcard_constraints:
    study="|".join(STUDIES) or "no_such_study",
    group="[A-Za-z0-9_.+-]+",


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


# Tables of a whole study; others are made for one figure.
STUDY_TABLES = ("data", "errors", "diagnostics", "neighbours", "losses")


def table_file(study, name):
    return f"{RESULTS}/{study}/tables/{name}.csv"


def table_names(study):
    wanted = {
        "neighbours": study.settings["neighbours"]["n"],
        "losses": study.settings["losses"] is not None,
        "errors": study.grids,
        "diagnostics": study.grids,
    }
    return [name for name in STUDY_TABLES if wanted.get(name, True)]


# Files of claims by paper.
CLAIM_FILES = {paper["name"]: find([paper["claims"]])[0] for paper in config["papers"]}


def plan_files():
    """Files of the plan, for a configuration without studies."""
    return [] if STUDIES or RELEASE else list(PLAN_FILES.values())


def claims_files():
    return [f"{RESULTS}/claims.{suffix}" for suffix in ("csv", "html")] if CLAIM_FILES else []


def report_files():
    """The report, if there is anything to report."""
    return [f"{RESULTS}/report.html"] if STUDIES or OTHER_PAPERS else []


def study_files():
    """All results of the studies: figures, tables, sensitivities and verdicts."""
    return [
        *(file for study in STUDIES.values() for file in figure_files(study)),
        *(
            table_file(study.name, name)
            for study in STUDIES.values()
            for name in table_names(study)
        ),
        *(
            group_file(study.name, group, "sensitivity.npz")
            for study in STUDIES.values()
            for group in study.groups
        ),
        *claims_files(),
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


def shown_picture(path, part):
    """A file of a figure, which is shown as SVG."""
    is_shown = path.endswith(".svg")
    return shown(path, "Figures", figure_title(Path(path).stem), part) if is_shown else path


def kind_of_figure(study, figure):
    """The module that draws a figure."""
    return import_module(f"reproduction.figures.{study.settings['figures'][figure]['kind']}")


def figure_table(study, figure):
    """The table a figure reads, and its kind if it is made for this figure alone."""
    name = kind_of_figure(study, figure).TABLE
    if name in STUDY_TABLES:
        return table_file(study.name, name), None
    return table_file(study.name, f"{figure}_{name}"), name


def placed(path, output):
    """Path of a result that a job reads if it is there, with the prefix of a module if it has one.

    Snakemake puts that before inputs and outputs alone.
    """
    return f"{output[0].partition('results/')[0]}{path}"


def with_digests(files, output):
    """Places of files by name, with their digests if all were made."""
    files = {name: placed(path, output) for name, path in files.items()}
    digests = digests_of(files.values())
    return {**files, "digests": digests if len(digests) == len(files) else []}


def figure_notes(study, figure):
    """What a figure says of the data, if it shows any."""
    return [study.note] if study.note and kind_of_figure(study, figure).OF_MECHANISM else []


def cells_of_block(wildcards):
    """Budgets of the cells of a block, by cell."""
    blocks = STUDIES[wildcards.study].cell_blocks
    wanted = wildcards.group, wildcards.sampler, int(wildcards.block)
    if wanted not in blocks:
        there = [number for *kind, number in blocks if tuple(kind) == wanted[:2]]
        numbered = f"blocks {there[0]} to {there[-1]}" if there else "none"
        sys.exit(
            f"Error: study {wildcards.study} has no block {wanted[2]} of the {wanted[1]} sampler "
            f"in group {wanted[0]}, which has {numbered}: ask for one that is there, or "
            "change cells_per_job"
        )
    return blocks[wanted]


def of_sampler(name):
    """A params function that calls a method of the study with the sampler of a block."""
    return lambda wildcards: getattr(STUDIES[wildcards.study], name)(wildcards.sampler)


def claims_parameters(papers, tables, seed):
    """Parameters of the script that judges claims, from papers by name and names of tables."""
    return {
        "study": "claims",
        "papers": papers,
        "tables": tables,
        "seed": seed,
        "code": code_of("claims.py"),
        "lock": LOCK_DIGEST,
    }


# Of the pages of verdicts.
CLAIMS_TEMPLATES = {
    "template": shipped("workflow/report/claims.html.j2"),
    "parts": shipped("workflow/report/parts.html.j2"),
}


def claimed_tables():
    """Tables that claims may be about: from (study, table) to its file."""
    found = {
        (study.name, table): table_file(study.name, table)
        for study in STUDIES.values()
        for table in table_names(study)
        if table not in ("data", "diagnostics")
    }
    for study in STUDIES.values():
        for figure, chosen in study.settings["figures"].items():
            if chosen["kind"] == "convergence":
                found.setdefault((study.name, "convergence"), figure_table(study, figure)[0])
    return found
