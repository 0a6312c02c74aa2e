# The benchmark: `snakemake benchmark`. No study and no other configuration has a part in it, and
# every job that measures has the machine to itself.
# In: config/benchmark.yaml. Out: results/benchmark/benchmark.csv, .pdf, .svg, .png and .md.
rule benchmark_sampling:
    input:
        rats="resources/vilmann_rats.csv",
        library=library("benchmark_sampling.py"),
    output:
        f"{BENCHMARK_RESULTS}/sampling_{{space}}.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/sampling_{{space}}.log",
    wildcard_constraints:
        space="|".join(BENCHMARK_SPACES),
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores
    params:
        study="benchmark",
        space=lambda wildcards: BENCHMARK_SPACES[wildcards.space],
        grid=lambda wildcards: BENCHMARK["spaces"][BENCHMARK_SPACES[wildcards.space]],
        settings=benchmark_settings("draws"),
        lock=LOCK,
    script:
        "../scripts/benchmark_sampling.py"


rule benchmark_gradients:
    input:
        rats="resources/vilmann_rats.csv",
        library=library("benchmark_gradients.py"),
    output:
        f"{BENCHMARK_RESULTS}/gradients.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/gradients.log",
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores
    params:
        study="benchmark",
        spaces=list(BENCHMARK["spaces"]),
        settings=benchmark_settings("gradients"),
        lock=LOCK,
    script:
        "../scripts/benchmark_gradients.py"


rule benchmark_fits:
    input:
        rats="resources/vilmann_rats.csv",
        library=library("benchmark_fits.py"),
    output:
        f"{BENCHMARK_RESULTS}/fits_{{backend}}.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/fits_{{backend}}.log",
    wildcard_constraints:
        backend="|".join(GEOMSTATS_BACKENDS),
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores
    params:
        study="benchmark",
        spaces=list(BENCHMARK["spaces"]),
        settings=benchmark_settings("fits"),
        lock=LOCK,
    script:
        "../scripts/benchmark_fits.py"


rule benchmark_sizes:
    input:
        rats="resources/vilmann_rats.csv",
        library=library("benchmark_sizes.py"),
    output:
        f"{BENCHMARK_RESULTS}/sizes.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/sizes.log",
    conda:
        "../../envs/environment.yaml"
    threads: workflow.cores
    params:
        study="benchmark",
        spaces=list(BENCHMARK["spaces"]),
        settings=benchmark_settings("sizes"),
        lock=LOCK,
    script:
        "../scripts/benchmark_sizes.py"


rule benchmark:
    input:
        tables=[f"{BENCHMARK_RESULTS}/{part}.csv" for part in BENCHMARK_PARTS],
        library=library("benchmark_summary.py"),
    output:
        csv=f"{BENCHMARK_RESULTS}/benchmark.csv",
        text=f"{BENCHMARK_RESULTS}/benchmark.md",
        pdf=f"{BENCHMARK_RESULTS}/benchmark.pdf",
        svg=f"{BENCHMARK_RESULTS}/benchmark.svg",
        png=f"{BENCHMARK_RESULTS}/benchmark.png",
    log:
        f"{BENCHMARK_RESULTS}/logs/benchmark.log",
    conda:
        "../../envs/environment.yaml"
    params:
        study="benchmark",
        lock=LOCK,
    script:
        "../scripts/benchmark_summary.py"
