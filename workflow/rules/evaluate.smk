# Tidy tables of a study, from all its cells; and verdicts on the claims of papers.
# In: all groups and cells of a study. Out: tables/data.csv, tables/errors.csv,
# tables/diagnostics.csv; claims.csv, claims.html.
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
        seed=config["seed"],
        code=code_of("evaluate.py"),
        lock=LOCK_DIGEST,
    message:
        "{wildcards.study}: describe data, compute errors and diagnostics"
    script:
        "../scripts/evaluate.py"


rule evaluate_claims:
    input:
        **CLAIMS_TEMPLATES,
        claims=list(CLAIM_FILES.values()),
        tables=list(claimed_tables().values()),
    output:
        csv=f"{RESULTS}/claims.csv",
        page=shown(f"{RESULTS}/claims.html", "Pages", "Verdicts on claims"),
    log:
        f"{RESULTS}/logs/evaluate_claims.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        **claims_parameters(list(CLAIM_FILES), list(claimed_tables()), config["seed"]),
        note=config["note"],
    message:
        "judge the claims of papers"
    script:
        "../scripts/claims.py"
