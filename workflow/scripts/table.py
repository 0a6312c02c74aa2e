"""A table of a study, made by the function of its kind."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    from importlib import import_module
    from types import SimpleNamespace

    module = import_module(f"reproduction.tables.{snakemake.params.module}")
    params = dict(snakemake.params.items())
    # What a table for one figure needs stands among the others.
    params = SimpleNamespace(**params | params.pop("needs", {}))
    made_for = SimpleNamespace(
        params=params,
        input=snakemake.input,
        wildcards=snakemake.wildcards,
        threads=snakemake.threads,
    )
    tabulate = getattr(module, snakemake.params.function)
    save_table(snakemake.output[0], tabulate(made_for))
