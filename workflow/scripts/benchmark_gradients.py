"""Gradients per second, and how fast memory gives the same arrays."""

import one_thread  # noqa: F401
from jobs import job, save_table

with job(snakemake):
    import pandas as pd
    from measurements import COLUMNS, SPACES, measure_gradients

    rows = []
    for name in snakemake.params.spaces:
        rows += measure_gradients(SPACES[name], snakemake.params.settings, snakemake.input.rats)
    save_table(snakemake.output[0], pd.DataFrame(rows, columns=COLUMNS))
