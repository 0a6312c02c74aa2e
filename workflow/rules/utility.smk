# Errors of private releases on simulated data, `snakemake utility`; of several mechanisms, `snakemake
# comparison`; and how often confidence bands hold the true prediction, `snakemake coverage`.
# In: config/utility.yaml. Out: results/utility/utility.csv, .pdf, .svg, .png and .md;
# results/utility/comparison.csv and .md; results/utility/coverage.csv and .md.
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
        arguments=lambda wildcards: utility_arguments(wildcards, "utility"),
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


use rule utility_cells as comparison_cells with:
    output:
        f"{UTILITY_RESULTS}/comparison/{{space}}_n{{number}}_budget{{budget}}.csv",
    log:
        f"{UTILITY_RESULTS}/logs/comparison_{{space}}_n{{number}}_budget{{budget}}.log",
    wildcard_constraints:
        space="[a-z0-9]+",
        number=r"\d+",
        budget=r"[0-9.]+",
    params:
        **measurement("comparison.mechanisms"),
        arguments=lambda wildcards: utility_arguments(
            wildcards, "comparison", budget=float(wildcards.budget)
        ),
    message:
        "comparison: mechanisms on {wildcards.space}, n = {wildcards.number}, budget {wildcards.budget}"


rule comparison:
    input:
        tables=comparison_parts,
    output:
        csv=f"{UTILITY_RESULTS}/comparison.csv",
        text=f"{UTILITY_RESULTS}/comparison.md",
    log:
        f"{UTILITY_RESULTS}/logs/comparison.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("comparison.summary", "summarise.py"),
        arguments={},
    message:
        "comparison: write the table"
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


use rule comparison as coverage with:
    input:
        tables=coverage_parts,
    output:
        csv=f"{UTILITY_RESULTS}/coverage.csv",
        text=f"{UTILITY_RESULTS}/coverage.md",
    log:
        f"{UTILITY_RESULTS}/logs/coverage.log",
    params:
        **measurement("coverage.summary", "summarise.py"),
        arguments={},
    message:
        "coverage: write the table"


# What is wanted of releases, beside what is measured, `snakemake aims`.
# In: config/utility.yaml, resources/earlier_release.csv. Out: results/utility/aims.csv and .md.
use rule utility_cells as aims_cells with:
    output:
        f"{UTILITY_RESULTS}/aims/{{space}}_n{{number}}.csv",
    log:
        f"{UTILITY_RESULTS}/logs/aims_{{space}}_n{{number}}.log",
    params:
        **measurement("aims.releases"),
        arguments=aims_arguments,
    message:
        "aims: releases on {wildcards.space}, n = {wildcards.number}"


use rule comparison as aims with:
    input:
        tables=aims_parts,
        earlier=shipped("resources/earlier_release.csv"),
    output:
        csv=f"{UTILITY_RESULTS}/aims.csv",
        text=f"{UTILITY_RESULTS}/aims.md",
    log:
        f"{UTILITY_RESULTS}/logs/aims.log",
    params:
        **measurement("aims.summary", "summarise.py"),
        arguments=lambda wildcards: {"aims": settings_of("utility")["aims"]},
    message:
        "aims: write the verdicts"
