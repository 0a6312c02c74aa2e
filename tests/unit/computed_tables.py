"""Computed tables, and what the default configuration makes of them."""

from importlib import import_module
from types import SimpleNamespace

import matplotlib.pyplot as plt
import pandas as pd
import yaml

from geodp.randomness import random_stream
from reproduction.claims.rows import read_claims
from reproduction.claims.verdicts import judge
from reproduction.configuration.study import FIGURES, TABLES
from reproduction.places import CHECKOUT

CONFIGURED = yaml.safe_load((CHECKOUT / "config" / "config.yaml").read_text("utf-8"))["studies"]


def made(kind, study="mine", path=None, threads=1, reads=(), seed=20211206, **given):
    """A table by its section, of a file or of none; it reads others, paths by name."""
    section = TABLES[kind]
    settings = section.model_validate({"kind": kind, **given}).model_dump()
    job = SimpleNamespace(
        params=SimpleNamespace(study=study, settings=settings, seed=seed),
        input=SimpleNamespace(table=path or [], **dict(reads)),
        wildcards=SimpleNamespace(table="estimates"),
        threads=threads,
    )
    table = getattr(import_module(f"reproduction.tables.{section.module}"), kind)(job)
    # Figures may read what the section says.
    assert set(section.columns_of(settings)) <= set(table)
    return table


def verdicts(paper, tables, is_left_out):
    """Verdicts on a paper by claim, but for some claims."""
    file = CHECKOUT / "resources" / "published" / f"{paper}_claims.csv"
    read = read_claims(file, file.name)
    found = judge("a paper", read, tables, lambda claim: random_stream(1, claim), replicates=50)
    few = [claim.claim for claim in read if is_left_out(claim)]
    return found.set_index("claim")["verdict"].drop(few, errors="ignore")


def drawn(study, name, tables):
    """A figure of the default configuration: its settings, panels, numbers, notes and tables."""
    settings = CONFIGURED[study]["figures"][name]
    section = FIGURES[settings["kind"]]
    chosen = section.model_validate(settings).model_dump()
    owners = chosen.get("studies", [study])
    read = [
        pd.concat([tables[o, t] for o in owners if (o, t) in tables], ignore_index=True)
        for t in section.reads(chosen)
    ]
    # Scripts read variances as text.
    text = {"noise_variance": str}
    read = [each.astype(text) if "noise_variance" in each else each for each in read]
    module = import_module(f"reproduction.figures.{settings['kind']}")
    figure, numbers = module.draw(*read, params=SimpleNamespace(figure=chosen))
    plt.close(figure)
    lines = list(module.notes(numbers)) if hasattr(module, "notes") else []
    return chosen, figure.axes, numbers, lines, read
