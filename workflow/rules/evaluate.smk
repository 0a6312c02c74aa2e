# Tidy tables of a study, from all its cells.
# In: all groups and cells of a study. Out: tables/errors.csv, tables/diagnostics.csv.
rule evaluate:
    input:
        data=group_files("data.npz"),
        fit=group_files("fit.json"),
        sensitivity=group_files("sensitivity.npz"),
        cells=cell_files,
        library=library("evaluate.py"),
    output:
        errors=f"{RESULTS}/{{study}}/tables/errors.csv",
        diagnostics=f"{RESULTS}/{{study}}/tables/diagnostics.csv",
    log:
        f"{RESULTS}/{{study}}/logs/evaluate.log",
    conda:
        "../../envs/environment.yaml"
    params:
        manifold=settings("manifold"),
        mechanism=settings("mechanism"),
        groups=lambda wildcards: STUDIES[wildcards.study].groups,
        cells=lambda wildcards: STUDIES[wildcards.study].sampled,
        seed=config["seed"],
        lock=LOCK,
    script:
        "../scripts/evaluate.py"
