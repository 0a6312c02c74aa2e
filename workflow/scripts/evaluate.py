"""Errors of drawn parameters and diagnostics of samplers, for all cells of a study."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    import sys

    from reproduction.tables.evaluation import evaluate, flagged_cells

    errors, diagnostics = evaluate(snakemake)
    save_table(snakemake.output.errors, errors)
    save_table(snakemake.output.diagnostics, diagnostics)
    print(f"{snakemake.wildcards.study}: {flagged_cells(diagnostics)}", file=sys.stderr)
