"""The audit's tables in one place, its figure, and a page to read."""

from reproduction.jobs import job, made_by, replacing, save_table

with job(snakemake):
    from pathlib import Path

    import pandas as pd
    from jinja2 import Environment, StrictUndefined

    from geodp.mechanisms.certified import SLACK
    from reproduction.figures.files import save_figure
    from reproduction.measurements.audit_figure import draw

    settings = snakemake.params.settings
    table, neighbours = (
        pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
        for paths in (snakemake.input.losses, snakemake.input.neighbours)
    )
    save_table(snakemake.output.csv, table)
    save_table(snakemake.output.neighbours, neighbours)
    budgets, numbers = settings["sphere"]["budgets"], settings["sphere"]["n"]
    middle = budgets[len(budgets) // 2]
    figure = draw(table, numbers[0], middle)
    save_figure(figure, snakemake.output)
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["short"] = lambda number: f"{number:.3g}"
    template = environment.from_string(
        Path(snakemake.input.template).read_text(encoding="utf-8"),
    )
    shown = table[
        ((table["n"] == numbers[0]) | (table["n"] == 2)) & (table["stated"] == middle)
    ].sort_values("n", ascending=False, kind="stable")
    text = Path(snakemake.output.svg).read_text(encoding="utf-8")
    page = template.render(
        # Without the declaration that only a file of its own may have.
        picture=text[text.index("<svg") :],
        losses=shown.to_dict("records"),
        number=numbers[0],
        budget=middle,
        settings=settings,
        sensitivity=pd.read_csv(snakemake.input.sensitivity).to_dict("records"),
        slack=SLACK,
        black_box=pd.read_csv(snakemake.input.black_box).to_dict("records"),
        made_by=made_by(snakemake),
    )
    with replacing(snakemake.output.page) as partial:
        partial.write_text(page, encoding="utf-8")
