"""Verdicts on the claims of the paper, as a table and as a page to read."""

from reproduction.jobs import job, made_by, replacing, save_table

with job() as snakemake:
    from pathlib import Path

    import pandas as pd
    from jinja2 import Environment, StrictUndefined

    from geodp.randomness import random_stream
    from reproduction.claims import VERDICTS, evaluate_claims, read_claims

    params = snakemake.params
    source = str(snakemake.input.claims)
    with open(source, encoding="utf-8", newline="") as text:
        rows = read_claims(text, source)
    tables = {
        (study, table): pd.read_csv(path, dtype={"group": str, "cell": str})
        for (study, table), path in zip(params.tables, snakemake.input.tables, strict=True)
    }
    found = evaluate_claims(
        rows, tables, lambda claim: random_stream(params.seed, "claims", claim), source=source
    )
    # Of this run, also for claims whose study is not in it.
    found["seed"], found["lock"] = params.seed, params.lock
    save_table(snakemake.output.csv, found)

    # One line a study: what its data are, and how many records.
    studies = []
    for study in dict.fromkeys(study for study, _ in params.tables):
        table = tables.get((study, "errors"))
        if table is not None:
            words = {
                name: ", ".join(dict.fromkeys(str(value) for value in table[name].dropna()))
                for name in ("data", "manifold", "n", "support", "mechanism")
                if name in table.columns
            }
            studies.append({"study": study, **words})
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["short"] = lambda number: f"{number:.3g}"
    template = environment.from_string(
        Path(snakemake.input.template).read_text(encoding="utf-8"),
    )
    counts = found["verdict"].value_counts()
    page = template.render(
        claims=found.to_dict("records"),
        sections=list(dict.fromkeys(found["section"])),
        counts=[(verdict, int(counts.get(verdict, 0))) for verdict in (*VERDICTS, "")],
        studies=studies,
        table=Path(snakemake.output.csv).name,
        made_by=made_by(snakemake),
    )
    with replacing(snakemake.output.page) as partial:
        partial.write_text(page, encoding="utf-8")
