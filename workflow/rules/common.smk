# What every stage needs: the expanded configuration, paths, and what a job's result depends on.
import ast
import hashlib
import sys
from functools import cache
from pathlib import Path

from geodp.mechanisms.budgets import cell_name
from geodp.errors import DataError
from reproduction.configuration import load_schema, validate
from reproduction.studies import PREDICTED, expand

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
PLAN_FILES = {
    "table": f"{RESULTS}/plan/plan.csv",
    "needed": f"{RESULTS}/plan/needed.csv",
    **{suffix: f"{RESULTS}/plan/plan.{suffix}" for suffix in ("pdf", "svg", "png")},
}


wildcard_constraints:
    study="|".join(STUDIES) or "no_such_study",
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


def studies_from(source):
    """Pattern of the names of the studies whose data come from ``source``."""
    names = [name for name, study in STUDIES.items() if study.source == source]
    return "|".join(names) or "no_such_study"


def group_file(study, group, name):
    return f"{RESULTS}/{study}/groups/{group}/{name}"


def cell_file(study, group, cell, sampler):
    return f"{RESULTS}/{study}/cells/{group}/{cell}.{sampler}.npz"


def tables(study):
    names = ["data", "errors", "diagnostics"] + (["neighbours"] if has_neighbours(study) else [])
    return [f"{RESULTS}/{study.name}/tables/{name}.csv" for name in names]


def has_neighbours(study):
    return study.source == "simulated" and bool(study.settings["neighbours"]["n"])


# Tables that claims may be about, as (study, table).
CLAIMED_TABLES = [
    (study.name, table)
    for study in STUDIES.values()
    for table in ("errors", "diagnostics", *(["neighbours"] if has_neighbours(study) else []))
]


def claimed_table(study, table):
    return f"{RESULTS}/{study}/tables/{table}.csv"


def plan_files():
    """Of a configuration that asks for a plan and nothing else."""
    return list(PLAN_FILES.values()) if not STUDIES else []


def claims_files():
    return [f"{RESULTS}/claims.{suffix}" for suffix in ("csv", "html")] if config["claims"] else []


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
    if kind in ("curves", *PREDICTED):
        return prediction_file(study.name, figure)
    if kind in ("transport", "convergence"):
        return f"{RESULTS}/{study.name}/tables/{figure}_{kind}.csv"
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


def convergence_inputs(study, figure):
    """Data, fit and bounds of the group a figure shows, and of the study with reduced shapes."""
    other = study.settings["figures"][figure].get("reduced")
    sources = [(study.name, study.shown_group(figure))]
    if other:
        sources.append((other, STUDIES[other].first_group))
    names = {"data": "data.npz", "fit": "fit.json", "sensitivity": "sensitivity.npz"}
    return {key: [group_file(*source, name) for source in sources] for key, name in names.items()}
