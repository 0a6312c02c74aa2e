"""Errors of all mechanisms in one table and one page, which decides between them."""

import pandas as pd

from reproduction.measurements.comparison.report import page


def summarise(tables, **_):
    """The table and the page, by their output, from tables of cells."""
    table = pd.concat([pd.read_csv(path) for path in tables])
    return {"csv": table, "text": page(table)}
