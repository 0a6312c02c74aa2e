"""Bounds of privacy budgets from released draws alone."""

import one_thread  # noqa: F401
from jobs import job, save_table

with job(snakemake):
    import pandas as pd
    from audits import measure_black_box

    rows = measure_black_box(snakemake.params.settings, snakemake.input.rats)
    save_table(snakemake.output[0], pd.DataFrame(rows))
