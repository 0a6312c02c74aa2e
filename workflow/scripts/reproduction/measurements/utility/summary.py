"""Errors of simulated releases in one table, one figure and one page."""

import pandas as pd

from reproduction.measurements.utility.figure import draw
from reproduction.measurements.utility.report import paragraph


def summarise(tables, shown, **_):
    """The table, figure and text, by their output, from tables of spaces and n.

    Parameters
    ----------
    tables : list of path
    shown : list of float
        Budgets of the figure.
    """
    table = pd.concat([pd.read_csv(path) for path in tables], ignore_index=True)
    names = list(dict.fromkeys(table["space"]))
    table = table.assign(order=table["space"].map(names.index))
    table = table.sort_values(["order", "n"], kind="stable").drop(columns="order")
    return {"csv": table, "figure": draw(table, shown), "text": paragraph(table)}
