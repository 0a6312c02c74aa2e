"""Coverage on all spaces in one table and one page."""

import numpy as np
import pandas as pd

# Points that a band may miss of its level.
AIM = 1.5


def summarise(tables, **_):
    """The table and the page, by their output, from tables of spaces."""
    table = pd.concat([pd.read_csv(path) for path in tables], ignore_index=True)
    return {"csv": table, "text": page(table)}


def page(table):
    """The text of ``coverage.md``."""
    missed = 100.0 * (table["coverage"] - table["level"])
    worst = table.loc[missed.abs().idxmax()]
    verdict = "which is" if missed.abs().max() <= AIM else "**which is not**"
    levels, places = (sorted(table[key].unique()) for key in ("level", "covariate"))
    chance = 100.0 * np.sqrt(table["level"] * (1.0 - table["level"]) / table["releases"]).max()
    heads = [f"{100 * level:g} % at {place:g}" for level in levels for place in places]
    lines = [
        "# How often bands hold the true prediction",
        "",
        f"Of {table['releases'].min():,} simulated releases or more on each space, in per cent, by "
        "covariate from -1/2 to 1/2. The largest miss is "
        f"{missed[worst.name]:+.1f} points ({worst['space']}, {100 * worst['level']:g} % at "
        f"{worst['covariate']:g}), {verdict} within {AIM} points. By chance alone a number has a "
        f"standard error of up to {chance:.1f} points.",
        "",
        "| " + " | ".join(["space", "n", "budget", *heads]) + " |",
        "| " + " | ".join(["---"] * (3 + len(heads))) + " |",
    ]
    for (space, n, budget), part in table.groupby(["space", "n", "budget"], sort=False):
        shares = part.sort_values(["level", "covariate"])["coverage"]
        cells = [space, f"{n}", f"{budget:g}", *(f"{100 * share:.1f}" for share in shares)]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])
