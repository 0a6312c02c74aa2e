"""Verdicts on the claims of papers, as a table and as a page."""

from reproduction.jobs import job, made_by, replacing, save_table

with job() as snakemake:
    from pathlib import Path

    import pandas as pd

    from geodp.randomness import random_stream
    from reproduction.claims.page import render
    from reproduction.claims.rows import read_claims
    from reproduction.claims.verdicts import judge

    params, output = snakemake.params, snakemake.output
    claims = read_claims(snakemake.input.claims, snakemake.input.claims)
    tables = {
        tuple(named): pd.read_csv(path, dtype={"group": str, "cell": str})
        for named, path in zip(params.tables, snakemake.input.tables, strict=True)
    }
    found = judge(
        params.paper, claims, tables, lambda claim: random_stream(params.seed, "claims", claim)
    )
    # Also for claims whose study is not part of this run.
    found["seed"], found["lock"] = params.seed, params.lock
    save_table(output.csv, found)
    page = render(
        snakemake.input.template,
        found,
        tables,
        table=Path(output.csv).name,
        note=params.note,
        made_by=made_by(snakemake),
    )
    with replacing(output.page) as partial:
        partial.write_text(page, encoding="utf-8")
