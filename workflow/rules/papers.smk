# All papers, and their verdicts on one page.
# In: verdicts of the configuration and of the targets of other papers. Out: results/papers/claims.csv
# and .html.
rule join_claims:
    input:
        claims=lambda wildcards: joined_claims(),
        template=shipped("workflow/report/claims.html.j2"),
    output:
        csv="results/papers/claims.csv",
        page=report(
            "results/papers/claims.html",
            caption="../report/claims.rst",
            category="claims",
            labels={"figure": "verdicts of all papers"},
        ),
    log:
        "results/papers/logs/claims.log",
    localrule: True
    conda:
        "../../envs/environment.yaml"
    params:
        study="claims",
        seed=config["seed"],
        code=code_of("join_claims.py"),
        lock=LOCK,
    message:
        "join the verdicts of all papers"
    script:
        "../scripts/join_claims.py"


rule papers:
    input:
        rules.all.input,
        rules.papers_003_004.input,
        rules.papers_000_002.input,
        "results/papers/claims.html",
    message:
        "all papers: all results are there"
