# Tidy tables: of a study from all its cells, and tables that are computed.
# In: all groups and cells of a study, or the configuration. Out: tables/data.csv, tables/errors.csv,
# tables/diagnostics.csv; or tables/<table>.csv.


rule evaluate:
    input:
        data=group_files("data.npz"),
        fit=group_files("fit.json"),
        blocks=block_files,
    output:
        data=shown_table("data"),
        errors=shown_table("errors"),
        diagnostics=shown_table("diagnostics"),
    log:
        f"{RESULTS}/{{study}}/logs/evaluate.log",
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        manifold=settings("manifold"),
        model=settings("model"),
        groups=lambda wildcards: STUDIES[wildcards.study].groups,
        transformation=lambda wildcards: STUDIES[wildcards.study].transformation,
        blocks=lambda wildcards: list(STUDIES[wildcards.study].cell_blocks.items()),
        seed=study_seed,
        code=code_of("evaluate.py"),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}: describe data, compute errors and diagnostics"
    script:
        "../scripts/evaluate.py"


# Script, environment and threads are those of privacy_losses, in sensitivity.smk.
use rule privacy_losses as table with:
    input:
        unpack(inputs_of_table),
    output:
        shown_table("{table}"),
    log:
        f"{RESULTS}/{{study}}/logs/tables_{{table}}.log",
    wildcard_constraints:
        study=OF_TABLES,
        table=r"\w+",
    # The longest are begun first.
    priority: 1
    params:
        module=lambda wildcards: kind_of_table(wildcards).module,
        function=lambda wildcards: STUDIES[wildcards.study].computed[wildcards.table]["kind"],
        settings=lambda wildcards: STUDIES[wildcards.study].computed[wildcards.table],
        # A file may be replaced by an older one.
        digests=digests_of_table,
        code=lambda wildcards: code(
            "table.py", f"reproduction.tables.{kind_of_table(wildcards).module}"
        ),
    message:
        "{wildcards.study}: compute {wildcards.table}"
