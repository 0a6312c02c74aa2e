# The rules of what is measured beside the studies: one that runs a part, one that joins the parts,
# and one that judges the papers with settings of their own.  Each row of MEASURED and of SUMMARISED
# is a rule of that name.
for name, job in MEASURED.items():

    rule:
        name:
            name
        input:
            **job.get("input", {}),
        output:
            **outputs_of(job),
        log:
            log_of(job),
        wildcard_constraints:
            **WILDCARDS | job.get("wildcards", {}),
        priority: job.get("priority", 0)
        conda:
            "../../envs/environment.yaml"
        threads: job.get("threads", 1)
        params:
            **parameters_of(job, "measure.py"),
        message:
            job["message"]
        script:
            "../scripts/measure.py"


for name, job in SUMMARISED.items():

    rule:
        name:
            name
        input:
            **job.get("input", {}),
        output:
            **outputs_of(job),
        log:
            log_of(job),
        conda:
            "../../envs/environment.yaml"
        threads: job.get("threads", 1)
        params:
            **parameters_of(job, "summarise.py"),
        message:
            job["message"]
        script:
            "../scripts/summarise.py"


use rule evaluate_claims as paper_claims with:
    input:
        **CLAIMS_TEMPLATES,
        claims=[shipped("resources/published/{paper}_claims.csv")],
        tables=lambda wildcards: list(paper_claimed(wildcards.paper).values()),
    output:
        csv="results/{stage}/{paper}_claims.csv",
        page="results/{stage}/{paper}_claims.html",
    log:
        "results/{stage}/logs/{paper}_claims.log",
    wildcard_constraints:
        stage="|".join(PAPER_FIGURES),
        paper="|".join(OTHERS),
    params:
        **claims_parameters(
            lambda wildcards: [ALL_PAPERS[wildcards.paper].name],
            tables=lambda wildcards: list(paper_claimed(wildcards.paper)),
            seed=lambda wildcards: settings_of(wildcards.stage)["seed"],
        ),
        besides=claimed_of_tools,
        seen=lambda wildcards: digests_of(
            [f"{TOOLS_RESULTS}/draws.csv"] if wildcards.paper == COMPARES_TOOLS else []
        ),
    message:
        "{wildcards.stage}: judge the claims of {wildcards.paper}"
