# What the report is made of, and what it says of each figure.


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
    "Releases of held-out cohorts, beside what counts as right": (
        "snakemake held_out --cores 8",
        {"page": "results/utility/held_out.md"},
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
        paper = PAPERS[key]
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
    return own + [f"results/{PAPERS[key].stage}/{key}_claims.csv" for key in OTHER_PAPERS]


def report_tables(name):
    """A table of every study that has it."""
    return [
        table_file(study.name, name) for study in STUDIES.values() if name in table_names(study)
    ]
