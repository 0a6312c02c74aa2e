"""Tables of a study: its data, errors of drawn parameters, and diagnostics of samplers."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    import sys

    from reproduction.tables.evaluation import describe, evaluate, flagged_cells

    save_table(snakemake.output.data, describe(snakemake))
    errors, diagnostics = evaluate(snakemake)
    save_table(snakemake.output.errors, errors)
    save_table(snakemake.output.diagnostics, diagnostics)
    if len(diagnostics):
        print(f"{snakemake.wildcards.study}: {flagged_cells(diagnostics)}", file=sys.stderr)
