"""The page of verdicts, and verdicts as pages show them."""

from pathlib import Path

import pandas as pd

from reproduction.claims.verdicts import VERDICTS, sentence_of
from reproduction.jobs import replacing, save_table
from reproduction.pages import render_page

# Columns of verdicts that are numbers; the others are text, empty where there is none.
NUMBERS = ("value", "low", "high", "shown_value", "seed")

# Columns of the table of errors that describe a study on the page.
DESCRIBED = ("data", "manifold", "n", "support", "mechanism")


def read_verdicts(path):
    """Verdicts of a table that `write` wrote."""
    names = pd.read_csv(path, nrows=0).columns
    kinds = {name: float if name in NUMBERS else str for name in names}
    found = pd.read_csv(path, dtype=kinds)
    text = [name for name in names if name not in NUMBERS]
    return found.assign(**{name: found[name].fillna("") for name in text})


def write(output, template, found, tables, made_by, note=""):
    """Write verdicts as a table and as a page.

    Parameters
    ----------
    output : object
        With the paths ``csv`` and ``page``.
    template : str
        Path of a Jinja template.
    found, tables
        As for `render`.
    made_by : dict
        For the last lines of the page.
    note : str, optional
        What the page says first.
    """
    save_table(output.csv, found)
    page = render(
        template,
        found,
        tables,
        table=Path(output.csv).name,
        note=note,
        made_by=made_by,
    )
    with replacing(output.page) as partial:
        partial.write_text(page, encoding="utf-8")


def render(template, found, tables, **names):
    """Render the page of verdicts.

    Parameters
    ----------
    template : str
        Path of a Jinja template.
    found : DataFrame
        Verdicts of `judge`.
    tables : dict of DataFrame
        Tables by (study, table), as for `judge`.
    **names
        Further variables of the template.

    Returns
    -------
    str
    """
    return render_page(
        template,
        papers=by_paper(found),
        mechanisms=set(found["mechanism"]),
        studies=[
            {"study": study, **described(table)}
            for (study, kind), table in tables.items()
            if kind == "errors"
        ],
        **names,
    )


def by_paper(found):
    """Papers as pages show them: name, claims by section, and number of sentences by verdict."""
    return [
        {"name": name, "sections": _sections(rows), "counts": _counts(rows)}
        for name, rows in found.groupby("paper", sort=False)
    ]


def _sections(rows):
    """Claims of each section: statement, verdict and rows."""
    sections = {}
    for sentence, part in rows.groupby(rows["claim"].map(sentence_of), sort=False):
        first = part.iloc[0]
        sections.setdefault(first["section"], []).append(
            {
                "claim": sentence,
                "statement": first["statement"],
                "verdict": first["sentence_verdict"],
                "rows": part.to_dict("records"),
            }
        )
    return sections


def _counts(rows):
    """Number of sentences with each verdict, and without one."""
    first = ~rows["claim"].map(sentence_of).duplicated()
    counts = rows.loc[first, "sentence_verdict"].value_counts()
    return [(verdict, int(counts.get(verdict, 0))) for verdict in (*VERDICTS, "")]


def described(table):
    """What a table says of a study: each value of the columns `DESCRIBED`, once."""
    return {
        name: ", ".join(dict.fromkeys(str(value) for value in table[name].dropna()))
        for name in DESCRIBED
        if name in table.columns
    }
