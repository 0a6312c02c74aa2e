"""The page of verdicts, paper by paper."""

from reproduction.claims.verdicts import VERDICTS, sentence_of
from reproduction.pages import render_page

# Columns of the table of errors that describe a study on the page.
DESCRIBED = ("data", "manifold", "n", "support", "mechanism")


def render(template, found, tables, **names):
    """Render the page of verdicts.

    Parameters
    ----------
    template : str
        A Jinja template.
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
        papers=[
            {"name": name, "sections": _sections(rows), "counts": _counts(rows)}
            for name, rows in found.groupby("paper", sort=False)
        ],
        mechanisms=set(found["mechanism"]),
        studies=[
            {"study": study, **_described(table)}
            for (study, kind), table in tables.items()
            if kind == "errors"
        ],
        **names,
    )


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


def _described(table):
    return {
        name: ", ".join(dict.fromkeys(str(value) for value in table[name].dropna()))
        for name in DESCRIBED
        if name in table.columns
    }
