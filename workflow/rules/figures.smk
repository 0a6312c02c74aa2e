# Figures, each as PDF, SVG and PNG with its numbers as CSV, from tables of studies or from one that is
# made for it alone.
# In: tables; groups and cells. Out: figures/<figure>.pdf, .svg, .png, .csv; tables/<figure>_<kind>.csv.


def needs_of(wildcards):
    """What the table of a figure alone needs."""
    kind = import_module(f"reproduction.tables.{wildcards.kind}")
    return kind.needs(STUDIES[wildcards.study], wildcards.figure, STUDIES)


def inputs_of_figure_table(wildcards):
    """Files of groups, and of draws of cells."""
    needs, study = needs_of(wildcards), STUDIES[wildcards.study]
    cells = [
        block_file(study.name, group, sampler, study.block_of[group, cell, sampler])
        for group, cell, sampler in needs.cells
    ]
    files = {
        name.split(".")[0]: [group_file(*group, name) for group in needs.groups]
        for name in needs.files
    }
    return files | {"cells": cells}


def needed_params(wildcards):
    """Parameters that a table of a figure needs; one that reads no group has no data and no model."""
    needs, study = needs_of(wildcards), STUDIES[wildcards.study]
    if not needs.groups:
        return needs.params
    common = {key: study.settings[key] for key in ("manifold", "model")}
    return needs.params | common | {"seed": seed_of(study)}


rule figure_table:
    input:
        unpack(inputs_of_figure_table),
    output:
        f"{RESULTS}/{{study}}/tables/{{figure}}_{{kind}}.csv",
    log:
        f"{RESULTS}/{{study}}/logs/{{figure}}_{{kind}}.log",
    wildcard_constraints:
        kind="convergence|curves|predictions|regression|transport",
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        study="{study}",
        kind="{kind}",
        figure=lambda wildcards: STUDIES[wildcards.study].settings["figures"][wildcards.figure],
        needs=needed_params,
        code=lambda wildcards: code(
            "table.py", f"reproduction.tables.{wildcards.kind}", *needs_of(wildcards).modules
        ),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}: {wildcards.kind} of {wildcards.figure}"
    script:
        "../scripts/table.py"


def told(wildcards):
    """What a figure's module is told of it."""
    study = STUDIES[wildcards.study]
    chosen = study.settings["figures"][wildcards.figure]
    is_drawn = not study.computed
    return {
        "figure": chosen,
        "grids": study.grids if chosen["kind"] == "error" else None,
        "splits": study.splits if is_drawn else None,
        "budgets": study.budgets if is_drawn else None,
        "mechanism": study.shown_mechanism(wildcards.figure),
        "length_unit": study.length_unit if is_drawn else None,
        "covariate_label": study.settings["covariate_label"],
        "notes": [study.note],
    }


rule figure:
    input:
        tables=lambda wildcards: [
            table_file(*table) for table in STUDIES[wildcards.study].tables_of(wildcards.figure)
        ],
    output:
        pdf=f"{RESULTS}/{{study}}/figures/{{figure}}.pdf",
        png=f"{RESULTS}/{{study}}/figures/{{figure}}.png",
        svg=shown(f"{RESULTS}/{{study}}/figures/{{figure}}.svg", "Figures", "{figure}", "{study}"),
        csv=f"{RESULTS}/{{study}}/figures/{{figure}}.csv",
    log:
        f"{RESULTS}/{{study}}/logs/{{figure}}.log",
    wildcard_constraints:
        study="|".join(STUDIES) or "no_such_study",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        study="{study}",
        told=told,
        names=lambda wildcards: [
            name for _, name in STUDIES[wildcards.study].tables_of(wildcards.figure)
        ],
        code=lambda wildcards: code(
            "figures.py",
            "reproduction.figures."
            + STUDIES[wildcards.study].settings["figures"][wildcards.figure]["kind"],
        ),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}: draw {wildcards.figure}"
    script:
        "../scripts/figures.py"
