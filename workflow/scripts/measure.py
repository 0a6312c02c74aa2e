"""Tables of one job beside the studies: a row of workflow/rules/jobs.yaml.

The rule's parameters name a module of `reproduction.measurements` and its function, which makes
one table for each output from the rule's ``arguments`` and its named inputs.
"""

from reproduction.jobs import job, save_table

with job() as snakemake:
    from importlib import import_module

    module = import_module(f"reproduction.measurements.{snakemake.params.module}")
    measure = getattr(module, snakemake.params.function)
    tables = measure(**snakemake.params.arguments, **dict(snakemake.input.items()))
    for path, table in zip(snakemake.output, tables, strict=True):
        save_table(path, table)
