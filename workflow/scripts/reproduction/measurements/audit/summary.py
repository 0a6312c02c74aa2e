"""The audit's tables in one place, its figure, and a page to read."""

from io import StringIO

import pandas as pd

from reproduction.figures.files import METADATA
from reproduction.measurements.audit.figure import draw
from reproduction.pages import render_page


def summarise(settings, losses, neighbours, sensitivity, black_box, template, made_by):
    """The tables, figure and page of the audit.

    Parameters
    ----------
    settings : dict
        Of config/audit.yaml.
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
        made_by=made_by,
    )
    return {
        "csv": table,
        "neighbours": all_neighbours,
        "black_box": from_draws,
        "figure": figure,
        "page": page,
    }


def _svg(figure):
    """A figure as an element of a page, without the declaration that only a file may have."""
    picture = StringIO()
    figure.savefig(picture, format="svg", metadata=METADATA["svg"])
    text = picture.getvalue()
    return text[text.index("<svg") :]
