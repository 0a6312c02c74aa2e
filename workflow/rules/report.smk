# The report: one page of all results of the configuration, and of what other targets have made.
# In: figures, tables and verdicts. Out: results/<name>/report.html.

# What other targets made: a command, and files of which the digests are parameters.
BESIDES = {
    "Error of releases on simulated data": (
        "snakemake utility --cores 8",
        {"page": "results/utility/utility.md", "picture": "results/utility/utility.svg"},
    ),
    "How often confidence bands hold the truth": (
        "snakemake coverage --cores 8",
        {"page": "results/utility/coverage.md"},
    ),
    "Private lines beside other tools": (
        "--with competitors snakemake linear_tools --cores 8",
        {"page": "results/tools/tools.md", "picture": "results/tools/tools.svg"},
    ),
}
AUDIT_SHOWN = {"table": "results/audit/audit.csv", "picture": "results/audit/audit.svg"}


def command_here(words):
    """A command for the folder of this run, with its own configuration.

    Parameters
    ----------
    words : str
        As for `run` in the folder of the checkout, such as "snakemake audit --cores 8".
    """
    before, _, after = words.partition("snakemake")
    here = Path.cwd()

    def seen(path):
        path = Path(path).absolute()
        return shlex.quote(str(path.relative_to(here) if path.is_relative_to(here) else path))

    run, where = "./run", ""
    if here != CHECKOUT:
        run, where = seen(CHECKOUT / "run"), f" -s {seen(CHECKOUT / 'workflow' / 'Snakefile')}"
    own = "".join(f" {seen(path)}" for path in GIVEN)
    return f"{run} {before}snakemake{where}{after}" + (own and f" --configfile{own}")


def report_figures():
    """Figures of the report: what it says of each, by its path without suffix."""
    # Figures of studies are those of the first paper that the configuration judges.
    judged = [paper["name"] for paper in config["papers"] if not paper["own_questions"]]
    found = {}
    for order, study in enumerate(STUDIES.values()):
        for figure, chosen in study.settings["figures"].items():
            number = re.fullmatch(r"figure_(\d+)", figure)
            found[figure_path(study.name, figure, "")] = {
                "paper": judged[0] if judged else "",
                "order": order,
                "study": study.name,
                "of_study": True,
                "number": number[1] if number else "",
                "title": figure_title(figure),
                "kind": chosen["kind"],
                "mechanism": study.shown_mechanism(figure),
                "notes": figure_notes(study, figure),
            }
    for key in OTHER_PAPERS:
        paper = ALL_PAPERS[key]
        for figure, number in paper.figures.items():
            found[f"results/{paper.stage}/figures/{figure}."] = {
                "paper": paper.name,
                "order": len(STUDIES),
                "study": paper.stage,
                "of_study": False,
                "number": number,
                "title": figure_title(figure, number),
                "kind": figure,
                "mechanism": "",
                "notes": [],
            }
    return found


def report_pictures(suffix):
    """An input function: files of the figures of the report."""

    def files(wildcards):
        if not report_files():
            sys.exit(
                "Error: there is nothing to report, as the configuration has neither studies nor "
                "other_papers: give one that has, with --configfile"
            )
        return [f"{path}{suffix}" for path in report_figures()]

    return files


def report_claims():
    """Verdicts in the report, those of the configuration first."""
    own = [path for path in claims_files() if path.endswith(".csv")]
    return own + [f"results/{ALL_PAPERS[key].stage}/{key}_claims.csv" for key in OTHER_PAPERS]


def report_tables(name):
    """A table of every study that has it."""
    return [
        table_file(study.name, name) for study in STUDIES.values() if name in table_names(study)
    ]


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
        f"{RESULTS}/report.html",
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


rule kulkarni_soto:
    input:
        study_files(),
    message:
        "the studies of the configuration: all results are there"
