# The report: one page of all results of the configuration; and pages of docs.
# In: figures, tables and verdicts. Out: results/<name>/report.html.


rule report:
    input:
        svg=report_pictures("svg"),
        png=report_pictures("png"),
        csv=report_pictures("csv"),
        claims=[claims_files(paper)[0] for paper in CLAIM_FILES],
        errors=report_tables("errors"),
        diagnostics=report_tables("diagnostics"),
        losses=report_tables("losses"),
        statements=shipped("resources/published/statements.csv"),
        template=shipped("workflow/report/report.html.j2"),
        parts=shipped("workflow/report/parts.html.j2"),
        captions=shipped("workflow/report/captions.html.j2"),
    output:
        shown(f"{RESULTS}/report.html", "Pages", "Report"),
    log:
        f"{RESULTS}/logs/report.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        study="report",
        name=config["name"],
        note=config["note"],
        own_questions=[paper["name"] for paper in config["papers"] if paper["own_questions"]],
        figures=lambda wildcards: list(report_figures().values()),
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        times=command_of_times(),
        seed=config["seed"],
        code=code_of("report.py"),
        lock=LOCK_DIGEST,
    message:
        "report: write one page of all"
    script:
        "../scripts/report.py"


# Pages of the checkout, whose other parts are written by hand, are no outputs.
rule pages:
    input:
        **{key: f"results/default/claims/{key}.csv" for key in PAPERS},
        picture="results/default/sphere/figures/figure_1.png",
    log:
        "results/default/logs/pages.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        study="pages",
    message:
        "pages: write what the documentation says of results"
    script:
        "../scripts/pages.py"
