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
from reproduction.measurements.words import markdown
from reproduction.pages import short
from reproduction.papers import PAPERS, figure_title, verdicts_file
from reproduction.places import CHECKOUT

HEAD = """# Results by paper

Of each paper: its figures, and of those that a run has judged, how many sentences hold and which
do not. `./run snakemake --cores 8` makes all of it. `results/default/report.html` has the
numbers, intervals and reasons, and [Claims](../resources/published/README.md) the criteria.
To make one file alone, name it after that command. Figures are PDF, SVG, PNG and a CSV of their
numbers."""

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
    return "\n\n".join([HEAD, *(_section(key, verdicts.get(key)) for key in PAPERS)]) + "\n"


def _section(key, verdicts):
    """Counts, what does not hold, and figures of a paper."""
    paper, stated = PAPERS[key], sentences(key)
    counts = Counter((verdicts or {}).values())
    said = ", ".join(f"{counts[each]} {words}" for each, words in WORDS.items() if counts[each])
    where = f" ({paper.where})" if paper.where else ""
    parts = [
        f"## {paper.name}",
        f"{paper.authors}, *{paper.title}*{where}.",
        f"{len(stated)} sentences{said and f': {said}'}. `./run snakemake --cores 8 {key}` makes "
        f"`{verdicts_file(key)}.html`.",
    ]
    listed = [
        f"* **{verdict or 'not evaluated'}:** {stated[sentence]}"
        for kind in (FAILS, UNDECIDED, "")
        for sentence, verdict in (verdicts or {}).items()
        if verdict == kind
    ]
    return "\n\n".join([*parts, *(["\n".join(listed)] if listed else []), *_figures(paper)])


def _figures(paper):
    """Lines with the files of a paper's figures, a folder each."""
    settings = yaml.safe_load((CHECKOUT / "config" / "config.yaml").read_text("utf-8"))
    folders = {f"results/{paper.stage}/figures": paper.figures}
    if not paper.stage:
        folders = {
            f"results/{settings['name']}/{study}/figures": dict.fromkeys(chosen["figures"], "")
            for study, chosen in settings["studies"].items()
        }
    for folder, figures in folders.items():
        files = (
            f"`{name}.pdf`" + (f" ({figure_title(name, number)})" if number else "")
            for name, number in figures.items()
        )
        yield f"Figures in `{folder}`: {', '.join(files)}."


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
    return "\n".join(markdown(head, lines))


def audit_testers(path):
    """Table of the larger of the two testers' bounds for whole releases, a row a case."""
    rows = pd.read_csv(path)
    rows = rows[rows["mechanism"].str.startswith("release") & rows["tester"].notna()]
    rows = rows.groupby(["mechanism", "data", "space"], sort=False)["lower_bound"].max()
    table = rows.unstack("space", sort=False).dropna().reset_index()
    spaces = list(table.columns[2:])
    lines = [[*each[:2], *map(short, each[2:])] for each in table.itertuples(index=False)]
    head = ["releases", "stages", *(f"on {space}, epsilon is above" for space in spaces)]
    return "\n".join(markdown(head, lines))


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
