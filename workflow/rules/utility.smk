# What private releases are worth on simulated data: `snakemake utility`, and which mechanism is worth
# most: `snakemake comparison`. No study and no other configuration has a part in them.
# In: config/utility.yaml. Out: results/utility/utility.csv, .pdf, .svg, .png and .md;
# results/utility/comparison.csv and .md.
rule utility_cells:
    input:
        rats="resources/vilmann_rats.csv",
        library=library("utility_cells.py"),
    output:
        f"{UTILITY_RESULTS}/cells/{{space}}_n{{number}}.csv",
    log:
        f"{UTILITY_RESULTS}/logs/{{space}}_n{{number}}.log",
    wildcard_constraints:
        space="|".join(UTILITY_SPACES),
        number=r"\d+",
    conda:
        "../../envs/environment.yaml"
    params:
        study="utility",
        space=lambda wildcards: UTILITY_SPACES[wildcards.space],
        settings=lambda wildcards: utility_settings(wildcards.space, "utility"),
        lock=LOCK,
    script:
        "../scripts/utility_cells.py"


rule utility:
    input:
        # Those that take longest first.
        tables=[
            f"{UTILITY_RESULTS}/cells/{space}_n{number}.csv"
            for number in sorted(UTILITY["utility"]["n"], reverse=True)
            for space in UTILITY_SPACES
        ],
        library=library("utility_summary.py"),
    output:
        csv=f"{UTILITY_RESULTS}/utility.csv",
        text=f"{UTILITY_RESULTS}/utility.md",
        pdf=f"{UTILITY_RESULTS}/utility.pdf",
        svg=f"{UTILITY_RESULTS}/utility.svg",
        png=report(
            f"{UTILITY_RESULTS}/utility.png",
            caption="../report/utility.rst",
            category="utility",
        ),
    log:
        f"{UTILITY_RESULTS}/logs/utility.log",
    conda:
        "../../envs/environment.yaml"
    params:
        study="utility",
        shown=UTILITY["utility"]["shown"],
        lock=LOCK,
    script:
        "../scripts/utility_summary.py"


rule comparison_cells:
    input:
        rats="resources/vilmann_rats.csv",
        library=library("comparison_cells.py"),
    output:
        f"{UTILITY_RESULTS}/comparison/{{space}}_n{{number}}_budget{{budget}}.csv",
    log:
        f"{UTILITY_RESULTS}/logs/comparison_{{space}}_n{{number}}_budget{{budget}}.log",
    wildcard_constraints:
        space="|".join(UTILITY_SPACES),
        number=r"\d+",
        budget=r"[0-9.]+",
    conda:
        "../../envs/environment.yaml"
    params:
        study="comparison",
        space=lambda wildcards: UTILITY_SPACES[wildcards.space],
        settings=lambda wildcards: utility_settings(wildcards.space, "comparison"),
        lock=LOCK,
    script:
        "../scripts/comparison_cells.py"


rule comparison:
    input:
        tables=[
            f"{UTILITY_RESULTS}/comparison/{space}_n{number}_budget{budget}.csv"
            for space, name in UTILITY_SPACES.items()
            for number, budget in UTILITY["comparison"]["cells"].get(name, [])
        ],
        library=library("comparison_summary.py"),
    output:
        csv=f"{UTILITY_RESULTS}/comparison.csv",
        text=f"{UTILITY_RESULTS}/comparison.md",
    log:
        f"{UTILITY_RESULTS}/logs/comparison.log",
    conda:
        "../../envs/environment.yaml"
    params:
        study="comparison",
        lock=LOCK,
    script:
        "../scripts/comparison_summary.py"
