"""Bounds of privacy budgets from released draws alone."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.audit import measure_black_box

    rows = measure_black_box(snakemake.params.settings, snakemake.input.rats)
    save_table(snakemake.output[0], pd.DataFrame(rows))
