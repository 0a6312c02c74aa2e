# The benchmark, `./run --with geomstats snakemake benchmark --cores 1`. Only one job measures at a
# time.
# In: config/benchmark.yaml. Out: results/benchmark/benchmark.csv, .pdf, .svg, .png and .md.
rule benchmark_sampling:
    input:
        rats=shipped("resources/vilmann_rats.csv"),
    output:
        f"{BENCHMARK_RESULTS}/sampling_{{space}}.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/sampling_{{space}}.log",
    wildcard_constraints:
        space="[a-z0-9]+",
    conda:
        "../../envs/environment.yaml"
    threads: lambda wildcards: workflow.cores
    params:
        **measurement("benchmark.sampling"),
        arguments=lambda wildcards: with_geomstats(
            {
                "settings": part_of("benchmark", "seed", "seconds", "draws"),
                "space": space_named("benchmark", wildcards),
                "grid": settings_of("benchmark")["spaces"][space_named("benchmark", wildcards)],
            }
        ),
    message:
        "benchmark: samplers on {wildcards.space}"
    script:
        "../scripts/measure.py"


use rule benchmark_sampling as benchmark_gradients with:
    output:
        f"{BENCHMARK_RESULTS}/gradients.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/gradients.log",
    params:
        **measurement("benchmark.gradients"),
        arguments=lambda wildcards: benchmark_arguments("gradients"),
    message:
        "benchmark: gradients"


use rule benchmark_sampling as benchmark_fits with:
    output:
        f"{BENCHMARK_RESULTS}/fits_{{backend}}.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/fits_{{backend}}.log",
    wildcard_constraints:
        backend="|".join(GEOMSTATS_BACKENDS),
    params:
        **measurement("benchmark.fits"),
        arguments=lambda wildcards: with_geomstats(
            benchmark_arguments("fits", backend=wildcards.backend)
        ),
    message:
        "benchmark: fits beside geomstats with {wildcards.backend}"


use rule benchmark_sampling as benchmark_means with:
    output:
        f"{BENCHMARK_RESULTS}/means.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/means.log",
    params:
        **measurement("benchmark.means"),
        arguments=lambda wildcards: with_geomstats(benchmark_arguments("means")),
    message:
        "benchmark: Frechet means beside geomstats"


use rule benchmark_sampling as benchmark_sizes with:
    output:
        f"{BENCHMARK_RESULTS}/sizes.csv",
    log:
        f"{BENCHMARK_RESULTS}/logs/sizes.log",
    params:
        **measurement("benchmark.sizes"),
        arguments=lambda wildcards: benchmark_arguments("sizes", folder=BENCHMARK_RESULTS),
    message:
        "benchmark: times by size"


rule benchmark:
    input:
        tables=benchmark_parts,
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
        **measurement("benchmark.summary", "summarise.py"),
        arguments={},
    message:
        "benchmark: write the table and the figure"
    script:
        "../scripts/summarise.py"
