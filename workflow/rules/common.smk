# What every stage needs: the expanded configuration, paths, and what a job's result depends on.
import ast
import hashlib
import sys
from functools import cache
from pathlib import Path

from geodp.budgets import cell_name
from geodp.errors import DataError
from studies import expand, load_schema, validate

ROOT = Path(workflow.basedir)
SCRIPTS = ROOT / "workflow" / "scripts"

if " " in sys.executable:
    # Snakemake starts scripts through a shell and does not quote their interpreter.
    sys.exit(
        f"Error: Snakemake cannot use the Python at {sys.executable}, whose path has a space: move "
        "the checkout or the environment to a path without one"
    )

try:
    validate(config, load_schema(ROOT / "config" / "schemas" / "config.schema.yaml"))
    STUDIES = expand(config)
except DataError as problem:
    # One sentence, with no trace of where in the workflow it was noticed.
    sys.exit(f"Error: {problem}")

RESULTS = f"results/{config['name']}"
GROUPS = f"{RESULTS}/{{study}}/groups/{{group}}"
# A changed lock runs everything again.
LOCK = hashlib.sha256((ROOT / "envs" / "requirements.txt").read_bytes()).hexdigest()[:16]


wildcard_constraints:
    study="|".join(STUDIES),
    group="[A-Za-z0-9_.+-]+",


@cache
def imported(path):
    """Project files that a Python file imports, directly or not."""
    found = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            names = [node.module, *(f"{node.module}.{alias.name}" for alias in node.names)]
        else:
            continue
        for name in names:
            parts = name.split(".")
            # Importing a module runs its packages too.
            for depth in range(1, len(parts) + 1):
                place = SCRIPTS.joinpath(*parts[:depth])
                for candidate in (place.with_suffix(".py"), place / "__init__.py"):
                    if candidate.exists():
                        found[candidate] = None
    for file in list(found):
        if file != path:
            found.update(dict.fromkeys(imported(file)))
    return tuple(found)


def library(script):
    """Inputs of a rule: every project file its script needs, since Snakemake sees no imports."""
    return sorted(str(file.relative_to(ROOT)) for file in imported(SCRIPTS / script))


def settings(key, *chosen):
    """A params function: one part of the study's configuration, or some keys of it."""

    def part(wildcards):
        value = STUDIES[wildcards.study].settings[key]
        return {name: value[name] for name in chosen} if chosen else value

    return part


def group_file(study, group, name):
    return f"{RESULTS}/{study}/groups/{group}/{name}"


def cell_file(study, group, cell, sampler):
    return f"{RESULTS}/{study}/cells/{group}/{cell}.{sampler}.npz"


def tables(study):
    names = ["errors", "diagnostics"] + (["neighbours"] if has_neighbours(study) else [])
    return [f"{RESULTS}/{study.name}/tables/{name}.csv" for name in names]


def has_neighbours(study):
    return study.simulated and bool(study.settings["neighbours"]["n"])


def group_files(name):
    """An input function: one file of every group of a study."""

    def files(wildcards):
        groups = STUDIES[wildcards.study].groups
        return [group_file(wildcards.study, group, name) for group in groups]

    return files


def cell_files(wildcards):
    """Files of the cells in the order of ``Study.sampled``."""
    return [
        cell_file(wildcards.study, entry["group"], entry["cell"], entry["sampler"])
        for entry in STUDIES[wildcards.study].sampled
    ]


def figure_path(study, figure, suffix):
    return f"{RESULTS}/{study}/figures/{figure}.{suffix}"


def figure_files(study):
    return [
        figure_path(study.name, figure, suffix)
        for figure in study.settings["figures"]
        for suffix in ("pdf", "svg", "png", "csv")
    ]


def prediction_file(study, figure):
    return f"{RESULTS}/{study}/tables/{figure}_predictions.csv"


def figure_table(study, figure):
    """The table a figure reads."""
    kind = study.settings["figures"][figure]["kind"]
    if kind in ("curves", "shapes"):
        return prediction_file(study.name, figure)
    name = {"error": "errors", "ratios": "neighbours", "samplers": "diagnostics"}[kind]
    return f"{RESULTS}/{study.name}/tables/{name}.csv"


def figure_script(names):
    """Script of a figure's rule, from the names in force.

    Snakemake evaluates it twice: when the rule is made, while ``chosen`` is its figure, and when a
    job runs, when the loop has moved on and only ``params`` is the rule's own.
    """
    figure = getattr(names.get("params"), "figure", None)
    # Outside a job Snakemake has a stand-in of that name.
    figure = figure if isinstance(figure, dict) else names["chosen"]
    return f"../scripts/figure_{figure['kind']}.py"
