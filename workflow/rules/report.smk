# The report: one page of all results of the configuration; and pages of docs.
# In: figures, tables and verdicts. Out: results/<name>/report.html.


def command_of_times():
    """The command, for the folder of this run and its configuration, that shows times of jobs."""
    here = Path.cwd()

    def seen(path):
        path = Path(path).absolute()
        return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))

    run, where = "./run", ""
    if here != CHECKOUT:
        run, where = seen(CHECKOUT / "run"), f" -s {seen(CHECKOUT / 'workflow' / 'Snakefile')}"
    own = "".join(f" {seen(path)}" for path in GIVEN)
    return f"{run} snakemake{where} --report times.html" + (own and f" --configfile{own}")


def report_figures():
    """Figures of the report, by their paths without suffix: what it says of each."""
    return {
        figure_path(study.name, figure, ""): {
            "paper": PAPER_NAMES.get(study.paper, ""),
            "order": order,
            "study": study.name,
            "studies": sorted({owner for owner, _ in study.tables_of(figure)}),
            "number": chosen.get("number", ""),
            "title": figure_title(figure, chosen.get("number", "")),
            "kind": chosen["kind"],
            # Where no macro of captions.html.j2 is called like the kind.
            "caption": FIGURES[chosen["kind"]].__doc__.partition("\n\n")[0],
            "mechanism": study.shown_mechanism(figure),
            "notes": [study.note],
        }
        for order, study in enumerate(STUDIES.values())
        for figure, chosen in study.settings["figures"].items()
    }


def report_pictures(suffix):
    """An input function: files of the figures of the report."""

    def files(wildcards):
        if not STUDIES:
            sys.exit(
                "Error: there is nothing to report, as the configuration has no studies: give one "
                "that has, with --configfile"
            )
        return [f"{path}{suffix}" for path in report_figures()]

    return files


def report_tables(name):
    """A table of every study of draws that has it."""
    return [
        table_file(study.name, name)
        for study in STUDIES.values()
        if name in study.table_names and not study.computed
    ]


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
