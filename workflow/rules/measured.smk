# What is measured beside the studies: a rule of each row of JOBS, in `reproduction.targets`.
# In: a file of settings below config. Out: below the folder of the stage, such as results/audit.


for name, job in JOBS.items():

    rule:
        name:
            name
        input:
            **inputs_of(job),
        output:
            **{name: shown_picture(path, job.stage) for name, path in job.outputs.items()},
        log:
            job.log,
        wildcard_constraints:
            **WILDCARDS,
        priority: job.priority
        conda:
            "../../envs/environment.yaml"
        threads: (lambda wildcards: workflow.cores) if job.alone else share
        params:
            **parameters_of(job),
        message:
            job.message
        script:
            # Found when a job runs, and this loop is over by then.
            "../scripts/{params.script}"


# Predicted errors of releases, from the key plan of the configuration; no data are used.
rule plan:
    output:
        **PLAN_FILES,
    log:
        f"{RESULTS}/plan/logs/plan.log",
    conda:
        "../../envs/environment.yaml"
    # Cells are planned in parallel.
    threads: lambda wildcards: workflow.cores
    params:
        study="plan",
        module="plan",
        function="summarise",
        arguments=plan_of_the_configuration,
        code=code_of("summarise.py", "reproduction.measurements.plan"),
        lock=LOCK_DIGEST,
    message:
        "plan: predict errors of private releases, {threads} at once"
    script:
        "../scripts/summarise.py"


# Verdicts on papers with settings of their own.
use rule evaluate_claims as paper_claims with:
    input:
        **CLAIMS_TEMPLATES,
        claims=[shipped("resources/published/{paper}_claims.csv")],
        tables=lambda wildcards: list(or_exit(claimed, wildcards.paper).values()),
    output:
        csv="results/{stage}/{paper}_claims.csv",
        page=shown("results/{stage}/{paper}_claims.html", "Pages", "Verdicts on {paper}"),
    log:
        "results/{stage}/logs/{paper}_claims.log",
    wildcard_constraints:
        stage="|".join(sorted({PAPERS[paper].stage for paper in OTHERS})),
        paper="|".join(OTHERS),
    params:
        **claims_parameters(
            lambda wildcards: [PAPERS[wildcards.paper].name],
            tables=lambda wildcards: list(or_exit(claimed, wildcards.paper)),
            seed=lambda wildcards: or_exit(settings_of, wildcards.stage)["seed"],
        ),
    message:
        "{wildcards.stage}: judge the claims of {wildcards.paper}"


for paper in OTHERS:

    rule:
        name:
            paper
        input:
            lambda wildcards, paper=paper: or_exit(paper_files, paper),
        message:
            f"{PAPERS[paper].name}: all results are there"
