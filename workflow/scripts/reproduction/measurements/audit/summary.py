"""The audit's tables in one place, its figure, and a page to read."""

from io import StringIO

import pandas as pd

from reproduction.figures.files import METADATA
from reproduction.measurements.audit.figure import draw
from reproduction.pages import render_page


def summarise(
    settings,
    besides,
    draw_times,
    release_times,
    losses,
    neighbours,
    sensitivity,
    black_box,
    template,
    made_by,
    **_,
):
    """The tables, figure and page of the audit.

    Parameters
    ----------
    settings : dict
        Of config/audit.yaml.
    besides : dict
        Tables of record and replay, and their digests if they are there.
    draw_times, release_times : path
    losses, neighbours : list of path
        Tables by n.
    sensitivity, template : path
    black_box : list of path
        Tables of bounds from draws alone.
    made_by : dict
        Rule, environment and versions.

    Returns
    -------
    dict
        Tables, figure and text by their output.
    """
    table, all_neighbours, from_draws = (
        pd.concat([pd.read_csv(path) for path in paths], ignore_index=True)
        for paths in (losses, neighbours, black_box)
    )
    budgets, numbers = settings["sphere"]["budgets"], settings["sphere"]["n"]
    middle = budgets[len(budgets) // 2]
    figure = draw(table, numbers[0], middle)
    shown = table[
        ((table["n"] == numbers[0]) | (table["n"] == 2)) & (table["stated"] == middle)
    ].sort_values("n", ascending=False, kind="stable")
    page = render_page(
        template,
        picture=_svg(figure),
        losses=shown.to_dict("records"),
        number=numbers[0],
        budget=middle,
        settings=settings,
        sensitivity=pd.read_csv(sensitivity).to_dict("records"),
        black_box=from_draws.to_dict("records"),
        replay=_replayed(besides),
        draw_times=pd.read_csv(draw_times).to_dict("records"),
        release_times=_release_times(pd.read_csv(release_times)),
        made_by=made_by,
    )
    return {
        "csv": table,
        "neighbours": all_neighbours,
        "black_box": from_draws,
        "figure": figure,
        "page": page,
    }


def _release_times(table):
    """A row for each space: the same records twice, and the record with the largest ratio."""
    rows = []
    for name, part in table.groupby("manifold", sort=False):
        same, others = part[part["record"] == "same"], part[part["record"] != "same"]
        worst = others.loc[(others["ratio"] - 1.0).abs().idxmax()]
        rows.append({"name": name, "same": same["ratio"].iloc[0], **worst})
    return rows


def _replayed(shown):
    """Rows of the page about record and replay; ``None`` where it was not run."""
    if not shown["digests"]:
        return None
    table, planted = (pd.read_csv(shown[name]) for name in ("replay", "planted"))
    rows = table.groupby("neighbour", sort=True).agg(
        pairs=("pairs", "sum"),
        findings=("findings", "sum"),
        largest_share=("largest_share", "max"),
        lowest=("median_ratio", "min"),
        highest=("median_ratio", "max"),
    )
    ways = table.groupby(["by", "format"]).agg(pairs=("pairs", "sum"), findings=("findings", "sum"))
    return {
        "rows": rows.reset_index().to_dict("records"),
        "ways": ways.reset_index().to_dict("records"),
        "planted": planted.to_dict("records"),
        "pairs": int(table["pairs"].sum()),
        "findings": int(table["findings"].sum()),
        "whole": int(table["whole"].sum()),
        "refused": int(table["refused"].sum()),
        "largest_ratio": table["largest_ratio"].max(),
    }


def _svg(figure):
    """A figure as an element of a page, without the declaration that only a file may have."""
    picture = StringIO()
    figure.savefig(picture, format="svg", metadata=METADATA["svg"])
    text = picture.getvalue()
    return text[text.index("<svg") :]
