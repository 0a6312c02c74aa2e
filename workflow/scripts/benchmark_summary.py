"""All numbers of the benchmark in one table, one figure and one paragraph."""

from reproduction.jobs import job, replacing, save_table

with job(snakemake):
    import os
    import platform

    import numpy as np
    import pandas as pd

    from reproduction.figures.files import save_figure
    from reproduction.measurements.benchmark_figure import draw
    from reproduction.measurements.benchmark_report import paragraph

    # An empty part of a table has no types to agree on.
    parts = [pd.read_csv(path) for path in snakemake.input.tables]
    table = pd.concat([part.dropna(axis="columns", how="all") for part in parts])
    table = table.reindex(columns=parts[0].columns)
    machine = {
        "cores": os.cpu_count(),
        "processor": platform.machine(),
        "Python": platform.python_version(),
        "NumPy": np.__version__,
    }
    save_table(snakemake.output.csv, table)
    with replacing(snakemake.output.text) as partial:
        partial.write_text(paragraph(table, machine))
    figure = draw(table)
    save_figure(figure, snakemake.output)
