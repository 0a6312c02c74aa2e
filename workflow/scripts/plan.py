"""Predicted errors of releases, in tables and a figure; no data are read."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    from reproduction.figures.style import save_figure
    from reproduction.predicted_errors import predicted

    output = snakemake.output
    table, needed, figure = predicted(snakemake.params.plan, snakemake.threads)
    save_table(output.table, table)
    save_table(output.needed, needed)
    save_figure(figure, output)
