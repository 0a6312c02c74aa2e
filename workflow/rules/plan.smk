# Predicted errors of releases, from the key plan of the configuration; no data are used.
# In: the configuration. Out: plan/plan.csv, needed.csv, plan.pdf, .svg, .png.


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
        plan=plan_of_the_configuration,
        code=code_of("plan.py"),
        lock=LOCK_DIGEST,
    message:
        "plan: predict errors of private releases, {threads} at once"
    script:
        "../scripts/plan.py"
