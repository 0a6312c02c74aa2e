# The report: one page of all results of the configuration, and of what other targets have made.
# In: figures, tables and verdicts. Out: results/<name>/report.html, and pages of docs.


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
        audit=lambda wildcards, output: {
            "command": command_here("snakemake audit --cores 8"),
            **with_digests(AUDIT_SHOWN, output),
        },
        again=command_here("snakemake report"),
        times=command_here("snakemake --report times.html"),
        besides=lambda wildcards, output: [
            {"title": title, "command": command_here(command), **with_digests(files, output)}
            for title, (command, files) in BESIDES.items()
        ],
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


# Pages of the checkout, whose other parts are written by hand, are no outputs.
rule pages:
    input:
        **{key: f"{verdicts_file(key)}.csv" for key in PAPERS},
        losses="results/audit/audit.csv",
        testers="results/audit/releases.csv",
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


rule kulkarni_soto:
    input:
        study_files(),
    message:
        "the studies of the configuration: all results are there"
