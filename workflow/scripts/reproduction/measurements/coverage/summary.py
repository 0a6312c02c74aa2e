"""Coverage on all spaces in one table and one page."""

import numpy as np

from reproduction.measurements.words import joined, markdown

# Points that a band may miss of its level.
AIM = 1.5


def summarise(tables, **_):
    """The table and the page, by their output, from tables of spaces."""
    table = joined(tables)
    return {"csv": table, "text": page(table)}


def page(table):
    """The text of ``coverage.md``."""
    missed = 100.0 * (table["coverage"] - table["level"])[table["as_assumed"]]
    said = "No space has groups of the sizes that are assumed."
    if len(missed):
        worst = table.loc[missed.abs().idxmax()]
        verdict = "which is" if missed.abs().max() <= AIM else "**which is not**"
        said = (
            f"The largest miss is {missed[worst.name]:+.1f} points ({worst['space']}, "
            f"{100 * worst['level']:g} % at place {worst['place']}), {verdict} within {AIM} points."
        )
    levels = sorted(table["level"].unique())
    chance = 100.0 * np.sqrt(table["level"] * (1.0 - table["level"]) / table["releases"]).max()
    rows = []
    keys = ["space", "number_of_covariates", "n", "budget"]
    for (*cell, budget), part in table.groupby(keys, sort=False):
        shares = [100.0 * part.loc[part["level"] == level, "coverage"] for level in levels]
        errors = [np.sqrt(np.mean(part[key] ** 2)) for key in ("error", "error_without_privacy")]
        rows.append(
            [
                *(*cell, f"{budget:g}"),
                *(f"{each.min():.1f} to {each.max():.1f}" for each in shares),
                *(f"{each:.2g}" for each in (*errors, part["predicted_error"].iloc[0])),
            ]
        )
    head = ["space", "covariates", "n", "budget", *(f"{100 * level:g} %" for level in levels)]
    lines = [
        "# How often bands hold the true prediction",
        "",
        f"Of {table['releases'].min():,} simulated releases or more on each space, in per cent, "
        f"lowest to highest of predictions over the range of the covariates. {said} "
        f"By chance alone a number has a standard error of up to {chance:.1f} points. "
        "Errors are root mean squares over places. "
        "Spaces whose covariates are not as assumed do not count for the largest miss.",
        "",
        *markdown([*head, "error", "without privacy", "as planned"], rows),
        "",
    ]
    return "\n".join(lines)
