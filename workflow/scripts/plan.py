"""Predicted errors of a release, as tables and a figure."""

# Before NumPy, which reads the number of threads when it is imported.
from reproduction.measurements import one_thread  # noqa: F401, I001
from reproduction.jobs import job, save_table

with job() as snakemake:
    from reproduction.figures.files import save_figure
    from reproduction.measurements.plan.figure import draw
    from reproduction.measurements.plan.predictions import predict

    plan = snakemake.params.plan
    table, needed = predict(plan, snakemake.threads)
    save_table(snakemake.output.table, table)
    save_table(snakemake.output.needed, needed)
    save_figure(draw(table, plan["wanted"]), snakemake.output)
