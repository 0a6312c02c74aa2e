"""Measures of all cells in one table and one page, beside their aims."""

from reproduction.measurements.words import joined
from reproduction.pages import render_page


def summarise(tables, template, **_):
    """The table and the page, by their output, from tables of cells."""
    table = joined(tables)
    return {"csv": table, "text": render_page(template, rows=table.to_dict("records"))}
