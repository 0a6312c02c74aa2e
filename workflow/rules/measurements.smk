# What the audit, the benchmark, the utility and the comparison share.
# They have settings and results of their own, which no study and no other configuration changes.
import re
from functools import cache

from reproduction.configuration import load_audit, load_settings, load_utility


@cache
def settings_of(stage):
    """Settings of a stage. They are read once one of its own targets is asked for."""
    load = {
        "audit": lambda: load_audit(ROOT / "config"),
        "benchmark": lambda: load_settings(ROOT / "config" / "benchmark.yaml"),
        "utility": lambda: load_utility(ROOT / "config"),
    }
    try:
        return load[stage]()
    except DataError as problem:
        # One sentence, with no trace of the rule that asked first.
        sys.exit(f"Error: {problem}")


def part_of(stage, *keys):
    """Some keys of a stage's settings, as a job runs again when one of its own is changed."""
    return {key: settings_of(stage)[key] for key in keys}


def measurement(module, script="measure.py"):
    """Parameters of a rule whose script runs a module of `reproduction.measurements`."""
    return {
        "study": module.partition(".")[0],
        "module": module,
        "code": code(script, f"reproduction.measurements.{module}"),
        "lock": LOCK,
    }


def spaces_by_file(stage):
    """Names of a stage's spaces by what their files are called."""
    return {re.sub("[^a-z0-9]", "", name.lower()): name for name in settings_of(stage)["spaces"]}


def space_named(stage, wildcards):
    """The space that a file's name means."""
    known = spaces_by_file(stage)
    if wildcards.space not in known:
        sys.exit(
            f"Error: config/{stage}.yaml has no space {wildcards.space}: ask for one of "
            f"{', '.join(known)}"
        )
    return known[wildcards.space]


def whole_machine(wildcards):
    """As many threads as the run has cores; one where nobody has said how many."""
    return workflow.resource_settings.cores or 1


# The audit
AUDIT_RESULTS = "results/audit"


def audit_budgets(number):
    """Stated budgets at a number of records: all at the first, at others that in the middle."""
    sphere = settings_of("audit")["sphere"]
    budgets = sphere["budgets"]
    return budgets if number in (2, sphere["n"][0]) else [budgets[len(budgets) // 2]]


def audit_parts(name):
    """An input function: one table for each number of records. The worst case has two."""

    def files(wildcards):
        numbers = [2, *settings_of("audit")["sphere"]["n"]]
        return [f"{AUDIT_RESULTS}/parts/{name}_n{n}.csv" for n in numbers]

    return files


# The benchmark
BENCHMARK_RESULTS = "results/benchmark"
GEOMSTATS_BACKENDS = ("numpy", "autograd")


def benchmark_parts(wildcards):
    """Tables of all parts of the benchmark."""
    parts = [
        *(f"sampling_{space}" for space in spaces_by_file("benchmark")),
        "gradients",
        *(f"fits_{backend}" for backend in GEOMSTATS_BACKENDS),
        "sizes",
    ]
    return [f"{BENCHMARK_RESULTS}/{part}.csv" for part in parts]


def benchmark_arguments(part, **others):
    """What one part of the benchmark is told: its own settings, limits, seed and all spaces."""
    return {
        "settings": part_of("benchmark", "seed", "seconds", part),
        "spaces": list(settings_of("benchmark")["spaces"]),
        **others,
    }


# The utility and the comparison
UTILITY_RESULTS = "results/utility"


def utility_parts(wildcards):
    """Tables of all spaces and n of the utility, those that take longest first."""
    return [
        f"{UTILITY_RESULTS}/cells/{space}_n{number}.csv"
        for number in sorted(settings_of("utility")["utility"]["n"], reverse=True)
        for space in spaces_by_file("utility")
    ]


def comparison_parts(wildcards):
    """Tables of all cells of the comparison."""
    cells = settings_of("utility")["comparison"]["cells"]
    return [
        f"{UTILITY_RESULTS}/comparison/{space}_n{number}_budget{budget}.csv"
        for space, name in spaces_by_file("utility").items()
        for number, budget in cells.get(name, [])
    ]


def utility_arguments(wildcards, part, **others):
    """What a job on one space and n is told: the settings of that space and of its part."""
    space = space_named("utility", wildcards)
    settings = part_of("utility", "seed", "chains", part)
    settings |= {"spaces": {space: settings_of("utility")["spaces"][space]}}
    return {"settings": settings, "space": space, "number": int(wildcards.number), **others}
