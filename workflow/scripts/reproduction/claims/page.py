"""Functions for all pages that show verdicts, and the page of verdicts itself."""

import pandas as pd

from reproduction.claims.rows import sentence_of
from reproduction.claims.verdicts import VERDICTS
from reproduction.pages import render_page


def read_verdicts(path, numbers=("value", "low", "high", "shown_value", "seed")):
    """Verdicts of a table that the script of claims wrote; but for numbers text, perhaps empty."""
    found = pd.read_csv(path, dtype=str, keep_default_na=False)
    return found.assign(**{name: pd.to_numeric(found[name]) for name in numbers})


def render(template, found, tables, **names):
    """The page of verdicts from a Jinja template, verdicts of `judge` and its tables."""
    names |= {"papers": by_paper(found), "mechanisms": set(found["mechanism"])}
    errors = {study: table for (study, kind), table in tables.items() if kind == "errors"}
    studies = [{"study": study, **described(table)} for study, table in errors.items()]
    return render_page(template, studies=studies, **names)


def by_paper(found):
    """Papers as pages show them: name, claims by section, and number of sentences by verdict."""
    papers = []
    for name, rows in found.groupby("paper", sort=False):
        sections, counts = {}, dict.fromkeys((*VERDICTS, ""), 0)
        for sentence, part in rows.groupby(rows["claim"].map(sentence_of), sort=False):
            first = part.iloc[0]
            counts[first["sentence_verdict"]] += 1
            shown = first[["paper", "statement", "figure"]].to_dict() | {"claim": sentence}
            shown |= {"verdict": first["sentence_verdict"], "rows": part.to_dict("records")}
            sections.setdefault(first["section"], []).append(shown)
        papers.append({"name": name, "sections": sections, "counts": list(counts.items())})
    return papers


def described(table):
    """What a table of errors says of a study: each value of some columns, once."""
    return {
        name: ", ".join(dict.fromkeys(map(str, table[name].dropna())))
        for name in ("study", "data", "manifold", "n", "support", "mechanism")
        if name in table
    }
