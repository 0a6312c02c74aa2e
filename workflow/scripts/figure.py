"""A figure in every format with the numbers it shows, drawn by the module of its kind."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    from importlib import import_module

    import pandas as pd

    from reproduction.figures.files import annotate, save_figure

    params = snakemake.params
    kind = import_module(f"reproduction.figures.{params.figure['kind']}")
    # Budgets and variances keep their digits as text.
    table = pd.read_csv(snakemake.input.table, dtype={"noise_variance": str, "cell": str})
    figure, numbers = kind.draw(table, params)
    # The guarantee is part of the picture.
    lines = table["guarantee"].dropna().unique() if "guarantee" in table else []
    own = kind.notes(numbers) if hasattr(kind, "notes") else []
    annotate(figure, [*lines, *own, *params.notes])
    save_figure(figure, snakemake.output)
    save_table(snakemake.output.csv, numbers)
