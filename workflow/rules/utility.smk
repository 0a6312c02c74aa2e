# What private releases are worth on simulated data: `snakemake utility`. No study and no other
# configuration has a part in it.
# In: config/utility.yaml. Out: results/utility/utility.csv, .pdf, .svg, .png and .md.
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
