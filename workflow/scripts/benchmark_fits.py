"""Time of fits, ours and those of geomstats with one of its backends."""

from reproduction.jobs import job, save_table
from reproduction.measurements import one_thread  # noqa: F401

with job(snakemake):
    import os

    import pandas as pd

    from reproduction.measurements.benchmark import COLUMNS, SPACES
    from reproduction.measurements.geomstats_fits import measure_fits

    settings, backend = snakemake.params.settings, snakemake.wildcards.backend
    # Before geomstats reads it, which is when it is first used.
    os.environ["GEOMSTATS_BACKEND"] = backend
    rows = []
    for name in snakemake.params.spaces:
        for number in settings["fits"]["n"]:
            rows += measure_fits(SPACES[name], number, backend, settings, snakemake.input.rats)
    save_table(snakemake.output[0], pd.DataFrame(rows, columns=COLUMNS))
