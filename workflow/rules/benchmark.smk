# The benchmark, `./run --with geomstats snakemake benchmark --cores 1`. Only one job measures at a
# time.
# In: config/benchmark.yaml. Out: results/benchmark/benchmark.csv, .pdf, .svg, .png and .md.
GEOMSTATS_BACKENDS = ("numpy", "autograd")


def benchmark_parts(wildcards):
    """Tables of all parts of the benchmark."""
    parts = [
        *(f"sampling_{space}" for space in spaces_by_file("benchmark")),
        *(f"fits_{backend}" for backend in GEOMSTATS_BACKENDS),
        "means",
        "sizes",
    ]
    return [f"{BENCHMARK_RESULTS}/{part}.csv" for part in parts]


def benchmark_of(part, message, **row):
    """Row of a part of the benchmark: it has the machine to itself, and knows all spaces."""
    row = {
        "settings": ("seed", "seconds", part),
        "arguments": lambda wildcards: {
            "spaces": list(settings_of("benchmark")["spaces"]),
            **dict(wildcards.items()),
        },
        "output": {"table": f"{part}.csv"},
    } | row
    return row | {
        "module": f"benchmark.{part}",
        "input": {"rats": shipped("resources/vilmann_rats.csv")},
        "threads": lambda wildcards: workflow.cores,
        "needs": "geomstats",
        "message": f"benchmark: {message}",
    }


MEASURED |= {
    "benchmark_sampling": benchmark_of(
        "sampling",
        "samplers on {wildcards.space}",
        settings=("seed", "seconds", "draws"),
        arguments=lambda wildcards: {
            "space": space_named("benchmark", wildcards),
            "grid": settings_of("benchmark")["spaces"][space_named("benchmark", wildcards)],
        },
        output={"table": "sampling_{space}.csv"},
    ),
    "benchmark_fits": benchmark_of(
        "fits",
        "fits beside geomstats with {wildcards.backend}",
        output={"table": "fits_{backend}.csv"},
        wildcards={"backend": "|".join(GEOMSTATS_BACKENDS)},
    ),
    "benchmark_means": benchmark_of("means", "Frechet means beside geomstats"),
    "benchmark_sizes": benchmark_of("sizes", "times by size"),
}

SUMMARISED["benchmark"] = {
    "module": "benchmark.summary",
    "input": {"tables": benchmark_parts},
    "output": {"csv": "benchmark.csv", "text": "benchmark.md", **pictures("benchmark")},
    "message": "benchmark: write the table and the figure",
}
