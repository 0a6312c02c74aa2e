# Inputs and parameters of the rules in measured.smk.


def inputs_of(job):
    """Inputs of the rule of a row, found when one of its targets is requested."""

    def made(path):
        return lambda wildcards: or_exit(job.files, path)

    def given(name):
        return lambda wildcards: or_exit(job.found, name, wildcards)

    return {
        **{name: made(path) for name, path in job.reads.items()},
        **{name: shipped(path) for name, path in job.ships.items()},
        **{name: given(name) for name in job.finds},
    }


def parameters_of(job):
    """Parameters of the rule of a row."""
    found = {
        "study": job.stage,
        "script": job.script,
        "module": job.module,
        "function": job.function,
        "arguments": lambda wildcards: or_exit(job.arguments, wildcards),
        "code": code_of(job.script, f"reproduction.measurements.{job.module}"),
        "lock": lock_of(job.needs) if job.needs else LOCK_DIGEST,
        # A file may be replaced by an older one.
        "digests": lambda wildcards: [
            digest_of(or_exit(job.found, name, wildcards)) for name in job.finds
        ],
    }
    if job.besides:
        found["besides"] = lambda wildcards, output: with_digests(job.besides, output)
        found["seen"] = lambda wildcards: digests_of(job.besides.values())
    return found


def plan_of_the_configuration(wildcards):
    """The key plan; a sentence if there is none."""
    if "plan" not in config:
        sys.exit("Error: configuration key plan is missing: add it, as config/config.yaml explains")
    return {"plan": config["plan"]}
