"""Data sets of a group, simulated or read from a file."""

from reproduction.jobs import job, made_by, save_arrays

with job() as snakemake:
    from importlib import import_module

    source = import_module(f"reproduction.data.{snakemake.params.source}")
    study, group = snakemake.wildcards.study, snakemake.wildcards.group
    save_arrays(
        snakemake.output[0], made_by(snakemake, study=study, group=group), **source.make(snakemake)
    )
