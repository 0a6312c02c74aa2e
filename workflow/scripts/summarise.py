"""Tables, figure and page that join jobs beside the studies; a row of workflow/rules/jobs.yaml.

The rule's parameter ``module`` names the module of `reproduction.measurements` whose ``summarise``
makes them from the rule's ``arguments`` and its named inputs.
"""

from reproduction.jobs import job, made_by, replacing, save_table

with job() as snakemake:
    from importlib import import_module

    from reproduction.figures.files import save_figure

    module = import_module(f"reproduction.measurements.{snakemake.params.module}")
    arguments = {**snakemake.params.arguments, **dict(snakemake.input.items())}
    if besides := snakemake.params.get("besides"):
        arguments["besides"] = besides
    arguments |= {"made_by": made_by(snakemake), "threads": snakemake.threads}
    found = module.summarise(**arguments)
    for name, made in found.items():
        if name == "figure":
            save_figure(made, snakemake.output)
        elif isinstance(made, str):
            with replacing(snakemake.output[name]) as partial:
                partial.write_text(made, encoding="utf-8")
        else:
            save_table(snakemake.output[name], made)
