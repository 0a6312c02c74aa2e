# Tidy tables of a study, from all its cells.
# In: all groups and cells of a study. Out: tables/errors.csv, tables/diagnostics.csv.
def sampled_cells(study):
    """Every sampled cell of a study, in the order of the files that ``cell_files`` lists."""
    return [
        {"group": block.group, "cell": cell, "budgets": budgets, "sampler": block.sampler}
        for block in study.blocks
        for cell, budgets in block.cells.items()
    ]


def cell_files(wildcards):
    return [
        cell_file(wildcards.study, entry["group"], entry["cell"], entry["sampler"])
        for entry in sampled_cells(STUDIES[wildcards.study])
    ]


def group_files(name):
    def files(wildcards):
        groups = STUDIES[wildcards.study].groups
        return [group_file(wildcards.study, group, name) for group in groups]

    return files


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
    params:
        manifold=settings("manifold"),
        mechanism=settings("mechanism"),
        groups=lambda wildcards: STUDIES[wildcards.study].groups,
        cells=lambda wildcards: sampled_cells(STUDIES[wildcards.study]),
        lock=LOCK,
    conda:
        "../../envs/environment.yaml"
    script:
        "../scripts/evaluate.py"
