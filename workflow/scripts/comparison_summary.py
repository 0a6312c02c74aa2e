"""Errors of all mechanisms in one table and one page, which decides between them."""

from reproduction.jobs import job, replacing, save_table

with job(snakemake):
    import pandas as pd

    from reproduction.measurements.comparison_report import page

    # What is not private has no public inputs.
    parts = [pd.read_csv(path) for path in snakemake.input.tables]
    table = pd.concat(parts)
    save_table(snakemake.output.csv, table)
    with replacing(snakemake.output.text) as partial:
        partial.write_text(page(table))
