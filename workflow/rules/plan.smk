# Predicted errors of releases, `snakemake plan`. No data are used.
# In: the key plan of the configuration. Out: results/<name>/plan.
def plan_of_the_configuration(wildcards):
    """The key plan; a sentence if there is none."""
    if "plan" not in config:
        sys.exit("Error: configuration key plan is missing: add it, as config/config.yaml explains")
    return {"plan": config["plan"]}


SUMMARISED["plan"] = {
    "module": "plan.predictions",
    "arguments": plan_of_the_configuration,
    "output": PLAN_FILES,
    # Cells are planned in parallel.
    "threads": lambda wildcards: workflow.cores,
    "message": "plan: predict errors of private releases, {threads} at once",
}
