"""The report of a run: one page with verdicts, figures, diagnostics and losses."""

from reproduction.jobs import job, made_by, replacing

with job() as snakemake:
    from reproduction.report import report

    page = report(snakemake.input, snakemake.params, made_by(snakemake))
    with replacing(snakemake.output[0]) as partial:
        partial.write_text(page, encoding="utf-8")
