# Errors of private releases on simulated data, `snakemake utility`; and how often confidence bands
# hold the true prediction, `snakemake coverage`.
# In: config/utility.yaml. Out: results/utility/utility.csv, .pdf, .svg, .png and .md;
# results/utility/coverage.csv and .md.
rule utility_cells:
    input:
        rats=shipped("resources/vilmann_rats.csv"),
    output:
        f"{UTILITY_RESULTS}/cells/{{space}}_n{{number}}.csv",
    log:
        f"{UTILITY_RESULTS}/logs/{{space}}_n{{number}}.log",
    wildcard_constraints:
        space="[a-z0-9]+",
        number=r"\d+",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("utility.releases"),
        arguments=utility_arguments,
    message:
        "utility: releases on {wildcards.space}, n = {wildcards.number}"
    script:
        "../scripts/measure.py"


rule utility:
    input:
        tables=utility_parts,
    output:
        csv=f"{UTILITY_RESULTS}/utility.csv",
        text=f"{UTILITY_RESULTS}/utility.md",
        pdf=f"{UTILITY_RESULTS}/utility.pdf",
        svg=f"{UTILITY_RESULTS}/utility.svg",
        png=f"{UTILITY_RESULTS}/utility.png",
    log:
        f"{UTILITY_RESULTS}/logs/utility.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("utility.summary", "summarise.py"),
        arguments=lambda wildcards: {"shown": settings_of("utility")["utility"]["shown"]},
    message:
        "utility: write the table and the figure"
    script:
        "../scripts/summarise.py"


rule coverage_cells:
    output:
        f"{UTILITY_RESULTS}/coverage/{{space}}.csv",
    log:
        f"{UTILITY_RESULTS}/logs/coverage_{{space}}.log",
    wildcard_constraints:
        space="[a-z0-9]+",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("coverage.releases"),
        arguments=lambda wildcards: {
            "settings": part_of("utility", "seed", "coverage"),
            "space": space_named("utility", wildcards, "coverage"),
        },
    message:
        "coverage: releases on {wildcards.space}"
    script:
        "../scripts/measure.py"


rule coverage:
    input:
        tables=coverage_parts,
    output:
        csv=f"{UTILITY_RESULTS}/coverage.csv",
        text=f"{UTILITY_RESULTS}/coverage.md",
    log:
        f"{UTILITY_RESULTS}/logs/coverage.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("coverage.summary", "summarise.py"),
        arguments={},
    message:
        "coverage: write the table"
    script:
        "../scripts/summarise.py"
