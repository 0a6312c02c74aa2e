"""A figure in every format with the numbers it shows, drawn by the module of its kind."""

from reproduction.jobs import job, save_table

with job() as snakemake:
    from importlib import import_module
    from types import SimpleNamespace

    import pandas as pd

    from reproduction.figures.style import annotate, save_figure

    params, output = snakemake.params, snakemake.output
    kind = import_module(f"reproduction.figures.{params.told['figure']['kind']}")
    tables = {}
    for name, path in zip(params.names, snakemake.input.tables, strict=True):
        # Budgets and variances keep their digits as text.
        tables.setdefault(name, []).append(
            pd.read_csv(path, dtype={"noise_variance": str, "cell": str})
        )
    joined = (pd.concat(parts, ignore_index=True) for parts in tables.values())
    figure, numbers = kind.draw(*joined, params=SimpleNamespace(**params.told))
    # The guarantee of what is shown is part of the picture.
    is_stated = params.told["of_draws"] and "guarantee" in numbers
    lines = numbers["guarantee"].dropna().unique() if is_stated else []
    own = kind.notes(numbers) if hasattr(kind, "notes") else []
    annotate(figure, [*lines, *own, *params.told["notes"]])
    save_figure(figure, output)
    save_table(output.csv, numbers)
