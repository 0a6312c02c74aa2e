"""Verdicts and Figure 1 in pages of the documentation, from the results of a run."""

from reproduction.jobs import job

with job() as snakemake:
    from reproduction.results_page import write_pages

    write_pages(dict(snakemake.input.items()))
