"""Verdicts on the claims of all papers, as a table and as a page, from those of their targets."""

from reproduction.jobs import job, made_by

with job() as snakemake:
    import pandas as pd

    from reproduction.claims.page import read_verdicts, write

    found = pd.concat([read_verdicts(path) for path in snakemake.input.claims], ignore_index=True)
    write(snakemake.output, snakemake.input.template, found, {}, made_by(snakemake))
