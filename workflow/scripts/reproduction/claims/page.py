"""The page of verdicts, paper by paper."""

from jinja2 import Environment, StrictUndefined

from reproduction.claims.verdicts import VERDICTS

# What the page says of a study's data, each a column of its table of errors.
DESCRIBED = ("data", "manifold", "n", "support", "mechanism")


def render(template, found, tables, **names):
    """The page as text.

    Parameters
    ----------
    template : str
        Of Jinja.
    found : DataFrame
        Verdicts, as `judge` gives them.
    tables : dict of DataFrame
        What they were judged by, by (study, table).
    **names
        What else the template shows.

    Returns
    -------
    str
    """
    environment = Environment(
        autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters["short"] = lambda number: f"{number:.3g}"
    return environment.from_string(template).render(
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
    """How many claims have each verdict, and how many none."""
    counts = verdicts.value_counts()
    return [(verdict, int(counts.get(verdict, 0))) for verdict in (*VERDICTS, "")]


def _described(table):
    return {
        name: ", ".join(dict.fromkeys(str(value) for value in table[name].dropna()))
        for name in DESCRIBED
        if name in table.columns
    }
