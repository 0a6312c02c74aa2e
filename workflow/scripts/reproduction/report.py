"""The report on one page: verdicts on claims of papers, figures, diagnostics and versions."""

import base64
import os
import platform
import re
from importlib.metadata import version
from pathlib import Path

import pandas as pd

from reproduction.claims.page import by_paper, described, read_verdicts
from reproduction.claims.verdicts import RESULT_COLUMNS, VERDICTS
from reproduction.figures.shapes import MARKED
from reproduction.pages import render_page
from reproduction.papers import PAPERS


def report(files, params, made_by):
    """Text of the report, from files, parameters (see the rule `report`) and provenance.

    ``svg``, ``png`` and ``csv``, the numbers, are in the order of ``params.figures``.
    """
    judged = [pd.DataFrame(columns=RESULT_COLUMNS), *map(read_verdicts, files.claims)]
    found = pd.concat(judged[1:] or judged, ignore_index=True)
    figures = [
        {**figure, "picture": smaller(svg, png), "csv": csv, "shows": figure_shows(csv)}
        for figure, svg, png, csv in zip(
            params.figures, files.svg, files.png, files.csv, strict=True
        )
    ]
    cited = {paper.name: paper for paper in PAPERS.values()}
    others = _unjudged(files.statements)
    papers = [
        {
            **paper,
            "cited": cited.get(paper["name"]),
            "others": others.get(paper["name"], []),
            "figures": [each for each in figures if each["paper"] == paper["name"]],
        }
        for paper in by_paper(found)
    ]
    named = [paper["name"] for paper in papers]
    packages = ("snakemake", "numpy", "scipy", "pandas", "matplotlib")
    answered = [paper for paper in papers if paper["name"] not in params.own_questions]
    listed = [each for paper in answered for some in paper["sections"].values() for each in some]
    return render_page(
        files.template,
        name=params.name,
        folder=params.folder,
        note=params.note,
        papers=answered,
        questions=[paper for paper in papers if paper["name"] in params.own_questions],
        sentences={k: [s for s in listed if s["verdict"] == k] for k in (*VERDICTS, "")},
        warned="kng_as_published" in set(found["mechanism"]),
        unjudged=[each for each in figures if each["paper"] not in named],
        about=_about(found, figures),
        studies=[described(pd.read_csv(path)) for path in files.errors],
        diagnostics=[row for path in files.diagnostics for row in _diagnosed(path)],
        losses=[row for path in files.losses for row in pd.read_csv(path).to_dict("records")],
        times=params.times,
        seeds=found.groupby("paper", sort=False)["seed"].first().astype(int).to_dict(),
        versions={name: version(name) for name in packages},
        machine=f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores",
        made_by=made_by,
    )


def smaller(*paths):
    """The smallest of several files of a picture, as a URL that holds it."""
    path = min(paths, key=lambda path: Path(path).stat().st_size)
    kind = {".svg": "svg+xml", ".png": "png"}[Path(path).suffix]
    return f"data:image/{kind};base64,{base64.b64encode(Path(path).read_bytes()).decode()}"


def figure_shows(path):
    """What the table of a figure's numbers has of what its caption may tell of."""
    table = pd.read_csv(path, dtype={"cell": str})
    drawn = table[table["kind"] == "private"] if "kind" in table else table
    samplers = drawn.get("sampler", pd.Series(dtype=str))
    data_sets = table.get("data_sets", pd.Series(dtype=float))
    return {
        "samplers": list(samplers.unique()),
        "cells": drawn["cell"].nunique() if "cell" in drawn else 0,
        "draws": drawn["draw"].max() if "draw" in drawn else 0,
        "band": "band" in table,
        "outline": "landmark" in table and table["landmark"].max() > MARKED,
        "several": bool((data_sets > 1).any()),
        "single": bool((data_sets == 1).any()),
        "curves": max(
            (table[name].nunique() for name in ("group", "distribution") if name in table),
            default=0,
        ),
        "without_data": "without_data_median" in table
        and bool(table["without_data_median"].notna().any()),
        "flagged": "flagged" in table and bool(table["flagged"].any()),
        "refused": "refused" in table and bool(table["refused"].eq(True).any()),
    }


def _unjudged(path):
    """Statements that no claim judges, rows of the list by the paper's name."""
    rows = pd.read_csv(path, dtype=str, keep_default_na=False)
    rows = rows[rows["claim"] == ""]
    rows = rows.assign(paper=[PAPERS[key].name for key in rows["paper"]])
    return {name: some.to_dict("records") for name, some in rows.groupby("paper", sort=False)}


def _about(found, figures):
    """Rows of claims about each figure, by its picture's place."""
    about = {}
    for figure in figures:
        rows = found[found["paper"].eq(figure["paper"]) & found["reading"].eq("")]
        rows = rows[rows["study"].isin(figure["studies"])]
        numbers = re.findall(r"\d+", figure["number"])
        about[figure["csv"]] = rows[rows["figure"].isin(numbers)].to_dict("records")
    return about


def _diagnosed(path):
    """A row for each sampler and parameter of a study: the worst over its cells."""
    table = pd.read_csv(path)
    found = table.groupby(["study", "sampler", "parameter"], sort=False).agg(
        cells=("passed", "size"),
        drawn_by=("drawn_by", lambda names: ", ".join(dict.fromkeys(names))),
        least=("ess_bulk", "min"),
        rhat=("rhat", "max"),
        distance=("estimated_total_variation", "max"),
        flagged=("passed", lambda passed: (~passed).sum()),
    )
    return found.reset_index().to_dict("records")
