"""How far one record moves the certified scores, space by space."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.audit import measure_sensitivity

    save_table(snakemake.output[0], pd.DataFrame(measure_sensitivity(snakemake.params.settings)))
