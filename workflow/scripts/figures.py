"""Figures in every format with the numbers they show, drawn by the modules of their kinds.

A table that is for one figure alone is made first, by the module of the table's kind.
"""

from reproduction.jobs import job, save_table

with job() as snakemake:
    from importlib import import_module
    from types import SimpleNamespace

    import pandas as pd

    from reproduction.figures.files import annotate, save_figure

    params, output = snakemake.params, snakemake.output
    if params.kind:
        made = import_module(f"reproduction.tables.{params.kind}").tabulate(snakemake)
        save_table(output.tables[0], made)
    tables = output.tables if params.kind else snakemake.input.tables
    for index, (path, shown) in enumerate(zip(tables, params.figures, strict=True)):
        kind = import_module(f"reproduction.figures.{shown['figure']['kind']}")
        # Budgets and variances keep their digits as text.
        table = pd.read_csv(path, dtype={"noise_variance": str, "cell": str})
        figure, numbers = kind.draw(table, SimpleNamespace(**shown))
        # The guarantee is part of the picture.
        lines = table["guarantee"].dropna().unique() if "guarantee" in table else []
        own = kind.notes(numbers) if hasattr(kind, "notes") else []
        annotate(figure, [*lines, *own, *shown["notes"]])
        files = {suffix: paths[index] for suffix, paths in output.items() if suffix != "tables"}
        save_figure(figure, files)
        save_table(files["csv"], numbers)
