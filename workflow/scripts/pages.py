"""What pages of the documentation say of results."""

from reproduction.jobs import job

with job() as snakemake:
    from reproduction.results_page import write_pages

    write_pages(dict(snakemake.input.items()))
