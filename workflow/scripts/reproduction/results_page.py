"""Page of all figures and claims, with the command and the file of each: docs/results.md.

To write it run `python -m reproduction.results_page` in workflow/scripts.
"""

import csv
import math
import re

import yaml

from reproduction.papers import PAPERS, figure_title
from reproduction.places import CHECKOUT

PAGE = CHECKOUT / "docs" / "results.md"

HEAD = """# Results by paper

Each figure and claim of the papers with the command that makes it, the file to look at and the
tolerance. Times, memory and disk of the commands are in the
[artifact guide](artifact.md#experiments). This page is made from `config/config.yaml` and the files
of claims: after a change of these run `../../run python -m reproduction.results_page` in
`workflow/scripts`.

**Figures** are PDF, SVG, PNG and a CSV with their numbers. Papers print almost no numbers, so the
tolerance of a figure is that of the claims about it.

**Claims** are sentences of the paper, paraphrased. A `value` is computed for each part of a
sentence; the last columns say which values would do, and [Claims](../resources/published/README.md)
how verdicts follow. The page of verdicts has the number, its interval and the verdict."""

VERDICTS = "results/default/claims.html"

# Questions of this project's own about the studies of a paper.
BESIDE = {"kulkarni_soto": ["releases_beside"]}


def page():
    """Text of the page."""
    return "\n\n".join([HEAD, *(_section(key, paper) for key, paper in PAPERS.items())]) + "\n"


def _section(key, paper):
    """Heading, command, figures and claims of a paper."""
    where = f" ({paper.where})" if paper.where else ""
    verdicts = f"results/{paper.stage}/{key}_claims.html" if paper.stage else VERDICTS
    figures = _of_stage(paper) if paper.stage else sorted(_of_studies(), key=_order)
    parts = [
        f"## {paper.name}",
        f"{paper.authors}, *{paper.title}*{where}.",
        f"All of it: `./run snakemake --cores 8 {key}`. Verdicts: `{verdicts}`.",
        _table(["figure", "command", "file"], figures),
        _table(CLAIM_COLUMNS, _claims(key)),
    ]
    for name in BESIDE.get(key, []):
        parts += ["Beside the paper, a question of this project's own:"]
        parts += [_table(CLAIM_COLUMNS, _claims(name))]
    return "\n\n".join(parts)


def _of_stage(paper):
    """Figures of a paper with settings of its own: title, command and file."""
    for name, number in paper.figures.items():
        file = f"results/{paper.stage}/figures/{name}.pdf"
        yield [figure_title(name, number), f"`./run snakemake --cores 8 {file}`", f"`{file}`"]


def _of_studies():
    """Figures of the default configuration: title, command and file."""
    settings = yaml.safe_load((CHECKOUT / "config" / "config.yaml").read_text("utf-8"))
    for study, chosen in settings["studies"].items():
        for name in chosen["figures"]:
            yield [
                f"{figure_title(name)} ({study.replace('_', ' ')})",
                f"`./run snakemake --cores 8 figure_{study}_{name}`",
                f"`results/{settings['name']}/{study}/figures/{name}.pdf`",
            ]


def _order(figure):
    """Numbered figures first, each before what is beside it."""
    number = re.match(r"Figure (\d+)(, \w+)?", figure[0])
    return (int(number[1]), number[2] or "") if number else (math.inf, figure[0])


CLAIM_COLUMNS = ["where", "claim", "measured", "holds if", "in part if"]


def _claims(name):
    """Parts of sentences that count; the sentence stands in the first of its rows alone."""
    path = CHECKOUT / "resources" / "published" / f"{name}_claims.csv"
    with open(path, encoding="utf-8", newline="") as text:
        rows = list(csv.DictReader(text))
    for row in rows:
        if row["reading"]:
            continue
        where = f"{row['section']}, Figure {row['figure']}" if row["figure"] else row["section"]
        part = f"*{row['part']}*: " if row["part"] else ""
        measured = part + row["quantity"]
        yield [where, row["statement"], measured, f"`{row['holds']}`", f"`{row['in_part']}`"]


def _table(columns, rows):
    lines = [columns, ["---"] * len(columns), *rows]
    cells = (["| " + f"{cell} ".lstrip() for cell in line] for line in lines)
    return "\n".join("".join(line) + "|" for line in cells)


if __name__ == "__main__":
    PAGE.write_text(page(), encoding="utf-8")
