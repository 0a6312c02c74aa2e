"""Mechanisms beside one another: tables for a reader, and which of them should be the default."""

import pandas as pd

from geodp.mechanisms.certified import CertifiedDistribution
from reproduction.measurements.comparison.mechanisms import PROVED, SCORES

CELL = ["space", "n", "budget"]


def losses(table):
    """What each proved mechanism loses to the best of them.

    Parameters
    ----------
    table : pandas.DataFrame
        As ``comparison.csv``.

    Returns
    -------
    pandas.DataFrame
        A line a mechanism, by increasing largest loss: ``largest`` and ``mean`` over cells, of
        logarithms of mean squared errors.
    """
    proved = table[table["budget_holds"] == PROVED]
    errors = proved.pivot(index="mechanism", columns=CELL, values="log_mean_squared_error")
    lost = errors - errors.min()
    found = pd.DataFrame({"largest": lost.max(axis=1), "mean": lost.mean(axis=1)})
    return found.sort_values(["largest", "mean"])


def decide(table):
    """The mechanism that should be the default: the smallest worst-case regret (minimax).

    Whoever releases a geodesic does not know beforehand which cell of a table is theirs, so the
    worst of them counts.
    """
    return losses(table).index[0]


def page(table):
    """The text of ``comparison.md``."""
    found = losses(table)
    best = decide(table)
    default = SCORES[CertifiedDistribution.score_name]
    verdict = "which it is" if best == default else f"**which is {default} now**"
    lines = [
        "# Private mechanisms beside one another",
        "",
        f"The default should be the mechanism with the smallest worst-case regret: {best}, "
        f"{verdict}. The regret of a mechanism is what it loses to the best proved one of a cell, "
        "in the logarithm of the mean squared error:",
        "",
        "| mechanism | at most | on average |",
        "| --- | --- | --- |",
        *(
            f"| {name} | {row['largest']:.2f} | {row['mean']:.2f} |"
            for name, row in found.iterrows()
        ),
        "",
        "Whoever releases a geodesic does not know beforehand which cell is theirs, so the worst "
        "cell decides.",
        "",
        "## Errors",
        "",
        "Logarithm of the mean squared error on the data; in brackets its standard error over "
        "data sets. All mechanisms have the same public information and the same data sets. "
        "Scales, and shares of the budget for stages, are those that the planner predicts to be "
        "best from the public assumptions; `comparison.csv` has them. Budgets are proved to hold "
        "of the distributions, except in the last two rows of each table. Draws are made by "
        "chains, of which nothing is proved.",
        "",
        *(line for name, part in table.groupby("space", sort=False) for line in _table(name, part)),
        _of_samplers(table),
        "",
    ]
    return "\n".join(lines)


def _table(name, part):
    """Lines of one space: a row a mechanism, a column a cell."""
    cells = part[["n", "budget"]].drop_duplicates().sort_values(["n", "budget"])
    columns = list(cells.itertuples(index=False, name=None))
    entries = part.set_index(["mechanism", "n", "budget"]).sort_index()
    proved = part[part["budget_holds"] == PROVED]
    order = proved.groupby("mechanism")["log_mean_squared_error"].mean().sort_values().index
    others = [each for each in dict.fromkeys(part["mechanism"]) if each not in order]
    dimension = part["dimension"].iloc[0]
    yield f"**{name}**, {dimension} dimensions; n / budget:"
    yield ""
    yield "| mechanism | " + " | ".join(f"{n} / {budget:g}" for n, budget in columns) + " |"
    yield "| --- |" + " --- |" * len(columns)
    for mechanism in [*order, *reversed(others)]:
        holds = entries.loc[mechanism, "budget_holds"].iloc[0]
        label = mechanism if holds == PROVED else f"{mechanism} ({_in_words(holds)})"
        values = [_entry(entries.loc[(mechanism, *column)]) for column in columns]
        yield f"| {label} | " + " | ".join(values) + " |"
    yield ""


def _in_words(holds):
    return "its budget does not hold" if holds == "does not hold" else "not private"


def _entry(case):
    flag = "*" if case["cut_short"] else ""
    return f"{case['log_mean_squared_error']:.2f}{flag} ({case['standard_error']:.2f})"


def _of_samplers(table):
    cut = table[table["cut_short"].astype(bool)]
    # A bound that adds up over stages may say less than that no distance exceeds one.
    worst = min(table["total_variation"].max(), 1.0)
    weighted = table.loc[table["effective_draws"] > table["draws"], "effective_draws"]
    least = f"{weighted.min():.0f}" if len(weighted) else "none"
    return (
        f"Marked with *: chains that wanted more steps than they had, {len(cut)} of {len(table)}. "
        "The estimated total variation distance of draws from their distribution is at most "
        f"{worst:.2g}. Errors of mechanisms with one stage are means over weighted proposals. "
        f"These are worth {least} independent draws from a data set or more, where they are worth "
        "more than the draws."
    )
