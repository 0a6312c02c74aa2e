# The audit: `snakemake audit`, realised against stated privacy losses. No study and no other
# configuration has a part in it.
# In: config/audit.yaml. Out: results/audit/audit.csv, neighbours.csv, sensitivity.csv,
# black_box.csv, audit.pdf, .svg, .png and .html.
rule audit_losses:
    input:
        library=library("audit_losses.py"),
    output:
        losses=f"{AUDIT_RESULTS}/parts/losses_n{{n}}.csv",
        neighbours=f"{AUDIT_RESULTS}/parts/neighbours_n{{n}}.csv",
    log:
        f"{AUDIT_RESULTS}/logs/losses_n{{n}}.log",
    wildcard_constraints:
        n=r"\d+",
    # They take longest, and are better begun early.
    priority: 1
    conda:
        "../../envs/environment.yaml"
    params:
        study="audit",
        n=lambda wildcards: int(wildcards.n),
        budgets=lambda wildcards: audit_budgets(int(wildcards.n)),
        settings=audit_settings("sphere", "certified", "two_points"),
        lock=LOCK,
    script:
        "../scripts/audit_losses.py"


rule audit_sensitivity:
    input:
        library=library("audit_sensitivity.py"),
    output:
        f"{AUDIT_RESULTS}/sensitivity.csv",
    log:
        f"{AUDIT_RESULTS}/logs/sensitivity.log",
    conda:
        "../../envs/environment.yaml"
    params:
        study="audit",
        settings=audit_settings("sensitivity", "sphere"),
        lock=LOCK,
    script:
        "../scripts/audit_sensitivity.py"


rule audit_black_box:
    input:
        rats="resources/vilmann_rats.csv",
        library=library("audit_black_box.py"),
    output:
        f"{AUDIT_RESULTS}/black_box.csv",
    log:
        f"{AUDIT_RESULTS}/logs/black_box.log",
    conda:
        "../../envs/environment.yaml"
    params:
        study="audit",
        settings=audit_settings("black_box"),
        lock=LOCK,
    script:
        "../scripts/audit_black_box.py"


rule audit:
    input:
        losses=[f"{AUDIT_RESULTS}/parts/losses_n{n}.csv" for n in AUDIT_NUMBERS],
        neighbours=[f"{AUDIT_RESULTS}/parts/neighbours_n{n}.csv" for n in AUDIT_NUMBERS],
        sensitivity=f"{AUDIT_RESULTS}/sensitivity.csv",
        black_box=f"{AUDIT_RESULTS}/black_box.csv",
        template="workflow/report/audit.html.j2",
        library=library("audit_summary.py"),
    output:
        csv=f"{AUDIT_RESULTS}/audit.csv",
        neighbours=f"{AUDIT_RESULTS}/neighbours.csv",
        page=report(
            f"{AUDIT_RESULTS}/audit.html",
            caption="../report/audit.rst",
            category="audit",
            labels={"figure": "realised against stated budgets"},
        ),
        pdf=f"{AUDIT_RESULTS}/audit.pdf",
        svg=f"{AUDIT_RESULTS}/audit.svg",
        png=f"{AUDIT_RESULTS}/audit.png",
    log:
        f"{AUDIT_RESULTS}/logs/audit.log",
    conda:
        "../../envs/environment.yaml"
    params:
        study="audit",
        settings=audit_settings("sphere", "certified", "two_points"),
        lock=LOCK,
    script:
        "../scripts/audit_summary.py"
