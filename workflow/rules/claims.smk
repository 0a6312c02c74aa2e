# Verdicts on the claims of a paper, from tables of all studies that they name.
# In: the paper's file of claims, and tables. Out: claims/<paper>.csv, .html.


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
        paper="|".join(map(re.escape, CLAIM_FILES)) or "no_such_paper",
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


# A target for each paper that this project reruns.
for paper in CLAIM_FILES.keys() & PAPERS.keys():

    rule:
        name:
            paper
        input:
            paper_files(paper),
        message:
            f"{PAPERS[paper].name}: all results are there"
