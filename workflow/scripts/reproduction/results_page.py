"""What pages say of results: docs/results.md, tables of docs/audit.md, and the picture of Figure 1.

The target `pages` writes them from results: verdicts of papers, the audit, the sphere's figure.
"""

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
from reproduction.pages import render_page, short
from reproduction.papers import PAPERS, figure_title, verdicts_file
from reproduction.places import CHECKOUT

# Verdicts in words of a list; the empty one is of what has no table to judge by.
WORDS = {HOLDS: "hold", IN_PART: "hold in part", FAILS: "do not hold", UNDECIDED: "undecided"}
WORDS |= {NOT_REFUTED: "not refuted", BY_CONSTRUCTION: "hold by construction"}
WORDS[""] = "are not evaluated"


def sentences(key):
    """Statements of a file of claims by sentence."""
    path = CHECKOUT / "resources" / "published" / f"{key}_claims.csv"
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    return {sentence_of(row.claim): row.statement for row in rows.itertuples() if row.statement}


def verdicts_of(key, path):
    """Verdicts on a paper by sentence, from a table of verdicts."""
    rows = read_verdicts(path)
    rows = rows[rows["paper"] == PAPERS[key].name]
    sentence = rows["claim"].map(sentence_of)
    return rows.groupby(sentence, sort=False)["sentence_verdict"].first().to_dict()


def page(verdicts):
    """Text of the page, from verdicts by sentence of the papers that were judged."""
    counts, listed = {}, {}
    for key in PAPERS:
        found = verdicts.get(key, {})
        numbers = Counter(found.values())
        counts[key] = ", ".join(
            f"{numbers[each]} {w}" for each, w in WORDS.items() if numbers[each]
        )
        listed[key] = [
            (verdict, sentence)
            for kind in (FAILS, UNDECIDED, "")
            for sentence, verdict in found.items()
            if verdict == kind
        ]
    return render_page(
        CHECKOUT / "workflow" / "report" / "results.md.j2",
        papers=PAPERS,
        stated={key: sentences(key) for key in PAPERS},
        counts=counts,
        listed=listed,
        folders={key: _figures(paper) for key, paper in PAPERS.items()},
        verdicts_file=verdicts_file,
        figure_title=figure_title,
    )


def _figures(paper):
    """Figures of a paper with their numbers, by folder."""
    if paper.stage:
        return {f"results/{paper.stage}/figures": paper.figures}
    settings = yaml.safe_load((CHECKOUT / "config" / "config.yaml").read_text("utf-8"))
    return {
        f"results/{settings['name']}/{study}/figures": dict.fromkeys(chosen["figures"], "")
        for study, chosen in settings["studies"].items()
    }


def markdown(head, rows):
    """A table in Markdown."""
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(map(str, cells))} |" for cells in lines)


def audit_losses(path):
    """Table of realised losses on the sphere, at the audit's middle budget and least n."""
    rows = pd.read_csv(path)
    stated = sorted(rows["stated"].unique())
    rows = rows[rows["stated"] == stated[len(stated) // 2]]
    fewest = rows.loc[rows["n"] > 2, "n"].min()
    rows = rows[rows["n"].isin([2, fewest])].sort_values("n", ascending=False, kind="stable")
    head = ["density", "n", "stated", "realised loss", "verdict"]
    columns = ["mechanism", "n", "stated", "realised", "verdict"]
    lines = [[name, *map(short, some), word] for name, *some, word in rows[columns].to_numpy()]
    return markdown(head, lines)


def audit_testers(path):
    """Table of the larger of the two testers' bounds for whole releases, a row a case."""
    rows = pd.read_csv(path)
    rows = rows.groupby(["mechanism", "stages", "space"], sort=False)["bound"].max()
    table = rows.unstack("space", sort=False).reset_index()
    spaces = list(table.columns[2:])
    lines = [[*each[:2], *map(short, each[2:])] for each in table.itertuples(index=False)]
    head = ["releases", "stages", *(f"on {space}, epsilon is above" for space in spaces)]
    return markdown(head, lines)


def with_block(text, name, block):
    """A page's text with another block between its marks of a name."""
    marks = rf"(<!-- {name} -->\n).*?(<!-- end -->)"
    if not re.search(marks, text, flags=re.DOTALL):
        raise DataError(f"there is no mark <!-- {name} --> on the page: add it")
    if not block.strip():
        raise DataError(f"there is nothing to write below the mark <!-- {name} -->: make its table")
    return re.sub(marks, lambda found: f"{found[1]}{block}\n{found[2]}", text, flags=re.DOTALL)


def write_pages(files):
    """Write the pages from verdicts by paper, ``losses``, ``testers`` and ``picture``."""
    docs = CHECKOUT / "docs"
    results = page({key: verdicts_of(key, files[key]) for key in PAPERS})
    audit = (docs / "audit.md").read_text("utf-8")
    audit = with_block(audit, "losses", audit_losses(files["losses"]))
    audit = with_block(audit, "testers", audit_testers(files["testers"]))
    (docs / "results.md").write_text(results, encoding="utf-8")
    (docs / "audit.md").write_text(audit, encoding="utf-8")
    shutil.copyfile(files["picture"], docs / "images" / "figure_1.png")
