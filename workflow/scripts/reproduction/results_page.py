"""Results in docs/papers.md: verdicts by paper, and the picture of Figure 1."""

import re
import shutil
from collections import Counter

import pandas as pd
import yaml

from geodp.errors import DataError
from reproduction.claims.page import read_verdicts
from reproduction.claims.rows import sentence_of
from reproduction.claims.verdicts import (
    BY_CONSTRUCTION,
    FAILS,
    HOLDS,
    IN_PART,
    NOT_REFUTED,
    UNDECIDED,
)
from reproduction.pages import render_page
from reproduction.papers import PAPERS, figure_title
from reproduction.places import CHECKOUT

# Verdicts in words of a list; the empty one is of what has no table to judge by.
WORDS = {
    **{HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold", UNDECIDED: UNDECIDED},
    **{NOT_REFUTED: NOT_REFUTED, BY_CONSTRUCTION: "hold by construction", "": "are not evaluated"},
}


def sentences(key):
    """Statements of a file of claims by sentence."""
    path = CHECKOUT / "resources" / "published" / f"{key}_claims.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    return {sentence_of(row.claim): row.statement for row in rows.itertuples() if row.statement}


def page(verdicts):
    """Part of the page, from verdicts by sentence of the papers that were judged."""
    counts, listed = {}, {}
    for key in PAPERS:
        found = verdicts.get(key, {})
        counted = Counter(found.values())
        counts[key] = ", ".join(f"{counted[k]} {words}" for k, words in WORDS.items() if counted[k])
        listed[key] = [(k, s) for k in (FAILS, UNDECIDED, "") for s, v in found.items() if v == k]
    return render_page(
        CHECKOUT / "workflow" / "report" / "results.md.j2",
        **{"papers": PAPERS, "counts": counts, "listed": listed, "figure_title": figure_title},
        stated={key: sentences(key) for key in PAPERS},
        folders={key: _figures(key) for key in PAPERS},
    )


def _figures(key):
    """Figures of a paper that have a number there, by folder: names and numbers."""
    settings = yaml.safe_load((CHECKOUT / "config" / "config.yaml").read_text("utf-8"))
    found = {}
    for study, chosen in settings["studies"].items():
        for name, figure in chosen.get("figures", {}).items():
            number = figure.get("number", "")
            if chosen.get("paper") == key and (number or re.fullmatch(r"figure_\d+", name)):
                folder = f"results/{settings['name']}/{study}/figures"
                found.setdefault(folder, {})[name] = number
    return found


def with_block(text, name, block):
    """A page's text with another block between its marks of a name."""
    marks = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    if not re.search(marks, text, flags=re.DOTALL):
        raise DataError(f"there is no mark <!-- {name} --> on the page: add it")
    if not block.strip():
        raise DataError(f"there is nothing to write below the mark <!-- {name} -->: make its table")
    return re.sub(marks, lambda found: f"{found[1]}{block}\n{found[2]}", text, flags=re.DOTALL)


def write_pages(files):
    """Write verdicts into docs/papers.md, from tables by paper, and the ``picture`` of Figure 1."""
    docs, verdicts = CHECKOUT / "docs", {}
    for key in PAPERS:
        rows = read_verdicts(files[key])
        by_sentence = rows.groupby(rows["claim"].map(sentence_of), sort=False)
        verdicts[key] = by_sentence["sentence_verdict"].first().to_dict()
    results, text = page(verdicts), (docs / "papers.md").read_text("utf-8")
    (docs / "papers.md").write_text(with_block(text, "results", results), encoding="utf-8")
    shutil.copyfile(files["picture"], docs / "images" / "figure_1.png")
