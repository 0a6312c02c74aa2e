# The audit, `snakemake audit`: realised beside stated privacy losses.
# In: config/audit.yaml. Out: results/audit/audit.csv, neighbours.csv, sensitivity.csv,
# black_box.csv, audit.pdf, .svg, .png and .html.
rule audit_sensitivity:
    output:
        f"{AUDIT_RESULTS}/sensitivity.csv",
    log:
        f"{AUDIT_RESULTS}/logs/sensitivity.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("audit.sensitivity"),
        arguments=lambda wildcards: {"settings": part_of("audit", "seed", "sphere")},
    message:
        "audit: search how far one record moves a gradient"
    script:
        "../scripts/measure.py"


use rule audit_sensitivity as audit_losses with:
    output:
        losses=f"{AUDIT_RESULTS}/parts/losses_n{{n}}.csv",
        neighbours=f"{AUDIT_RESULTS}/parts/neighbours_n{{n}}.csv",
    log:
        f"{AUDIT_RESULTS}/logs/losses_n{{n}}.log",
    wildcard_constraints:
        n=r"\d+",
    # The longest jobs start first.
    priority: 1
    params:
        **measurement("audit.losses"),
        arguments=lambda wildcards: {
            "settings": part_of("audit", "seed", "sphere", "two_points"),
            "number": int(wildcards.n),
            "budgets": audit_budgets(int(wildcards.n)),
        },
    message:
        "audit: search for large privacy losses, n = {wildcards.n}"


use rule audit_sensitivity as audit_black_box with:
    input:
        rats=shipped("resources/vilmann_rats.csv"),
    output:
        f"{AUDIT_RESULTS}/parts/black_box.csv",
    log:
        f"{AUDIT_RESULTS}/logs/black_box.log",
    params:
        **measurement("audit.black_box"),
        arguments=lambda wildcards: {"settings": part_of("audit", "seed", "black_box")},
    message:
        "audit: bound budgets from draws alone"


use rule audit_sensitivity as audit_releases with:
    output:
        f"{AUDIT_RESULTS}/parts/releases_{{space}}.csv",
    log:
        f"{AUDIT_RESULTS}/logs/releases_{{space}}.log",
    wildcard_constraints:
        space="sphere|spd",
    priority: 2
    params:
        **measurement("audit.releases"),
        arguments=lambda wildcards: {
            "settings": part_of("audit", "seed", "releases"),
            "space": wildcards.space,
        },
    message:
        "audit: test whole releases by their draws, space {wildcards.space}"


rule audit:
    input:
        losses=audit_parts("losses"),
        neighbours=audit_parts("neighbours"),
        sensitivity=f"{AUDIT_RESULTS}/sensitivity.csv",
        black_box=[
            f"{AUDIT_RESULTS}/parts/{part}.csv"
            for part in ("black_box", "releases_sphere", "releases_spd")
        ],
        template=shipped("workflow/report/audit.html.j2"),
    output:
        csv=f"{AUDIT_RESULTS}/audit.csv",
        neighbours=f"{AUDIT_RESULTS}/neighbours.csv",
        black_box=f"{AUDIT_RESULTS}/black_box.csv",
        page=f"{AUDIT_RESULTS}/audit.html",
        pdf=f"{AUDIT_RESULTS}/audit.pdf",
        svg=f"{AUDIT_RESULTS}/audit.svg",
        png=f"{AUDIT_RESULTS}/audit.png",
    log:
        f"{AUDIT_RESULTS}/logs/audit.log",
    conda:
        "../../envs/environment.yaml"
    params:
        **measurement("audit.summary", "summarise.py"),
        arguments=lambda wildcards: {"settings": part_of("audit", "sphere")},
    message:
        "audit: write the tables, the figure and the page"
    script:
        "../scripts/summarise.py"
