"""Verdicts on the claims of papers, as a table and as a page."""

from reproduction.jobs import job, made_by

with job() as snakemake:
    import pandas as pd

    from geodp.randomness import random_stream
    from reproduction.claims.page import write
    from reproduction.claims.verdicts import judge, read_paper

    params = snakemake.params
    papers = []
    for name, path in zip(params.papers, snakemake.input.claims, strict=True):
        with open(path, encoding="utf-8", newline="") as text:
            papers.append(read_paper(name, text, str(path)))
    tables = {
        tuple(named): pd.read_csv(path, dtype={"group": str, "cell": str})
        for named, path in zip(params.tables, snakemake.input.tables, strict=True)
    }
    # A table that no rule of this run makes, or what makes it.
    if besides := params.get("besides"):
        made = [pd.read_csv(path) for path in besides["made"]]
        tables[tuple(besides["named"])] = made[0] if made else besides["otherwise"]
    # Claims of the same name in two papers share random numbers, which does not affect an interval.
    found = judge(papers, tables, lambda claim: random_stream(params.seed, "claims", claim))
    # Also for claims whose study is not part of this run.
    found["seed"], found["lock"] = params.seed, params.lock
    note = params.get("note", "")
    write(snakemake.output, snakemake.input.template, found, tables, made_by(snakemake), note)
