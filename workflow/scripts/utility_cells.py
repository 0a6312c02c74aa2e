"""Errors of simulated releases on one space at one number of subjects, budget by budget."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.utility import Space, measure_utility

    settings, name = snakemake.params.settings, snakemake.params.space
    space = Space.of(name, settings["spaces"][name], settings["seed"], snakemake.input.rats)
    rows = measure_utility(space, int(snakemake.wildcards.number), settings)
    save_table(snakemake.output[0], pd.DataFrame(rows))
