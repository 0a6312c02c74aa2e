"""Errors of all mechanisms on one space, at one number of subjects and budget."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.comparison import compare
    from reproduction.measurements.utility import Space

    settings, name = snakemake.params.settings, snakemake.params.space
    space = Space.of(name, settings["spaces"][name], settings["seed"], snakemake.input.rats)
    wildcards = snakemake.wildcards
    rows = compare(space, int(wildcards.number), float(wildcards.budget), settings)
    save_table(snakemake.output[0], pd.DataFrame(rows))
