# Verdicts on the claims of a paper, from tables of all studies that they name.
# In: the paper's file of claims, and tables. Out: claims/<paper>.csv, .html.


def claimed_tables(paper):
    """Tables that claims of a paper are about, and errors of their studies: files by study and table."""
    found = {}
    with open(CLAIM_FILES[paper], encoding="utf-8", newline="") as text:
        for row in csv.DictReader(text):
            against = (row.get("against") or "").partition(" ")[0]
            for name in {row.get("study"), against} & STUDIES.keys():
                for table in (row.get("table"), "errors"):
                    if table in STUDIES[name].table_names:
                        found[name, table] = table_file(name, table)
                    elif owner := figure_with_table(STUDIES[name], table):
                        found[name, table] = table_file(name, owner)
    return dict(sorted(found.items()))


def figure_with_table(study, kind):
    """Name of the first table of a kind that is made for a figure alone, if there is one."""
    names = (
        f"{name}_{kind}" for name in study.settings["figures"] if study.own_table(name) == kind
    )
    return next(names, None)


def seed_of_paper(paper):
    """Seed of the first study that claims name."""
    return next((seed_of(STUDIES[study]) for study, _ in claimed_tables(paper)), config["seed"])


rule evaluate_claims:
    input:
        template=shipped("workflow/report/claims.html.j2"),
        parts=shipped("workflow/report/parts.html.j2"),
        claims=lambda wildcards: CLAIM_FILES[wildcards.paper],
        tables=lambda wildcards: list(claimed_tables(wildcards.paper).values()),
    output:
        csv=f"{RESULTS}/claims/{{paper}}.csv",
        page=shown(f"{RESULTS}/claims/{{paper}}.html", "Pages", "Verdicts on {paper}"),
    log:
        f"{RESULTS}/logs/claims_{{paper}}.log",
    wildcard_constraints:
        paper="|".join(CLAIM_FILES) or "no_such_paper",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    threads: share
    params:
        study="claims",
        paper=lambda wildcards: PAPER_NAMES[wildcards.paper],
        tables=lambda wildcards: list(claimed_tables(wildcards.paper)),
        note=config["note"],
        seed=lambda wildcards: seed_of_paper(wildcards.paper),
        code=code_of("claims.py"),
        lock=LOCK_DIGEST,
    message:
        "judge the claims of {wildcards.paper}"
    script:
        "../scripts/claims.py"


def paper_files(paper):
    """Verdicts and figures of a paper."""
    own = [study for study in STUDIES.values() if study.paper == paper]
    return [*claims_files(paper), *(file for study in own for file in figure_files(study))]


# A target for each paper that this project reruns.
for paper in CLAIM_FILES.keys() & PAPERS.keys():

    rule:
        name:
            paper
        input:
            paper_files(paper),
        message:
            f"{PAPERS[paper].name}: all results are there"
