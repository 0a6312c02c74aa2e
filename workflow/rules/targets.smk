# The report, and a target for each paper.
# In: figures, tables and verdicts. Out: results/<name>/report.html.
rule report:
    input:
        svg=report_pictures("svg"),
        png=report_pictures("png"),
        csv=lambda wildcards: [
            f"{path}csv" for path, figure in report_figures().items() if figure["of_study"]
        ],
        claims=report_claims(),
        errors=report_tables("errors"),
        diagnostics=report_tables("diagnostics"),
        losses=report_tables("losses"),
        template=shipped("workflow/report/report.html.j2"),
        parts=shipped("workflow/report/parts.html.j2"),
        captions=shipped("workflow/report/captions.html.j2"),
    output:
        REPORT,
    log:
        f"{RESULTS}/logs/report.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    params:
        study="report",
        name=config["name"],
        note=config["note"],
        own_questions=[paper["name"] for paper in config["papers"] if paper["own_questions"]],
        figures=lambda wildcards: list(report_figures().values()),
        folder=lambda wildcards, output: str(Path(output[0]).parent),
        audit=lambda wildcards, output: {
            "command": command_here("snakemake audit --cores 8"),
            **with_digests(AUDIT_SHOWN, output),
        },
        again=command_here("snakemake report"),
        times=command_here("snakemake --report times.html"),
        besides=besides,
        seen=lambda wildcards: digests_of(
            path
            for files in (AUDIT_SHOWN, *(files for _, files in BESIDES.values()))
            for path in files.values()
        ),
        seed=config["seed"],
        code=code_of("report.py"),
        lock=LOCK_DIGEST,
    message:
        "report: write one page of all"
    script:
        "../scripts/report.py"


rule kulkarni_soto:
    input:
        study_files(),
    message:
        "the studies of the configuration: all results are there"


rule linear_opacus:
    input:
        SGD_DRAWS,
    message:
        "tools: lines by DP-SGD are there, and linear_tools joins them to the others"


for paper in OTHERS:

    rule:
        name:
            paper
        input:
            lambda wildcards, paper=paper: paper_files(paper),
        message:
            f"{ALL_PAPERS[paper].name}: all results are there"
