"""Gradients per second, and how fast memory gives the same arrays."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.benchmark import COLUMNS, SPACES, measure_gradients

    rows = []
    for name in snakemake.params.spaces:
        rows += measure_gradients(SPACES[name], snakemake.params.settings, snakemake.input.rats)
    save_table(snakemake.output[0], pd.DataFrame(rows, columns=COLUMNS))
