# Predicted errors of releases, `snakemake plan`. No data are used.
# In: the key plan of the configuration. Out: results/<name>/plan.
if "plan" in config:

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
            plan=config["plan"],
            code=code_of("plan.py"),
            lock=LOCK_DIGEST,
        message:
            "plan: predict errors of private releases, {threads} at once"
        script:
            "../scripts/plan.py"

else:

    rule plan:
        log:
            f"{RESULTS}/plan/logs/plan.log",
        conda:
            "../../envs/environment.yaml"
        shell:
            "echo 'Error: configuration key plan is missing: add it, as config/config.yaml explains'"
            " | tee {log} >&2; exit 1"
