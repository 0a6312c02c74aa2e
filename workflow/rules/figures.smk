# Figures, each as PDF, SVG and PNG with its numbers as CSV, from tables of studies or from one that is
# made for it alone.
# In: tables; groups and cells. Out: figures/<figure>.pdf, .svg, .png, .csv; tables/<figure>_<kind>.csv.


# Script, environment and threads are those of privacy_losses, in sensitivity.smk.
use rule privacy_losses as figure_table with:
    input:
        unpack(inputs_of_figure_table),
    output:
        f"{RESULTS}/{{study}}/tables/{{figure}}_{{kind}}.csv",
    log:
        f"{RESULTS}/{{study}}/logs/tables_{{figure}}_{{kind}}.log",
    wildcard_constraints:
        kind="convergence|curves|predictions|regression|transport",
    params:
        module="{kind}",
        function="tabulate",
        settings=lambda wildcards: STUDIES[wildcards.study].settings["figures"][wildcards.figure],
        # Not of every kind of table.
        seed=None,
        needs=lambda wildcards: needs_of(wildcards)["params"],
        code=lambda wildcards: code(
            "table.py", f"reproduction.tables.{wildcards.kind}", *needs_of(wildcards)["modules"]
        ),
    message:
        "{wildcards.study}: {wildcards.kind} of {wildcards.figure}"


rule figure:
    input:
        tables=tables_of_figure,
    output:
        pdf=f"{RESULTS}/{{study}}/figures/{{figure}}.pdf",
        png=f"{RESULTS}/{{study}}/figures/{{figure}}.png",
        svg=shown(f"{RESULTS}/{{study}}/figures/{{figure}}.svg", "Figures", "{figure}", "{study}"),
        csv=f"{RESULTS}/{{study}}/figures/{{figure}}.csv",
    log:
        f"{RESULTS}/{{study}}/logs/figures_{{figure}}.log",
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
