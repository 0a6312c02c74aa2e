"""The page of verdicts, paper by paper."""

from reproduction.claims.verdicts import VERDICTS
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
            {
                "name": name,
                "claims": claims.to_dict("records"),
                "sections": list(dict.fromkeys(claims["section"])),
                "counts": _counts(claims["verdict"]),
            }
            for name, claims in found.groupby("paper", sort=False)
        ],
        mechanisms=set(found["mechanism"]),
        studies=[
            {"study": study, **_described(table)}
            for (study, kind), table in tables.items()
            if kind == "errors"
        ],
        **names,
    )


def _counts(verdicts):
    """Number of claims with each verdict, and without one."""
    counts = verdicts.value_counts()
    return [(verdict, int(counts.get(verdict, 0))) for verdict in (*VERDICTS, "")]


def _described(table):
    return {
        name: ", ".join(dict.fromkeys(str(value) for value in table[name].dropna()))
        for name in DESCRIBED
        if name in table.columns
    }
