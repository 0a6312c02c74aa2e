"""Releases of all cohorts in one table and one page, beside what counts as right."""

from reproduction.measurements.held_out import cohorts
from reproduction.measurements.words import joined
from reproduction.pages import render_page


def summarise(tables, template, **_):
    """The table and the page, by their output, from tables of cohorts."""
    table = joined(tables)
    text = render_page(
        template,
        rows=table.to_dict("records"),
        judged=table["is_met"].dropna().tolist(),
        cohorts=cohorts.COHORTS,
    )
    return {"csv": table, "text": text}
