"""Realised privacy losses on the sphere at one number of records."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.audit import AUDIT_COLUMNS, NEIGHBOUR_COLUMNS, measure_losses

    found = measure_losses(snakemake.params.settings, snakemake.params.n, snakemake.params.budgets)
    for path, rows, columns in zip(
        (snakemake.output.losses, snakemake.output.neighbours),
        found,
        (AUDIT_COLUMNS, NEIGHBOUR_COLUMNS),
        strict=True,
    ):
        save_table(path, pd.DataFrame(rows, columns=columns))
