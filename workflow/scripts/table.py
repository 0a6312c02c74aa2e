"""A table of a study, made by the module of its kind."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    from importlib import import_module

    kind = import_module(f"reproduction.tables.{snakemake.params.kind}")
    save_table(snakemake.output[0], kind.tabulate(snakemake))
