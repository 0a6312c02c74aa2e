"""Errors of simulated releases in one table, one figure and one paragraph."""

from reproduction.jobs import job, replacing, save_table

with job(snakemake):
    import pandas as pd

    from reproduction.figures.files import save_figure
    from reproduction.measurements.utility_figure import draw
    from reproduction.measurements.utility_report import paragraph

    table = pd.concat([pd.read_csv(path) for path in snakemake.input.tables])
    names = list(dict.fromkeys(table["space"]))
    order = table["space"].map(names.index)
    table = table.assign(order=order).sort_values(["order", "n"], kind="stable")
    table = table.drop(columns="order")
    save_table(snakemake.output.csv, table)
    with replacing(snakemake.output.text) as partial:
        partial.write_text(paragraph(table))
    save_figure(draw(table, snakemake.params.shown), snakemake.output)
