# The rules of what is measured beside the studies: one that runs a part, and one that joins the
# parts.  Each row of MEASURED and of SUMMARISED is a rule of that name.
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
